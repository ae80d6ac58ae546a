"""Write a page by the one template: everything that is not markup is escaped, numbers are written by `statements.wording`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from formulations.shown import error_name, is_rate
from prunemodels.report_page.by_class import Rate
from prunemodels.report_page.evidence import figures_of
from prunemodels.report_page.facts import asked_for
from prunemodels.statements import wording
from prunemodels.statements.limit_uses import use_in_words
from prunemodels.statements.wording import budget_verdict

TEMPLATE = "page.html.jinja"

LIGHT = {
    "paper": "#ffffff",
    "raised": "#f5f6f7",
    "ink": "#1b1e22",
    "muted": "#565c64",
    "rule": "#d5d9de",
    "before": "#6b7079",
    "after": "#0b5fae",
    "accent": "#b3440a",
    "pale": "#c9ced6",
    "good": "#1d6b3a",
    "bad": "#a3202a",
}
"""By role; `before` and `after` are the two models, `accent` the budget and the relaxation."""

DARK = {
    "paper": "#14171a",
    "raised": "#1d2125",
    "ink": "#eceef0",
    "muted": "#a9b0b8",
    "rule": "#3a4047",
    "before": "#a0a7b0",
    "after": "#6cb4ff",
    "accent": "#ff9d66",
    "pale": "#4a515a",
    "good": "#7bd49b",
    "bad": "#ff8f8f",
}

MANY = 1000
"""From so many examples on, the second decimal of a per cent says something."""

LISTED, NAMED = 4, 6
"""The largest number of features that the row of an item names, and of items or features that the row of a stage does."""

BY_CLASS = ("detection", "payers")
"""Sections that are about classes."""

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that an HTML document must not contain."""


def render_page(kind: str, contents: Mapping[str, str], facts: Any, **more: Any) -> str:
    """The page of some facts.

    Parameters
    ----------
    kind
        ``"pruning"``, ``"cascade"`` or ``"boosted"``: which sections of the template are written.
    contents
        the sections' headings by their identifiers.
    facts
        with ``labels`` and ``versions``; the template names what else it shows of them.
    more
        pictures, rows and sentences that the facts do not hold.
    """
    day = datetime.now(UTC).date().isoformat()
    versions = ", ".join(f"{library} {number}" for library, number in facts.versions.items())
    shown = {"kind": kind, "contents": contents, "f": facts, "day": day, "versions": versions, "themes": (LIGHT, DARK)}
    return _template().render(shown, **more).lstrip()


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=printable,
    )
    environment.filters |= {"complement": complement, "of_100": of_100}
    numbers = ("amount", "change", "count", "error", "exactly", "seconds", "share", "size")
    environment.filters |= {name: getattr(wording, name) for name in numbers}
    texts: dict[str, Callable[..., str]] = {
        "percent": percent,
        "whole": lambda n: f"{n:,}",
        "digits": "{:.6g}".format,
        "bdi": bdi,
    }
    environment.filters |= texts
    environment.globals |= {
        "asked_for": asked_for,
        "budget_verdict": budget_verdict,
        "use_in_words": use_in_words,
        "error_name": error_name,
        "figures_of": figures_of,
        "first_names": first_names,
        "interval": wording.interval,
        "is_rate": is_rate,
        "less": wording.less,
        "listed": listed,
        "measure": measure,
        "rounded_claim": rounded_claim,
        "rounded_error": rounded_error,
    }
    return environment.get_template(TEMPLATE)


def complement(rate: Rate) -> Rate:
    """The others of the same examples: found in place of missed."""
    return Rate(rate.of - rate.count, rate.of, 1 - rate.share, 1 - rate.high, 1 - rate.low)


def of_100(share: float) -> str:
    """A share for readers without statistics: "about 12", "none", "fewer than 1"."""
    return "none" if share == 0 else "all" if share == 1 else "fewer than 1" if share < 0.005 else f"about {100 * share:.0f}"


def bdi(text: object) -> Markup:
    """A name that the user chose, isolated, so that right-to-left text does not reorder its surroundings."""
    return Markup("<bdi>{}</bdi>").format(text)


def listed(features: Sequence[str]) -> str:
    """The first names that the row of an item has, and how many more there are."""
    if len(features) > LISTED:
        return f"{', '.join(features[:LISTED])} and {len(features) - LISTED} more"
    return " and ".join(part for part in (", ".join(features[:-1]), features[-1]) if part)


def first_names(names: Sequence[str]) -> Markup:
    """The first names that the row of a stage has, and how many more there are."""
    few = names if len(names) <= NAMED + 1 else names[:NAMED]
    more = f" and {len(names) - len(few):,} more" if len(few) < len(names) else ""
    return Markup(", ").join(map(bdi, few)) + more


def percent(x: float) -> str:
    """0.95 as 95 %."""
    return f"{100 * x:g}\u00a0%"


def printable(value: Any) -> Any:
    """Text, markup or not, without the characters that no document may hold; anything else unchanged."""
    return type(value)(UNPRINTABLE.sub("\ufffd", value)) if isinstance(value, str) else value


def measure(task: str) -> str:
    """The name of the error."""
    return "error rate" if is_rate(task) else error_name(task)


def rounded_error(x: float, task: str, n: int) -> str:
    """An error for a box, with one decimal of a per cent for fewer than a thousand examples, which cannot tell more."""
    return wording.share(x, 1 if n < MANY else 2) if is_rate(task) else wording.error(x, task)


def rounded_claim(claim: str) -> str:
    """A claim as a sentence, with at most six digits a number; all digits stand under "In exact numbers"."""
    return re.sub(r"\d+\.\d{6,}(e-\d+)?", lambda number: f"{float(number[0]):.6g}", f"{claim[:1].upper()}{claim[1:]}")
