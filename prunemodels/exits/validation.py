"""Cost and error of exit policies on rows that they were not learned from: cross-fitting over the rows of a sample.

Thresholds and the choice of a policy use the labels of the rows at hand, so on these rows a policy's error is too optimistic.
Here each row is judged by levels and policies that were learned without its fold, in the same way: for a price of cost the
optimum, for a budget the policy that spends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from prunemodels.exits.learning import LearnedExits, solve_exits
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.sample import ExitSample

Floats = NDArray[np.float64]

FOLDS = 5

MOST_POINTS = 40
"""Largest number of prices of cost at which policies are judged: quantiles of the path's."""

Method = Callable[[LearnedExits, ExitSample], ExitPolicy]
"""A way to choose a policy by rows that it may see."""


class HeldOutPolicies(NamedTuple):
    """What policies do on rows that they were not learned from.

    Parameters
    ----------
    cost, loss, judged
        float64, shape (N,): each row's cost, loss, and `ExitSample.judged` loss.
    weights
        float64, shape (N,).
    """

    cost: Floats
    loss: Floats
    judged: Floats
    weights: Floats

    def mean(self, amounts: Floats) -> float:
        """The weighted mean over the rows."""
        return float(amounts @ self.weights / self.weights.sum())


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Levels and optima learned without a fold of the rows, for every fold.

    Parameters
    ----------
    sample
        all rows.
    folds
        the held-out rows of each fold, and what was learned without them.
    lam
        shape (P,), ascending: prices of cost for curves.
    """

    sample: ExitSample
    folds: tuple[tuple[NDArray[np.int64], LearnedExits], ...]
    lam: Floats

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def held_out(self, method: Method) -> HeldOutPolicies:
        """Every row under the policy that a method chooses without the row's fold."""
        n = self.sample.n_rows
        cost, loss, judged = np.empty(n), np.empty(n), np.empty(n)
        everyone = np.arange(n)
        for rows, learned in self.folds:
            policy = method(learned, self.sample.take(np.setdiff1d(everyone, rows)))
            part = self.sample.take(rows)
            stage, place = policy.stop_stages(part.doubt), np.arange(rows.size)
            cost[rows] = part.cost[stage, place] + part.once[policy.last_stage]
            loss[rows], judged[rows] = part.loss[stage, place], part.judged[stage, place]
        return HeldOutPolicies(cost, loss, judged, self.sample.weights)

    def at_lam(self, lam: float) -> HeldOutPolicies:
        """The optima for a price of cost."""
        return self.held_out(lambda learned, _: learned.policy(learned.path.row_at_lam(lam)))

    @cached_property
    def curve(self) -> tuple[HeldOutPolicies, ...]:
        """`at_lam` for every point."""
        return tuple(self.at_lam(float(lam)) for lam in self.lam)

    def area(self, costs: Floats) -> float:
        """Mean over some costs of the least mean judged loss for at most that cost; the largest where no policy is that cheap."""
        cost, loss = (np.array([h.mean(getattr(h, name)) for h in self.curve]) for name in ("cost", "judged"))
        least = np.array([loss[cost <= c].min(initial=np.inf) for c in costs])
        return float(np.where(np.isfinite(least), least, loss.max()).mean())


def cross_fit(sample: ExitSample, learned: LearnedExits, *, n_levels: int, rng: np.random.RandomState) -> CrossFitted:
    """Learn levels and policies again on all folds but one, for every fold.

    Parameters
    ----------
    learned
        from all rows. Doubt and stack have few coefficients and stay the same for all folds.
    """
    lams = learned.path.lam
    wanted = np.unique(np.quantile(np.sort(lams), np.linspace(0, 1, min(MOST_POINTS, lams.size)), method="nearest"))
    splitter = KFold(min(FOLDS, sample.n_rows), shuffle=True, random_state=rng.randint(np.iinfo(np.int32).max))
    folds = tuple(
        (held_out, solve_exits(sample.take(rows), learned.doubt, learned.stack, n_levels=n_levels, certificate=False))
        for rows, held_out in splitter.split(np.arange(sample.n_rows))
    )
    return CrossFitted(sample, folds, wanted)
