"""For one row after the other: go down the trees as far as the known features lead, and find the features needed next.

Rows are independent, so these loops run over rows and then trees; rows share only the batching of their requests.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit

UNKNOWN, KNOWN, LOST = 0, 1, 2
"""Status of a feature of a row; LOST: it was asked for and cannot be had."""

NO_CAP = np.iinfo(np.int64).max
"""In place of the most that a row may pay."""


class Trees(NamedTuple):
    """The trees as the compiled walks take them, an entry for each node.

    Parameters
    ----------
    left, right
        int32: children; -1 at leaves.
    column, tested
        int32: the feature that a split waits for, and the column of the cells that it tests.
    threshold, missing_left
        numbers that are at most the threshold go left, and so do missing ones where `missing_left` says so.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    column: NDArray[np.int32]
    threshold: NDArray[np.float64]
    missing_left: NDArray[np.bool_]
    tested: NDArray[np.int32]


class Standing(NamedTuple):
    """Where all rows stand: int32 `node`, shape (rows, T), the `cells` known, and uint8 `status`, shape (rows, F)."""

    node: NDArray[np.int32]
    cells: NDArray[Any]
    status: NDArray[np.uint8]


@njit(cache=True)
def _advance(rows, at, trees, step_units, most, steps):  # type: ignore[no-untyped-def]
    """Walk each tree down to a leaf, to a split whose feature is not known, or to one that would bring `steps`, the price of the
    splits passed, above `most`.
    """
    left, right, column, threshold, missing_left, tested = trees
    node, cells, status = at
    for k in range(rows.shape[0]):
        i = rows[k]
        for t in range(node.shape[1]):
            h = node[i, t]
            while left[h] >= 0 and status[i, column[h]] == KNOWN:
                f = column[h]
                if steps[i] + step_units[f] > most[i]:
                    break
                x = cells[i, tested[h]]
                go_left = missing_left[h] if x != x else float(x) <= threshold[h]
                h = left[h] if go_left else right[h]
                steps[i] += step_units[f]
            node[i, t] = h


@njit(cache=True)
def _ask_for_all(rows, node, trees, status, wanted, done):  # type: ignore[no-untyped-def]
    """Mark every feature at which a tree waits: each is certainly needed, whatever the values of the others."""
    left, column = trees.left, trees.column
    for k in range(rows.shape[0]):
        i = rows[k]
        done[k] = True
        for t in range(node.shape[1]):
            h = node[i, t]
            if left[h] >= 0 and status[i, column[h]] == UNKNOWN:
                wanted[k, column[h]] = True
                done[k] = False


@njit(cache=True)
def _ask_for_all_below(rows, at, trees, wanted):  # type: ignore[no-untyped-def]
    """Mark every unknown feature that a tree could come to, whatever the values of the others are."""
    left, right, column, threshold, missing_left, tested = trees
    node, cells, status = at
    stack = np.empty(left.shape[0], dtype=np.int64)
    for k in range(rows.shape[0]):
        i = rows[k]
        for t in range(node.shape[1]):
            stack[0], size = node[i, t], 1
            while size:
                size -= 1
                h = stack[size]
                if left[h] < 0 or status[i, column[h]] == LOST:
                    continue
                if status[i, column[h]] == KNOWN:
                    x = cells[i, tested[h]]
                    go_left = missing_left[h] if x != x else float(x) <= threshold[h]
                    stack[size] = left[h] if go_left else right[h]
                    size += 1
                else:
                    wanted[k, column[h]] = True
                    stack[size], stack[size + 1] = left[h], right[h]
                    size += 2
