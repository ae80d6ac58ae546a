"""What examples pay and ask for, before and after, by what they are and by what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems
from prunemodels.evaluation.evaluate import item_label
from prunemodels.report_page.page_style import PAGE
from prunemodels.statements.by_class import positive_class

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Group:
    """Some examples: their number, and what they pay before and after, each as mean, median and 95th percentile."""

    name: str
    n: int
    before: tuple[float, float, float]
    after: tuple[float, float, float]


@dataclass(frozen=True)
class Asked:
    """An item, and the share that asks for it: of positive and of other examples, before and after. Before may be unknown."""

    label: str
    positive: tuple[float | None, float]
    other: tuple[float | None, float]


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model says and asks for: labels, shape (N,); what each example pays, without items paid once for all; and the items
    that each pays, shape (M, N), None where that is not known.
    """

    said: NDArray[Any]
    paid: Floats
    bought: Flags | None = None


@dataclass(frozen=True, eq=False)
class Payers:
    """Groups of examples, and the dearest items."""

    positive: str
    groups: tuple[Group, ...]
    items: tuple[Asked, ...]


def payers(
    classes: NDArray[Any] | None,
    truth: NDArray[Any],
    weights: Floats,
    answers: Sequence[Answers],
    items: CostItems,
    positive: Any = None,
) -> Payers | None:
    """Compare what two models ask of the positive class and of others; None where no class is one."""
    k = None if classes is None else positive_class(classes, truth, weights, positive)
    if k is None or classes is None:
        return None
    names = [str(label) for label in classes.tolist()]
    ill, called = truth == classes[k], answers[1].said == classes[k]
    other = names[1 - k] if len(names) == 2 else f"not {names[k]}"
    truly = [("everybody", np.ones(ill.size, dtype=bool)), (f"“{names[k]}”", ill), (f"“{other}”", ~ill)]
    groups = [*truly, (f"called “{names[k]}”", called), (f"called “{other}”", ~called)]
    paid = [answer.paid for answer in answers]
    return Payers(
        names[k],
        tuple(Group(name, int(at.sum()), *(_paid(p[at], weights[at]) for p in paid)) for name, at in groups if at.any()),
        tuple(_asked(items, [answer.bought for answer in answers], ill, weights)),
    )


def _paid(paid: Floats, weights: Floats) -> tuple[float, float, float]:
    """Mean, median and 95th percentile, by weight."""
    order = np.argsort(paid, kind="stable")
    total = np.cumsum(weights[order])
    median, high = (float(paid[order][np.searchsorted(total, q * total[-1] * (1 - 1e-12))]) for q in (0.5, 0.95))
    return float(weights @ paid / weights.sum()), median, high


def _asked(items: CostItems, bought: Sequence[Flags | None], ill: Flags, weights: Floats) -> list[Asked]:
    """The priced items on which the model before spends most, if that is known, else the one after."""
    before, after = bought
    if after is None:
        return []
    spent = items.price * ((after if before is None else before) @ weights)
    spent[items.paid_once] = 0.0
    order = [m for m in np.argsort(-spent, kind="stable") if spent[m] > 0][: PAGE.most_items]

    def share(of: Flags | None, m: int, at: Flags) -> float | None:
        return None if of is None else float(weights[at] @ of[m, at] / weights[at].sum())

    found = []
    for m in order:
        pairs = [(share(before, m, at), share(after, m, at) or 0.0) for at in (ill, ~ill)]
        found.append(Asked(item_label(items.names[m]), pairs[0], pairs[1]))
    return found
