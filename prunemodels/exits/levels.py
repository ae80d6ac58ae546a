"""Levels of doubt: the groups of rows among which a minimum cut chooses the exit policy, exactly.

For each of J prices of cost lambda_1 < ... < lambda_J, backwards from the last stage S - 1 (dynamic programming over thresholds
on the doubt d_s, on all rows),

    V_{S-1,j}(i) = loss_{S-1,i},
    theta_{s,j}  = the threshold of least  sum_i w_i [ V_{s+1,j}(i) + lambda_j inc_s(i)  if d_s(i) >= theta, else loss_s(i) ]  (1)
    V_{s,j}(i)   = the bracket of (1) at theta_{s,j}

inc_s(i) = cost_{s+1,i} - cost_{s,i}. Thresholds are made to rise with j. The *level* of row i at stage s is

    level_s(i) = min over t <= s of  #{ j : d_t(i) >= theta_{t,j} }                                                    (2)

So at the j-th price a row would go on from s exactly if level_s(i) >= j; levels never rise from stage to stage. The rows of equal
level at a stage are one decision of the policy. A threshold of -infinity comes first, so that a policy can send all rows on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_THRESHOLDS = 200
"""Largest number of thresholds that are tried at a stage: quantiles of the doubts."""

FEWEST_ROWS_BETWEEN = 12
"""Smallest number of rows between two thresholds that are tried."""

SMALLEST_PRICE = 3e-4
"""The smallest positive price of cost, as a share of the largest."""


def prices_of_cost(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, count: int) -> Floats:
    """lambda: 0, then geometrically up to a price at which not even the most doubtful twentieth of the rows goes on anywhere.

    Parameters
    ----------
    loss, cost
        shape (S, N).
    doubt
        shape (S - 1, N).
    """
    top = 0.0
    for s in range(len(doubt)):
        order = np.argsort(-doubt[s], kind="stable")
        total = np.cumsum(weights[order])
        first = int(np.searchsorted(total, 0.05 * total[-1]))
        for t in range(s + 1, len(loss)):
            saved = np.cumsum((weights * (loss[s] - loss[t]))[order])[first:]
            paid = np.cumsum((weights * (cost[t] - cost[s]))[order])[first:]
            ratio = np.divide(saved, paid, out=np.zeros_like(saved), where=paid > 0)
            top = max(top, float(ratio.max(initial=0.0)))
    if top == 0.0:
        return np.zeros(1)
    return np.concatenate([[0.0], np.geomspace(top, SMALLEST_PRICE * top, count - 1)[::-1]])


def thresholds(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> Floats:
    """Theta of (1), shape (S - 1, J), rising with j; infinity where no row should go on."""
    return _backwards(loss, cost, weights, doubt, lams)[0]


def least_objective(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> Floats:
    """Mean loss + lambda_j cost by the thresholds of (1), shape (J,)."""
    share = weights / weights.sum()
    return np.asarray(share @ _backwards(loss, cost, weights, doubt, lams)[1] + lams * float(share @ cost[0]))


def _backwards(loss: Floats, cost: Floats, weights: Floats, doubt: Floats, lams: Floats) -> tuple[Floats, Floats]:
    """Theta of (1), and V_0 for every row and price."""
    found = np.full((len(doubt), lams.size), np.inf)
    value = np.repeat(loss[-1][:, None], lams.size, axis=1)
    for s in range(len(doubt) - 1, -1, -1):
        going_on = value + lams * (cost[s + 1] - cost[s])[:, None]
        saved = (loss[s][:, None] - going_on) * weights[:, None]
        order = np.argsort(-doubt[s], kind="stable")
        ends = _some_ends(doubt[s][order])
        totals = np.concatenate([np.zeros((1, lams.size)), np.cumsum(saved[order], axis=0)[ends]])
        best = totals.argmax(axis=0)  # the first of equals: fewest rows go on
        cuts = np.append(np.inf, between(doubt[s][order], ends))
        found[s] = np.maximum.accumulate(cuts[best])
        value = np.where(doubt[s][:, None] >= found[s], going_on, loss[s][:, None])
    return found, value


def ends_of(falling: Floats) -> NDArray[np.int64]:
    """Places after which a threshold may be: the last rows of equal doubts."""
    return np.flatnonzero(np.append(falling[:-1] != falling[1:], True)) if falling.size else np.zeros(0, dtype=np.int64)


def _some_ends(falling: Floats) -> NDArray[np.int64]:
    """Those of `ends_of` near quantiles."""
    n, last = falling.size, ends_of(falling)
    count = min(MOST_THRESHOLDS, max(1, n // FEWEST_ROWS_BETWEEN))
    wanted = np.unique(np.linspace(0, n, count + 1).astype(np.int64)[1:] - 1)
    return np.unique(last[np.searchsorted(last, wanted)])


def between(falling: Floats, ends: NDArray[np.int64]) -> Floats:
    """The threshold half-way between the doubt at an end and the next one; -infinity after the last."""
    after = np.append(falling, -np.inf)[ends + 1]
    middle = (falling[ends] + after) / 2
    return np.where(middle > after, middle, np.where(np.isfinite(after), falling[ends], -np.inf))


def next_level(level: NDArray[np.int64], doubt: Floats, theta: Floats) -> NDArray[np.int64]:
    """(2): the levels at a stage from those at the stage before.

    Parameters
    ----------
    theta
        shape (J,): the stage's thresholds, rising.
    """
    return np.asarray(np.minimum(level, np.searchsorted(theta, doubt, side="right")), dtype=np.int64)


def levels(doubt: Floats, theta: Floats) -> NDArray[np.int64]:
    """(2) for every row and every stage but the last, shape (S - 1, N)."""
    level = np.full(doubt.shape[1], theta.shape[1])
    found = np.empty(doubt.shape, dtype=np.int64)
    for s in range(len(doubt)):
        level = next_level(level, doubt[s], theta[s])
        found[s] = level
    return found
