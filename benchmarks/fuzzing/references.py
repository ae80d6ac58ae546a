"""Independent, strict readings of files of matrices, and total unimodularity by all determinants.

They share no code with the package and use neither scipy nor HiGHS; networkx finds paths. A reading is a list of rows of
fractions; `RefusedError` says that the bytes are no file of the format, so that no claim may be made about them.
"""

from __future__ import annotations

import ast
import io
import re
import zipfile
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import networkx as nx
import numpy as np

Matrix = list[list[Fraction]]
LARGEST = 10_000  # rows and columns of a matrix that is read; larger ones are `UndecidedError`


class RefusedError(Exception):
    """The bytes are no sound file of this format."""


class UndecidedError(Exception):
    """Sound or not: this reference cannot tell."""


def _refuse(wrong: object, why: str) -> None:
    if wrong:
        raise RefusedError(why)


def _undecided(strange: object, why: str) -> None:
    if strange:
        raise UndecidedError(why)


def totally_unimodular(matrix: Matrix) -> bool:
    """Whether every square submatrix has determinant -1, 0 or 1."""
    rows, columns = len(matrix), len(matrix[0])
    _undecided(min(rows, columns) > 5 or max(rows, columns) > 8, "too large for all determinants")
    for k in range(1, min(rows, columns) + 1):
        for some in combinations(range(rows), k):
            for others in combinations(range(columns), k):
                if _determinant([[matrix[i][j] for j in others] for i in some]) not in (-1, 0, 1):
                    return False
    return True


def _determinant(a: Matrix) -> Fraction:
    """By expansion along the first row."""
    minors = (_determinant([row[:j] + row[j + 1 :] for row in a[1:]]) if x else 0 for j, x in enumerate(a[0])) if a else ()
    return sum(((-1) ** j * a[0][j] * minor for j, minor in enumerate(minors)), Fraction(0)) if a else Fraction(1)


def number(text: str) -> Fraction:
    """A decimal number, finite, as text."""
    _refuse(not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", text), f"{text!r} is no number")
    _refuse(not np.isfinite(float(text)), f"{text!r} is no float")
    return Fraction(text)


def npy(content: bytes) -> np.ndarray[Any, Any]:
    _refuse(content[:8] not in (b"\x93NUMPY\x01\x00", b"\x93NUMPY\x02\x00"), "magic")
    width = 2 if content[6] == 1 else 4
    length = int.from_bytes(content[8 : 8 + width], "little")
    text = content[8 + width : 8 + width + length]
    try:
        held = ast.literal_eval(text.decode("latin1").strip())
        dtype = np.dtype(held["descr"])
        shape, fortran = held["shape"], held["fortran_order"]
    except Exception:
        raise RefusedError("header") from None
    _refuse(len(text) != length or set(held) != {"descr", "shape", "fortran_order"} or not isinstance(shape, tuple), "header")
    _refuse(any(not isinstance(n, int) or n < 0 for n in shape) or not isinstance(fortran, bool) or dtype.hasobject, "header")
    data = content[8 + width + length :]
    size = dtype.itemsize
    for n in shape:
        size *= n
    _refuse(size != len(data) or not dtype.itemsize, "length")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if fortran else "C")


def dense(content: bytes) -> Matrix:
    held = npy(content)
    if held.ndim != 2 or held.dtype.kind not in "biuf" or 0 in held.shape or not np.isfinite(held.astype(float)).all():
        raise RefusedError("no matrix")
    return [[Fraction(repr(float(x))) if held.dtype.kind == "f" else Fraction(int(x)) for x in row] for row in held.tolist()]


def sparse(content: bytes) -> Matrix:
    """The matrix in a .npz file of scipy.sparse, followed by hand."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = {name.removesuffix(".npy"): npy(archive.read(name)) for name in archive.namelist()}
    except RefusedError:
        raise
    except Exception:
        raise RefusedError("archive") from None
    kind = parts["format"].item() if "format" in parts and parts["format"].ndim == 0 else None
    kind = kind.decode("latin1") if isinstance(kind, bytes) else kind
    if "shape" not in parts or "data" not in parts or parts["shape"].shape != (2,) or parts["shape"].dtype.kind not in "iu":
        raise RefusedError("shape or data")
    data = parts["data"]
    _refuse(data.dtype.kind not in "biuf" or not np.isfinite(data.astype(float)).all(), "entries")
    m, n = (int(x) for x in parts["shape"])
    _refuse(min(m, n) < 1, "shape")
    _undecided(max(m, n) > LARGEST, "large")
    found: dict[tuple[int, int], Fraction] = {}
    for i, j, entry in _places(kind, parts, data, m, n):
        _refuse(not (0 <= i < m and 0 <= j < n) or (i, j) in found, f"entry at {i}, {j}")
        found[i, j] = Fraction(repr(float(entry))) if data.dtype.kind == "f" else Fraction(int(entry))
    return [[found.get((i, j), Fraction(0)) for j in range(n)] for i in range(m)]


def _places(kind: Any, parts: dict[str, Any], data: Any, m: int, n: int) -> list[tuple[int, int, Any]]:
    """Row, column and value of each entry."""
    needed = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col"), "dia": ("offsets",)}
    _undecided(kind not in needed, f"format {kind}")
    arrays = []
    for name in needed[kind]:
        _refuse(name not in parts or parts[name].ndim != 1 or parts[name].dtype.kind not in "iu", name)
        arrays.append([int(x) for x in parts[name]])
    if kind == "dia":
        _refuse(data.ndim != 2 or len(data) != len(arrays[0]) or len(set(arrays[0])) < len(arrays[0]), "diagonals")
        _refuse(any(not -m < k < n for k in arrays[0]), "offset")
        return [
            (j - k, j, x)
            for k, row in zip(arrays[0], data.tolist(), strict=True)
            for j, x in enumerate(row)
            if 0 <= j - k < m and j < n
        ]
    _refuse(data.ndim != 1, "data")
    if kind == "coo":
        _refuse(not len(arrays[0]) == len(arrays[1]) == len(data), "lengths")
        return list(zip(*arrays, data.tolist(), strict=True))
    index, pointer = arrays
    lines = m if kind == "csr" else n
    _refuse(len(pointer) != lines + 1 or pointer[0] != 0 or pointer[-1] != len(index) or len(index) != len(data), "pointers")
    _refuse(any(a > b for a, b in pairwise(pointer)), "pointers")
    found = [(k, index[p], data[p]) for k in range(lines) for p in range(pointer[k], pointer[k + 1])]
    return found if kind == "csr" else [(i, k, x) for k, i, x in found]


def market(content: bytes) -> Matrix:
    """The matrix in a Matrix Market file, general and real or integer."""
    rows = content.decode("latin1").split("\n")
    banner = rows[0].lower().split()
    _refuse(banner[:2] != ["%%matrixmarket", "matrix"] or len(banner) != 5, "banner")
    if banner[2] not in ("coordinate", "array") or banner[3] not in ("real", "integer", "double") or banner[4] != "general":
        raise UndecidedError("kind")
    body = [line.split() for line in rows[1:] if line.strip() and not line.startswith("%")]
    try:
        sizes = [int(x) for x in body[0]]
        _refuse(any(not re.fullmatch(r"\d+", x) for x in body[0]), "size")
        _refuse(len(sizes) != (3 if banner[2] == "coordinate" else 2) or min(sizes[:2]) < 1, "size")
        _undecided(max(sizes) > LARGEST, "large")
        matrix = [[Fraction(0)] * sizes[1] for _ in range(sizes[0])]
        if banner[2] == "array":
            values = [number(x) for line in body[1:] for x in line]
            _refuse(len(values) != sizes[0] * sizes[1] or any(len(line) != 1 for line in body[1:]), "count")
            for k, value in enumerate(values):
                matrix[k % sizes[0]][k // sizes[0]] = value
            return matrix
        places = set()
        for i, j, x in body[1:]:
            _refuse(not (re.fullmatch(r"\d+", i) and re.fullmatch(r"\d+", j)), "index")
            place = int(i) - 1, int(j) - 1
            _refuse(not (0 <= place[0] < sizes[0] and 0 <= place[1] < sizes[1]) or place in places, "index")
            places.add(place)
            matrix[place[0]][place[1]] = number(x)
    except (ValueError, IndexError):
        raise RefusedError("body") from None
    _refuse(len(places) != sizes[2], "count")
    return matrix


def _ascii(content: bytes) -> str:
    try:
        return content.decode("ascii")
    except UnicodeDecodeError:
        raise RefusedError("text") from None


def commas(content: bytes) -> Matrix:
    """Numbers between commas; before them may stand a line and a column of names, without any number or with an empty corner."""
    text = _ascii(content)
    lines = [[cell.strip() for cell in line.split(",")] for line in re.split(r"\r\n|\n|\r", text) if line.strip()]
    _refuse(not lines or len({len(line) for line in lines}) != 1, "lines")
    corner = lines[0][0] == ""
    names = corner or not any(map(_is_number, lines[0]))
    column = corner or (names and not any(_is_number(line[0]) for line in lines[1:]))
    _refuse(names and len({*lines[0][column:]}) < len(lines[0][column:]), "names")
    _refuse(not lines[names:], "no numbers")
    return [[number(cell) for cell in line[column:]] for line in lines[names:]]


def _is_number(cell: str) -> bool:
    try:
        number(cell)
    except RefusedError:
        return False
    return True


def _program_text(content: bytes) -> str:
    text = _ascii(content)
    _refuse(re.search(r"[\x00-\x08\x0e-\x1f\x7f]", text), "control characters")
    return text


_LP_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_!\"#$%&(),;?@'`{}~][A-Za-z0-9_!\"#$%&(),.;?@'`{}~]*)"
    r"|(?P<sense><=|>=|=<|=>|<|>|=)|(?P<sign>[+-])|(?P<colon>:))"
)
"""The parts of an .lp file; a number may stand beside a name without a blank."""

Token = tuple[str, str]  # kind and text of a part


def lp(content: bytes) -> Matrix:
    """The rows of an .lp file with the sections of `formulations.programs.files.write_program`; columns as they appear.

    As the format has it, a row may lack its label, a term its number, the first term its sign, and the file its bounds and
    integers.
    """
    text = re.sub(r"\\.*", "", _program_text(content))
    parts = re.fullmatch(r"(?is)\s*minimize\s(.*?)\ssubject to\s(.*?)(?:\sbounds(\s.*?)?)?(?:\sgeneral(\s.*?)?)?\send\s*", text)
    if parts is None:
        raise RefusedError("sections")
    columns: dict[str, int] = {}
    _, rest = _lp_terms(_lp_tokens(parts[1]), columns, constants=True)
    if rest:
        raise RefusedError(f"objective, at {rest[0][1]!r}")
    rows: list[dict[int, Fraction]] = []
    tokens = _lp_tokens(parts[2])
    while tokens:
        row, tokens = _lp_terms(tokens, columns, constants=False)
        kinds = [kind for kind, _ in tokens[:3]]
        end = 3 if kinds[1:2] == ["sign"] else 2
        _refuse(kinds[:1] != ["sense"] or kinds[end - 1 : end] != ["number"], f"row {len(rows)}")
        number("".join(text for _, text in tokens[1:end]))
        tokens = tokens[end:]
        _undecided(tokens and tokens[0][0] == "sense", "two sides")
        rows.append(row)
    known = set(columns)
    for line in (parts[3] or "").split("\n"):
        _undecided(line.strip() and (len(line.split()) != 5 or line.split()[2] not in known), "bounds")
    _undecided(set((parts[4] or "").split()) - known, "general")
    return [[row.get(j, Fraction(0)) for j in range(len(columns))] for row in rows]


def _lp_tokens(text: str) -> list[Token]:
    found, place = [], 0
    while text[place:].strip():
        token = _LP_TOKEN.match(text, place)
        if token is None:
            raise RefusedError(f"character {text[place:].strip()[0]!r}")
        found.append((str(token.lastgroup), token[str(token.lastgroup)]))
        place = token.end()
    for (kind, one), (other, after) in pairwise(found):
        if (kind, other) == ("number", "name") and re.match(r"[eExX.]", after) and one + after in text:
            raise UndecidedError("an exponent, or a name")
        _undecided(re.match(r"(?i)inf|nan", after), "infinite, or a name")
    return found


def _lp_terms(tokens: list[Token], columns: dict[str, int], *, constants: bool) -> tuple[dict[int, Fraction], list[Token]]:
    """``label: + 2.0 x - y`` as coefficients by column, and what follows; there may be no label."""
    found: dict[int, Fraction] = {}
    if [kind for kind, _ in tokens[:2]] == ["name", "colon"]:
        tokens = tokens[2:]
    is_first = True
    while tokens and tokens[0][0] != "sense":
        sign = "+"
        if tokens[0][0] == "sign":
            sign, tokens = tokens[0][1], tokens[1:]
        elif not is_first:
            raise RefusedError(f"no sign in front of {tokens[0][1]!r}")
        value = Fraction(1)
        has_number = bool(tokens) and tokens[0][0] == "number"
        if has_number:
            value, tokens = number(tokens[0][1]), tokens[1:]
        is_first = False
        if not tokens or tokens[0][0] != "name":
            if not (has_number and (constants or (not found and value == 0))):  # 0 alone is a row without entries
                raise RefusedError("term")
            continue
        place = columns.setdefault(tokens[0][1], len(columns))
        if place in found:
            raise UndecidedError("twice in the objective") if constants else RefusedError("twice")
        found[place], tokens = value if sign == "+" else -value, tokens[1:]
    _refuse(is_first and not constants, "no term")
    return found, tokens


def mps(content: bytes) -> Matrix:
    """The rows of a free .mps file in the form of `formulations.programs.files.write_program`."""
    text = _program_text(content)
    section, rows, columns = "", {}, {}
    found: dict[tuple[int, int], Fraction] = {}
    free: set[str] = set()
    for line in text.split("\n"):
        fields = line.split()
        if not fields or line.startswith("*"):
            continue
        _refuse(section == "ENDATA", "after the end")
        if not line.startswith((" ", "\t")):
            section = fields[0].upper()
            _undecided(section == "OBJSENSE", "sense")
            _refuse(section not in ("NAME", "ROWS", "COLUMNS", "RHS", "BOUNDS", "RANGES", "ENDATA"), section)
        elif section == "ROWS":
            _refuse(len(fields) != 2 or fields[0] not in ("N", "E", "L", "G") or fields[1] in rows or fields[1] in free, "row")
            if fields[0] == "N":
                _undecided(free, "two objectives")
                free.add(fields[1])
            else:
                rows[fields[1]] = len(rows)
        elif section == "COLUMNS":
            if "'MARKER'" in fields:
                _undecided(len(fields) != 3 or fields[2] not in ("'INTORG'", "'INTEND'"), "marker")
                continue
            _refuse(len(fields) not in (3, 5), "column")
            _refuse(fields[0] in columns and list(columns)[-1] != fields[0], "column again")
            j = columns.setdefault(fields[0], len(columns))
            for name, value in zip(fields[1::2], fields[2::2], strict=True):
                if name in free:
                    number(value)
                    continue
                _refuse(name not in rows or (rows[name], j) in found, "entry")
                found[rows[name], j] = number(value)
        elif section not in ("RHS", "BOUNDS", "RANGES"):
            raise UndecidedError("line")
    _refuse(section != "ENDATA" or not rows or not columns, "end")
    return [[found.get((i, j), Fraction(0)) for j in range(len(columns))] for i in range(len(rows))]


def network_holds(matrix: Matrix, arcs: list[tuple[int, int]], paths: list[tuple[int, int]]) -> bool:
    """Whether the arcs are a tree, and every column of the matrix is the path between its two vertices; by walking it."""
    vertices = range(len(arcs) + 1)
    if (
        len(arcs) != len(matrix)
        or len(paths) != len(matrix[0])
        or not {v for pair in (*arcs, *paths) for v in pair} <= {*vertices}
    ):
        return False
    tree = nx.MultiGraph(arcs)
    tree.add_nodes_from(vertices)
    if not nx.is_tree(tree):
        return False
    row = {arc: (k, 1) for k, arc in enumerate(arcs)} | {(head, tail): (k, -1) for k, (tail, head) in enumerate(arcs)}
    walks = [dict(row[step] for step in pairwise(nx.shortest_path(tree, start, end))) for start, end in paths]
    return all(matrix[k][j] == walk.get(k, 0) for j, walk in enumerate(walks) for k in range(len(arcs)))
