"""Weights mean one thing at every door: a row stands for that many, in cost as in error."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor

import prunemodels as pm
from prunemodels.command_line.cli import main
from prunemodels.example import X_test, X_train, X_valid, costs, forest, problem, y_test, y_train, y_valid
from prunemodels.report_page.cascade import gather_cascade
from prunemodels.report_page.facts import gather, gather_boosted
from prunemodels.statements.mean_bounds import MeanInterval, effective_rows

Rows = tuple[pd.DataFrame, pd.Series, Any]  # examples, labels, weights; None: 1 each

PATH = pm.pruning_path(problem)
CHOSEN = PATH[4]


@functools.cache
def boosted() -> Any:
    model = HistGradientBoostingClassifier(max_iter=4, max_depth=2).fit(X_train, y_train)
    return pm.other_libraries.boosted_path(model, X_valid, y_valid, costs=costs, lams=3, budgets=[8])


@functools.cache
def categories() -> Any:
    model = HistGradientBoostingClassifier(max_iter=4, max_depth=2, min_samples_leaf=5, categorical_features=["texture"])
    return model.fit(with_kinds(X_train), y_train)


def with_kinds(X: pd.DataFrame) -> pd.DataFrame:
    """The table with textures as twelve kinds."""
    return X.assign(texture=X.texture // (X_train.texture.max() / 12))


@functools.cache
def exits() -> Any:
    return pm.exit_path(PATH, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)


@functools.cache
def cascade() -> Any:
    return exits().at_cost(8)


def prune(rows: Rows, **options: Any) -> Any:
    X, y, w = rows
    return pm.prune_forest(forest, X, y, costs=costs, sample_weight=w, method="path", **options)


def own_errors(rows: Rows, errors: Any, **options: Any) -> Any:
    """Cost and error of some prunings, where errors are measured on the rows of the cost sample."""
    X, y, w = rows
    found = pm.pruning_path(pm.problem_from_forest(forest, X, costs=costs, errors=errors(X, y), sample_weight=w, **options))
    return [found.at_lam(lam).cost for lam in (0, 0.01, 0.03)], [found.at_lam(lam).error for lam in (0, 0.01, 0.03)]


def from_table(rows: Rows) -> Any:
    X, y, w = rows
    table = pm.tables.ChunkedTable(X.assign(y=y, w=1.0 if w is None else w), columns=list(X.columns), chunk_rows=40)
    given: dict[str, Any] = {} if w is None else {"sample_weight": "w"}
    seen = pm.evaluate(forest, table, "y", costs=costs, **given), pm.hold_out(CHOSEN, forest, table, "y", **given)
    whole = pm.Pruning.unpruned(
        pm.tables.problem_from_table(forest, table, costs=costs, errors=pm.tables.GivenTable(table, "y"), **given)
    )
    return seen[0], seen[1].cost, seen[1].error, whole.cost, whole.error, pm.evaluate_path(PATH, table, "y", **given).error


def command(words: str) -> Callable[[Rows], Any]:
    """The figures that a command prints as JSON, of a forest and a table in files."""

    def run(rows: Rows) -> Any:
        X, y, w = rows
        skops.io.dump(forest, "forest.skops")
        X.assign(y=y, w=1.0 if w is None else w).to_csv("rows.csv", index=False)
        X_valid.assign(y=y_valid, w=1.0).to_csv("valid.csv", index=False)
        for file in ("out.skops", "out.csv", "out.html"):
            Path(file).unlink(missing_ok=True)
        weights = "" if w is None else "--weights w"
        assert main(f"{words} --label y --costs 1 {weights} --json --quiet".split()) in (None, 0)
        return figures_of_command()

    return run


CAPTURED: list[pytest.CaptureFixture[str]] = []


def figures_of_command() -> Any:
    record = json.loads(CAPTURED[0].readouterr().out)
    return [
        record[name]
        for name in ("figures", "on_data", "held_out", "evaluation", "unpruned", "pruned", "over_budget")
        if name in record
    ]


VALID = "--data valid.csv"
DOORS: dict[str, Callable[[Rows], Any]] = {
    "problem_from_forest, Given": lambda rows: own_errors(rows, pm.samples.Given),
    "problem_from_forest, Blend": lambda rows: own_errors(
        rows, lambda X, y: pm.samples.Blend([(0.5, pm.samples.InBag()), (0.5, pm.samples.Given(X.copy(), y))])
    ),
    "prune_forest, budget": lambda rows: prune(rows, budget=10).validation,
    "prune_forest, limits": lambda rows: prune(rows, limits=[pm.Limit(10), pm.Limit(0.9, "texture")]).validation,
    "prune_forest, one_se": lambda rows: prune(rows, choose="knee").validation,
    "prune_forest, validation": lambda rows: prune(rows, lam=0.01, errors="validation").pruning.error,
    "PrunedForest.evaluate": lambda rows: pm.prune_forest(forest, X_valid, costs=costs, budget=10).evaluate(
        *rows[:2], sample_weight=rows[2]
    ),
    "hold_out": lambda rows: _curve(pm.hold_out(CHOSEN, forest, *rows[:2], sample_weight=rows[2])),
    "evaluate": lambda rows: pm.evaluate(forest, *rows[:2], costs=costs, sample_weight=rows[2], limits=[pm.Limit(16)]),
    "evaluate, boosted": lambda rows: pm.evaluate(boosted().unpruned, *rows[:2], costs=costs, sample_weight=rows[2]),
    "evaluate, categories": lambda rows: pm.evaluate(
        categories(), with_kinds(rows[0]), rows[1], costs=costs, sample_weight=rows[2]
    ),
    "evaluate, cascade": lambda rows: pm.evaluate(cascade(), *rows[:2], sample_weight=rows[2]),
    "evaluate_path": lambda rows: _path_figures(pm.evaluate_path(PATH, *rows[:2], sample_weight=rows[2])),
    "evaluate_exit_path": lambda rows: _curve(pm.cascades.evaluate_exit_path(exits(), *rows[:2], sample_weight=rows[2])),
    "tradeoff_curve": lambda rows: [
        _curve(pm.tradeoff_curve(of, *rows[:2], costs=costs if of is forest else None, sample_weight=rows[2]))
        for of in (PATH, exits(), boosted(), forest)
    ],
    "prune_boosted": lambda rows: (lambda found: (found.loss, found.cost))(
        pm.prune_boosted(boosted().unpruned.forest, *rows[:2], costs=costs, sample_weight=rows[2], lam=0.01)
    ),
    "tables in chunks": from_table,
    "report, forest": lambda rows: _page(gather(PATH, forest, *rows[:2], chosen=CHOSEN, sample_weight=rows[2])),
    "report, boosted": lambda rows: _page(
        gather_boosted(boosted(), *rows[:2], chosen=boosted().at_cost(8), sample_weight=rows[2])
    ),
    "report, cascade": lambda rows: _page(gather_cascade(cascade(), *rows[:2], sample_weight=rows[2])),
    "estimator": lambda rows: (
        pm.BudgetPrunedForestClassifier(forest, budget=10, costs=costs, errors="validation", random_state=0)
        .fit(X_train, y_train, X_valid=rows[0], y_valid=rows[1], sample_weight_valid=rows[2])
        .pruning_.error
    ),
    "command evaluate": command("evaluate forest.skops --data rows.csv"),
    "command prune, data": command("prune forest.skops --data rows.csv --budget 5 --method path --out out.skops"),
    "command prune, error data": command(
        f"prune forest.skops {VALID} --errors given --error-data rows.csv --lam 0.01 --out out.skops"
    ),
    "command prune, held-out": command(
        f"prune forest.skops {VALID} --held-out rows.csv --budget 5 --method path --out out.skops"
    ),
    "command path": command(f"path forest.skops {VALID} --held-out rows.csv --out out.csv"),
    "command exits": command(f"exits forest.skops {VALID} --held-out rows.csv --budget 5 --stages 3 --out out.skops"),
    "command report": command(f"report forest.skops {VALID} --held-out rows.csv --budget 5 --method path --out out.html"),
}


def _path_figures(seen: Any) -> Any:
    return seen.cost, seen.error, seen.best, Spread((seen.cost_se, seen.error_se, seen.increase_se, seen.above_best_se, seen.n))


def _curve(seen: Any) -> Any:
    return seen.cost, seen.error


def _page(facts: Any) -> Any:
    judged, payers, tradeoff = facts.held_out.classes, facts.payers, facts.tradeoff
    groups = [(g.before, g.after) for g in payers.groups]
    return (
        facts.held_out,
        tradeoff.cost,
        tradeoff.error,
        payers.positive == "0",
        [r.share for r in (*judged.missed_of_all, *judged.alarms_of_all)],
        groups,
    )


class Spread(tuple[Any, ...]):
    """Figures that tell how far chance goes, which a row of weight 2 and two rows tell differently."""


CHANCE = {"low", "high", "standard_error", "n", "n_effective", "broken", "mended", "exceeding"}
CHANCE |= {"count", "of", "lost", "found"}  # numbers of rows


def numbers(of: Any, *, chance: bool) -> list[float]:
    """All figures in an answer; without `chance` those that do not tell how far chance goes."""
    if isinstance(of, Spread) and not chance:
        return []
    if is_dataclass(of):
        of = {f.name: getattr(of, f.name) for f in fields(of) if f.name != "limit"}
    if isinstance(of, dict):
        return [x for k, v in of.items() if chance or not (k in CHANCE or k.endswith("_se")) for x in numbers(v, chance=chance)]
    if isinstance(of, (list, tuple, np.ndarray)):
        return [x for v in of for x in numbers(v, chance=chance)]
    return [] if of is None or isinstance(of, str) else [float(of)]


def weights() -> NDArray[np.float64]:
    """0, 1, 2 and 3 for the test rows, in no order."""
    return np.random.default_rng(0).integers(0, 4, len(X_test)).astype(np.float64)


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)
    CAPTURED.append(capsys)
    yield
    CAPTURED.clear()


@pytest.mark.slow_cases("command exits", "command report", "prune_boosted", "report, forest")
@pytest.mark.parametrize("door", DOORS)
def test_weights_mean_one_thing(door: str) -> None:
    """Rows of weight 0 are left out; rows of weight k are there k times in all means; a factor changes nothing."""
    ask, w = DOORS[door], weights()
    counted = np.flatnonzero(w > 0)
    weighted = ask((X_test, y_test, w))
    assert numbers(weighted, chance=True)
    left_out = ask((X_test.iloc[counted], y_test.iloc[counted], w[counted]))
    assert numbers(weighted, chance=True) == pytest.approx(numbers(left_out, chance=True), rel=1e-9, abs=1e-12, nan_ok=True)
    scaled = ask((X_test, y_test, 1000 * w))
    assert numbers(weighted, chance=True) == pytest.approx(numbers(scaled, chance=True), rel=1e-9, abs=1e-9, nan_ok=True)
    often = np.repeat(np.arange(len(w)), w.astype(np.int64))
    repeated = ask((X_test.iloc[often].reset_index(drop=True), y_test.iloc[often].reset_index(drop=True), None))
    assert numbers(weighted, chance=False) == pytest.approx(numbers(repeated, chance=False), rel=1e-9, abs=1e-12, nan_ok=True)
    plain = ask((X_test, y_test, None))
    assert numbers(weighted, chance=False) != pytest.approx(numbers(plain, chance=False), rel=1e-6)


@pytest.mark.slow
def test_a_series_is_put_in_the_order_of_the_table() -> None:
    """Weights with the table's index in another order are those of its rows; with another index they are refused."""
    w = pd.Series(weights(), index=X_test.index)
    shuffled = w.sample(frac=1, random_state=0)
    for door in ("hold_out", "evaluate", "evaluate_path", "evaluate, boosted", "prune_boosted", "report, forest", "estimator"):
        same = [numbers(DOORS[door]((X_test, y_test, some)), chance=True) for some in (w, shuffled, w.to_numpy())]
        assert same[0] == same[1] == same[2], door
        with pytest.raises(pm.errors.InvalidInputError, match="sample_weight has another index than X"):
            DOORS[door]((X_test, y_test, w.reset_index(drop=True)))
    mask = pd.Series(X_test.texture > 19)
    cut = [pm.evaluate(forest, X_test, y_test, costs=costs, limits=[pm.Limit(9, rows=m)]).uses[0].use for m in (mask, mask[::-1])]
    assert cut[0] == cut[1]


def test_an_interval_states_its_effective_number() -> None:
    """169 rows of which one weighs 1e12 are one row, of which nothing can be told; few are warned of; equal ones are not."""
    heavy = np.ones(len(X_test))
    heavy[3] = 1e12
    seen = pm.prune_forest(forest, X_valid, costs=costs, budget=10).evaluate(X_test, y_test, sample_weight=heavy)
    assert seen.n_effective == pytest.approx(1)
    assert repr(seen).count("cannot be told") == 5  # cost, error, specificity, and two sentences
    assert "1 of equal weight" in seen.warnings[0]
    assert not seen.far_worse
    held_out = pm.hold_out(CHOSEN, forest, X_test, y_test, sample_weight=heavy)
    assert (held_out.error.low, held_out.error.high) == (0, 1)  # type: ignore[union-attr]
    with pytest.raises(pm.errors.InvalidInputError, match="by weight there are fewer than two examples"):
        pm.evaluation.one_se(pm.evaluate_path(PATH, X_test, y_test, sample_weight=heavy))
    some = np.where(np.arange(len(X_test)) < 20, 100.0, 1.0)
    for answer in (
        pm.hold_out(CHOSEN, forest, X_test, y_test, sample_weight=some).cost,
        pm.evaluate_path(PATH, X_test, y_test, sample_weight=some),
        pm.evaluate(forest, X_test, y_test, costs=costs, sample_weight=some),
    ):
        assert answer.n_effective == pytest.approx(effective_rows(some)) == pytest.approx(2149**2 / 200149)
        assert "fewer than 30" in answer.warnings[0]
    assert pm.hold_out(CHOSEN, forest, X_test, y_test, sample_weight=3 * np.ones(169)).cost.warnings == ()


def test_weights_of_numbers() -> None:
    """The squared errors of a regression are weighted as the cost is, and heavy rows leave an endless interval."""
    model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X_train, X_train.radius)
    found, w = pm.prune_forest(model, X_valid, costs=costs, budget=3), weights()
    seen: MeanInterval = found.evaluate(X_test, X_test.radius, sample_weight=w).error_after
    squares = (found.estimator.predict(X_test) - X_test.radius) ** 2
    assert seen.mean == pytest.approx(np.average(squares, weights=w))
    w[:] = 0
    w[:2] = 3, 1
    seen = found.evaluate(X_test, X_test.radius, sample_weight=w).error_after
    assert (seen.n_effective, seen.high) == (1.6, np.inf)
    w[2:] = 1e-12
    assert "cannot be told" in repr(found.evaluate(X_test, X_test.radius, sample_weight=w))
