"""The least minor of a matrix that keeps it from falling apart into networks: [[1, 1], [1, -1]] or R12.

Call a matrix *easy* if reductions, blocks and 2-sums take it apart into network matrices, transposes of network matrices, and
matrices of R10 (in the field of three elements, see `proofs_checks.total_unimodularity.ternary`). Its minors are easy too. Of
those that are not easy, the ones whose minors all are easy are

    [[1, 1], [1, -1]], if it is not regular;   R12, if it is regular                                                      (1)

(Seymour 1980: a regular matroid that is no 1- or 2-sum is graphic, cographic, R10, or has a minor R12). So: leave out
lines of a matrix that is not easy as long as the rest is not easy; then delete elements of the basis, and contract others, by a
pivot and leaving out the line. As minors of easy matrices are easy, trying each element once in either way is enough.   (2)

The part to begin with is looked for among few lines, near to each other, then among twice as many. Then lines are left out, many
together at first.                                                                                                       (3)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from formulations.compiled import njit
from proofs_checks.params import DEFAULTS
from proofs_checks.total_unimodularity.network_recognition import tree_of
from proofs_checks.total_unimodularity.reductions import kept_lines
from proofs_checks.total_unimodularity.sums import parts_of, two_sum_of_lines
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs, least_violation


def least_part(lines: Ints, part_of: Callable[[Ints], Ints | None], rng: np.random.Generator) -> Ints:
    """The second half of (3): lines with a property that goes when any one of them is left out, in random order.

    `part_of` says of some lines a part that has the property, None where they have not. What has a part with the property has it.
    """
    order, found = rng.permutation(lines), lines
    chunk = max(1, len(order) // 2)
    while True:
        for first in range(0, len(order), chunk):
            rest = np.setdiff1d(found, order[first : first + chunk])
            if len(rest) < len(found):
                smaller = part_of(rest)
                found = found if smaller is None else smaller
        order = order[np.isin(order, found)]
        if chunk == 1:
            return order
        chunk = max(1, min(chunk, len(order)) // 2)


@dataclass(eq=False)
class HardMinor:
    """(1), and how it comes out of the matrix."""

    display: Display  # the minor's entries and elements: 2 x 2, or 6 x 6.
    # pairs of elements: the one that leaves the basis, the one that enters it, in this order.
    pivots: list[tuple[int, int]] = field(default_factory=list)

    def displayed_in(self, entries: Signs) -> Display:
        """The whole matrix after the pivots: the minor is a submatrix of it."""
        whole = Display.of(entries)
        for leaving, entering in self.pivots:
            whole.pivot(int(np.flatnonzero(whole.rows == leaving)[0]), int(np.flatnonzero(whole.columns == entering)[0]))
        return whole

    def remove(self, element: int, *, contract: bool) -> None:
        """(2): contract or delete an element, after a pivot if it does not stand where that is to leave out a line.

        Only if what is left is not easy; of that all but a hard part is left out.
        """
        m = len(self.display.rows)
        line = int(np.flatnonzero(np.concatenate([self.display.rows, self.display.columns]) == element)[0])
        trial, pair = self.display, []
        if (line < m) != contract:
            entries = self.display.entries
            i, j = (line, np.flatnonzero(entries[line])[0]) if line < m else (np.flatnonzero(entries[:, line - m])[0], line - m)
            trial = Display(entries.copy(), self.display.rows.copy(), self.display.columns.copy())
            pair = [(int(trial.rows[i]), int(trial.columns[j]))]
            trial.pivot(int(i), int(j))
            line = int(j) + m if line < m else int(i)
        rest = np.delete(np.arange(m + len(self.display.columns)), line)
        rows, columns = rest[rest < m], rest[rest >= m] - m
        found = hard_part(trial.entries[np.ix_(rows, columns)])
        if found is not None:
            self.display = trial.part(rows[found[0]], columns[found[1]])
            self.pivots += pair


def least_hard_minor(entries: Signs) -> HardMinor | None:
    """(1) of a matrix; None where it is easy."""
    m, rng = len(entries), np.random.default_rng(0)

    def part_of(lines: Ints) -> Ints | None:
        rows, columns = lines[lines < m], lines[lines >= m] - m
        found = hard_part(np.ascontiguousarray(entries[np.ix_(rows, columns)]))
        return None if found is None else np.concatenate([rows[found[0]], columns[found[1]] + m])

    total = sum(entries.shape)
    pointer, across, _ = _lines(entries)
    near = _breadth_first(pointer, across, np.ones(total, dtype=np.bool_), int(rng.integers(total)))
    size = DEFAULTS.first_hard_part
    while (found := part_of(np.sort(near[:size]))) is None:
        if size >= len(near):
            return None
        size *= 2
    order = least_part(found, part_of, rng)
    lines = np.sort(order)
    minor = HardMinor(Display.of(entries).part(lines[lines < m], lines[lines >= m] - m))
    for element in order.tolist():
        if element in minor.display.rows or element in minor.display.columns:
            minor.remove(element, contract=element >= m)
    return minor


def hard_part(entries: Signs) -> tuple[Ints, Ints] | None:
    """Rows and columns of a part that is not easy, and no 1- or 2-sum; None where the matrix is easy."""
    m, n = entries.shape
    places = [(np.arange(m), np.arange(n))]
    while places:
        rows, columns = places.pop()
        part = np.ascontiguousarray(entries[np.ix_(rows, columns)])
        pointer, across, sign = _lines(part)
        kept = kept_lines(pointer, across, sign)
        while kept.any():
            inside = np.sort(_breadth_first(pointer, across, kept, np.argmax(kept)))
            kept[inside] = False
            r, c = inside[inside < len(rows)], inside[inside >= len(rows)] - len(rows)
            block = np.ascontiguousarray(part[np.ix_(r, c)])
            lines = _lines(block)
            if has_tree(block, lines) or has_tree(block, lines, transposed=True) or is_r10(block):
                continue
            split = two_sum_of_lines(*lines)
            if split is None:
                return rows[r], columns[c]
            places.extend((rows[r[x]], columns[c[y]]) for x, y in parts_of(split, block.shape))
    return None


def has_tree(entries: Signs, lines: tuple[Ints, Ints, Signs], *, transposed: bool = False) -> bool:
    """Whether a matrix is a network matrix, or the transpose of one, from its nonzeros line by line."""
    m, n = entries.shape
    pointer, across, sign = lines
    if transposed:
        return tree_of(n, pointer[: m + 1], across[: pointer[m]] - m, sign) is not None
    return tree_of(m, pointer[m:] - pointer[m], across[pointer[m] :], sign[pointer[m] :]) is not None


def is_r10(entries: Signs) -> bool:
    """Whether a matrix that is no network matrix, nor transposed, nor a 1- or 2-sum, represents R10: 5 x 5 and unimodular."""
    return entries.shape == (5, 5) and least_violation(entries) is None


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
def _breadth_first(pointer, across, kept, first):  # type: ignore[no-untyped-def]
    """The lines that are joined to the first one by lines that are kept, in the order of a breadth-first search."""
    seen = ~kept
    order = np.empty(kept.shape[0], np.int64)
    order[0], seen[first], last = first, True, 1
    for place in range(kept.shape[0]):
        if place == last:
            break
        x = order[place]
        for k in range(pointer[x], pointer[x + 1]):
            if not seen[across[k]]:
                order[last], seen[across[k]] = across[k], True
                last += 1
    return order[:last]
