"""Of all closures that may be optimal with a guess, the smallest or the largest: no cut is needed for that.

Let A be optimal for all lambda of an open interval, as every closure between two breakpoints is. A set D whose removal leaves
another optimum loses nothing at two lambdas, so it has neither gain nor price of its own; and so has every single subtree of D,
for none can be worth less than nothing. Therefore

    A is the smallest optimum   <=>   no split of A has a subtree within A whose gains add up to nothing                    (1)
    A is the largest optimum    <=>   no closure outside A that A has paid for has gains that add up to nothing             (2)

Both say something of A alone. A guess that obeys them is the right one of several optima as soon as it is an optimum at all.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from solvers.closures.cut import ClosureProblem, Ties


def extreme(
    problem: ClosureProblem, gain: NDArray[np.int64], free: NDArray[np.bool_], keep: NDArray[np.bool_], ties: Ties
) -> NDArray[np.bool_]:
    """The closure `keep` without what breaks (1), or with what breaks (2); it is worth no less.

    Parameters
    ----------
    gain
        int64, shape (k,).
    free
        bool, shape (k,): splits whose evaluation costs nothing.
    """
    if ties == "smallest":
        return np.asarray(_stripped(problem.parent, np.where(keep, gain, -1)))
    paid = np.zeros(problem.price.size, dtype=bool)
    paid[problem.head[keep[problem.tail]]] = True
    allowed = free & ~keep
    allowed[problem.tail[~paid[problem.head]]] = False
    return np.asarray(_filled(problem.parent, gain, keep, allowed))


@njit(cache=True, nogil=True)
def _stripped(parent, gain):  # type: ignore[no-untyped-def]
    """Children before parents: what a subtree gains without its own worthless ones; splits not to be kept have gain -1."""
    keep = np.empty(parent.shape[0], dtype=np.bool_)
    for h in range(parent.shape[0] - 1, -1, -1):
        keep[h] = gain[h] > 0
        if keep[h] and parent[h] >= 0:
            gain[parent[h]] += gain[h]
    for h in range(parent.shape[0]):
        keep[h] &= parent[h] < 0 or keep[parent[h]]
    return keep


@njit(cache=True, nogil=True)
def _filled(parent, gain, keep, allowed):  # type: ignore[no-untyped-def]
    """Children before parents: what is best added below; then, parents before children, all of it that is no loss."""
    best = gain.copy()
    for h in range(parent.shape[0] - 1, -1, -1):
        if allowed[h] and best[h] > 0 and parent[h] >= 0:
            best[parent[h]] += best[h]
    full = keep.copy()
    for h in range(parent.shape[0]):
        full[h] |= allowed[h] and best[h] >= 0 and (parent[h] < 0 or full[parent[h]])
    return full
