"""A real path and what else pictures are drawn of; what a reader sees: texts that cover each other or lie on arrows."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator
from functools import cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.answers.limited_solution import LimitedSolution
from formulations.instance.papers import two_trees
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.evaluation.path import PathEvaluation
from solvers.within import best_breakpoint

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
HELD_OUT = X[350:], Y[350:]


@cache
def forest() -> RandomForestClassifier:
    """Five small trees."""
    return RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:200], Y[:200])


@cache
def path(price: float = 1) -> pm.PruningPath:
    """The optimal path of the forest, every feature at one price."""
    return pm.pruning_path(pm.problem_from_forest(forest(), X[200:350], costs=price))


@cache
def solution() -> LimitedSolution:
    """Of a budget inside the longest hull edge."""
    k = int(np.argmax(-np.diff(path().cost)))
    return best_breakpoint(path().problem, float(0.7 * path().cost[k] + 0.3 * path().cost[k + 1]), path=path())


def evaluation() -> PathEvaluation:
    """Three rows of the papers' trees on two examples."""
    return pm.evaluate_path(pm.pruning_path(two_trees()), [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [0, 0])


def curve(method: str, cost: list[float], error: list[float]) -> TradeoffCurve:
    """A curve of so many steps on 100 examples."""
    return TradeoffCurve(method, "step", np.arange(len(cost), dtype=float), np.array(cost), np.array(error), 100)


ONE, TWO = curve("one", [3, 1, 2], [0.1, 0.5, 0.6]), curve("two", [4, 0], [0.2, 0.4])


def boxes(ax: Axes) -> dict[str, tuple[str, str, str]]:
    """Edge, inside and text colour of each box, by its text."""
    found = {}
    for text in ax.texts:
        box = text.get_bbox_patch()
        if box is None:
            continue
        found[text.get_text()] = (to_hex(box.get_edgecolor()), to_hex(box.get_facecolor()), to_hex(text.get_color()))
    return found


TOUCH = 1.0  # pixels by which two texts may overlap: their boxes are a little larger than the letters


def overlaps(figure: Figure) -> list[tuple[str, str]]:
    """Pairs of texts, with the boxes around them, that cover each other."""
    boxes = [(text.get_text(), box) for text, box in visible_texts(figure)]
    return [(a, b) for (a, one), (b, other) in itertools.combinations(boxes, 2) if _shrunk(one).overlaps(_shrunk(other))]


def outside(figure: Figure) -> list[str]:
    """Texts that the edge of the picture cuts."""
    whole = figure.bbox
    return [
        text.get_text()
        for text, box in visible_texts(figure)
        if not (box.x0 >= -TOUCH and box.y0 >= -TOUCH and box.x1 <= whole.x1 + TOUCH and box.y1 <= whole.y1 + TOUCH)
    ]


def covered(figure: Figure, texts: Iterable[Text], margin: float = 0.0) -> list[str]:
    """Texts that lie on an arrow; `margin` pixels at the edge of a text do not count, where arrows begin and end."""
    chosen, lines = set(texts), list(arrow_lines(figure))
    return [
        text.get_text()
        for text, box in visible_texts(figure)
        if text in chosen and any(line.intersects_bbox(_shrunk(box, margin), filled=False) for line in lines)
    ]


def arrow_lines(figure: Figure) -> Iterator[Path]:
    """The lines of all arrows, in pixels, each in one piece."""
    for arrow in figure.findobj(FancyArrowPatch):
        for line in arrow.get_transform().transform_path(arrow.get_path()).to_polygons(closed_only=False):
            yield Path(line)


@functools.lru_cache(maxsize=4)
def visible_texts(figure: Figure) -> list[tuple[Text, Bbox]]:
    """All texts that are drawn, legends and ticks among them, and the room that each takes; drawn once for each figure."""
    renderer = drawn(figure)
    found, hidden = [], _hidden(figure)
    for text in figure.findobj(Text):
        if not text.get_text().strip() or not text.get_visible() or text in hidden:
            continue
        box = (text.get_bbox_patch() or text).get_window_extent(renderer)
        if box.width > 0 and box.height > 0:
            found.append((text, box))
    return found


def drawn(figure: Figure) -> RendererAgg:
    """The renderer, after drawing."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw(renderer)
    return renderer


def _hidden(figure: Figure) -> set[Text]:
    """Texts of axes that are not drawn: those of hidden axes, and ticks beyond the limits, which an axis keeps."""
    found = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            shown = {label for tick in axis._update_ticks() if ax.axison for label in (tick.label1, tick.label2)}
            ticks = {label for tick in (*axis.majorTicks, *axis.minorTicks) for label in (tick.label1, tick.label2)}
            found |= ticks - shown
            if not ax.axison:
                found |= {axis.label, axis.get_offset_text()}
    return found


def _shrunk(box: Bbox, margin: float = TOUCH / 2) -> Bbox:
    return Bbox.from_extents(box.x0 + margin, box.y0 + margin, box.x1 - margin, box.y1 - margin)
