"""A small chart in SVG: scales, ticks, axes. Texts are SVG text elements, and colours come from classes of the style sheet."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from prunemodels.report_page.markup import Html, join, tag

Point = tuple[float, float]


@dataclass(frozen=True)
class Chart:
    """Axes from (`x_least`, 0) to (`x_most`, `y_most`) on a picture of `width` by `height`."""

    x_most: float
    y_most: float
    width: int = 400
    height: int = 280
    left: int = 46
    right: int = 14
    top: int = 26
    bottom: int = 40
    x_least: float = 0.0

    def x(self, value: float) -> float:
        """Horizontal position of a value, in pixels."""
        return self.left + (self.width - self.left - self.right) * (value - self.x_least) / (self.x_most - self.x_least or 1.0)

    def y(self, value: float) -> float:
        """Vertical position of a value, in pixels."""
        return self.height - self.bottom - (self.height - self.top - self.bottom) * value / (self.y_most or 1.0)

    def axes(
        self,
        x_label: str,
        y_label: str,
        y_text: Callable[[float], str],
        *,
        x_text: Callable[[float], str] = "{:g}".format,
        shift: float = 0.0,
    ) -> Html:
        """Grid, ticks and labels. The vertical axis is named above it; `shift` moves the horizontal ticks, in their unit."""
        parts = []
        for value in ticks(self.y_most):
            height = f"{self.y(value):.1f}"
            parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=height, y2=height, class_="grid"))
            parts.append(tag("text", y_text(value), x=self.left - 6, y=f"{self.y(value) + 4:.1f}", class_="quiet end"))
        base = self.height - self.bottom
        labels = [(f"{self.x(value + shift):.1f}", x_text(value)) for value in ticks(self.x_most - shift, least=self.x_least)]
        parts += [tag("text", text, x=x, y=base + 16, class_="quiet mid") for x, text in labels]
        parts.append(tag("line", x1=self.left, x2=self.width - self.right, y1=base, y2=base, class_="axis"))
        parts.append(tag("text", x_label, x=self.width - self.right, y=self.height - 6, class_="quiet end"))
        parts.append(tag("text", y_label, x=2, y=13, class_="quiet"))
        return join(*parts)

    def line(self, points: Sequence[Point], class_: str) -> Html:
        """A polyline; points less than half a pixel from the last one are left out."""
        return tag("path", d=self._steps(points), class_=class_)

    def band(self, lower: Sequence[Point], upper: Sequence[Point]) -> Html:
        """The area between the two ends of intervals."""
        return self.area(lower, upper, class_="band")

    def area(self, lower: Sequence[Point], upper: Sequence[Point], *children: object, **attributes: object) -> Html:
        """The area between two lines."""
        edge = self._steps(lower) + "L" + self._steps(list(upper)[::-1])[1:] + "Z"
        return tag("path", *children, d=edge, **attributes)

    def _steps(self, points: Sequence[Point]) -> str:
        drawn: list[Point] = []
        for k, (x, y) in enumerate(points):
            position = (self.x(x), self.y(y))
            if not drawn or k == len(points) - 1 or math.dist(position, drawn[-1]) >= 0.5:
                drawn.append(position)
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in drawn)

    def clipped(self, *parts: object) -> Html:
        """Parts that may extend beyond the axes; what is outside is hidden."""
        width, height = self.width - self.left - self.right, self.height - self.top - self.bottom
        box = f"{self.left - 4} {self.top} {width + 8} {height + 4}"
        place = dict(zip(("x", "y", "width", "height"), box.split(), strict=True))
        return tag("svg", *parts, viewBox=box, class_="plot", **place)

    def svg(self, title: str, description: str, *parts: object, id_: str) -> Html:
        """The picture, with a title and a description for readers who cannot see it."""
        return picture(self.width, self.height, title, description, *parts, id_=id_)


def picture(width: int, height: int, title: str, description: str, *parts: object, id_: str, class_: str | None = None) -> Html:
    """An SVG image with a title and a description."""
    return tag(
        "svg",
        tag("title", title, id=f"{id_}-title"),
        tag("desc", description, id=f"{id_}-desc"),
        *parts,
        viewBox=f"0 0 {width} {height}",
        role="img",
        aria_labelledby=f"{id_}-title {id_}-desc",
        class_=class_,
    )


def ticks(most: float, wanted: int = 5, *, least: float = 0.0) -> list[float]:
    """Round numbers from `least` >= 0 to at most `most`: multiples of 1, 2, 2.5 or 5 times a power of ten."""
    if not most > least or not math.isfinite(most):
        return [least]
    raw = (most - least) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= raw * (1 - 1e-9))
    return [round(k * step, 12) for k in range(math.ceil(least / step * (1 - 1e-9)), int(most / step * (1 + 1e-9)) + 1)]


def left_end(values: Sequence[float]) -> float:
    """Where a horizontal axis begins: at 0, or close to the least value if the values would fill less than half of the axis."""
    least, most = min(values), max(values)
    return 0.0 if least <= most / 2 else max(0.0, least - 0.08 * (most - least))


def marker(kind: str, x: float, y: float, hint: str | None = None) -> Html:
    """A point. Kinds differ in shape, not in colour alone.

    Parameters
    ----------
    kind
        ``"dot"``, ``"unpruned"`` (diamond), ``"chosen"`` (ring) or ``"relaxed"`` (open triangle).
    hint
        text that is shown when the pointer rests on the point.
    """
    title = None if hint is None else tag("title", hint)
    if kind == "unpruned":
        d = f"M{x:.1f} {y - 6:.1f}l6 6l-6 6l-6-6Z"
        return tag("path", title, d=d, class_=kind) if title else tag("path", d=d, class_=kind)
    if kind == "relaxed":
        d = f"M{x:.1f} {y - 4:.1f}l4 7h-8Z"
        return tag("path", title, d=d, class_=kind) if title else tag("path", d=d, class_=kind)
    parts = () if title is None else (title,)
    return tag("circle", *parts, cx=f"{x:.1f}", cy=f"{y:.1f}", r=7 if kind == "chosen" else 3, class_=kind)


def legend(entries: Sequence[tuple[Html, str]]) -> Html:
    """A legend: each entry has a small picture of its mark, 28 by 16, and a text."""
    return tag(
        "ul",
        *(tag("li", tag("svg", mark, viewBox="0 0 28 16", aria_hidden="true"), tag("span", text)) for mark, text in entries),
        class_="legend",
    )
