"""Breiman's weakest links for all splits of all trees, by one bottom-up pass.

Pruning a tree by its complexity alone is a closure in which every kept split pays the same price, one more leaf:

    maximise  sum of (gain_h - alpha) over kept splits h                                                           (1)

and the optimum shrinks as alpha grows. Splits fall into blocks that are pruned together, each at

    alpha = (sum of the block's gains) / (its number of splits),                                                   (2)

where no block is below one of smaller alpha. Going bottom-up, a split starts as a block of its own and absorbs the block of
largest alpha right below it while that exceeds its own alpha (Pardalos and Xue 1999: isotonic regression on a tree). Blocks are
kept in mergeable heaps, so n splits take O(n log n). Weakest-link pruning (Breiman et al. 1984, section 3.3) removes the same
splits at the same alphas, block by block, with a search over the tree for each.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from prunemodels.rivals.baselines.exact_ratios import less


def weakest_links(ensemble: Ensemble, gain: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The alpha (2) at which each split is pruned: the smallest optimum of (1) keeps it exactly for smaller alphas.

    Parameters
    ----------
    gain
        shape (n,): by how much each split lowers the tree's error, or impurity, in integers whose sum is below 2^53.

    Returns
    -------
    numerator, denominator
        of (2), shape (n,), not reduced; 0 / 1 at leaves.
    """
    numerator, denominator = gain.astype(np.int64), np.ones(ensemble.n_nodes, dtype=np.int64)
    numerator[~ensemble.is_split] = 0
    swallowed = np.zeros(ensemble.n_nodes, dtype=np.bool_)
    _blocks(ensemble.left, ensemble.right, numerator, denominator, swallowed)
    _spread(ensemble.parent, swallowed, numerator, denominator)
    return numerator, denominator


@njit(cache=True)
def _blocks(left, right, numerator, denominator, swallowed):  # type: ignore[no-untyped-def]
    """Children before parents: the block of each split, stored at its top; the blocks below it are in a skew heap by alpha."""
    n = left.shape[0]
    below = np.full(n, -1, dtype=np.int32)
    smaller = np.full(n, -1, dtype=np.int32)
    others = np.full(n, -1, dtype=np.int32)
    for h in range(n - 1, -1, -1):
        if left[h] < 0:
            continue
        heap = np.int32(-1)  # as the numbers of splits are, so that `_meld` is compiled once
        for child in (left[h], right[h]):
            if left[child] >= 0:
                heap = _meld(heap, child, numerator, denominator, smaller, others)
        while heap >= 0 and less(numerator[h], denominator[h], numerator[heap], denominator[heap]):
            block = heap
            heap = _meld(smaller[block], others[block], numerator, denominator, smaller, others)
            heap = _meld(heap, below[block], numerator, denominator, smaller, others)
            numerator[h] += numerator[block]
            denominator[h] += denominator[block]
            swallowed[block] = True
        below[h] = heap


@njit(cache=True)
def _meld(a, b, numerator, denominator, smaller, others):  # type: ignore[no-untyped-def]
    """Merge two skew heaps of blocks; -1 is the empty heap."""
    if a < 0 or b < 0:
        return max(a, b)
    if less(numerator[a], denominator[a], numerator[b], denominator[b]):
        a, b = b, a
    root = a
    while True:
        rest = others[a]
        others[a] = smaller[a]
        if rest < 0:
            smaller[a] = b
            return root
        if less(numerator[rest], denominator[rest], numerator[b], denominator[b]):
            rest, b = b, rest
        smaller[a] = rest
        a = rest


@njit(cache=True)
def _spread(parent, swallowed, numerator, denominator):  # type: ignore[no-untyped-def]
    """Parents before children: copy a block's alpha to all of its splits."""
    for h in range(parent.shape[0]):
        if swallowed[h]:
            numerator[h] = numerator[parent[h]]
            denominator[h] = denominator[parent[h]]
