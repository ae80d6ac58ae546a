"""Level sets: of optimal points every one is optimal; of any point the best is found in one pass."""

from __future__ import annotations

import numpy as np
import pytest

from formulations import Pruning
from formulations.programs.matrix import MATRICES
from solvers.brute_force import brute_force
from solvers.closures.level_sets import best_level_set, splits_kept
from tests.instances import random_problem
from tests.loops import looped


@looped("seed", range(60))
def test_the_best_level_set_is_found(seed: int) -> None:
    """Of points drawn at random the answer is the best of all level sets, evaluated one by one."""
    problem = random_problem(seed, rounded=bool(seed % 2))
    rng = np.random.default_rng(seed)
    parent, splits = problem.ensemble.parent, problem.splits
    for lam in (0.0, 0.001, 0.005, 0.02, 0.1):
        y = rng.choice([0.0, 0.2, 0.5, 0.5, 0.9, 1.0, -0.1, 1.1], problem.ensemble.n_nodes)
        falling = y.copy()
        for h in range(len(parent)):
            if parent[h] >= 0:
                falling[h] = min(falling[h], falling[parent[h]])
        thresholds = [2.0, *np.unique(falling[splits][falling[splits] > 0])]
        sets = [(falling >= theta) & problem.ensemble.is_split for theta in thresholds]
        worth = [Pruning(problem, kept).value(lam) for kept in sets]
        found = best_level_set(problem, y, lam)
        assert found.value(lam) == pytest.approx(min(worth), abs=1e-12)
        ties = [kept.sum() for kept, value in zip(sets, worth, strict=True) if value <= min(worth) + 1e-13]
        assert found.n_splits in ties


@pytest.mark.parametrize("name", ["IP1", "IP3", "closure"])
@looped("seed", range(20))
def test_a_prunings_point_is_read_back(name: str, seed: int) -> None:
    """From the 0-1 point of a pruning, y is what it keeps, in every formulation."""
    problem = random_problem(seed)
    program = MATRICES[name](problem, lam=0.1)
    kept = brute_force(problem, 0.05).pruning
    assert kept is not None
    x = np.zeros(program.shape[1])
    if program.columns.has("y"):
        x[program.columns.of("y")] = kept.kept[problem.splits]
    else:
        x[program.columns.of("z")] = kept.is_leaf
    np.testing.assert_array_equal(splits_kept(problem, program, x)[problem.splits], kept.kept[problem.splits])
