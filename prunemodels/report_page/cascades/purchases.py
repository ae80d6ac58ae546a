"""What is new at each stage compared with the stages before: items with a price, features, splits, trees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from prunemodels.evaluation.item_costs import item_label
from prunemodels.exits.set_stages import Constant, SetStages
from prunemodels.exits.stages import Stages
from prunemodels.exits.tree_stages import TreeStages


@dataclass(frozen=True)
class Item:
    """An item with a price; `once`: paid once for all examples together."""

    name: str
    price: float
    once: bool


@dataclass(frozen=True)
class Purchase:
    """What is new at one stage.

    Parameters
    ----------
    items
        items with a price that the stage is the first to need.
    features
        features that the stage is the first to read.
    model
        kind of the stage's own model, and how many features it reads; None for stages that walk the same trees.
    splits, trees
        numbers of splits and trees that the stage is the first to use; None for stages with models of their own.
    """

    items: tuple[Item, ...]
    features: tuple[str, ...]
    model: tuple[str, int] | None
    splits: int | None
    trees: int | None

    @property
    def price(self) -> float:
        """The price of the items that each example pays for."""
        return sum(item.price for item in self.items if not item.once)


def purchases(stages: Stages, names: Sequence[str] | None) -> tuple[Purchase, ...] | None:
    """What is new at every stage; None for stages that do not say what they read.

    Parameters
    ----------
    names
        names of the columns; None: ``x0``, ``x1`` ...
    """
    if isinstance(stages, SetStages):
        features = _first_stages(stages.features, stages.items.n_features, stages.n_stages)
        models = [(_kind(model), columns.size) for model, columns in zip(stages.models, stages.features, strict=True)]
        more: list[tuple[Any, Any, Any]] = [(model, None, None) for model in models]
    elif isinstance(stages, TreeStages):
        e = stages.ensemble
        kept = np.flatnonzero(e.is_split & (stages.first_stage < stages.n_stages))
        first = stages.first_stage[kept]
        features = _first_stages([e.feature[kept[first == s]] for s in range(stages.n_stages)], e.n_features, stages.n_stages)
        splits, trees = (np.bincount(f, minlength=stages.n_stages) for f in (first, stages.joins))
        more = [(None, int(splits[s]), int(trees[s])) for s in range(stages.n_stages)]
    else:
        return None
    items = stages.items
    first_item = np.full(items.n_items, stages.n_stages)
    for f in np.flatnonzero(features < stages.n_stages).tolist():
        needed = list(items.needs[f])
        first_item[needed] = np.minimum(first_item[needed], features[f])
    feature_names = [f"x{f}" for f in range(items.n_features)] if names is None else [str(name) for name in names]
    return tuple(
        Purchase(
            tuple(
                Item(item_label(items.names[m]), float(items.prices[m]), bool(items.paid_once[m]))
                for m in np.flatnonzero((first_item == s) & (items.price > 0)).tolist()
            ),
            tuple(feature_names[f] for f in np.flatnonzero(features == s).tolist()),
            *more[s],
        )
        for s in range(stages.n_stages)
    )


def _first_stages(read: Sequence[NDArray[Any]], n_features: int, n_stages: int) -> NDArray[np.int64]:
    """The first stage that reads each feature, shape (F,); S where no stage does."""
    first = np.full(n_features, n_stages, dtype=np.int64)
    for s in range(n_stages - 1, -1, -1):
        first[read[s]] = s
    return first


def _kind(model: Any) -> str:
    """The class name of a model, or of the last step of a pipeline; empty for a constant."""
    if isinstance(model, Constant):
        return ""
    return _kind(model.steps[-1][1]) if isinstance(model, Pipeline) else type(model).__name__
