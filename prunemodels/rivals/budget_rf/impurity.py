"""The impurity of a set of examples, from its class counts n_1 ... n_C, n = sum of n_k.

    pairs      F = sum_{i<j} [ [n_i - alpha]_+ [n_j - alpha]_+ - alpha^2 ]_+        threshold-Pairs, BRF15 (11)            (1)
    powers     F = n^l - sum_k n_k^l,  l >= 2                                       BRF15's Powers family                  (2)
    entropy    F = - sum_k (n_k / n) log2 (n_k / n)                                                                        (3)
    gini       F = 1 - sum_k (n_k / n)^2                                                                                   (4)

(1) and (2) are *admissible* (BRF15 section 2.2): F >= 0; F = 0 for examples of one class; as examples are added F does not fall,
nor do its increments; log F = O(log n). BRF15's bound on the cost of a tree holds for those. (3) and (4) do not grow with the set
and have no such bound; ordinary forests use them, and so does BP16.

How we read the paper. The text of (11) at hand has lost the sign before alpha^2. With a plus, a pure set would have
F = alpha^2 > 0 for each pair of classes, although F = 0 for examples of one class; so it is a minus. (11) sums over i != j, which
may count each pair once or twice. Here it is once: at alpha = 0, F is the number of pairs of examples that differ in class. No
split depends on that factor. The supplement, which defines Powers, is not at hand; (2) follows the name, and is admissible.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.compiled import njit
from formulations.errors import InvalidInputError

PAIRS, POWERS, ENTROPY, GINI = range(4)

MEASURES: dict[str, int] = {"pairs": PAIRS, "powers": POWERS, "entropy": ENTROPY, "gini": GINI}
"""The compiled code of each measure, by name."""


def impurity(counts: ArrayLike, measure: str, *, alpha: float = 0.0, power: float = 2.0) -> float:
    """F of a set of examples.

    Parameters
    ----------
    counts
        number, or weight, of the examples of each class, shape (C,), each >= 0.
    measure
        ``"pairs"`` (1), ``"powers"`` (2), ``"entropy"`` (3) or ``"gini"`` (4).
    alpha
        alpha in (1), >= 0.
    power
        l in (2), >= 2.

    Raises
    ------
    InvalidInputError
        for another measure, or counts that are negative or not a vector.
    """
    if measure not in MEASURES:
        raise InvalidInputError(f"measure is {measure!r}; give one of {', '.join(map(repr, MEASURES))}")
    n: NDArray[np.float64] = np.ascontiguousarray(counts, dtype=np.float64)
    if n.ndim != 1 or not np.isfinite(n).all() or (n < 0).any():
        raise InvalidInputError(f"counts is {counts!r}; give one number >= 0 for each class")
    return float(_impurity(n, MEASURES[measure], alpha, power))


@njit(cache=True, nogil=True)
def _impurity(counts, measure, alpha, power):  # type: ignore[no-untyped-def]
    if measure == PAIRS:
        return _pairs(counts, alpha)
    n = counts.sum()
    if measure == POWERS:
        rest = n**power
        for count in counts:
            rest -= max(count, 0.0) ** power  # rounding may leave differences of weights slightly below 0
        return max(rest, 0.0)
    total = 0.0
    for count in counts:
        if count > 0.0:
            p = count / n
            total += p * (1.0 - p) if measure == GINI else -p * np.log2(p)
    return total


@njit(cache=True, nogil=True)
def _pairs(counts, alpha):  # type: ignore[no-untyped-def]
    """Threshold-Pairs, (1)."""
    total = 0.0
    for i in range(counts.size):
        over = counts[i] - alpha
        if over > 0.0:
            for j in range(i):
                if counts[j] > alpha:
                    total += max(over * (counts[j] - alpha) - alpha * alpha, 0.0)
    return total
