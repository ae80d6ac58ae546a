"""The least minor of a matrix that keeps it from falling apart into networks: [[1, 1], [1, -1]] or R12.

Call a matrix *easy* if reductions, blocks and 2-sums take it apart into network matrices, transposes of network matrices, and
matrices of R10 (in the field of three elements, see `proofs_checks.total_unimodularity.ternary`). Its minors are easy too. Of
those that are not easy, the ones whose minors all are easy are

    [[1, 1], [1, -1]], if it is not regular;   R12, if it is regular                                                      (1)

(Seymour 1980: a regular matroid that is no 1- or 2-sum is graphic, cographic, R10, or has a minor R12). So: leave out
lines of a matrix that is not easy as long as the rest is not easy; then delete elements of the basis, and contract others, by a
pivot and leaving out the line. As minors of easy matrices are easy, trying each element once in either way is enough.   (2)

The part to begin with is looked for among few lines, near to each other, then among twice as many.                     (3)
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from formulations.compiled import njit
from proofs_checks.total_unimodularity.camion import is_totally_unimodular
from proofs_checks.total_unimodularity.network_recognition import tree_of
from proofs_checks.total_unimodularity.reductions import kept_lines
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs
from proofs_checks.total_unimodularity.two_sums import parts_of, two_sum_of_lines

FIRST_PART = 32
"""Lines of the first part that is looked at in (3)."""


@dataclass(frozen=True, eq=False)
class HardMinor:
    """(1), and how it comes out of the matrix.

    Parameters
    ----------
    display
        the minor's entries and elements: 2 x 2, or 6 x 6.
    pivots
        pairs of elements: the one that leaves the basis, the one that enters it, in this order.
    """

    display: Display
    pivots: tuple[tuple[int, int], ...]

    def displayed_in(self, entries: Signs) -> Display:
        """The whole matrix after the pivots: the minor is a submatrix of it."""
        whole = Display.of(entries)
        for leaving, entering in self.pivots:
            whole.pivot(int(np.flatnonzero(whole.rows == leaving)[0]), int(np.flatnonzero(whole.columns == entering)[0]))
        return whole


@dataclass(eq=False)
class _Search:
    """The part that is not easy, and the pivots so far."""

    display: Display
    pivots: list[tuple[int, int]] = field(default_factory=list)

    def without(self, lines: Ints) -> bool:
        """Leave out lines if what is left is not easy, and of the rest all but a hard part; whether that was so."""
        m, n = self.display.entries.shape
        rest = np.setdiff1d(np.arange(m + n), lines)
        rows, columns = rest[rest < m], rest[rest >= m] - m
        found = hard_part(self.display.entries[np.ix_(rows, columns)])
        if found is None:
            return False
        self.display = self.display.part(rows[found[0]], columns[found[1]])
        return True

    def places(self, elements: Ints) -> Ints:
        """The lines at which elements stand, of those that are left."""
        here = np.concatenate([self.display.rows, self.display.columns])
        return np.flatnonzero(np.isin(here, elements))

    def remove(self, element: int, *, contract: bool) -> None:
        """(2): contract or delete an element, after a pivot if it does not stand where that is to leave out a line."""
        (line,) = self.places(np.array([element]))
        m = len(self.display.rows)
        if (line < m) == contract:
            self.without(np.array([line]))
            return
        entries = self.display.entries
        i, j = (line, np.flatnonzero(entries[line])[0]) if line < m else (np.flatnonzero(entries[:, line - m])[0], line - m)
        before = Display(entries.copy(), self.display.rows.copy(), self.display.columns.copy())
        pair = (int(before.rows[i]), int(before.columns[j]))
        self.display.pivot(int(i), int(j))
        if self.without(np.array([j + m if line < m else i])):
            self.pivots.append(pair)
        else:
            self.display = before


def least_hard_minor(entries: Signs, seed: int = 0) -> HardMinor | None:
    """(1) of a matrix; None where it is easy.

    Parameters
    ----------
    seed
        for the line that (3) begins with and the order of the lines in (2).
    """
    rng = np.random.default_rng(seed)
    found = _nearby(entries, rng)
    if found is None:
        return None
    search = _Search(Display.of(entries).part(*found))
    order = _line_by_line(search, rng)
    were_rows = set(search.display.rows.tolist())
    for element in order:
        if search.places(np.array([element])).size:
            search.remove(element, contract=element not in were_rows)
    return HardMinor(search.display, tuple(search.pivots))


def _nearby(entries: Signs, rng: np.random.Generator) -> tuple[Ints, Ints] | None:
    """(3)."""
    m, n = entries.shape
    order = _breadth_first(entries, int(rng.integers(m + n)))
    count = FIRST_PART
    while True:
        lines = np.sort(order[:count])
        rows, columns = lines[lines < m], lines[lines >= m] - m
        found = hard_part(np.ascontiguousarray(entries[np.ix_(rows, columns)]))
        if found is not None:
            return rows[found[0]], columns[found[1]]
        if count >= len(order):
            return None
        count *= 2


def _line_by_line(search: _Search, rng: np.random.Generator) -> list[int]:
    """The first half of (2), many lines at once at the beginning; the elements that are left, in random order."""
    order = rng.permutation(np.concatenate([search.display.rows, search.display.columns]))
    chunk = max(1, len(order) // 2)
    while True:
        for first in range(0, len(order), chunk):
            lines = search.places(order[first : first + chunk])
            if lines.size:
                search.without(lines)
        order = order[np.isin(order, np.concatenate([search.display.rows, search.display.columns]))]
        if chunk == 1:
            return [int(e) for e in order]
        chunk = max(1, min(chunk, len(order)) // 2)


def hard_part(entries: Signs) -> tuple[Ints, Ints] | None:
    """Rows and columns of a part that is not easy, and no 1- or 2-sum; None where the matrix is easy."""
    m, n = entries.shape
    places = [(np.arange(m), np.arange(n))]
    while places:
        rows, columns = places.pop()
        part = np.ascontiguousarray(entries[np.ix_(rows, columns)])
        label = _blocks(part, kept_lines(*_lines(part)))
        for k in range(int(label.max(initial=-1)) + 1):
            inside = np.flatnonzero(label == k)
            r, c = inside[inside < len(rows)], inside[inside >= len(rows)] - len(rows)
            block = np.ascontiguousarray(part[np.ix_(r, c)])
            if has_tree(block) or has_tree(block.T) or is_r10(block):
                continue
            lines = _lines(block)
            split = two_sum_of_lines(*lines)
            if split is None:
                return rows[r], columns[c]
            places.extend((rows[r[x]], columns[c[y]]) for x, y in parts_of(split, block.shape))
    return None


def has_tree(entries: Signs) -> bool:
    """Whether the matrix is a network matrix."""
    pointer, row, sign = _by_columns(np.ascontiguousarray(entries))
    return tree_of(len(entries), pointer, row, sign) is not None


def is_r10(entries: Signs) -> bool:
    """Whether a matrix that is no network matrix, nor transposed, nor a 1- or 2-sum, represents R10: 5 x 5 and unimodular."""
    return entries.shape == (5, 5) and is_totally_unimodular(entries)


@njit(cache=True)
def _by_columns(entries):  # type: ignore[no-untyped-def]
    """The nonzeros column by column."""
    m, n = entries.shape
    pointer = np.zeros(n + 1, np.int32)
    for i in range(m):
        for j in range(n):
            if entries[i, j] != 0:
                pointer[j + 1] += 1
    pointer = np.cumsum(pointer).astype(np.int32)
    free = pointer[:-1].copy()
    row, sign = np.empty(pointer[n], np.int32), np.empty(pointer[n], np.int8)
    for i in range(m):
        for j in range(n):
            if entries[i, j] != 0:
                row[free[j]], sign[free[j]] = i, entries[i, j]
                free[j] += 1
    return pointer, row, sign


@njit(cache=True)
def _lines(entries):  # type: ignore[no-untyped-def]
    """The nonzeros line by line, as `reductions.lines_of` has them."""
    m, n = entries.shape
    pointer = np.zeros(m + n + 1, np.int64)
    for i in range(m):
        for j in range(n):
            if entries[i, j] != 0:
                pointer[i + 1] += 1
                pointer[m + j + 1] += 1
    pointer = np.cumsum(pointer)
    free = pointer[:-1].copy()
    across, sign = np.empty(pointer[m + n], np.int64), np.empty(pointer[m + n], np.int8)
    for i in range(m):
        for j in range(n):
            if entries[i, j] != 0:
                across[free[i]], sign[free[i]] = m + j, entries[i, j]
                across[free[m + j]], sign[free[m + j]] = i, entries[i, j]
                free[i] += 1
                free[m + j] += 1
    return pointer, across, sign


@njit(cache=True)
def _blocks(entries, kept):  # type: ignore[no-untyped-def]
    """The number of the connected block of each line that is kept, -1 for the others."""
    m, n = entries.shape
    label = np.full(m + n, -1, np.int64)
    stack = np.empty(m + n, np.int64)
    count = 0
    for first in range(m + n):
        if not kept[first] or label[first] >= 0:
            continue
        label[first], stack[0], size = count, first, 1
        while size:
            size -= 1
            x = stack[size]
            for k in range(n if x < m else m):
                y = m + k if x < m else k
                entry = entries[x, k] if x < m else entries[k, x - m]
                if entry != 0 and kept[y] and label[y] < 0:
                    label[y], stack[size] = count, y
                    size += 1
        count += 1
    return label


@njit(cache=True)
def _breadth_first(entries, first):  # type: ignore[no-untyped-def]
    """The lines of a connected matrix in the order of a breadth-first search."""
    m, n = entries.shape
    seen = np.zeros(m + n, np.bool_)
    order = np.empty(m + n, np.int64)
    order[0], seen[first], last = first, True, 1
    for place in range(m + n):
        if place == last:
            break
        x = order[place]
        for k in range(n if x < m else m):
            y = m + k if x < m else k
            entry = entries[x, k] if x < m else entries[k, x - m]
            if entry != 0 and not seen[y]:
                order[last], seen[y] = y, True
                last += 1
    return order[:last]
