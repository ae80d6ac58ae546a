"""Trees as pictures: prunings, paths of examples, and fractional points of a relaxation.

Small trees are drawn with the names, features and thresholds of their nodes, larger ones with dots, so that the shape and the
colours can be read. Examples whose feature is at most the threshold go left. Trees and nodes count from 0; ``first=1`` counts
both from 1.

A path's prunings are one picture, with every split in the colour of its level. A split is kept for lambda below its level, and
levels never rise from parent to child. So the trees at some lambda consist of the splits whose colours are darker than that of
lambda.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm, to_rgb
from matplotlib.figure import Figure
from numpy.typing import ArrayLike, NDArray

from formulations.answers.pruning_path import NEVER, PruningPath
from formulations.arguments import Natural, check_argument, checked
from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.problem import PruningProblem
from prunemodels.plots.picture import BLACK, BLUE, DRAWING, LAMBDA, SMALL, VERMILION, colour_scale, literal, styled, text_size
from prunemodels.plots.tree_layout import Drawing, Look, draw_on

FAINT = "0.8"
CUT = "0.6"


@checked
@styled
def plot_trees(
    problem: PruningProblem,
    *,
    trees: Sequence[int] | None = None,
    kept: ArrayLike | None = None,
    row: Natural | None = None,
    notes: Mapping[int, object] | None = None,
    first: int = 0,
    named: bool | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw trees, a pruning of them, and the path of one example.

    Parameters
    ----------
    trees
        the trees to draw, side by side; default: all, or the first that a page has room for, which the title says.
    kept
        bool, shape (n,): the splits that a pruning keeps. They are black, the pruned trees' leaves blue, pruned nodes grey.
    row
        an example of the cost sample: its path through the pruned trees is vermilion.
    notes
        a further line in the boxes of some nodes, by node, counted from 0: an error, a gain.
    first
        number of the first node, and of the first tree.
    named
        whether to draw boxes with names; default: if there are few nodes.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        for a tree, a row or a node that does not exist, for what is no pruning of this forest, and more nodes than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> figure = pm.plots.plot_trees(problem, trees=[0], kept=path.at_lam(0.01).kept)
    """
    state = _states(problem.ensemble, kept)
    unknown = [] if notes is None else [h for h in notes if not 0 <= h < problem.ensemble.n_nodes]
    if unknown:
        raise InvalidInputError(f"notes has node {unknown[0]}; the forest has the nodes 0 to {problem.ensemble.n_nodes - 1}")
    reached = np.zeros(problem.ensemble.n_nodes, dtype=bool) if row is None else _way(problem, row)
    drawing = draw_on(problem.ensemble, trees, named=named, first=first, ax=ax)
    nodes = drawing.layout.node.tolist()
    on_way = {h: bool(reached[h]) and state[h] != "cut" for h in nodes}
    colour = {h: FAINT if state[h] == "cut" else VERMILION if on_way[h] else BLACK for h in nodes}
    thick = 2.6 if drawing.named else 2.2
    width = {h: 0.8 if state[h] == "cut" else thick if on_way[h] else 1.4 for h in nodes}
    drawing.edges(colour, width)
    if drawing.named:
        inside = {"split": (BLACK, "white", BLACK), "leaf": (BLUE, BLUE, "white"), "cut": (FAINT, "white", CUT)}
        look = {}
        for h in nodes:
            edge, fill, text = inside[state[h]]
            lines = () if notes is None or h not in notes else (_number(notes[h]),)
            look[h] = Look(VERMILION if on_way[h] else edge, fill, text, lines)
        drawing.boxes(look, first)
        return drawing.figure
    drawing.dots([h for h in nodes if state[h] == "split"], color=BLACK, size=9.0)
    drawing.dots([h for h in nodes if state[h] == "leaf"], color=BLUE, marker="s", size=14.0)
    return drawing.figure


@checked
@styled
def plot_point(
    problem: PruningProblem,
    point: Mapping[str, Any],
    *,
    trees: Sequence[int] | None = None,
    first: int = 0,
    ax: Axes | None = None,
) -> Figure:
    """Draw a point of a formulation on its trees, fractional or not: z in the nodes, darker blue nearer to 1, and w below them.

    Parameters
    ----------
    point
        ``z[h]`` and ``w[m,i]`` by name, as `formulations.models.read_point`, a `Relaxation` or `proofs_checks` return them;
        fractions are written as fractions.
    trees, first, ax
        as in `plot_trees`.

    Raises
    ------
    InvalidInputError
        if the point has no z for a drawn node, and for more nodes than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> relaxation = pm.programs.solve_relaxation(pm.datasets.two_trees(), 0.1, formulation="IP1")
    >>> figure = pm.plots.plot_point(pm.datasets.two_trees(), relaxation.point)
    """
    values = dict(point.items())
    for name, value in values.items():
        if name.startswith(("z[", "w[")):
            check_argument(f"point[{name!r}]", value, float)
    paid = _paid(problem, values)
    if len(paid) > DRAWING.most_purchases:
        raise InvalidInputError(
            f"the picture would have {len(paid):,} purchases, at most {DRAWING.most_purchases} can be read; take fewer examples"
        )
    # z in the nodes
    drawing = draw_on(problem.ensemble, trees, named=True, first=first, ax=ax)
    missing = [h for h in drawing.layout.node.tolist() if f"z[{h}]" not in values]
    if missing:
        raise InvalidInputError(f"point has no z[{missing[0]}]; give one of a formulation in z: IP0, IP1, IP2, IP3 or LP1")
    nodes = drawing.layout.node.tolist()
    drawing.edges(dict.fromkeys(nodes, BLACK), dict.fromkeys(nodes, 1.4))
    look = {}
    for h in nodes:
        z = values[f"z[{h}]"]
        fill, text = _shade(float(z))
        look[h] = Look(BLACK, fill, text, (f"z = {_number(z)}",))
    drawing.boxes(look, first)
    # w below the trees
    (left, right), across = drawing.ax.get_xlim(), drawing.unit[0]
    told = textwrap.fill(f"w: {'; '.join(paid)}" if paid else "", max(20, int((right - left) * across / DRAWING.letter)))
    drawing.ax.set_title(told, y=0, va="top", color=VERMILION, fontsize=SMALL)
    if ax is None:
        drawing.figure.set_figheight(drawing.figure.get_figheight() + text_size(told, SMALL)[1] + 0.2)
    return drawing.figure


def _states(ensemble: Ensemble, kept: ArrayLike | None) -> list[str]:
    """The state of each node after pruning: a split, a leaf, or cut off."""
    keep = ensemble.is_split if kept is None else np.asarray(kept, dtype=bool)
    if keep.shape != (ensemble.n_nodes,):
        raise InvalidInputError(f"kept has shape {keep.shape}; give one bool for each of the forest's {ensemble.n_nodes} nodes")
    above = keep[ensemble.parent] | (ensemble.parent < 0)
    wrong = np.flatnonzero(keep & ~(above & ensemble.is_split))
    if wrong.size:
        why = "whose parent it cuts off" if ensemble.is_split[wrong[0]] else "which is a leaf"
        raise InvalidInputError(f"kept keeps node {wrong[0]}, {why}; give the splits of a pruning, such as Pruning.kept")
    return ["split" if k else "leaf" if a else "cut" for k, a in zip(keep.tolist(), above.tolist(), strict=True)]


def _way(problem: PruningProblem, row: int) -> NDArray[np.bool_]:
    """The nodes that a row of the cost sample reaches, bool, shape (n,)."""
    routing = problem.usage.routing
    if not 0 <= row < routing.n_rows:
        raise InvalidInputError(f"row is {row}; the cost sample has the rows 0 to {routing.n_rows - 1}")
    place = np.array([int(np.flatnonzero(order == row)[0]) for order in routing.order])[problem.ensemble.tree_of]
    reached: NDArray[np.bool_] = (routing.start <= place) & (place < routing.stop)
    return reached


def _paid(problem: PruningProblem, values: Mapping[str, Any]) -> list[str]:
    """The purchases of a point with their w, ordered by example, items paid once at the end."""
    found = []
    for name, w in values.items():
        if not name.startswith("w["):
            continue
        item, _, example = name[2:-1].partition(",")
        known = item.isdecimal() and int(item) < problem.costs.n_items
        if not known or not (example == "all" or (example.isdecimal() and int(example) < problem.usage.n_rows)):
            raise InvalidInputError(
                f"point has {name}; the problem has the items 0 to {problem.costs.n_items - 1} "
                f"and the examples 0 to {problem.usage.n_rows - 1}: give a point of this problem"
            )
        label = problem.costs.names[int(item)]
        label = f"feature {label}" if label.isdecimal() else label
        who = "" if problem.usage.n_rows == 1 else "all: " if example == "all" else f"example {example}: "
        place = (example == "all", 0 if example == "all" else int(example), int(item))
        found.append((place, f"{who}{literal(label)} = {_number(w)}"))
    return [text for _, text in sorted(found)]


def _shade(value: float) -> tuple[Any, str]:
    """White at 0, blue at 1, and a text colour that can be read on it."""
    share = min(max(value, 0.0), 1.0)
    blue = np.array(to_rgb(BLUE))
    return tuple((1 - share + share * blue).tolist()), "white" if share > 0.6 else BLACK


def _number(value: object) -> str:
    """A number as text: a fraction as such, a float with three digits, anything else unchanged."""
    if isinstance(value, Fraction):
        return str(value)
    return f"{value + 0.0:.3g}" if isinstance(value, float | np.floating) else str(value)  # no -0


NEVER_KEPT = "0.75"

COLOURS = ListedColormap(mpl.colormaps["viridis_r"](np.linspace(0.08, 0.95, 256)), name="levels").with_extremes(
    bad=NEVER_KEPT, over=BLACK
)
"""Viridis without its ends: safe for the common colour blindnesses, no line too light for white paper, and none black."""


@checked
@styled
def plot_levels(
    path: PruningPath,
    *,
    trees: Sequence[int] | None = None,
    first: int = 0,
    named: bool | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw trees with every split in the colour of its level, the darker the longer it is kept.

    Parameters
    ----------
    path
        from `pruning_path`.
    trees
        which ones; default: all, or the first that a page has room for, which the title says.
    first
        number of the first node, and of the first tree.
    named
        whether to draw boxes with names and the levels as fractions; default: if there are few nodes.
    ax
        axes to draw on; default: a picture of its own.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`. Grey splits are kept at no lambda above 0; black ones are free,
        and kept at any lambda.

    Raises
    ------
    InvalidInputError
        for a tree that does not exist, and more nodes than can be read.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> figure = pm.plots.plot_levels(path, trees=[0, 1])
    """
    ensemble = path.problem.ensemble
    drawing = draw_on(ensemble, trees, named=named, first=first, ax=ax)
    nodes = drawing.layout.node.tolist()
    splits = [h for h in nodes if ensemble.is_split[h]]
    levels = {h: _level(path, h) for h in splits}
    finite = [x for x in levels.values() if 0 < x < math.inf]
    least, most = min(finite, default=1.0), max(finite, default=1.0)
    norm = LogNorm(least if least < most else most / 10, most)
    shade = {h: COLOURS(float(np.ma.filled(norm(min(x, 10 * most)), math.nan))) for h, x in levels.items()}
    parent = ensemble.parent
    # a line starts at a split, so it has the colour of that split
    line = {h: shade.get(int(parent[h]), BLACK) for h in nodes}
    drawing.edges(line, {h: 1.6 if levels.get(int(parent[h]), 1) > 0 else 0.7 for h in nodes})
    if drawing.named:
        _boxes(drawing, path, shade, first)
        return drawing.figure
    drawing.dots(splits, size=14, color=[shade[h] for h in splits])
    if least < most:
        if ax is None:
            drawing.figure.set_figheight(drawing.figure.get_figheight() + DRAWING.scale)
        ticks = {x: f"{x:.2g}" for x in np.geomspace(least, most, 5).tolist()}
        never = ", grey: for none" if any(x <= 0 for x in levels.values()) else ""
        always = ", black: for any" if any(math.isinf(x) for x in levels.values()) else ""
        label = f"level: the split is kept for {LAMBDA} below it{never}{always}"
        colour_scale(drawing.figure, ScalarMappable(norm, COLOURS), drawing.ax, ticks, label)
    return drawing.figure


def _boxes(drawing: Drawing, path: PruningPath, shade: Mapping[int, Any], first: int) -> None:
    """Draw the nodes as boxes: splits with their levels as fractions, leaves faint."""
    sign = "<" if path.ties == "smallest" else "≤"
    look = {}
    for h in drawing.layout.node.tolist():
        if h not in shade:
            look[h] = Look(FAINT, "white", CUT)
            continue
        level = int(path.level[h])
        kept = "never kept" if level <= 0 else "always kept" if level >= len(path.breakpoints) else ""
        light = np.dot(mpl.colors.to_rgb(shade[h]), (0.299, 0.587, 0.114)) > 0.55
        look[h] = Look(BLACK, shade[h], BLACK if light else "white", (kept or f"λ {sign} {_short(path.breakpoints[level])}",))
    drawing.boxes(look, first)


def _short(level: Fraction) -> str:
    """A level as a fraction, or as a decimal number if that is shorter than the box."""
    return str(level) if len(str(level)) <= DRAWING.longest_label else f"{float(level):.3g}"


def _level(path: PruningPath, h: int) -> float:
    """The lambda up to which a split is kept; 0 if no lambda above 0 keeps it, infinity if it is free."""
    level = int(path.level[h])
    if level == NEVER:
        return 0.0
    return math.inf if level >= len(path.breakpoints) else float(path.breakpoints[level])
