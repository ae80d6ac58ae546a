"""Constraint matrices as pictures, and the tree that proves one totally unimodular.

1 is blue, -1 vermilion, 0 empty. A network matrix is drawn as a directed tree whose arcs are the matrix's rows, and as paths in
it, which are the columns. If the transpose is the network matrix, rows and columns change places.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from prunemodels.plots.picture import (
    AXIS,
    BLACK,
    BLUE,
    GREEN,
    PURPLE,
    SMALL,
    VERMILION,
    axes_for,
    figure_of,
    literal,
    styled,
    text_size,
)

MOST_LINES = 400
"""Largest number of rows or columns of a matrix in one picture."""

MOST_NUMBERS = 30
"""With at most this many rows and columns, entries are written as numbers and lines have their names."""

STEP, LEVEL = 0.78, 0.95
"""Inches between two vertices side by side, and between two levels."""

MOST_ARCS = 80
"""Largest number of arcs of a tree in one picture."""

PATHS = (VERMILION, BLUE, GREEN, PURPLE)
"""Colours of paths, of Okabe and Ito's palette."""

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
    if max(given.shape) > MOST_LINES:
        raise InvalidInputError(
            f"the picture would have {given.shape[0]:,} rows and {given.shape[1]:,} columns, at most {MOST_LINES} of each; "
            "draw the matrix of fewer trees or examples"
        )
    m, n = given.shape
    small = max(m, n) <= MOST_NUMBERS
    names = [math_name(name) for name in given.columns]
    if small:
        cell = max(0.36, *(text_size(name, SMALL)[0] + 0.12 for name in names))
        size = (max(2.4, cell * n + 1.3), 0.3 * m + 0.6)
    else:
        size = (7.0, min(9.0, max(2.0, 7.0 * m / n)))
    ax = axes_for(ax, size)
    dense = given.dense()
    ax.imshow(dense, cmap=ListedColormap([VERMILION, "white", BLUE]), vmin=-1, vmax=1, aspect="auto", interpolation="none")
    ax.tick_params(length=0, labelsize=SMALL)
    ax.xaxis.tick_top()
    if not small:
        ax.set_xlabel(f"{n:,} columns")
        ax.set_ylabel(f"{m:,} rows")
        ax.set_xticks([])
        ax.set_yticks([])
        return figure_of(ax)
    ax.set_xticks(range(n), names)
    ax.set_yticks(range(m), [math_name(name) for name in given.rows])
    for i, j in np.argwhere(dense).tolist():
        ax.text(j, i, f"{dense[i, j]:d}".replace("-", "−"), ha="center", va="center", fontsize=SMALL, color="white")
    ax.set_xticks(np.arange(0.5, n - 1), minor=True)
    ax.set_yticks(np.arange(0.5, m - 1), minor=True)
    ax.grid(which="minor", color="0.85", lw=0.8)
    ax.tick_params(which="minor", length=0)
    ax.spines[:].set_color(AXIS)
    return figure_of(ax)


@checked
@styled
def plot_certificate(matrix: Any, network: NetworkMatrix, *, paths: Sequence[str] = (), ax: Axes | None = None) -> Figure:
    """Draw the tree of a network matrix, and some of its paths.

    Parameters
    ----------
    matrix
        see `proofs_checks.read_matrix`.
    network
        its certificate, from `proofs_checks.formulation_network` or any other source: it is checked first.
    paths
        names of at most four rows of the matrix (columns, where the matrix itself is the network matrix): their paths are
        coloured bands, along an arc where the entry is 1 and against it where it is -1.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        the hub R, the vertex with most arcs, has single arcs above it and the rest of the tree below.

    Raises
    ------
    InvalidInputError
        for a certificate that is wrong, a path that the matrix does not have, more paths than colours, or more arcs than can be
        read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> problem = two_trees()
    >>> program = pm.programs.solve_relaxation(problem, 0.1).program
    >>> figure = pm.plots.plot_certificate(program, pm.checks.formulation_network(problem, program))
    """
    given = read_matrix(matrix)
    verdict = check_network_matrix(given, network)
    if not verdict:
        raise InvalidInputError(f"network is no certificate of this matrix: {verdict.certificate}")
    if len(network.tail) > MOST_ARCS:
        raise InvalidInputError(f"the picture would have {len(network.tail):,} arcs, at most {MOST_ARCS} can be read")
    lines = given.transposed() if network.transposed else given
    if len(paths) > len(PATHS):
        raise InvalidInputError(f"paths has {len(paths)} names; give at most {len(PATHS)}")
    places = [_line_named(lines, name) for name in paths]
    x, y = _places(network)
    size = (max(3.4, STEP * float(x.max()) + 0.8), LEVEL * float(y.max() - y.min()) + 1.0 + 0.25 * len(paths))
    ax = axes_for(ax, size)
    _arcs(
        ax, network, x, y, [math_name(str(name)) for name in lines.rows], band=(4 + 4 * (len(paths) - 1)) / 144 if paths else 0.0
    )
    body = lines.entries
    for k, (name, j) in enumerate(zip(paths, places, strict=True)):
        entries = slice(body.indptr[j], body.indptr[j + 1])
        arcs, sign = body.indices[entries].tolist(), body.data[entries].tolist()
        pairs = [[(x[v], y[v]) for v in (network.tail[a], network.head[a])] for a in arcs]
        terms = "".join(f" {'+' if s > 0 else '−'} {math_name(str(lines.rows[a]))}" for a, s in zip(arcs, sign, strict=True))
        # the first bands are the widest, so that all bands are visible where paths share an arc
        style: dict[str, Any] = {
            "colors": PATHS[k],
            "lw": 4 + 4 * (len(paths) - 1 - k),
            "capstyle": "round",
            "zorder": 1 + 0.1 * k,
        }
        ax.add_collection(LineCollection(pairs, label=f"{name}: {terms.removeprefix(' + ')}", alpha=0.6, **style))
    ax.set_xlim(-0.6, float(x.max()) + 0.6)
    ax.set_ylim(float(y.min()) - 0.3, float(y.max()) + 0.5)
    ax.axis("off")
    if paths:
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.0), fontsize=SMALL, frameon=False)
    return figure_of(ax)


def _check_entries(matrix: SignMatrix) -> None:
    if matrix.other is not None:
        i, j, value = matrix.other
        where = f"row {matrix.rows[i]}, column {matrix.columns[j]}"
        raise InvalidInputError(f"the entry in {where} is {value}; only -1, 0 and 1 are drawn")


def _line_named(lines: SignMatrix, name: str) -> int:
    """The column of that name."""
    for j, other in enumerate(lines.columns):
        if str(other) == name:
            return j
    raise InvalidInputError(f"there is no path {name!r}; there are {lines.columns[0]}, ..., {lines.columns[-1]}")


def _places(network: NetworkMatrix) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coordinates: the vertex of most arcs is the hub, at height 0; single arcs lead up from it, all else is below."""
    n = network.n_vertices
    near: list[list[int]] = [[] for _ in range(n)]
    for a, b in zip(network.tail.tolist(), network.head.tolist(), strict=True):
        near[a].append(b)
        near[b].append(a)
    hub = max(range(n), key=lambda v: len(near[v]))
    single = [v for v in near[hub] if len(near[v]) == 1]
    order, above, depth = [hub], {hub: -1}, {hub: 0}
    for v in order:
        for w in near[v]:
            if w != above[v] and not (v == hub and len(near[w]) == 1):
                above[w], depth[w] = v, depth[v] + 1
                order.append(w)
    leaves = dict.fromkeys(order, 0)
    for v in reversed(order):
        leaves[v] = max(leaves[v], 1)
        if v != hub:
            leaves[above[v]] += leaves[v]
    x, y, left_end = np.zeros(n), np.ones(n), {hub: 0.0}
    for v in order:
        next_end = left_end[v]
        for w in near[v]:
            if above.get(w) == v:
                left_end[w], next_end = next_end, next_end + leaves[w]
        x[v], y[v] = left_end[v] + (leaves[v] - 1) / 2, -float(depth[v])
    for k, v in enumerate(single):
        x[v] = x[hub] + k - (len(single) - 1) / 2
    return x - x.min(), y


def _arcs(
    ax: Axes, network: NetworkMatrix, x: NDArray[np.float64], y: NDArray[np.float64], names: Sequence[str], *, band: float
) -> None:
    """Vertices, arrows, and the names of the arcs: `band` inches beside the middle, or at the upper end of single arcs."""
    ax.scatter(x, y, s=22, color=BLACK, zorder=3)
    degree = np.bincount(np.concatenate([network.tail, network.head]), minlength=network.n_vertices)
    hub = int(np.argmax(degree))
    style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": SMALL, "zorder": 5}
    text: dict[str, Any] = {"ha": "center", "fontsize": SMALL, "zorder": 4}
    ax.text(float(x[hub]), float(y[hub]), "R", bbox={"boxstyle": "circle,pad=0.25", "fc": "white", "ec": BLACK}, **style)
    for a, b, name in zip(network.tail.tolist(), network.head.tolist(), names, strict=True):
        arrow = FancyArrowPatch((x[a], y[a]), (x[b], y[b]), arrowstyle="-|>", mutation_scale=10, shrinkA=3)
        arrow.set(color="0.35", lw=1.0, zorder=2)
        arrow.shrinkB = 11 if b == hub else 4
        ax.add_patch(arrow)
        away, near = (a, b) if abs(y[a]) > abs(y[b]) else (b, a)
        if y[away] > 0:  # single arcs converge in the hub, but their upper ends stand apart
            ax.text(float(x[away]), float(y[away]) + 0.12, name, va="bottom", **text)
            continue
        # beside the arc on its outer side, in inches: the flatter the arc, the further away
        across, up = STEP * float(x[near] - x[away]), LEVEL * abs(float(y[near] - y[away]))
        slope = abs(across) / up
        aside = text_size(name, SMALL)[0] / 2 + 0.09 * slope + 0.05 + band * math.hypot(1.0, slope)
        middle, outwards = float(x[away] + x[near]) / 2, 1.0 if across <= 0 else -1.0
        ax.text(middle + outwards * aside / STEP, float(y[away] + y[near]) / 2, name, va="center", **text)
