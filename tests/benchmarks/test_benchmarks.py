"""What the benchmarks' tables claim beyond seconds, on tiny instances."""

from __future__ import annotations

import argparse
import math
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import budget_rounding, engines, hard_lambdas, in_use, instances, naive, second_process, survival, without_cut
from benchmarks.confidence import ALPHA, POPULATIONS, share_too_low, table
from benchmarks.default_forest import JOBS, left
from prunemodels.data_files import FOLDER_VARIABLE
from solvers.price_sharing import stopping
from tests.solvers.cases import instance


@pytest.fixture(scope="module")
def pairs() -> list[naive.Pair]:
    """The quick run on random data and on what scikit-learn ships: a second, so every test of it is slow."""
    quick = [*instances.random_instances(quick=True), *instances.shipped_instances(quick=True)]
    return list(naive.pairs_of(quick, limit=60.0))


@pytest.mark.slow
def test_ip3_is_never_fractional_and_never_off(pairs: list[naive.Pair]) -> None:
    """A vertex of IP3's relaxation is integral and worth the optimum that the exact path knows."""
    assert len(pairs) >= 10
    assert not any(p.ip3_fractional for p in pairs)
    assert max(abs(p.ip3_gap) for p in pairs) < 1e-9


@pytest.mark.slow
def test_ip1_is_a_bound_and_a_weak_one(pairs: list[naive.Pair]) -> None:
    """IP1's relaxation never exceeds the optimum, is below it nearly always, and is fractional wherever it is below."""
    assert min(p.ip1_gap for p in pairs) > -1e-9
    assert sum(p.no_integral_optimum for p in pairs) >= 0.8 * len(pairs)
    assert all(p.ip1_fractional for p in pairs if p.no_integral_optimum)


@pytest.mark.slow
def test_branch_and_bound_closes_ip1_at_the_middle_lambda(pairs: list[naive.Pair]) -> None:
    """Tiny instances are closed, one lambda each, with more simplex iterations than IP3's relaxation takes."""
    tried = [p for p in pairs if not math.isnan(p.mip_seconds)]
    assert len(tried) == len({p.instance for p in pairs})
    assert all(p.mip_closed == 1 and p.mip_gap < 1e-6 for p in tried)
    assert sum(p.mip_iterations for p in tried) > sum(p.ip3_iterations for p in tried)


def test_absent_data_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the data folder the real instances are refused with where to get them, which the run reports as skipped."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    with pytest.raises(pm.errors.BrokenFileError, match=r"sonar\.csv\.gz"):
        next(instances.real_instances())


def test_engines_agree_and_leave_when_they_fail() -> None:
    """On tiny instances every engine finds the optimum or says its gap, none claims too much, and who refuses is left out."""
    _, forest, X = engines.grown_forest(quick=True, trees=None)
    names = ["min_cut", "brute_force", "highs_ip1", "highs_ip3", "glop_closure", "highs_ip1_relaxed"]
    small, larger = engines.run(forest, X, [10, 20], 60.0, engines=names, isolate=False)
    assert list(small["answers"].index) == names
    assert list(larger["answers"].index) == [n for n in names if n != "brute_force"]
    for name in ("min_cut", "highs_ip1", "highs_ip3", "glop_closure"):
        assert small["answers"].loc[name, "status"] == "optimal"
        assert abs(small["answers"].loc[name, "above_optimum"]) < 1e-6
    assert not any(note.startswith("wrong bound") for note in small["answers"]["note"])
    told = engines.table([small, larger]).splitlines()
    assert {line.count("|") for line in told} == {4}
    assert engines.notes([small, larger])[0].startswith("brute_force, 10 rows: ")


@pytest.mark.parametrize("seed", [None, 5])
def test_a_forest_is_grown_in_one_process_and_measured_in_another(seed: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second command is the first with the forest's file added; there nothing is grown, and the file is gone afterwards."""
    told: list[Any] = []

    def second(command: list[str], *, check: bool) -> None:
        assert check
        told.append(command)
        assert Path(command[-1]).read_text() == "grown"
        monkeypatch.setattr("sys.argv", ["b", *command[3:]])
        run(argparse.ArgumentParser())

    def run(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--data", default="miniboone")
        if seed is not None:
            parser.add_argument("--seed", type=int, default=0)
        second_process.run_in_second_process(parser, "benchmarks.b", lambda args: told.append((args.data, args.measure)))

    monkeypatch.setattr(second_process, "train", lambda name, seed, file: (told.append((name, seed)), file.write_text("grown")))
    monkeypatch.setattr(second_process.subprocess, "run", second)
    options = ["--data", "sonar", *([] if seed is None else ["--seed", str(seed)])]
    monkeypatch.setattr("sys.argv", ["b", *options])
    run(argparse.ArgumentParser())
    grown, command, measured = told
    assert grown == ("sonar", seed or 0)
    assert command[:3] == [sys.executable, "-m", "benchmarks.b"]
    assert command[3:-2] == options
    assert measured == ("sonar", Path(command[-1]))
    assert not Path(command[-1]).exists()


def test_judging_choosing_and_deploying_are_told() -> None:
    """On tiny data the sweep agrees with one evaluation, the grid search with the cross-validation, ONNX with scikit-learn."""
    pytest.importorskip("skl2onnx")
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X[:200], y[:200])
    path = pm.pruning_path(pm.problem_from_forest(forest, X[200:300], costs=1))
    assert in_use.sweep(forest, path, X[300:], y[300:]).startswith(f"sweep: {len(path)} rows of the path on 269 examples")
    assert "11 budgets" in in_use.cross_validation(X, y, [float(b) for b in range(1, 12)], trees=3)
    told = in_use.at_work(forest, pm.apply_pruning(path.at_cost(3.0), forest), X[300:], repeats=2)
    assert "ONNX after" in told


@pytest.mark.slow
def test_the_rounding_theorem_on_a_small_forest() -> None:
    """A line has a number for every column; no proven bound is above the theorem's, which `at_budgets` asserts at each budget."""
    problem = instances.shipped("iris", trees=3, rows=30)
    seen = list(budget_rounding.at_budgets(problem, pm.pruning_path(problem), seconds=5.0))
    assert seen
    for at in seen:
        assert at.found.status == "optimal"
        assert at.above(at.found.error) <= float(at.rounding.bound) + 1e-12 <= at.above(at.breakpoint.error) + 2e-12
        assert at.reached == (at.above(at.found.error) >= float(at.rounding.bound) - 1e-12)
    cells = budget_rounding.line("iris", problem, 5.0).split("|")
    assert len(cells) == 13
    assert cells[5].strip() == cells[10].strip() == str(len(seen))


def test_hard_lambdas_lie_beside_the_longest_edges() -> None:
    """Four distances below and above each edge, others in between; every engine proves the raw cut's pruning there."""
    problem = instance("iris")
    path = pm.pruning_path(problem)
    lams = hard_lambdas.hard_lambdas(path, edges=1, others=2)
    edge = path.breakpoints[int(np.argmax(-np.diff(path.cost))) + 1]
    assert [lam / edge - 1 for _, lam in lams[:8]] == [s * d for d in hard_lambdas.BESIDE for s in (-1, 1)]
    assert all(path.breakpoints[1] < lam < path.breakpoints[-1] for _, lam in lams[8:])
    for _, lam in lams:
        row = hard_lambdas.measured(problem, lam, list(hard_lambdas.ENGINES), check=True)
        assert set(row) == {"raw cut", "rounds", "core", *hard_lambdas.ENGINES}


def test_rounds_without_a_cut_end_where_a_run_without_memory_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """The benchmark's last round is that at which the engine gives up, with as many open usage arcs."""
    problem = instance("digits")
    lam = pm.pruning_path(problem).breakpoints[-2]
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)
    with pytest.warns(RuntimeWarning, match="memory limit"):
        found = pm.engines.price_sharing(problem, lam, small_core=0)
    row = without_cut.gaps(problem, lam)
    assert str(row["ends"]).startswith(f"{found.stats['iterations']:.0f}: ")
    assert str(row["ends"]).endswith(f", {found.stats['core_usage_arcs']:,.0f}")
    assert str(row["20"]).endswith(" 85")


@pytest.mark.slow
def test_survival_forests_are_compared_within_the_budget(capsys: pytest.CaptureFixture[str]) -> None:
    """Column sets are those to which nothing can be added; each way has a line, and the validation sample keeps the budget."""
    pytest.importorskip("sksurv")
    sets = {frozenset(columns) for columns in survival.column_sets(12)}
    prices = survival.PRICES
    assert frozenset({"age", "menostat", "pnodes"}) in sets
    assert all(sum(prices[name] for name in columns) <= 12 for columns in sets)
    assert not any(a < b for a in sets for b in sets)
    assert survival.main(["--repeats", "2", "--trees", "2", "--budgets", "12"]) == 0
    lines = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith(("| sqrt", "| all"))]
    assert [way for _, way, *_ in lines] == 2 * [
        "unpruned",
        "pruned, errors in-bag",
        "pruned, errors out-of-bag",
        "pruned, errors validation",
        "retrained on fewer columns",
    ]
    assert all(float(cost) <= 14 for _, _, limit, cost, *_ in lines if limit)
    assert all(float(cost) > 20 for _, _, limit, cost, *_ in lines if not limit)


@pytest.mark.slow
def test_students_bound_misses_its_level_where_few_rows_are_dear() -> None:
    """It is near 10 % for even costs and far above for few dear rows; betting keeps the level for both."""
    t, betting = ({name: share_too_low(name, method, 100, 400) for name in POPULATIONS} for method in ("t", "betting"))
    assert t["few are dear"] > 2 * ALPHA > t["even"]
    assert max(betting.values()) <= ALPHA


def test_the_table_has_a_line_for_each_population_and_size() -> None:
    """Head, rule, and a line each."""
    lines = table((5, 10), 10).splitlines()
    assert len(lines) == 2 + 2 * len(POPULATIONS)
    assert lines[2].startswith("| even | 5 | ")


def test_every_job_answers_its_question() -> None:
    """Paths with and without the reduction are the same; only those that say so have a certificate."""
    problem, given = instance("iris"), Namespace(lam=0.01, budget=1)
    answers = {name: job(problem, given) for name, job in JOBS.items()}
    paths = {name: path for name, path in answers.items() if isinstance(path, pm.PruningPath)}
    assert len({path.breakpoints for path in paths.values()}) == 1
    assert [name for name, path in paths.items() if path.certificate is not None] == [n for n in paths if "certificate" in n]


def test_nothing_with_arcs_is_lost() -> None:
    """Each group has the arcs of one split at most, so that as many have arcs after the reduction as before, or fewer."""
    counts = left(instance("breast cancer, licence"))
    assert counts["groups with arcs"] <= counts["groups"] <= counts["splits"]
    assert 0 < counts["groups with arcs"] <= counts["with arcs"]
