"""All facts that a report shows, computed before the page is written."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Share, checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.problem import PruningProblem
from prunemodels.deployment import Deployment, measure_deployment
from prunemodels.evaluation.held_out import on_other_rows
from prunemodels.evaluation.held_out_change import held_out_change
from prunemodels.evaluation.item_costs import ItemCost, item_costs
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.models.forests.labels import class_numbers
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.report_page.by_class import Answers, ByClass, by_class, refuse_positive
from prunemodels.report_page.counts import TreeShapes, UsageCounts, tree_shapes, usage_counts
from prunemodels.report_page.evidence import Evidence, evidence_of
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.limit_uses import transferable
from prunemodels.statements.wording import is_overrun

POINTS = 16
"""Rows of a path that a table shows."""

LIBRARIES = ("prunemodels", "scikit-learn", "numpy", "numba", "ortools")
"""The libraries whose versions a report shows."""


@dataclass(frozen=True, eq=False)
class Labels:
    """Texts on the page that the user chooses.

    Parameters
    ----------
    title
        the heading of the page.
    unit
        the unit of the prices, such as "dollars"; may be empty.
    command
        the command that makes the page again; None: not shown.
    sources
        the origin of the data, by their use; shown as given.
    positive
        the class whose examples are to be found; None: the rarer of two.
    """

    title: str = "Pruned forest"
    unit: str = ""
    command: str | None = None
    sources: Mapping[str, str] | None = None
    positive: Any = None


class PageOptions(TypedDict, total=False):
    """What every page takes, see `report_page`."""

    sample_weight: ArrayLike | None
    confidence: float
    title: str
    unit: str
    command: str | None
    sources: Mapping[str, str] | None
    positive: Any


@checked
def shown_as(
    heading: str,
    *,
    sample_weight: ArrayLike | None = None,
    confidence: Share = 0.95,
    title: str | None = None,
    unit: str = "",
    command: str | None = None,
    sources: Mapping[str, str] | None = None,
    positive: Any = None,
) -> dict[str, Any]:
    """`PageOptions` as the functions that gather facts take them; `heading` is the title of a page without one."""
    labels = Labels(heading if title is None else title, unit, command, sources, positive)
    return {"sample_weight": sample_weight, "confidence": confidence, "labels": labels}


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts that the sections of a report show. Pairs are in the order before, after pruning."""

    labels: Labels
    path: PruningPath
    pruning: Pruning
    unpruned: Pruning
    solution: BudgetSolution | None
    within: LimitsSolution | None
    model: str
    held_out: HeldOutChange
    along_path: PathEvaluation
    items: tuple[ItemCost, ...]
    classes: ByClass | None
    usage: tuple[UsageCounts, UsageCounts]
    shapes: tuple[TreeShapes, TreeShapes]
    evidence: Evidence
    deployment: Deployment
    versions: Mapping[str, str]

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.path.problem.ensemble.task

    @property
    def measure(self) -> str:
        """What the errors are, see `Ensemble.measure`."""
        return self.path.problem.ensemble.measure

    @property
    def over_budget(self) -> bool:
        """Whether the held-out examples cost more than the budget; False without a budget."""
        return self.budget is not None and is_overrun(self.budget, self.held_out.cost_after)

    @property
    def budget(self) -> Fraction | None:
        """The budget, or the limit of the mean cost; None without one."""
        answer = self.solution or self.within
        return None if answer is None else answer.budget


def gather(
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    chosen: Pruning | BudgetSolution | LimitsSolution,
    *,
    sample_weight: ArrayLike | None,
    confidence: float,
    labels: Labels,
) -> Facts:
    """Compute all facts; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    if not isinstance(path, PruningPath):
        raise InvalidInputError(
            f"the source is a {type(path).__name__}; give a PruningPath with its forest, a fitted cascade, or an exit path"
        )
    solution = chosen if isinstance(chosen, BudgetSolution) else None
    within = chosen if isinstance(chosen, LimitsSolution) else None
    pruning = chosen if isinstance(chosen, Pruning) else chosen.pruning
    problem, limits = path.problem, () if within is None else transferable(within.limits)
    if pruning.problem is not problem:
        raise InvalidInputError("chosen belongs to another problem than path; give a pruning of path.problem")
    pruned = apply_pruning(pruning, forest)
    X = table_or_array(X)
    on_held_out = on_other_rows(problem, X, sample_weight)
    along_path = evaluate_path(path, X, y, sample_weight=sample_weight)
    rows = X.iloc[on_held_out.rows] if hasattr(X, "iloc") else X[on_held_out.rows]
    kept = (problem.ensemble.is_split, pruning.kept)
    counts = [usage_counts(problem.ensemble, k, rows, on_held_out.weights) for k in kept]
    unpruned = Pruning.unpruned(problem)
    return Facts(
        labels=labels,
        path=path,
        pruning=pruning,
        unpruned=unpruned,
        solution=solution,
        within=within,
        model=type(forest).__name__,
        held_out=held_out_change(on_held_out, pruning.kept, forest, y, confidence, limits),
        along_path=along_path,
        items=tuple(item_costs(on_held_out, pruning.kept)),
        classes=_by_class(on_held_out, pruning.kept, (forest, pruned), rows, y, confidence, labels),
        usage=(counts[0], counts[1]),
        shapes=(tree_shapes(unpruned), tree_shapes(pruning)),
        evidence=evidence_of(path, pruning, solution, within),
        deployment=measure_deployment(forest, pruned, rows),
        versions=versions(),
    )


def _by_class(
    problem: PruningProblem, kept: NDArray[np.bool_], models: Sequence[Any], rows: Any, y: Any, confidence: float, labels: Labels
) -> ByClass | None:
    """Both forests on the held-out examples, class by class."""
    classes = problem.ensemble.classes
    if classes is None:
        refuse_positive(labels.positive)
        return None
    truth = class_numbers(classes, np.asarray(y)[problem.rows], len(problem.rows))
    answers = []
    for model, pruning in zip(models, (Pruning.unpruned(problem), Pruning(problem, kept)), strict=True):
        said = class_numbers(classes, np.asarray(model.predict(rows)), len(truth))
        answers.append(Answers(said, problem.usage.row_costs(pruning.kept), pruning.bought))
    options: dict[str, Any] = {"confidence": confidence, "positive": labels.positive}
    return by_class(classes, truth, problem.weights, (answers[0], answers[1]), problem.costs, **options)


def table_or_array(X: Any) -> Any:
    """Convert examples of any form to a pandas table, a CSR matrix or an array."""
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    if hasattr(X, "iloc"):
        return X
    return X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)


def versions() -> dict[str, str]:
    """Versions of the libraries, of Python and the kind of system; nothing that identifies the machine."""
    found = {library: version(library) for library in LIBRARIES}
    return {**found, "Python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}


def spread(cost: NDArray[np.float64], points: int = POINTS) -> list[int]:
    """Rows of a path at evenly spaced costs, the first and the last included."""
    targets = np.linspace(float(cost.max()), float(cost.min()), points)
    return sorted({int(np.abs(cost - target).argmin()) for target in targets} | {0, len(cost) - 1})


def half_width(standard_error: NDArray[np.float64], n: int, confidence: float) -> NDArray[np.float64]:
    """Half the width of the interval of each mean over n examples."""
    quantile = float(stats.t.ppf((1 + confidence) / 2, max(1, n - 1)))
    half: NDArray[np.float64] = quantile * np.nan_to_num(standard_error)
    return half


def asked_for(items: Sequence[ItemCost]) -> tuple[int, int, int]:
    """How many items the model before asks for, how many of them never after, and how many for less than a tenth of the rows."""
    priced = [item for item in items if item.price is not None]
    gone = sum(item.before > 0 and item.after == 0 for item in priced)
    rare = sum(0 < (item.bought_after or 0) < 0.1 for item in priced)
    return sum(item.before > 0 for item in priced), gone, rare
