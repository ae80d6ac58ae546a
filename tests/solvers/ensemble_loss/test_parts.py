"""The forest's own loss as a problem, Frank-Wolfe over mixtures of prunings, and its parts."""

from __future__ import annotations

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

from formulations.answers.nested_prunings import level_sets
from formulations.answers.pruning import Pruning
from formulations.answers.solution import Status, StopReason
from formulations.errors import InvalidInputError, SolverFailedError
from formulations.instance.ensemble_loss import NO_VOTE, EnsembleProblem, MeanLogLoss, Squares
from formulations.instance.routing import leaves_of
from solvers.brute_force import all_prunings
from solvers.ensemble_loss import evaluate_levels, frank_wolfe, level_sets_of, linearise
from solvers.ensemble_loss.frank_wolfe import Oracle, _FrankWolfe
from solvers.ensemble_loss.mixing import RIDGE, best_combination
from solvers.path.pruning_path import pruning_path
from tests.instances import Node, problem_of, random_problem, with_usage
from tests.solvers.ensemble_loss.cases import TRIED, plain_loss, random_instance, random_point

SEEDS = st.integers(0, 5_000)
LAMS = st.sampled_from([0.0, 0.003, 0.02, 0.1, 0.7, 50.0, 1e9])


def least_worth(problem: EnsembleProblem, gain: NDArray[np.float64], lam: float) -> float:
    """The least lam cost - gain of all prunings."""
    every = all_prunings(problem.problem).kept
    return min(float(lam * Pruning(problem.problem, kept).cost - gain[kept].sum()) for kept in every)


@TRIED
@given(SEEDS, LAMS, st.booleans())
def test_the_oracle_is_exact(seed: int, lam: float, rounded: bool) -> None:
    """Its pruning is a best one of all, and its bound just below, for whole and for real numbers."""
    trees = random_problem(seed, rounded=rounded)
    problem = random_instance(seed, trees=trees).problem
    slopes = problem.slopes(problem.predictions(random_point(problem, np.random.default_rng(seed))))
    gain = problem.gains(slopes)
    answer = Oracle(problem, Fraction(str(lam))).best(slopes)

    least = least_worth(problem, gain, lam)
    scale = np.abs(gain).sum() + 1e-300
    assert lam * Pruning(problem.problem, answer.kept).cost - gain[answer.kept].sum() <= least + 1e-9 * scale
    assert least - 1e-9 * scale <= answer.bound <= least + 1e-15 * scale


def test_a_flow_above_a_price_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is only taken from duals within the prices."""
    module = sys.modules[Oracle.__module__]
    honest = module.best_closure

    def cheating(instance):  # type: ignore[no-untyped-def]
        closure = honest(instance)
        return replace(closure, duals=lambda: closure.duals() + instance.price.max() + 1)

    problem = random_instance(1).problem
    slopes = problem.slopes(problem.of_pruning(Pruning.all_roots(problem.problem)))
    solver = Oracle(problem, Fraction(1, 1000))
    assert Pruning(problem.problem, solver.best(slopes).kept).feature_cost > 0
    monkeypatch.setattr(module, "best_closure", cheating)
    with pytest.raises(SolverFailedError, match="more than its price"):
        solver.best(slopes)


@TRIED
@given(SEEDS, LAMS)
@example(1552, 0.0)  # a value near 0: what the ridge leaves is small beside the predictions, not beside the value
def test_no_other_mixture_is_better(seed: int, lam: float) -> None:
    """The slope of phi is least on the mixture's own prunings, and the start is never beaten the other way."""
    problem = random_instance(seed).problem
    prunings = [Pruning(problem.problem, kept) for kept in all_prunings(problem.problem).kept[:12]]
    prunings.append(prunings[0])  # a pruning twice: its weight may stand at either
    F = np.stack([problem.of_pruning(p) for p in prunings])
    costs = lam * np.array([p.cost for p in prunings])
    start = np.random.default_rng(seed).dirichlet(np.ones(len(prunings)))
    found = best_combination(problem, F, costs, start)
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1, abs=1e-9)
    assert np.allclose(found.predictions, np.tensordot(found.weights, F, axes=1))
    slope = np.tensordot(F, problem.slopes(found.predictions), axes=2) + costs
    value = problem.loss_of(found.predictions) + found.weights @ costs
    assert found.value == pytest.approx(value, abs=1e-12)
    ridge = RIDGE * (problem.share[:, None] * problem.loss.curvatures(found.predictions) * F**2).sum(axis=(1, 2)).mean()
    assert found.weights @ slope - slope.min() <= 1e-7 * abs(value) + ridge + 1e-12
    assert found.value <= problem.loss_of(np.tensordot(start, F, axes=1)) + start @ costs + 1e-12


@TRIED
@given(SEEDS)
def test_every_level_set_has_the_loss_and_cost_of_its_pruning(seed: int) -> None:
    """All of a point's level sets at once, against each alone; the last keeps nothing."""
    instance = random_instance(seed)
    problem = instance.problem
    y = np.round(random_point(problem, np.random.default_rng(seed)), 1)
    sets = level_sets_of(problem, y)
    positive = np.unique(y[y > 0])
    assert sets.loss.size == positive.size + 1
    for k in range(sets.loss.size):
        pruning = sets.pruning(k)
        theta = np.append(positive, np.inf)[k]
        assert np.array_equal(pruning.kept, y >= theta)
        assert sets.loss[k] + sets.cost[k] == pytest.approx(instance.objective(pruning, 1.0), abs=1e-10)
        assert sets.cost[k] == pytest.approx(pruning.cost, abs=1e-10)
    best, value = sets.best(0.05)
    assert value == pytest.approx((sets.loss + 0.05 * sets.cost).min(), abs=1e-12)
    assert instance.objective(best, 0.05) == pytest.approx(value, abs=1e-10)


@TRIED
@given(SEEDS, LAMS)
def test_the_linearised_path_is_optimal_for_the_slopes(seed: int, lam: float) -> None:
    """Its row at lambda is a best one of all prunings for -g.x + lam cost, and its gains are the problem's."""
    problem = random_instance(seed).problem
    slopes = problem.slopes(problem.predictions(random_point(problem, np.random.default_rng(seed))))
    plain, gain = linearise(problem, slopes), problem.gains(slopes)
    scale = np.abs(gain).sum() + 1e-12
    assert np.allclose(plain.gain, gain, atol=1e-12 * max(1.0, float(np.abs(plain.node_error).sum())))
    found = pruning_path(plain).at_lam(lam)
    assert lam * found.cost - gain[found.kept].sum() <= least_worth(problem, gain, lam) + 1e-7 * scale


def test_among_equal_level_sets_the_smallest_is_taken() -> None:
    """Where a split changes neither loss nor cost, it goes."""
    problem = random_instance(1).problem
    value = np.ones_like(problem.ensemble.value)
    flat = replace(problem, problem=with_usage(problem.problem, ensemble=replace(problem.ensemble, value=value)))
    sets = evaluate_levels(flat, level_sets(flat.problem, np.ones(flat.ensemble.n_nodes)))
    assert sets.best(0.0)[0].n_splits == 0


@TRIED
@given(SEEDS, LAMS)
def test_the_bound_is_below_every_pruning_and_the_value_is_one(seed: int, lam: float) -> None:
    """Against all prunings, each walked; the value is its pruning's, and within a gap of 0 it is the least."""
    instance = random_instance(seed)
    found = frank_wolfe(instance.problem, lam, tolerance=0.0)
    least = instance.least(lam)
    assert found.bound <= least + 1e-15
    assert found.value == pytest.approx(instance.objective(found.pruning, lam), rel=1e-12, abs=1e-12)
    assert found.value == found.loss + lam * found.pruning.cost
    assert found.bound <= found.value
    if found.status == Status.OPTIMAL:
        roots = instance.objective(Pruning.all_roots(instance.problem.problem), 0.0)
        assert found.value <= least + 1e-8 * (roots + 1e-300)


@TRIED
@given(SEEDS, LAMS)
def test_the_relaxation_is_solved(seed: int, lam: float) -> None:
    """The mixture is as good as the best mixture of all prunings, which is the relaxation's minimum, and the bound meets it."""
    problem = random_instance(seed).problem
    found = frank_wolfe(problem, lam, tolerance=1e-7, iterations=200)
    everything = [Pruning(problem.problem, kept) for kept in all_prunings(problem.problem).kept]
    F = np.stack([problem.of_pruning(p) for p in everything])
    costs = lam * np.array([p.cost for p in everything])
    ideal = best_combination(problem, F, costs, np.eye(len(F))[0]).value
    assert found.stopped == StopReason.CONVERGED
    assert found.relaxed <= ideal * (1 + 1e-6) + 1e-9
    assert found.bound >= ideal * (1 - 1e-6) - 1e-6
    assert found.bound <= found.relaxed


@TRIED
@given(SEEDS)
def test_its_mixture_starts_the_next(seed: int) -> None:
    """From the final mixture the first step already has its relaxed value, and the point is that mixture."""
    problem = random_instance(seed).problem
    first = frank_wolfe(problem, 0.02, tolerance=1e-9)
    again = frank_wolfe(problem, 0.02, tolerance=1e-9, start=first.active)
    assert again.history["relaxed"][0] <= first.relaxed + 1e-9
    assert problem.loss_of(problem.predictions(first.point)) <= first.relaxed + 1e-9
    assert first.weights.sum() == pytest.approx(1)


def test_limits_are_told_and_the_answer_is_whole() -> None:
    """Without time no step is made, and the bound is 0; with one step the limit is named."""
    instance = random_instance(10)
    none = frank_wolfe(instance.problem, 0.01, time_limit=0.0)
    assert none.stopped == StopReason.TIME_LIMIT
    assert none.bound == 0.0
    assert {name: column.shape for name, column in none.history.items()} == {"relaxed": (0,), "bound": (0,)}
    assert none.value == pytest.approx(instance.objective(none.pruning, 0.01))
    slow = [frank_wolfe(random_instance(seed).problem, 0.01, iterations=1, tolerance=0.0) for seed in range(30)]
    assert all(s.history["bound"].size == 1 for s in slow)
    assert any(s.stopped == StopReason.ITERATION_LIMIT for s in slow)
    assert all(s.stats["iterations"] == 1 for s in slow)
    assert all((s.status, s.pruning.n_splits) == (Status.OPTIMAL, 0) for s in slow if not s.problem.ensemble.n_splits)


def test_rounding_and_what_was_seen_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somewhere a level set beats all that was cut or mixed, somewhere the reverse; the answer is the better of the two."""
    problems = [random_instance(seed).problem for seed in (*range(16), 76, 104)]  # few have either
    answers = [frank_wolfe(problem, 0.05, tolerance=1e-6) for problem in problems]
    rounded = [level_sets_of(a.problem, a.point).best(0.05)[1] for a in answers]
    monkeypatch.setattr(_FrankWolfe, "round", lambda _: None)
    seen = [frank_wolfe(problem, 0.05, tolerance=1e-6).value for problem in problems]
    for answer, level_set, pruning in zip(answers, rounded, seen, strict=True):
        assert answer.value == pytest.approx(min(level_set, pruning), abs=1e-12)
    assert any(r < s - 1e-9 for r, s in zip(rounded, seen, strict=True))
    assert any(s < r - 1e-9 for r, s in zip(rounded, seen, strict=True))


@pytest.mark.parametrize(
    ("lam", "options", "message"),
    [
        (-1.0, {}, "lam is -1.0"),
        (float("nan"), {}, "lam is nan"),
        (0.1, {"tolerance": -1e-3}, "tolerance is -0.001"),
        (0.1, {"tolerance": float("nan")}, "tolerance is nan"),
        (0.1, {"iterations": 0}, "iterations 0"),
        (0.1, {"start": [Pruning.all_roots(random_instance(3).problem.problem)]}, "another forest"),
    ],
)
def test_bad_options_are_refused(lam: float, options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        frank_wolfe(random_instance(2).problem, lam, **options)  # type: ignore[arg-type]


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
    trees = problem_of([Node(1, 0, 0.5, Node(0), Node(0)), Node(1, 0, 1.5, Node(0), Node(0))], [1])
    second = np.array([0.5, 1.0, 0.0, 0.5, 0.5, 0.0])
    ensemble = replace(trees.ensemble, value=np.column_stack([1 - second, second]), classes=np.array(["no", "yes"]))
    trees = with_usage(trees, ensemble=ensemble)
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
    loss, F = MeanLogLoss(0.5, 2), np.array([[1.0], [0.0]])
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
