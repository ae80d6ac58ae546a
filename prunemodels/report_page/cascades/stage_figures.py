"""What happens at each stage: who comes there, who stops, what they pay and how often they err.

With stage(i) where row i stops, its weight w_i (sum 1), and last the last stage that the policy lets anybody come to,

    come_s         =  sum of w_i over rows with stage(i) >= s                                                              (1)
    cost up to s   =  sum over i of w_i cost_{min(stage(i), s), i}  +  once_{min(last, s)}                                 (2)

(2) of the last stage is the mean cost of a prediction.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prunemodels.exits.evaluation import ExitPathEvaluation
from prunemodels.exits.policy import ExitPolicy


@dataclass(frozen=True)
class StageFigures:
    """One stage on some rows.

    Parameters
    ----------
    come, stop
        share of the rows that come there, and that stop there, by weight.
    rows
        number of rows that stop there.
    paid
        what a row that comes there pays more than before, on average; None where no row comes.
    error
        share of wrong predictions among the rows that stop there, or their mean squared error; None where none stops.
    cost_so_far
        (2).
    """

    come: float
    stop: float
    rows: int
    paid: float | None
    error: float | None
    cost_so_far: float


def stage_figures(seen: ExitPathEvaluation, policy: ExitPolicy) -> tuple[StageFigures, ...]:
    """Of every stage by a policy, on labelled rows."""
    table, weights, stage = seen.table, seen.weights, seen.stages(policy)
    more = np.diff(table.cost, axis=0, prepend=0.0)
    total, found = weights.sum(), []
    for s in range(table.n_stages):
        come, stop = stage >= s, stage == s
        by_then = table.cost[np.minimum(stage, s), np.arange(seen.n)]
        found.append(
            StageFigures(
                come=float(weights[come].sum() / total),
                stop=float(weights[stop].sum() / total),
                rows=int(stop.sum()),
                paid=_mean(more[s], come, weights),
                error=_mean(seen.loss[s], stop, weights),
                cost_so_far=float(by_then @ seen.share + table.once[min(policy.last_stage, s)]),
            )
        )
    return tuple(found)


def _mean(amounts: NDArray[np.float64], which: NDArray[np.bool_], weights: NDArray[np.float64]) -> float | None:
    return float(np.average(amounts[which], weights=weights[which])) if which.any() else None
