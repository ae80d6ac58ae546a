"""GreedyPrune takes the features away that its score says, and counts what goes with them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import prunemodels as pm
from formulations import CostItems, InterruptedSolveError, PruningProblem
from prunemodels.models.removal_effects import RemovalEffects, units_of
from prunemodels.rivals.baselines import greedy_features
from prunemodels.rivals.baselines.greedy_features import greedy_feature_path
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_problem
from tests.prunemodels.rivals.baselines.cases import cost_of, hand_forest, keeps, same_rows


def removed(problem: PruningProblem, kept: NDArray[np.bool_], unit: int, by: str) -> NDArray[np.bool_]:
    """Kept splits with no split of the unit on their way, one by one."""
    ensemble, needs = problem.ensemble, problem.costs.needs
    left = kept.copy()
    for h in np.flatnonzero(kept):
        feature = int(ensemble.feature[h])
        goes = feature == unit if by == "feature" else unit in needs[feature]
        left[h] = not goes and (ensemble.parent[h] < 0 or left[ensemble.parent[h]])
    return left


def slowly(problem: PruningProblem, by: str) -> list[NDArray[np.bool_]]:
    """Every unit tried at every step by `Pruning`, in fractions."""
    kept = problem.ensemble.is_split
    found = [kept]
    n_units = problem.ensemble.n_features if by == "feature" else problem.costs.n_items
    while kept.any():
        best: tuple[Any, ...] = ()
        for unit in range(n_units):
            left = removed(problem, kept, unit, by)
            if np.array_equal(left, kept):
                continue
            rise = pm.Pruning(problem, left).exact_error - pm.Pruning(problem, kept).exact_error
            fall = cost_of(problem, kept) - cost_of(problem, left)
            score = (0, rise, -fall) if rise <= 0 else (1, rise / fall, -fall) if fall > 0 else (2, rise, Fraction(0))
            if not best or score < best[0]:
                best = (score, left)
        kept = best[1]
        found.append(kept)
    return found


def test_hand_forest() -> None:
    """Feature 1 goes first: it costs 5 and gains 3 + 2 of 20, feature 0 gains 2 + 3 (what is below it) for its 3."""
    path = greedy_feature_path(hand_forest())
    assert same_rows(path, [keeps(0, 2, 5), keeps(0), keeps()])  # .25 / 5 is less than .25 / 3
    assert path.parameter.tolist() == [0, 1, 2]
    assert path.cost.tolist() == [8, 3, 0]
    assert path.error.tolist() == [0.15, 0.4, 0.5]
    assert (path.parameter_name, path.method) == ("features removed", "greedy feature pruning")


def test_what_raises_no_error_goes_first_and_what_saves_nothing_last() -> None:
    """Feature 0 gains nothing, 1 loses, 2 gains for a price, 3 is free: they go in the order 1, 0, 2, 3."""
    gains = [0, -2, 3, 1]
    trees = [Node(5 + g, f, 0.5, Node(2), Node(3)) for f, g in enumerate(gains)]
    ensemble, error = ensemble_of(trees, 4)
    costs = CostItems.plain([1, 1, 1, 0])
    problem = PruningProblem.build(ensemble, plain_errors(ensemble, error, 10), np.zeros((1, 4)), costs)
    path = greedy_feature_path(problem)
    assert [ensemble.feature[p.kept].tolist() for p in path] == [[0, 1, 2, 3], [0, 2, 3], [2, 3], [3], []]


def test_of_equal_scores_the_larger_saving_goes_first_then_the_first_feature() -> None:
    """All gain as much a unit of price: 2 for 2 goes before the two of 1 for 1."""
    trees = [Node(5 + g, f, 0.5, Node(2), Node(3)) for f, g in enumerate([1, 2, 1])]
    ensemble, error = ensemble_of(trees, 3)
    costs = CostItems.plain([1, 2, 1])
    problem = PruningProblem.build(ensemble, plain_errors(ensemble, error, 10), np.zeros((1, 3)), costs)
    path = greedy_feature_path(problem)
    assert [ensemble.feature[p.kept].tolist() for p in path] == [[0, 1, 2], [0, 2], [2], []]


def test_items_are_removed_with_all_features_that_need_them() -> None:
    """A group shares an item of price 8: taking one of its features away saves 1, taking the item away saves all of it.

    By feature the lone feature goes first (2 for 4, the others 3 for 1); by item the shared item does (6 for 10).
    """
    gains = [3, 3, 2]
    ensemble, error = ensemble_of([Node(5 + g, f, 0.5, Node(2), Node(3)) for f, g in enumerate(gains)], 3)
    needs = [["a", "shared"], ["b", "shared"], ["c"]]
    costs = CostItems.from_items({"a": 1, "b": 1, "c": 3, "shared": 8}, needs)
    problem = PruningProblem.build(ensemble, plain_errors(ensemble, error, 10), np.zeros((1, 3)), costs)
    by_feature, by_item = greedy_feature_path(problem), greedy_feature_path(problem, by="item")
    assert [ensemble.feature[p.kept].tolist() for p in by_feature] == [[0, 1, 2], [0, 1], [1], []]
    assert [ensemble.feature[p.kept].tolist() for p in by_item] == [[0, 1, 2], [2], []]
    assert (by_item.parameter_name, by_item.method) == ("items removed", "greedy item pruning")


@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_every_step_is_the_best_of_all(seed: int, rounded: bool) -> None:
    """Rows are those of trying every feature, or item, at every step by `Pruning`, with items and weights of all kinds."""
    problem = random_problem(seed, rounded=rounded)
    assert same_rows(greedy_feature_path(problem), slowly(problem, "feature"))
    if all(problem.costs.needs):
        assert same_rows(greedy_feature_path(problem, by="item"), slowly(problem, "item"))


@pytest.mark.parametrize("seed", range(4))
def test_effects_of_more_units_than_a_word_has_bits(seed: int) -> None:
    """Of 150 features each has the effect that removing it has, on the whole forest and on what other removals left."""
    rng = np.random.default_rng(seed)
    features = 150

    def tree(depth: int) -> Node:
        if depth == 0:
            return Node(float(rng.integers(3)))
        f = int(rng.choice([0, 63, 64, 65, 127, 128, 149, *rng.integers(0, features, 9)]))
        return Node(float(rng.integers(9)), f, float(rng.integers(2)) - 0.5, tree(depth - 1), tree(depth - 1))

    X = rng.integers(-1, 2, (20, features)).astype(float)
    prices = [int(p) for p in rng.integers(0, 5, features)]
    problem = problem_of([tree(5) for _ in range(3)], prices, X, sample_weight=rng.integers(1, 4, 20))
    check_effects(problem, "feature", (64, 127))


def check_effects(problem: PruningProblem, by: Any, going: tuple[int, ...]) -> None:
    """Of every unit on the whole forest, on what is left after each unit that goes, and on the whole forest again."""
    effects = RemovalEffects(problem.usage, problem.integers, units_of(problem.usage, by))
    n_units = problem.ensemble.n_features if by == "feature" else problem.costs.n_items
    parts = [problem.ensemble.is_split]
    for unit in going:
        parts.append(effects.without(parts[-1], unit))
    for kept in (*parts, parts[0]):
        rise, fall, users = effects.of(kept)
        whole = pm.Pruning(problem, kept)
        for unit in range(n_units):
            left = removed(problem, kept, unit, by)
            assert np.array_equal(effects.without(kept, unit), left)
            pruned = pm.Pruning(problem, left)
            assert rise[unit] == whole.integer_gain - pruned.integer_gain
            assert fall[unit] == whole.integer_cost - pruned.integer_cost
            assert (users[unit] > 0) == (not np.array_equal(left, kept))


def test_another_unit_is_refused() -> None:
    """What a step takes away is a feature or an item."""
    with pytest.raises(pm.errors.InvalidInputError, match="by is 'tree'; give one of"):
        greedy_feature_path(hand_forest(), by="tree")  # type: ignore[arg-type]


def test_ctrl_c_says_that_nothing_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who stops gets the package's own exception, and no half path."""

    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(greedy_features, "_best", stopped)
    with pytest.raises(InterruptedSolveError, match="nothing was changed"):
        greedy_feature_path(hand_forest())
