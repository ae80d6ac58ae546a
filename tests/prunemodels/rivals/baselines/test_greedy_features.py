"""Baselines that take away features, trees or splits, and the optimum beside them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import prunemodels as pm
from formulations import CostItems, InterruptedSolveError, PruningProblem
from formulations.answers.nested_prunings import PruningSequence
from formulations.answers.pruning import Pruning
from prunemodels.models.removal_effects import RemovalEffects, units_of
from prunemodels.rivals import tree_by_tree
from prunemodels.rivals.cost_complexity import cost_complexity_path, early_stopping_path
from prunemodels.rivals.tree_by_tree import greedy_feature_path, individual_path
from solvers.brute_force import all_prunings
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


def test_items_are_removed_with_all_features_that_need_them() -> None:
    """A group shares an item of price 8: taking one of its features away saves 1, taking the item away saves all of it. By
    feature the lone feature goes first (2 for 4, the others 3 for 1); by item the shared item does (6 for 10).
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


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_every_step_is_the_best_of_all(seed: int, rounded: bool) -> None:
    """Rows are those of trying every feature, or item, at every step by `Pruning`, with items and weights of all kinds."""
    problem = random_problem(seed, rounded=rounded)
    assert same_rows(greedy_feature_path(problem), slowly(problem, "feature"))
    if all(problem.costs.needs):
        assert same_rows(greedy_feature_path(problem, by="item"), slowly(problem, "item"))


@pytest.mark.slow
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
    effects = RemovalEffects(problem.usage, problem.numbers, units_of(problem.usage, by))
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


def test_ctrl_c_says_that_nothing_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user who stops gets the package's own exception, and no half path."""

    def stopped(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(tree_by_tree, "_best", stopped)
    with pytest.raises(InterruptedSolveError, match="nothing was changed"):
        greedy_feature_path(hand_forest())


def test_individual_hand_forest() -> None:
    """Tree 1 alone gains .2 for 5, tree 0 gains .5 for 8, its root .2 for 3 (.067), what is below .3 for 5 (.06). So tree 1 goes
    at lambda .04; tree 0 loses its lower split at .06, its root at .2 / 3.
    """
    path = individual_path(hand_forest())
    assert path.parameter.tolist() == pytest.approx([0, 0.04, 0.06, 0.2 / 3])
    assert same_rows(path, [keeps(0, 2, 5), keeps(0, 2), keeps(0), keeps()])
    assert path.cost.tolist() == [8, 8, 3, 0]
    assert (path.parameter_name, path.method) == ("lambda of one tree", "individual pruning")


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_every_tree_is_at_its_smallest_optimum(seed: int, rounded: bool) -> None:
    """At each lambda of the path, between any two and beyond the last, each tree's part is the smallest of its best prunings."""
    problem = random_problem(seed, rounded=rounded)
    path = individual_path(problem)
    trees = [problem.only_tree(t) for t in range(problem.ensemble.n_trees)]
    table = sorted({Fraction(0)}.union(*(pm.pruning_path(tree).breakpoints for tree in trees)))
    assert path.parameter.tolist() == [float(ratio) for ratio in table]
    points = [(k, lam) for k, lam in enumerate(table)]
    points += [(k, (a + b) / 2) for k, (a, b) in enumerate(pairwise(table))] + [(len(table) - 1, table[-1] + 1)]
    for t, tree in enumerate(trees):
        every = [Pruning(tree, kept) for kept in all_prunings(tree).kept]
        for k, lam in points:
            value = [pruning.exact_error + lam * pruning.exact_cost for pruning in every]
            smallest = np.all([pruning.kept for pruning, v in zip(every, value, strict=True) if v == min(value)], axis=0)
            assert np.array_equal(path[k].kept[problem.ensemble.nodes_of(t)], smallest)


PATHS: dict[str, Callable[[PruningProblem], PruningSequence]] = {
    "cost complexity": cost_complexity_path,
    "early stopping": lambda problem: early_stopping_path(problem, criterion=1 / (1 + problem.ensemble.depth)),
    "greedy, by feature": greedy_feature_path,
    "greedy, by item": lambda problem: greedy_feature_path(problem, by="item"),
    "individual": individual_path,
}


def hull_error(path: pm.PruningPath, cost: Fraction) -> Fraction:
    """The error of the lower hull of the optimal prunings at a cost."""
    points = list(zip(path.exact_cost, path.exact_error, strict=True))
    if cost >= points[0][0]:
        return points[0][1]
    dear, cheap = next((a, b) for a, b in pairwise(points) if b[0] <= cost <= a[0])
    return cheap[1] + (dear[1] - cheap[1]) * (cost - cheap[0]) / (dear[0] - cheap[0])


@pytest.mark.slow_cases("individual")
@pytest.mark.parametrize("name", PATHS)
def test_the_optimal_path_is_never_worse_at_the_same_cost(name: str) -> None:
    """At the cost of every row of every baseline, the optimal path's hull has no more of the trees' error, as fractions."""
    for seed in range(80):
        problem = random_problem(seed)
        optimal, rows = pm.pruning_path(problem), PATHS[name](problem)
        for cost, error in zip(rows.exact_cost, rows.exact_error, strict=True):
            assert hull_error(optimal, cost) <= error, f"seed {seed}"
