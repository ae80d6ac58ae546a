"""The facts that a page shows of a pruned boosted model: held-out cost, error and loss, purchases, class by class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.extras import package
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import leaves_of
from formulations.instance.tree_loss import usual_loss
from prunemodels.evaluation.curve import TradeoffCurve, tradeoff_curve
from prunemodels.evaluation.evaluate import ItemCost, item_costs
from prunemodels.models.boosting.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.models.labelled_samples import losses_of
from prunemodels.models.libraries.model_forest import pruned_ends
from prunemodels.models.losses import loss_of
from prunemodels.report_page.facts import PageOptions, Tradeoff, before_and_after
from prunemodels.report_page.payers import Answers, Payers, payers
from prunemodels.statements.by_class import by_class
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.groups import group_numbers
from prunemodels.statements.wording import count


@dataclass(frozen=True, eq=False)
class BoostedFacts:
    """What the page shows. Pairs are in the order before, after pruning; losses are means on the held-out examples."""

    kind: ClassVar[str] = "boosted"
    heading: ClassVar[str] = "Pruned boosted model"
    budget: ClassVar[None] = None
    evidence: ClassVar[None] = None

    options: PageOptions
    path: BoostedPath
    chosen: BoostedPruning
    held_out: HeldOutChange
    loss: tuple[float, float]
    items: Sequence[ItemCost]
    along: TradeoffCurve
    payers: Payers | None

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.held_out.task

    @property
    def measure(self) -> str:
        """What the errors are, see `Ensemble.measure`."""
        return self.held_out.measure

    @property
    def tradeoff(self) -> Tradeoff:
        """Of all prunings of the path, on the held-out examples."""
        return Tradeoff(self.along.cost, self.along.error, None, ("pruning", "prunings"), before_and_after(self.held_out))

    @property
    def loss_name(self) -> str:
        """What the pruning minimises the mean of."""
        return "log loss" if self.task == "classification" else "squared error"

    @property
    def model(self) -> str:
        """The model, its size and what it reads, in words."""
        forest, source = self.chosen.forest, self.chosen.forest.source
        name = type(source).__name__ if source is not None else "ModelForest"
        read = count(forest.n_columns, "feature") if forest.made is None else count(len(forest.made.names), "raw column")
        return f"{name}, {forest.ensemble.n_trees:,} trees, {read}, {self.task}"


@checked
def gather_boosted(path: BoostedPath, X: Any, y: Any, *, chosen: BoostedPruning, **options: Any) -> BoostedFacts:
    """Measure a pruning and the model before it on held-out examples; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    shown = PageOptions(**options)
    before, ensemble = path.unpruned, path.unpruned.forest.ensemble
    if chosen.kept.shape != before.kept.shape or chosen.forest.source is not before.forest.source:
        raise InvalidInputError(
            "chosen is a pruning of another model than path; take one of path.prunings, or path.at_cost(budget)"
        )
    rows = before.forest.rows(X)
    weight = check_weights(shown.sample_weight, len(rows), "sample_weight", X)
    counted, usage, leaves = weight > 0, before.usage.on(rows, weight), leaves_of(ensemble, rows).T
    paid, errors, losses, answers = [], [], [], []
    for pruning in (before, chosen):
        forest, response = pruning.forest, pruning.forest.response()
        said = response.predictions(response.sums(pruned_ends(ensemble, pruning.kept)[leaves]))
        paid.append(SampleCost.of(usage, pruning.kept))
        errors.append(losses_of(response.classes, said, y)[counted])
        each = loss_of(forest, y, len(rows)).values(forest.margins(rows, pruning.kept))
        losses.append(float(np.average(each, weights=weight)))
        answers.append(Answers(np.asarray(said)[counted], paid[-1].rows))
    weights, confidence, made = weight[counted], shown.confidence, before.forest.made
    classes, truth, groups = before.forest.classes, np.asarray(y)[counted], group_numbers(shown.groups, X)
    groups = None if groups is None else groups[counted]
    judged = by_class(classes, truth, [answer.said for answer in answers], weights, confidence, shown.positive, groups=groups)
    loss = usual_loss("regression" if before.forest.classes is None else "classification")
    return BoostedFacts(
        shown,
        path,
        chosen,
        change_of((paid[0], paid[1]), (errors[0], errors[1]), weights, confidence, loss=loss, classes=judged, groups=groups),
        (losses[0], losses[1]),
        item_costs(usage, (before.kept, chosen.kept), ensemble.names[: before.forest.n_columns] if made is None else made.names),
        tradeoff_curve(path, X, y, sample_weight=weight),
        payers(classes, truth, weights, answers, usage.costs, shown.positive),
    )
