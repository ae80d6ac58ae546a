"""The frontier's methods on small problems: candidates that are complete, costs that are right, hard budgets kept."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data.cube import MEANS, SPREAD, draw
from benchmarks.frontier import hard
from benchmarks.frontier.__main__ import main
from benchmarks.frontier.candidate import Candidate, checkpoints
from benchmarks.frontier.data import HARD, budgets_of, load_problem
from benchmarks.frontier.methods import METHODS
from benchmarks.frontier.problem import Memory, Part, Problem
from benchmarks.frontier.rivals import columns, priced
from benchmarks.frontier.rivals.boosted import ENGINES, Setting
from tests.benchmarks.test_frontier_networks import routed

SCOUTED = {
    "LightGBM, most important columns": {"columns": 2, "leaves": 3},
    "LightGBM, backward elimination": {"columns": 2, "leaves": 3},
    "XGBoost, backward elimination": {"columns": 2, "leaves": 3},
    "HistGradientBoosting, backward elimination": {"columns": 2, "leaves": 3},
    "LightGBM, fewer rounds": {"leaves": 3, "rate": 0.4},
    "random forest, fewer trees": {"min_samples_leaf": 8},
    "L1 linear model": {"C": 0.1},
    "CEGB": {"leaves": 4, "lam": 0.01},
    "GreedyMiser": {"depth": 2, "lam": 0.01},
    "BudgetRF": {"impurity": "pairs"},
    "CatBoost's penalties": {"depth": 2, "penalty": 0.1},
    "CSTC": {"lam": 0.01},
    "value network (DIME)": {"width": 8, "steps": 5, "rate": 0.01, "dropout": 0.1},
    "policy network (GDFS)": {"width": 8, "steps": 5, "rate": 0.01, "dropout": 0.1},
    "optimal pruning path": {"min_samples_leaf": 8},
    "exits along the optimal path": {"min_samples_leaf": 8},
    "cascade of LightGBM models": {"leaves": 3},
    "cascade": {},
}
"""A setting for each, so that nothing is searched for."""


def few(problem: Problem) -> Problem:
    """Three columns, few rows, two budgets."""
    parts = [Part(part.X[:60, 4:7], part.y[:60]) for part in (problem.train, problem.valid, problem.test)]
    costs = replace(problem.costs, names=problem.costs.names[4:7], prices=problem.costs.prices[4:7], needs=((0,), (1,), (2,)))
    return replace(problem, train=parts[0], valid=parts[1], test=parts[2], costs=costs, budgets=(1.0, 3.0), memory=Memory())


@pytest.mark.slow_cases("BudgetRF-breast_cancer", "cascade*-breast_cancer", "exits along the optimal path-breast_cancer")
@pytest.mark.parametrize("data", ["breast_cancer", pytest.param("diabetes", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", SCOUTED)
def test_candidates_are_complete(name: str, data: str) -> None:
    """Each method yields finite numbers, costs between nothing and everything, and error rates or squared errors."""
    method, problem = METHODS[name], few(load_problem(data, 0))
    if method.refusal(problem) is not None:
        pytest.skip(f"{name} on {data}: {method.refusal(problem)}")
    pytest.importorskip("lightgbm")
    found = list(method.run(problem, [{**SCOUTED[name], "rounds": 5}]))
    assert found
    for c in found:
        numbers = [c.valid_error, c.valid_loss, c.test_error, c.test_loss, c.fit_s, c.predict_s]
        assert np.isfinite(numbers).all()
        assert min(numbers) >= 0
        assert 0 <= c.valid_cost <= 3
        assert 0 <= c.test_cost <= 3


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_use_the_columns_that_they_are_given(engine: str) -> None:
    """A model of the second column alone does not notice what stands in the others."""
    problem = few(load_problem("breast_cancer", 0))
    model = ENGINES[engine](problem, [1], Setting(3, 0.3, 5))
    other = problem.valid.X.copy()
    other[:, [0, 2]] = 0
    said = model.predict(problem.valid.X)
    assert np.array_equal(said, model.predict(other))
    assert said.shape == (len(other), 2)
    assert said.std() > 0


def test_elimination_drops_the_dearer_of_two_copies() -> None:
    """Sets are nested; of two columns that say the same the dearer one goes first, and the one that matters is the last."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=400).astype(np.float32)
    part = Part(np.column_stack([one, one, rng.normal(size=400).astype(np.float32)]), (one > 0).astype(np.int64))
    problem = replace(few(load_problem("breast_cancer", 0)), train=part, valid=part, test=part)
    for prices, kept in (((9, 1, 2), [1]), ((1, 9, 2), [0])):
        priced = replace(problem, costs=replace(problem.costs, prices=prices), memory=Memory())
        chain, _ = columns.eliminated(priced)
        assert [len(s) for s in chain] == [3, 2, 1]
        assert all(set(b) < set(a) for a, b in pairwise(chain))
        assert chain[-1] == kept


def test_checkpoints_end_with_the_last_round() -> None:
    """Rounds grow by a quarter and the last one is among them."""
    assert checkpoints(1) == [1]
    assert checkpoints(9) == [1, 2, 3, 4, 5, 6, 7, 9]
    assert checkpoints(100)[-1] == 100


def made(size: int, price: float, error: float, rounds: int, **ends: str) -> Candidate:
    """A candidate of a rival whose size is `leaves`."""
    params = {"leaves": size, "lam": price, "rounds": rounds}
    return Candidate(params, 1.0, error, 1.0, 1.0, 0.5, 1.0, 0.1, 0.01, ends)


def test_prices_and_sizes_are_widened_and_long_models_continued() -> None:
    """By hand: sizes are added while the last one is best, prices climb, and what ends at its last round gets twice as many."""
    tried: list[tuple[int, float, int]] = []

    def fit(problem: Problem, leaves: int, price: float, rounds: int) -> list[Candidate]:
        tried.append((leaves, price, rounds))
        return [made(leaves, price, abs(leaves - 64) / 1000 + abs(price - 0.464) / 10 + 1 / rounds, rounds)]

    search = replace(priced.CEGB, fit=fit, start=lambda problem: ([16], range(-4, -1), 100), most_rounds={True: 200})
    found = list(search(replace(few(load_problem("wine", 0)), budgets=(1.0,)), None))
    assert {leaves for leaves, _, _ in tried} == {4, 16, 64, 128}  # 16 is both ends at first, 128 is worse than 64
    assert {price for leaves, price, _ in tried if leaves == 16} == {0.0464, 0.1, 0.215, 0.464, 1.0}
    assert {price for leaves, price, _ in tried if leaves == 128} == {0.215, 0.464, 1.0}  # from the rung that was chosen
    assert tried[-1] == (64, 0.464, 200)
    assert min(found, key=lambda c: c.valid_error).params == {"leaves": 64, "lam": 0.464, "rounds": 200}
    tried.clear()
    list(search(few(load_problem("wine", 0)), [{"leaves": 4, "lam": 0.01}]))
    assert tried[0] == (4, 0.01, 100)
    assert {leaves for leaves, _, _ in tried} == {4}


def test_ends_of_prices_and_sizes_are_natural() -> None:
    """The lowest price, the least size, and a model that buys nothing have no neighbours to try."""
    problem = few(load_problem("wine", 0))
    for bought, size, rung, ends in ((1, 4, 0, set()), (1, 2, 0, {"leaves"}), (1, 4, -14, {"lam"}), (0, 4, 0, {"lam", "leaves"})):
        one = replace(made(2, 1.0, 0.1, 9), valid_cost=float(bought))
        search = replace(priced.CEGB, fit=lambda *_, one=one: [one])
        assert set(search.models(problem, size, rung, 9)[0].ends) == ends


@pytest.mark.slow
def test_the_command_line_from_run_to_tables(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    """Run, in two processes, export, tables and edges work one after another; absent names are refused with status 2."""
    out, csv = (f"{tmp_path}/{name}" for name in ("units", "frontier.csv"))
    which = ["--data", "wine", "--methods", "L1 linear model", "--seeds", "0", "1"]
    run = [sys.executable, "-m", "benchmarks.frontier", "run", *which, "--out", out, "--csv", csv, "--export", "--jobs", "2"]
    subprocess.run(run, cwd=Path(__file__).parents[2], check=True)
    assert main(["tables", "--csv", csv]) == 0
    assert "| L1 linear model | 2 |" in capsys.readouterr().out
    assert main(["edges", "--csv", csv]) == 0
    assert main(["run", "--data", "nosuch"]) == 2
    assert "no data set 'nosuch'" in capsys.readouterr().err
    assert main(["tables", "--csv", f"{tmp_path}/absent.csv"]) == 2


TINY = {"width": 8, "steps": 5, "rate": 0.01, "dropout": 0.1, "min_samples_leaf": 8}


def test_the_cube_has_three_columns_for_each_class() -> None:
    """Class 5 is 101 in columns 5, 6, 7; all else is around one half."""
    assert MEANS[5, 4:9].tolist() == [0.5, 1, 0, 1, 0.5]
    assert (MEANS != 0.5).sum() == 24
    X, y = draw(4000)
    rows = X.to_numpy()[y == 5]
    assert rows.mean(axis=0) == pytest.approx(MEANS[5], abs=5 * SPREAD / np.sqrt(len(rows)))
    assert rows.std(axis=0) == pytest.approx(SPREAD, rel=0.2)


def test_each_seed_takes_other_rows_of_the_cube() -> None:
    """Parts have the stated sizes, and two seeds share few rows."""
    a, b = (load_problem("cube", seed) for seed in (0, 1))
    assert [len(part.y) for part in (a.train, a.valid)] == [600, 200]
    assert a.budgets == budgets_of("cube") == tuple(range(1, 11))
    assert not np.array_equal(a.train.X, b.train.X)


def test_greedy_purchases_ask_another_question_of_each_row() -> None:
    """B knows two classes and cannot tell the others apart, whose rows then ask for C; nobody asks for A, which tells less."""
    middle = np.array([[0, 0, 0.5], [0, 1, 0.5], [1, 0.5, 0], [1, 0.5, 1]], dtype=float)  # four classes
    spread = np.full(middle.shape, 0.1)
    X = middle[[0, 1, 2, 3]].astype(np.float32)
    nothing, one, two = hard.greedy(X, middle, spread, np.full(4, 0.25), 2)
    assert nothing == pytest.approx(np.full((4, 4), 0.25))
    assert one == pytest.approx(np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5], [0, 0, 0.5, 0.5]]), abs=1e-3)
    assert two == pytest.approx(np.eye(4), abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("method", hard.METHODS, ids=lambda method: method.name)
def test_no_row_buys_more_than_it_may(method: hard.Method) -> None:
    """Candidates cost their cap, on test rows at most that, and the cap is at most the budget."""
    pytest.importorskip("lightgbm")
    problem = replace(few(load_problem("breast_cancer", 0)), data="digits_hard", budgets=(1.0, 2.0))
    if method.refusal(problem) is not None:
        pytest.skip(str(method.refusal(problem)))
    found = list(method.run(problem, [TINY]))
    assert {c.valid_cost for c in found} == {1.0, 2.0}
    assert all(c.test_cost <= c.valid_cost for c in found)


def test_methods_of_hard_budgets_refuse_other_data() -> None:
    """They would say nothing beside methods whose budget is a mean."""
    problem: Problem = routed()
    assert all(METHODS[method.name].refusal(problem) for method in hard.METHODS)
    assert "digits_hard" in HARD
