"""Two models on the same examples: what each pays and how it errs, and their differences, example by example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.tree_loss import USUAL_LOSS, TreeLoss
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import group_numbers, losses_of
from prunemodels.models.tree_model import TreeModel
from prunemodels.stages.stages import check_same_prices
from prunemodels.statements.by_class import by_class
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of


@dataclass(frozen=True, eq=False)
class Answered:
    """What a model pays for examples, how it errs, and what it says: figures of examples of positive weight."""

    cost: SampleCost
    losses: NDArray[np.float64]
    said: NDArray[Any]  # of all examples
    loss: TreeLoss  # what the losses are
    classes: NDArray[Any] | None  # the labels that the model knows; None for numbers


def classes_of(model: TreeModel | Cascade) -> NDArray[Any] | None:
    """The labels of a model; None for numbers."""
    return model.stages_.classes if isinstance(model, Cascade) else model.classes


def check_prices_of(cascade: Cascade, costs: Costs | None, evaluation_cost: Any) -> None:
    """Refuse prices that contradict those of a fitted cascade."""
    if costs is not None or np.any(evaluation_cost):
        check_same_prices(cascade.stages_, getattr(cascade, "feature_names_in_", None), costs, evaluation_cost)


def answered(
    model: TreeModel | Cascade, X: Any, y: Any, weights: NDArray[np.float64], costs: Costs | None, evaluation_cost: EvaluationCost
) -> Answered:
    """What a model or a cascade answers for examples, by weight. A cascade knows its own prices."""
    at, said = weights > 0, np.asarray(model.predict(X))
    if isinstance(model, Cascade):
        seen, policy = evaluate_exit_path(model, X, y, sample_weight=weights), model.policy_
        cost = SampleCost(seen.costs(policy)[at], float(seen.table.once[policy.last_stage]))
        return Answered(cost, seen.losses(policy)[at], said, seen.path.by, model.stages_.classes)
    loss = USUAL_LOSS[model.task] if model.forest is not None else model.ensemble.loss
    usage = model.usage(X, costs, weights, evaluation_cost)
    cost = SampleCost.of(usage, model.ensemble.is_split)
    return Answered(cost, losses_of(model.classes, said, y, loss=loss)[at], said, loss, model.classes)


def in_one_loss(pair: Sequence[Answered], y: Any, at: NDArray[np.bool_]) -> list[Answered]:
    """Both judged by the same loss: by the costs of mistakes for which one of them was made, else by the usual loss.

    `at`: the examples of positive weight.
    """
    if pair[0].loss == pair[1].loss:
        return list(pair)
    costly, classes = [one.loss for one in pair if one.loss.costs], pair[0].classes
    loss = costly[0] if len(costly) == 1 else USUAL_LOSS["regression" if classes is None else "classification"]
    return [replace(one, losses=losses_of(classes, one.said, y, loss=loss)[at], loss=loss) for one in pair]


def change_between(
    before: Answered,
    after: Answered,
    y: Any,
    weights: NDArray[np.float64],
    names: tuple[str, str],
    groups: NDArray[np.int64] | None,
    confidence: float,
    positive: Any = None,
) -> HeldOutChange:
    """What two models cost, how they err, and what they say class by class, on the same examples, by weight.

    `y`, `weights`, `groups`: of all examples. `positive`: the class to be found, see `prunemodels.statements.by_class`.
    """
    at = weights > 0
    own, said = None if groups is None else groups[at], [one.said[at] for one in (before, after)]
    judged = by_class(before.classes, y[at], said, weights[at], confidence, positive, names, own)
    pairs = (before.cost, after.cost), (before.losses, after.losses)
    return change_of(*pairs, weights[at], confidence, loss=before.loss, classes=judged, names=names, groups=own)


def compared(
    models: Sequence[TreeModel | Cascade],
    X: Any,
    y: Any,
    weights: NDArray[np.float64],
    costs: Costs | None,
    evaluation_cost: Any,
    groups: Any,
) -> HeldOutChange:
    """`prunemodels.evaluate` of the second model against the first."""
    known = [None if (classes := classes_of(model)) is None else classes.tolist() for model in models]
    if known[0] != known[1]:
        told = ["numbers" if labels is None else labels for labels in known]
        raise InvalidInputError(f"against answers {told[0]}, the model {told[1]}; give models of the same labels")
    for model in models:
        if isinstance(model, Cascade):
            check_prices_of(model, costs, evaluation_cost)
    truth, numbers = np.asarray(y), group_numbers(groups, X)
    pair = in_one_loss([answered(model, X, y, weights, costs, evaluation_cost) for model in models], truth, weights > 0)
    other, kind = (type(getattr(model, "model", model)).__name__ for model in models)
    return change_between(pair[0], pair[1], truth, weights, (other if other != kind else f"other {kind}", kind), numbers, 0.95)
