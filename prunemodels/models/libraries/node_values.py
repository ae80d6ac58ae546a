"""The prediction of a split node of another library's tree once it is a leaf.

treelite keeps no values at splits. A collapsed split predicts the mean of the leaves below it, weighted by their cover:

    v_h = sum over the leaves l below h of c_l v_l  /  sum of c_l,                                  (1)

or the plain mean where no leaf has cover. Cover is the leaf's sum of Hessians where the library kept it. Then (1) is, apart from
penalties, the value that the booster itself would have put there in training, because leaves are Newton steps -G_l / H_l and G
and H are sums over leaves. Otherwise cover is the number of training rows, or of given rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit


def mean_of_leaves(
    left: NDArray[np.int32], right: NDArray[np.int32], leaf_value: NDArray[np.floating], cover: NDArray[np.float64]
) -> NDArray[np.floating]:
    """(1) at splits and the leaf's own value at leaves, in the values' own type; all arrays over nodes, parents first.

    Parameters
    ----------
    leaf_value
        shape (n, K), read at leaves only.
    cover
        shape (n,), >= 0, read at leaves only.
    """
    leaf = left < 0
    values = np.where(leaf[:, None], leaf_value, 0.0).astype(np.float64)
    covers = np.where(leaf, cover, 0.0)
    _gather(left, right, values, covers, np.ones(len(left)))
    return np.where(leaf[:, None], leaf_value, values.astype(leaf_value.dtype))


@njit(cache=True)
def _gather(left, right, value, cover, leaves):  # type: ignore[no-untyped-def]
    """Means of the children's means, children first; `leaves` counts them, for subtrees without cover."""
    for h in range(left.shape[0] - 1, -1, -1):
        if left[h] < 0:
            continue
        a, b = left[h], right[h]
        cover[h] = cover[a] + cover[b]
        leaves[h] = leaves[a] + leaves[b]
        share = cover[a] / cover[h] if cover[h] > 0 else leaves[a] / leaves[h]
        for k in range(value.shape[1]):
            value[h, k] = share * value[a, k] + (1.0 - share) * value[b, k]
