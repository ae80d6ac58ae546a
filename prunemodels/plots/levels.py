"""All optimal prunings in one picture: every split in the colour of its level.

A split is kept for lambda below its level, and levels never rise from parent to child. So the trees at some lambda consist of the
splits whose colours are darker than that of lambda.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, LogNorm
from matplotlib.figure import Figure

from formulations.answers.pruning_path import NEVER, PruningPath
from formulations.arguments import checked
from prunemodels.plots.drawing import DRAWING
from prunemodels.plots.picture import BLACK, LAMBDA, colour_scale, styled
from prunemodels.plots.tree_layout import Drawing, Look, draw_on
from prunemodels.plots.trees import CUT, FAINT

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
