"""An order of rows in which rows that reach the same nodes are near one another.

    key of a row  =  for depth 1 to D, for tree 0 to K - 1: whether its node at that depth is not a first child           (1)

read as one binary number, with the roots' children as its leading bits. Rows with the same leading bits went the same way at the
first splits of K trees, so they mostly reach the same nodes of the other trees too. In this order the rows of a node form a few
runs, and a pass that reads one number for each row finds them in the nearest cache.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import Routing

DEPTH, TREES = 3, 16
"""D and K: 48 bits of a key; more of either gains a few per cent."""


def row_order(routing: Routing, ensemble: Ensemble) -> NDArray[np.int32]:
    """The rows sorted by their keys (1), rows of equal keys in their own order; int32, shape (N,)."""
    n_trees = min(TREES, ensemble.n_trees)
    key = np.zeros(routing.n_rows, dtype=np.int64)
    last = int(ensemble.tree_start[n_trees])
    shallow = np.flatnonzero((ensemble.depth[:last] > 0) & (ensemble.depth[:last] <= DEPTH))
    first = np.unique(ensemble.parent[shallow], return_index=True)[1]
    for h in np.delete(shallow, first):
        t, depth = int(ensemble.tree_of[h]), int(ensemble.depth[h])
        bit = (DEPTH - depth) * n_trees + n_trees - 1 - t
        key[routing.order[t, routing.start[h] : routing.stop[h]]] |= np.int64(1 << bit)
    return np.argsort(key, kind="stable").astype(np.int32)
