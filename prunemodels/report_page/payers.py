"""What examples pay and ask for, before and after; what each stage buys that those before did not; how much of it pages show."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from formulations.instance.cost_items import CostItems
from formulations.shown import error_name, is_rate
from prunemodels.evaluation.evaluate import item_label
from prunemodels.stages.set_stages import BlendedStage, Constant
from prunemodels.stages.stages import PricedStages, Stages
from prunemodels.statements.by_class import positive_class


@dataclass(frozen=True)
class PageStyle:
    """How much a page shows, and how exactly."""

    most_items: int = 15  # largest number of items of which the page says who asks for them
    named_stages: int = 4  # the number of stages that the sentence on who stops where names, if there are more
    path_rows: int = 16  # rows of a path that a table shows
    few_trees: int = 7  # the largest number of trees that BP16 counts as few
    many_examples: int = 1000  # with at least this many examples, an error rate has two decimals of a per cent
    named: int = 6  # the largest number of items or features that a list names, unless it says another one
    cheapest: float = 0.15  # prunings and policies that cost less than this share of the dearest one may lie above the chart


PAGE = PageStyle()

UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that an HTML document must not contain."""


Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]


def printable(value: Any) -> Any:
    """Text, markup or not, without the characters that no document may hold; anything else unchanged."""
    return type(value)(UNPRINTABLE.sub("\ufffd", value)) if isinstance(value, str) else value


def measure(task: str) -> str:
    """The name of the error."""
    return "error rate" if is_rate(task) else error_name(task)


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


@dataclass(frozen=True)
class Item:
    """An item with a price; `once`: paid once for all examples together."""

    name: str
    price: float
    once: bool


@dataclass(frozen=True)
class Purchase:
    """What is new at one stage: items with a price that it is the first to need, features that it is the first to read.

    `model` is the kind of the stage's own model, and how many features it reads; None for stages that walk the same trees, and
    `splits` is the number of those that the stage is the first to keep.
    """

    items: tuple[Item, ...]
    features: tuple[str, ...]
    model: tuple[str, int] | None
    splits: int | None

    @property
    def price(self) -> float:
        """The price of the items that each example pays for."""
        return sum(item.price for item in self.items if not item.once)


def purchases(stages: Stages, names: Sequence[str] | None) -> tuple[Purchase, ...] | None:
    """What is new at every stage, by the names of the columns; None for stages that do not say what they read."""
    if not isinstance(stages, PricedStages):
        return None
    read = [features.tolist() for features in stages.features]
    if stages.models is None:
        more: list[tuple[Any, Any]] = [(None, len(splits)) for splits in read]
    else:
        more = [((_kind(model), len(columns)), None) for model, columns in zip(stages.models, read, strict=True)]
    items = stages.items
    columns = [f"x{f}" for f in range(stages.n_columns)] if names is None else [str(name) for name in names]
    had, paid, found = set[int](), set[int](), []
    for features, kind in zip(read, more, strict=True):
        new = sorted({c for f in features for c in stages.sources[f]} - had)
        needed = sorted({m for f in {*features} for m in items.needs[f] if items.price[m] > 0} - paid)
        had, paid = had.union(new), paid.union(needed)
        bought = (Item(item_label(items.names[m]), float(items.prices[m]), bool(items.paid_once[m])) for m in needed)
        found.append(Purchase(tuple(bought), tuple(columns[f] for f in new), *kind))
    return tuple(found)


def _kind(model: Any) -> str:
    """The class name of a model, or of the last step of a pipeline; empty for a constant, and those of all parts of a mean."""
    if isinstance(model, Constant):
        return ""
    if isinstance(model, BlendedStage):
        kinds = Counter(_kind(part) for part in model.models)
        return f"mean of {' and '.join(kind if n == 1 else f'{n} {kind}' for kind, n in kinds.items())}"
    return _kind(model.steps[-1][1]) if isinstance(model, Pipeline) else type(model).__name__
