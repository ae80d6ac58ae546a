"""Passes over trees that nothing couples."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.instance.ensemble import Ensemble
from solvers.closures.cut import Ties
from solvers.closures.tree_pass import best_closure_of_forest, best_tree_closures, choose, force
from tests.instances import random_problem

PARENT = np.array([-1, 0, 1, 0, -1, 4], dtype=np.int32)


def closures(parent: NDArray[np.int32]) -> NDArray[np.bool_]:
    """All closures, one a row."""
    every = [
        k for k in product([False, True], repeat=parent.size) if all(p < 0 or k[p] or not k[h] for h, p in enumerate(parent))
    ]
    return np.array(every)


def test_ties_decide_what_is_worth_nothing() -> None:
    """A subtree worth 0 is left out of the smallest best closure and is in the largest, with what lies above it."""
    profit = np.array([1, -2, 2, -1, 0, -1])
    anything = np.ones(6, dtype=bool)
    assert best_closure_of_forest(PARENT, profit, anything).tolist() == [True, False, False, False, False, False]
    assert best_closure_of_forest(PARENT, profit, anything, "largest").tolist() == [True, True, True, False, True, False]


def test_split_that_is_not_allowed_takes_along_what_is_below() -> None:
    """Gains below a forbidden split reach nobody above it."""
    profit = np.array([-1, 1, 5, 3, 2, 2])
    allowed = np.array([True, False, True, True, True, True])
    assert best_closure_of_forest(PARENT, profit, allowed).tolist() == [True, False, False, True, True, True]
    assert profit.tolist() == [-1, 1, 5, 3, 2, 2]


@pytest.mark.parametrize("seed", range(8))
def test_passes_agree_with_all_closures(seed: int) -> None:
    """`choose` finds the best value and the extreme best closure; `force` the best with each split in, and out."""
    rng = np.random.default_rng(seed)
    profit, allowed = rng.integers(-3, 4, 6), rng.random(6) < 0.8
    every = closures(PARENT)
    permitted = every[~(every & ~allowed).any(axis=1)]
    worth = permitted @ profit
    best = permitted[worth == worth.max()]
    for largest in (False, True):
        keep = np.zeros(6, dtype=bool)
        assert choose(PARENT, profit.copy(), keep, allowed, largest) == worth.max()
        assert (keep == (best.any(axis=0) if largest else best.all(axis=0))).all()
    kept, pruned = np.empty_like(profit), np.empty_like(profit)
    assert force(PARENT, profit.copy(), kept, pruned) == (every @ profit).max()
    for h in range(6):
        assert kept[h] == (every[every[:, h]] @ profit).max()
        assert pruned[h] == (every[~every[:, h]] @ profit).max()


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_nodes_and_parents_tell_the_same(ties: Ties) -> None:
    """Trees with their leaves have the closures that their splits alone have, for integers and for real profits."""
    ensemble: Ensemble = random_problem(5).ensemble
    rng = np.random.default_rng(1)
    profit = np.where(ensemble.is_split, rng.integers(-2, 3, ensemble.n_nodes), 0)
    keep, value = best_tree_closures(ensemble, profit, ensemble.is_split, ties)
    assert (keep == best_closure_of_forest(ensemble.parent, profit, ensemble.is_split, ties)).all()
    again, real = best_tree_closures(ensemble, profit.astype(float), ensemble.is_split, ties)
    assert (again == keep).all()
    assert real == value == profit[keep].sum() > 0
