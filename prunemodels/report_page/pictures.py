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
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from prunemodels.evaluation.item_costs import item_label
from prunemodels.exits.evaluation import Stops
from prunemodels.plots.choice import SEEN_WHOLE, draw_budget
from prunemodels.plots.exits import MOST_ITEMS, colours_of, draw_bars, draw_items, draw_policies
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    GREY,
    PAPER,
    SMALL,
    STYLE,
    VERMILION,
    axes_for,
    cost_label,
    figure_of,
    frame,
    per_cent,
    plain_numbers,
    styled,
)
from prunemodels.plots.tradeoff import MOST_MARKERS, draw_held_out, label_axes, trees_error
from prunemodels.report_page.boosted_page import BoostedFacts
from prunemodels.report_page.cascades.facts import CascadeFacts, OnRows
from prunemodels.report_page.facts import Facts, spread
from prunemodels.report_page.rendering import measure, printable
from prunemodels.statements.mean_bounds import MeanInterval
from prunemodels.statements.wording import amount, count, error, share

WIDTH, HEIGHT = 4.4, 3.1
"""Inches of a picture that is as wide as a telephone: text of 9 points can be read there."""

CHEAPEST = 0.15
"""Prunings that cost less than this share of the dearest one may lie above the chart."""

LISTED = 8
"""The largest number of items that a description names for a stage."""

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

    Parameters
    ----------
    key
        begins the ids of the picture; no other picture of the page may have it.
    themed
        whether colours become those of the page's theme.
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


def _hinted(ax: Axes, x: Any, y: Any, hints: list[str]) -> None:
    """Dots that tell their hint."""
    for place, hint in zip(zip(x, y, strict=True), hints, strict=True):
        ax.plot(*place, ls="", marker="o", ms=4, color=BLUE, gid=f"hint:{hint}")


def _mark(ax: Axes, name: str, hint: str, cost: float, err: float, ends: MeanInterval | None = None) -> None:
    """The chosen model (a ring), another one (a triangle), or the one before (a diamond), with an interval of its error."""
    looks: dict[str, dict[str, Any]] = {
        "chosen": {"marker": "o", "ms": 9, "mfc": "none", "mew": 2},
        "other": {"marker": "^", "ms": 6},
    }
    kind = "chosen" if "chosen" in name else "other" if "another" in name else "before"
    colour = VERMILION if kind == "other" else BLACK
    if ends is not None:
        ax.plot([cost, cost], [ends.low, ends.high], color=BLACK, lw=1.2)
    style = {"color": colour, "zorder": 5, "clip_on": False, **looks.get(kind, {"marker": "D", "ms": 7})}
    ax.plot(cost, err, ls="", label=name, gid=f"hint:{hint}", **style)


def _finish(ax: Axes, above: str) -> None:
    """Name the vertical axis above it, and put the legend below."""
    ax.set_ylabel("")
    ax.set_title(above, loc="left", fontsize=SMALL)
    figure_of(ax).legend(*ax.get_legend_handles_labels(), loc="outside lower left", frameon=False, ncols=1)


def ceiling(cost: NDArray[np.float64], high: NDArray[np.float64], least: float) -> float:
    """The end of the vertical axis: above all prunings but the cheapest, whose large errors would flatten the rest."""
    usual = high[cost >= CHEAPEST * cost.max()]
    return float(min(high.max(), max(1.25 * float(usual.max()), 1.6 * least)))


def left_end(values: list[float]) -> float:
    """Where a horizontal axis begins: at 0, or close to the least value if the values would fill less than half of the axis."""
    least, most = min(values), max(values)
    return 0.0 if least <= most / 2 else max(0.0, least - 0.08 * (most - least))


def _hint(what: str, cost: float, err: float, task: str) -> str:
    return f"{what}: cost {amount(cost)}, {measure(task)} {error(err, task)}"


def _above(most: float, top: float, task: str) -> str:
    """A note on prunings that lie above the chart; empty where none does."""
    return f"The cheapest prunings lie above the chart: they err up to {error(most, task)}." if most > top else ""


@styled
def held_out(facts: Facts, half: NDArray[np.float64]) -> Drawn:
    """The forest's own error on held-out examples along the path, with intervals."""
    along, h, task = facts.along_path, facts.held_out, facts.measure
    ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
    draw_held_out(ax, along, half, f"{100 * h.confidence:g} % intervals, point by point")
    shown = spread(along.cost)
    hints = [
        f"{_hint(f'lambda {facts.path.lam[k]:.4g}', along.cost[k], along.error[k], task)} ± {error(half[k], task)}" for k in shown
    ]
    _hinted(ax, along.cost[shown], along.error[shown], hints)
    both = ("unpruned", h.cost_before, h.error_before), ("the chosen pruning", h.cost_after, h.error_after)
    for name, cost, err in both:
        hint = _hint(name, cost.mean, err.mean, task)
        _mark(ax, name if "chosen" in name else "_", hint, cost.mean, err.mean, err)
    label_axes(ax, facts.path, facts.labels.unit)
    ends = max(h.error_before.high, h.error_after.high)
    top = 1.05 * max(ceiling(along.cost, along.error + half, ends), ends)
    ax.set_xlim(0, 1.03 * max(along.unpruned_cost, float(along.cost.max())) or 1)
    ax.set_ylim(0, top or 1)
    _finish(ax, f"{measure(task)} of the forest, held out")
    reach = [f"cost {amount(along.cost[k])} and {measure(task)} {error(along.error[k], task)}" for k in (0, -1)]
    marked = ". ".join(_hint(name.capitalize(), cost.mean, err.mean, task) for name, cost, err in reversed(both))
    told = f"Held out, the path goes from {reach[0]} to {reach[1]}. {marked}."
    svg = inline(ax, "held-out-chart", "Held-out error against held-out cost", told)
    return Drawn("On held-out examples", svg, _above(float(along.error.max()), top, task))


@styled
def samples(facts: Facts) -> Drawn:
    """The trade-off on the samples: the hull of all prunings, the budget, the optimum of the relaxation, the chosen pruning."""
    path, task, solution, chosen, whole = facts.path, facts.measure, facts.solution, facts.pruning, facts.unpruned
    ax = axes_for(None, (WIDTH, HEIGHT + (1.2 if solution is not None else 0.4)))
    if solution is None:
        ax.plot(path.cost, path.error, color=BLUE, lw=1.4, label=f"breakpoints and their hull: {trees_error(path.problem)}")
        _mark(ax, "the chosen pruning", _hint("chosen", chosen.cost, chosen.error, task), chosen.cost, chosen.error)
    else:
        draw_budget(ax, solution, path, chosen, least=SEEN_WHOLE)
    if len(path) <= MOST_MARKERS:
        hints = [_hint(f"lambda {path.lam[k]:.4g}", path.cost[k], path.error[k], task) for k in range(len(path))]
        _hinted(ax, path.cost, path.error, hints)
    _mark(ax, "before pruning", _hint("unpruned", whole.cost, whole.error, task), whole.cost, whole.error)
    label_axes(ax, path, facts.labels.unit)
    top = 1.05 * ceiling(path.cost, path.error, max(chosen.error, whole.error))
    ax.set_xlim(0, 1.03 * max(whole.cost, float(path.cost[0])) or 1)
    ax.set_ylim(0, top or 1)
    _finish(ax, f"trees’ mean {measure(task).removeprefix('mean ')}, error sample")
    told = (
        f"The lower convex hull of all prunings, from cost {amount(path.cost[0])} and error {error(path.error[0], task)} to cost "
        f"{amount(path.cost[-1])} and error {error(path.error[-1], task)}. {_hint('Chosen', chosen.cost, chosen.error, task)}."
    )
    if solution is not None:
        value = error(float(solution.relaxation.value), task)
        told += f" Budget {amount(float(solution.budget))}; the relaxation's optimum there has error {value}."
    svg = inline(ax, "sample-chart", "Error against cost on the samples that pruning was computed from", told)
    return Drawn("On the samples that it was computed from", svg, _above(float(path.error.max()), top, task))


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
def depth(facts: Facts) -> Drawn:
    """Splits of all trees at each depth: outlined before, filled after."""
    before, after = (shape.by_depth for shape in facts.shapes)
    ax = axes_for(None, (WIDTH, HEIGHT))
    for d, (was, now) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        hint = f"hint:depth {d}: {was:,} splits before, {now:,} after"
        ax.bar(d, was, width=0.84, fc=PAPER, ec=GREY, gid=hint, label="" if d else "before")
        ax.bar(d, now, width=0.6, color=BLUE, gid=hint, label="" if d else "after")
    frame(ax)
    ax.grid(visible=False, axis="x")
    ax.set_xlabel("depth, the root at 0")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    plain_numbers(ax.yaxis)
    _finish(ax, "splits in all trees")
    deepest = [shape.deepest for shape in facts.shapes]
    told = f"Before, {before.sum():,} splits, {deepest[0]} levels; after, {after.sum():,} splits, {deepest[1]} levels."
    return Drawn("All trees, by depth", inline(ax, "depth-chart", "Splits at each depth before and after", told))


def typical_tree(splits: NDArray[np.int64]) -> int:
    """The tree with the median number of splits."""
    return int(np.argsort(splits, kind="stable")[(len(splits) - 1) // 2])


@styled
def icicle(facts: Facts) -> Drawn:
    """One tree from the root down: a split is as wide as the share of the cost sample's rows that reach it."""
    problem, t = facts.path.problem, typical_tree(facts.shapes[0].splits)
    ensemble, routing = problem.ensemble, problem.routing
    nodes = ensemble.nodes_of(t)
    splits = np.arange(nodes.start, nodes.stop)[ensemble.is_split[nodes]]
    kept = facts.pruning.kept[splits]
    boxes = icicle_boxes(routing.start[splits] / routing.n_rows, routing.stop[splits] / routing.n_rows, ensemble.depth[splits])
    ax = axes_for(None, (WIDTH, HEIGHT))
    for which, colour, name in ((~kept, "0.8", "pruned"), (kept, BLUE, "kept")):
        label = f"splits {name}, {int(which.sum()):,}"
        ax.add_patch(PathPatch(Path.make_compound_path_from_polys(boxes[which]), fc=colour, ec=PAPER, lw=0.5, label=label))
    ax.set_xlim(0, 1)
    ax.set_ylim(int(ensemble.depth[splits].max(initial=0)) + 1, 0)
    ax.axis("off")
    _finish(ax, "")
    told = (
        f"Tree {t}: {count(splits.size, 'split')} before, {int(kept.sum()):,} after. Each split is a bar at its depth, as wide "
        "as the share of examples that reach it."
    )
    caption = "Root at the top; a bar is as wide as the share of examples that reach the split."
    return Drawn(f"Tree {t}, the median in size", inline(ax, "icicle", f"Tree {t} before and after pruning", told), caption)


def icicle_boxes(left: NDArray[np.float64], right: NDArray[np.float64], depth: NDArray[np.int32]) -> NDArray[np.float64]:
    """The corners of a bar for each split, shape (splits, 4, 2)."""
    return np.stack(
        [np.stack([x, y], axis=1) for x, y in ((left, depth), (right, depth), (right, depth + 1), (left, depth + 1))], axis=1
    )


@styled
def boosted(facts: BoostedFacts) -> Drawn:
    """Held-out error of a boosted model against its cost: all prunings of the path, the model before, the chosen one."""
    along, h, task = facts.along, facts.held_out, facts.held_out.measure
    ax = axes_for(None, (WIDTH, HEIGHT))
    ax.plot(along.cost, along.error, color=BLUE, lw=1.6, label="prunings of the path")
    hints = [_hint("pruning", c, e, task) for c, e in zip(along.cost, along.error, strict=True)]
    _hinted(ax, along.cost, along.error, hints)
    told = []
    for name, cost, err in (
        ("the model before pruning", h.cost_before, h.error_before),
        ("the chosen pruning", h.cost_after, h.error_after),
    ):
        told.append(_hint(name, cost.mean, err.mean, task))
        _mark(ax, name, told[-1], cost.mean, err.mean)
    _cost_axes(ax, facts.labels.unit, task)
    ax.set_xlim(0, 1.03 * max(h.cost_before.mean, float(along.cost.max())) or 1)
    ax.set_ylim(0, 1.05 * max(h.error_before.high, float(along.error.max())) or 1)
    _finish(ax, f"{measure(task)} of the model, held out")
    reach = f"{count(len(along), 'pruning')} from cost {amount(along.cost[0])} to {amount(along.cost[-1])}"
    svg = inline(ax, "boosted-chart", "Held-out error against held-out cost", f"{reach}. {'. '.join(told)}.")
    return Drawn("On held-out examples", svg)


def _cost_axes(ax: Axes, unit: str, task: str) -> None:
    """Cost to the right, the error upwards."""
    ax.set_xlabel(cost_label(unit))
    plain_numbers(ax.xaxis)
    (per_cent if measure(task) == "error rate" else plain_numbers)(ax.yaxis)
    frame(ax)


@styled
def policies(facts: CascadeFacts) -> Drawn:
    """Error against mean cost: all policies of the path, the chosen one, and single stages that answer every row."""
    t, task, seen = facts.tradeoff, facts.task, facts.on_rows
    cost, err = t.chosen
    ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
    half = np.zeros(len(t.error)) if t.half is None else t.half
    if seen is not None:
        name = f"{100 * seen.change.confidence:g} % intervals, point by point"
        ax.fill_between(t.cost, np.maximum(t.error - half, 0), t.error + half, color=BLUE, alpha=0.15, lw=0, label=name)
    ax.plot(t.cost, t.error, color=BLUE, lw=2, label="optimal policies")
    if len(t.cost) <= MOST_MARKERS:
        _hinted(ax, t.cost, t.error, [_hint("a policy", c, e, task) for c, e in zip(t.cost, t.error, strict=True)])
    singles = list(zip(t.single_cost.tolist(), t.single_error.tolist(), strict=True))
    for s, (c, e) in enumerate(singles):
        name = "the last stage for everybody" if s == len(singles) - 1 else "_another" if s else "another stage for everybody"
        _mark(ax, name, _hint(f"stage {s} for everybody", c, e, task), c, e)
    ends = None if seen is None else seen.change.error_after
    _mark(ax, "the chosen policy", _hint("chosen", cost, err, task), cost, err, ends)
    _cost_axes(ax, facts.labels.unit, task)
    costs = [*t.cost.tolist(), *t.single_cost.tolist(), t.chosen[0]]
    ax.set_xlim(left_end(costs), 1.03 * max(costs) or 1)
    ax.set_ylim(0, 1.05 * max(float((t.error + half).max()), float(t.single_error.max()), t.chosen[1]) or 1)
    _finish(ax, f"{measure(task)}, {'cross-fitted' if seen is None else 'held out'}")
    first, last = (f"cost {amount(t.cost[k])} and {measure(task)} {error(t.error[k], task)}" for k in (0, -1))
    told = (
        f"{count(len(t.cost), 'policy', 'policies')}, from {first} to {last}. {_hint('Chosen', cost, err, task)}. "
        f"{_hint('The last stage for everybody', *facts.before, task)}."
    )
    return Drawn("", inline(ax, "policy-chart", "Error against mean cost of all policies", told))


@styled
def stops(facts: CascadeFacts, seen: OnRows) -> list[Drawn]:
    """Which examples stop where: by every policy and by the chosen one, and what they have bought by then, as in `plot_exits`."""
    found, own = seen.stops, facts.tradeoff.chosen[0]
    by_policy = found.by_policy()
    colour = colours_of(by_policy)
    drawn = []
    cost = found.evaluation.cost
    if cost.max() > cost.min():
        ax = axes_for(None, (WIDTH, HEIGHT + 0.4))
        draw_policies(ax, found, by_policy, colour, own, "the chosen policy")
        ax.set_xlabel(cost_label(facts.labels.unit, "mean cost of a policy"))
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
    title = "Share of the examples that stop at each stage, and what they have bought by then"
    svg = inline(ax, "bars-chart", title, f"{'; '.join(_steps(found))}.", themed=False)
    n_bought = int(found.bought.any(axis=1).sum())
    if not n_bought:
        nothing = "The stages do not say what they read." if facts.purchases is None else "Nothing that has a price was bought."
        return [*drawn, Drawn("By the chosen policy", svg, nothing)]
    drawn.append(Drawn("By the chosen policy", svg))
    ax = axes_for(None, (WIDTH, 1.6 + 0.27 * max(found.used.size, 5)))
    draw_items(ax, found)
    ax.set_title("", loc="left")
    ax.set_yticks(np.arange(found.used.size) + 0.5, [f"stage {s}" for s in found.used])
    shown = min(n_bought, MOST_ITEMS)
    some = f" {shown} of {n_bought:,} items are shown, those that most examples bought." if shown < n_bought else ""
    told = f"A row for each stage where examples stop, a column for each of {count(shown, 'item')} that they have bought by then."
    svg = inline(ax, "staircase-chart", "What the examples have bought by the stage where they stop", told, themed=False)
    return [
        *drawn,
        Drawn("What was bought by then", svg, f"A cell is full where all of them have bought the item by then.{some}"),
    ]


def _steps(found: Stops) -> list[str]:
    """For every stage where examples stop: their share, and the new items that more than half of them have bought."""
    named: set[str] = set()
    texts = []
    names = [item_label(name) for name in found.items.names]
    for s, part, row in zip(found.used.tolist(), found.share().tolist(), found.bought_by_then(), strict=True):
        new = [names[m] for m in np.flatnonzero(row > 0.5) if names[m] not in named]
        named.update(new)
        listed = ", ".join(new[:LISTED]) + (f" and {len(new) - LISTED} more" if len(new) > LISTED else "")
        texts.append(f"stage {s}: {share(part)} stop" + (f", by then most have also bought {listed}" if new else ""))
    return texts
