"""Matrices in the formats of other programs, and network certificates."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import io, sparse

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.memory import too_large
from formulations.sparse_arrays import BYTES_OF_ENTRY, BYTES_OF_LINE, check_sparse
from formulations.stored_arrays import read_array, read_arrays
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from prunemodels.files import MATRIX_ENDINGS as MATRIX_ENDINGS

ARRAYS = ("tail", "head", "start", "end", "transposed")
"""The arrays in the file of a network certificate, see `NetworkMatrix`."""


def load_matrix(file: str | Path) -> SignMatrix:
    """Read a matrix for a check of total unimodularity.

    NumPy's .npy, scipy.sparse's .npz, Matrix Market's .mtx, numbers between commas (.csv, with names or without), or the rows
    of a linear program (.mps, .lp) with its names.
    """
    place = Path(file)
    if place.suffix not in MATRIX_ENDINGS:
        raise InvalidInputError(f"{place} has the ending {place.suffix!r}; give a matrix as {', '.join(MATRIX_ENDINGS)}")
    if not os.path.isfile(place):  # False also for names that no file can have
        raise BrokenFileError(f"there is no file {place}; give the path of a matrix")
    try:
        matrix = _READERS[place.suffix](place)
        if sparse.issparse(matrix):
            check_sparse(matrix, "it", duplicates=False)
        read = read_matrix(matrix)
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error}") from error
    if 0 in read.shape:
        raise BrokenFileError(f"{place} holds a matrix with {read.shape[0]} rows and {read.shape[1]} columns: nothing to check")
    return read


def _read_npz(place: Path) -> Any:
    """A sparse matrix as `scipy.sparse.save_npz` writes it."""
    arrays = read_arrays(place, ("format", "shape", "data"))
    kind = arrays["format"].item() if arrays["format"].ndim == 0 else None
    kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else kind
    shape, data = arrays["shape"], arrays["data"]
    if kind not in _PARTS or shape.shape != (2,) or shape.dtype.kind not in "iu" or (shape < 0).any():
        raise BrokenFileError(f"{place} has the format {kind!r} and the shape {shape.tolist()}; save it again with scipy.sparse")
    missing = [name for name in _PARTS[kind] if name not in arrays]
    if missing:
        raise BrokenFileError(f"{place} lacks the array {missing[0]!r} of a matrix in the format {kind!r}; save it again")
    rows, columns = (int(length) for length in shape)
    size = too_large(BYTES_OF_LINE * (rows + columns))
    if size is not None:
        raise BrokenFileError(f"{place} has {rows:,} rows and {columns:,} columns, and {size}")
    parts = tuple(arrays[name] for name in _PARTS[kind])
    for name, part in zip(_PARTS[kind], parts, strict=True):
        if part.dtype.kind not in "iu":  # scipy would cut fractions off
            raise BrokenFileError(f"{place}: {name} holds numbers of type {part.dtype}, not whole ones; save it again")
    if kind in ("csr", "csc", "bsr") and parts[1].size and parts[1].flat[-1] != parts[0].size:
        raise BrokenFileError(f"{place}: the last pointer is {parts[1].flat[-1]}, of {parts[0].size} entries; save it again")
    if kind == "dia" and (outside := (parts[0] <= -rows) | (parts[0] >= columns)).any():  # scipy would cut bits off
        offset = parts[0][outside][0]
        raise BrokenFileError(f"{place}: the diagonal with offset {offset} lies outside of the shape {(rows, columns)}")
    try:
        body = (data, (parts[0], parts[1])) if kind == "coo" else (data, *parts)
        return getattr(sparse, f"{kind}_array")(body, shape=(rows, columns))
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise BrokenFileError(f"{place} holds arrays that fit no matrix in the format {kind!r} ({error})") from error


_PARTS = {
    "csr": ("indices", "indptr"),
    "csc": ("indices", "indptr"),
    "bsr": ("indices", "indptr"),
    "coo": ("row", "col"),
    "dia": ("offsets",),
}
"""The arrays of each format beside ``data``, in scipy's order."""


def _read_mtx(place: Path) -> Any:
    """A matrix in Matrix Market's format; header and lines are checked first, because scipy passes over what follows a number."""
    try:
        rows, columns, entries, layout, field, symmetry = io.mminfo(place)
        bytes_there = place.stat().st_size
        least = 4 * entries if layout == "coordinate" else 2 * rows * (columns - 1)  # with symmetry, half of the entries
        if least > 2 * bytes_there:
            raise BrokenFileError(f"{place} announces {rows} x {columns} entries and has {bytes_there} bytes; it is damaged")
        size = too_large(BYTES_OF_LINE * (rows + columns) + BYTES_OF_ENTRY * entries)
        if size is not None:
            raise BrokenFileError(f"{place} has {rows:,} rows and {columns:,} columns, and {size}")
        if field == "complex":
            raise BrokenFileError(f"{place} holds complex numbers; give real ones")
        wrong = _wrong_mtx(place.read_bytes().decode("utf-8"), layout, field, -1 if symmetry != "general" else entries)
        if wrong is not None:
            raise BrokenFileError(f"{place} is damaged: {wrong}")
        return io.mmread(place, spmatrix=False)
    except BrokenFileError:
        raise
    except Exception as error:  # scipy's readers raise different types
        raise BrokenFileError(f"{place} cannot be read as a matrix ({type(error).__name__}: {error})") from error


def _wrong_mtx(text: str, layout: str, field: str, entries: int) -> str | None:
    """The first line of a Matrix Market file that is no entry, or a wrong number of entries; `entries` -1: not counted."""
    body = re.sub(r"^%.*\n?", "", text, flags=re.MULTILINE).strip().partition("\n")[2]
    number = {"pattern": "", "integer": r"[+-]?[0-9]+"}.get(field, r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
    words = ([r"[0-9]+", r"[0-9]+"] if layout == "coordinate" else []) + ([number] if number else [])
    line = r"[ \t]*" + r"[ \t]+".join(words) + r"[ \t\r]*(?:\n|\Z)"
    found = re.compile(rf"(?:{line}|[ \t\r]*\n)*+").match(body)
    end = found.end() if found else 0
    if body[end:].strip():
        return f"{body[end:].strip().partition(chr(10))[0][:40]!r} is no entry of the kind that its header announces"
    there = sum(1 for row in body.split("\n") if row.strip())
    return f"it has {there:,} entries, its header announces {entries:,}" if entries not in (-1, there) else None


def _read_csv(place: Path) -> SignMatrix:
    """Numbers between commas, semicolons or tabs; with names, as ``DataFrame.to_csv`` writes them, or without.

    The first line has names if its first cell is empty, or none of its cells is a number; the first column has names if its own
    name is empty, or, below names, none of its cells is a number. Where numbers and text are mixed, one of them is a mistake:
    taken for a name it would take a row or a column of numbers with it.
    """
    from prunemodels.files.csv_tables import text_of

    try:
        rows = [row for row in _csv_rows(text_of(place)) if row]
        if not rows:
            raise ValueError("it has no data")
        labelled = rows[0][0] == ""
        columns, body = (rows[0], rows[1:]) if labelled or _are_names(rows[0], "line") else (None, rows)
        named = labelled or (columns is not None and _are_names([row[0] for row in body], "column"))
        names = [row[0] for row in body] if named else None
        columns = columns[1:] if columns is not None and named else columns
        if columns is not None and len({*columns}) < len(columns):
            raise ValueError("two columns have one name")
        matrix = [[_float(cell) for cell in row[named:]] for row in body]
        lengths = {len(row) for row in matrix} | (set() if columns is None else {len(columns)})
        if len(lengths) > 1:
            raise ValueError(f"its lines have {min(lengths)} to {max(lengths)} entries; give as many in each")
    except (OSError, ValueError) as error:
        raise BrokenFileError(f"{place} cannot be read as a matrix ({type(error).__name__}: {error})") from error
    width = len(columns) if columns is not None else len(matrix[0])
    return read_matrix(np.array(matrix, dtype=np.float64).reshape(len(matrix), width), names, columns)


def _are_names(cells: list[str], kind: str) -> bool:
    """Whether the cells of the first line or column are names: all of them or none."""
    from prunemodels.files.csv_tables import is_number

    text = [cell for cell in cells if not is_number(cell)]
    if text and len(text) < len(cells):
        number = next(cell for cell in cells if is_number(cell))
        raise ValueError(
            f"its first {kind} has numbers ({number}) and text ({text[0][:40]!r}); give numbers only or names only, "
            "or leave the corner empty where names are numbers"
        )
    return bool(text)


def _csv_rows(text: str) -> list[list[str]]:
    """The cells of a text, between semicolons or tabs if all lines have as many, else what the first line has most of."""
    lines = text.splitlines()
    even = [mark for mark in ";\t" if lines and len({line.count(mark) for line in lines if line} - {0}) == 1 and mark in lines[0]]
    mark = even[0] if even else max(",;\t", key=lines[0].count) if lines else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=mark)]
    return rows if mark == "," else _with_points(rows)


def _with_points(rows: list[list[str]]) -> list[list[str]]:
    """The cells with numbers in Python's spelling; all of them have one decimal mark, see `prunemodels.number_columns`."""
    from prunemodels.written_numbers import written

    read = {cell: written(cell) for row in rows for cell in row}
    marks = {mark for number in read.values() if number is not None for mark in number.marks}
    for cell, number in read.items():
        if number is not None and (len(marks) > 1 or (number.is_open and not marks)):
            other = "other numbers have the other mark" if marks else f"it is {number.text('point')} or {number.text('comma')}"
            raise ValueError(
                f"in {cell} the decimal mark is not certain: {other}; write decimal points, and commas between fields"
            )
    mark: Literal["point", "comma"] = next(iter(marks), "point")
    return [[cell if (number := read[cell]) is None else number.text(mark) or cell for cell in row] for row in rows]


def _float(cell: str) -> float:
    """The number of a cell, which must not become 0 by being too small for a float."""
    number = float(cell)
    if number == 0.0 and re.search("[1-9]", cell.lower().split("e")[0]):
        raise ValueError(f"{cell} is a number so small that no float holds it")
    return number


def _read_program(place: Path) -> Any:
    from formulations.programs.program_text import read_program

    return read_program(place)


_READERS: dict[str, Callable[[Path], Any]] = {
    ".npy": read_array,
    ".npz": _read_npz,
    ".mtx": _read_mtx,
    ".csv": _read_csv,
    ".mps": _read_program,
    ".lp": _read_program,
}


def save_network(network: NetworkMatrix, path: Path) -> None:
    """Write a certificate as its five arrays."""
    np.savez_compressed(path, **{name: np.asarray(getattr(network, name)) for name in ARRAYS})  # type: ignore[arg-type]


def load_network(file: str | Path) -> NetworkMatrix:
    """Read a certificate as `save_network` writes it; `check_network_matrix` decides whether it is right."""
    place = Path(file)
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}; give the path of a certificate")
    try:
        arrays = read_arrays(place, ARRAYS)
    except BrokenFileError as error:
        raise BrokenFileError(f"{place} does not hold a tree with paths: {error}") from error
    for name in ARRAYS[:4]:
        if arrays[name].ndim != 1 or arrays[name].dtype.kind not in "iu":
            raise BrokenFileError(f"{place}: {name} is not a list of whole numbers")
    if arrays["transposed"].shape != () or arrays["transposed"].dtype.kind != "b":
        raise BrokenFileError(f"{place}: transposed is not true or false")
    tail, head, start, end = (arrays[name].astype(np.int64) for name in ARRAYS[:4])
    return NetworkMatrix(tail, head, start, end, bool(arrays["transposed"]))
