"""All policies of an exit path on labelled rows, by one pass over the stages; and where a cascade stops each row.

A row's doubt at a stage does not depend on the policy (`prunemodels.stages.policy`), so each stage predicts all rows once, and

    stage_k(i)  =  #{ s : go_k[s, level_s(i)] }                                                                          (1)
    cost_k      =  (items paid once that the stages up to policy k's last need)  +  mean over i of cost_{stage_k(i), i}   (2)

(2) counts items that are paid once for all examples also where no row of the sample comes to the stage that needs them, as
`prunemodels.evaluate` does for the splits of a forest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_weights
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.exit_path import ExitPath
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.stages.judging import lost
from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stages import PricedStages, StageTable, priced_stages

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExitPathEvaluation:
    """Cost and error of every policy of an exit path on N labelled rows."""

    path: ExitPath  # the K policies
    table: StageTable  # the stages' outputs for the rows, stacked if the path has a stack, and their costs
    truth: NDArray[Any] | None  # shape (N,): class numbers, -1 for a label that no stage knows, or targets; None without labels
    weights: Floats  # shape (N,), >= 0: weights of the rows in the means
    doubt: Floats  # shape (S - 1, N): the rows' doubts
    last: Floats  # shape (N, K): the output of the last stage alone, without a stack: what the model says that has no exits

    @property
    def n(self) -> int:
        """N."""
        return self.table.n_rows

    @cached_property
    def loss(self) -> Floats:
        """What every stage loses, by what the path's predictions are judged by; shape (S, N)."""
        return lost(self.table.value, self._labels, self.path.by)

    @cached_property
    def last_loss(self) -> Floats:
        """The loss of the last stage alone, shape (N,): for prunings of a forest that of the unpruned forest itself."""
        return lost(self.last, self._labels, self.path.by)

    @property
    def _labels(self) -> NDArray[Any]:
        if self.truth is None:
            raise InvalidInputError("y is None: errors need labels; give y to evaluate_exit_path")
        return self.truth

    def stages(self, policy: ExitPolicy | int) -> NDArray[np.int64]:
        """(1): the stage at which each row stops, by a policy of these stages or by row k of the path; shape (N,)."""
        return (self.path.policy(policy) if isinstance(policy, int) else policy).stop_stages(self.doubt)

    def costs(self, policy: ExitPolicy | int) -> Floats:
        """What each row pays under a policy, shape (N,), without items paid once for all."""
        return np.asarray(self.table.cost[self.stages(policy), np.arange(self.n)])

    def losses(self, policy: ExitPolicy | int) -> Floats:
        """The loss of each row under a policy, shape (N,)."""
        return np.asarray(self.loss[self.stages(policy), np.arange(self.n)])

    def mean_cost(self, policy: ExitPolicy | int) -> float:
        """(2) of a policy, whether it is on the path or not."""
        last = (self.path.policy(policy) if isinstance(policy, int) else policy).last_stage
        return float(self.costs(policy) @ self.share + self.table.once[last])

    def mean_loss(self, policy: ExitPolicy | int) -> float:
        """What is lost on average under a policy."""
        return float(self.losses(policy) @ self.share)

    @property
    def share(self) -> Floats:
        """The weights, adding up to 1."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def cost(self) -> Floats:
        """(2) for every policy, shape (K,)."""
        return np.array([self.mean_cost(k) for k in range(len(self.path))])

    @cached_property
    def error(self) -> Floats:
        """What is lost on average under every policy, shape (K,)."""
        return np.array([self.mean_loss(k) for k in range(len(self.path))])

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: lam, and cost and error on these rows."""
        import pandas as pd

        return pd.DataFrame({"lam": self.path.lam, "cost": self.cost, "error": self.error})


@checked
def evaluate_exit_path(cascade: Cascade, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None) -> ExitPathEvaluation:
    """Cost and error of every policy of an exit path on labelled rows.

    Use rows that no stage and no policy was learned from.

    Parameters
    ----------
    cascade
        fitted; of the policies of its `exit_path_`.
    X, y
        examples and labels, each one that the stages were trained on. Costs need no labels.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error.

    Raises
    ------
    InvalidInputError
        for labels, weights and columns that do not fit.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, path, y_test, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> seen = pm.cascades.evaluate_exit_path(exits, X_test, y_test)
    >>> print(f"dearest policy: cost {seen.cost[0]:.2f}, error {seen.error[0]:.3f}")
    dearest policy: cost 10.75, error 0.059
    """
    rows, path = cascade._rows(X), cascade.exit_path_
    alone, table, doubt = path.on(rows)
    truth = None if y is None else class_numbers(path.stages.classes, y, table.n_rows)
    weights = check_weights(sample_weight, table.n_rows, "sample_weight", X)
    return ExitPathEvaluation(path, table, truth, weights, doubt, alone.value[-1])


@dataclass(frozen=True, eq=False)
class Stops:
    """The rows of a sample by the stage at which a cascade stops them; shares and means are by weight."""

    evaluation: ExitPathEvaluation  # of all policies of the cascade's path on these rows
    stage: NDArray[np.int64]  # shape (N,): where each row stops
    cost: Floats  # shape (N,): what it pays
    loss: Floats | None  # float64, shape (N,): its loss; None without labels
    items: CostItems  # the prices; empty where the stages do not tell what they read
    bought: NDArray[np.bool_]  # shape (M, N): what it has bought by then, of priced items
    by_last: NDArray[np.bool_]  # shape (M, N): what it would have bought by the last stage

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

    `sample_weight`: shape (N,), >= 0: weights of the rows. `unpriced`: also take stages that do not tell what they read: there
    are no items then.
    """
    stages = cascade.stages_ if unpriced else priced_stages(cascade.stages_)
    seen = evaluate_exit_path(cascade, X, y, sample_weight=sample_weight)
    stage = seen.stages(cascade.policy_)
    items, first = CostItems((), (), ()), np.zeros((0, seen.n), dtype=np.int64)
    if isinstance(stages, PricedStages):
        items, first = stages.items, stages.first_bought(cascade._rows(X))
    bought, by_last = first <= stage, first < stages.n_stages
    loss = None if y is None else seen.losses(cascade.policy_)
    return Stops(seen, stage, seen.costs(cascade.policy_), loss, items, bought, by_last)
