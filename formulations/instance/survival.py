"""The integrated Brier score of survival curves on examples of which some are censored.

Example i is observed until the time T_i, when it has its event (delta_i = 1) or is censored (delta_i = 0). S(t) is the predicted
probability that the event comes after t. The score compares S with what is known of the example, at the times t_1 < ... < t_J:

    l_i(S) = sum over j of  q_j [ 1{T_i > t_j} (1 - S(t_j))^2 / G(t_j)  +  1{T_i <= t_j} delta_i S(t_j)^2 / G(T_i) ]         (1)
    q      = the weights of the trapezoidal rule on the times in [min T, max T), divided by their span; 0 at other times     (2)
    G(t)   = product over times s <= t of  1 - c_s / (n_s - d_s)                                                             (3)

In (3), n_s is the weight of the examples with T_i >= s, d_s of those with an event at s, and c_s of those censored at s. G is the
Kaplan-Meier estimate of the probability that an example is not censored until t. The weights 1 / G let observed examples stand
for those that were censored before.

(1) is the score of Graf, Schmoor, Sauerbrei and Schumacher, *Assessment and comparison of prognostic classification schemes for
survival data*, Statistics in Medicine 18, 1999, in the form that scikit-survival computes: the mean of (1) over the examples is
its ``integrated_brier_score`` with the examples themselves as ``survival_train``. (Where an event and a censoring tie, G(T_i)
counts the censoring here, and the paper's limit from the left does not.)

Each example's score is settled by the one curve that it is given, so errors of nodes are sums over the examples that reach them.
With weights w_i of the examples, the error of node h is

    e_h = sum over j of  q_j [ (1 - S_h(t_j))^2 R_hj / G(t_j)  +  S_h(t_j)^2 D_hj ]                                          (4)
    R_hj = sum of w_i over the examples at h with T_i > t_j,    D_hj = sum of w_i delta_i / G(T_i) over those with T_i <= t_j
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.memory import too_large

BLOCK = 2**21
"""Numbers in the largest array of a block of nodes or rows."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """What the nodes of T trees predict: the probability of no event until each of J times.

    Parameters
    ----------
    times
        float64, shape (J,): rising.
    stored
        for each tree the curves of its nodes, float64, shape (nodes, times stored); the forest's own arrays, not copies.
    column
        int64, shape (J,): the column of `stored` for each of the J times.
    """

    times: Floats
    stored: tuple[Floats, ...]
    column: NDArray[np.int64]

    def of(self, t: int, first: int, end: int) -> Floats:
        """S of the nodes `first` to `end` - 1 of tree t, counted from its root; shape (end - first, J)."""
        return np.asarray(self.stored[t][first:end][:, self.column])

    def of_all(self) -> Floats:
        """S of all nodes of all trees, shape (n, J)."""
        n = sum(map(len, self.stored))
        size = too_large(8 * n * len(self.times))
        if size is not None:
            raise InvalidInputError(
                f"the forest has {n:,} nodes with curves at {len(self.times):,} times; an array of them {size}: train fewer or "
                "smaller trees, or round the times"
            )
        return np.concatenate([self.of(t, 0, len(stored)) for t, stored in enumerate(self.stored)])

    def only_tree(self, t: int) -> Self:
        """The curves of tree t."""
        return replace(self, stored=self.stored[t : t + 1])


@dataclass(frozen=True, eq=False)
class CensoredSample:
    """N examples as the score (1) uses them.

    Parameters
    ----------
    time, event
        T_i, float64, and delta_i, bool; shape (N,).
    at_risk
        float64, shape (J,): q_j / G(t_j).
    after
        float64, shape (J,): q_j.
    place
        int64, shape (N,): how many of the J times come before T_i.
    case_weight
        float64, shape (N,): delta_i / G(T_i).
    """

    time: Floats
    event: NDArray[np.bool_]
    at_risk: Floats
    after: Floats
    place: NDArray[np.int64]
    case_weight: Floats

    @classmethod
    def of(cls, time: Floats, event: NDArray[np.bool_], times: Floats, weights: Floats, name: str = "y") -> Self:
        """Weigh examples by the censoring among themselves, see (3).

        Parameters
        ----------
        times
            t_1 to t_J, rising.
        weights
            w_i >= 0, shape (N,); at least one is positive.
        name
            what messages call the examples' times and events.
        """
        counted = weights > 0
        if not event[counted].any():
            raise InvalidInputError(
                f"{name}: all {counted.sum()} examples are censored; give examples of which some have an event"
            )
        low, high = time[counted].min(), time[counted].max()
        inside = (times >= low) & (times < high)
        if inside.sum() < 2:
            raise InvalidInputError(
                f"{name}: the examples are observed until times from {low:g} to {high:g}, where the forest has {inside.sum()} of "
                f"its event times, {times[0]:g} to {times[-1]:g}; the score is an integral between at least two: give examples "
                "that cover more of the forest's times"
            )
        knots, not_censored = _censoring_curve(time[counted], event[counted], weights[counted])
        q, at_risk = np.zeros(len(times)), np.zeros(len(times))
        q[inside] = _trapezoid(times[inside])
        at_risk[inside] = q[inside] / _at(times[inside], knots, not_censored)
        survived = _at(time, knots, not_censored)
        case_weight = np.divide(event, survived, out=np.zeros(len(time)), where=survived > 0)
        return cls(time, event, at_risk, q, np.searchsorted(times, time), case_weight)

    def __len__(self) -> int:
        return len(self.time)

    def row_losses(self, curves: Floats, first: int = 0) -> Floats:
        """(1) of the examples from number `first` on, whose curves are given; shape (rows,).

        Parameters
        ----------
        curves
            S at the J times, shape (rows, J).
        """
        rows = slice(first, first + len(curves))
        at_risk = np.arange(len(self.after)) < self.place[rows, None]
        case = self.case_weight[rows, None] * self.after
        return np.asarray(np.where(at_risk, (1.0 - curves) ** 2 * self.at_risk, curves**2 * case).sum(axis=1))

    def node_losses(
        self,
        curves: SurvivalCurves,
        t: int,
        order: NDArray[np.int32],
        w: Floats,
        start: NDArray[np.int32],
        stop: NDArray[np.int32],
    ) -> Floats:
        """(4) of the nodes of tree t, shape (nodes,).

        Parameters
        ----------
        order, start, stop
            the examples sorted by leaf, and each node's range among them, see `Routing`.
        w
            float64, shape (N,): the weights, in this order.
        """
        n_places = len(self.after) + 1
        place, cases = self.place[order], w * self.case_weight[order]
        found = np.empty(len(start))
        for first, end in _blocks(n_places + stop.astype(np.int64) - start):
            size = (stop[first:end] - start[first:end]).astype(np.int64)
            ends = np.cumsum(size)
            row = np.arange(ends[-1]) + np.repeat(start[first:end] - (ends - size), size)
            cell = np.repeat(np.arange(end - first) * n_places, size) + place[row]
            weight, died = (
                np.bincount(cell, weights=x[row], minlength=(end - first) * n_places).reshape(-1, n_places) for x in (w, cases)
            )
            R, D = weight[:, :0:-1].cumsum(axis=1)[:, ::-1], died[:, :-1].cumsum(axis=1)
            S = curves.of(t, first, end)
            found[first:end] = ((1.0 - S) ** 2 * R) @ self.at_risk + (S**2 * D) @ self.after
        return found


def _blocks(size: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of neighbours whose sizes add up to at most `BLOCK`, or that are single."""
    ends, first = np.cumsum(size), 0
    while first < len(size):
        before = ends[first] - size[first]
        end = max(first + 1, int(np.searchsorted(ends, before + BLOCK, side="right")))
        yield first, end
        first = end


def _trapezoid(times: Floats) -> Floats:
    """The weights of the trapezoidal rule on the times, divided by their span."""
    steps = np.diff(times)
    q = np.append(steps, 0.0) + np.append(0.0, steps)
    return np.asarray(q / (2 * (times[-1] - times[0])))


def _censoring_curve(time: Floats, event: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats]:
    """The times at which (3) may fall, rising, and G from each of them on."""
    knots, which = np.unique(time, return_inverse=True)
    dying, censored = np.bincount(which, weights=weights * event), np.bincount(which, weights=weights * ~event)
    observed = (dying + censored)[::-1].cumsum()[::-1]
    hazard = np.divide(censored, observed - dying, out=np.zeros(len(knots)), where=censored > 0)
    return knots, np.asarray(np.cumprod(1.0 - hazard), dtype=np.float64)


def _at(time: Floats, knots: Floats, values: Floats) -> Floats:
    """A step function that is 1 before its first knot."""
    return np.append(1.0, values)[np.searchsorted(knots, time, side="right")]
