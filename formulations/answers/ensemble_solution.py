"""The answer to (ENS) of `formulations.instance.ensemble_loss`: a pruning, its value, and what was proven.

bound  <=  minimum of the relaxation  <=  optimum  <=  value,        minimum of the relaxation  <=  relaxed          (1)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import History, Status, StopReason
from formulations.instance.ensemble_loss import EnsembleProblem


@dataclass(frozen=True, eq=False)
class EnsembleSolution:
    """The answer of an engine to (ENS) for one lambda.

    Parameters
    ----------
    lam
        loss per unit of cost.
    pruning
        the best one found.
    loss
        L of `pruning`: of the plain mean of its trees' predictions on the error sample.
    value
        loss + lam * cost of `pruning`, computed from it.
    bound
        proven lower bound of every pruning's value, rounding accounted for.
    relaxed
        the least value of the relaxation that was found: at the mixture of the prunings `active` with the shares `weights`.
    stopped
        why the search ended.
    tolerance
        relative gap up to which `status` says OPTIMAL.
    active, weights
        the prunings that the relaxation mixes, and their shares: the point at which it was last linearised, and a warm start.
    history
        by name one number for each step, float64: `relaxed` and `bound` after it.
    stats
        seconds, steps, arcs ...: for reports only.
    """

    problem: EnsembleProblem
    lam: float
    pruning: Pruning
    loss: float
    value: float
    bound: float
    relaxed: float
    stopped: StopReason
    tolerance: float
    active: tuple[Pruning, ...]
    weights: NDArray[np.float64]
    history: History
    stats: Mapping[str, float] = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Value - bound, >= 0: the gap of the relaxation itself, and what the search left open."""
        return self.value - self.bound

    @property
    def relative_gap(self) -> float:
        """Gap / (value of the all-roots forest - bound): the share of the attainable gain that is still open.

        A gap below 1e-9 of the all-roots forest's loss is within the rounding of the sums behind `bound`, and counts as 0.
        """
        return self._relative(self.gap)

    @property
    def relaxation_gap(self) -> float:
        """(relaxed - bound) on the scale of `relative_gap`: what more steps could still prove."""
        return self._relative(max(0.0, self.relaxed - self.bound))

    def _relative(self, gap: float) -> float:
        roots = self.problem.loss_of(self.problem.of_pruning(Pruning.all_roots(self.problem.problem)))
        return 0.0 if gap <= 1e-9 * roots else gap / (roots - self.bound)

    @property
    def status(self) -> Status:
        """OPTIMAL where the relative gap is at most `tolerance`, else FEASIBLE."""
        return Status.OPTIMAL if self.relative_gap <= self.tolerance else Status.FEASIBLE

    @property
    def point(self) -> NDArray[np.float64]:
        """The relaxation's y: how far each split is kept, 0 to 1; float64, shape (n,)."""
        return np.asarray(sum(w * p.kept for w, p in zip(self.weights, self.active, strict=True)), dtype=np.float64)

    def __repr__(self) -> str:
        return f"EnsembleSolution({self.status}, value={self.value:.9g}, bound={self.bound:.9g}, {self.pruning!r})"
