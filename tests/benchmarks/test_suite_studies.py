"""The benchmark suite: what is measured, how, and that the pairs do the same work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import instances
from benchmarks.instances import shipped
from benchmarks.suite import command, exact, plain, programs, study
from benchmarks.suite.results import Result, read_folder
from benchmarks.suite.study import Measured, Row, Setting, alternate, forest_file, instance, lambdas
from formulations.instance.papers import two_trees
from solvers import min_cut, primal_dual


@pytest.fixture(scope="module", autouse=True)
def without_collections() -> Iterator[None]:
    """A full collection between rounds takes a quarter of a second, the work here milliseconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study.gc, "collect", lambda: 0)
        yield


class Clock:
    """Tells what the work takes, and nothing else."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, log: list[str], name: str, *seconds: float) -> Any:
        """A piece of work whose runs take these seconds, the last one for ever; answers how often it ran."""
        left = list(seconds)
        runs = iter(range(10**6))

        def run() -> int:
            log.append(name)
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return next(runs)

        return run


def test_work_is_done_in_turns_and_the_first_round_warms_up() -> None:
    """A B A B A B: least seconds of each, their ratio, and its spread over the rounds; the round before does not count."""
    clock, log = Clock(), list[str]()
    works = {"a": clock.work(log, "a", 90.0, 3.0, 2.0, 4.0), "b": clock.work(log, "b", 1.0, 10.0, 8.0, 4.0)}
    found = alternate(works, repeats=3, limit=1000.0, clock=clock)
    assert "".join(log) == "abababab"
    assert found.seconds == {"a": (3.0, 2.0, 4.0), "b": (10.0, 8.0, 4.0)}
    assert found.answer == {"a": 3, "b": 3}
    assert found.row("here", "a", "b") == Row("here", "a", "b", 2.0, 4.0, 0.5, 0.25, 1.0, 3)  # 2/8 and 4/4


@pytest.mark.parametrize(("limit", "rounds"), [(0.0, 1), (5.0, 1), (5.1, 2), (10.1, 3), (99.0, 3)])
def test_no_round_begins_past_the_limit(limit: float, rounds: int) -> None:
    """A round takes 5 s: a single round counts itself, of more the first does not."""
    clock, log = Clock(), list[str]()
    works = {"a": clock.work(log, "a", 2.0), "b": clock.work(log, "b", 3.0)}
    found = alternate(works, repeats=2, limit=limit, clock=clock)
    assert len(log) == 2 * rounds
    assert found.row("", "a", "b").runs == max(1, rounds - 1)


def test_short_work_is_run_several_times_in_a_round() -> None:
    """The least of its runs counts; after a tenth of a second, or seven runs, it is the other one's turn."""
    clock, log = Clock(), list[str]()
    works = {"a": clock.work(log, "a", 0.005, 0.003, 0.009), "b": clock.work(log, "b", 0.06), "c": clock.work(log, "c", 0.1)}
    found = alternate(works, repeats=1, limit=0.0, clock=clock)
    assert "".join(log) == "aaaaaaabbc"
    assert found.row("", "a", "b").seconds_a == pytest.approx(0.003)
    assert found.answer["a"] == 6
    # the limit is on all runs: 7 of 9 ms, 2 of 60 ms and 1 of 0.1 s, some 0.27 s a round
    assert len(alternate(works, repeats=3, limit=0.25, clock=clock).seconds["a"]) == 1
    assert len(alternate(works, repeats=3, limit=0.3, clock=clock).seconds["a"]) == 1
    assert len(alternate(works, repeats=3, limit=0.6, clock=clock).seconds["a"]) == 2


@pytest.mark.parametrize("lam", [Fraction(0), Fraction(1, 1000), Fraction(1, 50), Fraction(1, 3)])
def test_the_raw_cut_finds_the_smallest_optimum(lam: Any) -> None:
    """The explicit network, nothing folded, has the same smallest minimum cut as the package's, also where items cost nothing."""
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(4, random_state=0).fit(X, y)
    dear_splits = pm.problem_from_forest(forest, X, costs=1, evaluation_cost=5.0)  # profits below 0
    for problem in (two_trees(), shipped("iris", trees=4, rows=40), shipped("diabetes", trees=3, rows=20), dear_splits):
        best = pm.engines.min_cut(problem, lam)
        assert best.pruning is not None
        np.testing.assert_array_equal(plain.raw_cut(problem, lam)(), best.pruning.kept)


def test_the_raw_cut_says_when_ortools_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """A status other than OPTIMAL is no answer."""

    class Failing(plain.max_flow.SimpleMaxFlow):  # type: ignore[misc]
        def solve(self, source: int, sink: int) -> str:
            return "POSSIBLE_OVERFLOW"

    monkeypatch.setattr(plain.max_flow, "SimpleMaxFlow", Failing)
    with pytest.raises(pm.errors.SolverFailedError, match="POSSIBLE_OVERFLOW"):
        plain.raw_cut(two_trees(), 0.1)()


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    """All quick studies, run once through the command, without a data folder: seconds, so every test of it is slow."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRUNEMODELS_DATA", "/nowhere")
        patch.setattr(command, "QUICK", (1, 0.0))
        out = tmp_path_factory.mktemp("results")
        assert command.main(["--quick", "--out", str(out)]) == 0
    return read_folder(out)


@pytest.mark.slow
def test_a_quick_run_has_every_study(quick: dict[str, Result]) -> None:
    """Each wrote a result with ratios that are seconds over seconds, on data that need no folder."""
    assert set(quick) == set(command.STUDIES)
    for result in quick.values():
        assert result.rows
        for row in result.rows:
            assert row.ratio == pytest.approx(row.seconds_a / row.seconds_b, rel=2e-3)
            assert row.low <= row.ratio <= row.high
        assert len({row.key for row in result.rows}) == len(result.rows)
        assert len({figure.key for figure in result.figures}) == len(result.figures)


@pytest.mark.slow
def test_figures_say_what_was_proven(quick: dict[str, Result]) -> None:
    """Exact engines end with gap 0, and the path's breakpoints are those of the path."""
    found = {figure.key: figure.value for result in quick.values() for figure in result.figures}
    name, problem = instance("miniboone", Setting(Path("nowhere"), quick=True))
    assert found[name, "breakpoints"] == len(pm.pruning_path(problem))
    assert found[name, "usage arcs"] == problem.n_usage_arcs
    assert found["iris, 5 trees, lambda' = 1", "relative gap of dantzig_wolfe, bundle"] == pytest.approx(0, abs=1e-6)
    assert found[f"{name}, longest edge -0.01 %", "gap without a cut"] == 0
    assert found[f"{name}, longest edge +0 %", "open arcs without a cut"] > 0  # type: ignore[operator]


def test_a_real_instance_is_the_kept_forest(tmp_path: Path) -> None:
    """What was grown before is read back, with the first cost rows where fewer are asked for, and unit prices."""
    X, y = load_iris(return_X_y=True)
    joblib.dump((RandomForestClassifier(3, random_state=0).fit(X, y), X), forest_file("miniboone", tmp_path))
    name, problem = instance("miniboone", Setting(tmp_path))
    assert (name, problem.usage.n_rows, problem.ensemble.n_trees) == ("MiniBooNE, 150 rows", 150, 3)
    assert instance("miniboone", Setting(tmp_path), 20)[1].usage.n_rows == 20
    # lambda' = 1: an error of one example for a purchase of one; here N = W_t, so lam = 1 / T
    assert lambdas("miniboone", problem, Setting(tmp_path)) == [
        ("lambda' = 0.05", Fraction(1, 60)),
        ("lambda' = 0.2", Fraction(1, 15)),
        ("lambda' = 0.5", Fraction(1, 6)),
        ("lambda' = 1", Fraction(1, 3)),
    ]


def test_hard_lambdas_lie_beside_the_longest_edges() -> None:
    """Four distances below and above each edge, others in between."""
    path = pm.pruning_path(shipped("iris", trees=3, rows=30))
    lams = instances.hard_lambdas(path, edges=1, others=2)
    edge = path.breakpoints[int(np.argmax(-np.diff(path.cost))) + 1]
    assert [lam / edge - 1 for _, lam in lams[:8]] == [s * d for d in instances.BESIDE for s in (-1, 1)]
    assert all(path.breakpoints[1] < lam < path.breakpoints[-1] for _, lam in lams[8:])


def _broken(kept: Any) -> Any:
    """A solver whose pruning is another one."""

    def solve(problem: pm.PruningProblem, lam: Any, **options: Any) -> pm.Solution:
        solution = min_cut(problem, lam)
        return replace(
            solution, pruning=pm.Pruning(problem, np.full_like(problem.ensemble.is_split, kept) & problem.ensemble.is_split)
        )

    return solve


SETTING = Setting(Path("nowhere"), quick=True, repeats=1, limit=0.0)


def test_prunings_that_differ_are_no_result() -> None:
    """A fast wrong answer stops the study, whichever engine gives it."""
    problem = shipped("iris", trees=3, rows=30)
    lam = pm.pruning_path(problem).breakpoints[2]
    right = {"raw cut": plain.raw_cut(problem, lam), "min_cut": partial(min_cut, problem, lam)}
    exact.against_the_raw_cut("here", right, SETTING)
    for engine in ("min_cut", "price_sharing"):
        works = {**right, engine: lambda: _broken(kept=True)(problem, lam)}
        with pytest.raises(pm.errors.SolverFailedError, match=f"{engine} and the raw cut"):
            exact.against_the_raw_cut("here", works, SETTING)


def test_a_path_that_differs_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """Against plain divide and conquer breakpoints and levels are compared, against both cuts the pruning."""
    problem = shipped("iris", trees=3, rows=30)
    path = pm.pruning_path(problem)
    lam: Any = path.breakpoints[len(path) // 2]
    cut, raw = pm.engines.min_cut(problem, lam), plain.raw_cut(problem, lam)()
    answers = {exact.PATH: path, exact.PLAIN: path, "min_cut": cut, exact.RAW: raw}
    one = dict.fromkeys(answers, (1.0,))
    exact.check_agreement("here", Measured(one, answers), lam)
    other = replace(path, level=np.where(path.level == path.level.max(), path.level - 1, path.level).astype(np.int32))
    fewer = pm.pruning_path(shipped("iris", trees=2, rows=30))
    for name, wrong, told in (
        (exact.PLAIN, other, "plain divide and conquer differ"),
        (exact.PLAIN, fewer, "plain divide and conquer differ"),
        ("min_cut", _broken(kept=True)(problem, lam), "min_cut differ"),
        (exact.RAW, ~raw, "raw cut differ"),
    ):
        with pytest.raises(pm.errors.SolverFailedError, match=told):
            exact.check_agreement("here", Measured(one, answers | {name: wrong}), lam)


def test_a_gap_that_is_not_reached_is_no_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithm 1 stopped early has figures and no ratio: it would be the ratio of something else."""

    def early(problem: pm.PruningProblem, lam: Any, **options: Any) -> pm.Solution:
        return primal_dual(problem, lam, **(options | {"iterations": 1, "start": "zeros"}))

    monkeypatch.setattr(programs, "primal_dual", early)
    rows, figures = programs.measure_primal_dual(SETTING)
    assert not rows
    assert len(figures) == 8


def test_a_decomposition_that_claims_too_much_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound above the optimum, or a value below it, stops the study."""
    for name, factor in (("bound", 1.01), ("value", 0.99)):

        def wrong(problem: pm.PruningProblem, lam: Any, _name: str = name, _factor: float = factor, **_: Any) -> pm.Solution:
            solution = pm.engines.min_cut(problem, lam)
            return replace(solution, **{_name: getattr(solution, _name) * _factor}, stats={**solution.stats, "rounds": 1.0})

        monkeypatch.setattr(programs, "dantzig_wolfe", wrong)
        with pytest.raises(pm.errors.SolverFailedError, match="claims more than min_cut"):
            programs.measure_dantzig_wolfe(SETTING)
