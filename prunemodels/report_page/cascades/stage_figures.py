"""Figures of each stage: which rows reach it, which stop there, what they pay and how often they err.

Let stage(i) be the stage at which row i stops, w_i its weight (with sum 1), and last the last stage that any row may reach. Then

    reach_s        =  sum of w_i over rows with stage(i) >= s                                                              (1)
    cost up to s   =  sum over i of w_i cost_{min(stage(i), s), i}  +  once_{min(last, s)}                                 (2)

For the last stage, (2) is the mean cost of a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prunemodels.exits.evaluation import ExitPathEvaluation
from prunemodels.exits.policy import ExitPolicy


@dataclass(frozen=True)
class StageFigures:
    """The figures of one stage on some rows.

    Parameters
    ----------
    reach, stop
        shares of the rows, by weight, that reach the stage (1), and that stop there.
    rows
        number of rows that stop there.
    paid
        mean of what a row that reaches the stage pays more than before; None where no row does.
    error
        share of wrong predictions among the rows that stop there, or their mean squared error; None where no row stops.
    cost_so_far
        the cost (2) up to this stage.
    """

    reach: float
    stop: float
    rows: int
    paid: float | None
    error: float | None
    cost_so_far: float


def stage_figures(seen: ExitPathEvaluation, policy: ExitPolicy) -> tuple[StageFigures, ...]:
    """The figures of every stage under a policy, on labelled rows."""
    table, weights, stage = seen.table, seen.weights, seen.stages(policy)
    increase = np.diff(table.cost, axis=0, prepend=0.0)
    total, found = weights.sum(), []
    for s in range(table.n_stages):
        reach, stop = stage >= s, stage == s
        by_then = table.cost[np.minimum(stage, s), np.arange(seen.n)]
        found.append(
            StageFigures(
                reach=float(weights[reach].sum() / total),
                stop=float(weights[stop].sum() / total),
                rows=int(stop.sum()),
                paid=_mean(increase[s], reach, weights),
                error=_mean(seen.loss[s], stop, weights),
                cost_so_far=float(by_then @ seen.share + table.once[min(policy.last_stage, s)]),
            )
        )
    return tuple(found)


def _mean(amounts: NDArray[np.float64], which: NDArray[np.bool_], weights: NDArray[np.float64]) -> float | None:
    return float(np.average(amounts[which], weights=weights[which])) if which.any() else None
