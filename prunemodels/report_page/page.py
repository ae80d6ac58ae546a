"""Build the page on a pruning, a boosted model or a cascade, and write it to a file."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.long_steps import timed_step
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.exit_path import ExitPath
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.boosting.boosted_pruning import BoostedPath
from prunemodels.models.tree_model import HoldsModel
from prunemodels.report_page.boosted import BoostedFacts, gather_boosted
from prunemodels.report_page.cascade import CascadeFacts, gather_cascade
from prunemodels.report_page.facts import Facts, gather
from prunemodels.report_page.rendering import render

LOG = logging.getLogger(__name__)

Source = Annotated[
    PruningPath | Cascade | ExitPath | HoldsModel | BoostedPath,
    "a PruningPath, a BoostedPath, a Cascade, an ExitPath, or an estimator or result that pruned a forest",
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
        path, forest and choice; or a fitted cascade; or an exit path, whose policy by the rule ``"one_se"`` is shown; or the
        trade-off of a boosted model, of which no optimality is claimed.
    forest
        the forest before pruning; only with a path.
    X, y
        held-out examples and their labels, on which nothing was trained, pruned or chosen. They are optional for a cascade;
        without them the page shows the figures from fitting.
    chosen
        a pruning of the path's problem, or the answer to a budget or limits, whose bound is then shown; a pruning of the boosted
        model.
    budget
        only for a cascade or an exit path: show the policy of least error within this mean cost.
    sample_weight
        shape (N,), >= 0: weights of the held-out examples, in cost and error.
    confidence
        confidence of the intervals, which are two-sided Student intervals of means and of means of paired differences. They
        describe and do not guarantee: see `prunemodels.hold_out`.
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
    if isinstance(source, (Cascade, ExitPath)):
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
        source, examples, options = how.path, (how.forest, *examples), {"chosen": how.chosen} | options
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
