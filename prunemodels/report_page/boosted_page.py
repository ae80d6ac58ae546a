"""The page on a pruned boosted model: held-out cost, error and loss, purchases, and what is proven and what is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.cost_items import CostItems
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import leaves_of
from formulations.instance.tree_loss import usual_loss
from formulations.instance.usage import Usage
from prunemodels.evaluation.curve import TradeoffCurve, boosted_curve
from prunemodels.evaluation.item_costs import ItemCost
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.forests.labels import class_numbers, losses_of
from prunemodels.models.libraries.model_forest import pruned_ends
from prunemodels.models.losses import loss_of
from prunemodels.models.response import sum_response
from prunemodels.on_demand.deciding import items_on_path
from prunemodels.report_page.by_class import Answers, ByClass, by_class, refuse_positive
from prunemodels.report_page.facts import Labels, PageOptions, shown_as, versions
from prunemodels.report_page.rendering import BY_CLASS, render_page
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.wording import count


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
    classes: ByClass | None
    versions: Mapping[str, str]

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.held_out.task


@checked
def boosted_page(path: BoostedPath, X: Any, y: Any, *, chosen: BoostedPruning, **options: Unpack[PageOptions]) -> str:
    """`report_page` of a pruned boosted model."""
    return render_boosted(gather_boosted(path, X, y, chosen, **shown_as("Pruned boosted model", **options)))


def gather_boosted(
    path: BoostedPath, X: Any, y: Any, chosen: BoostedPruning, *, sample_weight: Any, confidence: float, labels: Labels
) -> BoostedFacts:
    """Measure a pruning and the model before it on held-out examples.

    Raises
    ------
    InvalidInputError
        for a pruning of another model, and for rows, labels or weights that do not fit.
    """
    package("matplotlib")  # where it is missing, say so before the work
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
    losses, errors, said = [], [], []
    for pruning, reached in zip((before, chosen), nodes, strict=True):
        response = sum_response(pruning.forest)
        said.append(response.predictions(response.sums(reached)))
        errors.append(losses_of(response.classes, said[-1], y)[counted])
        margins = pruning.forest.margins(rows, pruning.kept)
        losses.append(float(np.average(loss_of(pruning.forest, y, len(rows)).values(margins), weights=weight)))
    paid = [SampleCost(usage.row_costs(p.kept), usage.once_cost(p.kept)) for p in (before, chosen)]
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
        _by_class(before.forest.classes, said, y, counted, weight[counted], paid, usage.costs, confidence, labels.positive),
        versions(),
    )


def _by_class(
    classes: NDArray[Any] | None,
    said: Sequence[Any],
    y: Any,
    counted: NDArray[np.bool_],
    weights: NDArray[np.float64],
    paid: Sequence[SampleCost],
    costs: CostItems,
    confidence: float,
    positive: Any,
) -> ByClass | None:
    """Both models class by class."""
    if classes is None:
        refuse_positive(positive)
        return None
    truth, *answers = (class_numbers(classes, np.asarray(labels), counted.size)[counted] for labels in (y, *said))
    before, after = (Answers(labels, p.rows) for labels, p in zip(answers, paid, strict=True))
    return by_class(classes, truth, weights, (before, after), costs, confidence=confidence, positive=positive)


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


CONTENTS = {
    "detection": "Missed and false alarms",
    "payers": "Who pays what",
    "tradeoff": "The trade-off",
    "items": "What predictions pay for",
    "proof": "What is proven, and what is not",
    "data": "Data and versions",
}


def render_boosted(facts: BoostedFacts) -> str:
    """The page of its facts."""
    pictures = package("prunemodels.report_page.pictures")
    forest, ensemble = facts.chosen.forest, facts.chosen.forest.ensemble
    model = type(forest.source).__name__ if forest.source is not None else "ModelForest"
    read = count(forest.n_columns, "feature") if forest.made is None else count(len(forest.made.names), "raw column")
    data = [
        ("model", f"{model}, {ensemble.n_trees:,} trees, {read}, {facts.task}"),
        ("found on", count(facts.chosen.usage.n_rows, "example")),
        ("held out", count(facts.held_out.n, "example")),
        ("search", f"{count(len(facts.path.visited), 'pruning')} visited"),
    ]
    points = list(zip(reversed(facts.path.prunings), facts.along.cost, facts.along.error, strict=True))
    loss = "log loss" if facts.task == "classification" else "squared error"
    drawn = {"boosted": pictures.boosted(facts)}
    contents = {key: heading for key, heading in CONTENTS.items() if facts.classes is not None or key not in BY_CLASS}
    return render_page("boosted", contents, facts, data=data, pictures=drawn, points=points, loss_name=loss)
