"""Engines for linear and integer programs: against each other, against scipy, and against what duality says."""

from __future__ import annotations

import dataclasses
import itertools
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.optimize import linprog

from formulations import InvalidInputError, SolverFailedError, StopReason
from formulations.programs.linear_program import Block, LinearProgram, Names
from solvers.programs.engines import exponent_of, interruptible, scaled, unscaled
from solvers.programs.highs import highs
from solvers.programs.linear_program import linear_program
from solvers.programs.or_tools import pdlp
from solvers.programs.rounding import LINEAR_ENGINES
from tests.instances import Node, problem_of
from tests.loops import looped
from tests.solvers.cases import ends_by_ctrl_c

ROOT = Path(__file__).resolve().parents[3]
INF = np.inf
PRECISION = {"highs": 1e-9, "glop": 1e-9, "highs_ipm": 1e-6, "highs_pdlp": 1e-6, "pdlp": 1e-6}
LINEAR_ONLY = sorted(set(LINEAR_ENGINES) - {"highs"})


def program(
    cost: ArrayLike,
    matrix: ArrayLike,
    row_lower: ArrayLike,
    row_upper: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    *,
    offset: float = 0.0,
    integer: bool = False,
) -> LinearProgram:
    """A program of lists."""
    c, rl, ru, lo, up = (np.asarray(v, dtype=float) for v in (cost, row_lower, row_upper, lower, upper))
    a = sparse.csr_array(np.asarray(matrix, dtype=float).reshape(len(rl), len(c)))
    x, r = (Names((Block(name, (np.arange(size),)),)) for name, size in (("x", len(c)), ("r", len(rl))))
    return LinearProgram(c, offset, a, rl, ru, lo, up, np.full(len(c), integer), x, r)


def random_program(seed: int, *, integer: bool = False) -> LinearProgram:
    """Bounded columns, rows of all kinds around a feasible point, costs of any size."""
    rng = np.random.default_rng(seed)
    n, r = int(rng.integers(1, 8 if integer else 15)), int(rng.integers(1, 12))
    lower = rng.integers(-2, 2, n).astype(float)
    upper = lower + rng.integers(0, 4, n)
    inside = np.round(lower + rng.random(n) * (upper - lower)) if integer else lower + rng.random(n) * (upper - lower)
    matrix = np.where(rng.random((r, n)) < 0.5, rng.integers(-3, 4, (r, n)), 0)
    value, kind = matrix @ inside, rng.integers(4, size=r)
    row_lower = np.select([kind == 0, kind == 1, kind == 2], [-INF, value - rng.integers(0, 2, r), value], value - 1)
    row_upper = np.select([kind == 0, kind == 1, kind == 2], [value + rng.integers(0, 2, r), INF, value], value + 0.5)
    cost = rng.integers(-9, 10, n) * 10.0 ** rng.integers(-7, 2)
    return program(cost, matrix, row_lower, row_upper, lower, upper, offset=float(rng.integers(3)), integer=integer)


def scale_of(lp: LinearProgram) -> float:
    """What an objective value may amount to."""
    return float(np.abs(lp.cost).sum()) * 3 + 1e-300


def by_scipy(lp: LinearProgram) -> float:
    """The optimum according to scipy's own linprog."""
    a = lp.matrix.toarray()
    high, low = np.isfinite(lp.row_upper), np.isfinite(lp.row_lower)
    k = exponent_of(lp.cost)
    answer = linprog(
        np.ldexp(lp.cost, k),
        A_ub=np.vstack([a[high], -a[low]]),
        b_ub=np.concatenate([lp.row_upper[high], -lp.row_lower[low]]),
        bounds=np.column_stack([lp.lower, lp.upper]),
    )
    assert answer.status == 0
    return math.ldexp(answer.fun, -k) + lp.offset


def check_duality(lp: LinearProgram, x: NDArray[np.float64], y: NDArray[np.float64], eps: float) -> None:
    """Feasible primal and dual points of one value: written out for each side, without the package's own formulas."""
    unit = float(np.abs(lp.cost).max(initial=0.0))
    activity, reduced = lp.matrix @ x, lp.cost - y @ lp.matrix.toarray()
    assert (activity >= lp.row_lower - eps).all()
    assert (activity <= lp.row_upper + eps).all()
    assert (x >= lp.lower - eps).all()
    assert (x <= lp.upper + eps).all()
    assert (y[np.isinf(lp.row_lower)] <= eps * unit).all()
    assert (y[np.isinf(lp.row_upper)] >= -eps * unit).all()
    total = lp.offset
    for multiplier, low, up in zip(np.r_[y, reduced], np.r_[lp.row_lower, lp.lower], np.r_[lp.row_upper, lp.upper], strict=True):
        side = low if multiplier > 0 else up
        total += multiplier * side if np.isfinite(side) else 0.0
    assert total == pytest.approx(float(lp.cost @ x) + lp.offset, rel=0, abs=eps * scale_of(lp))


@pytest.mark.parametrize("name", LINEAR_ENGINES)
@looped("seed", range(25))
def test_engines_agree_with_scipy_and_with_duality(name: str, seed: int) -> None:
    """Every engine's objective is scipy's, its duals have the documented signs and prove that objective."""
    lp = random_program(seed)
    answer, eps = LINEAR_ENGINES[name](lp), PRECISION[name]
    # HiGHS holds its own PDLP to absolute tolerances afterwards, which it may miss by a little
    assert answer.stopped is StopReason.CONVERGED or (name, answer.stopped) == ("highs_pdlp", StopReason.ITERATION_LIMIT)
    assert answer.x is not None
    assert answer.row_dual is not None
    assert answer.reduced_cost is not None
    assert answer.objective == float(lp.cost @ answer.x) + lp.offset
    assert answer.objective == pytest.approx(by_scipy(lp), rel=0, abs=eps * scale_of(lp))
    assert answer.bound == pytest.approx(answer.objective, rel=0, abs=eps * scale_of(lp))
    np.testing.assert_allclose(answer.reduced_cost, lp.cost - lp.matrix.T @ answer.row_dual, rtol=0, atol=1e-15)
    check_duality(lp, answer.x, answer.row_dual, eps)
    assert math.isnan(answer.nodes)


@pytest.mark.parametrize("name", LINEAR_ENGINES)
@looped("unit", [1.0, 1e-9, 1e7])
def test_signs_of_duals(name: str, unit: float) -> None:
    """By hand: d optimum / d right-hand side is negative at a binding <=, positive at a binding >=, either at an equality."""
    # -3 a + 2 b + c - d,  a <= 2 (row),  b >= 1 (row),  c = 3 (row, in 0..9),  d <= 5 (column)
    lp = program(
        np.array([-3, 2, 1, -1]) * unit,
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        [-INF, 1, 3],
        [2, INF, 3],
        [0, 0, 0, 0],
        [9, 9, 9, 5],
        offset=7 * unit,
    )
    answer = LINEAR_ENGINES[name](lp)
    assert answer.row_dual is not None
    assert answer.reduced_cost is not None
    np.testing.assert_allclose(answer.row_dual / unit, [-3, 2, 1], atol=1e-5)
    np.testing.assert_allclose(answer.reduced_cost / unit, [0, 0, 0, -1], atol=1e-5)
    assert answer.objective / unit == pytest.approx(-6 + 2 + 3 - 5 + 7, abs=1e-5)
    assert answer.bound / unit == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize("name", LINEAR_ENGINES)
def test_ranged_rows_and_tiny_costs(name: str) -> None:
    """A ranged row's dual is <= 0 when its upper side binds and >= 0 when its lower side does."""
    for cost, dual in ((-1.0, -1.0), (1.0, 1.0)):
        answer = LINEAR_ENGINES[name](program([cost, cost], [[1, 1]], [1], [2], [0, 0], [5, 5]))
        assert answer.row_dual[0] == pytest.approx(dual, abs=1e-5)
    # costs of 1e-9, a hundredth of the solvers' own tolerances, are told apart
    answer = LINEAR_ENGINES[name](program([-1e-9, -2e-9], [[1, 1]], [-INF], [1], [0, 0], [1, 1]))
    assert answer.x is not None
    np.testing.assert_allclose(answer.x, [0, 1], atol=1e-5)


EMPTY = {
    "no rows": (program([2, -3, 0], np.zeros((0, 3)), [], [], [0, 0, 1], [1, 2, 1], offset=4.0), -2.0),
    "no columns": (program([], np.zeros((2, 0)), [-1, 0], [INF, 0], [], [], offset=4.0), 4.0),
    "nothing": (program([], np.zeros((0, 0)), [], [], [], [], offset=4.0), 4.0),
    "a row without entries": (program([1, -1], [[0, 0], [1, 1]], [-1, -INF], [1, 1], [0, 0], [1, 1]), -1.0),
    "no costs": (program([0, 0], [[1, 1]], [1], [1], [0, 0], [1, 1], offset=4.0), 4.0),
    "fixed columns": (program([1, 1], [[1, 1]], [0], [9], [2, 3], [2, 3]), 5.0),
}


@looped("name", LINEAR_ENGINES)
@pytest.mark.parametrize("case", EMPTY)
def test_empty_programs(name: str, case: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Programs without rows, columns, entries or costs have answers of the right shapes, and nothing is printed."""
    lp, optimum = EMPTY[case]
    answer = LINEAR_ENGINES[name](lp)
    assert answer.stopped is StopReason.CONVERGED
    assert answer.objective == pytest.approx(optimum, abs=1e-6)
    assert answer.bound == pytest.approx(optimum, abs=1e-6)
    assert answer.x is not None
    assert answer.row_dual is not None
    assert (len(answer.row_dual), len(answer.x)) == lp.shape
    assert capfd.readouterr() == ("", "")


@looped("seed", range(30))
def test_integer_programs_against_brute_force(seed: int) -> None:
    """HiGHS' branch and cut finds what listing all integer points finds, and its bound lies below that, hardly."""
    lp = random_program(seed, integer=True)
    points = np.array(list(itertools.product(*(np.arange(a, b + 1) for a, b in zip(lp.lower, lp.upper, strict=True)))))
    rows = points @ lp.matrix.toarray().T
    feasible = points[((rows >= lp.row_lower) & (rows <= lp.row_upper)).all(axis=1)]
    best = float((feasible @ lp.cost).min()) + lp.offset
    answer = highs(lp)
    assert answer.stopped is StopReason.CONVERGED
    assert answer.objective == pytest.approx(best, rel=0, abs=1e-9 * scale_of(lp))
    assert answer.x is not None
    np.testing.assert_allclose(answer.x, np.round(answer.x), atol=1e-9)
    assert best - 1e-9 * scale_of(lp) <= answer.bound <= best
    assert answer.nodes >= 0
    assert answer.row_dual is None
    assert answer.reduced_cost is None


def test_the_bound_of_an_integer_program_gives_way_by_the_tolerances() -> None:
    """The claimed bound is 1e-9 (1 + sum of widths) scaled units lower than HiGHS' own, so -inf for an unbounded column."""
    lp = program([-1, -1], [[2, 2]], [-INF], [3], [0, 0], [1, 1], integer=True)
    assert highs(lp).bound == pytest.approx(-1 - 1e-9 * 3 / 2**13, rel=0, abs=1e-15)
    assert highs(dataclasses.replace(lp, upper=np.array([1.0, INF]))).bound == -INF


@pytest.mark.parametrize("name", LINEAR_ONLY)
def test_integer_programs_are_refused(name: str) -> None:
    """Engines without branch and bound say so and name the engine that has it."""
    lp = program([-1, -1], [[2, 2]], [-INF], [3], [0, 0], [1, 1], integer=True)
    with pytest.raises(InvalidInputError, match="2 of the 2 columns are integer; use the engine 'highs'"):
        LINEAR_ENGINES[name](lp)


@pytest.mark.parametrize("name", LINEAR_ENGINES)
def test_infeasible_and_unbounded_programs_fail_by_name(name: str) -> None:
    """A program without optimum ends in SolverFailedError, which gives the engine's status."""
    infeasible = program([1, 1], [[1, 1]], [3], [INF], [0, 0], [1, 1])
    unbounded = program([-1, 0], [[1, -1]], [-INF], [1], [0, 0], [INF, INF])
    for lp in (infeasible, unbounded):
        with pytest.raises(SolverFailedError, match=r"(?i)infeasible|unbounded"):
            LINEAR_ENGINES[name](lp)
    with pytest.raises(SolverFailedError, match="without columns"):  # which PDLP does not take
        pdlp(program([], np.zeros((1, 0)), [1], [2], [], []))


def big(n: int = 300) -> LinearProgram:
    """A transport problem with n x n columns: seconds for every engine with 300, minutes with 900."""
    rng = np.random.default_rng(0)
    lines, one = sparse.eye_array(n), np.ones((1, n))
    matrix = sparse.csr_array(sparse.vstack([sparse.kron(lines, one), sparse.kron(one, lines)]))
    names = [Names((Block("x", (np.arange(size),)),)) for size in (n * n, 2 * n)]
    sides = np.r_[rng.integers(1, 99, n), np.zeros(n)].astype(float)
    sides[n:] = sides[:n].sum() / n
    infinite, open_ = np.full(n, -INF), np.full(n, INF)
    return LinearProgram(
        rng.random(n * n),
        0.0,
        matrix,
        np.r_[sides[:n], infinite],
        np.r_[open_, sides[n:]],
        np.zeros(n * n),
        np.full(n * n, 99.0),
        np.zeros(n * n, dtype=bool),
        *names,
    )


@pytest.mark.slow_cases("highs_pdlp")
@pytest.mark.parametrize("name", LINEAR_ENGINES)
def test_time_limit(name: str) -> None:
    """At the time limit an engine stops soon and says so; a point without the program's objective is not handed out."""
    lp = big()
    start = time.perf_counter()
    answer = LINEAR_ENGINES[name](lp, time_limit=0.02)
    assert answer.stopped is StopReason.TIME_LIMIT
    assert time.perf_counter() - start < 5
    assert answer.objective == (INF if answer.x is None else float(lp.cost @ answer.x))


def test_time_limit_of_an_integer_program() -> None:
    """Without an incumbent at the limit there is no point, an infinite objective, and still a bound below the optimum."""
    lp = big()
    answer = highs(dataclasses.replace(lp, integer=np.ones(len(lp.cost), dtype=bool)), time_limit=0.0)
    assert answer.stopped is StopReason.TIME_LIMIT
    assert (answer.x is None) == (answer.objective == INF)
    assert answer.bound < answer.objective


@looped("seed", range(12))
def test_highs_takes_rows_of_any_size(seed: int) -> None:
    """A row times 2^133 has the same optimum, and its dual value is 2^-133 of what it was; HiGHS refuses such entries."""
    lp = random_program(seed)
    factor = np.where(np.arange(lp.shape[0]) == seed % lp.shape[0], 2.0**133, 1.0)
    large = dataclasses.replace(
        lp,
        matrix=sparse.csr_array(sparse.diags_array(factor) @ lp.matrix),
        row_lower=lp.row_lower * factor,
        row_upper=lp.row_upper * factor,
    )
    found, expected = highs(large), highs(lp)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-9 * scale_of(lp))
    assert found.bound == pytest.approx(expected.bound, rel=1e-9, abs=1e-9 * scale_of(lp))


def test_bad_options_are_refused() -> None:
    """Negative times, costs that are no numbers, and a matrix with two entries in one place."""
    lp = random_program(0)
    for engine in LINEAR_ENGINES.values():
        with pytest.raises(InvalidInputError, match="time_limit is -1 seconds"):
            engine(lp, time_limit=-1)
    for engine in LINEAR_ENGINES.values():  # with a cost of nan, HiGHS' simplex never ends
        with pytest.raises(InvalidInputError, match=r"costs of LinearProgram.* are not all finite: one is nan"):
            engine(dataclasses.replace(lp, cost=lp.cost * math.nan))
    doubled = lp.matrix.copy()
    doubled.indices[:] = 0
    with pytest.raises(SolverFailedError, match="HiGHS refuses LinearProgram"):
        highs(dataclasses.replace(lp, matrix=doubled))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "integer"), [*((name, False) for name in LINEAR_ENGINES), ("highs", True)])
def test_ctrl_c_ends_a_solve(name: str, integer: bool) -> None:
    """Ctrl-C in the middle of a solve ends it, and the process with it, within 5 s by InterruptedSolveError."""
    engines, home = "from solvers.programs.rounding import LINEAR_ENGINES", "from tests.solvers.programs.test_engines import big"
    whole = "import dataclasses; lp = dataclasses.replace(lp, integer=lp.cost > -1)" * integer
    ends_by_ctrl_c(f"{engines}; {home}; lp = big(900)\n{whole}", f"LINEAR_ENGINES[{name!r}](lp)", after=2, within=5)


def test_interruptible_passes_results_and_failures_on() -> None:
    """What a solve raises in its thread arrives; without failure nothing does, and nothing is cancelled."""
    seen: list[str] = []
    interruptible(lambda: seen.append("solved"), lambda: seen.append("cancelled"), "an engine")
    assert seen == ["solved"]
    with pytest.raises(ZeroDivisionError):
        interruptible(lambda: seen.append(str(1 // 0)), lambda: None, "an engine")


@looped("seed", range(20))
def test_scaling_moves_exponents_only(seed: int) -> None:
    """The largest scaled cost is in [2^13, 2^14), and scaling there and back changes no bit."""
    rng = np.random.default_rng(seed)
    cost = rng.standard_normal(9) * 10.0 ** rng.integers(-30, 30)
    k = exponent_of(cost)
    assert 2**13 <= np.abs(scaled(cost, k)).max() < 2**14
    assert np.array_equal(unscaled(scaled(cost, k), k), cost)
    assert np.array_equal(scaled(cost, k) / cost, np.full(9, 2.0**k))


@pytest.mark.slow
def test_native_libraries_are_imported_when_called() -> None:
    """Importing the engines loads neither highspy nor OR-Tools' linear solvers."""
    code = (
        "import sys, formulations; before = set(sys.modules); "
        "import solvers.programs.highs, solvers.programs.or_tools, formulations.programs.files; "
        "print([m for m in set(sys.modules) - before if m.startswith(('highspy', 'ortools.linear', 'ortools.pdlp'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_method_without_vertex_may_stop_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where HiGHS ends with Unknown, an interior point is handed out as ITERATION_LIMIT, a simplex answer is a failure."""
    import highspy

    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda self: highspy.HighsModelStatus.kUnknown)
    assert LINEAR_ENGINES["highs_ipm"](random_program(0)).stopped is StopReason.ITERATION_LIMIT
    with pytest.raises(SolverFailedError, match="'Unknown'"):
        highs(random_program(0))


@pytest.mark.slow
@looped("seed", range(10))
def test_first_order_methods_end(seed: int) -> None:
    """One split whose rows weigh 1e-5 to 1e5: without a time limit too the method ends, with a bound below the optimum."""
    rng = np.random.default_rng(seed)
    weights, rows = 10.0 ** rng.uniform(-5, 5, 20), rng.random((20, 1))
    problem = problem_of([Node(2.0, 0, 0.5, Node(0.0), Node(0.0))], [1], rows, weight=4.0, sample_weight=weights)
    for engine in ("pdlp", "highs_pdlp"):
        found = linear_program(problem, 0.5, formulation="closure", engine=engine, merge=False)
        assert found.bound <= 0.5 == found.value  # the split gains 1/2 and costs 1/2
        assert found.stopped in (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)


def test_nodes_are_a_limit() -> None:
    """Of a knapsack of 3 by 40, that takes 28 nodes, the bound after one is true, and twice the same."""
    rng = np.random.default_rng(3)
    weight, gain = rng.integers(20, 60, (3, 40)), rng.integers(20, 60, 40)
    lp = program(-gain, weight, [-INF] * 3, weight.sum(axis=1) / 2, [0] * 40, [1] * 40, integer=True)
    whole, first, again = highs(lp), highs(lp, most_nodes=1), highs(lp, most_nodes=1)
    assert (whole.stopped, first.stopped) == (StopReason.CONVERGED, StopReason.ITERATION_LIMIT)
    assert whole.nodes > first.nodes
    assert first.bound < whole.objective - 0.5
    assert first.bound == again.bound
