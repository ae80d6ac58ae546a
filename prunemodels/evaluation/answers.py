"""What a model or a cascade answers for rows without labels: the answer, its probabilities, what each row buys and pays.

All figures are those of the model's own ``predict`` and ``predict_proba``, of a cascade's ``prediction_cost`` and
``stop_stages``, and of (1) in `prunemodels.models.costs`. A cascade buys by stages; trees ask in their order, from the root down.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.instance.routing import leaves_of
from prunemodels.cascades.cascade import Cascade
from prunemodels.evaluation.evaluate import item_label
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import TreeModel
from prunemodels.stages.policy import decide
from prunemodels.stages.stages import PricedStages


@dataclass(frozen=True, eq=False)
class Answers:
    """The answers for N rows."""

    said: NDArray[Any]  # shape (N,): labels or numbers
    classes: NDArray[Any] | None  # the K labels; None for numbers
    probability: NDArray[np.float64] | None  # shape (N, K); None for numbers
    # what each row pays, shape (N,), without what is paid once for all rows; None where there are no prices
    cost: NDArray[np.float64] | None
    once: float  # the price of the items that are paid once for all rows
    stage: NDArray[np.int64] | None  # shape (N,): the stage at which a cascade stops; None for other models
    items: tuple[str, ...]  # the M items in words
    price: NDArray[np.float64]  # shape (M,); NaN without prices
    first: NDArray[np.int64]  # shape (M, N): when a row buys an item, by stage or in the order of the splits; -1: it does not

    @property
    def in_order(self) -> list[str]:
        """What each row buys, in order: of a cascade stage by stage."""
        patterns, place = np.unique(self.first, axis=1, return_inverse=True)
        texts = [self._listed(patterns[:, p]) for p in range(patterns.shape[1])]
        return [texts[p] for p in np.ravel(place).tolist()]

    def _listed(self, first: NDArray[np.int64]) -> str:
        """One row's items."""
        order = [m for m in np.argsort(first, kind="stable").tolist() if first[m] >= 0]
        if self.stage is None:
            return ", ".join(self.items[m] for m in order)
        groups: dict[int, list[str]] = {}
        for m in order:
            groups.setdefault(int(first[m]), []).append(self.items[m])
        return "; ".join(f"stage {s}: {', '.join(names)}" for s, names in groups.items())

    def to_frame(self) -> pd.DataFrame:
        """A row for each answer."""
        columns: dict[str, Any] = {"answer": self.said}
        if self.classes is not None and self.probability is not None:
            columns |= {f"probability of {label}": self.probability[:, k] for k, label in enumerate(self.classes.tolist())}
        columns |= {} if self.cost is None else {"cost": self.cost}
        columns |= {"bought": self.in_order} if self.items else {}
        columns |= {} if self.stage is None else {"stage": self.stage}
        return pd.DataFrame(columns)


def answers_of(model: TreeModel | Cascade, X: Any, costs: Costs | None = None, evaluation_cost: Any = 0) -> Answers:
    """The answers for the rows of X; a cascade has its own prices, and a pruned model holds those that it was pruned with."""
    return _of_cascade(model, X) if isinstance(model, Cascade) else _of_trees(model, X, costs, evaluation_cost)


def _of_cascade(cascade: Any, X: Any) -> Answers:
    rows, stages = cascade._rows(X), cascade.stages_
    decision = decide(cascade.policy_, stages, rows)
    classes, stage = stages.classes, decision.stage
    probability = None if classes is None else decision.value
    once = float(stages.once[cascade.policy_.last_stage])
    common = (cascade._said(decision.value), classes, probability, cascade._paid(rows, stage), once, stage)
    if not isinstance(stages, PricedStages):
        return Answers(*common, (), np.zeros(0), np.zeros((0, len(stage)), dtype=np.int64))
    priced = np.flatnonzero(stages.items.price > 0)
    first = stages.first_bought(rows)[priced]
    names = tuple(item_label(stages.items.names[m]) for m in priced.tolist())
    return Answers(*common, names, stages.items.price[priced], np.where(first <= stage, first, -1))


def _of_trees(model: TreeModel, X: Any, costs: Costs | None, evaluation_cost: Any) -> Answers:
    costs, evaluation_cost = model.priced(costs, evaluation_cost)
    usage, e = model.usage(X, 1 if costs is None else costs, evaluation_cost=evaluation_cost), model.ensemble
    items, is_split = usage.costs, e.is_split
    rank = e.tree_of.astype(np.int64) * (int(e.depth.max()) + 1) + e.depth
    ranks, place = np.unique(rank[is_split], return_inverse=True)
    none = len(ranks)
    step = np.full(e.n_nodes, none, dtype=np.int32)
    step[is_split] = np.ravel(place)
    first = np.minimum(usage.first_stage_by_row(step, none), usage.first_stage_once(step, none)[:, None])
    priced = np.flatnonzero(items.price > 0)
    first = np.where(first < none, first, -1)[priced]
    names = tuple(item_label(items.names[m]) for m in priced.tolist())
    cost = None if costs is None else usage.row_costs(is_split)
    price = np.full(len(names), np.nan) if costs is None else items.price[priced]
    once = usage.once_cost(is_split)
    return Answers(model.predict(X), model.classes, _probability(model, X), cost, once, None, names, price, first)


def _probability(model: TreeModel, X: Any) -> NDArray[np.float64] | None:
    """Of each class, as the model's own ``predict_proba`` gives them."""
    if model.classes is None:
        return None
    if model.forest is None or model.decision is not None:
        return np.asarray(model.model.predict_proba(X))
    found = model.response.probabilities(model.response.sums(leaves_of(model.ensemble, model._features(X)).T))
    return None if found is None else np.asarray(found)
