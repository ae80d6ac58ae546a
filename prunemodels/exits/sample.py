"""The labelled rows that exit policies are learned from, and what any policy costs and errs on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.stacking import calibrated
from prunemodels.exits.stages import Late, StageTable, is_beyond_chance, losses

Floats = NDArray[np.float64]

ERRORS_APART = 2.0
"""An earlier stage is the reference if the last one loses more by this number of standard errors, see `judged_losses`."""

ROUNDING = 1e-12
"""A share of rows may exceed its limit by this much, since sums are rounded."""


@dataclass(frozen=True, eq=False)
class ExitSample:
    """N labelled rows at S stages; none of the stages was trained on the row whose output it gives."""

    doubt: Floats  # shape (S - 1, N): doubts of the fitted object
    cost: Floats  # shape (S, N): what each row has bought by each stage
    once: Floats  # shape (S,): see `Stages.once`
    loss: Floats  # shape (S, N): 0-1 loss or squared error of what the stages predict
    judged: Floats  # shape (S, N): the losses that policies are learned from, see `judged_losses`
    weights: Floats  # shape (N,), > 0
    # shape (N,): the rows whose outputs are those of the stages that predict; other rows have outputs of stages that were fitted
    # in the same way on other folds. What is stated of a policy holds on the own rows.
    own: NDArray[np.bool_]
    late: Late = ()  # limits on rounds and latency, see `prunemodels.exits.stages`

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.weights.size)

    @property
    def n_stages(self) -> int:
        """S."""
        return int(self.once.size)

    def take(self, rows: NDArray[Any]) -> ExitSample:
        """Some of the rows. If none of them is an own row, all count as such."""
        own = self.own[rows]
        own = own if own.any() else np.ones_like(own)
        doubt, cost, loss, judged = (array[:, rows] for array in (self.doubt, self.cost, self.loss, self.judged))
        late = tuple((over[:, rows], most) for over, most in self.late)
        return ExitSample(doubt, cost, self.once, loss, judged, self.weights[rows], own, late)

    @property
    def own_rows(self) -> ExitSample:
        """The own rows alone."""
        return self if self.own.all() else self.take(self.own)

    def stop_stages(self, policy: ExitPolicy) -> NDArray[np.int64]:
        """Where each row stops, shape (N,)."""
        return policy.stop_stages(self.doubt)

    def mean_cost(self, policy: ExitPolicy) -> float:
        """Mean cost of a prediction, with the items paid once that the policy's last stage needs."""
        paid = self.cost[self.stop_stages(policy), np.arange(self.n_rows)]
        return float(paid @ self.weights / self.weights.sum() + self.once[policy.last_stage])

    def in_time(self, policy: ExitPolicy) -> bool:
        """Whether no more of the own rows are late than the limits allow."""
        if not self.late:
            return True
        own = self.own_rows
        stage, share = own.stop_stages(policy), own.weights / own.weights.sum()
        return all(over[stage, np.arange(own.n_rows)] @ share <= most + ROUNDING for over, most in own.late)

    def mean_loss(self, policy: ExitPolicy, loss: Floats | None = None) -> float:
        """Share of wrong predictions, or mean squared error; by default of what is predicted."""
        lost = (self.loss if loss is None else loss)[self.stop_stages(policy), np.arange(self.n_rows)]
        return float(lost @ self.weights / self.weights.sum())


def judged_losses(table: StageTable, truth: NDArray[Any], weights: Floats) -> Floats:
    """The losses that policies are learned from, shape (S, N): what a reference stage expects, not what is observed.

        classification:  1 - p_i(class that stage s favours),    p_i: the reference's probabilities                       (1)
        regression:      (number of stage s - number of the reference)^2                                                  (2)

    The reference is the last stage, unless an earlier one has less log loss, or squared error, on these rows by more than
    `ERRORS_APART` standard errors; no stage was trained on the rows whose outputs it gives. It is calibrated on these rows
    (`prunemodels.exits.stacking.calibrated`). The label of one row says little about a stage, its expectation more: in (1) and
    (2) nothing is left of the labels' noise. (2) lacks the variance of the labels, which is the same for all stages.
    """
    lost = np.array([losses(value, truth) for value in table.value])
    reference = table.value[-1]
    best = int((lost @ weights).argmin())
    if is_beyond_chance(lost[-1] - lost[best], weights, ERRORS_APART):
        reference = table.value[best]
    reference = calibrated(reference, truth, weights)
    if table.value.shape[2] == 1:
        return np.asarray((table.value[:, :, 0] - reference[:, 0]) ** 2)
    favoured = table.value.argmax(axis=2)
    return np.asarray(1.0 - np.take_along_axis(reference, favoured.T, axis=1).T)
