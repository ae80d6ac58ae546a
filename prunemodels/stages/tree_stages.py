"""Stages that walk the same trees deeper: nested prunings of one forest.

    split h is kept from stage first_stage_h on,      first_stage_h >= first_stage of its parent                          (1)
    value_s(x) = mean over the trees of the fractions (or the mean) at the node where x ends at stage s                   (2)

By (1) what a row buys for stage s is among what it buys for stage s + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import NestedPrunings
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble, Task
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import features_of, leaves_of
from prunemodels.models.costs import cost_items, first_stages_of_items, staged_example_costs
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.trees import pruned_ends
from prunemodels.stages.stages import StageOutput


@dataclass(frozen=True, eq=False)
class TreeStages:
    """Trees with (1) and (2), as `Stages`."""

    ensemble: Ensemble
    # items, evaluation: prices, see `PruningProblem`.
    items: CostItems
    evaluation: tuple[Price, ...]
    # shape (n,): the first stage at which a split is kept; S for leaves and for splits that no stage keeps.
    first_stage: NDArray[np.int32]
    n_stages: int

    def __post_init__(self) -> None:
        e = self.ensemble
        early = np.flatnonzero(e.is_split & (e.parent >= 0) & (self.first_stage < self.first_stage[e.parent]))
        if early.size:
            h = int(early[0])
            raise InvalidInputError(
                f"stages are not nested: split {h} is kept from stage {self.first_stage[h]} on, its parent from stage "
                f"{self.first_stage[e.parent[h]]} on; a split needs its parent"
            )

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
    def split_prices(self) -> tuple[Fraction, ...]:
        """The price of evaluating one split on each feature, exactly."""
        return evaluation_prices(list(self.evaluation), self.ensemble.n_features)

    @property
    def once(self) -> NDArray[np.float64]:
        """See `Stages`."""
        if not self.items.paid_once.any():
            return np.zeros(self.n_stages)
        price, split = np.where(self.items.paid_once, self.items.price, 0.0), self.ensemble.is_split
        tested = [np.unique(self.ensemble.feature[split & (self.first_stage <= s)]).tolist() for s in range(self.n_stages)]
        return np.array([price[self.items.needs_of(features).any(axis=0)].sum() for features in tested])

    @property
    def models(self) -> None:
        """See `PricedStages`."""
        return None

    @property
    def features(self) -> tuple[NDArray[np.int64], ...]:
        """See `PricedStages`."""
        first = np.where(self.ensemble.is_split, self.first_stage, self.n_stages)
        return tuple(self.ensemble.feature[first == s].astype(np.int64) for s in range(self.n_stages))

    @property
    def sources(self) -> Sequence[Sequence[int]]:
        """See `PricedStages`."""
        made = self.ensemble.made
        return [(f,) for f in range(self.ensemble.n_features)] if made is None else made.sources

    @property
    def n_columns(self) -> int:
        """See `PricedStages`."""
        return self.ensemble.n_features if self.ensemble.made is None else len(self.ensemble.made.names)

    @property
    def column_names(self) -> Sequence[str] | None:
        """See `PricedStages`."""
        made = self.ensemble.made
        named = self.ensemble.feature_names is not None if made is None else made.named
        return self.ensemble.column_names if named else None

    @property
    def reads_raw_columns(self) -> bool:
        """See `PricedStages`."""
        return self.ensemble.made is not None

    @property
    def described(self) -> str:
        """See `PricedStages`."""
        trees, features = self.ensemble.n_trees, self.ensemble.n_features
        return f"of one model with {trees} tree{'s' * (trees != 1)} on {features} feature{'s' * (features != 1)}"

    def at_unit_prices(self) -> TreeStages:
        """See `PricedStages`."""
        return replace(self, items=cost_items(1, self.ensemble), evaluation=(0,) * self.ensemble.n_features)

    def first_bought(self, X: Any) -> NDArray[np.int64]:
        """See `PricedStages`."""
        return first_stages_of_items(self.ensemble, X, self.items, self.first_stage, self.n_stages)

    def n_splits(self, last: int) -> int:
        """See `PricedStages`."""
        return int((self.first_stage <= last).sum())

    def costs(self, X: Any) -> NDArray[np.float64]:
        """See `Stages`."""
        check_columns(X, self.ensemble.names_to_check)
        return staged_example_costs(
            self.ensemble, X, self.items, self.first_stage, self.n_stages, evaluation_cost=list(self.evaluation)
        )

    def output(self, s: int, X: Any) -> StageOutput:
        """See `Stages`."""
        e = self.ensemble
        check_columns(X, e.names_to_check)
        rows = features_of(e, X)
        return self.output_at(pruned_ends(e, self.first_stage <= s)[leaves_of(e, rows)])

    def output_at(self, leaves: NDArray[np.int32]) -> StageOutput:
        """The mean (2) of rows that end at these nodes, shape (T, rows), and how far the trees disagree on what it favours."""
        value, n_trees = self.ensemble.value, self.ensemble.n_trees
        total = np.zeros((leaves.shape[1], value.shape[1]))
        squares = np.zeros_like(total)
        for t in range(n_trees):
            one = value[leaves[t]]
            total += one
            squares += one**2
        mean = total / n_trees
        favoured = mean.argmax(axis=1)[:, None]
        variance = np.take_along_axis(squares / n_trees - mean**2, favoured, axis=1)[:, 0]
        return StageOutput(mean, np.sqrt(np.maximum(variance, 0.0)))


def prunings_as_stages(prunings: NestedPrunings, kept_from: Sequence[NDArray[np.bool_]]) -> TreeStages:
    """Nested prunings of one forest, the cheapest first.

    `prunings`: whose instance has the trees and the prices. `kept_from`: the splits kept at each stage, each a superset of those
    of the stage before.
    """
    problem = prunings.problem
    e = problem.ensemble
    first = np.full(e.n_nodes, len(kept_from), dtype=np.int32)
    for s in range(len(kept_from) - 1, -1, -1):
        later = kept_from[s + 1] if s + 1 < len(kept_from) else e.is_split
        lost = np.flatnonzero(kept_from[s] & ~later)
        if lost.size:
            raise InvalidInputError(f"stages are not nested: split {lost[0]} is kept at stage {s} and not at stage {s + 1}")
        first[kept_from[s]] = s
    return TreeStages(e, problem.costs, problem.usage.evaluation, first, len(kept_from))


def without_gaps(problem: PruningProblem, closures: list[NDArray[np.bool_]], longest: float) -> list[NDArray[np.bool_]]:
    """The closures, and further ones between neighbours whose costs differ by more than `longest`, feature by feature."""
    filled = closures[:1]
    for outer in closures[1:]:
        inner, done = filled[-1], 0
        order = _by_feature(problem.ensemble, outer & ~inner)
        cost = _costs_up_to(problem, inner, order)
        while longest > 0 and cost[-1] - cost[done] > longest:
            done = max(done + 1, int(np.searchsorted(cost, cost[done] + longest, side="right")) - 1)
            if done >= order.size:
                break
            between = inner.copy()
            between[order[:done]] = True
            filled.append(between)
        filled.append(outer)
    return filled


def _by_feature(ensemble: Ensemble, splits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Some splits, ordered by the rarest feature at or above them; parents first, so that every prefix gives a closure."""
    rank = np.argsort(np.argsort(-np.bincount(ensemble.feature[splits], minlength=ensemble.n_features), kind="stable"))
    key = np.where(splits, rank[ensemble.feature], -1)
    for level in range(1, int(ensemble.depth.max(initial=0)) + 1):
        nodes = np.flatnonzero(splits & (ensemble.depth == level))
        key[nodes] = np.maximum(key[nodes], key[ensemble.parent[nodes]])
    chosen = np.flatnonzero(splits)
    return np.asarray(chosen[np.lexsort((ensemble.depth[chosen], key[chosen]))])


def _costs_up_to(problem: PruningProblem, inner: NDArray[np.bool_], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """The mean cost of a prediction with a closure, and with the first 1, 2, ... further splits, from one pass over the usage."""
    usage, n_stages = problem.usage, order.size + 1
    stage = np.full(problem.ensemble.n_nodes, n_stages, dtype=np.int32)
    stage[inner], stage[order] = 0, np.arange(1, n_stages)
    kept = problem.ensemble.is_split & (stage < n_stages)
    more = np.bincount(stage[kept], weights=usage.evaluation_price[kept], minlength=n_stages)
    first = usage.first_stage_by_row(stage, n_stages)
    for m in np.flatnonzero((usage.costs.price > 0) & ~usage.costs.paid_once):
        payers = np.bincount(first[m], weights=usage.weights, minlength=n_stages + 1)[:n_stages]
        more += payers * usage.costs.price[m] / usage.total_weight
    once = usage.first_stage_once(stage, n_stages)
    more += np.bincount(once, weights=usage.costs.price, minlength=n_stages + 1)[:n_stages]
    return np.cumsum(more)
