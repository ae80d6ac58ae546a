"""What stages on sets of columns cost."""

from __future__ import annotations

import numpy as np

from prunemodels import CostItems
from prunemodels.stages.set_stages import SetStages
from tests.loops import looped


@looped("seed", range(300))
def test_a_stage_that_buys_nothing_costs_what_the_one_before_cost(seed: int) -> None:
    """To the last digit, whatever is free there: a rise of 1e-16 would be a price."""
    rng = np.random.default_rng(seed)
    n, n_stages = int(rng.integers(3, 60)), int(rng.integers(2, 12))
    price = rng.integers(0, 2000, n) / 100 * (rng.random(n) < 0.6)
    first = rng.integers(0, n_stages, n)
    features = tuple(np.flatnonzero(first <= s) for s in range(n_stages))
    cost = SetStages((None,) * n_stages, features, CostItems.plain(price.tolist()), None).prices()
    buys = np.array([price[first == s].any() for s in range(1, n_stages)])
    np.testing.assert_array_equal(np.diff(cost) > 0, buys)
    np.testing.assert_array_equal(np.diff(cost) == 0, ~buys)
