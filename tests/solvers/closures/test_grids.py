"""The grid of a cut: nothing leaves it, and no closure is worth less on it."""

from __future__ import annotations

import numpy as np

from solvers.closures.integer_objective import TOTAL_BITS, Grid
from tests.loops import looped


@looped("seed", range(20))
def test_sums_fit_and_nothing_is_worth_less(seed: int) -> None:
    """Profits and prices add up to at most 2^60, also where what floating point may have lost is as large as they are."""
    rng = np.random.default_rng(seed)
    gain, charge, lost = (10.0 ** rng.uniform(-12, 6, 5) for _ in range(3))
    price = 10.0 ** rng.uniform(-12, 6, 7)
    grid = Grid.of(gain, charge, price, lost, margin=0.0)
    assert int(np.abs(grid.profit).sum()) <= 2**TOTAL_BITS + grid.profit.size
    assert int(grid.price.sum()) <= 2**TOTAL_BITS
    total, unit = float(gain.sum()), float(grid.unit)
    assert (grid.profit * unit >= np.maximum(gain - np.minimum(charge, 4 * total), -2 * total) + lost * (1 - 1e-9)).all()
    assert (grid.price * unit <= np.minimum(price, 2 * total)).all()
