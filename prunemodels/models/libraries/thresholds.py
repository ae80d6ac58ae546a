"""Turn comparisons of other libraries exactly into that of `Ensemble`: left where ``float64(float32(x)) <= threshold``.

    x <  t   is   x <= the number before t,                                                        (1)
    x >  t   is   not x <= t,   x >= t   is   not x < t:   the children change places.             (2)

Numbers are of the library's own type. XGBoost casts to float32 and compares there, so (1) and (2) suffice. LightGBM compares
doubles, of which float32 holds too few. The thresholds t_1 < ... < t_k of a feature cut its axis into k + 1 cells, and only the
cell of x matters. So each t_j gets a float32 s_j, with s_1 < ... < s_k, as close below t_j as possible, and

    x in (t_j, t_{j+1}]   becomes   float32(x) clipped to [the float32 after s_j, s_{j+1}].         (3)

This is float32(x) itself except for doubles within rounding of a threshold, and it routes every double, infinities included, as
the library does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True, eq=False)
class Cells:
    """The thresholds of one feature: float64 as the library compares (`edges`), and the float32 that stand for them."""

    edges: NDArray[np.float64]
    stand_ins: NDArray[np.float32]

    @classmethod
    def of(cls, thresholds: NDArray[np.float64]) -> Cells:
        """Number the cells of a feature's thresholds, each of the form ``x <= t``."""
        edges = np.unique(thresholds)
        return cls(edges, _strictly_rising(_below(edges)))

    def cast(self, x: NDArray[np.float64]) -> NDArray[np.float32]:
        """(3); NaN stays NaN."""
        lower = np.concatenate([[-LARGEST], np.nextafter(self.stand_ins, np.float32(np.inf))])
        upper = np.concatenate([self.stand_ins, [LARGEST]])
        cell = np.searchsorted(self.edges, x, side="left")
        cell[np.isnan(x)] = 0
        with np.errstate(over="ignore"):
            return np.clip(x.astype(np.float32), lower[cell], upper[cell]).astype(np.float32)

    def stand_in(self, thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
        """s_j of thresholds that are among `edges`."""
        place: NDArray[np.float32] = self.stand_ins[np.searchsorted(self.edges, thresholds)]
        return place


def cells_of(feature: NDArray[np.int32], threshold: NDArray[np.float64]) -> dict[int, Cells]:
    """The cells of every feature that is tested; arrays over split nodes."""
    return {int(f): Cells.of(threshold[feature == f]) for f in np.unique(feature)}


def cast_rows(X: NDArray[np.float64], cells: Mapping[int, Cells]) -> NDArray[np.float32]:
    """float32 rows that every split routes as it routes the doubles; features that no split tests are cast and clipped."""
    with np.errstate(over="ignore"):
        rows = np.clip(X.astype(np.float32), -LARGEST, LARGEST)
    for f, own in cells.items():
        rows[:, f] = own.cast(X[:, f])
    return rows


def before(threshold: NDArray[np.floating]) -> NDArray[np.floating]:
    """The number before each threshold, in the thresholds' own type: see (1)."""
    with np.errstate(over="ignore"):  # before the lowest number comes minus infinity: nothing is at most that
        return np.asarray(np.nextafter(threshold, threshold.dtype.type(-np.inf)))


def _below(t: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 <= t."""
    with np.errstate(over="ignore"):
        s = t.astype(np.float32)
        lower = np.nextafter(s, np.float32(-np.inf))
    return np.where(s.astype(np.float64) > t, lower, s).astype(np.float32)


def _strictly_rising(s: NDArray[np.float32]) -> NDArray[np.float32]:
    """Move ties up by one float32 at a time, within the finite numbers and with room for data below and above."""
    up, down = np.float32(np.inf), np.float32(-np.inf)
    rising = np.clip(s, -LARGEST, LARGEST)
    for j in range(1, rising.size):
        if rising[j] <= rising[j - 1]:
            rising[j] = np.nextafter(rising[j - 1], up) if rising[j - 1] < LARGEST else LARGEST
    most = np.nextafter(LARGEST, down)
    for j in range(rising.size - 1, -1, -1):
        if rising[j] <= most:
            break
        rising[j] = most
        most = np.nextafter(most, down)
    return rising
