"""Seymour's decomposition: reductions, blocks, networks and transposes, R10, 3-sums, 2-sums, until all is taken apart.

For each block that is neither a network matrix nor the transpose of one, nor R10:

    it may be a 2-sum                                                  `sums`                                             (4)
    else it has a least minor that is not easy                         (1)                                                (5)
    R12: it induces a 3-separation, and the block is a 3-sum           `sums`                                             (6)
    else the block is not totally unimodular                                                                              (7)

Both parts of a sum have fewer lines than the block, and are totally unimodular if it is: as submatrices or as minors of it. So
the first part that is not refutes the whole. The number of steps is polynomial: a 3-sum has six lines on each side and adds six,
a 2-sum two and two.

The answer no comes without evidence. But a totally unimodular matrix stays so without a line: so lines are left out as long as
the rest is refuted, and what is left in the end is square, and minimal. On the way,

    with few rows or columns, the first failure of Camion's criterion is minimal                                          (8)
    a chordless cycle with a wrong sum is minimal                                                                         (9)

The least minor that keeps a matrix from falling apart into networks is [[1, 1], [1, -1]] or R12. Call a matrix *easy* if
reductions, blocks and 2-sums take it apart into network matrices, transposes of network matrices, and matrices of R10 (in the
field of three elements, see `proofs_checks.total_unimodularity.ternary`). Its minors are easy too. Of those that are not easy,
the ones whose minors all are easy are

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
from itertools import count
from typing import Any

import numpy as np

from formulations.compiled import njit
from formulations.errors import SolverFailedError
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity.network_recognition import recognise_network, tree_of
from proofs_checks.total_unimodularity.pieces import R10, Piece, Pieces, Split, ThreeSum, TwoSum
from proofs_checks.total_unimodularity.reductions import blocks_of, kept_lines, reduce_matrix
from proofs_checks.total_unimodularity.sums import (
    find_two_sum,
    induced_separation,
    parts_of,
    sides_of_r12,
    take_apart,
    two_sum_of_lines,
)
from proofs_checks.total_unimodularity.ternary import Display, Ints, Signs, least_violation, wrong_cycle
from proofs_checks.verdict import DEFAULTS


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
    # how many nonzeros each line has, rows first, and where it begins
    for i in range(m):
        for j in range(n):
            if entries[i, j] != 0:
                pointer[i + 1] += 1
                pointer[m + j + 1] += 1
    pointer = np.cumsum(pointer)
    # write each nonzero to its row and to its column
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


def decompose(matrix: SignMatrix) -> Pieces | Ints:
    """Take the matrix apart completely; or lines (rows, and columns after them) that took part in refuting it.

    Nearly always these lines alone are not totally unimodular.
    """
    # take parts in the order of their numbers; the two parts of a sum get the next free ones
    waiting: dict[int, tuple[SignMatrix, _Origin | None]] = {0: (matrix, None)}
    taken = []
    for k in count():
        if k not in waiting:
            break
        part, origin = waiting.pop(k)
        reductions, blocks = reduce_matrix(part), []
        for rows, columns in blocks_of(part, reductions.rows, reductions.columns):
            place = np.concatenate([rows, columns + part.shape[0]])
            found = _take(part.part(rows, columns))
            if isinstance(found, np.ndarray):
                return _in_the_whole(place[found], origin)
            first = k + 1 + len(waiting)
            parts = [(each, _Origin(origin, place, own, guests)) for each, own, guests in found[1]]
            waiting |= enumerate(parts, first)
            blocks.append((rows, columns, found[0], first))
        taken.append((reductions, blocks))
    # the certificate is put together from the last part to the first
    done: dict[int, Pieces] = {}
    for k, (reductions, blocks) in reversed([*enumerate(taken)]):
        pieces = []
        for rows, columns, how, first in blocks:
            is_sum = isinstance(how, TwoSum | ThreeSum)
            evidence: Any = Split(how, (done.pop(first), done.pop(first + 1))) if is_sum else how
            pieces.append(Piece(rows, columns, evidence))
        done[k] = Pieces(reductions, tuple(pieces))
    return done[0]


@dataclass(frozen=True, eq=False)
class _Origin:
    """Where a part of a sum comes from: nearly always it is a minor of these lines of the sum."""

    above: _Origin | None  # of the matrix that the sum is a block of
    block: Ints  # that block's lines
    own: Ints  # of each line of the part the block's line, -1 where it stands for the other side
    guests: Ints  # the block's lines for which those stand


def _in_the_whole(lines: Ints, origin: _Origin | None) -> Ints:
    """The lines of the whole that some lines of a part stand for."""
    while origin is not None:
        own = origin.own[lines]
        lines = origin.block[np.union1d(own[own >= 0], origin.guests if (own < 0).any() else own[:0])]
        origin = origin.above
    return np.unique(lines)


def _take(block: SignMatrix) -> tuple[Any, list[tuple[SignMatrix, Ints, Ints]]] | Ints:
    """(4)-(7) for a reduced, connected block: what it is, and the parts of a sum with their own lines and guests.

    Or some of its lines that are not totally unimodular.
    """
    for transposed in (False, True):
        network = recognise_network(block, transposed=transposed)
        if network is not None:
            return network, []
    # R10, or a 2-sum (4)
    entries = block.dense()
    if is_r10(entries):
        return R10(), []
    two_sum = find_two_sum(block)
    if two_sum is not None:
        places, nobody = parts_of(two_sum, block.shape), np.zeros(0, dtype=np.int64)
        return two_sum, [(block.part(r, c), np.concatenate([r, c + len(entries)]), nobody) for r, c in places]
    # (5): its least minor that is not easy; of two rows and columns, it refutes the block
    hard = least_hard_minor(entries)
    if hard is None:
        raise SolverFailedError(f"{block!r} is easy, but neither network nor R10 nor a 2-sum; please report the matrix")
    involved = np.concatenate([hard.display.rows, hard.display.columns, np.ravel(hard.pivots).astype(np.int64)])
    if len(hard.display.rows) == 2:
        return involved
    # (6): R12, whose sides separate the whole block, or (7) it is refuted
    sides = sides_of_r12(hard.display.entries)
    if sides is None:
        raise SolverFailedError(f"a least minor of {block!r} is neither R12 nor [[1, 1], [1, -1]]; please report the matrix")
    whole = hard.displayed_in(entries)
    rows, columns = (
        np.flatnonzero(np.isin(a, b)) for a, b in ((whole.rows, hard.display.rows), (whole.columns, hard.display.columns))
    )
    separates, first = induced_separation(whole, rows, columns, sides)
    apart = take_apart(entries, first) if separates else np.union1d(first, involved)
    if isinstance(apart, np.ndarray):
        return apart
    three_sum, parts = apart
    # a part is a minor of its side with R12 and what the pivots exchanged, but for signs
    pivots = [] if three_sum.pivot is None else [three_sum.pivot[0], len(entries) + three_sum.pivot[1]]
    guests = np.union1d(involved, pivots).astype(np.int64)
    own = (np.concatenate([part.rows, [-1], part.columns, [-1, -1]]) for part in parts)
    return three_sum, [(read_matrix(part.entries), lines, guests) for part, lines in zip(parts, own, strict=True)]


def minimal_violation(matrix: SignMatrix, lines: Ints) -> ViolatingSubmatrix:
    """A minimal violating submatrix of a matrix that `decompose` refuted, first looked for among the lines that it named."""
    m = matrix.shape[0]

    def refuted(lines: Ints) -> Ints | None:
        """A part of some lines that is refuted, None where they are not."""
        rows, columns = lines[lines < m], lines[lines >= m] - m
        part = matrix.part(rows, columns)
        if min(part.shape) <= DEFAULTS.camion_lines:
            upright = part.shape[0] <= DEFAULTS.camion_lines
            place = least_violation(part.dense() if upright else np.ascontiguousarray(part.dense().T))
            if place is None:
                return None
            r, c = place if upright else place[::-1]
            return np.concatenate([rows[list(r)], columns[list(c)] + m])
        cycle = wrong_cycle(part)
        if cycle is not None:
            return np.concatenate([rows[list(cycle.rows)], columns[list(cycle.columns)] + m])
        found = decompose(part)
        if isinstance(found, Pieces):
            return None
        smaller = refuted(lines[found]) if len(found) < len(lines) else None
        return lines if smaller is None else smaller

    # lines are left out as long as the rest is refuted
    start = refuted(lines)
    found = least_part(np.arange(sum(matrix.shape)) if start is None else start, refuted, np.random.default_rng(0))
    rows, columns = found[found < m].tolist(), (found[found >= m] - m).tolist()
    violating = submatrix(matrix, rows, columns) if len(rows) == len(columns) else None
    if violating is None or abs(violating.determinant) != 2:
        raise SolverFailedError(f"{matrix!r} is refuted, but no part of it has the determinant 2 or -2; please report the matrix")
    return violating
