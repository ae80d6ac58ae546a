"""A chart with a column for every stage where examples stop: their share, and below it the items that they have bought."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prunemodels.evaluation.item_costs import item_label
from prunemodels.evaluation.wording import share
from prunemodels.exits.stops import Stops
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.chart import picture
from prunemodels.report_page.markup import Html, tag

MOST_ITEMS = 24
"""The largest number of items in the chart."""

LONGEST_NAME = 15
"""The largest number of characters of an item's name in the chart."""

LISTED = 8
"""The largest number of items that the description names for a stage."""

STEPS = 20
"""The number of shades of a cell."""

LEFT, WIDTH, LINE = 120, 276, 18
"""The left end of the columns, the largest width of all of them, and the height of a line, in pixels."""


def staircase_chart(facts: CascadeFacts, seen: OnRows) -> Html:
    """The chart with its caption."""
    stops = seen.stops
    n_bought = int(stops.bought.any(axis=1).sum())
    items = stops.staircase(MOST_ITEMS) if n_bought else np.zeros(0, dtype=np.int64)
    step = min(64.0, WIDTH / stops.used.size)
    parts, top = _bars(stops, step)
    for k, m in enumerate(items.tolist()):
        y, item = top + LINE * k, item_label(stops.items.names[m])
        shown = item if len(item) <= LONGEST_NAME else item[: LONGEST_NAME - 1] + "\u2026"
        parts.append(tag("text", tag("title", item), shown, x=LEFT - 8, y=y + 13, class_="end"))
        parts.append(tag("rect", x=LEFT, y=y, width=f"{step * stops.used.size:.1f}", height=LINE - 1, class_="empty"))
    parts += _cells(stops, items, step, top)
    description = f"{'; '.join(_steps(stops))}."
    title = "Share of the examples that stop at each stage" + (", and what they have bought by then" if items.size else "")
    svg = picture(400, top + LINE * items.size + 2, title, description, *parts, id_="staircase-chart")
    heading = "By the chosen policy" + (", and what was bought by then" if items.size else "")
    caption = f"Columns are the stages where examples stop, each with its share on top. {_of_items(facts, items.size, n_bought)}"
    return tag("figure", tag("h3", heading), svg, tag("figcaption", caption))


def _of_items(facts: CascadeFacts, shown: int, bought: int) -> str:
    if facts.purchases is None:
        return "The stages do not say what they read."
    if not shown:
        return "Nothing that has a price was bought."
    some = f" {shown} of {bought:,} items are shown, those that most examples bought." if shown < bought else ""
    return f"A cell is full where all of them have bought the item by then.{some}"


def _cells(stops: Stops, items: NDArray[np.int64], step: float, top: int) -> list[Html]:
    """Cells that are the darker the more of the stage's examples have bought the item; one SVG path for each shade."""
    shade = np.ceil(STEPS * stops.bought_by_then()[:, items] - 1e-9).astype(int)
    paths = []
    for level in range(1, STEPS + 1):
        places = [(LEFT + step * c + 0.5, top + LINE * k) for c, k in np.argwhere(shade == level).tolist()]
        edges = "".join(f"M{x:.1f} {y}h{step - 1:.1f}v{LINE - 1}h{1 - step:.1f}z" for x, y in places)
        if edges:
            paths.append(tag("path", d=edges, class_="now-bar", fill_opacity=f"{level / STEPS:.2f}"))
    return paths


def _bars(stops: Stops, step: float) -> tuple[list[object], int]:
    """The shares as bars above the numbers of the stages; and the vertical position where they end."""
    part = stops.share()
    most, label_every = float(part.max()), max(1, int(np.ceil(22 / step)))
    parts: list[object] = [tag("text", "stop there, %", x=LEFT - 8, y=72, class_="quiet end")]
    parts.append(tag("text", "stage", x=LEFT - 8, y=90, class_="quiet end"))
    for c, (s, p) in enumerate(zip(stops.used.tolist(), part.tolist(), strict=True)):
        x, high = LEFT + step * c, max(1.0, 56 * p / most)
        place = {"x": f"{x + 0.5:.1f}", "y": f"{76 - high:.1f}", "width": f"{step - 1:.1f}", "height": f"{high:.1f}"}
        parts.append(tag("rect", tag("title", f"stage {s}: {share(p)} stop"), class_="now-bar", **place))
        if step >= 22:
            percent = f"{100 * p:.{0 if p >= 0.0995 else 1}f}"
            parts.append(tag("text", percent, x=f"{x + step / 2:.1f}", y=f"{72 - high:.1f}", class_="mid"))
        if c % label_every == 0:
            parts.append(tag("text", str(s), x=f"{x + step / 2:.1f}", y=90, class_="quiet mid"))
    return parts, 98


def _steps(stops: Stops) -> list[str]:
    """For every stage where examples stop: their share, and the new items that more than half of them have bought."""
    named: set[str] = set()
    texts = []
    for s, part, row in zip(stops.used.tolist(), stops.share().tolist(), stops.bought_by_then(), strict=True):
        new = [
            item_label(stops.items.names[m]) for m in np.flatnonzero(row > 0.5) if item_label(stops.items.names[m]) not in named
        ]
        named.update(new)
        listed = ", ".join(new[:LISTED]) + (f" and {len(new) - LISTED} more" if len(new) > LISTED else "")
        texts.append(f"stage {s}: {share(part)} stop" + (f", by then most have also bought {listed}" if new else ""))
    return texts
