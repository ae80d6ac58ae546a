"""Forward selection of weak learners by gain in fit per unit of new cost.

    next = argmax over t of  (z(S + t) - z(S)) / (c(S + t) - c(S)),   z(S) as in (A1) of `astc`                             (G1)

Each step projects the chosen column out of the others (a step of the Cholesky factorisation of the columns' covariance, the R of
their QR factorisation), so that all gains of a step are one vector: gain_t = r_t^2 / G_tt, with r the covariance of the columns
with y and G that among the columns, both after projection. A node costs O(N T^2) once and O(T^2) for each step. With K
outputs r_t is a vector, and r_t^2 its squared norm: z(S) is summed over the outputs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prunemodels.rivals.cstc.finishing import Examples
from prunemodels.rivals.cstc.purchases import Purchases

SPENT = 1e-8
"""A column is not used when less than this share of its variance over all examples is left: it is constant in the node, but for
rounding, or the chosen columns explain it."""


@dataclass(frozen=True, eq=False)
class Selection:
    """The columns chosen, in order, and the least-squares classifier on them: beta (columns, K), intercept (K,)."""

    columns: NDArray[np.int64]
    beta: NDArray[np.float64]
    intercept: NDArray[np.float64]


def select(
    train: Examples,
    rows: NDArray[np.int64],
    purchases: Purchases,
    before: NDArray[np.bool_],
    budget: float,
    min_gain: float,
    ridge: NDArray[np.float64],
) -> Selection:
    """Columns for the examples of a node.

    Parameters
    ----------
    rows
        the examples that reach it.
    before
        bool, shape (T,): weak learners that the nodes above use; these, and their items, are paid.
    budget
        the largest cost of the path to the node.
    min_gain
        least gain, as a share of the labels' variance (1) over all examples.
    ridge
        added to the variances in the final fit, shape (T,).
    """
    share = train.weights[rows] / train.weights[rows].sum()
    centre, mean = share @ train.phi[rows], share @ train.y[rows]
    centred = train.phi[rows] - centre
    covariance = centred.T @ (share[:, None] * centred)
    with_y = centred.T @ (share[:, None] * (train.y[rows] - mean))
    part = float(train.weights[rows].sum() / train.weights.sum())
    account, least = _Account(purchases, before, budget), SPENT * train.spread()
    columns = np.array(_forward(covariance, with_y, account, min_gain / part, least), dtype=np.int64)
    matrix = covariance[np.ix_(columns, columns)] + np.diag(ridge[columns])
    beta = np.linalg.solve(matrix, with_y[columns])
    return Selection(columns, beta, mean - centre[columns] @ beta)


class _Account:
    """The items that the path has paid, the rest of its budget, and the cost of a further weak learner."""

    def __init__(self, purchases: Purchases, before: NDArray[np.bool_], budget: float) -> None:
        self.purchases = purchases
        self.used = before.copy()
        self.paid = purchases.needs[before].any(axis=0)
        self.budget_left = budget - purchases.bill(before)

    def new_costs(self) -> NDArray[np.float64]:
        """What each weak learner would cost now, shape (T,)."""
        p = self.purchases
        return np.asarray(np.where(self.used, 0.0, p.evaluation) + (p.needs & ~self.paid) @ p.price)

    def buy(self, t: int) -> None:
        """Buy weak learner t."""
        self.budget_left -= self.new_costs()[t]
        self.used[t] = True
        self.paid |= self.purchases.needs[t]


def _forward(
    covariance: NDArray[np.float64], with_y: NDArray[np.float64], account: _Account, min_gain: float, least: NDArray[np.float64]
) -> list[int]:
    """(G1), step by step; free columns first, by their gain; a column with a variance up to `least`, shape (T,), has none."""
    remaining, r = covariance.copy(), with_y.copy()
    chosen: list[int] = []
    for _ in range(len(r)):
        diagonal = remaining.diagonal()
        usable = diagonal > np.maximum(least, np.finfo(float).tiny)
        usable[chosen] = False
        gain = np.where(usable, (r**2).sum(axis=1) / np.where(usable, diagonal, 1.0), 0.0)
        cost = account.new_costs()
        gain[(cost > account.budget_left + 1e-9 * max(1.0, abs(account.budget_left))) | (gain <= min_gain)] = 0.0
        free = np.where(cost == 0, gain, 0.0)
        rate = free if free.any() else gain / np.where(cost > 0, cost, 1.0)
        if not rate.any():
            break
        t = int(np.flatnonzero(rate >= (1 - 1e-9) * rate.max())[0])  # of rates equal up to rounding, the first
        chosen.append(t)
        account.buy(t)
        column = remaining[:, t] / np.sqrt(diagonal[t])
        r -= np.outer(column, r[t] / np.sqrt(diagonal[t]))
        remaining -= np.outer(column, column)
    return chosen
