"""Branch and bound within a budget: equal to brute force, bounds true whatever stops it."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from formulations import CostItems, InvalidInputError, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import Status, StopReason
from formulations.errors import CapacityOverflowError, InterruptedSolveError
from solvers.brute_force import AllPrunings, all_prunings
from solvers.closures.cut import Ties
from solvers.path.pruning_path import pruning_path
from solvers.within import brute_force_budget, exact_budget, search
from solvers.within.core import KnapsackCore
from solvers.within.edge import edge_of, fixed
from solvers.within.params import WithinParams
from solvers.within.windows import window_between
from tests.instances import Node, ensemble_of, plain_errors, problem_of, random_tree
from tests.loops import looped
from tests.solvers.cases import halfway, instance

GRID = 9
Instance = tuple[PruningProblem, PruningPath, AllPrunings]


@cache
def costly(seed: int) -> Instance:
    """Two or three trees whose splits all gain and nearly all cost something: long hull edges with prunings inside."""
    rng = np.random.default_rng(1000 + seed)
    n_features = int(rng.integers(2, 6))
    trees = [random_tree(rng, n_features, int(rng.integers(2, 6)), 2) for _ in range(int(rng.integers(2, 4)))]
    ensemble, error = ensemble_of(trees, n_features)
    for h in reversed(range(ensemble.n_nodes)):
        if ensemble.left[h] >= 0:
            error[h] = error[ensemble.left[h]] + error[ensemble.right[h]] + rng.integers(0 if seed % 3 else -2, 12)
    error = np.maximum(error, 0)
    X = rng.integers(0, 5, (int(rng.integers(2, 8)), n_features)).astype(float)
    prices = [int(p) for p in rng.integers(1, 6, n_features)]
    evaluation = 0.5 if seed % 4 == 0 else 0
    problem = PruningProblem.build(
        ensemble, plain_errors(ensemble, error, 30.0), X, CostItems.plain(prices), evaluation_cost=evaluation
    )
    return problem, pruning_path(problem, certificate=False), all_prunings(problem)


def grid(path: PruningPath) -> list[Fraction]:
    """Budgets from nothing to a little more than the dearest breakpoint, some of them costs of breakpoints."""
    return [path.exact_cost[0] * Fraction(k, GRID - 1) for k in range(GRID + 1)] + list(path.exact_cost[1:3])


def knapsack(gains: list[int], prices: list[float]) -> PruningProblem:
    """Stumps on features of their own, one row: the plain 0-1 knapsack."""
    trees = [Node(g, f, 0.5, Node(0), Node(0)) for f, g in enumerate(gains)]
    return problem_of(trees, prices)


def test_the_knapsack_gap_is_real() -> None:
    """Gains 61, 50, 50 at prices 3, 2.5, 2.5: within 5.4 the best is 100, the best breakpoint 61, the chord 61 + 100 * 2.4 / 5.
    No pruning costs more than 5 and at most 5.4 (3, 2.5, 5, 5.5, 8), so the bound must rise from the chord to the pruning.
    """
    problem = knapsack([61, 50, 50], [3, 2.5, 2.5])
    answer = exact_budget(problem, Fraction(54, 10))
    roots = problem.errors.of_all_roots(problem.ensemble)
    assert roots - answer.relaxation.value == Fraction(109, 30)
    assert answer.error == pytest.approx(float(roots - Fraction(100, 30)))
    assert answer.bound == answer.error
    assert answer.pruning.kept.tolist() == [False, False, False, True, False, False, True, False, False]
    assert answer.stats["bound_raised"] == pytest.approx(9 / 48)
    assert answer.stats["error_lowered"] == pytest.approx(39 / 48)


@pytest.fixture(scope="module")
def middling() -> tuple[PruningProblem, PruningPath, Fraction]:
    """A real forest, and a budget within a hull edge that takes some nodes."""
    problem = instance("digits")
    path = pruning_path(problem, certificate=False)
    return problem, path, halfway(path)


@pytest.mark.slow
def test_stopped_by_the_clock(middling: tuple[PruningProblem, PruningPath, Fraction], monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the time is up, the bound holds and the pruning fits; the bound gets better with time."""
    # the pruning need not: an edge cut short may be filled by luck better than the finished one
    problem, path, budget = middling
    best = exact_budget(problem, budget, path=path)
    assert best.status is Status.OPTIMAL
    assert best.stats["nodes"] >= 2
    last = None
    for ticks in (2, 5, 9, 15, 40, 10_000):
        clock = iter(range(10**9))
        monkeypatch.setattr(time, "perf_counter", lambda clock=clock: float(next(clock)))
        answer = exact_budget(problem, budget, path=path, time_limit=ticks)
        monkeypatch.undo()
        assert answer.bound <= best.error <= answer.error
        assert answer.gap == 0 or answer.stopped is StopReason.TIME_LIMIT
        assert answer.pruning.exact_cost <= budget
        if last is not None:
            assert answer.bound >= last.bound
        last = answer
    assert last.gap == 0
    assert last.error == best.error


@pytest.mark.slow_cases("12", "30")
@pytest.mark.parametrize("after", [1, 2, 3, 7, 12, 30])
def test_interrupted(middling: tuple[PruningProblem, PruningPath, Fraction], monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Ctrl-C in any edge of the search: the best so far, with a bound that counts what was half branched."""
    problem, path, budget = middling
    best = exact_budget(problem, budget, path=path)
    calls = 0

    def stopping(*arguments: object, **options: object) -> object:
        nonlocal calls
        calls += 1
        if calls == after:
            raise InterruptedSolveError("Ctrl-C")
        return edge_of(*arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(search, "edge_of", stopping)
    answer = exact_budget(problem, budget, path=path)
    assert answer.bound <= best.error <= answer.error
    assert answer.pruning.exact_cost <= budget
    if calls == after:
        assert answer.stopped is StopReason.INTERRUPTED


def test_starts_from_the_incumbent() -> None:
    """An incumbent is kept where nothing is better, even without time; one above the budget is refused."""
    problem = knapsack([61, 50, 50], [3, 2.5, 2.5])
    budget = Fraction(54, 10)
    best = exact_budget(problem, budget).pruning
    answer = exact_budget(problem, budget, incumbent=best, time_limit=0)
    assert answer.pruning is best
    assert answer.stopped is StopReason.TIME_LIMIT
    worse = Pruning.all_roots(problem)
    assert exact_budget(problem, budget, incumbent=worse).pruning.integer_gain == best.integer_gain
    with pytest.raises(InvalidInputError, match="incumbent costs 8"):
        exact_budget(problem, budget, incumbent=Pruning.unpruned(problem))


def whole_core(problem: PruningProblem, most: int) -> KnapsackCore:
    """The core between the first and the last row."""
    path = pruning_path(problem, certificate=False)
    core = window_between(path, 0, len(path) - 1, most * problem.numbers.price_unit).core
    assert core.is_whole
    return core


def cores() -> list[tuple[PruningProblem, AllPrunings, int]]:
    """Instances with a room in the middle of what there is to pay."""
    found = []
    for seed in range(16):
        problem, path, every = costly(seed)
        found.append((problem, every, int(path.exact_cost[0] * Fraction(3, 5) // problem.numbers.price_unit)))
    return found


def test_too_large_products_are_refused() -> None:
    """A cut whose products would not fit 62 bits is refused, never wrapped."""
    core = next(c for c in (whole_core(p, m) for p, _, m in cores()) if c.nodes.size)
    with pytest.raises(CapacityOverflowError, match="62 bits"):
        core.at(Fraction(2**62, 3))


def test_a_first_lambda_that_does_not_fit_is_ignored() -> None:
    """Probes estimate their first lambda in floating point. One whose products do not fit 62 bits ends no search."""
    for problem, _, most in cores():
        core = whole_core(problem, most).trimmed()
        if core.nodes.size:
            edges = [edge_of(core, first_lam=lam, goal=-1) for lam in (None, Fraction(2**62, 3), Fraction(1, 2**62))]
            assert len({edge.bound for edge in edges}) == 1


@pytest.mark.slow
@looped("seed", range(16))
@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_equals_brute_force(seed: int, ties: Ties, narrow: bool) -> None:
    """On every budget of a grid the optimum, also where windows start from the edge alone and are widened little by little."""
    params = WithinParams(most_listed=0)
    if narrow:
        params = replace(params, first_window_arcs=0, window_widths=(1.0, 1.5, 2.0, 3.0, 5.0), one_trial_arcs=0)
    problem = costly(seed)[0]
    path = pruning_path(problem, ties=ties, certificate=False)
    for budget in grid(path):
        answer = exact_budget(problem, budget, path=path, params=params)
        assert answer.error == brute_force_budget(problem, budget).error
        assert (answer.gap, answer.status, answer.stopped) == (0, Status.OPTIMAL, StopReason.CONVERGED)
        assert answer.pruning.exact_cost <= budget


def test_fixing_loses_nothing_better() -> None:
    """With any goal below the optimum, some optimum survives the fixing; with the optimum as goal the cores get smaller."""
    smaller = 0
    for problem, every, most in cores():
        core = whole_core(problem, most)
        if not core.nodes.size or core.total_cost <= core.room:
            continue
        lam, optimum = edge_of(core, goal=-1).lam, int(every.gain[every.cost <= most].max())
        for goal in {max(core.gained, optimum - 1), core.gained}:
            if goal >= optimum:
                continue
            left = fixed(core, lam, goal)
            assert left is not None
            taken = np.concatenate(left.taken)
            groups = problem.reduced().groups
            kept = every.kept[:, groups.payer] & groups.is_group
            others = np.setdiff1d(np.arange(kept.shape[1]), np.concatenate([taken, left.nodes]))
            ours = kept[:, taken].all(axis=1) & ~kept[:, others].any(axis=1)
            assert every.gain[ours & (every.cost <= most)].max() == optimum
            smaller += left.nodes.size < core.nodes.size
    assert smaller > 5
