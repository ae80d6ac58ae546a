"""GreedyMiser as a special case of CEGB: CEGB17 section 4.3.

"When we limit Eq. (8) to first order terms only, use breadth-first instead of best-first growth, assume that features always
have to be computed for all instances at once and limit the tree depth to four we minimize Eq. (18) from [33]." That is
GreedyMiser.

Each of these has its place in `CEGBRegressor`. Of the squared error the second derivative is 1, so steps of second order are
those of first order. ``growth="breadth"`` and ``max_depth=4`` are parameters. Features computed for all instances at once are
items paid once. CEGB's loss is (y - m)^2 / 2, GreedyMiser's (y - m)^2: its lambda is twice CEGB's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from prunemodels.rivals import greedy_miser_growth as growth
from prunemodels.rivals.boosted_learner import ModelItems
from prunemodels.rivals.cegb import CEGBRegressor
from prunemodels.rivals.greedy_miser import GreedyMiserRegressor
from tests.loops import looped

PRICES = [1, 2, 3, 4, 5]


def noisy(seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Eighty examples of five features, three of which matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 5)).astype(np.float32).astype(np.float64)
    return X, X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=80)


def both(X: Any, y: Any, lam: float, n_estimators: int, **cegb: Any) -> tuple[GreedyMiserRegressor, CEGBRegressor]:
    """GreedyMiser, and CEGB as CEGB17 limits it."""
    names = [f"f{k}" for k in range(X.shape[1])]
    once = CostItems.from_items(dict(zip(names, PRICES, strict=False)), [[name] for name in names], once=names)
    miser = GreedyMiserRegressor(once, lam=lam, n_estimators=n_estimators, learning_rate=0.3, max_depth=4).fit(X, y)
    limits: dict[str, Any] = {"growth": "breadth", "max_depth": 4, "num_leaves": 16, "min_child_samples": 1, **cegb}
    boosted = CEGBRegressor(once, engine="own", lam=lam / 2, n_estimators=n_estimators, learning_rate=0.3, **limits)
    return miser, boosted.fit(X, y)


def splits(ensemble: Ensemble, t: int) -> list[tuple[int, float]]:
    """Feature and threshold of each split of tree t, in preorder."""
    found, stack = [], [int(ensemble.roots[t])]
    while stack:
        h = stack.pop()
        if ensemble.left[h] >= 0:
            found.append((int(ensemble.feature[h]), float(ensemble.threshold[h])))
            stack += [int(ensemble.right[h]), int(ensemble.left[h])]
    return found


def oldest_first(worth: NDArray[np.float64], lam: float, purchases: ModelItems, least: float) -> NDArray[np.int64]:
    """What `choose_splits` does, in CEGB's order: of a level's nodes the first one that has a split worth its price is next."""
    chosen = np.full(len(worth), -1)
    while True:
        net = np.where(chosen[:, None] < 0, worth - lam * purchases.price, -np.inf)
        worthwhile = np.flatnonzero(net.max(axis=1) > least)
        if not worthwhile.size:
            return chosen
        k = int(worthwhile[0])
        chosen[k] = int((net[k] >= net[k].max() - least).argmax())  # of gains equal up to rounding, the first
        purchases.buy(int(chosen[k]))


@pytest.mark.slow
@looped("seed", range(12))
@looped("lam", [0.0, 0.003, 0.02, 0.1])
def test_so_limited_cegb_grows_the_trees_of_greedy_miser(seed: int, lam: float) -> None:
    """Every split of every tree is the same, if both divide the nodes of a level in one order. That order is the one difference
    left: within a level this package's GreedyMiser makes the most valuable split first.
    """
    X, y = noisy(seed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth, "choose_splits", oldest_first)
        miser, boosted = both(X, y, lam, 5)
    ensembles = miser.ensemble_, boosted.forest_.ensemble
    assert boosted.n_iter_ == 5
    for t in range(5):
        assert splits(ensembles[0], t) == splits(ensembles[1], t)
    np.testing.assert_allclose(miser.predict(X), boosted.predict(X), atol=1e-9)


@pytest.mark.slow
@looped("seed", range(12))
def test_without_prices_the_order_does_not_matter(seed: int) -> None:
    """At lambda 0, and where a single feature is bought, nothing has to be patched."""
    X, y = noisy(seed)
    for lam in (0.0, 0.3):
        miser, boosted = both(X, y, lam, 5)
        np.testing.assert_allclose(miser.predict(X), boosted.predict(X), atol=1e-9)
