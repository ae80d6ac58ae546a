"""Individual pruning is each tree's own optimum, at one lambda."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.rivals.baselines.individual import individual_path
from solvers.brute_force import all_prunings
from tests.instances import Node, ensemble_of, plain_errors, random_problem
from tests.prunemodels.rivals.baselines.cases import hand_forest, keeps, same_rows


def test_hand_forest() -> None:
    """Tree 1 alone gains .2 for 5, tree 0 gains .5 for 8, its root .2 for 3 (.067), what is below .3 for 5 (.06).

    So tree 1 goes at lambda .04; tree 0 loses its lower split at .06, its root at .2 / 3.
    """
    path = individual_path(hand_forest())
    assert path.parameter.tolist() == pytest.approx([0, 0.04, 0.06, 0.2 / 3])
    assert same_rows(path, [keeps(0, 2, 5), keeps(0, 2), keeps(0), keeps()])
    assert path.cost.tolist() == [8, 8, 3, 0]
    assert (path.parameter_name, path.method) == ("lambda of one tree", "individual pruning")


def test_alone_no_tree_knows_that_the_other_pays() -> None:
    """Two equal stumps: each alone gives its feature up at .2 of one tree, .1 in (OBJ); together they keep it up to .2."""
    tree = Node(4, 0, 0.5, Node(1), Node(1))
    ensemble, error = ensemble_of([tree, tree], 1)
    errors = plain_errors(ensemble, error, 10.0)
    problem = pm.PruningProblem.build(ensemble, errors, np.zeros((1, 1)), pm.CostItems.plain([1]))
    assert individual_path(problem).parameter.tolist() == [0, 0.2]
    assert pm.pruning_path(problem).lam.tolist() == [0, 0.2]  # .1 + .1 of the mean error for 1


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
        every, unit = all_prunings(tree), tree.integers.lam_unit
        for k, lam in points:
            ratio = lam / unit
            worth = every.gain.astype(object) * ratio.denominator - every.cost.astype(object) * ratio.numerator
            smallest = every.kept[worth == max(worth)].all(axis=0)
            assert np.array_equal(path[k].kept[problem.ensemble.nodes_of(t)], smallest)
