"""A column for every stage where examples stop: how many, and below which items they have bought by then."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prunemodels.exits.stops import Stops
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.chart import picture
from prunemodels.report_page.markup import Html, tag
from prunemodels.report_page.wording import share

MOST_ITEMS = 24
"""Lines of the picture."""

LONGEST_NAME = 15
"""Letters of an item's name in it."""

LISTED = 8
"""Items that the description names for a stage."""

STEPS = 20
"""Shades of a cell."""

LEFT, WIDTH, LINE = 120, 276, 18
"""Where the columns begin, how wide all of them are at most, and the height of a line."""


def staircase_chart(facts: CascadeFacts, seen: OnRows) -> Html:
    """The picture with its caption."""
    stops = seen.stops
    n_bought = int(stops.bought.any(axis=1).sum())
    items = stops.staircase(MOST_ITEMS) if n_bought else np.zeros(0, dtype=np.int64)
    step = min(64.0, WIDTH / stops.used.size)
    parts, top = _bars(stops, step)
    for k, m in enumerate(items.tolist()):
        y, called = top + LINE * k, stops.items.names[m]
        shown = called if len(called) <= LONGEST_NAME else called[: LONGEST_NAME - 1] + "\u2026"
        parts.append(tag("text", tag("title", called), shown, x=LEFT - 8, y=y + 13, class_="end"))
        parts.append(tag("rect", x=LEFT, y=y, width=f"{step * stops.used.size:.1f}", height=LINE - 1, class_="empty"))
    parts += _cells(stops, items, step, top)
    told = f"{'; '.join(_steps(stops))}."
    title = "Share of the examples that stop at each stage" + (", and what they have bought by then" if items.size else "")
    svg = picture(400, top + LINE * items.size + 2, title, told, *parts, id_="staircase-chart")
    heading = "By the chosen policy" + (", and what was bought by then" if items.size else "")
    caption = f"Columns are the stages where examples stop, each with its share on top. {_of_items(facts, items.size, n_bought)}"
    return tag("figure", tag("h3", heading), svg, tag("figcaption", caption))


def _of_items(facts: CascadeFacts, shown: int, bought: int) -> str:
    if facts.purchases is None:
        return "The stages do not say what they read."
    if not shown:
        return "Nothing that has a price was bought."
    some = f" {shown} of {bought:,} items, those that most have bought." if shown < bought else ""
    return f"In a full cell all of them have bought the item by then.{some}"


def _cells(stops: Stops, items: NDArray[np.int64], step: float, top: int) -> list[Html]:
    """The darker, the more of the examples that stop there have bought the item; one path for each shade."""
    shade = np.ceil(STEPS * stops.bought_by_then()[:, items] - 1e-9).astype(int)
    paths = []
    for level in range(1, STEPS + 1):
        places = [(LEFT + step * c + 0.5, top + LINE * k) for c, k in np.argwhere(shade == level).tolist()]
        edges = "".join(f"M{x:.1f} {y}h{step - 1:.1f}v{LINE - 1}h{1 - step:.1f}z" for x, y in places)
        if edges:
            paths.append(tag("path", d=edges, class_="now-bar", fill_opacity=f"{level / STEPS:.2f}"))
    return paths


def _bars(stops: Stops, step: float) -> tuple[list[object], int]:
    """Shares as bars over the stages' numbers; where they end."""
    part = stops.share()
    most, every = float(part.max()), max(1, int(np.ceil(22 / step)))
    parts: list[object] = [tag("text", "stop there, %", x=LEFT - 8, y=72, class_="quiet end")]
    parts.append(tag("text", "stage", x=LEFT - 8, y=90, class_="quiet end"))
    for c, (s, p) in enumerate(zip(stops.used.tolist(), part.tolist(), strict=True)):
        x, high = LEFT + step * c, max(1.0, 56 * p / most)
        place = {"x": f"{x + 0.5:.1f}", "y": f"{76 - high:.1f}", "width": f"{step - 1:.1f}", "height": f"{high:.1f}"}
        parts.append(tag("rect", tag("title", f"stage {s}: {share(p)} stop"), class_="now-bar", **place))
        if step >= 22:
            percent = f"{100 * p:.{0 if p >= 0.0995 else 1}f}"
            parts.append(tag("text", percent, x=f"{x + step / 2:.1f}", y=f"{72 - high:.1f}", class_="mid"))
        if c % every == 0:
            parts.append(tag("text", str(s), x=f"{x + step / 2:.1f}", y=90, class_="quiet mid"))
    return parts, 98


def _steps(stops: Stops) -> list[str]:
    """Of every such stage: how many stop, and what more than half of them have bought that those before had not."""
    had: set[str] = set()
    told = []
    for s, part, row in zip(stops.used.tolist(), stops.share().tolist(), stops.bought_by_then(), strict=True):
        new = [stops.items.names[m] for m in np.flatnonzero(row > 0.5) if stops.items.names[m] not in had]
        had.update(new)
        listed = ", ".join(new[:LISTED]) + (f" and {len(new) - LISTED} more" if len(new) > LISTED else "")
        told.append(f"stage {s}: {share(part)} stop" + (f", by then most have also bought {listed}" if new else ""))
    return told
