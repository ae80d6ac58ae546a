"""Boosting by LightGBM, which takes prices in its ``cegb_*`` parameters.

LightGBM's gains lack the 1/2 of CEGB17 eq. (12), and from each it takes

    cegb_tradeoff * ( cegb_penalty_split * rows in the leaf
                      + cegb_penalty_feature_lazy[f] * rows in the leaf that no tree has split by f yet
                      + cegb_penalty_feature_coupled[f] if no row has been )                         (1)

so  cegb_tradeoff = 2 lam w,  penalty_split = alpha,  lazy = c_f  and  coupled = N c_f  give the penalty of eq. (13); w is the
weight of every example.

Where LightGBM 4.7 does not do (1), or (1) is not the penalty that is wanted, this module refuses the input or avoids the case:

- *Coupled penalties* are right in the leaf that is split. But once a feature is bought, LightGBM values its splits in all other
  leaves of the tree at their gain without any penalty plus the coupled one, so it rewards what should become free (observed: a
  split with a gain of 0.019 was taken, and reported, at 1.019). So items paid once are refused unless trees have a single split.
- *Items that features share*, and *split prices by feature*, cannot be expressed (``feature_contri`` multiplies gains).
- *Rows count, weights do not*: a row of weight 2 pays once. Unequal weights are refused if there is a price to pay.
- *Lazy penalties* number pairs of row and feature with 32 bits; from 2^31 pairs on they are refused.
- *Bagging*: rows that are left out of a tree buy nothing in it although they will use it. If at most half are drawn, the rows are
  renumbered, so purchases are recorded for the wrong ones. *Continued training* (``init_model``) starts without any purchases.
  Neither is offered; only the parameters named here are passed to LightGBM.
- *Rows of a side*: to check `min_child_samples`, LightGBM estimates them from the second derivatives; so for classes leaves may
  hold fewer. engine="own" counts them.
- *A shortcut*: if no split of a leaf by a feature has a gain before its penalty, LightGBM no longer tries the feature below the
  leaf. With ``reg_lambda > 0``, which lowers gains, it may miss better splits. engine="own" tries all.
- *Growth*: best-first only. Where the limit on leaves cannot bind, any order grows the same tree.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.errors import InvalidInputError
from prunemodels.models.libraries.model_forest import ModelForest
from prunemodels.models.libraries.reading import read_model
from prunemodels.models.libraries.treelite_models import treelite
from prunemodels.rivals.boosted_learner import Prices
from prunemodels.rivals.cegb.own_engine import Settings
from prunemodels.rivals.histograms import TrainingRows

MOST_PAIRS = 2**31
"""LightGBM numbers pairs of row and feature with signed 32-bit integers: there must be fewer than this."""

OWN_TAKES_THEM = 'engine="own" takes them'


def boost_by_lightgbm(
    train: TrainingRows,
    n_classes: int,
    prices: Prices,
    settings: Settings,
    *,
    n_jobs: int | None,
    seed: int,
    hidden: bool,
) -> tuple[ModelForest, Any]:
    """Train a booster and read it, with labels 0, 1, ...; `n_classes` is 0 for numbers. Returns the model and the booster."""
    lightgbm = _lightgbm()
    X, target, weight = train.X, train.targets, np.ones(len(train.X)) if train.weight is None else train.weight
    parameters = {
        **booster_parameters(settings, n_classes),
        **penalties(prices, settings, weight, len(X)),
        "num_threads": effective_n_jobs(n_jobs),
        "seed": seed,
    }
    labels = target.argmax(axis=1) if n_classes > 2 else target[:, 0]
    weights = None if (weight == 1).all() else weight
    data = lightgbm.Dataset(X, labels, weight=weights, params=parameters, free_raw_data=True)
    booster = lightgbm.Booster(parameters, data)
    with tqdm(total=settings.n_estimators, desc="CEGB", file=sys.stderr, leave=False, disable=hidden) as bar:
        for _ in range(settings.n_estimators):
            if booster.update():
                break  # no tree of the round has a split; LightGBM keeps such a round only if it is the first
            bar.update()
    booster.free_dataset()
    forest = read_model(booster)
    return replace(forest, classes=np.arange(n_classes) if n_classes else None), booster


def booster_parameters(settings: Settings, n_classes: int) -> dict[str, Any]:
    """LightGBM's parameters without prices; with them its results do not depend on the number of threads."""
    kind = {0: "regression", 2: "binary"}.get(n_classes, "multiclass")
    return {
        "objective": kind,
        **({"num_class": n_classes} if kind == "multiclass" else {}),
        "learning_rate": settings.learning_rate,
        "num_leaves": settings.num_leaves,
        "max_depth": -1 if settings.max_depth is None else settings.max_depth,
        "min_data_in_leaf": settings.min_child_samples,
        "min_sum_hessian_in_leaf": settings.min_child_weight,
        "lambda_l2": settings.reg_lambda,
        "max_bin": settings.max_bin,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }


def penalties(prices: Prices, settings: Settings, weight: NDArray[np.float64], n_rows: int) -> dict[str, Any]:
    """The ``cegb_*`` parameters that express the prices by (1); none for ``lam=0``."""
    if settings.growth == "breadth" and settings.order_matters:
        raise InvalidInputError(
            f"growth is 'breadth', LightGBM grows best-first; give max_depth with 2**max_depth <= num_leaves "
            f'({settings.num_leaves}), where both are the same, or engine="own"'
        )
    if settings.lam == 0:
        return {}
    _check(prices, settings, weight)
    needed: dict[str, Any] = {
        "cegb_tradeoff": 2.0 * settings.lam * float(weight[0]),
        "cegb_penalty_split": float(prices.evaluation.max(initial=0.0)),
    }
    if prices.by_example.size:
        pairs = n_rows * prices.items.n_features
        if pairs >= MOST_PAIRS:
            raise InvalidInputError(
                f"X has {n_rows} rows and {prices.items.n_features} columns, {pairs} pairs; LightGBM's lazy penalties "
                f'count fewer than 2**31: give fewer rows, or engine="own"'
            )
        needed["cegb_penalty_feature_lazy"] = prices.by_feature(prices.by_example).tolist()
    if prices.for_all.size:
        needed["cegb_penalty_feature_coupled"] = (n_rows * prices.by_feature(prices.for_all)).tolist()
    return needed


def _check(prices: Prices, settings: Settings, weight: NDArray[np.float64]) -> None:
    items = prices.items
    if prices.shared:
        raise InvalidInputError(
            f"costs: several features need the item {items.names[prices.shared[0]]!r}, LightGBM has a price for each; "
            f"{OWN_TAKES_THEM}"
        )
    if prices.for_all.size and not settings.single_split:
        raise InvalidInputError(
            f"costs: the item {items.names[prices.for_all[0]]!r} is paid once for all; LightGBM rewards "
            f"further splits by its feature instead of making them free; {OWN_TAKES_THEM}, or give num_leaves=2"
        )
    if np.ptp(prices.evaluation) > 0:
        raise InvalidInputError(f"evaluation_cost differs by feature, LightGBM has one price for all splits; {OWN_TAKES_THEM}")
    if np.ptp(weight) > 0:
        raise InvalidInputError(
            "sample_weight is not the same for all rows; LightGBM's penalties count rows, whatever they weigh; "
            'engine="own" weighs costs and losses alike'
        )


def _lightgbm() -> Any:
    """The lightgbm package. treelite, which reads its models, is imported as well, before anything is trained."""
    try:
        import lightgbm
    except ImportError as error:
        raise ImportError(
            'engine="lightgbm" needs LightGBM; install it with: python -m pip install lightgbm "prunemodels[boosting]", '
            'or give engine="own"'
        ) from error
    treelite()
    return lightgbm
