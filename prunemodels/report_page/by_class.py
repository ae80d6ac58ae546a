"""What two models do for the examples of one class, the positive one, and for all others: errors of both kinds, and payments.

    missed         positive examples that are called otherwise,       sensitivity = 1 - missed / positives                (1)
    false alarms   other examples that are called positive,           specificity = 1 - false alarms / others             (2)

Intervals of these shares are exact (Clopper and Pearson 1934), see `prunemodels.statements.mean_bounds`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.evaluation.evaluate import item_label
from prunemodels.report_page.page_style import PAGE
from prunemodels.statements.mean_bounds import share_interval

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Rate:
    """How many of how many, and the share of the population with its interval."""

    count: int
    of: int
    share: float
    low: float
    high: float


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
class ByClass:
    """Pairs are in the order before, after. `lost` positives were found before and are missed now, `found` the reverse."""

    positive: str
    other: str
    missed: tuple[Rate, Rate]
    alarms: tuple[Rate, Rate]
    lost: int
    found: int
    groups: tuple[Group, ...]
    items: tuple[Asked, ...]


def by_class(
    classes: NDArray[Any] | None,
    truth: NDArray[Any],
    weights: Floats,
    answers: Sequence[Answers],
    items: CostItems,
    confidence: float,
    positive: Any = None,
) -> ByClass | None:
    """Compare two models class by class; None for numbers, and for three classes and more of which none is named.

    `classes` are the labels that the models know, None where they predict numbers. A positive class that they do not know, or
    that no example or every one has, is refused.
    """
    if classes is None and positive is not None:
        raise InvalidInputError(f"positive is {positive!r}, and the model predicts numbers; leave it out")
    if classes is None or (positive is None and len(classes) != 2):
        return None
    names = [str(label) for label in classes.tolist()]
    if positive is not None and str(positive) not in names:
        raise InvalidInputError(f"positive is {positive!r}, which is none of the classes {names}; name one of them")
    k = int(np.average(truth == classes[1], weights=weights) <= 0.5) if positive is None else names.index(str(positive))
    ill = truth == classes[k]
    if ill.all() or not ill.any():
        if positive is None:
            return None
        raise InvalidInputError(f"positive is {positive!r}, and {'all' if ill.all() else 'no'} examples have it; give both kinds")
    said = [answer.said == classes[k] for answer in answers]
    missed = [_rate(~s[ill], weights[ill], confidence) for s in said]
    alarms = [_rate(s[~ill], weights[~ill], confidence) for s in said]
    other = names[1 - k] if len(names) == 2 else f"not {names[k]}"
    paid = [answer.paid for answer in answers]
    everyone = np.ones(ill.size, dtype=bool)
    truly = [("everybody", everyone), (f"“{names[k]}”", ill), (f"“{other}”", ~ill)]
    groups = [*truly, (f"called “{names[k]}”", said[1]), (f"called “{other}”", ~said[1])]
    return ByClass(
        names[k],
        other,
        (missed[0], missed[1]),
        (alarms[0], alarms[1]),
        int((said[0] & ~said[1] & ill).sum()),
        int((~said[0] & said[1] & ill).sum()),
        tuple(Group(name, int(at.sum()), *(_paid(p[at], weights[at]) for p in paid)) for name, at in groups if at.any()),
        tuple(_asked(items, [answer.bought for answer in answers], ill, weights)),
    )


def _rate(hits: Flags, weights: Floats, confidence: float) -> Rate:
    found = share_interval(hits.astype(np.float64), weights, confidence)
    return Rate(int(hits.sum()), hits.size, found.mean, found.low, found.high)


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
