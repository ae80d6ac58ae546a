"""A data set for which IP1's fractional vertex on tree 1 is the only optimum: the smallest, by search.

Training rows of two classes fall into leaves 2, 4 and 5; e_h counts those below h outside their majority class. With n rows,
prices c_1, c_2 and lambda = 1 / n,

    n (error + lambda * cost)  =  sum_h e_h z_h  +  c_1 w1 + c_2 w2                                                (1)

so every row of (1) with such e and prices > 0 is an objective that data can produce.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from proofs_checks.counterexample.printed import CHILDREN, VARIABLES, linear
from proofs_checks.matrices.violation import Number

MOST_ROWS = 12
"""The search goes up to this many training rows."""

LEAVES = (2, 4, 5)


@dataclass(frozen=True)
class DataSet:
    """Class counts at the leaves, and prices.

    Parameters
    ----------
    counts
        rows of class A and of class B, by leaf.
    errors
        e_h by node.
    prices
        of features 1 and 2.
    """

    counts: dict[int, tuple[int, int]]
    errors: dict[int, int]
    prices: tuple[int, int]

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return sum(map(sum, self.counts.values()))

    @property
    def objective(self) -> dict[str, Number]:
        """The coefficients of (1), by variable."""
        return {**{f"z{h}": e for h, e in sorted(self.errors.items())}, "w1": self.prices[0], "w2": self.prices[1]}

    def __str__(self) -> str:
        n, (first, second) = self.n_rows, self.prices
        return (
            f"Data can produce such an objective: {n} training rows of two classes, prices {first} and {second} of features 1 "
            f"and 2, lambda = 1/{n}. Times {n}, minimise {linear(self.objective)}"
        )

    def table(self) -> list[tuple[str, ...]]:
        """Counts at the leaves, and errors."""
        rows = [(f"leaf {h}", f"{a} of class A, {b} of class B") for h, (a, b) in sorted(self.counts.items())]
        return [*rows, ("errors", ", ".join(f"e{h} = {e}" for h, e in sorted(self.errors.items())))]


def smallest_data_set(points: NDArray[np.int64], place: int) -> DataSet | None:
    """The data set with the fewest rows, then the lowest prices, for which one point is the only optimum among all.

    Parameters
    ----------
    points
        all vertices times a common denominator, shape (k, 7), in the order of `VARIABLES`.
    place
        index of the point that is to be the only optimum; -1 where it is not among the vertices.

    Returns
    -------
    DataSet or None
        None if no data set of at most `MOST_ROWS` rows, with prices from 1 to its number of rows, will do.
    """
    if place < 0:
        return None
    others = np.delete(points, place, axis=0) - points[place]  # at the only optimum, all others cost more
    for n in range(1, MOST_ROWS + 1):
        counts = _compositions(n, 2 * len(LEAVES))
        errors = _majority_errors(counts)
        prices = sorted(itertools.product(range(1, n + 1), repeat=2), key=lambda pair: (sum(pair), pair))
        for first, second in prices:
            excess = errors @ others[:, : errors.shape[1]].T + others[:, errors.shape[1] :] @ np.array([first, second])
            found = np.flatnonzero((excess > 0).all(axis=1))
            if found.size:
                pairs = counts[found[0]].reshape(-1, 2).tolist()
                leaves = {h: (a, b) for h, (a, b) in zip(LEAVES, pairs, strict=True)}
                return DataSet(leaves, dict(enumerate(errors[found[0]].tolist(), 1)), (first, second))
    return None


def _compositions(n: int, parts: int) -> NDArray[np.int64]:
    """All ways to write n as an ordered sum of numbers >= 0, the first parts largest first."""
    bars = np.array(list(itertools.combinations(range(n + parts - 1), parts - 1)), dtype=np.int64)
    edge = np.full((len(bars), 1), -1)
    return (np.diff(np.hstack([edge, bars, edge + n + parts]), axis=1) - 1)[::-1]


def _majority_errors(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """e_1 .. e_5 from the class counts at the leaves, shape (k, 6)."""
    classes = {h: counts[:, 2 * i : 2 * i + 2] for i, h in enumerate(LEAVES)}
    for h, (left, right) in sorted(CHILDREN.items(), reverse=True):
        classes[h] = classes[left] + classes[right]
    n_nodes = sum(name.startswith("z") for name in VARIABLES)
    return np.stack([classes[h].min(axis=1) for h in range(1, n_nodes + 1)], axis=1)
