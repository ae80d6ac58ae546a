"""Write a page by the one template: everything that is not markup is escaped, numbers are written by `statements.wording`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from formulations.extras import package
from formulations.shown import error_name, is_rate
from prunemodels.report_page.boosted import BoostedFacts
from prunemodels.report_page.by_class import Rate
from prunemodels.report_page.cascade import CascadeFacts
from prunemodels.report_page.evidence import figures_of
from prunemodels.report_page.facts import Facts, item_counts, spread, versions
from prunemodels.statements.limit_uses import use_in_words
from prunemodels.statements.wording import (
    amount,
    budget_verdict,
    change,
    count,
    error,
    exactly,
    interval,
    less,
    seconds,
    share,
    size,
)

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
"""With at least this many examples, an error rate has two decimals of a per cent."""

NAMED = 6
"""The largest number of items or features that a list names, unless it says another one."""

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that an HTML document must not contain."""


def render(facts: Facts | BoostedFacts | CascadeFacts) -> str:
    """The page that shows the facts."""
    pictures = package("prunemodels.report_page.pictures")
    day, found = datetime.now(UTC).date().isoformat(), versions()
    return _template().render(f=facts, pictures=pictures, day=day, versions=found, themes=(LIGHT, DARK)).lstrip()


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
    texts = (amount, change, count, error, exact_number, seconds, share, size, bdi, complement, of_100, percent)
    environment.filters |= {text.__name__: text for text in texts}
    environment.filters |= {"whole": "{:,}".format, "digits": "{:.6g}".format}
    more = (item_counts, budget_verdict, use_in_words, error_name, figures_of, first_names, interval, is_rate, less)
    environment.globals |= {function.__name__: function for function in (*more, difference, measure, spread)}
    environment.globals |= {"rounded_claim": rounded_claim, "rounded_error": rounded_error}
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


def first_names(names: Sequence[str], most: int = NAMED) -> Markup:
    """The first names, and how many more there are; one more than `most` is still named."""
    few = names if len(names) <= most + 1 else names[:most]
    more = f" and {len(names) - len(few):,} more" if len(few) < len(names) else ""
    return Markup(", ").join(map(bdi, few)) + more


def exact_number(x: Fraction | float) -> str:
    """A fraction as such with its approximate value, or ten digits."""
    return exactly(x) if isinstance(x, Fraction) else f"{x:.10g}"


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
    return share(x, 1 if n < MANY else 2) if is_rate(task) else error(x, task)


def rounded_claim(claim: str) -> str:
    """A claim as a sentence, with at most six digits a number; all digits stand under "In exact numbers"."""
    return re.sub(r"\d+\.\d{6,}(e-\d+)?", lambda number: f"{float(number[0]):.6g}", f"{claim[:1].upper()}{claim[1:]}")


def difference(seen: float, own: float, task: str) -> str:
    """The difference between two errors as text; differences by rounding are ignored."""
    return "the same" if abs(seen - own) <= 1e-9 * max(seen, own) else change(seen - own, task)
