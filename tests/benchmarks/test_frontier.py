"""The frontier's protocol by hand: who is chosen, what is an edge, what is stored, what the tables say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from benchmarks.frontier import candidate
from benchmarks.frontier import results as kept
from benchmarks.frontier.data import load_problem
from benchmarks.frontier.methods import METHODS, method_named
from benchmarks.frontier.problem import Memory, Part, Problem
from benchmarks.frontier.tables import all_tables, area, at_budgets, paired
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems


def made(
    valid_cost: float, valid_error: float, valid_loss: float = 1.0, test_error: float = 0.5, **params: candidate.Value
) -> candidate.Candidate:
    """A candidate of which only some numbers matter."""
    return candidate.Candidate(params, valid_cost, valid_error, valid_loss, valid_cost, test_error, 1.0, 0.1, 0.01)


def test_ties_of_the_error() -> None:
    """Of equal validation errors the lower validation loss is chosen, then the lower validation cost."""
    a, b, c = made(2, 0.2, 0.7), made(3, 0.2, 0.6), made(2.5, 0.2, 0.6)
    assert candidate.chosen([a, b, c], 3) is c
    assert candidate.chosen([a, b], 3) is b
    assert candidate.winners([a, b, c], [2, 2.5, 3]) == [a, c]


def test_error_and_log_loss_by_hand() -> None:
    """Error is the share of wrong classes and loss the mean of -log p of the true class; squared error is both for numbers."""
    problem = load_problem("wine", 0)
    said = np.array([[0.7, 0.2, 0.1], [0.5, 0.5, 0.0], [0.1, 0.1, 0.8]])
    error, loss = candidate.error_and_loss(problem, np.array([0, 2, 2]), said)
    assert error == pytest.approx(1 / 3)
    assert loss == pytest.approx(-(math.log(0.7) + math.log(1e-6) + math.log(0.8)) / 3)
    numbers = replace(problem, task="regression")
    assert candidate.error_and_loss(numbers, np.array([1.0, 2.0]), np.array([1.0, 5.0])) == (4.5, 4.5)


def test_what_sets_of_features_cost() -> None:
    """A shared item is paid once, and a feature's own price is what it costs alone."""
    costs = CostItems.from_items({"draw": 2, "a": 3, "b": 5}, [["draw", "a"], ["draw", "b"], []])
    part = Part(np.zeros((4, 3), dtype=np.float32), np.array([0, 1, 0, 1]))
    problem = Problem("hand", 0, "classification", 2, part, part, part, costs, (1.0,))
    assert problem.full_price == 10
    assert problem.price_of([0, 2]) == 5
    assert problem.alone.tolist() == [5, 7, 0]


def test_parts_do_not_overlap_and_follow_the_seed() -> None:
    """The three parts hold every row once, classes in proportion, and another seed splits otherwise."""
    a, b = load_problem("wine", 0), load_problem("wine", 1)
    rows = np.concatenate([part.X for part in (a.train, a.valid, a.test)])
    assert len(rows) == 178
    assert len(np.unique(rows, axis=0)) == 178
    assert [len(part.y) for part in (a.train, a.valid, a.test)] == [88, 36, 54]
    assert np.bincount(a.test.y).tolist() == [18, 21, 15]
    assert not np.array_equal(a.test.X, b.test.X)


def test_nothing_bought_is_the_shares_of_the_classes() -> None:
    """Every method may answer for nothing: the largest class of the training part, at cost 0."""
    problem = load_problem("wine", 0)
    c = candidate.nothing_bought(problem)
    assert c.valid_cost == c.test_cost == 0
    assert c.test_error == pytest.approx(1 - 21 / 54, abs=1e-6)
    assert np.bincount(problem.train.y).tolist() == [29, 36, 23]
    by_hand = -(18 * math.log(29 / 88) + 21 * math.log(36 / 88) + 15 * math.log(23 / 88)) / 54
    assert c.test_loss == pytest.approx(by_hand, abs=1e-5)


def test_a_ladder_goes_on_past_its_edges() -> None:
    """Rungs are added above and below while validation chooses the last one, and no further than asked."""
    tried = []

    def fit(rung: int) -> list[candidate.Candidate]:
        tried.append(rung)
        return [made(1, abs(rung - 4) / 10, r=rung)]

    candidate.climb(fit, [0, 1, 2], -3, 9, [1.0])
    assert tried == [0, 1, 2, 3, 4, 5]  # 5 is worse than 4, so 4 is no edge
    tried.clear()
    candidate.climb(fit, [6, 7], 5, 9, [1.0])
    assert tried == [6, 7, 5]
    for scouted, wanted in (((7, 2, 7), [2, 7]), ((), [6, 7, 5])):  # what was scouted is taken, each once, and no more is tried
        tried.clear()
        list(candidate.searched(fit, scouted, [6, 7], range(5, 10), [1.0]))
        assert tried == wanted


def test_edges_and_natural_ends() -> None:
    """The least or largest value tried is an edge when chosen, unless the candidate says that nothing lies beyond."""
    inner, last = made(1, 0.2, lam=0.1, leaves=8, kind="x"), made(1, 0.1, lam=1.0, leaves=8, kind="x")
    first = replace(made(1, 0.3, lam=0.0, leaves=8, kind="x"), ends={"lam": "no penalty"})
    grid = kept.grids([inner, last, first])
    assert grid == {"lam": (0.0, 1.0), "leaves": (8.0, 8.0)}
    assert [kept.edges_of(c, grid) for c in (inner, last, first)] == ["", "lam>", "(lam<)"]


def test_the_table_of_edges_counts_choices() -> None:
    """Real edges come first, with how often they were chosen; models in between are counted in `of`."""
    results = pd.DataFrame({"data": "wine", "method": "m", "edges": ["(lam<)", "leaves>", "leaves> (lam<)", ""]})
    table = kept.edge_table(results)
    assert table[["hyperparameter", "side", "is", "chosen", "of"]].to_numpy().tolist() == [
        ["leaves", "largest", "EDGE", 2, 4],
        ["lam", "least", "natural end", 2, 4],
    ]


def test_paired_interval_and_area_by_hand() -> None:
    """Differences 0, 1, 2: mean 1, standard deviation 1, half width t_{0.975, 2} / sqrt 3 = 4.302653 / 1.732051. Errors 0.4, 0.2,
    0.1 at 1, 2, 5: (0.3 + 0.45) / 4.
    """
    assert paired([1.0, 3.0, 5.0], [1.0, 2.0, 3.0]) == (1.0, pytest.approx(4.302653 / math.sqrt(3), rel=1e-6))
    assert math.isnan(paired([1.0], [2.0])[1])
    assert area([1, 2, 5], [0.4, 0.2, 0.1]) == pytest.approx(0.1875)


def test_unknown_names_are_refused() -> None:
    """Unknown data sets and methods are refused with those that exist."""
    with pytest.raises(InvalidInputError, match=r"no data set 'irises'; give one of .*wine"):
        load_problem("irises", 0)
    with pytest.raises(InvalidInputError, match=r"no method 'magic'; give one of .*'CEGB'"):
        method_named("magic")


def _by_proline(sure: float, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Much proline: the first class; else the second. Right for more than half of the wines."""
    many = X[:, 12] > 750
    return np.column_stack([np.where(many, sure, 0.1), np.where(many, 0.1, sure), np.full(len(X), 0.9 - sure)])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, object]]:
    """A method that notes each of its runs: the seed, and what was scouted."""
    calls: list[tuple[int, object]] = []

    def run(problem: Problem, scouted: candidate.Scouted) -> Iterator[candidate.Candidate]:
        calls.append((problem.seed, scouted))
        for k in (1, 2, 3):
            yield candidate.measured(problem, {"k": k}, partial(_by_proline, 0.6 if k == 2 else 0.5), float(k), 0.5)

    monkeypatch.setitem(METHODS, "counted", candidate.Method("counted", run))
    return calls


def units_of(*seeds: int) -> list[kept.Unit]:
    """On wine."""
    return [kept.Unit("wine", seed, "counted") for seed in seeds]


def test_finished_units_are_not_run_again(counted: list[tuple[int, object]], tmp_path: Path) -> None:
    """A second run does only what the store lacks; other seeds are given what the first one chose."""
    store, units = kept.Store(tmp_path), units_of(0, 1)
    assert kept.run_units(units, store) == []
    kept.run_units(units, store)
    assert counted == [(0, None), (1, [{"k": 1}, {"k": 2}])]
    store.place(units[1]).unlink()
    kept.run_units(units, store)
    assert [seed for seed, _ in counted] == [0, 1, 1]


def test_a_failure_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What fails is told and not stored, and the units behind it are done."""

    def fail(problem: Problem, scouted: object) -> Iterator[candidate.Candidate]:
        raise ValueError("broken on purpose")

    monkeypatch.setitem(METHODS, "fails", candidate.Method("fails", fail))
    monkeypatch.setitem(METHODS, "works", candidate.Method("works", lambda problem, scouted: iter(())))
    store = kept.Store(tmp_path)
    told = kept.run_units([kept.Unit("wine", 0, "fails"), kept.Unit("wine", 0, "works")], store)
    assert told == ["wine, seed 0, fails: ValueError: broken on purpose"]
    assert not store.has(kept.Unit("wine", 0, "fails"))
    assert store.has(kept.Unit("wine", 0, "works"))


def test_memory_computes_once(tmp_path: Path) -> None:
    """A remembered value is computed once, also by another process that has the same folder."""
    calls: list[int] = []
    for _ in range(2):
        assert Memory(tmp_path).recall("chain", lambda: calls.append(1) or [1, 2])["value"] == [1, 2]
    assert calls == [1]


def test_results_go_round(counted: list[tuple[int, object]], tmp_path: Path) -> None:
    """What is exported is read again with the same numbers, and the rule of choice finds the same models in it."""
    store, units = kept.Store(tmp_path), units_of(0, 1)
    kept.run_units(units, store)
    budgets = {"wine": (0.5, 1.0, 2.5, 3.0)}
    results = kept.collected(store, units, budgets)
    place = tmp_path / "results.csv"
    kept.write_results(results, place)
    again = kept.read_results(place)
    pd.testing.assert_frame_equal(again, results, check_dtype=False)
    here = at_budgets(again, budgets)
    whole = [candidate.chosen(store.read(units[0])[0], b) for b in budgets["wine"]]
    assert here[here["seed"] == 0]["params"].tolist() == [kept.params_text(c) for c in whole if c is not None]


def results_of(errors: Mapping[str, Sequence[float]]) -> pd.DataFrame:
    """Results of methods with one model a seed that costs 1, by their test errors."""
    about = {"data": "wine", "params": "k=1", "edges": ""} | dict.fromkeys((*kept.NUMBERS, "unit_s"), 1.0)
    rows = [{**about, "seed": k, "method": m, "test_error": e} for m, some in errors.items() for k, e in enumerate(some)]
    return pd.DataFrame(rows)


def test_the_cascade_is_one_object_against_each_other() -> None:
    """Places are relative to the median, in per cent of the mean error; a paired interval decides who is ahead on a set."""
    results = results_of({"cascade": [0.1, 0.2, 0.3], "a": [0.5, 0.6, 0.7], "b": [0.1, 0.1, 0.1], "c": [0.2]})
    text = all_tables(results, {"wine": (1.0, 2.0)}, ["cascade"], [])
    # medians 0.15, 0.2, 0.3; the mean error is 2.9 / 10; -5.7 = 100 (-0.05 + 0 + 0) / 3 / 0.29
    assert "| a | 3 | +132.2 | -5.7 | 1 | 0 | 0 |" in text
    assert "| b | 3 | -40.2 | -5.7 | 0 | 1 | 0 |" in text
    assert "| c | 1 | +17.2 | -17.2 | 0 | 1 | 0 |" in text
    assert "| **cascade** | 3 | -5.7 | -5.7 |  |  |  |" in text
    assert "| b | 3 | **10.00** | **10.00** | 10.00 |" in text
    assert "| **cascade** | 3 | 20.00 | 20.00 | 20.00 |" in text


def test_settings_of_the_first_seed_are_read_from_the_table(tmp_path: Path) -> None:
    """Another seed takes the settings that stand in the table where the first seed's unit is not at hand."""
    place = tmp_path / "frontier.csv"
    columns = {name: [0.5, 0.5] for name in kept.COLUMNS} | {"data": ["wine"] * 2, "seed": [0, 1], "method": ["m"] * 2}
    columns |= {"params": ["leaves=31;stop=value;rate=0.1", "leaves=7"], "edges": ["", ""]}
    pd.DataFrame(columns)[list(kept.COLUMNS)].to_csv(place, index=False)
    assert kept.chosen_settings(kept.Unit("wine", 0, "m"), place) == [{"leaves": 31, "stop": "value", "rate": 0.1}]
    assert kept.chosen_settings(kept.Unit("wine", 2, "m"), place) == []
    assert kept.chosen_settings(kept.Unit("wine", 0, "m"), tmp_path / "none.csv") == []
