"""The mean cost of each item on held-out examples, before and after pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.instance.usage import Usage

SHARED = "shared:"
"""How `CostItems.discounted` begins the name of an item that a group of features shares."""


@dataclass(frozen=True)
class ItemCost:
    """One cost item, or the evaluation of splits."""

    name: str
    # names of the features, or of a pipeline's raw columns, that need it, other than the one of its own name.
    features: tuple[str, ...]
    price: float | None  # price of the item; None for the evaluation, whose price may differ by feature.
    once: bool  # whether it is paid once for all examples.
    # bought_before, bought_after: share of the examples that pay for it, by weight; None for the evaluation.
    bought_before: float | None
    bought_after: float | None
    # before, after: mean cost for an example.
    before: float
    after: float

    @property
    def label(self) -> str:
        """The name in words."""
        return item_label(self.name)


def item_label(name: str) -> str:
    """An item's name in words: what the features of a group share (`CostItems.discounted`), and the first of them pays."""
    return f"first of group {name.removeprefix(SHARED)}" if name.startswith(SHARED) else name


def item_costs(usage: Usage, kept: Sequence[NDArray[np.bool_]], columns: Sequence[str]) -> list[ItemCost]:
    """The costs of all items with a price, and of evaluating splits if that has one; the dearest before pruning first.

    Parameters
    ----------
    usage
        on the examples.
    kept
        the splits that are kept before and after pruning.
    columns
        the names of the columns that ask for the items, as in `CostItems.by_column`.
    """
    costs, bills, found = usage.costs, [usage.bill(k) for k in kept], []
    shares = [np.where(costs.paid_once, bill.once, bill.payers / bill.total) for bill in bills]
    for m in np.flatnonzero(costs.price > 0).tolist():
        price, (before, after) = float(costs.prices[m]), (float(share[m]) for share in shares)
        users = tuple(c for c, items in zip(columns, costs.by_column, strict=False) if m in items and c != costs.names[m])
        once = bool(costs.paid_once[m])
        found.append(ItemCost(costs.names[m], users, price, once, before, after, price * before, price * after))
    found.sort(key=lambda item: (-item.before, -item.after, item.name))
    spent = [bill.evaluation_cost for bill in bills]
    if spent[0] > 0:
        found.append(ItemCost("evaluation of splits", (), None, False, None, None, *spent))
    return found
