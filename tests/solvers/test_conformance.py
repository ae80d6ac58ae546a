"""One suite for all engines and formulations: the same optimum, true bounds, proofs; which engine is taken, in which version."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from importlib import metadata
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import prunemodels as pm
from formulations import InvalidInputError, ParametricClosure, PruningProblem, Solver, Status, StopReason, long_steps
from formulations.answers.solution import ItemDuals, SharedPrices
from formulations.instance.papers import two_trees
from proofs_checks import check_solution
from prunemodels.example import X_valid, forest, y_valid
from solvers import ENGINES as RECORDS
from solvers import SOLVERS, brute_force, closure_path, linear_program, min_cut, pruning_path, pyomo_highs, solve_relaxation
from solvers.automatic import optimal_pruning, predicted_seconds
from solvers.brute_force import MOST_PRUNINGS, count_prunings
from solvers.column_generation import Scheme, dantzig_wolfe
from solvers.engine import check_versions
from solvers.path.params import PathParams
from solvers.price_sharing import price_sharing
from solvers.price_sharing.params import SharingParams
from solvers.primal_dual import primal_dual
from solvers.programs.rounding import LINEAR_ENGINES
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.cases import OPTIMA, PRESENT, instance, lambdas, path_by_parts

FEW = 20_000  # prunings that brute force lists quickly

CHECKED = 4_000  # usage arcs up to which the checker, which counts in fractions, is asked

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


@looped("seed", range(0, 60, 3))
@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_both_engines_give_the_same_extreme_optimum(seed: int, ties: str) -> None:
    """Whichever engine is taken, the pruning is the one that min_cut proves."""
    problem = random_problem(seed)
    expected = min_cut(problem, 0.125, ties=ties)  # type: ignore[arg-type]
    for rounds in (1000, -1):
        params = SharingParams(small_core=-1, full_rounds=rounds)
        found = optimal_pruning(problem, 0.125, ties=ties, params=params)  # type: ignore[arg-type]
        assert (found.pruning.kept == expected.pruning.kept).all()  # type: ignore[union-attr]
        assert found.status is expected.status
        assert found.method == ("price_sharing" if rounds < 0 else "min_cut")


def test_a_cut_is_taken_only_well_within_the_time_limit() -> None:
    """A cut cannot be stopped, so under a limit that it could break the engine is the one that looks at the clock."""
    problem = two_trees()
    cut, _ = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits, SharingParams())
    for limit, certificate in ((math.inf, ItemDuals), (4.001 * cut, ItemDuals), (3.999 * cut, SharedPrices)):
        assert isinstance(optimal_pruning(problem, 0.1, time_limit=limit).certificate, certificate)
    stopped = optimal_pruning(problem, 0.1, time_limit=0.0)
    assert stopped.status is not Status.OPTIMAL or stopped.gap == 0


def test_the_choice_is_explained_beside_the_engine_s_own_figures() -> None:
    """The solution names the engine; the stats hold both predictions and what the engine itself says. Of a million usage arcs and
    ten thousand splits: 0.55 + 0.009 s; 55 rounds of 1.5 + 0.26 ms.
    """
    assert predicted_seconds(1_000_000, 10_000, SharingParams()) == pytest.approx((0.559, 0.0968))
    solution = optimal_pruning(two_trees(), 0.2)
    cut, sharing = predicted_seconds(solution.problem.n_usage_arcs, solution.problem.ensemble.n_splits, SharingParams())
    assert solution.method == "min_cut"
    assert solution.stats["min_cut_seconds_predicted"] == cut
    assert solution.stats["price_sharing_seconds_predicted"] == sharing
    assert solution.stats["seconds"] > 0
    assert solution.value == pytest.approx(2 / 8 + 0.2 * 2)


@pytest.mark.parametrize("at_terminal", [True, False])
def test_nobody_asked_for_a_bar(monkeypatch: pytest.MonkeyPatch, at_terminal: bool) -> None:
    """It is shown on a terminal, where it takes long, and nowhere else: for a budget and for a rule."""
    monkeypatch.setattr(long_steps, "tqdm", partial(long_steps.tqdm, mininterval=0))
    for goal, unasked in product(({"budget": 9.7}, {"choose": "knee"}), (0.0, 3600.0)):  # what is quick shows nothing
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda: at_terminal)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(long_steps, "SECONDS_UNASKED", unasked)
        pm.prune_forest(forest, X_valid, y_valid, **goal)  # type: ignore[arg-type]
        assert ("splits decided" in stream.getvalue()) == (at_terminal and not unasked)


ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "version", "needed"),
    [
        *(("highspy", wrong, "1.13") for wrong in ("1.15.0", "1.14.0", "1.130.0")),
        ("ortools", "9.16.1", "9.15"),
        *(("highspy", right, None) for right in ("1.13.0", "1.13")),
        ("ortools", "9.15.6755", None),
    ],
)
def test_wrong_versions_are_refused(package: str, version: str, needed: str | None, tmp_path: Path) -> None:
    """The message says what is installed, what is needed, why, and the command that mends it. All releases of the right versions
    pass, and looking them up imports neither package.
    """
    info = tmp_path / f"{package}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    code = (
        f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; from solvers.engine import check_versions; "
        "loaded = set(sys.modules); check_versions(); print(sorted((set(sys.modules) - loaded) & {'highspy', 'ortools'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    if needed is None:
        assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr
        return
    assert done.returncode != 0
    message = done.stderr.splitlines()[-1]
    assert f"ImportError: {package} {version} is installed, {package} {needed} is needed" in message
    assert "libhighs.so.1" in message
    assert "wrong optima" in message
    assert "python -m pip install 'highspy==1.13.*' 'ortools==9.15.*'" in message


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without OR-Tools, the message names it and the command; highspy is left out of a light install."""

    def missing(package: str) -> str:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(ImportError, match=r"ortools 9\.15 is needed and not installed; mend it with: python -m pip install"):
        check_versions()
