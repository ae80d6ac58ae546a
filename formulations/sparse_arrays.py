"""The structure of sparse matrices from files and from users, checked before compiled code follows it.

scipy checks little of a matrix that is made of its arrays: pointers that leave them, and indices outside of the shape, make its
compiled code read and write any place in memory. A matrix with r rows, n columns and the pointers p, indices j is sound if

    p_0 = 0 <= p_1 <= ... <= p_r <= len(j) = len(data),      0 <= j < n                                           (by rows)

and likewise by columns, by blocks, and for row and column numbers.

Several entries at one place are added up, as scipy does. scipy adds them in the type of the entries, where 255 + 2 is 1
in a byte; here a sum is exact, or refused.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.errors import InvalidInputError
from formulations.memory import too_large

BYTES_OF_LINE, BYTES_OF_ENTRY = 64, 32
"""Memory for each row or column and for each entry that any use of a matrix takes at least: pointers, numbers, a copy."""


def check_sparse(matrix: Any, name: str = "matrix", *, duplicates: bool = True) -> None:
    """Refuse a scipy sparse array or matrix whose arrays do not describe one, and one that is too large for the memory.

    `matrix`: in any of scipy's formats, and not changed; anything else passes. `name`: what the message calls it. `duplicates`:
    whether several entries at one place are taken; scipy adds them up.
    """
    is_sparse: bool = sparse.issparse(matrix)
    if not is_sparse:
        return
    if len(matrix.shape) != 2:
        raise InvalidInputError(f"{name} has the shape {matrix.shape}; give two dimensions, rows and columns")
    if matrix.format in ("csr", "csc", "bsr"):
        wrong = _wrong_pointers(matrix)
    elif matrix.format == "coo":
        wrong = _wrong_numbers("row", matrix.row, matrix.shape[0], len(matrix.data))
        wrong = wrong or _wrong_numbers("column", matrix.col, matrix.shape[1], len(matrix.data))
    elif matrix.format == "dia":
        wrong = _wrong_diagonals(matrix)
    else:  # dok and lil hold Python's objects; their own conversion checks each
        try:
            by_place: Any = sparse.coo_array(matrix)
        except (IndexError, OverflowError, TypeError, ValueError) as error:
            raise InvalidInputError(f"{name} holds entries that are not in it ({error}); build it again") from error
        check_sparse(by_place, name, duplicates=duplicates)
        return
    if wrong is not None:
        raise InvalidInputError(f"{name} is no sparse matrix: {wrong}; build it again")
    size = too_large(BYTES_OF_LINE * (int(matrix.shape[0]) + int(matrix.shape[1])) + BYTES_OF_ENTRY * matrix.data.size)
    if size is not None:
        raise InvalidInputError(f"{name} has the shape {matrix.shape} and {size}; leave empty rows and columns out")
    if not duplicates:
        _check_no_duplicates(matrix, name)


def dense_array(matrix: Any, name: str = "matrix") -> NDArray[Any]:
    """A sparse array or matrix as an array; entries at one place are added up, and a sum of floats is rounded once."""
    full: NDArray[Any] = without_duplicates(matrix, name, rounded=True).toarray()
    return full


def without_duplicates(matrix: Any, name: str = "matrix", *, rounded: bool = False) -> Any:
    """A sparse array or matrix with the sum in the place of several entries; itself where it has none.

    `rounded`: whether the sum of floats may be the float next to it.
    """
    check_sparse(matrix, name)
    if matrix.format in ("dia", "dok") or (matrix.format in ("csr", "csc") and not _has_duplicates(matrix)):
        return matrix
    by_place = sparse.coo_array(matrix)
    row, column, entry = by_place.row, by_place.col, by_place.data
    if entry.dtype.kind not in "iuf":  # truth values, and Python's objects, which are added as they are
        by_place = by_place.copy()
        by_place.sum_duplicates()
        return by_place.asformat(matrix.format)
    order = np.lexsort((column, row))
    row, column, entry = row[order], column[order], entry[order]
    is_first = np.ones(len(entry), dtype=bool)
    is_first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    start = np.flatnonzero(is_first)
    if len(start) == len(entry):
        return matrix
    end = np.append(start[1:], len(entry))
    sums = entry[start].astype(np.int64 if entry.dtype.kind in "iu" and entry.dtype != np.uint64 else entry.dtype)
    for k in np.flatnonzero(end - start > 1):
        total = _sum(entry[start[k] : end[k]], sums.dtype, rounded=rounded)
        if total is None:
            raise InvalidInputError(
                f"{name} has several entries in row {row[start[k]]}, column {column[start[k]]}, and {sums.dtype} does not hold "
                "their sum; give each place one"
            )
        sums[k] = total
    return sparse.coo_array((sums, (row[start], column[start])), shape=matrix.shape).asformat(matrix.format)


def _sum(entries: NDArray[Any], dtype: np.dtype[Any], *, rounded: bool) -> Any:
    """The sum of some entries in a type of numbers; None where it does not hold it."""
    if dtype.kind != "f":
        whole = sum(entries.tolist())
        return whole if np.iinfo(dtype).min <= whole <= np.iinfo(dtype).max else None
    if rounded or not np.isfinite(entries).all():
        return entries.sum(dtype=np.float64)
    exact = sum(map(Fraction, entries.tolist()), Fraction(0))
    number = dtype.type(float(exact)) if abs(exact) <= Fraction(float(np.finfo(dtype).max)) else dtype.type(np.inf)
    return number if np.isfinite(number) and Fraction(float(number)) == exact else None


def _has_duplicates(matrix: Any) -> bool:
    """Whether a compressed matrix has several entries at one place; scipy's own flag does not see changes."""
    line, index = _by_line(matrix)
    ascends = (index[1:] > index[:-1])[np.diff(line) == 0].all()
    return not ascends and _second_entry(line, index) is not None


def _by_line(matrix: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The line and the index in it of every entry of a compressed matrix."""
    line = np.repeat(np.arange(len(matrix.indptr) - 1), np.diff(matrix.indptr))
    return line, matrix.indices[: len(line)]


def _second_entry(row: NDArray[Any], column: NDArray[Any]) -> int | None:
    """An entry at the place of another; None without one."""
    order = np.lexsort((column, row))
    again = (np.diff(row[order]) == 0) & (np.diff(column[order]) == 0)
    return int(order[int(np.argmax(again)) + 1]) if again.any() else None


def _wrong_pointers(matrix: Any) -> str | None:
    """What is wrong with the pointers and indices of a compressed matrix."""
    pointer, index, data = matrix.indptr, matrix.indices, matrix.data
    height, width = data.shape[1:] if matrix.format == "bsr" and data.ndim == 3 else (1, 1)
    if matrix.format == "bsr" and (data.ndim != 3 or 0 in (height, width) or matrix.shape[0] % height or matrix.shape[1] % width):
        return f"blocks of shape {data.shape[1:]} do not fill the shape {matrix.shape}"
    lines, across = matrix.shape[0] // height, matrix.shape[1] // width
    if matrix.format == "csc":
        lines, across = across, lines
    if pointer.ndim != 1 or pointer.dtype.kind not in "iu" or len(pointer) != lines + 1:
        return f"it has pointers of shape {pointer.shape} and type {pointer.dtype}, not {lines + 1} whole numbers"
    if pointer[0] != 0 or pointer[-1] > len(data) or (pointer[1:] < pointer[:-1]).any():
        k = 0 if pointer[0] != 0 else int(np.argmax(pointer[1:] < pointer[:-1])) + 1
        k = k if pointer[0] != 0 or (pointer[1:] < pointer[:-1]).any() else lines
        return f"pointer {k} is {pointer[k]}; they must ascend from 0 to at most the number of entries, {len(data)}"
    return _wrong_numbers("index", index, across, len(data))


def _wrong_numbers(what: str, numbers: NDArray[Any], end: int, entries: int) -> str | None:
    """What is wrong with the row, column or index numbers of the entries."""
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu" or len(numbers) != entries:
        return f"it has {what} numbers of shape {numbers.shape} and type {numbers.dtype} for {entries} entries"
    outside = (numbers < 0) | (numbers >= end)
    if outside.any():
        k = int(np.argmax(outside))
        return f"entry {k} has the {what} number {numbers[k]}, which is not among 0 to {end - 1}"
    return None


def _wrong_diagonals(matrix: Any) -> str | None:
    """What is wrong with the offsets of diagonals."""
    offsets = matrix.offsets
    if offsets.ndim != 1 or offsets.dtype.kind not in "iu" or matrix.data.ndim != 2 or len(offsets) != len(matrix.data):
        return f"it has offsets of shape {offsets.shape} and type {offsets.dtype} for diagonals of shape {matrix.data.shape}"
    if len(np.unique(offsets)) < len(offsets):
        return "it has two diagonals of one offset"
    outside = (offsets <= -matrix.shape[0]) | (offsets >= matrix.shape[1])
    return f"the diagonal with offset {offsets[outside][0]} lies outside of the shape {matrix.shape}" if outside.any() else None


def _check_no_duplicates(matrix: Any, name: str) -> None:
    """Refuse two entries at one place of a matrix that is sound otherwise; each diagonal has its own."""
    if matrix.format == "dia":
        return
    row, column = (matrix.row, matrix.col) if matrix.format == "coo" else _by_line(matrix)
    second = _second_entry(row, column)
    if second is not None:
        place = (int(row[second]), int(column[second]))[:: -1 if matrix.format == "csc" else 1]
        raise InvalidInputError(f"{name} has two entries in row {place[0]}, column {place[1]}; give each place one")
