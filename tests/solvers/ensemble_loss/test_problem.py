"""(ENS) itself: predictions, loss and gradient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations import CostItems, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.ensemble_loss import NO_VOTE, EnsembleProblem, LogLoss, Squares
from formulations.instance.routing import leaves_of
from solvers.brute_force import all_prunings
from tests.instances import Node, ensemble_of, plain_errors
from tests.solvers.ensemble_loss.cases import TRIED, plain_loss, random_instance, random_point

SEEDS = st.integers(0, 5_000)


@TRIED
@given(SEEDS)
def test_a_pruning_is_worth_what_a_walk_down_its_trees_says(seed: int) -> None:
    """Predictions of a 0-1 point, of the pruning, and of a plain walk agree, and so do the losses."""
    instance = random_instance(seed)
    problem = instance.problem
    for kept in all_prunings(problem.problem).kept[:20]:
        F = problem.of_pruning(Pruning(problem.problem, kept))
        assert np.allclose(F, problem.predictions(kept.astype(float)), atol=1e-12)
        assert problem.loss_of(F) == pytest.approx(plain_loss(instance, kept), rel=1e-12, abs=1e-12)


@TRIED
@given(SEEDS)
def test_gains_are_the_gradient(seed: int) -> None:
    """The gains are -dL/dy, by central differences at an inner point, and linear errors differ by them."""
    problem = random_instance(seed).problem
    rng = np.random.default_rng(seed)
    y = random_point(problem, rng)
    gain = problem.gains(problem.slopes(problem.predictions(y)))
    assert not gain[~problem.ensemble.is_split].any()
    for h in problem.problem.splits.tolist():
        step = np.zeros(y.size)
        step[h] = 1e-5
        rise = problem.loss_of(problem.predictions(y + step)) - problem.loss_of(problem.predictions(y - step))
        assert gain[h] == pytest.approx(-rise / 2e-5, rel=1e-4, abs=1e-7)


@TRIED
@given(SEEDS)
def test_the_loss_is_convex_and_its_curvature_right(seed: int) -> None:
    """Between two points the loss is at most the mean, and curvatures are the differences of slopes."""
    problem = random_instance(seed).problem
    rng = np.random.default_rng(seed)
    F, G = (problem.predictions(random_point(problem, rng)) for _ in range(2))
    assert problem.loss_of((F + G) / 2) <= (problem.loss_of(F) + problem.loss_of(G)) / 2 + 1e-12
    rise = problem.loss.slopes(F + 1e-6, problem.target) - problem.loss.slopes(F - 1e-6, problem.target)
    assert np.allclose(problem.loss.curvatures(F), rise / 2e-6, rtol=1e-3)


def stump() -> EnsembleProblem:
    """Two stumps on one feature, voting 0.5 at the root and (1, 0), (0.5, 0) at the leaves, for the second of two classes."""
    ensemble, error = ensemble_of([Node(1, 0, 0.5, Node(0), Node(0)), Node(1, 0, 1.5, Node(0), Node(0))], 1)
    second = np.array([0.5, 1.0, 0.0, 0.5, 0.5, 0.0])
    ensemble = replace(ensemble, value=np.column_stack([1 - second, second]), classes=np.array(["no", "yes"]))
    trees = PruningProblem.build(ensemble, plain_errors(ensemble, error, 2.0), np.zeros((1, 1)), CostItems.plain([1]))
    leaf = leaves_of(ensemble, np.array([[0.0], [2.0]], dtype=np.float32))
    return EnsembleProblem(trees, leaf, np.ones(2, dtype=np.int32), np.array([[1.0], [0.0]]), np.array([3.0, 1.0]), Squares())


def test_two_stumps_by_hand() -> None:
    """Row 0 (a yes, weight 3) gets (1 + .5)/2, row 1 (a no, weight 1) gets (0 + 0)/2; pruned to roots both get .5."""
    problem = stump()
    F = problem.of_pruning(Pruning.unpruned(problem.problem))
    assert F.tolist() == [[0.75], [0.0]]
    assert problem.loss_of(F) == 0.75 * 0.25**2  # the other row is right
    roots = problem.of_pruning(Pruning.all_roots(problem.problem))
    assert problem.loss_of(roots) == 0.25
    # at the roots r = w/(W T) 2 (F - target) = (-3/8, 1/8); e: root .5(-1/4), left leaf 1(-3/8), right leaf 0
    assert problem.gains(problem.slopes(roots)).tolist() == [-0.125 + 0.375, 0, 0, -0.125 + 0.5 * 0.375, 0, 0]


def test_a_tree_without_a_vote_does_not_count() -> None:
    """Row 0 without the second tree's vote gets the first tree's 1; its gains come from the first alone."""
    problem = stump()
    leaf = problem.leaf.copy()
    leaf[1, 0] = NO_VOTE
    out = replace(problem, leaf=leaf)
    assert out.votes.tolist() == [1, 2]
    assert out.of_pruning(Pruning.unpruned(out.problem)).tolist() == [[1.0], [0.0]]
    # r = (-3/4, 1/8): the first tree's gain doubles in row 0's part, the second's is row 1's alone
    roots = out.slopes(out.of_pruning(Pruning.all_roots(out.problem)))
    assert out.gains(roots).tolist() == [0.5 * (-0.75 + 0.125) + 0.75, 0, 0, 0.5 * 0.125, 0, 0]


def test_log_loss_by_hand() -> None:
    """Two classes and epsilon 1/2: a fraction of 1 becomes 3/4, of 0 a quarter, and slope and curvature follow."""
    loss, F = LogLoss(0.5, 2), np.array([[1.0], [0.0]])
    assert np.allclose(loss.values(F, F), -np.log([0.75, 0.25]))
    assert np.allclose(loss.slopes(F, F).ravel(), [-1 / 1.5, -2.0])
    assert np.allclose(loss.curvatures(F).ravel(), [1 / 2.25, 4.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"weights": np.zeros(2)}, "not all 0"),
        ({"weights": np.array([1.0, -1.0])}, ">= 0"),
        ({"weights": np.array([1.0, np.nan])}, "finite"),
        ({"weights": np.array([1.0, np.inf])}, "finite"),
        ({"weights": np.ones(3)}, r"weights \(3,\)"),
        ({"first": np.ones(1, dtype=np.int32)}, r"first \(1,\)"),
        ({"leaf": np.zeros((1, 2), dtype=np.int32)}, r"leaf has shape \(1, 2\)"),
        ({"leaf": np.array([[1, NO_VOTE], [4, NO_VOTE]], dtype=np.int32)}, "no tree votes on example 1"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict[str, object], message: str) -> None:
    """Each array is named with its shape, and what is wrong with the numbers."""
    with pytest.raises(InvalidInputError, match=message):
        replace(stump(), **change)  # type: ignore[arg-type]
