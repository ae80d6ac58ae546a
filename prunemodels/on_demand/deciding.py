"""When a row may stop, since what is known of the trees' sums decides its answer.

`steps` finds for each sum k of a row bounds low_k <= s_k <= high_k, and a guess between them, in units before the division by
the number of trees. Let `slack` bound the rounding errors of all sums involved, ours and the library's.

    several sums       class k is certain if  low_k - high_j > slack  for all other j                                      (1)
    one sum decides    the label changes once, between the numbers b and c; it is certain if  low - slack > c  or
                       high + slack < b                                                                                    (2)
    tolerance d        probabilities, or the number, at low - slack and at high + slack differ by at most d from the
                       guess's: they are monotone                                                                          (3)

Libraries add the T values one by one to a start, and averages are then divided by T. With u the unit roundoff of their numbers
(2^-53 for doubles; 2^-24 for the float32 sums of XGBoost), g = (T + 1) u / (1 - (T + 1) u) and
A = |start| + sum_t max |value in tree t|, each of the bounds, and the library's own sum, is off by at most g A, and a quotient
by u (1 + g) A / T more. So two sums keep their order in the library's own arithmetic where they differ by more than

    slack = 8 (T + 2) u A  >=  4 g A + 2 u (1 + g) A + the rounding of the difference                                      (4)

For (2), bisection of the answer itself finds neighbouring numbers b and c. So they are right for every link, calibration and
threshold, in floating-point numbers too. Where each class has a sigmoid of its own, (1) holds for the probabilities only as long
as these are neither 0 nor 1 in floating-point numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from prunemodels.models.response import Response


@dataclass(frozen=True, eq=False)
class Extremes:
    """The range of the answers that a row can get below each node."""

    # low, high: shape (n, K): least and greatest value of a node's subtree, itself included.
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    # the sums over all trees of their least and of their greatest values, each of shape (K,).
    all: tuple[NDArray[np.float64], NDArray[np.float64]]
    slack: float  # of (4)


def extremes_of(ensemble: Ensemble, response: Response) -> Extremes:
    """Extremes of every subtree, in one pass from the leaves up."""
    low, high = response.value.copy(), response.value.copy()
    _widen(ensemble.left, ensemble.right, low, high)
    largest = np.maximum.reduceat(np.abs(response.value).max(axis=1), ensemble.roots).sum() + np.abs(response.start).max()
    slack = 8 * (ensemble.n_trees + 2) * response.unit_roundoff * float(largest) + np.finfo(np.float64).tiny
    roots = ensemble.roots
    return Extremes(low, high, (low[roots].sum(axis=0), high[roots].sum(axis=0)), float(slack))


@njit(cache=True)
def _widen(left, right, low, high):  # type: ignore[no-untyped-def]
    """Widen each node's range to its subtree. Children have larger ids than parents, so falling ids go up the trees."""
    for h in range(left.shape[0] - 1, -1, -1):
        if left[h] >= 0:
            for k in range(low.shape[1]):
                for child in (left[h], right[h]):
                    if low[child, k] < low[h, k]:
                        low[h, k] = low[child, k]
                    if high[child, k] > high[h, k]:
                        high[h, k] = high[child, k]


@dataclass(frozen=True, eq=False)
class Options:
    """The options of a walk."""

    label: bool  # whether a row may stop only where its label is certain
    tolerance: float | None  # d of (3): the distance within which the number, or each probability, must certainly be; None: any

    @property
    def stops(self) -> bool:
        """Whether rows stop early; then each asks for one feature at a time."""
        return self.label or self.tolerance is not None


@dataclass(frozen=True, eq=False)
class Certainty:
    """The rule by which rows stop: what `options` demand of the answers that sums become, and the ranges below the nodes."""

    options: Options
    response: Response
    extremes: Extremes

    def of(self, total: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which rows are decided; `total` has the bounds and the guess without `start`, shape (N, 3, K)."""
        if not len(total):
            return np.zeros(0, dtype=bool)
        low, high, guess = (total[:, k] + self.response.start for k in range(3))
        decided = np.ones(len(total), dtype=bool)
        if self.options.label:
            decided &= self._label_is_certain(low, high, guess)
        if self.options.tolerance is not None:
            decided &= self._is_within(low, high, guess, self.options.tolerance)
        return decided

    @property
    def slack(self) -> float:
        """The bound on rounding errors, before the division."""
        return self.extremes.slack + (0.0 if self.response.link in ("identity", "fractions") else self._link_rounding)

    @property
    def _link_rounding(self) -> float:
        """More than the rounding errors of a link."""
        return 64 * self.response.unit_roundoff

    def _label_is_certain(
        self, low: NDArray[np.float64], high: NDArray[np.float64], guess: NDArray[np.float64]
    ) -> NDArray[np.bool_]:
        k = self.response.score
        if k is not None:
            below, above = self._turn
            divisor = self.response.divisor
            return np.asarray(((low[:, k] - self.slack) / divisor > above) | ((high[:, k] + self.slack) / divisor < below))
        winner, row = guess.argmax(axis=1), np.arange(len(guess))
        others = high.copy()
        others[row, winner] = -np.inf
        certain = low[row, winner] - others.max(axis=1) > self.slack
        if self.response.link == "one_vs_rest":
            # below 30 the sigmoid is well below 1 in floating-point numbers, and above -30 well above 0
            a = self.response.sharpness
            certain &= (a * others.max(axis=1) < 30.0) & (a * low[row, winner] > -30.0)
        return np.asarray(certain)

    @cached_property
    def _turn(self) -> tuple[float, float]:
        """The numbers b and c of (2), after the division; infinite if all sums that the trees can have give the same label."""
        response = self.response
        k = response.score
        assert k is not None
        low, high = ((end[k] + response.start[k]) / response.divisor for end in self.extremes.all)
        margin = (self.slack + abs(low) + abs(high)) * 1e-6 + self.slack
        low, high = low - margin, high + margin

        def place(score: float) -> int:
            return int(response.places_at(np.array([score]))[0])

        first = place(low)
        if place(high) == first:
            return np.inf, -np.inf  # the label is certain from the start
        while low < (middle := low + (high - low) / 2) < high:
            low, high = (middle, high) if place(middle) == first else (low, middle)
        rounding = self._link_rounding * max(1.0, abs(low), abs(high))
        return low - rounding, high + rounding

    def _is_within(
        self, low: NDArray[np.float64], high: NDArray[np.float64], guess: NDArray[np.float64], tolerance: float
    ) -> NDArray[np.bool_]:
        divisor = self.response.divisor
        least, greatest = self.response.range((low - self.slack) / divisor, (high + self.slack) / divisor)
        sums = (guess / divisor).astype(self.response.dtype)
        found = self.response.probabilities(sums)
        if found is None:
            found = self.response.predictions(sums)[:, None]
        return np.asarray((np.maximum(greatest - found, found - least) <= tolerance).all(axis=1))
