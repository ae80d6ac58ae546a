"""Boosting with CEGB17's penalty in full: this package's own engine.

It handles cases that LightGBM cannot express or gets wrong: items that features share, items paid once, split prices by feature
(CEGB17 section 5.2), example weights in the cost, breadth-first growth. Histograms and binning are simple, and it uses one core.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.instance.ensemble import Ensemble
from prunemodels.other_libraries.links import Link
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.rivals.cegb.bins import Bins
from prunemodels.rivals.cegb.grower import GrownTree, grow
from prunemodels.rivals.cegb.losses import Loss
from prunemodels.rivals.cegb.prices import Prices
from prunemodels.rivals.cegb.purchases import Purchases
from prunemodels.rivals.cegb.settings import Settings


def boost(
    X: NDArray[np.float32], loss: Loss, weight: NDArray[np.float64], prices: Prices, settings: Settings, hidden: bool
) -> tuple[ModelForest, tuple[NDArray[np.float64], ...]]:
    """Grow trees one after the other, until `n_estimators` rounds are done or none of a round's trees has a split.

    Parameters
    ----------
    X
        examples, shape (N, F); NaN is a missing value.
    hidden
        whether the progress bar is hidden.

    Returns
    -------
    forest, gains
        the model, with labels 0, 1, ...; and for each tree the penalised gains (12) of its splits, 0 at leaves.
    """
    bins, purchases = Bins.of(X, weight, settings.max_bin), Purchases(prices, weight)
    base = loss.start(weight)
    margins, trees = np.tile(base, (len(X), 1)), list[GrownTree]()
    with tqdm(total=settings.n_estimators, desc="CEGB", file=sys.stderr, leave=False, disable=hidden) as bar:
        for _ in range(settings.n_estimators):
            g, h = loss.derivatives(margins)
            grown = []
            for o in range(loss.n_outputs):
                terms = np.column_stack([weight * g[:, o], weight * h[:, o]])
                tree, leaves = grow(bins, terms, purchases, settings)
                grown.append(tree)
                for node, rows in leaves:
                    margins[rows, o] += tree.value[node]
            if all(len(tree.left) == 1 for tree in grown):
                break  # the next round would start from the same purchases and margins, and so have the same trees
            trees += grown
            bar.update()
    forest = as_forest(trees or grown, base, loss, X.shape[1])
    return forest, tuple(np.array(tree.gain) for tree in trees or grown)


def as_forest(trees: list[GrownTree], base: NDArray[np.float64], loss: Loss, n_features: int) -> ModelForest:
    """The trees as arrays; a round's trees are in the order of the outputs."""
    start = np.concatenate([[0], np.cumsum([len(tree.left) for tree in trees])]).astype(np.int64)

    def joined(name: str, dtype: Any) -> Any:
        return np.concatenate([np.array(getattr(tree, name), dtype=dtype) for tree in trees])

    def children(name: str) -> NDArray[np.int32]:
        own = joined(name, np.int32)
        return np.where(own >= 0, own + np.repeat(start[:-1], np.diff(start)), -1).astype(np.int32)

    value = joined("value", np.float64)[:, None]
    ensemble = Ensemble(
        start,
        children("left"),
        children("right"),
        joined("feature", np.int32),
        joined("threshold", np.float64),
        joined("missing_left", np.bool_),
        value,
        n_features,
        "regression",
    )
    link: dict[int, Link] = {0: "identity", 2: "sigmoid"}
    return ModelForest(
        ensemble=ensemble,
        leaf_value=value,
        classes=np.arange(loss.classes) if loss.classes else None,
        output=(np.arange(len(trees)) % loss.n_outputs).astype(np.int32),
        scale=np.ones(len(trees)),
        base=base,
        link=link.get(loss.classes, "softmax"),
        sharpness=1.0,
        averaged=False,
        source=None,
        node_id=np.concatenate([np.arange(len(tree.left), dtype=np.int32) for tree in trees]),
    ).with_cover(joined("hessian", np.float64))
