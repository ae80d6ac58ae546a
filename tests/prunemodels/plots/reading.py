"""What a reader sees of a picture: which texts cover each other, which leave it, and which lie on arrows; as drawn, in pixels."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator

from matplotlib.backends.backend_agg import FigureCanvasAgg, RendererAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Bbox

TOUCH = 1.0
"""Pixels by which two texts may overlap: their boxes are a little larger than the letters."""


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
