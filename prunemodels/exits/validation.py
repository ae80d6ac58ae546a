"""Cost and error of exit policies on rows that they were not learned from: cross-fitting over the rows of a stage table.

Thresholds and the choice of a path's row use the labels of the rows at hand, so cost and error of a path on these rows are too
optimistic. Here each row is judged by thresholds and policies that were learned without its fold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from prunemodels.exits.doubt import MarginDoubt
from prunemodels.exits.learning import solve_exits
from prunemodels.exits.levels import levels
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.stages import StageOutput, StageTable

Floats = NDArray[np.float64]

FOLDS = 5

MOST_POINTS = 40
"""Largest number of prices of cost at which policies are judged: quantiles of the path's."""


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Cost and loss of policies, at some prices of cost, on rows that they were not learned from.

    Parameters
    ----------
    lam
        shape (P,), ascending.
    cost, loss
        shape (P, N): cost and loss of each row at each price.
    learned_cost, learned_loss
        shape (P,): mean cost and loss of the same policies on the rows that they were learned from: the mean over the folds.
    weights
        shape (N,): of the rows.
    """

    lam: Floats
    cost: Floats
    loss: Floats
    learned_cost: Floats
    learned_loss: Floats
    weights: Floats

    @property
    def mean_cost(self) -> Floats:
        """Shape (P,)."""
        return np.asarray(self.cost @ self.weights / self.weights.sum())

    @property
    def mean_loss(self) -> Floats:
        """Shape (P,)."""
        return np.asarray(self.loss @ self.weights / self.weights.sum())

    def surplus(self, cost: Any) -> tuple[Any, Any]:
        """How much more policies of this cost cost and lose on rows that they were not learned from; may be <= 0 by chance."""
        order = np.argsort(self.learned_cost, kind="stable")
        known = self.learned_cost[order]
        more = (self.mean_cost - self.learned_cost)[order], (self.mean_loss - self.learned_loss)[order]
        return np.interp(cost, known, more[0]), np.interp(cost, known, more[1])

    def area(self, costs: Floats) -> float:
        """Mean over some costs of the least mean loss for at most that cost; the largest loss where no policy is that cheap."""
        least = np.array([self.mean_loss[self.mean_cost <= c].min(initial=np.inf) for c in costs])
        return float(np.where(np.isfinite(least), least, self.mean_loss.max()).mean())


def cross_fit(
    table: StageTable,
    truth: NDArray[Any],
    weights: Floats,
    lams: Floats,
    doubts: Floats,
    *,
    n_levels: int,
    rng: np.random.RandomState,
) -> CrossFitted:
    """Learn thresholds and policies on all folds but one, and judge them on that one, for every fold.

    Parameters
    ----------
    lams
        the prices of cost; thinned out to `MOST_POINTS`.
    doubts
        shape (S - 1, N): the rows' doubts. They do not depend on labels, so they are the same for all folds.
    """
    wanted = np.unique(np.quantile(np.sort(lams), np.linspace(0, 1, min(MOST_POINTS, lams.size)), method="nearest"))
    loss, rows = table.losses(truth), np.arange(table.n_rows)
    cost, lost = np.empty((wanted.size, rows.size)), np.empty((wanted.size, rows.size))
    folds = KFold(min(FOLDS, table.n_rows), shuffle=True, random_state=rng.randint(np.iinfo(np.int32).max))
    learned_cost, learned_loss = np.zeros(wanted.size), np.zeros(wanted.size)
    for learned_from, held_out in folds.split(rows):
        part = table.take(learned_from)
        learned = solve_exits(
            part,
            truth[learned_from],
            weights[learned_from],
            MarginDoubt(),
            doubts[:, learned_from],
            n_levels=n_levels,
            certificate=False,
        )
        level = levels(doubts[:, held_out], learned.theta)
        for p, lam in enumerate(wanted):
            k = learned.path.row_at_lam(float(lam))
            learned_cost[p] += learned.path.cost[k] / folds.n_splits
            learned_loss[p] += learned.path.error[k] / folds.n_splits
            stage = stop_stages(learned.policy(k), level)
            cost[p, held_out] = table.cost[stage, held_out] + table.once[stage.max(initial=0)]
            lost[p, held_out] = loss[stage, held_out]
    return CrossFitted(wanted, cost, lost, learned_cost, learned_loss, weights)


def levels_of(policy: ExitPolicy, table: StageTable) -> NDArray[np.int64]:
    """Levels of the rows of a table at every stage but the last, shape (S - 1, N); they depend on doubts and thresholds alone.

    Parameters
    ----------
    table
        with stacked values, if the policy has a stack.
    """
    visit, found = policy.start(table.n_rows), []
    everyone = ExitPolicy(policy.doubt, policy.theta, np.ones_like(policy.go))
    for value, spread in zip(table.value[:-1], table.spread[:-1], strict=True):
        _, visit = everyone.step(visit, StageOutput(value, spread))
        found.append(visit.level)
    return np.array(found, dtype=np.int64).reshape(-1, table.n_rows)


def stop_stages(policy: ExitPolicy, level: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where rows of given levels stop, shape (N,): the number of stages that they go on from, by (1) and (2) of `policy`."""
    return np.asarray(np.take_along_axis(policy.go, level, axis=1).sum(axis=0), dtype=np.int64)
