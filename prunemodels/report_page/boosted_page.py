"""The page on a pruned boosted model: held-out cost, error and loss, purchases, and what is proven and what is not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import leaves_of
from formulations.instance.tree_loss import usual_loss
from formulations.instance.usage import Usage
from prunemodels.evaluation.held_out_change import HeldOutChange, Paid, change_of
from prunemodels.evaluation.item_costs import ItemCost
from prunemodels.evaluation.wording import amount, count, error
from prunemodels.forests.labels import losses_of
from prunemodels.judging.curve import TradeoffCurve, boosted_curve
from prunemodels.on_demand.tree_order import items_on_path
from prunemodels.other_libraries.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.other_libraries.losses import loss_of
from prunemodels.other_libraries.model_forest import pruned_ends
from prunemodels.report_page.chart import Chart, legend, marker
from prunemodels.report_page.document import Section, data_section, document
from prunemodels.report_page.facts import Labels, PageOptions, shown_as, versions
from prunemodels.report_page.markup import Html, join, name, table, tag
from prunemodels.report_page.opening import certainty, comparison, cost_and_error, stat
from prunemodels.report_page.sections import items
from prunemodels.report_page.tradeoff_charts import cost_label, error_ticks, measure, points_of
from prunemodels.tree_models.response import sum_response


@dataclass(frozen=True, eq=False)
class BoostedFacts:
    """What the page shows. Pairs are in the order before, after pruning; losses are means on the held-out examples."""

    labels: Labels
    path: BoostedPath
    chosen: BoostedPruning
    held_out: HeldOutChange
    loss: tuple[float, float]
    items: tuple[ItemCost, ...]
    along: TradeoffCurve
    versions: Mapping[str, str]

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.held_out.task


@checked
def boosted_page(path: BoostedPath, X: Any, y: Any, *, chosen: BoostedPruning, **options: Unpack[PageOptions]) -> str:
    """`report_page` of a pruned boosted model."""
    return render_boosted(gather_boosted(path, X, y, chosen, **shown_as("Pruned boosted model", **options)))


def render_boosted(facts: BoostedFacts) -> str:
    """The page of its facts."""
    sections = [part(facts) for part in (_tradeoff, items, _proof, _provenance)]
    return document(facts.labels, _opening(facts), sections, facts.versions)


def gather_boosted(
    path: BoostedPath, X: Any, y: Any, chosen: BoostedPruning, *, sample_weight: Any, confidence: float, labels: Labels
) -> BoostedFacts:
    """Measure a pruning and the model before it on held-out examples.

    Raises
    ------
    InvalidInputError
        for a pruning of another model, and for rows, labels or weights that do not fit.
    """
    before, ensemble = path.unpruned, path.unpruned.forest.ensemble
    if chosen.kept.shape != before.kept.shape or chosen.forest.source is not before.forest.source:
        raise InvalidInputError(
            "chosen is a pruning of another model than path; take one of path.prunings, or path.at_cost(budget)"
        )
    rows = before.forest.rows(X)
    weight = check_weights(sample_weight, len(rows), "sample_weight")
    counted = weight > 0
    usage = before.usage.on(rows, weight)
    leaves = leaves_of(ensemble, rows).T
    nodes = [pruned_ends(ensemble, p.kept)[leaves] for p in (before, chosen)]
    losses, errors = [], []
    for pruning, reached in zip((before, chosen), nodes, strict=True):
        response = sum_response(pruning.forest)
        errors.append(losses_of(response.classes, response.predictions(response.sums(reached)), y)[counted])
        margins = pruning.forest.margins(rows, pruning.kept)
        losses.append(float(np.average(loss_of(pruning.forest, y, len(rows)).values(margins), weights=weight)))
    paid = [Paid(usage.row_costs(p.kept), usage.once_cost(p.kept)) for p in (before, chosen)]
    made = before.forest.made
    columns = ensemble.names[: before.forest.n_columns] if made is None else made.names
    loss = usual_loss("regression" if before.forest.classes is None else "classification")
    return BoostedFacts(
        labels,
        path,
        chosen,
        change_of((paid[0], paid[1]), (errors[0], errors[1]), weight[counted], confidence, loss=loss),
        (losses[0], losses[1]),
        tuple(_item_costs(usage, columns, [reached[counted] for reached in nodes], weight[counted], [before.kept, chosen.kept])),
        boosted_curve(path, X, y, "prune_boosted", None),
        versions(),
    )


def _item_costs(
    usage: Usage,
    columns: tuple[str, ...],
    nodes: list[NDArray[Any]],
    weight: NDArray[np.float64],
    kept: list[NDArray[np.bool_]],
) -> list[ItemCost]:
    """The items with a price, the dearest before pruning first, then the evaluation of splits."""
    costs, ensemble = usage.costs, usage.ensemble
    path, shares = items_on_path(ensemble, costs), []
    for reached in nodes:
        bought = np.zeros((len(reached), costs.n_items), dtype=bool)
        for t in range(reached.shape[1]):
            bought |= path[reached[:, t]]
        shares.append(np.where(costs.paid_once, bought.any(axis=0), np.average(bought, axis=0, weights=weight)))
    found = []
    for m in np.flatnonzero(costs.price > 0).tolist():
        price, (before, after) = float(costs.prices[m]), (float(share[m]) for share in shares)
        users = tuple(c for c, needs in zip(columns, costs.by_column, strict=False) if m in needs and c != costs.names[m])
        once = bool(costs.paid_once[m])
        found.append(ItemCost(costs.names[m], users, price, once, before, after, price * before, price * after))
    found.sort(key=lambda item: (-item.before, -item.after, item.name))
    spent = [usage.cost(k) - sum(getattr(i, side) for i in found) for k, side in zip(kept, ("before", "after"), strict=True)]
    if any(usage.evaluation):
        found.append(ItemCost("evaluation of splits", (), None, False, None, None, *spent))
    return found


def _loss_name(facts: BoostedFacts) -> str:
    return "log loss" if facts.task == "classification" else "squared error"


def _opening(facts: BoostedFacts) -> Html:
    h, kind = facts.held_out, facts.held_out.measure
    costs, errors = (h.cost_before.mean, h.cost_after.mean), (h.error_before.mean, h.error_after.mean)
    ensemble = facts.chosen.forest.ensemble
    figures = tag(
        "dl",
        *cost_and_error(h, kind, facts.labels.unit),
        stat(
            f"Mean {_loss_name(facts)} of the margins",
            amount(facts.loss[0]),
            amount(facts.loss[1]),
            "the loss that the pruning minimises, here on held-out examples",
        ),
        stat(
            "Size, splits in all trees",
            f"{ensemble.n_splits:,}",
            f"{facts.chosen.n_splits:,}",
            f"in {count(ensemble.n_trees, 'tree')}",
        ),
        class_="stats",
    )
    lede = tag("p", f"On {h.n:,} held-out examples ", comparison(costs, errors, kind, facts.labels.unit), ".", class_="lede")
    return join(tag("h1", name(facts.labels.title)), lede, figures, certainty(h, "Both models"))


def _tradeoff(facts: BoostedFacts) -> Section:
    along, h, what = facts.along, facts.held_out, facts.held_out.measure
    prunings = tuple(reversed(facts.path.prunings))
    chart = Chart(
        1.03 * max(h.cost_before.mean, float(along.cost.max())), 1.05 * max(h.error_before.high, float(along.error.max()))
    )
    parts = [
        chart.axes(cost_label(facts.labels.unit), f"{measure(what)} of the model, held out", error_ticks(what)),
        chart.line(points_of(along.cost, along.error), "line"),
        *(marker("dot", chart.x(x), chart.y(z)) for x, z in points_of(along.cost, along.error)),
    ]
    told = []
    for kind, cost, err in (("unpruned", h.cost_before, h.error_before), ("chosen", h.cost_after, h.error_after)):
        told.append(f"{kind}: cost {amount(cost.mean)}, {measure(what)} {error(err.mean, what)}")
        parts.append(marker(kind, chart.x(cost.mean), chart.y(err.mean), told[-1]))
    description = (
        f"{count(len(along), 'pruning')} from cost {amount(along.cost[0])} to {amount(along.cost[-1])}. {'. '.join(told)}."
    )
    svg = chart.svg("Held-out error against held-out cost", description, *parts, id_="boosted-chart")
    entries = [
        (marker("dot", 14, 8), "prunings of the path"),
        (marker("unpruned", 14, 8), "the model before pruning"),
        (marker("chosen", 14, 8), "the chosen pruning"),
    ]
    rows: list[list[object]] = [
        [f"{p.lam:.4g}", amount(p.cost), amount(p.loss), f"{p.n_splits:,}", amount(along.cost[k]), error(along.error[k], what)]
        for k, p in enumerate(prunings)
    ]
    header: list[object] = ["lambda", "cost", f"mean {_loss_name(facts)}", "splits", "cost, held out", "error, held out"]
    figure = tag("figure", tag("h3", "On held-out examples"), svg, legend(entries))
    caption = f"{count(len(rows), 'pruning')}; cost and loss on the rows that they were found on, then on held-out examples"
    return "tradeoff", "The trade-off", join(figure, table(caption, header, rows, id_="points"))


def _proof(facts: BoostedFacts) -> Section:
    chosen = facts.chosen
    stationary = (
        "It is stationary: no pruning improves the bound that the search minimises around it."
        if chosen.stationary
        else "It was not shown to be stationary: another descent from it may still lower loss + lambda cost."
    )
    proven = [
        "Cost and loss of every pruning are recomputed from its trees, never taken from a bound.",
        "On the rows that it was found on, the pruning for a lambda or a budget is never worse than the model after any number "
        "of rounds, nor than the model without one cost item, or without one after the other, "
        "unless a time limit ended the search.",
        stationary,
    ]
    warning = (
        "It is not proven that no better pruning exists. The trees of a boosted model correct each other, so its loss is no sum "
        "over trees, and no minimum cut minimises it."
    )
    content = join(tag("ul", *(tag("li", text) for text in proven)), tag("p", warning, class_="note"))
    return "proof", "What is proven, and what is not", content


def _provenance(facts: BoostedFacts) -> Section:
    forest = facts.chosen.forest
    model = type(forest.source).__name__ if forest.source is not None else "ModelForest"
    e = forest.ensemble
    read = count(forest.n_columns, "feature") if forest.made is None else count(len(forest.made.names), "raw column")
    rows: list[tuple[str, object]] = [
        ("model", f"{model}, {e.n_trees:,} trees, {read}, {facts.task}"),
        ("found on", count(facts.chosen.usage.n_rows, "example")),
        ("held out", count(facts.held_out.n, "example")),
        ("search", f"{count(len(facts.path.visited), 'pruning')} visited"),
    ]
    return data_section(rows, facts.labels, facts.versions)
