"""The page: sections in order, one style sheet, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from formulations.budget_solution import BudgetSolution
from formulations.errors import InvalidInputError
from formulations.pruning import Pruning
from formulations.pruning_path import PruningPath
from prunemodels.outputs import OutputFiles, check_output
from prunemodels.report_page.facts import Facts, Labels, gather
from prunemodels.report_page.markup import Html, join, name, tag
from prunemodels.report_page.opening import opening
from prunemodels.report_page.proof_section import proof
from prunemodels.report_page.sections import Section, deployment, items, tradeoff, trees, usage
from prunemodels.report_page.style import style_sheet


def report_page(
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    *,
    chosen: Pruning | BudgetSolution,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    title: str = "Pruned forest",
    unit: str = "",
    command: str | None = None,
    sources: Mapping[str, str] | None = None,
) -> str:
    """One self-contained HTML page on what a pruning did: saved cost, loss, items, usage, trees, proof, size and latency.

    It needs no network, no other file and no JavaScript. All checks are made anew, with `proofs_checks`.

    Parameters
    ----------
    path
        of the forest's problem, with its certificate.
    forest
        the forest before pruning.
    X, y
        held-out examples and their labels: nothing was trained, pruned or chosen on them.
    chosen
        a pruning of the path's problem, or the answer to a budget, which brings its bound.
    sample_weight
        shape (N,), >= 0: weights of the held-out examples, in cost and error.
    confidence
        of the intervals: each is Student's, two-sided, of a mean or of a mean of paired differences.
    title, unit, command, sources
        heading; unit of the prices; how to make the page again; what the data are, by what they were used for. All are escaped.

    Returns
    -------
    str
        the page. Equal arguments give equal pages but for the date and the measured times.

    Raises
    ------
    InvalidInputError
        for rows, labels or weights that do not fit, and a pruning of another problem.
    """
    labels = Labels(title, unit, command, sources)
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence is {confidence!r}; give a number between 0 and 1, such as 0.95")
    return render(gather(path, forest, X, y, chosen, sample_weight=sample_weight, confidence=confidence, labels=labels))


def write_report(
    file: str | Path,
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    *,
    chosen: Pruning | BudgetSolution,
    force: bool = False,
    **options: Any,
) -> Path:
    """Write `report_page` to a file, whole or not at all; the file.

    Parameters
    ----------
    file
        ``.html``.
    force
        replace a file that exists.
    path, forest, X, y, chosen, options
        as `report_page`.

    Raises
    ------
    InvalidInputError
        for a place that cannot be written, and as `report_page`.
    """
    place = check_output(file, "file", endings=(".html",), force=force)
    page = report_page(path, forest, X, y, chosen=chosen, **options)
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(page, encoding="utf-8")
    return place


def render(facts: Facts) -> str:
    """The facts as a page."""
    sections = [part(facts) for part in (tradeoff, items, usage, trees, proof, deployment, provenance)]
    contents = tag("ul", *(tag("li", tag("a", heading, href=f"#{key}")) for key, heading, _ in sections))
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag("header", opening(facts)),
        tag("nav", contents, aria_label="Contents"),
        tag("main", *(_section(*section) for section in sections), id="content", tabindex="-1"),
        tag("footer", _colophon(facts)),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", facts.labels.title),
        style_sheet(),
    )
    return "<!DOCTYPE html>\n" + tag("html", head, body, lang="en") + "\n"


def _section(key: str, heading: str, content: Html) -> Html:
    return tag("section", tag("h2", heading, id=f"{key}-heading"), content, id=key, aria_labelledby=f"{key}-heading")


def provenance(facts: Facts) -> Section:
    """Data, versions, and how to do it again."""
    problem = facts.path.problem
    ensemble = problem.ensemble
    rows: list[tuple[str, object]] = [
        ("forest", f"{facts.model}, {ensemble.n_trees:,} trees, {ensemble.n_features:,} features, {ensemble.task}"),
        ("cost sample", f"{problem.n_rows:,} examples"),
        ("errors", problem.errors.source),
        ("held out", f"{facts.held_out.n:,} examples"),
        ("path", f"{len(facts.path):,} optimal prunings, {problem.n_usage_arcs:,} usage arcs"),
        *((key, name(value)) for key, value in (facts.labels.sources or {}).items()),
        ("versions", ", ".join(f"{library} {number}" for library, number in facts.versions.items())),
    ]
    parts = [tag("dl", *(join(tag("dt", what), tag("dd", told)) for what, told in rows), class_="facts")]
    if facts.labels.command is not None:
        parts.append(tag("h3", "To make this page again"))
        parts.append(tag("pre", tag("code", facts.labels.command)))
    return "data", "Data and versions", join(*parts)


def _colophon(facts: Facts) -> Html:
    day = datetime.now(UTC).date().isoformat()
    return tag(
        "p",
        f"Written by prunemodels {facts.versions['prunemodels']} on {day}. It is complete: it loads nothing from elsewhere.",
    )
