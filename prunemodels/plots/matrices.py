"""Matrices of -1, 0 and 1 as pictures, also in the order of a decomposition that proves one totally unimodular.

1 is blue, -1 vermilion, 0 empty. A decomposition has a frame around each piece. Between the two sides of a sum, the entries are
products of a column and a row. Where a 3-sum begins with a pivot, they are shown as they were before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity.explanation import LEFT_OUT, Leaf, leaves_of
from proofs_checks.total_unimodularity.pieces import Pieces
from proofs_checks.verdict import Verdict
from prunemodels.plots.picture import (
    AXIS,
    BLACK,
    BLUE,
    DRAWING,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SMALL,
    VERMILION,
    axes_for,
    figure_of,
    literal,
    styled,
    text_size,
)

VIOLATION = "determinant other than -1, 0, 1"

_LOOK: dict[str, tuple[str, Any]] = {
    "network matrix": (GREEN, "-"),
    "transposed network matrix": (PURPLE, "--"),
    "R10": (ORANGE, ":"),
    LEFT_OUT: (GREY, (0, (1, 1))),
    VIOLATION: (BLACK, "-"),
}
"""Colour and dash of the frames."""


_NAME = re.compile(r"(?P<kind>z|y|w|w_t)\[(?P<key>[^\]]+)\]")
_SYMBOL = {"z": "z", "y": "y", "w": "w", "w_t": "w^t"}


def math_name(name: str) -> str:
    """``w_t[2,1,0]`` as a formula; names that are not of our variables stay unchanged."""
    found = _NAME.fullmatch(name)
    if found is None:
        return literal(name)
    key = found["key"].replace("all", r"\mathrm{all}").replace(",", "{,}")
    return f"${_SYMBOL[found['kind']]}_{{{key}}}$"


@checked
@styled
def plot_matrix(
    matrix: Any,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a matrix of -1, 0 and 1.

    Parameters
    ----------
    matrix
        see `proofs_checks.read_matrix`: arrays, linear programs, Pyomo models.
    rows, columns
        names; default: those of the program. Names of variables become formulas.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for an entry that is none of -1, 0, 1, and a matrix larger than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> figure = pm.plots.plot_matrix([[1, 0, -1], [0, 1, 1]])
    """
    given = read_matrix(matrix, rows, columns)
    _check_entries(given)
    if not min(given.shape):
        raise InvalidInputError(f"matrix has {given.shape[0]} rows and {given.shape[1]} columns; give at least one of each")
    # cells that hold a name, or as many as fit
    (m, n), small = given.shape, _is_small(given)
    names = [math_name(name) for name in given.columns]
    if small:
        cell = max(0.36, *(text_size(name, SMALL)[0] + 0.12 for name in names))
        size = (max(2.4, cell * n + 1.3), 0.3 * m + 0.6)
    else:
        size = (7.0, min(9.0, max(2.0, 7.0 * m / n)))
    ax = axes_for(ax, size)
    dense = given.dense()
    _shade(ax, dense, [math_name(name) for name in given.rows], names, aspect="auto")
    # entries and grid lines, where they can be read
    ax.xaxis.tick_top()
    if not small:
        ax.set(xlabel=f"{n:,} columns", ylabel=f"{m:,} rows")
        return figure_of(ax)
    for i, j in np.argwhere(dense).tolist():
        ax.text(j, i, f"{dense[i, j]:d}".replace("-", "−"), ha="center", va="center", fontsize=SMALL, color="white")
    for axis, lines in ((ax.xaxis, n), (ax.yaxis, m)):
        axis.set_ticks(np.arange(0.5, lines - 1), minor=True)
    ax.grid(which="minor", color="0.85", lw=0.8)
    ax.tick_params(which="minor", length=0)
    ax.spines[:].set_color(AXIS)
    return figure_of(ax)


def _check_entries(matrix: SignMatrix) -> None:
    if matrix.other is not None:
        i, j, value = matrix.other
        where = f"row {matrix.rows[i]}, column {matrix.columns[j]}"
        raise InvalidInputError(f"the entry in {where} is {value}; only -1, 0 and 1 are drawn")


def _is_small(matrix: SignMatrix) -> bool:
    """Whether there is room for names; refuses what is larger than a picture."""
    if max(matrix.shape) > DRAWING.most_lines:
        raise InvalidInputError(
            f"the picture would have {matrix.shape[0]:,} rows and {matrix.shape[1]:,} columns, "
            f"at most {DRAWING.most_lines} of each; draw the matrix of fewer trees or examples"
        )
    return max(matrix.shape) <= DRAWING.most_numbers


def _shade(
    ax: Axes, cells: NDArray[Any], rows: Sequence[str], columns: Sequence[str], aspect: Literal["equal", "auto"] = "equal"
) -> None:
    """The entries in colours, with the names of the lines if there is room."""
    ax.imshow(cells, cmap=ListedColormap([VERMILION, "white", BLUE]), vmin=-1, vmax=1, aspect=aspect, interpolation="none")
    ax.tick_params(length=0, labelsize=SMALL)
    few = max(cells.shape) <= DRAWING.most_numbers
    for axis, names in ((ax.xaxis, columns), (ax.yaxis, rows)):
        axis.set_ticks(range(len(names)) if few else [], names if few else [])


@checked
@styled
def plot_decomposition(matrix: Any, verdict: Verdict, *, ax: Axes | None = None) -> Figure:
    """Draw how total unimodularity was decided.

    Parameters
    ----------
    matrix
        see `proofs_checks.read_matrix`: arrays, linear programs, Pyomo models.
    verdict
        what `check_total_unimodularity` answered for it: a network, a decomposition, or a violating submatrix, which stands
        in the upper left corner.
    ax
        axes to draw on; default: a picture of its own.

    Raises
    ------
    InvalidInputError
        if there are more rows or columns than can be seen, or the certificate is of another kind, or of another matrix.

    Examples
    --------
    >>> import prunemodels as pm
    >>> triangle = [[1, 1, 0], [0, 1, 1], [0, 0, 1]]
    >>> figure = pm.plots.plot_decomposition(triangle, pm.checks.check_total_unimodularity(triangle))
    >>> len(figure.axes)
    1
    """
    given = read_matrix(matrix)
    (m, n), few = given.shape, _is_small(given)
    leaves = _leaves(given, verdict)
    order = [np.concatenate([getattr(leaf, kind) for leaf in leaves]).astype(np.int64) for kind in ("rows", "columns")]
    if any(not np.array_equal(np.sort(lines), np.arange(k)) for lines, k in zip(order, given.shape, strict=True)):
        raise InvalidInputError("the verdict's certificate is not one of this matrix; give the verdict on this matrix")
    names = [[literal(str(lines[k])) for k in places] for lines, places in zip((given.rows, given.columns), order, strict=True)]
    longest = max((text_size(name, SMALL)[0] for name in (*names[0], *names[1])), default=0.0) if few else 0.0
    ax = axes_for(ax, (max(5.2, min(7.0, 0.25 * n + 1.5) + longest), max(2.4, min(7.0, 0.25 * m + 1.5) + longest)))
    _shade(ax, given.dense()[np.ix_(*order)], names[0], names[1])
    ax.set(xlabel="columns, in the order of the pieces", ylabel="rows, in the order of the pieces")
    ax.tick_params(axis="x", labelrotation=90)
    _frames(ax, leaves)
    return figure_of(ax)


def _leaves(matrix: SignMatrix, verdict: Verdict) -> list[Leaf]:
    """What gets a frame, in the order of the picture."""
    certificate = verdict.certificate
    rows, columns = np.arange(matrix.shape[0]), np.arange(matrix.shape[1])
    if isinstance(certificate, Pieces):
        return leaves_of(certificate, matrix.shape)
    if isinstance(certificate, NetworkMatrix):
        return [Leaf("transposed network matrix" if certificate.transposed else "network matrix", rows, columns, 0)]
    if isinstance(certificate, ViolatingSubmatrix):
        first = np.array(certificate.rows), np.array(certificate.columns)
        return [Leaf(VIOLATION, *first, 0), Leaf("", np.setdiff1d(rows, first[0]), np.setdiff1d(columns, first[1]), 0)]
    raise InvalidInputError(
        f"the verdict's certificate is {certificate}; give a network, a decomposition or a violating submatrix"
    )


def _frames(ax: Axes, leaves: list[Leaf]) -> None:
    """A frame around each leaf, and what its colour means."""
    row = column = 0
    for leaf in leaves:
        height, width = len(leaf.rows), len(leaf.columns)
        if leaf.kind:
            colour, dash = _LOOK[leaf.kind]
            place, size = (column - 0.5, row - 0.5), (max(width, 0.2), max(height, 0.2))
            ax.add_patch(Rectangle(place, *size, fill=False, edgecolor=colour, linestyle=dash, linewidth=1.8, clip_on=False))
        row, column = row + height, column + width
    kinds = [kind for kind in _LOOK if kind in {leaf.kind for leaf in leaves}]
    handles = [Patch(fill=False, edgecolor=_LOOK[k][0], linestyle=_LOOK[k][1], linewidth=1.8, label=k) for k in kinds]
    ax.legend(handles=handles, loc="lower left", bbox_to_anchor=(0.0, 1.01), ncols=2, borderaxespad=0.0, borderpad=0.3)
