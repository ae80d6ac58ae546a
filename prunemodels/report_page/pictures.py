"""The pictures of a page: those of `prunemodels.plots`, as SVG within the page.

A picture has a title and a description for readers who cannot see it. Its colours
are those of the page, so that they follow its theme; the colours of stages are the same in every theme.
"""

from __future__ import annotations

import io
import re
import warnings
from dataclasses import dataclass
from typing import Any

import matplotlib as mpl
import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from numpy.typing import NDArray

from prunemodels.plots.curves import colours_of, draw_bars, draw_items, draw_policies
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    DRAWING,
    SMALL,
    STYLE,
    axes_for,
    banded,
    cost_label,
    figure_of,
    label_axes,
    mark,
    stepped,
    styled,
)
from prunemodels.report_page.cascade import CascadeFacts, OnRows
from prunemodels.report_page.facts import BoostedFacts, Facts
from prunemodels.report_page.payers import PAGE, measure, printable
from prunemodels.statements.wording import amount, count, error, share

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 4.4, 3.1
"""Inches of a picture that is as wide as a telephone: text of 9 points can be read there."""

ANOTHER = "another stage for everybody"

ROLES = {
    "#000000": "ink",
    "#262626": "ink",
    "#666666": "muted",
    "#8c8c8c": "before",
    "#e6e6e6": "rule",
    "#ffffff": "paper",
    "#0072b2": "after",
    "#d55e00": "accent",
}
"""The role in the page's themes of each colour in `plots.picture`."""


@dataclass(frozen=True)
class Drawn:
    """A picture with its heading and caption, both may be empty."""

    heading: str
    svg: Markup
    caption: str = ""


def inline(ax: Axes, key: str, title: str, description: str) -> Markup:
    """The figure of some axes as an SVG element without styles, ids, and addresses of its own.

    `key` begins the ids of the picture, and no other picture of the page may have it. Colours with a role are the theme's.
    """
    file = io.StringIO()
    style: Any = {**STYLE, "svg.fonttype": "none", "svg.hashsalt": key}
    with warnings.catch_warnings(), mpl.rc_context(style):
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a name may have letters that only the browser's fonts know
        figure_of(ax).savefig(file, format="svg", transparent=True)
    drawn = file.getvalue()
    box, drawn = re.search('viewBox="([^"]*)"', drawn).group(1), drawn[drawn.index("</metadata>") + 11 : drawn.rindex("</svg>")]  # type: ignore[union-attr]
    drawn = re.sub(r"<defs>\s*<style.*?</defs>|<!--.*?-->", "", drawn, flags=re.DOTALL)
    drawn = re.sub(r' id="(?![mp][0-9a-f]{10}")[^"]*"', "", drawn).replace("xlink:href", "href")
    drawn = re.sub(' style="([^"]*)"', lambda style: _attributes(style[1]), drawn)
    drawn = re.sub(r'(?<= d=")[^"]*', lambda path: " ".join(path[0].split()), drawn)
    drawn = re.sub(r"(\d\.\d\d?)\d+(?=[^<>]*>)", r"\1", re.sub(r">\s+<", "><", drawn))
    drawn = re.sub('#[0-9a-f]{6}(?=")', lambda colour: f"var(--{ROLES[colour[0]]})" if colour[0] in ROLES else colour[0], drawn)
    start = Markup('<svg viewBox="{0}" role="img" aria-labelledby="{1}-title {1}-desc">').format(box, key)
    told = Markup('<title id="{0}-title">{1}</title><desc id="{0}-desc">{2}</desc>').format(key, title, description)
    return start + told + Markup(printable(drawn) + "</svg>")


def _attributes(style: str) -> str:
    """What a style attribute says as attributes of their own; the font is the page's."""
    said = dict(part.split(":", 1) for part in style.split(";") if ":" in part)
    font = said.pop("font", "")
    if size := re.search(r"([\d.]+)px", font):
        said["font-size"] = size[1]
    if "italic" in font or "oblique" in font:
        said["font-style"] = "italic"
    return "".join(f' {name.strip()}="{value.strip()}"' for name, value in said.items())


def ceiling(cost: Floats, high: Floats, least: float) -> float:
    """The end of the vertical axis: above all prunings but the cheapest, whose large errors would flatten the rest."""
    usual = high[cost >= PAGE.cheapest * cost.max()]
    return float(min(high.max(), max(1.25 * float(usual.max()), 1.6 * least)))


@styled
def tradeoff(facts: Facts | BoostedFacts | CascadeFacts) -> Drawn:
    """Error against cost of all prunings or policies, with intervals, the chosen one, and what it is compared with."""
    t, task, (one, several) = facts.tradeoff, facts.measure, facts.tradeoff.names
    crossed = isinstance(facts, CascadeFacts) and facts.on_rows is None
    ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
    look: dict[str, Any] = {"label": f"{several} of the path", "marker": "." if len(t.cost) <= DRAWING.most_markers else ""}
    look |= {} if isinstance(facts, CascadeFacts) else stepped(t.cost)  # a policy may divide a level: between two are others
    if t.ends is not None and t.chosen.ends is not None:
        band = f"{100 * t.chosen.ends.confidence:g} % intervals, point by point"
        banded(ax, t.cost, t.error, t.ends, band=band, **look)
    else:
        ax.plot(t.cost, t.error, color=BLUE, lw=2.4, **look)
    for k, m in enumerate(t.marks):
        if m.ends is not None:
            ax.plot([m.cost, m.cost], [m.ends.low, m.ends.high], color=BLACK, lw=1.2)
        mark(ax, m.kind, m.cost, m.error, m.name if m.kind != "single" else "_" if k else ANOTHER)
    label_axes(ax, measure(task), facts.options.unit)
    most = max(m.error if m.ends is None else m.ends.high for m in t.marks)
    top = 1.05 * max(ceiling(t.cost, t.error if t.ends is None else t.ends[1], most), most)
    ax.set(xlim=(0, 1.03 * max(*t.cost.tolist(), *(m.cost for m in t.marks)) or 1), ylim=(0, top or 1))
    ax.set_ylabel("")
    ax.set_title(f"{measure(task)}, {'cross-fitted' if crossed else 'held out'}", loc="left", fontsize=SMALL)
    figure_of(ax).legend(*ax.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=1)
    ends = (f"cost {amount(t.cost[k])} and {measure(task)} {error(t.error[k], task)}" for k in (0, -1))
    told = f"{count(len(t.cost), one, several)}, from {' to '.join(ends)}."
    for m in t.marks[:-3:-1]:
        told += f" {m.name[:1].upper()}{m.name[1:]}: cost {amount(m.cost)}, {measure(task)} {error(m.error, task)}."
    beyond = float(t.error.max())
    left_out = f"The cheapest {several} lie above the chart: they err up to {error(beyond, task)}." if beyond > top else ""
    svg = inline(ax, "tradeoff-chart", f"Error against mean cost of the {several}", told)
    return Drawn("Cross-fitted" if crossed else "On held-out examples", svg, left_out)


@styled
def stops(facts: CascadeFacts, seen: OnRows) -> list[Drawn]:
    """Which examples stop where: by every policy and by the chosen one, and what they have bought by then, as in `plot_exits`."""
    found, own = seen.stops, facts.tradeoff.chosen.cost
    by_policy = found.by_policy()
    colour = colours_of(by_policy)
    # by every policy, unless all cost the same
    drawn = []
    cost = found.evaluation.cost
    if cost.max() > cost.min():
        ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
        draw_policies(ax, found, by_policy, colour, own, "the chosen policy")
        ax.set_xlabel(cost_label(facts.options.unit, "mean cost of a policy"))
        ax.set_ylabel("share that stops at each stage")
        ends = (int(cost.argmin()), "the cheapest"), (int(cost.argmax()), "the dearest")
        first = int(found.used[0])
        told = "; ".join(
            f"by {name} policy, {share(by_policy[k, first])} stop at stage {first} at a mean cost of {amount(cost[k])}"
            for k, name in ends
        )
        title = "Share of the examples that stop at each stage, by policy"
        svg = inline(ax, "layers-chart", title, f"{told}. The chosen one costs {amount(own)}.")
        drawn.append(Drawn("By every policy", svg))
    # by the chosen policy
    ax = axes_for(None, (WIDTH, 0.9 + 0.27 * max(found.used.size, 5)))
    draw_bars(ax, found, colour)
    ax.set_title("", loc="left")
    told = "; ".join(
        f"{share(part)} of the examples stop at stage {s}" for s, part in zip(found.used, found.share(), strict=True)
    )
    svg = inline(ax, "bars-chart", "Share of the examples that stop at each stage", f"{told}.")
    # what was bought by then, unless nothing was
    n_bought = int(found.bought.any(axis=1).sum())
    nothing = "The stages do not say what they read." if facts.purchases is None else "Nothing that has a price was bought."
    drawn.append(Drawn("By the chosen policy", svg, "" if n_bought else nothing))
    if not n_bought:
        return drawn
    ax = axes_for(None, (WIDTH, 1.6 + 0.27 * max(found.used.size, 5)))
    draw_items(ax, found)
    ax.set_title("", loc="left")
    ax.set_yticks(np.arange(found.used.size) + 0.5, [f"stage {s}" for s in found.used])
    shown = min(n_bought, DRAWING.most_exit_items)
    some = f" {shown} of {n_bought:,} items are shown, those that most examples bought." if shown < n_bought else ""
    told = f"A row for each stage where examples stop, a column for each of {count(shown, 'item')} that they have bought by then."
    svg = inline(ax, "staircase-chart", "What the examples have bought by the stage where they stop", told)
    drawn.append(Drawn("What was bought by then", svg, f"A cell is full where all of them have bought the item by then.{some}"))
    return drawn
