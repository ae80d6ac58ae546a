"""One suite for all engines and formulations: the same optimum, true bounds, proofs that a stranger accepts.

A new engine joins by its line in `solvers.ENGINES`, a new instance by its line in `cases.CASES`.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest

from formulations import InvalidInputError, ParametricClosure, PruningProblem, Solver, Status, StopReason
from proofs_checks import check_solution
from solvers import ENGINES as RECORDS
from solvers import SOLVERS, brute_force, closure_path, linear_program, min_cut, pruning_path, pyomo_highs, solve_relaxation
from solvers.brute_force import MOST_PRUNINGS, count_prunings
from solvers.column_generation import Scheme, dantzig_wolfe
from solvers.path.params import PathParams
from solvers.price_sharing import price_sharing
from solvers.primal_dual import primal_dual
from solvers.programs.engines import LINEAR_ENGINES
from tests.instances import Node, problem_of
from tests.loops import looped
from tests.solvers.cases import OPTIMA, PRESENT, instance, lambdas, path_by_parts

FEW = 20_000
"""Prunings that brute force lists quickly."""

CHECKED = 4_000
"""Usage arcs up to which the checker, which counts in fractions, is asked."""

VARIANTS: dict[str, Solver] = {
    "price_sharing, rounds": partial(price_sharing, small_core=0),
    "dantzig_wolfe, smoothed": partial(dantzig_wolfe, scheme=Scheme(master="linear program", smoothing=0.5)),
    "dantzig_wolfe, not merged": partial(dantzig_wolfe, scheme=Scheme(merge=False)),
    "primal_dual, not merged": partial(primal_dual, merge=False),
}
"""Registered engines with other options: rounds where a cut would be quicker, and other masters."""

PAIRS: dict[str, Solver] = {
    f"{engine} on {formulation}": partial(linear_program, formulation=formulation, engine=engine, merge=False)
    for engine in LINEAR_ENGINES
    for formulation in ("IP1", "IP3", "closure")
}

EXACT = [name for name, engine in RECORDS.items() if engine.proves == "optimum"]

ENGINES: dict[str, Solver] = SOLVERS | VARIANTS | PAIRS
"""All that is registered, with variants, and every engine for linear programs on every formulation, purchases not merged."""

SOME = ("papers", "stump, evaluation", "unreached split", "ladder", "losing splits")
SOME += (*(f"random {seed}" for seed in (2, 4, 10, 15, 21)), "rounded 5", "iris, weights", "wine, evaluation")
"""Cases for Pyomo, whose programs a test compares with the arrays', for the engines below, and for pairs not registered."""

AGAIN = ("pdlp_closure", "dantzig_wolfe_plain")
"""Registered engines whose code another one runs on all cases: PDLP on IP3, and column generation with all that speeds it up."""


@cache
def optimum(name: str, lam: float) -> float:
    """The optimal value by listing all prunings; where there are too many, by the cut, once its proof is checked."""
    problem = instance(name)
    if count_prunings(problem.ensemble) <= FEW:
        return brute_force(problem, lam).value
    found = min_cut(problem, lam)
    assert check_solution(problem, found).holds
    assert found.relative_gap <= 1e-9
    return found.value


def attainable(problem: PruningProblem, bound: float) -> float:
    """What a relative gap is relative to."""
    return max(float(problem.node_error[problem.ensemble.roots].sum()) - bound, 1e-6)


def cases_of(engine: str) -> list[str]:
    """All cases for registered engines; some for Pyomo and for other pairs of engine and formulation, which share their code."""
    if engine in RECORDS and RECORDS[engine].takes == "small":
        return [name for name in PRESENT if count_prunings(instance(name).ensemble) <= FEW]
    everything = engine in SOLVERS and engine not in AGAIN and not engine.startswith("pyomo")
    return PRESENT if everything else [name for name in SOME if name in PRESENT]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_agree(engine: str) -> None:
    """Values are attained, bounds are true, exact engines meet the optimum, and every certificate is accepted."""
    for name in cases_of(engine):
        assert_agrees(engine, name)


def assert_agrees(engine: str, name: str) -> None:
    """The promises of an engine on one case."""
    problem = instance(name)
    for lam in lambdas(name):
        best, found = optimum(name, lam), ENGINES[engine](problem, lam)
        precision = 1e-12 * max(1.0, best)
        assert found.pruning is not None, (name, lam)
        assert found.pruning.value(lam) == found.value, (name, lam)
        assert found.value >= best - precision, (name, lam)
        assert found.bound <= best + precision, (name, lam)
        assert found.bound <= found.value, (name, lam)
        if found.status is Status.OPTIMAL:
            assert found.value - best <= 1e-6 * attainable(problem, found.bound), (name, lam)
        if engine.partition(",")[0] in EXACT:
            assert found.stopped is StopReason.CONVERGED, (name, lam)
            assert found.status is Status.OPTIMAL, (name, lam, found)
            assert found.value == pytest.approx(best, rel=1e-9, abs=1e-12), (name, lam)
        if engine.startswith("primal_dual"):
            assert found.relative_gap <= 1e-3, (name, lam)
        if found.certificate is not None and problem.n_usage_arcs <= CHECKED:
            verdict = check_solution(problem, found)
            assert verdict.holds, (name, lam, verdict)


@looped(("name", "lam"), OPTIMA)
def test_hand_worked_optima(name: str, lam: float) -> None:
    """The optimum that all engines are compared with is the one worked out by hand."""
    assert lam in lambdas(name)
    assert optimum(name, lam) == pytest.approx(OPTIMA[name, lam], rel=1e-12)


def as_closure(problem: PruningProblem) -> ParametricClosure:
    """Splits, which require their parents and their purchases, and purchases, in the integers of the instance."""
    usage, ints, arcs = problem.usage, problem.numbers, problem.usage.arcs()
    bought, j = np.unique(arcs.head, return_inverse=True)
    place = np.full(problem.ensemble.n_nodes, -1)
    place[usage.splits] = np.arange(usage.splits.size)
    below = usage.splits[problem.ensemble.parent[usage.splits] >= 0]
    return ParametricClosure(
        gain=np.append(ints.gain[usage.splits], np.zeros(bought.size)),
        price=np.append(ints.evaluation[usage.splits], problem.purchase_price()[bought]),
        tail=np.append(place[below], place[arcs.tail]),
        head=np.append(place[problem.ensemble.parent[below]], usage.splits.size + j),
    )


def test_the_path_is_that_of_the_reference() -> None:
    """Guesses, merged purchases, many parts in one network and price sharing find the path that plain cuts find one by one."""
    exact = [name for name in PRESENT if instance(name).numbers.exact]
    assert len(exact) > 25
    for name in exact:
        problem = instance(name)
        reference, unit = closure_path(as_closure(problem), certificate=False), problem.numbers.lam_unit
        for path in (pruning_path(problem), path_by_parts(problem, 0), path_by_parts(problem, params=PathParams(guess_arcs=0))):
            assert path.breakpoints == tuple(point * unit for point in reference.breakpoints), name
            splits = problem.usage.splits
            np.testing.assert_array_equal(path.level[splits], reference.level[: splits.size], err_msg=name)


@pytest.mark.slow
@looped("seed", range(12))
def test_ip2_is_ip3_of_one_tree(seed: int) -> None:
    """On single trees, IP2 gives the same optimum, by every engine, merged or not, as arrays and through Pyomo."""
    names = [n for n in PRESENT if n.startswith(("papers, tree", "stump", "ladder"))]
    name = names[seed % len(names)]
    problem = instance(name)
    for lam in lambdas(name)[::2]:
        for engine in LINEAR_ENGINES:
            found = linear_program(problem, lam, formulation="IP2", engine=engine, merge=bool(seed % 2))
            assert found.status is Status.OPTIMAL
            assert found.value == pytest.approx(optimum(name, lam), rel=1e-12)
        for relax in (False, True):
            through = pyomo_highs(problem, lam, formulation="IP2", relax=relax, merge=bool(seed % 2))
            assert through.status is Status.OPTIMAL
            assert through.value == pytest.approx(optimum(name, lam), rel=1e-12)


@looped("name", PRESENT)
def test_ip0_prunes_for_the_error_alone(name: str) -> None:
    """IP0's relaxation is integral, and its optimum is that of lambda = 0."""
    problem = instance(name)
    found = solve_relaxation(problem, formulation="IP0")
    assert found.integral
    assert found.objective == pytest.approx(min_cut(problem, 0).value, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("engine", [engine for engine in ENGINES if engine != "brute_force"])
def test_no_time_gives_a_pruning_and_a_true_bound(engine: str) -> None:
    """Without any time every engine but brute force returns what it has: a pruning, and a bound that holds."""
    problem = instance("iris")
    lam = lambdas("iris")[1]
    found = ENGINES[engine](problem, lam, time_limit=0.0)
    assert found.pruning is not None
    assert found.bound <= optimum("iris", lam) + 1e-12 <= found.value + 2e-12


@looped("engine", ENGINES)
@pytest.mark.parametrize(
    "lam", [-0.1, math.nan, math.inf, 10**400, Fraction(1, 10**400), Decimal("1e-400"), Decimal("1e99999999")]
)
def test_impossible_lambdas_are_refused(engine: str, lam: float) -> None:
    """Every engine refuses a lambda that is negative or no number that a float can hold, by name."""
    with pytest.raises(InvalidInputError, match=r"lam is .*(; give a number$|>= 0|a float can hold)"):
        ENGINES[engine](instance("papers"), lam)


def test_brute_force_refuses_forests_that_are_too_large() -> None:
    """Before anything is listed; of 2,000 stumps with 2^2000 prunings, more than a float can say, too."""
    assert count_prunings(instance("digits").ensemble) > MOST_PRUNINGS
    with pytest.raises(InvalidInputError, match="brute force: the forest has"):
        brute_force(instance("digits"), 0.1)
    tree = Node(2, 0, 0.5, Node(1), Node(0))
    problem = problem_of([tree] * 2000, [1], weight=2.0)
    with pytest.raises(InvalidInputError, match=r"the forest has 1\.15e\+602 prunings, at most 1,000,000"):
        brute_force(problem, 0.1)


def test_the_naive_relaxation_loses() -> None:
    """On a real forest IP1's relaxation is fractional and its bound below the optimum, where IP3's meets it."""
    problem, lam = instance("iris"), lambdas("iris")[2]
    naive = SOLVERS["highs_ip1_relaxed"](problem, lam)
    assert naive.stats["integral"] == 0.0
    assert naive.bound < optimum("iris", lam) - 1e-3 * attainable(problem, naive.bound)
    assert naive.status is Status.FEASIBLE
    assert naive.bound == pytest.approx(solve_relaxation(problem, lam, formulation="IP1").objective, rel=1e-9)
    assert SOLVERS["highs_ip3"](problem, lam).bound == pytest.approx(optimum("iris", lam), rel=1e-12)
    assert np.isfinite(naive.gap)
