"""What examples pay, all together and stage by stage."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

import prunemodels as pm
from formulations import CostItems, Ensemble
from formulations.instance import usage
from prunemodels.models import costs as stages
from prunemodels.models.costs import example_costs, staged_costs
from tests.instances import Node, ensemble_of, random_problem, way
from tests.prunemodels.forest_kinds import fitted


def three_trees() -> Ensemble:
    """Feature 0, then 1 on the right; feature 1; feature 0, then 2 on the left. All ask whether x > 0."""
    leaf = Node(0)
    trees = [
        Node(0, 0, 0.0, leaf, Node(0, 1, 0.0, leaf, leaf)),
        Node(0, 1, 0.0, leaf, leaf),
        Node(0, 0, 0.0, Node(0, 2, 0.0, leaf, leaf), leaf),
    ]
    return ensemble_of(trees, 3)[0]


ROWS = [[0, 0, 0], [1, 0, 0]]
ITEMS = CostItems.from_items({"a": 1, "b": 10, "c": 100, "licence": 1000}, [["a"], ["b"], ["c", "licence"]], once=["licence"])


def test_two_examples_by_hand() -> None:
    """Example 0 asks for features 0 | 1 | 0 and 2, example 1 for 0 and 1 | 1 | 0; 1, 10, 100, and 1000 once for feature 2."""
    ensemble = three_trees()
    assert example_costs(ensemble, ROWS, ITEMS).tolist() == [111, 11]
    assert staged_costs(ensemble, ROWS, ITEMS).tolist() == [6, 11, 1061]  # (1 + 11) / 2, (11 + 11) / 2, (111 + 11) / 2 + 1000
    assert staged_costs(ensemble, ROWS, ITEMS, sample_weight=[3, 1]).tolist() == [3.5, 11, 1086]
    assert staged_costs(ensemble, ROWS, ITEMS, stage=[1, 0, 1]).tolist() == [10, 1061]
    assert staged_costs(ensemble, ROWS, ITEMS, stage=[1, 3, 1]).tolist() == [0, 1056, 1056, 1061]  # nothing in 0 and in 2


def test_evaluation_by_hand() -> None:
    """Example 0 passes two splits on feature 0, one on 1, one on 2; example 1 two on 0 and two on 1."""
    ensemble, split_prices = three_trees(), [0.5, 0.25, 4]
    assert example_costs(ensemble, ROWS, 0, evaluation_cost=split_prices).tolist() == [1 + 0.25 + 4, 1 + 0.5]
    staged = staged_costs(ensemble, ROWS, 0, evaluation_cost=split_prices, sample_weight=[1, 3])
    assert staged.tolist() == pytest.approx([(0.5 + 3 * 0.75) / 4, (0.75 + 3 * 1) / 4, (5.25 + 3 * 1.5) / 4])


def asked_for(ensemble: Ensemble, x: NDArray[np.float64], trees: NDArray[np.int64]) -> list[int]:
    """The features of the splits that an example passes in some trees."""
    return [int(ensemble.feature[h]) for root in ensemble.roots[trees] for h in way(ensemble, root, x)[:-1]]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_costs_are_those_of_a_walk(seed: int) -> None:
    """Whatever the items, weights and stages: each example pays the items on its ways once, and each split that it passes."""
    rng = np.random.default_rng(seed)
    problem = random_problem(seed)
    ensemble, items = problem.ensemble, problem.costs
    X = rng.integers(0, 5, (7, ensemble.n_features)).astype(float)
    stage, w = rng.integers(0, 4, ensemble.n_trees), rng.choice([0, 0.5, 2], 7)
    w[0] = 1
    evaluation = rng.choice([0, 0.1, 1], ensemble.n_features)
    expected = []
    for s in range(int(stage.max()) + 1):
        trees = np.flatnonzero(stage <= s)
        asked = [asked_for(ensemble, x, trees) for x in X]
        bought = [{m for f in features for m in items.needs[f] if not items.paid_once[m]} for features in asked]
        paid = np.array(
            [sum(items.price[m] for m in b) + sum(evaluation[f] for f in a) for a, b in zip(asked, bought, strict=True)]
        )
        splits = ensemble.feature[np.isin(ensemble.tree_of, trees) & ensemble.is_split]
        for_all = {m for f in splits for m in items.needs[f] if items.paid_once[m]}
        expected.append(np.average(paid, weights=w) + sum(items.price[m] for m in for_all))
    options: dict[str, Any] = {"evaluation_cost": evaluation}
    np.testing.assert_allclose(example_costs(ensemble, X, items, **options), paid, atol=1e-12)
    staged = staged_costs(ensemble, X, items, stage=stage, sample_weight=w, **options)
    np.testing.assert_allclose(staged, expected, atol=1e-12)


def test_blocks_of_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Taken in blocks of a few rows, from a dense or a sparse matrix, the examples pay the same."""
    f = fitted("random forest, 3 string labels")
    ensemble = pm.read_forest(f.forest)
    items = CostItems.from_items({"a": 2, "b": 3, "licence": 5}, [["a"], ["a", "b"], ["b"], ["licence"], ["a"]], ["licence"])
    w = np.linspace(0, 1, len(f.X))

    def both(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return (
            example_costs(ensemble, X, items, evaluation_cost=0.5),
            staged_costs(ensemble, X, items, evaluation_cost=0.5, sample_weight=w),
        )

    whole = both(f.X)
    routed = []
    route = usage.route
    monkeypatch.setattr(stages, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(usage, "route", lambda e, block: routed.append(len(block)) or route(e, block))
    for table in (f.X, sparse.csc_matrix(f.X), f.X.tolist()):
        for parts, expected in zip(both(table), whole, strict=True):
            np.testing.assert_allclose(parts, expected, atol=1e-12)
    assert max(routed) < 20


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"stage": [0, 1]}, r"stage has shape \(2,\); give one number >= 0 for each of 3 trees"),
        ({"stage": [0, 1, -1]}, r"stage has shape \(3,\); give one number >= 0"),
        ({"sample_weight": [1.0]}, r"sample_weight has shape \(1,\), there are 2 examples"),
        ({"sample_weight": [0, 0]}, "sample_weight is 0 everywhere"),
        ({"X": [[0, 0]]}, "X has 2 columns, the forest was trained on 3 features"),
        ({"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 3 features"),
        ({"evaluation_cost": [1, 2]}, "evaluation_cost has 2 prices"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, Any], message: str) -> None:
    arguments = {"X": ROWS, "costs": 1, **change}
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        staged_costs(three_trees(), arguments.pop("X"), arguments.pop("costs"), **arguments)
