"""The pictures of a page: those of `prunemodels.plots`, as SVG within the page.

A picture has a title and a description for readers who cannot see it, and a hint where the pointer rests on a point. Its colours
are those of the page, so that they follow its theme; where shades of a colour mean something, the picture stays on white.
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

from prunemodels.plots.choice import SEEN_WHOLE, draw_budget
from prunemodels.plots.exits import MOST_ITEMS, colours_of, draw_bars, draw_items, draw_policies
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    GREY,
    PAPER,
    SMALL,
    STYLE,
    axes_for,
    cost_label,
    figure_of,
    label_axes,
    mark,
    styled,
)
from prunemodels.plots.tradeoff import MOST_MARKERS, trees_error
from prunemodels.report_page.boosted import BoostedFacts
from prunemodels.report_page.cascade import CascadeFacts, OnRows
from prunemodels.report_page.facts import Facts, Mark, Tradeoff, spread
from prunemodels.report_page.page import measure, printable
from prunemodels.statements.wording import amount, count, error, share

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 4.4, 3.1
"""Inches of a picture that is as wide as a telephone: text of 9 points can be read there."""

CHEAPEST = 0.15
"""Prunings and policies that cost less than this share of the dearest one may lie above the chart."""

ANOTHER = "another stage for everybody"

NUMBERS_OF_TREES = ("no tree", "1 to 7 trees", "more than 7")

ROLES = {
    "#000000": "ink",
    "#262626": "ink",
    "#666666": "muted",
    "#8c8c8c": "before",
    "#e6e6e6": "rule",
    "#cccccc": "pale",
    "#ffffff": "paper",
    "#0072b2": "after",
    "#56b4e9": "accent",
    "#009e73": "ink",
    "#d55e00": "accent",
}
"""The role in the page's themes of each colour in `plots.picture`."""


@dataclass(frozen=True)
class Drawn:
    """A picture with its heading and caption, both may be empty."""

    heading: str
    svg: Markup
    caption: str = ""


def inline(ax: Axes, key: str, title: str, description: str, *, themed: bool = True) -> Markup:
    """The figure of some axes as an SVG element without styles, ids, and addresses of its own.

    `key` begins the ids of the picture, and no other picture of the page may have it. Where `themed`, colours are the theme's.
    """
    file = io.StringIO()
    style: Any = {**STYLE, "svg.fonttype": "none", "svg.hashsalt": key}
    with warnings.catch_warnings(), mpl.rc_context(style):
        warnings.filterwarnings("ignore", "Glyph", UserWarning)  # a name may have letters that only the browser's fonts know
        figure_of(ax).savefig(file, format="svg", transparent=True)
    drawn = file.getvalue()
    box, drawn = re.search('viewBox="([^"]*)"', drawn).group(1), drawn[drawn.index("</metadata>") + 11 : drawn.rindex("</svg>")]  # type: ignore[union-attr]
    drawn = re.sub(r"<defs>\s*<style.*?</defs>|<!--.*?-->", "", drawn, flags=re.DOTALL)
    drawn = re.sub('<g id="hint:([^"]*)">', r"<g><title>\1</title>", drawn)
    drawn = re.sub(r' id="(?![mp][0-9a-f]{10}")[^"]*"', "", drawn).replace("xlink:href", "href")
    drawn = re.sub(' style="([^"]*)"', lambda style: _attributes(style[1]), drawn)
    drawn = re.sub(r'(?<= d=")[^"]*', lambda path: " ".join(path[0].split()), drawn)
    drawn = re.sub(r"(\d\.\d\d?)\d+(?=[^<>]*>)", r"\1", re.sub(r">\s+<", "><", drawn))
    light = Markup("" if themed else ' class="light"')
    if themed:
        drawn = re.sub(
            '#[0-9a-f]{6}(?=")', lambda colour: f"var(--{ROLES[colour[0]]})" if colour[0] in ROLES else colour[0], drawn
        )
    start = Markup('<svg viewBox="{0}" role="img" aria-labelledby="{1}-title {1}-desc"{2}>').format(box, key, light)
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


def _hint(what: str, cost: float, err: float, task: str) -> str:
    return f"{what}: cost {amount(cost)}, {measure(task)} {error(err, task)}"


def _finish(ax: Axes, above: str) -> None:
    """Name the vertical axis above it, and put the legend below."""
    ax.set_ylabel("")
    ax.set_title(above, loc="left", fontsize=SMALL)
    figure_of(ax).legend(*ax.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=1)


def ceiling(cost: Floats, high: Floats, least: float) -> float:
    """The end of the vertical axis: above all prunings but the cheapest, whose large errors would flatten the rest."""
    usual = high[cost >= CHEAPEST * cost.max()]
    return float(min(high.max(), max(1.25 * float(usual.max()), 1.6 * least)))


def left_end(values: list[float]) -> float:
    """Where a horizontal axis begins: at 0, or close to the least value if the values would fill less than half of the axis."""
    least, most = min(values), max(values)
    return 0.0 if least <= most / 2 else max(0.0, least - 0.08 * (most - least))


def _chart(ax: Axes, t: Tradeoff, task: str, unit: str, above: str, *, line: str) -> tuple[str, str]:
    """A line with its band and points, and marks at single models; what it shows in words, and what it leaves out.

    Without a `line`, somebody else has drawn it and the chosen model.
    """
    half, (one, several) = np.zeros(len(t.cost)) if t.half is None else t.half, t.names
    if line:
        if t.half is not None and t.chosen.ends is not None:
            name = f"{100 * t.chosen.ends.confidence:g} % intervals, point by point"
            ax.fill_between(t.cost, np.maximum(t.error - half, 0), t.error + half, color=BLUE, alpha=0.15, lw=0, label=name)
        ax.plot(t.cost, t.error, color=BLUE, lw=2, label=line)
    for k in range(len(t.cost)) if len(t.cost) <= MOST_MARKERS else spread(t.cost):
        hint = f"hint:{_hint(one, t.cost[k], t.error[k], task)}"
        ax.plot(t.cost[k], t.error[k], ls="", marker="o", ms=4, color=BLUE, gid=hint)
    for k, m in enumerate(t.marks if line else t.marks[:-1]):
        if m.ends is not None:
            ax.plot([m.cost, m.cost], [m.ends.low, m.ends.high], color=BLACK, lw=1.2)
        label = m.name if m.kind != "single" else "_" if k else ANOTHER
        mark(ax, m.kind, m.cost, m.error, label, gid=f"hint:{_hint(m.name, m.cost, m.error, task)}")
    label_axes(ax, measure(task), unit)
    costs = [*t.cost.tolist(), *(m.cost for m in t.marks)]
    most = max(m.error if m.ends is None else m.ends.high for m in t.marks)
    top = 1.05 * max(ceiling(t.cost, t.error + half, most), most)
    ax.set(xlim=(left_end(costs), 1.03 * max(costs) or 1), ylim=(0, top or 1))
    _finish(ax, above)
    ends = (f"cost {amount(t.cost[k])} and {measure(task)} {error(t.error[k], task)}" for k in (0, -1))
    marked = " ".join(f"{_hint(m.name[:1].upper() + m.name[1:], m.cost, m.error, task)}." for m in t.marks[:-3:-1])
    beyond = float(t.error.max())
    left_out = f"The cheapest {several} lie above the chart: they err up to {error(beyond, task)}." if beyond > top else ""
    return f"{count(len(t.cost), one, several)}, from {' to '.join(ends)}. {marked}", left_out


@styled
def tradeoff(facts: Facts | BoostedFacts | CascadeFacts) -> Drawn:
    """Error against cost of all prunings or policies, with intervals, the chosen one, and what it is compared with."""
    crossed, names = isinstance(facts, CascadeFacts) and facts.on_rows is None, facts.tradeoff.names
    above = f"{measure(facts.measure)}, {'cross-fitted' if crossed else 'held out'}"
    ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
    unit, line = facts.options.unit, f"{names[1]} of the path"
    told, left_out = _chart(ax, facts.tradeoff, facts.measure, unit, above, line=line)
    svg = inline(ax, "tradeoff-chart", f"Error against mean cost of the {names[1]}", told)
    return Drawn("Cross-fitted" if crossed else "On held-out examples", svg, left_out)


@styled
def samples(facts: Facts) -> Drawn:
    """The trade-off on the samples: the hull of all prunings, the budget, the optimum of the relaxation, the chosen pruning."""
    path, task, solution, chosen, whole = facts.path, facts.measure, facts.solution, facts.pruning, facts.unpruned
    ax = axes_for(None, (WIDTH, HEIGHT + (1.2 if solution is not None else 0.4)))
    line = f"breakpoints and their hull: {trees_error(path.problem)}"
    if solution is not None:
        draw_budget(ax, solution, path, chosen, least=SEEN_WHOLE)
        line = ""
    marks = [Mark("unpruned", "before pruning", whole.cost, whole.error)]
    marks += [Mark("chosen", "the chosen pruning", chosen.cost, chosen.error)]
    t = Tradeoff(path.cost, path.error, None, ("optimal pruning", "optimal prunings"), marks)
    above = f"trees’ mean {measure(task).removeprefix('mean ')}, error sample"
    told, left_out = _chart(ax, t, task, facts.options.unit, above, line=line)
    if solution is not None:
        value = error(float(solution.relaxation.value), task)
        told += f" Budget {amount(float(solution.budget))}; the relaxation's optimum there has error {value}."
    svg = inline(ax, "sample-chart", "Error against cost on the samples that pruning was computed from", told)
    return Drawn("On the samples that it was computed from", svg, left_out)


@styled
def usage(facts: Facts) -> Drawn:
    """Table 1 of BP16 as a picture: pairs of example and feature by the number of trees that use them."""
    before, after = (counts.bins for counts in facts.usage)
    ax, place = axes_for(None, (WIDTH, 2.3)), np.arange(len(NUMBERS_OF_TREES))
    looks: tuple[dict[str, Any], ...] = ({"fc": PAPER, "ec": GREY, "label": "before"}, {"color": BLUE, "label": "after"})
    for bins, shift, look in zip((before, after), (-0.2, 0.2), looks, strict=True):
        ax.bar_label(ax.barh(place + shift, bins, height=0.38, **look), [share(b) for b in bins], padding=3, fontsize=SMALL)
    ax.set_yticks(place, NUMBERS_OF_TREES)
    ax.set_xlim(0, 1.18 * max(*before, *after))
    ax.invert_yaxis()
    ax.set_xticks([])
    ax.tick_params(length=0)
    ax.spines[["top", "right", "bottom"]].set_visible(False)
    _finish(ax, "")
    each = zip(NUMBERS_OF_TREES, before, after, strict=True)
    told = "; ".join(f"{label}: {share(was)} before, {share(now)} after" for label, was, now in each)
    return Drawn("", inline(ax, "usage-chart", "How many trees use a feature for an example", f"{told}."))


@styled
def stops(facts: CascadeFacts, seen: OnRows) -> list[Drawn]:
    """Which examples stop where: by every policy and by the chosen one, and what they have bought by then, as in `plot_exits`."""
    found, own = seen.stops, facts.tradeoff.chosen.cost
    by_policy = found.by_policy()
    colour = colours_of(by_policy)
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
        svg = inline(ax, "layers-chart", title, f"{told}. The chosen one costs {amount(own)}.", themed=False)
        drawn.append(Drawn("By every policy", svg))
    ax = axes_for(None, (WIDTH, 0.9 + 0.27 * max(found.used.size, 5)))
    draw_bars(ax, found, colour)
    ax.set_title("", loc="left")
    told = "; ".join(
        f"{share(part)} of the examples stop at stage {s}" for s, part in zip(found.used, found.share(), strict=True)
    )
    svg = inline(ax, "bars-chart", "Share of the examples that stop at each stage", f"{told}.", themed=False)
    n_bought = int(found.bought.any(axis=1).sum())
    nothing = "The stages do not say what they read." if facts.purchases is None else "Nothing that has a price was bought."
    drawn.append(Drawn("By the chosen policy", svg, "" if n_bought else nothing))
    if not n_bought:
        return drawn
    ax = axes_for(None, (WIDTH, 1.6 + 0.27 * max(found.used.size, 5)))
    draw_items(ax, found)
    ax.set_title("", loc="left")
    ax.set_yticks(np.arange(found.used.size) + 0.5, [f"stage {s}" for s in found.used])
    shown = min(n_bought, MOST_ITEMS)
    some = f" {shown} of {n_bought:,} items are shown, those that most examples bought." if shown < n_bought else ""
    told = f"A row for each stage where examples stop, a column for each of {count(shown, 'item')} that they have bought by then."
    svg = inline(ax, "staircase-chart", "What the examples have bought by the stage where they stop", told, themed=False)
    drawn.append(Drawn("What was bought by then", svg, f"A cell is full where all of them have bought the item by then.{some}"))
    return drawn
