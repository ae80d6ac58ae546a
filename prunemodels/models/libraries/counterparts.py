"""The same tree in two numberings: ours, and that of the library's own file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.instance.ensemble import Ensemble


def counterparts(
    ensemble: Ensemble, t: int, left: NDArray[np.integer], right: NDArray[np.integer], root: int = 0
) -> NDArray[np.int64]:
    """The file's number of each node of tree t, in our order; `left` and `right` are the file's children."""
    nodes = ensemble.nodes_of(t)
    file = np.full(nodes.stop - nodes.start, root, dtype=np.int64)
    for h in range(nodes.start, nodes.stop):
        if ensemble.left[h] >= 0:
            file[ensemble.left[h] - nodes.start] = left[file[h - nodes.start]]
            file[ensemble.right[h] - nodes.start] = right[file[h - nodes.start]]
    return file
