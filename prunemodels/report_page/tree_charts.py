"""Charts of the trees before and after pruning: the number of splits at each depth, and one tree in full."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prunemodels.evaluation.wording import count
from prunemodels.report_page.chart import Chart, legend, picture
from prunemodels.report_page.facts import Facts
from prunemodels.report_page.markup import Html, tag

NARROW = 0.3
"""Nodes narrower than this many units of the picture are not drawn."""

BEFORE = tag("rect", x=2, y=3, width=24, height=10, class_="was-bar")
AFTER = tag("rect", x=2, y=3, width=24, height=10, class_="now-bar")


def depth_chart(facts: Facts) -> Html:
    """Splits of all trees at each depth: outlined before, filled after."""
    before, after = (shape.by_depth for shape in facts.shapes)
    chart = Chart(float(len(before)), 1.05 * max(1.0, float(before.max(initial=0))))
    parts: list[object] = [
        chart.axes("depth, the root at 0", "splits in all trees", _integer_label, x_text=_integer_label, shift=0.5)
    ]
    for d, (was, now) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        hint = f"depth {d}: {was:,} splits before, {now:,} after"
        for number, class_, inset in ((was, "was-bar", 0.08), (now, "now-bar", 0.2)):
            parts.append(_bar(chart, d, number, inset, class_, hint))
    deepest = [shape.deepest for shape in facts.shapes]
    description = f"Before, {before.sum():,} splits, {deepest[0]} levels; after, {after.sum():,} splits, {deepest[1]} levels."
    svg = chart.svg("Splits at each depth before and after", description, *parts, id_="depth-chart")
    return tag("figure", tag("h3", "All trees, by depth"), svg, legend([(BEFORE, "before"), (AFTER, "after")]))


def _integer_label(value: float) -> str:
    """The label of a tick; empty between integers."""
    return f"{value:,.0f}" if value == int(value) else ""


def _bar(chart: Chart, d: int, number: int, inset: float, class_: str, hint: str) -> Html | None:
    if not number:
        return None
    left, right, top = chart.x(d + inset), chart.x(d + 1 - inset), chart.y(number)
    place = {"x": f"{left:.1f}", "y": f"{top:.1f}", "width": f"{right - left:.1f}", "height": f"{chart.y(0) - top:.1f}"}
    return tag("rect", tag("title", hint), class_=class_, **place)


def typical_tree(facts: Facts) -> int:
    """The tree with the median number of splits before pruning."""
    splits = facts.shapes[0].splits
    return int(np.argsort(splits, kind="stable")[(len(splits) - 1) // 2])


def icicle(facts: Facts, width: int = 400, height: int = 264) -> Html:
    """One tree from the root down: a split is as wide as the share of the cost sample's rows that reach it."""
    problem, t = facts.path.problem, typical_tree(facts)
    ensemble, routing = problem.ensemble, problem.routing
    nodes = ensemble.nodes_of(t)
    splits = np.arange(nodes.start, nodes.stop)[ensemble.is_split[nodes]]
    deepest = int(ensemble.depth[splits].max(initial=0)) + 1
    step = min(26.0, (height - 4) / deepest)
    kept = facts.pruning.kept[splits]
    left = routing.start[splits] * (width - 1.0) / routing.n_rows
    right = routing.stop[splits] * (width - 1.0) / routing.n_rows
    parts = [
        tag("path", d=_boxes(left[which], right[which], ensemble.depth[splits[which]], step), class_=class_)
        for which, class_ in ((~kept, "gone"), (kept, "kept"))
    ]
    description = (
        f"Tree {t}: {count(splits.size, 'split')} before, {int(kept.sum()):,} after. Each split is a bar at its depth, as wide "
        "as the share of examples that reach it."
    )
    svg = picture(width, round(step * deepest) + 4, f"Tree {t} before and after pruning", description, *parts, id_="icicle")
    kept_mark = tag("rect", x=2, y=3, width=24, height=10, class_="kept")
    gone_mark = tag("rect", x=2, y=3, width=24, height=10, class_="gone")
    marks = legend([(kept_mark, f"splits kept, {int(kept.sum()):,}"), (gone_mark, f"splits pruned, {int((~kept).sum()):,}")])
    caption = tag("figcaption", "Root at the top; a bar is as wide as the share of examples that reach the split.")
    return tag("figure", tag("h3", f"Tree {t}, the median in size"), svg, marks, caption)


def _boxes(left: NDArray[np.float64], right: NDArray[np.float64], depth: NDArray[np.int32], step: float) -> str:
    """All boxes as one path, with a gap between neighbours where there is room for one."""
    wide = np.flatnonzero(right - left >= NARROW)
    boxes = []
    for x0, x1, d in zip(left[wide].tolist(), right[wide].tolist(), depth[wide].tolist(), strict=True):
        gap = 0.4 if x1 - x0 > 2 else 0.0
        boxes.append(f"M{x0 + gap:.1f} {d * step + 1:.1f}h{x1 - x0 - 2 * gap:.1f}v{step - 1:.1f}h{-(x1 - x0 - 2 * gap):.1f}z")
    return "".join(boxes) or "M0 0"
