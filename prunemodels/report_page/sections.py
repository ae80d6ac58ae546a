"""The sections of the page that show measurements: trade-off, items, usage, trees, deployment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from prunemodels.evaluation.item_costs import ItemCost
from prunemodels.evaluation.wording import amount, count, error, seconds, share, size
from prunemodels.report_page.document import Section
from prunemodels.report_page.facts import Facts, Labels
from prunemodels.report_page.markup import Html, join, name, table, tag
from prunemodels.report_page.tradeoff_charts import half_width, held_out_chart, sample_chart, spread
from prunemodels.report_page.tree_charts import depth_chart, icicle
from prunemodels.report_page.usage_chart import NAMES, usage_chart

SHOWN_ITEMS = 12
"""Items that are shown without unfolding the rest."""

LISTED = 4
"""The largest number of features that the row of an item names."""


def tradeoff(facts: Facts) -> Section:
    """The section on the trade-off: both charts, and held-out points as a table."""
    along, task = facts.along_path, facts.measure
    half = half_width(along.error_se, along.n, facts.held_out.confidence)
    rows: list[list[object]] = [
        [
            f"{facts.path.lam[k]:.4g}",
            amount(facts.path.cost[k]),
            error(facts.path.error[k], task),
            f"{facts.path.n_splits[k]:,}",
            amount(along.cost[k]),
            f"{error(along.error[k], task)} \u00b1 {error(half[k], task)}",
        ]
        for k in spread(along.cost)
    ]
    header: list[object] = ["lambda", "cost", "trees\u2019 error", "splits", "cost, held out", "forest\u2019s error, held out"]
    percent = f"{100 * facts.held_out.confidence:g}\u00a0%"
    caption = f"{len(rows)} of {count(len(facts.path), 'optimal pruning')}; after \u00b1 half the {percent} interval"
    note = (
        "The two charts measure different errors. Pruning minimises the mean error of single trees on the error sample "
        f"({facts.path.problem.errors.source}). That is no estimate of the forest\u2019s error on new examples: on the data that "
        "they were trained on, fully grown trees make no error. Intervals hold point by point, for a pruning fixed beforehand."
    )
    content = join(
        tag("div", held_out_chart(facts), sample_chart(facts), class_="pair"),
        tag("p", note, class_="note"),
        tag("details", tag("summary", "The points as a table"), table(caption, header, rows, id_="points")),
    )
    return "tradeoff", "The trade-off", content


class Purchases(Protocol):
    """Facts with the costs of items."""

    @property
    def items(self) -> tuple[ItemCost, ...]:
        """See `item_costs`."""
        ...

    @property
    def labels(self) -> Labels:
        """Texts that the user chooses."""
        ...


def items(facts: Purchases) -> Section:
    """The section on the costs of the items before and after pruning, the dearest first."""
    most = max((item.before for item in facts.items), default=0.0)
    rows = [_item_row(item, most) for item in facts.items]
    header: list[object] = ["item", "price", "bought by", "cost before", "cost after", "before and after"]
    unit = f", in {facts.labels.unit}" if facts.labels.unit else ""
    caption = f"Mean cost of a prediction on the held-out examples by item{unit}"
    parts = [tag("p", _items_in_words(facts)), table(caption, header, rows[:SHOWN_ITEMS], id_="items", class_="wide-table")]
    rest = rows[SHOWN_ITEMS:]
    if rest:
        more = table(f"{caption}, the others", header, rest, id_="more-items", class_="wide-table")
        parts.append(tag("details", tag("summary", f"{count(len(rest), 'more item')}"), more))
    return "items", "What predictions pay for", join(*parts)


def _items_in_words(facts: Purchases) -> str:
    priced = [item for item in facts.items if item.price is not None]
    gone = sum(item.before > 0 and item.after == 0 for item in priced)
    rare = sum(0 < (item.bought_after or 0) < 0.1 for item in priced)
    used = sum(item.before > 0 for item in priced)
    rest = f"{gone:,} {'is' if gone == 1 else 'are'} never asked for any more, and {rare:,} by fewer than one example in ten."
    return f"Of {count(used, 'item')} that the unpruned model asks for, {rest}"


def _item_row(item: ItemCost, most: float) -> list[object]:
    users = None
    if item.features:
        shared = len(item.features) > 1 and not item.once
        users = tag("span", "paid once for " if shared else "for ", name(listed(item.features)), class_="users")
    price = "" if item.price is None else amount(item.price) + (", once for all" if item.once else "")
    bought = "" if item.bought_before is None or item.bought_after is None else _arrow(item.bought_before, item.bought_after)
    return [join(name(item.label), users), price, bought, amount(item.before), amount(item.after), _bars(item, most)]


def listed(features: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    if len(features) > LISTED:
        return f"{', '.join(features[:LISTED])} and {len(features) - LISTED} more"
    return " and ".join(part for part in (", ".join(features[:-1]), features[-1]) if part)


def _arrow(before: float, after: float) -> str:
    return f"{share(before, 0)} \u2192 {share(after, 0)}"


def _bars(item: ItemCost, most: float) -> Html:
    """Both costs as bars; the table has the numbers beside them."""
    scale = 200 / most if most else 0.0
    bars = [
        tag("rect", x=0.6, y=y, width=f"{max(0.0, scale * cost - 1.2):.1f}", height=7, class_=class_)
        for cost, y, class_ in ((item.before, 1, "was-bar"), (item.after, 10, "now-bar"))
        if cost > 0
    ]
    return tag("svg", *bars, viewBox="0 0 200 18", aria_hidden="true", preserveAspectRatio="none", class_="bars")


def usage(facts: Facts) -> Section:
    """The section on how many trees use a feature, as in Table 1 of BP16."""
    before, after = facts.usage
    task = facts.measure
    errors = facts.held_out.error_before.mean, facts.held_out.error_after.mean
    rows: list[list[object]] = [
        [label, *(share(b) for b in counts.bins), amount(counts.features), error(e, task)]
        for label, counts, e in (("before", before, errors[0]), ("after", after, errors[1]))
    ]
    header: list[object] = ["forest", *NAMES, "features used", "error"]
    caption = "Share of all pairs of example and feature by the number of trees that use the feature for the example"
    text = (
        "An example pays for a feature as soon as one tree uses it; further trees then use it for free. So a feature that only a "
        "few trees ask for costs much for what it does, and pruning saves most where it moves pairs from few trees to none "
        "(Table 1 of Nan, Wang and Saligrama 2016)."
    )
    return (
        "usage",
        "How often features are used",
        join(tag("p", text), usage_chart(facts), table(caption, header, rows, id_="usage-table")),
    )


def trees(facts: Facts) -> Section:
    """The section on the trees' shapes before and after pruning."""
    before, after = facts.shapes
    rows: list[list[object]] = [
        [label, old, new]
        for label, old, new in (
            ("splits", f"{before.splits.sum():,}", f"{after.splits.sum():,}"),
            ("leaves", f"{before.leaves:,}", f"{after.leaves:,}"),
            ("splits on the longest path from root to leaf", f"{before.deepest:,}", f"{after.deepest:,}"),
            ("splits that an average row meets in a tree", f"{before.mean_path_length:.2f}", f"{after.mean_path_length:.2f}"),
            ("trees that are a single leaf", f"{before.stumps:,}", f"{after.stumps:,}"),
            ("features in any split", f"{before.features:,}", f"{after.features:,}"),
        )
    ]
    caption = f"All {count(len(before.splits), 'tree')} of the {facts.model}"
    content = join(
        table(caption, ["shape", "before", "after"], rows, id_="shapes"),
        tag("div", depth_chart(facts), icicle(facts), class_="pair"),
    )
    return "trees", "Trees before and after", content


def deployment(facts: Facts) -> Section:
    """The section on the size of the files and the latency of predictions."""
    d = facts.deployment
    rows: list[list[object]] = [
        ["joblib file", size(d.before.joblib_bytes), size(d.after.joblib_bytes)],
        ["skops file", size(d.before.skops_bytes), size(d.after.skops_bytes)],
    ]
    rows += [[f"predict, {count(t.rows, 'row')}", seconds(t.before), seconds(t.after)] for t in d.timings]
    caption = f"Compressed files; {d.timings[0].engine}, one job, medians of {d.timings[0].repeats} calls, both forests in turns"
    note = (
        "Times were measured on the machine that wrote this page. For one row, most of scikit-learn\u2019s time is overhead, "
        "which pruning does not change. The cost above is that of the features, not of this time."
    )
    table_ = table(caption, ["what", "before", "after"], rows, id_="deployment-table")
    return "deployment", "Size and latency", join(table_, tag("p", note, class_="note"))
