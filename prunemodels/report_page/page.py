"""Build the page on a pruning, a boosted model or a cascade by one template, and write it to a file.

Everything that is not markup is escaped, and numbers are written by `statements.wording`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import jinja2
from markupsafe import Markup

from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.long_steps import timed_step
from formulations.shown import error_name, is_rate
from prunemodels.cascades.cascade import Cascade
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.boosting.boosted_pruning import BoostedPath
from prunemodels.models.tree_model import HoldsModel
from prunemodels.report_page.cascade import CascadeFacts, gather_cascade
from prunemodels.report_page.evidence import figures_of
from prunemodels.report_page.facts import BoostedFacts, Facts, gather, gather_boosted, item_counts, spread, versions
from prunemodels.report_page.payers import PAGE, measure, printable
from prunemodels.statements.wording import (
    amount,
    budget_verdict,
    change,
    count,
    error,
    exactly,
    interval,
    less,
    share,
    use_in_words,
)

LOG = logging.getLogger(__name__)

Source = Annotated[
    PruningPath | Cascade | HoldsModel | BoostedPath,
    "a PruningPath, a BoostedPath, a Cascade, or an estimator or result that pruned a forest",
]
"""What a page is about."""


@checked
def report_page(source: Source, *examples: Any, **options: Any) -> str:
    """Build one self-contained HTML page on a pruning, a pruned boosted model or a cascade: cost, error, purchases, proof.

    The page needs no network, no other file and no JavaScript. All claims are checked again, by `proofs_checks`.

    Parameters
    ----------
    source
        the path of the forest's problem, with its certificate; or an estimator or result of ours that pruned a forest, which has
        path, forest and choice; or a fitted cascade; or the trade-off of a boosted model, of which no optimality
        is claimed.
    forest
        the forest before pruning; only with a path.
    X, y
        held-out examples and their labels, on which nothing was trained, pruned or chosen. They are optional for a cascade;
        without them the page shows the figures from fitting.
    chosen
        a pruning of the path's problem, or the answer to a budget or limits, whose bound is then shown; a pruning of the boosted
        model.
    budget
        only for a cascade: show the policy of least error within this mean cost.
    sample_weight
        shape (N,), >= 0: a held-out example stands for that many, in cost as in error.
    groups
        shape (N,): the group of each held-out example, such as the patient of a visit, of which intervals count each as one draw.
    confidence
        confidence of the intervals: exact ones of error rates, Student's two-sided ones of mean costs, which describe and do not
        guarantee.
    title, unit, command, sources
        the heading; the unit of the prices; the command that makes the page again; the origin of the data, by their use. All are
        escaped.
    positive
        the class whose examples are to be found, such as "ill": the page says how many of them are missed, and how many others
        are false alarms. Default: the rarer of two classes.

    Returns
    -------
    str
        the page. Equal arguments give equal pages, except for the date and the measured times.

    Raises
    ------
    InvalidInputError
        for rows, labels or weights that do not fit, a pruning of another problem, and a budget below the first stage.
    NotFittedForestError
        for a cascade that is not fitted.
    """
    return render(_facts(source, *examples, **options))


def _facts(source: Source, *examples: Any, **options: Any) -> Facts | BoostedFacts | CascadeFacts:
    """What the page says."""
    if isinstance(source, Cascade):
        _check_cascade_arguments(source, examples, options)
        return gather_cascade(source, *examples, **options)
    if isinstance(source, BoostedPath):
        return gather_boosted(source, *examples, **options)
    if "budget" in options:
        raise InvalidInputError(
            f"budget is {options['budget']!r}, which is for cascades; with a PruningPath give "
            "chosen=pm.solve(path.problem, budget=budget)"
        )
    if isinstance(source, HoldsModel):
        how = source._how_pruned()
        source, examples, options = how.path, (how.forest, *examples), {"chosen": how.chosen, "cut": how.cut} | options
    return gather(source, *examples, **options)


def _check_cascade_arguments(source: Any, examples: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Refuse arguments that only the page on a pruning takes."""
    kind = type(source).__name__
    if "chosen" in options:
        raise InvalidInputError(
            f"chosen is a {type(options['chosen']).__name__}, which is for a PruningPath; for a {kind}, choose the "
            "policy by budget="
        )
    if "forest" in options or len(examples) > 2:
        forest = options.get("forest", examples[0] if examples else None)
        raise InvalidInputError(
            f"forest is a {type(forest).__name__}, but a {kind} contains its models; give X and y after the {kind}, or nothing"
        )


@checked
def write_report(file: str | Path, source: Source, *examples: Any, force: bool = False, **options: Any) -> Path:
    """Write `report_page` to a file, completely or not at all, and return its path.

    Parameters
    ----------
    file
        path of the page, ending in ``.html``.
    force
        replace the file if it exists.
    source, examples, options
        arguments of `report_page`: ``write_report(file, path, forest, X, y, chosen=...)``, ``write_report(file, cascade, X, y)``,
        ``write_report(file, estimator, X, y)``, or ``write_report(file, boosted_path, X, y, chosen=...)``.

    Raises
    ------
    InvalidInputError
        for a path that cannot be written, and for what `report_page` refuses.
    BrokenFileError
        if the file cannot be written, or if another process is writing it.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, path, problem, y_test
    >>> solution = pm.solve(problem, budget=10, method="path")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.write_report(f"{folder}/report.html", path, forest, X_test, y_test, chosen=solution).name
    ...
    'report.html'
    """
    with OutputFiles(force=force) as outputs:
        place = outputs.reserve(file, "file", endings=(".html",))
        with timed_step(LOG, "report %s", place):
            outputs.aside(place).write_text(report_page(source, *examples, **options), encoding="utf-8")
    return place


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
    "good": "#7bd49b",
    "bad": "#ff8f8f",
}


def render(facts: Facts | BoostedFacts | CascadeFacts) -> str:
    """The page that shows the facts."""
    pictures = package("prunemodels.report_page.pictures")  # imports Matplotlib
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
    texts = (amount, change, count, error, exact_number, share, bdi, of_100, percent)
    environment.filters |= {text.__name__: text for text in texts}
    environment.filters |= {"whole": "{:,}".format, "digits": "{:.6g}".format}
    more = (item_counts, budget_verdict, use_in_words, error_name, figures_of, first_names, interval, is_rate, less)
    environment.globals |= {function.__name__: function for function in (*more, difference, measure, spread)}
    environment.globals |= {"rounded_claim": rounded_claim, "rounded_error": rounded_error}
    return environment.get_template(TEMPLATE)


def of_100(share: float) -> str:
    """A share for readers without statistics: "about 12", "none", "fewer than 1"."""
    return "none" if share == 0 else "all" if share == 1 else "fewer than 1" if share < 0.005 else f"about {100 * share:.0f}"


def bdi(text: object) -> Markup:
    """A name that the user chose, isolated, so that right-to-left text does not reorder its surroundings."""
    return Markup("<bdi>{}</bdi>").format(text)


def first_names(names: Sequence[str], most: int = PAGE.named) -> Markup:
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


def rounded_error(x: float, task: str, n: int) -> str:
    """An error for a box, with one decimal of a per cent for fewer than a thousand examples, which cannot tell more."""
    return share(x, 1 if n < PAGE.many_examples else 2) if is_rate(task) else error(x, task)


def rounded_claim(claim: str) -> str:
    """A claim as a sentence, with at most six digits a number; all digits stand under "In exact numbers"."""
    return re.sub(r"\d+\.\d{6,}(e-\d+)?", lambda number: f"{float(number[0]):.6g}", f"{claim[:1].upper()}{claim[1:]}")


def difference(seen: float, own: float, task: str) -> str:
    """The difference between two errors as text; differences by rounding are ignored."""
    return "the same" if abs(seen - own) <= 1e-9 * max(seen, own) else change(seen - own, task)
