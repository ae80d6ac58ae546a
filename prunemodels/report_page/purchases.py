"""What is new at each stage compared with the stages before: items with a price, features, splits, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from prunemodels.evaluation.evaluate import item_label
from prunemodels.stages.set_stages import Constant
from prunemodels.stages.stages import PricedStages, Stages


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
    """The class name of a model, or of the last step of a pipeline; empty for a constant."""
    if isinstance(model, Constant):
        return ""
    return _kind(model.steps[-1][1]) if isinstance(model, Pipeline) else type(model).__name__
