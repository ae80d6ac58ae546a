"""What an instance refuses, and one tree of it."""

from __future__ import annotations

import numpy as np
import pytest

import formulations.instance.cost_sample
from formulations import (
    CapacityOverflowError,
    CostItems,
    ErrorComponent,
    InvalidInputError,
    NodeErrors,
    Pruning,
    PruningProblem,
)
from tests.instances import Node, ensemble_of, plain_errors, random_tree
from tests.loops import looped


def test_more_purchases_than_can_be_numbered_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the numbering's range the sizes are named, instead of numbers that wrap."""
    ensemble, error = ensemble_of([Node(1, 0, 0.5, Node(0), Node(0))], 3)
    sample, costs = plain_errors(ensemble, error, 1.0), CostItems.plain([1, 1, 1])
    monkeypatch.setattr(formulations.instance.cost_sample, "MOST_PURCHASES", 32)
    with pytest.raises(CapacityOverflowError, match=r"10 rows and costs 3 items: 30 possible purchases, at most 32 are"):
        PruningProblem.build(ensemble, sample, np.zeros((10, 3)), costs)
    assert PruningProblem.build(ensemble, sample, np.zeros((9, 3)), costs).n_purchases == 30


@looped("seed", range(40))
def test_one_tree_alone(seed: int) -> None:
    """Tree t alone has its own errors in full, its own usage, and the same rows, weights and prices."""
    rng = np.random.default_rng(seed)
    ensemble, error = ensemble_of([random_tree(rng, 3, int(rng.integers(0, 5)), 9) for _ in range(3)], 3)
    weight = np.array([5.0, 8.0, 20.0])
    omega = rng.choice([0.0, 1.0, 2.5], 7)
    omega[0] = 1.0
    problem = PruningProblem.build(
        ensemble,
        NodeErrors((ErrorComponent(error, weight),)),
        rng.integers(0, 5, (7, 3)),
        CostItems.plain([1, 2, 3]),
        sample_weight=omega,
        evaluation_cost=[0, 0.5, 1],
    )
    for t in range(3):
        alone, nodes = problem.only_tree(t), ensemble.nodes_of(t)
        assert alone.ensemble.n_trees == 1
        np.testing.assert_allclose(alone.node_error, error[nodes] / weight[t])
        np.testing.assert_allclose(alone.usage.node_weight, problem.usage.node_weight[nodes])
        np.testing.assert_allclose(alone.evaluation_price, problem.evaluation_price[nodes])
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[nodes] = alone.ensemble.is_split
        assert Pruning(problem, kept).cost == pytest.approx(Pruning.unpruned(alone).cost)
    with pytest.raises(InvalidInputError, match="no tree 3; it has the trees 0 to 2"):
        problem.only_tree(3)
