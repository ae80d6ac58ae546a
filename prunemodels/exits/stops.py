"""At which stage each row stops, and what it has bought by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation, evaluate_exit_path
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.prices import priced_stages
from prunemodels.exits.set_stages import SetStages
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.models.costs import first_stages_of_items

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stops:
    """The rows of a sample by the stage at which a cascade stops them; shares and means are by weight.

    Parameters
    ----------
    evaluation
        of all policies of the cascade's path on these rows.
    stage
        int64, shape (N,): where each row stops.
    cost
        float64, shape (N,): what it pays.
    loss
        float64, shape (N,): its loss; None without labels.
    items
        the prices; empty where the stages do not tell what they read.
    bought
        bool, shape (M, N): what it has bought by then, of priced items.
    by_last
        bool, shape (M, N): what it would have bought by the last stage.
    """

    evaluation: ExitPathEvaluation
    stage: NDArray[np.int64]
    cost: Floats
    loss: Floats | None
    items: CostItems
    bought: NDArray[np.bool_]
    by_last: NDArray[np.bool_]

    @property
    def used(self) -> NDArray[np.int64]:
        """The stages at which rows of positive weight stop, rising."""
        return np.unique(self.stage[self.evaluation.weights > 0])

    def share(self) -> Floats:
        """Share of the rows that stop at each used stage."""
        weights = self.evaluation.weights
        return np.array([weights[self.stage == s].sum() / weights.sum() for s in self.used])

    def mean_cost(self) -> Floats:
        """What the rows that stop there pay on average."""
        return self._means(self.cost)

    def error(self) -> Floats | None:
        """Share of wrong predictions among them, or their mean squared error."""
        return None if self.loss is None else self._means(self.loss)

    def bought_by_then(self) -> Floats:
        """Share of them that have bought each item, shape (used stages, M)."""
        return self._means(self.bought)

    def _means(self, amounts: NDArray[Any]) -> Floats:
        """Means of the last axis over the rows that stop at each used stage."""
        groups = [(amounts[..., at], self.evaluation.weights[at]) for at in (self.stage == s for s in self.used)]
        return np.array([a @ w / w.sum() for a, w in groups])

    def by_policy(self) -> Floats:
        """Share of the rows that stop at each stage, by every policy of the path, shape (K, S)."""
        seen = self.evaluation
        weight = [np.bincount(seen.stages(k), seen.weights, seen.table.n_stages) for k in range(len(seen.path))]
        return np.asarray(np.array(weight) / seen.weights.sum())

    def staircase(self, most: int) -> NDArray[np.int64]:
        """The `most` items that most rows have bought, by the first used stage at which more than half of its rows have them."""
        by_then, weight = self.bought_by_then(), self.share()
        columns = np.flatnonzero(by_then.any(axis=0))
        kept = columns[np.argsort(-(weight @ by_then[:, columns]), kind="stable")][:most]
        usual = by_then[:, kept] > 0.5
        first = np.where(usual.any(axis=0), usual.argmax(axis=0), self.used.size)
        return np.asarray(kept[np.lexsort((-(weight @ by_then[:, kept]), first))])

    def to_frame(self) -> pd.DataFrame:
        """One row for each used stage: share, cost, error, and the items that more than half of these rows have bought."""
        import pandas as pd

        usual = [[self.items.names[m] for m in np.flatnonzero(row > 0.5)] for row in self.bought_by_then()]
        columns = {"stage": self.used, "share": self.share(), "cost": self.mean_cost(), "error": self.error(), "bought": usual}
        return pd.DataFrame({name: column for name, column in columns.items() if column is not None})


def stops_of(cascade: Cascade, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None, unpriced: bool = False) -> Stops:
    """Send rows through a fitted cascade and record where they stop.

    Parameters
    ----------
    sample_weight
        shape (N,), >= 0: weights of the rows.
    unpriced
        also take stages that do not tell what they read: there are no items then.

    Raises
    ------
    InvalidInputError
        for labels, weights and columns that do not fit, and for stages that do not tell what they read.
    """
    stages = cascade.stages_ if unpriced else priced_stages(cascade.stages_)
    seen = evaluate_exit_path(cascade, X, y, sample_weight=sample_weight)
    stage = seen.stages(cascade.policy_)
    items, bought = CostItems((), (), ()), np.zeros((0, seen.n), dtype=bool)
    by_last = bought
    if isinstance(stages, SetStages):
        items, region = stages.items, stages.region(cascade._rows(X))
        by_stage = np.array([chain.bought() for chain in stages.regions])
        bought, by_last = (by_stage[region, s].T & (items.price > 0)[:, None] for s in (stage, stages.n_stages - 1))
    elif isinstance(stages, TreeStages):
        rows, items = cascade._rows(X), stages.items
        first = first_stages_of_items(stages.ensemble, rows, items, stages.first_stage, stages.n_stages)
        bought, by_last = first <= stage, first < stages.n_stages
    loss = None if y is None else seen.losses(cascade.policy_)
    return Stops(seen, stage, seen.costs(cascade.policy_), loss, items, bought, by_last)


def shown_cascade(source: Cascade | ExitPath, budget: Price | None = None) -> Cascade:
    """The cascade to show: within a budget, or as given; of a path, the one that the rule ``"one_se"`` chooses.

    Raises
    ------
    InvalidInputError
        for what is no cascade and no exit path.
    """
    if not isinstance(source, (Cascade, ExitPath)):
        raise InvalidInputError(f"source is a {type(source).__name__}; give a fitted cascade or an exit path")
    if budget is not None:
        return source.at_cost(budget)
    return source if isinstance(source, Cascade) else source.at_row(source.row_by("one_se"))
