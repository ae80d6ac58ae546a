"""The facts that a page shows of a pruned forest, computed before the page is written, and what all pages take.

    c_{i,f}  =  number of trees on whose path for example i some kept split tests feature f                                (1)

Table 1 of BP16 gives the shares of the pairs (i, f) with c = 0, with c from 1 to 7, and with more. An example pays for f as soon
as c > 0, so pruning saves on features that few trees use. For the trees of a pipeline, f stands for a raw column: a tree uses it
where it tests a feature that is made from it.

Of a pruned boosted model they are held-out cost, error and loss, purchases, and what holds class by class.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Share, checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, leaves_of
from formulations.instance.tree_loss import USUAL_LOSS
from formulations.shown import is_rate
from prunemodels.evaluation.curve import TradeoffCurve, tradeoff_curve
from prunemodels.evaluation.evaluate import ItemCost, item_costs
from prunemodels.evaluation.held_out import held_out_change, on_other_rows
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.evaluation.vote import with_cut
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.labelled_samples import group_numbers, losses_of
from prunemodels.models.losses import loss_of
from prunemodels.models.trees import pruned_ends
from prunemodels.report_page.evidence import Evidence, evidence_of
from prunemodels.report_page.payers import PAGE, Answers, Payers, payers
from prunemodels.statements.by_class import by_class
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import MeanInterval, ends_along
from prunemodels.statements.wording import count, is_overrun, transferable

LIBRARIES = ("prunemodels", "scikit-learn", "numpy", "numba", "ortools")
"""The libraries whose versions a page shows."""


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class PageOptions:
    """What every page takes, see `report_page`."""

    sample_weight: ArrayLike | None = None
    groups: Any = None
    confidence: Share = 0.95
    title: str | None = None
    unit: str = ""
    command: str | None = None
    sources: Mapping[str, str] | None = None
    positive: Any = None


@dataclass(frozen=True)
class Mark:
    """A model in the chart of a trade-off, of a kind of `plots.picture.MARKS`, with the interval of its error."""

    kind: str
    name: str
    cost: float
    error: float
    ends: MeanInterval | None = None


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Cost and error of all prunings or policies, shape (K,), in the order of the path, and of single models, the chosen last.

    `ends` are those of each error's interval, shape (2, K), None for cross-fitted errors; `names` what a point is called, and
    several are.
    """

    cost: NDArray[np.float64]
    error: NDArray[np.float64]
    ends: NDArray[np.float64] | None
    names: tuple[str, str]
    marks: Sequence[Mark]

    @property
    def chosen(self) -> Mark:
        """The chosen pruning or policy."""
        return self.marks[-1]


def told(interval: MeanInterval) -> MeanInterval | None:
    """The interval; None where it cannot be told."""
    return interval if interval.is_told else None


def before_and_after(change: HeldOutChange) -> tuple[Mark, Mark]:
    """The model before pruning and the chosen pruning, on held-out examples."""
    h = change
    return (
        Mark("unpruned", "unpruned", h.cost_before.mean, h.error_before.mean, told(h.error_before)),
        Mark("chosen", "the chosen pruning", h.cost_after.mean, h.error_after.mean, told(h.error_after)),
    )


@dataclass(frozen=True, eq=False)
class Facts:
    """The facts that the sections of a report show. Pairs are in the order before, after pruning."""

    kind: ClassVar[str] = "pruning"
    heading: ClassVar[str] = "Pruned forest"

    options: PageOptions
    path: PruningPath
    pruning: Pruning
    solution: LimitedSolution | None
    model: str
    held_out: HeldOutChange
    along_path: PathEvaluation
    items: Sequence[ItemCost]
    payers: Payers | None
    usage: Sequence[UsageCounts]
    evidence: Evidence

    @property
    def measure(self) -> str:
        """What the errors are, see `Ensemble.measure`."""
        return self.path.problem.ensemble.measure

    @property
    def tradeoff(self) -> Tradeoff:
        """The forest's own error along the path, on the held-out examples."""
        along, change = self.along_path, self.held_out
        ends = None
        if change.n_groups is None:  # those along the path count examples
            ends = ends_along(along.error, along.error_se, along.n_effective, change.confidence, shares=is_rate(self.measure))
        return Tradeoff(along.cost, along.error, ends, ("pruning", "prunings"), before_and_after(change))

    @property
    def over_budget(self) -> bool:
        """Whether the held-out examples cost more than the budget; False without a budget."""
        return self.budget is not None and is_overrun(self.budget, self.held_out.cost_after)

    @property
    def budget(self) -> Fraction | None:
        """The budget, or the limit of the mean cost; None without one."""
        return None if self.solution is None else self.solution.budget


@checked
def gather(
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    *,
    chosen: Pruning | LimitedSolution,
    cut: float | None = None,
    **options: Any,
) -> Facts:
    """Compute all facts; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    shown = PageOptions(**options)
    weight, confidence, groups = shown.sample_weight, shown.confidence, group_numbers(shown.groups, X)
    solution = chosen if isinstance(chosen, LimitedSolution) else None
    pruning = chosen if isinstance(chosen, Pruning) else chosen.pruning
    problem, limits = path.problem, () if solution is None or solution.is_budget else transferable(solution.limits)
    if pruning.problem is not problem:
        raise InvalidInputError("chosen belongs to another problem than path; give a pruning of path.problem")
    pruned, X = with_cut(apply_pruning(pruning, forest), cut), table_or_array(X)
    held_out = on_other_rows(problem, X, weight)
    along_path = evaluate_path(path, X, y, sample_weight=weight)
    rows = _safe_indexing(X, held_out.usage.rows)
    both = Pruning.unpruned(held_out), Pruning(held_out, pruning.kept)
    ensemble = problem.ensemble
    change = held_out_change(held_out, pruning.kept, forest, y, confidence, limits, shown.positive, groups, cut)
    answers = [
        Answers(np.asarray(model.predict(rows)), p.problem.usage.row_costs(p.kept), p.bought)
        for model, p in zip((forest, pruned), both, strict=True)
    ]
    return Facts(
        options=shown,
        path=path,
        pruning=pruning,
        solution=solution,
        model=type(forest).__name__,
        held_out=change,
        along_path=along_path,
        items=item_costs(held_out.usage, [p.kept for p in both], ensemble.column_names),
        payers=payers(
            ensemble.classes,
            np.asarray(y)[held_out.usage.rows],
            held_out.usage.weights,
            answers,
            held_out.costs,
            shown.positive,
        ),
        usage=[usage_counts(ensemble, p.kept, rows, held_out.usage.weights) for p in both],
        evidence=evidence_of(path, pruning, solution),
    )


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


def spread(cost: NDArray[np.float64], points: int = PAGE.path_rows) -> list[int]:
    """Rows of a path at evenly spaced costs, the first and the last included."""
    targets = np.linspace(float(cost.max()), float(cost.min()), points)
    return sorted({int(np.abs(cost - target).argmin()) for target in targets} | {0, len(cost) - 1})


def item_counts(items: Sequence[ItemCost]) -> tuple[int, int, int]:
    """How many items the model before asks for, how many of them never after, and how many for less than a tenth of the rows."""
    priced = [item for item in items if item.price is not None]
    gone = sum(item.before > 0 and item.after == 0 for item in priced)
    rare = sum(0 < (item.bought_after or 0) < 0.1 for item in priced)
    return sum(item.before > 0 for item in priced), gone, rare


@dataclass(frozen=True, eq=False)
class UsageCounts:
    """The distribution of (1): entry k of `share`, shape (T + 1,), is the share of the pairs, weighted by example, with c = k.

    `features` is the mean number of features that an example uses.
    """

    share: NDArray[np.float64]
    features: float

    @property
    def bins(self) -> tuple[float, float, float]:
        """Shares of no use, 1 to 7 trees, more than 7 trees."""
        return (
            float(self.share[0]),
            float(self.share[1 : PAGE.few_trees + 1].sum()),
            float(self.share[PAGE.few_trees + 1 :].sum()),
        )


def usage_counts(ensemble: Ensemble, kept: NDArray[np.bool_], X: Any, weights: NDArray[np.float64]) -> UsageCounts:
    """Count (1) over examples with weights > 0; `kept` are the splits kept, closed under parents."""
    rows = features_of(ensemble, X)
    tally = np.zeros(ensemble.n_trees + 1)
    e, n_columns = ensemble, len(ensemble.column_names)
    sources = [(f,) for f in range(e.n_features)] if e.made is None else e.made.sources
    start = np.cumsum([0, *map(len, sources)])
    column = np.array([c for columns in sources for c in columns], dtype=np.int64)
    trees = (e.roots, e.left, e.right, e.feature, e.threshold, e.missing_left)
    _tally(rows, weights, *trees, start, column, n_columns, kept, tally)
    share = tally / (weights.sum() * n_columns)
    return UsageCounts(share, float((1 - share[0]) * n_columns))


@njit(cache=True)
def _tally(  # type: ignore[no-untyped-def]
    rows, weights, roots, left, right, feature, threshold, missing_left, start, column, n_columns, kept, tally
):
    """For each pair of an example and a column, add the example's weight to `tally` at the number of trees that use the pair."""
    uses = np.zeros(n_columns, dtype=np.int64)
    last = np.full(n_columns, -1, dtype=np.int64)
    for i in range(rows.shape[0]):
        uses[:] = 0
        last[:] = -1
        for t in range(roots.shape[0]):
            h = roots[t]
            # walk to a leaf of what was kept; a tree counts once for each column it passes
            while kept[h]:
                f = feature[h]
                for c in column[start[f] : start[f + 1]]:
                    if last[c] != t:
                        last[c] = t
                        uses[c] += 1
                x = rows[i, f]
                goes_left = missing_left[h] if np.isnan(x) else x <= threshold[h]
                h = left[h] if goes_left else right[h]
        for c in range(n_columns):
            tally[uses[c]] += weights[i]


@dataclass(frozen=True, eq=False)
class BoostedFacts:
    """What the page shows. Pairs are in the order before, after pruning; losses are means on the held-out examples."""

    kind: ClassVar[str] = "boosted"
    heading: ClassVar[str] = "Pruned boosted model"
    budget: ClassVar[None] = None
    evidence: ClassVar[None] = None

    options: PageOptions
    path: BoostedPath
    chosen: BoostedPruning
    held_out: HeldOutChange
    loss: tuple[float, float]
    items: Sequence[ItemCost]
    along: TradeoffCurve
    payers: Payers | None

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.held_out.task

    @property
    def measure(self) -> str:
        """What the errors are, see `Ensemble.measure`."""
        return self.held_out.measure

    @property
    def tradeoff(self) -> Tradeoff:
        """Of all prunings of the path, on the held-out examples."""
        return Tradeoff(self.along.cost, self.along.error, None, ("pruning", "prunings"), before_and_after(self.held_out))

    @property
    def loss_name(self) -> str:
        """What the pruning minimises the mean of."""
        return "log loss" if self.task == "classification" else "squared error"

    @property
    def model(self) -> str:
        """The model, its size and what it reads, in words."""
        forest, source = self.chosen.forest, self.chosen.forest.source
        name = type(source).__name__ if source is not None else "ModelForest"
        read = count(forest.n_columns, "feature") if forest.made is None else count(len(forest.made.names), "raw column")
        return f"{name}, {forest.ensemble.n_trees:,} trees, {read}, {self.task}"


@checked
def gather_boosted(path: BoostedPath, X: Any, y: Any, *, chosen: BoostedPruning, **options: Any) -> BoostedFacts:
    """Measure a pruning and the model before it on held-out examples; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    shown = PageOptions(**options)
    before, ensemble = path.unpruned, path.unpruned.forest.ensemble
    if chosen.kept.shape != before.kept.shape or chosen.forest.source is not before.forest.source:
        raise InvalidInputError(
            "chosen is a pruning of another model than path; take one of path.prunings, or path.at_cost(budget)"
        )
    rows = before.forest.rows(X)
    weight = check_weights(shown.sample_weight, len(rows), "sample_weight", X)
    counted, usage, leaves = weight > 0, before.usage.on(rows, weight), leaves_of(ensemble, rows).T
    paid, errors, losses, answers = [], [], [], []
    for pruning in (before, chosen):
        forest, response = pruning.forest, pruning.forest.response()
        said = response.predictions(response.sums(pruned_ends(ensemble, pruning.kept)[leaves]))
        paid.append(SampleCost.of(usage, pruning.kept))
        errors.append(losses_of(response.classes, said, y)[counted])
        each = loss_of(forest, y, len(rows)).values(forest.margins(rows, pruning.kept))
        losses.append(float(np.average(each, weights=weight)))
        answers.append(Answers(np.asarray(said)[counted], paid[-1].rows))
    weights, confidence, made = weight[counted], shown.confidence, before.forest.made
    classes, truth, groups = before.forest.classes, np.asarray(y)[counted], group_numbers(shown.groups, X)
    groups = None if groups is None else groups[counted]
    judged = by_class(classes, truth, [answer.said for answer in answers], weights, confidence, shown.positive, groups=groups)
    loss = USUAL_LOSS["regression" if before.forest.classes is None else "classification"]
    return BoostedFacts(
        shown,
        path,
        chosen,
        change_of((paid[0], paid[1]), (errors[0], errors[1]), weights, confidence, loss=loss, classes=judged, groups=groups),
        (losses[0], losses[1]),
        item_costs(usage, (before.kept, chosen.kept), ensemble.names[: before.forest.n_columns] if made is None else made.names),
        tradeoff_curve(path, X, y, sample_weight=weight),
        payers(classes, truth, weights, answers, usage.costs, shown.positive),
    )
