"""Each experiment from its command line to its files, on data that scikit-learn ships."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from benchmarks.papers import bp16_figure2, bp16_prices, bp16_table1, data, forests, methods, nws15_table1
from benchmarks.papers.__main__ import main
from benchmarks.papers.experiment import Unit
from benchmarks.papers.methods import CEGB, GREEDY_MISER, INDIVIDUAL, OPTIMAL, WITHIN
from prunemodels.evaluation import path as path_module

ROWS = "200"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests of a few trees, whatever is asked for, and no long search between breakpoints."""
    grow = forests.grow_forest

    def few(kind: Any, X: Any, y: Any, *, trees: int, seed: int, max_features: Any = None) -> Any:
        return grow("entropy" if kind == "budget_rf_pairs" else kind, X, y, trees=3, seed=seed, max_features=max_features)

    monkeypatch.setattr(forests, "grow_forest", few)
    monkeypatch.setattr(nws15_table1, "grow_forest", few)
    monkeypatch.setattr(methods, "SECONDS", 0.05)
    forests.grown.cache_clear()
    nws15_table1.grown_in_fold.cache_clear()


def run(name: str, out: Path, *more: str, dataset: str = "breast_cancer") -> Path:
    assert main([name, "--data", dataset, "--repeats", "1", "--rows", ROWS, "--out", str(out), *more]) == 0
    return out / name


def test_nws15_table1(tmp_path: Path) -> None:
    """Unpruned and two levels of both prunings; the unpruned forest's cost and error are scikit-learn's own."""
    folder = run("nws15_table1", tmp_path)
    table = pd.read_csv(folder / f"table1_rows{ROWS}.csv")
    assert table.columns[2:].tolist() == ["no pruning", "ens.pru.low", "ind.pru.low", "ens.pru.high", "ind.pru.high"]
    p = data.parts("breast_cancer", 0, int(ROWS))
    forest = forests.grow_forest("entropy", p.X_train, p.y_train, trees=3, seed=0)
    seen = pm.evaluate(forest, p.X_test, p.y_test, costs=1)
    assert float(table["no pruning"][0]) == pytest.approx(seen.cost, abs=0.005)
    assert float(table["no pruning"][2]) == pytest.approx(seen.error, abs=5e-5)
    assert (folder / f"breast_cancer_rows{ROWS}.png").stat().st_size > 5000


def test_nws15_reads_each_path_at_hundred_budgets() -> None:
    """At share s the pruning is the path's best within s of the unpruned cost on the cost sample, measured on the test part."""
    for method in (OPTIMAL, INDIVIDUAL):
        rows = pd.DataFrame(nws15_table1.run(Unit("nws15_table1", "breast_cancer", 0, method, {"trees": 3}, 200)))
        assert rows["share"].tolist() == [k / 100 for k in range(101)]
        forest = forests.grown("breast_cancer", 0, 200, kind="budget_rf_pairs", trees=3)
        budget = 0.5 * pm.Pruning.unpruned(forest.problem).cost
        pruned = pm.apply_pruning(methods.prunings(method, forest).at_cost(budget), forest.forest)
        seen = pm.evaluate(pruned, forest.parts.X_test, forest.parts.y_test, costs=1)
        at = rows.iloc[50]
        assert at["cost"] == pytest.approx(seen.cost)
        assert at["error"] == pytest.approx(seen.error)
        assert rows["valid_error"].notna().all()


def test_nws15_cross_validates_small_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sonar and Heart go through ten folds, 90 trees, and ten times the repeats in the full version."""
    monkeypatch.setattr(nws15_table1, "SMALL", ("iris",))
    folder = run("nws15_table1", tmp_path, dataset="iris")
    kept = [json.loads(p.read_text()) for p in (folder / "units").iterdir()]
    assert all(k["unit"]["setting"]["trees"] == 90 for k in kept)
    assert all(len(k["rows"]) == 10 * 101 for k in kept)
    assert {r["fold"] for r in kept[0]["rows"]} == set(range(10))
    assert all(r["valid_error"] is None for r in kept[0]["rows"])
    assert not (folder / f"matched_on_validation_rows{ROWS}.csv").exists()
    full = nws15_table1.EXPERIMENT.scope(full=True, data=["iris", "breast_cancer"])
    seeds = pd.DataFrame([(u.data, u.seed) for u in nws15_table1.units(full)]).groupby(0)[1].nunique()
    assert seeds.to_dict() == {"iris": 100, "breast_cancer": 10}


def test_bp16_figure2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pruning and both boosted learners are on the axis; a learner that is missing is told, the others are shown."""
    settings = {GREEDY_MISER: [{"n_estimators": 3, "lam": 0.001}], CEGB: [{"n_estimators": 3, "num_leaves": 4, "lam": 0.001}]}
    monkeypatch.setattr(bp16_figure2, "learner_settings", lambda method, full: settings[method])
    folder = run("bp16_figure2", tmp_path)
    reached = pd.read_csv(folder / f"curves_rows{ROWS}.csv")
    assert set(reached["method"]) == {*methods.PRUNINGS, WITHIN, GREEDY_MISER, CEGB}
    assert reached["budget"].max() == 30  # all features of breast_cancer
    assert reached["error"].between(0, 1).all()


@pytest.mark.slow
def test_bp16_figure2_goes_on_without_a_learner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where LightGBM is not installed, one line says so; the exit status is 1 and the rest is there."""

    def absent(method: str, setting: Any, seed: int) -> Any:
        raise ImportError('install "prunemodels[boosting]"')

    monkeypatch.setattr(bp16_figure2, "learner", absent)
    monkeypatch.setattr(bp16_figure2, "learner_settings", lambda method, full: [{}])
    arguments = ["bp16_figure2", "--data", "breast_cancer", "--repeats", "1", "--rows", ROWS, "--out", str(tmp_path)]
    assert main(arguments) == 1
    told = capsys.readouterr()
    assert 'CEGB: ImportError: install "prunemodels[boosting]"' in told.err
    assert "BudgetPrune" in told.out


def test_bp16_figure2_measures_learners_stage_by_stage() -> None:
    """A unit of GreedyMiser has its undominated stages as points, the last of them no better than a whole model's."""
    unit = Unit("bp16_figure2", "breast_cancer", 0, GREEDY_MISER, {"n_estimators": 4, "lam": 0.0, "learning_rate": 0.5}, 200)
    rows = pd.DataFrame(bp16_figure2.run(unit))
    assert set(rows["parameter"]) <= {1, 2, 3, 4}
    assert rows["valid_error"].is_monotonic_decreasing
    assert rows["valid_cost"].is_monotonic_increasing


def test_bp16_table1(tmp_path: Path) -> None:
    """Shares of no, few and many uses add up; features used are the cost at uniform prices."""
    folder = run("bp16_table1", tmp_path)
    unit = Unit("bp16_table1", "breast_cancer", 0, bp16_table1.USAGE, {"trees": 40}, int(ROWS))
    for row in bp16_table1.run(unit):
        none, few, more, cost = (float(str(row[c])) for c in ("none", "few", "more", "cost"))
        assert none + few + more == pytest.approx(1)
        assert 30 * (few + more) == pytest.approx(cost)
        assert more == 0  # three trees
    lines = pd.read_csv(folder / f"table1_rows{ROWS}.csv")["forest"].tolist()
    assert lines[:2] == ["unpruned", "pruned to the paper's cost"]
    votes = pd.read_csv(folder / f"votes_rows{ROWS}.csv")
    assert votes["share"].tolist() == [0.0, *(k / 50 for k in range(1, 51))]


def test_bp16_table1_prunes_to_the_papers_share_of_the_cost() -> None:
    """On other data than MiniBooNE at most 24.3 / 42.0 of the unpruned cost on the cost sample; there, 24.3."""
    forest = forests.grown("breast_cancer", 0, 200)
    path, most = methods.optimal(forest), pm.Pruning.unpruned(forest.problem).cost
    for name, budget in (("breast_cancer", most * 24.3 / 42), ("miniboone", 24.3)):
        row = next(r for r in bp16_table1.usage_rows(forest, name) if r["forest"] == "pruned to the paper's cost")
        seen = path_module.evaluate_path(path, forest.parts.X_test, forest.parts.y_test)
        assert row["cost"] == pytest.approx(float(seen.cost[path.row_at_cost(budget)]))


def test_both_votes_are_those_of_the_path() -> None:
    """The two columns are `evaluate_path` with each vote, at the same prunings."""
    forest = forests.grown("breast_cancer", 0, 200)
    rows = pd.DataFrame(bp16_table1.vote_rows(forest))
    path = methods.optimal(forest)
    k = path.row_at_cost(0.5 * pm.Pruning.unpruned(forest.problem).cost)
    at = rows[np.isclose(rows["share"], 0.5)].iloc[0]
    for vote in bp16_table1.BOTH:
        seen = path_module.evaluate_path(path, forest.parts.X_test, forest.parts.y_test, vote=vote)
        assert at[vote] == float(seen.error[k])


def test_bp16_prices_are_paid(tmp_path: Path) -> None:
    """The same forest under both prices: unpruned, it costs the sum of its features' prices."""
    folder = run("bp16_prices", tmp_path)
    table = pd.read_csv(folder / f"curves_rows{ROWS}.csv")
    assert set(table["method"]) == {f"{m} ({p})" for m in ("BudgetPrune", "CCP") for p in ("uniform", "non-uniform")}
    uniform, priced = forests.grown("breast_cancer", 0, 200), bp16_prices.repriced("breast_cancer", 0, 200)
    assert priced.forest is uniform.forest
    prices = bp16_prices.svm_prices(uniform.parts.X_train, uniform.parts.y_train)
    seen = pm.evaluate(priced.forest, uniform.parts.X_test, uniform.parts.y_test, costs=[round(float(p), 6) for p in prices])
    unit = Unit("bp16_prices", "breast_cancer", 0, "CCP (non-uniform)", {"trees": 40}, 200)
    assert max(float(str(r["test_cost"])) for r in bp16_prices.run(unit)) <= seen.cost + 1e-9
    assert priced.problem.costs.price.sum() == pytest.approx(30, abs=1e-4)


@pytest.mark.parametrize("name", ["bp16_criteria", pytest.param("bp16_subsets", marks=pytest.mark.slow)])
def test_bp16_forests_are_grown_in_different_ways(name: str, tmp_path: Path) -> None:
    """Each kind of forest is a method's name in brackets, and stands in the table of unpruned forests."""
    folder = run(name, tmp_path)
    labels = pd.read_csv(folder / f"unpruned_rows{ROWS}.csv")["forest"].tolist()
    assert labels == {"bp16_criteria": ["entropy", "Pairs"], "bp16_subsets": ["k = sqrt", "k = half", "k = all"]}[name]
    kept = [json.loads(p.read_text())["unit"] for p in (folder / "units").iterdir()]
    asked = {(u["setting"]["kind"], u["setting"]["max_features"]) for u in kept}
    whole = {"bp16_criteria": {("entropy", None), ("budget_rf_pairs", None)}}
    assert asked == whole.get(name, {("entropy", "sqrt"), ("entropy", 0.5), ("entropy", None)})


@pytest.mark.slow
def test_several_processes_find_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes write the rows that one does, under the same keys."""
    monkeypatch.undo()  # what a test patches here does not reach other processes
    arguments = ["bp16_prices", "--data", "breast_cancer", "--repeats", "2", "--rows", ROWS]
    kept = {}
    for jobs in ("1", "2"):
        assert main([*arguments, "--jobs", jobs, "--out", str(tmp_path / jobs)]) == 0
        units = (tmp_path / jobs / "bp16_prices" / "units").iterdir()
        kept[jobs] = {unit.name: json.loads(unit.read_text())["rows"] for unit in units}
    assert len(kept["1"]) == 8
    assert kept["1"] == kept["2"]


def test_versions_are_part_of_a_unit() -> None:
    """Raising an experiment's version runs it anew."""
    unit = bp16_figure2.units(bp16_figure2.EXPERIMENT.scope())[0]
    assert replace(unit, version=unit.version + 1).key != unit.key
