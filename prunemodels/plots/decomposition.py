"""A totally unimodular matrix with its rows and columns in the order of its decomposition, and a frame around each piece.

1 is blue, -1 vermilion, 0 empty, as in `prunemodels.plots.matrices`. Between the two sides of a sum, the entries are products of
a column and a row. Where a 3-sum begins with a pivot, they are shown as they were before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity.explanation import LEFT_OUT, Leaf, leaves_of
from proofs_checks.total_unimodularity.pieces import Pieces
from proofs_checks.verdict import Verdict
from prunemodels.plots.matrices import MOST_LINES, MOST_NUMBERS
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
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
    if max(given.shape) > MOST_LINES:
        m, n = given.shape
        raise InvalidInputError(f"the matrix has {m:,} rows and {n:,} columns; a picture shows at most {MOST_LINES} of each")
    leaves = _leaves(given, verdict)
    order = [np.concatenate([getattr(leaf, kind) for leaf in leaves]).astype(np.int64) for kind in ("rows", "columns")]
    if any(not np.array_equal(np.sort(lines), np.arange(k)) for lines, k in zip(order, given.shape, strict=True)):
        raise InvalidInputError("the verdict's certificate is not one of this matrix; give the verdict on this matrix")
    m, n = given.shape
    few = max(m, n) <= MOST_NUMBERS
    names = [[literal(str(lines[k])) for k in places] for lines, places in zip((given.rows, given.columns), order, strict=True)]
    longest = max((text_size(name, SMALL)[0] for name in (*names[0], *names[1])), default=0.0) if few else 0.0
    ax = axes_for(ax, (max(5.2, min(7.0, 0.25 * n + 1.5) + longest), max(2.4, min(7.0, 0.25 * m + 1.5) + longest)))
    cells = given.dense()[np.ix_(*order)]
    ax.imshow(cells, cmap=ListedColormap([VERMILION, "white", BLUE]), vmin=-1, vmax=1, interpolation="none")
    ax.tick_params(length=0, labelsize=SMALL)
    ax.set(xlabel="columns, in the order of the pieces", ylabel="rows, in the order of the pieces")
    ax.set_yticks(range(m) if few else [], names[0] if few else [])
    ax.set_xticks(range(n) if few else [], names[1] if few else [], rotation=90)
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
