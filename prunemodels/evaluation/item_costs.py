"""The mean cost of each item on held-out examples, before and after pruning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.instance.problem import PruningProblem

SHARED = "shared:"
"""How `CostItems.discounted` begins the name of an item that a group of features shares."""


@dataclass(frozen=True)
class ItemCost:
    """One cost item, or the evaluation of splits.

    Parameters
    ----------
    features
        names of the features, or of a pipeline's raw columns, that need it, other than the one of its own name.
    price
        price of the item; None for the evaluation, whose price may differ by feature.
    once
        whether it is paid once for all examples.
    bought_before, bought_after
        share of the examples that pay for it, by weight; None for the evaluation.
    before, after
        mean cost for an example.
    """

    name: str
    features: tuple[str, ...]
    price: float | None
    once: bool
    bought_before: float | None
    bought_after: float | None
    before: float
    after: float

    @property
    def label(self) -> str:
        """The name in words."""
        return item_label(self.name)


def item_label(name: str) -> str:
    """An item's name in words: what the features of a group share (`CostItems.discounted`), and the first of them pays."""
    return f"first of group {name.removeprefix(SHARED)}" if name.startswith(SHARED) else name


def item_costs(problem: PruningProblem, kept: NDArray[np.bool_]) -> list[ItemCost]:
    """The costs of all items with a price, and of evaluating splits if that has one; the dearest before pruning first."""
    costs, ensemble = problem.costs, problem.ensemble
    prunings = Pruning.unpruned(problem), Pruning(problem, kept)
    shares = [_shares(p) for p in prunings]
    names = ensemble.column_names
    rows = []
    for m in np.flatnonzero(costs.price > 0).tolist():
        price, (before, after) = float(costs.prices[m]), (float(s[m]) for s in shares)
        users = tuple(names[f] for f, items in enumerate(costs.by_column) if m in items and names[f] != costs.names[m])
        once = bool(costs.paid_once[m])
        rows.append(ItemCost(costs.names[m], users, price, once, before, after, price * before, price * after))
    rows.sort(key=lambda item: (-item.before, -item.after, item.name))
    spent = [p.evaluation_cost for p in prunings]
    if spent[0] > 0:
        rows.append(ItemCost("evaluation of splits", (), None, False, None, None, *spent))
    return rows


def _shares(pruning: Pruning) -> NDArray[np.float64]:
    """Share of the examples, by weight, that buy each item; 1 or 0 where it is paid once."""
    problem = pruning.problem
    of_rows = np.array([problem.weights[bought].sum() for bought in pruning.bought]) / problem.usage.total_weight
    shares: NDArray[np.float64] = np.where(problem.costs.paid_once, pruning.bought_once, of_rows)
    return shares
