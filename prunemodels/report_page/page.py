"""The page on a pruning, or on a cascade, and the file that it goes to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.exit_path import ExitPath
from prunemodels.files.outputs import OutputFiles, check_output
from prunemodels.report_page.cascades.facts import gather_cascade
from prunemodels.report_page.cascades.page import render_cascade
from prunemodels.report_page.document import Section, data_section, document
from prunemodels.report_page.facts import Facts, Labels, gather
from prunemodels.report_page.opening import opening
from prunemodels.report_page.proof_section import proof
from prunemodels.report_page.sections import deployment, items, tradeoff, trees, usage


@overload
def report_page(
    source: PruningPath,
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
) -> str: ...


@overload
def report_page(
    source: Cascade | ExitPath,
    X: Any = None,
    y: Any = None,
    *,
    budget: Price | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    title: str = "Cascade",
    unit: str = "",
    command: str | None = None,
    sources: Mapping[str, str] | None = None,
) -> str: ...


def report_page(source: Any, *examples: Any, **options: Any) -> str:
    """One self-contained HTML page on what a pruning did, or on a cascade: saved cost, loss, what was bought, proof.

    It needs no network, no other file and no JavaScript. All checks are made anew, with `proofs_checks`.

    Parameters
    ----------
    source
        the path of the forest's problem, with its certificate; or a fitted cascade, or an exit path, of which the policy is shown
        that the rule ``"one_se"`` chooses.
    forest
        the forest before pruning; a cascade brings its models.
    X, y
        held-out examples and their labels: nothing was trained, pruned or chosen on them. A cascade needs none; the page then
        tells what is known from fitting.
    chosen
        a pruning of the path's problem, or the answer to a budget, which brings its bound.
    budget
        of a cascade or an exit path: show the policy of least error within it.
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
        for rows, labels or weights that do not fit, a pruning of another problem, and a budget below the first stage.
    NotFittedForestError
        for a cascade that is not fitted.
    """
    if isinstance(source, (Cascade, ExitPath)):
        _check_cascade_arguments(source, examples, options)
        return cascade_page(source, *examples, **options)
    if "budget" in options:
        raise InvalidInputError(
            f"budget is {options['budget']!r}, which goes with cascades; of a PruningPath give "
            "chosen=pm.solve_budget(path.problem, budget)"
        )
    return pruning_page(source, *examples, **options)


def pruning_page(
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
    """`report_page` of a pruning."""
    _check_confidence(confidence)
    labels = Labels(title, unit, command, sources)
    return render(gather(path, forest, X, y, chosen, sample_weight=sample_weight, confidence=confidence, labels=labels))


def cascade_page(
    source: Cascade | ExitPath,
    X: Any = None,
    y: Any = None,
    *,
    budget: Price | None = None,
    sample_weight: ArrayLike | None = None,
    confidence: float = 0.95,
    title: str = "Cascade",
    unit: str = "",
    command: str | None = None,
    sources: Mapping[str, str] | None = None,
) -> str:
    """`report_page` of a cascade."""
    _check_confidence(confidence)
    labels = Labels(title, unit, command, sources)
    facts = gather_cascade(source, X, y, budget=budget, sample_weight=sample_weight, confidence=confidence, labels=labels)
    return render_cascade(facts)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence is {confidence!r}; give a number between 0 and 1, such as 0.95")


def _check_cascade_arguments(source: Any, examples: tuple[Any, ...], options: Mapping[str, Any]) -> None:
    """Refuse what a pruning's page needs and a cascade's has not."""
    kind = type(source).__name__
    if "chosen" in options:
        raise InvalidInputError(
            f"chosen is a {type(options['chosen']).__name__}, which goes with a PruningPath; of a {kind} another policy is "
            "shown with budget="
        )
    if "forest" in options or len(examples) > 2:
        forest = options.get("forest", examples[0] if examples else None)
        raise InvalidInputError(
            f"forest is a {type(forest).__name__}, and a {kind} brings its models; give X and y behind the {kind}, or nothing"
        )


def write_report(file: str | Path, source: Any, *examples: Any, force: bool = False, **options: Any) -> Path:
    """Write `report_page` to a file, whole or not at all; the file.

    Parameters
    ----------
    file
        ``.html``.
    force
        replace a file that exists.
    source, examples, options
        as `report_page`: ``write_report(file, path, forest, X, y, chosen=...)`` or ``write_report(file, cascade, X, y)``.

    Raises
    ------
    InvalidInputError
        for a place that cannot be written, and as `report_page`.
    """
    place = check_output(file, "file", endings=(".html",), force=force)
    page = report_page(source, *examples, **options)
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(page, encoding="utf-8")
    return place


def render(facts: Facts) -> str:
    """The facts on a pruning as a page."""
    sections = [part(facts) for part in (tradeoff, items, usage, trees, proof, deployment, provenance)]
    return document(facts.labels, opening(facts), sections, facts.versions)


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
    ]
    return data_section(rows, facts.labels, facts.versions)
