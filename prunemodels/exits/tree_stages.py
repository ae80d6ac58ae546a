"""Stages that walk the same trees deeper, or more trees: prunings of one forest, its first trees, rounds of boosting.

    split h is kept from stage first_stage_h on,      first_stage_h >= first_stage of its parent                          (1)
    forest:    value_s(x) = mean over the trees that take part in stage s of the fractions (or the mean) at x's leaf
    boosting:  value_s(x) = link( base + sum over these trees of x's leaf values )                                          (2)

By (1) what a row buys for stage s is among what it buys for stage s + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from formulations.answers.nested_prunings import NestedPrunings
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost, Price
from formulations.instance.ensemble import Ensemble, Task
from formulations.instance.routing import features_of, leaves_of
from prunemodels.exits.stages import StageOutput
from prunemodels.exits.waiting import Calls
from prunemodels.models.costs import Costs, cost_items, staged_example_costs
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.libraries.model_forest import pruned_ends
from prunemodels.models.losses import SQUARED_ERROR

Link = Literal["mean", "identity", "sigmoid", "softmax", "clipped"]


@dataclass(frozen=True, eq=False)
class TreeStages:
    """Trees with (1) and (2), as `Stages`.

    Parameters
    ----------
    ensemble
        the trees.
    items, evaluation
        prices, see `PruningProblem`.
    first_stage
        int32, shape (n,): the first stage at which a split is kept; S for leaves and for splits that no stage keeps.
    joins
        int32, shape (T,): the first stage in which a tree takes part.
    link
        ``"mean"`` for forests; for boosting, how sums become numbers or probabilities; ``"clipped"``: limited to 0 and 1.
    base
        float64, shape (outputs,): where sums start; for boosting only.
    output_of
        int32, shape (T,): which output a tree adds to; for boosting only.

    Raises
    ------
    InvalidInputError
        if a split is kept before its parent, or no tree takes part in the first stage of a forest.
    """

    ensemble: Ensemble
    items: CostItems
    evaluation: tuple[Price, ...]
    first_stage: NDArray[np.int32]
    joins: NDArray[np.int32]
    n_stages: int
    link: Link = "mean"
    base: NDArray[np.float64] | None = None
    output_of: NDArray[np.int32] | None = None

    def __post_init__(self) -> None:
        e = self.ensemble
        early = np.flatnonzero(e.is_split & (e.parent >= 0) & (self.first_stage < self.first_stage[e.parent]))
        if early.size:
            h = int(early[0])
            raise InvalidInputError(
                f"stages are not nested: split {h} is kept from stage {self.first_stage[h]} on, its parent from stage "
                f"{self.first_stage[e.parent[h]]} on; a split needs its parent"
            )
        if self.link == "mean" and (self.joins > 0).all():
            raise InvalidInputError("no tree takes part in the first stage; give it at least one")

    def __repr__(self) -> str:
        return f"TreeStages({self.n_stages} stages, {self.ensemble.n_trees} trees)"

    @property
    def task(self) -> Task:
        """See `Stages`."""
        return self.ensemble.task

    @property
    def classes(self) -> NDArray[Any] | None:
        """See `Stages`."""
        return self.ensemble.classes

    @property
    def once(self) -> NDArray[np.float64]:
        """See `Stages`."""
        if not self.items.paid_once.any():
            return np.zeros(self.n_stages)
        price, split = np.where(self.items.paid_once, self.items.price, 0.0), self.ensemble.is_split
        tested = [np.unique(self.ensemble.feature[split & (self.first_stage <= s)]).tolist() for s in range(self.n_stages)]
        return np.array([price[self.items.needs_of(features).any(axis=0)].sum() for features in tested])

    def costs(self, X: Any) -> NDArray[np.float64]:
        """See `Stages`."""
        check_columns(X, self.ensemble.names_to_check)
        cost = staged_example_costs(
            self.ensemble, X, self.items, self.first_stage, self.n_stages, evaluation_cost=list(self.evaluation)
        )
        return cost + self.calls(X).fees if any(self.items.asking.fees) else cost

    def calls(self, X: Any) -> Calls:
        """What each row has asked by each stage, arrays of the shape (S, N): as a walk on demand asks, feature by feature."""
        from prunemodels.on_demand.beginning import calls_by_stage

        return calls_by_stage(self, X)

    def output(self, s: int, X: Any) -> StageOutput:
        """See `Stages`."""
        e = self.ensemble
        check_columns(X, e.names_to_check)
        rows = features_of(e, X)
        return self.output_at(s, pruned_ends(e, self.first_stage <= s)[leaves_of(e, rows)])

    def output_at(self, s: int, leaves: NDArray[np.int32]) -> StageOutput:
        """The output of stage s for rows that end at these nodes, shape (T, rows)."""
        trees = np.flatnonzero(self.joins <= s)
        return self._mean(leaves, trees) if self.link == "mean" else self._sum(leaves, trees)

    def _mean(self, leaves: NDArray[np.int32], trees: NDArray[np.int64]) -> StageOutput:
        """A forest's mean, and the standard deviation of its trees: of the class that the mean favours, or of the number."""
        value = self.ensemble.value
        total = np.zeros((leaves.shape[1], value.shape[1]))
        squares = np.zeros_like(total)
        for t in trees:
            one = value[leaves[t]]
            total += one
            squares += one**2
        mean = total / trees.size
        favoured = mean.argmax(axis=1)[:, None]
        variance = np.take_along_axis(squares / trees.size - mean**2, favoured, axis=1)[:, 0]
        return StageOutput(mean, np.sqrt(np.maximum(variance, 0.0)))

    def _sum(self, leaves: NDArray[np.int32], trees: NDArray[np.int64]) -> StageOutput:
        assert self.base is not None
        assert self.output_of is not None
        margins = np.tile(self.base, (leaves.shape[1], 1))
        for t in trees:
            margins[:, self.output_of[t]] += self.ensemble.value[leaves[t], 0]
        return StageOutput(_linked(margins, self.link), np.zeros(len(margins)))


def _linked(margins: NDArray[np.float64], link: Link) -> NDArray[np.float64]:
    if link == "sigmoid":
        return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])
    if link == "clipped":
        return SQUARED_ERROR.probabilities(margins)
    return np.asarray(softmax(margins, axis=1)) if link == "softmax" else margins


def prunings_as_stages(prunings: NestedPrunings, kept_from: Sequence[NDArray[np.bool_]]) -> TreeStages:
    """Nested prunings of one forest, the cheapest first.

    Parameters
    ----------
    prunings
        whose instance has the trees and the prices.
    kept_from
        the splits kept at each stage, each a superset of those of the stage before.

    Raises
    ------
    InvalidInputError
        if they are not nested.
    UnsupportedModelError
        for trees with several outputs and for survival trees.
    """
    problem = prunings.problem
    e = problem.ensemble
    check_votes(e)
    first = np.full(e.n_nodes, len(kept_from), dtype=np.int32)
    for s in range(len(kept_from) - 1, -1, -1):
        later = kept_from[s + 1] if s + 1 < len(kept_from) else e.is_split
        lost = np.flatnonzero(kept_from[s] & ~later)
        if lost.size:
            raise InvalidInputError(f"stages are not nested: split {lost[0]} is kept at stage {s} and not at stage {s + 1}")
        first[kept_from[s]] = s
    joins = np.zeros(e.n_trees, dtype=np.int32)
    return TreeStages(e, problem.costs, problem.evaluation, first, joins, len(kept_from))


@checked
def trees_as_stages(ensemble: Ensemble, costs: Costs, trees: Sequence[int], *, evaluation_cost: EvaluationCost = 0) -> TreeStages:
    """The trees of a forest, in their order, as stages: each stage averages the first trees, and later stages have more.

    Parameters
    ----------
    ensemble
        the trees, from `prunemodels.read_forest`.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`.
    trees
        the number of trees of each stage, rising.
    evaluation_cost
        price of evaluating one split, one for all features or one for each.

    Raises
    ------
    InvalidInputError
        if the numbers do not rise from 1 on, or exceed the number of trees.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> stages = pm.exits.trees_as_stages(pm.read_forest(forest), costs, [2, 4, 8])
    >>> cascade = pm.CascadeClassifier(stages, budget=14, random_state=0).fit(X_valid, y_valid)
    >>> cascade.stop_stages(X_test[:6])
    array([0, 0, 0, 0, 0, 0])
    """
    counts = np.asarray(trees, dtype=np.int64)
    if not counts.size or counts[0] < 1 or (np.diff(counts) <= 0).any() or counts[-1] > ensemble.n_trees:
        raise InvalidInputError(f"trees is {list(trees)}; give rising numbers from 1 to {ensemble.n_trees}")
    joins = np.searchsorted(counts, np.arange(ensemble.n_trees), side="right").astype(np.int32)
    return whole_trees(ensemble, costs, joins, counts.size, evaluation_cost)


def check_votes(ensemble: Ensemble) -> None:
    """Refuse trees whose votes no stage can judge."""
    ensemble.check_one_output("a cascade")
    ensemble.check_no_curves("a cascade")


def whole_trees(
    ensemble: Ensemble, costs: Costs, joins: NDArray[np.int32], n_stages: int, evaluation_cost: EvaluationCost, **more: Any
) -> TreeStages:
    """Unpruned trees, which are walked to their leaves from the stage on in which they join."""
    check_votes(ensemble)
    items = cost_items(costs, ensemble)
    first = np.where(ensemble.is_split, joins[ensemble.tree_of], n_stages).astype(np.int32)
    prices = tuple(evaluation_cost) if np.ndim(evaluation_cost) else (evaluation_cost,) * ensemble.n_features  # type: ignore[arg-type]
    return TreeStages(ensemble, items, prices, first, joins, n_stages, **more)  # type: ignore[arg-type]
