"""Levels of doubt by dynamic programming, and policies that are the best of all at every price of cost, on their own rows."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest

from proofs_checks import check_closure_path
from prunemodels.cascades.learning import ExitSample, LearnedExits, exit_problem, judged_losses
from prunemodels.stages import policy as policy_module
from prunemodels.stages.doubt import MarginDoubt, doubts_of, learn_doubt
from prunemodels.stages.judging import lost
from prunemodels.stages.params import StageParams
from prunemodels.stages.policy import ExitPolicy, decide, levels, next_level, prices_of_cost, thresholds
from prunemodels.stages.stages import StageTable
from solvers.path.closure_path import closure_path
from tests.loops import looped
from tests.prunemodels.cascades.tables import (
    TableStages,
    learn_exits,
    margins,
    monotone_policies,
    random_table,
    sample_of,
    tally,
    walk,
)

SEEDS = range(24)


@pytest.fixture(autouse=True)
def every_threshold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thresholds between any two rows, however few there are."""
    monkeypatch.setattr(policy_module, "PARAMS", StageParams(fewest_rows_between=1))


def learned(seed: int, n_levels: int = 3, n: int | None = None) -> tuple[LearnedExits, StageTable, np.ndarray, np.ndarray]:
    table, truth, weights = random_table(seed, n)
    exits = learn_exits(table, truth, weights, doubt="margin", n_levels=n_levels)
    return exits, table, truth, weights


def all_counts(exits: LearnedExits, table: StageTable, truth: Any, weights: Any, doubt: Any) -> list[tuple[float, float]]:
    """Error and cost of every monotone policy, row by row."""
    every = monotone_policies(table.n_stages - 1, exits.theta.shape[1])
    return [tally(table, truth, weights, go, walk(go, exits.theta, doubt)) for go in every]


def two_stages() -> tuple[StageTable, np.ndarray]:
    """Four rows. The first stage is free; it is right about rows 0 and 1, wrong about 2 and 3. The second costs 1, 1, 1 and 3. It
    corrects 2 and 3. Doubts (1 - margin) are 0.2, 0.4, 0.8, 1.0 at the first stage.
    """
    first = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]])
    value = np.stack([first, [[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.1, 0.9]]])
    cost = np.array([[0.0, 0, 0, 0], [1.0, 1, 1, 3]])
    return StageTable(value, np.zeros((2, 4)), cost, np.zeros(2)), np.array([0, 0, 1, 1])


def test_four_rows_by_hand() -> None:
    """Rows 2 and 3 save one error each, for 1 and 3: together 2 errors for 4, at any lam below 1/2; row 2 may not go alone. Row 3
    doubts more than row 2, so whoever sends on 2 sends on 3: the pair, at (1/4 + 1/4) / (1/4 + 3/4) = 1/2.
    """
    table, truth = two_stages()
    exits = learn_exits(table, truth, np.ones(4), doubt="margin", n_levels=4)
    assert exits.path.breakpoints == (0, Fraction(1, 2))
    assert exits.path.exact_cost == (1, 0)
    assert exits.path.exact_error == (0, Fraction(1, 2))
    stages = TableStages(table, np.array([0, 1]))
    X = np.arange(4.0)[:, None]
    assert decide(exits.policy(0), stages, X).stage.tolist() == [0, 0, 1, 1]
    assert decide(exits.policy(1), stages, X).stage.tolist() == [0, 0, 0, 0]


def variants() -> dict[str, tuple[StageTable, np.ndarray, list[Any], list[Any], list[Any]]]:
    """Tables by hand, the truth, and the path's breakpoints, costs and errors."""
    table, truth = two_stages()
    alike = table.value.copy()
    alike[0] = [0.75, 0.25]
    free, half, third = replace(table, cost=np.ones((2, 4))), Fraction(1, 2), Fraction(1, 3)
    worse = StageTable(free.value[::-1], free.spread, free.cost, free.once)
    strange = np.stack([[[0.6, 0.4, 0.0], [0.9, 0.1, 0.0]], [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]])
    three = StageTable(strange, np.zeros((2, 2)), np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros(2))
    return {
        # the second stage needs a licence of 1 for all: 1/2 of error for 1 + 1, so the pair goes at 1/4
        "once": (replace(table, once=np.array([0.0, 1.0])), truth, [0, half / 2], [2, 0], [0, half]),
        # rows that doubt equally go on together or not at all: 2 of 4 errors are saved for 6/4, whoever they are
        "alike": (replace(table, value=alike), truth, [0, third], [third * 9 / 2, 0], [0, half]),
        # the second stage costs nothing more: whoever gains goes on at every price
        "free": (free, truth, [0], [1], [0]),
        "worse": (worse, truth, [0], [1], [0]),  # nobody gains, nobody goes on
        # class 2 has probability 0 at the first stage, so its row is an error until the stage that knows it
        "a class that is never named": (three, np.array([2, 0]), [0, 1], [half, 0], [0, half]),
    }


@looped("name", ["once", "alike", "free", "worse", "a class that is never named"])
def test_variants_by_hand(name: str) -> None:
    """Breakpoints, costs and errors of the rows of the path, exactly."""
    table, truth, breakpoints, cost, error = variants()[name]
    exits = learn_exits(table, truth, np.ones(len(truth)), doubt="margin", n_levels=4)
    assert list(exits.path.breakpoints) == breakpoints
    assert (list(exits.path.exact_cost), list(exits.path.exact_error)) == (cost, error)
    assert exits.policy(0).go.any() == (name != "worse")


@looped("seed", SEEDS)
def test_no_policy_is_better_at_any_price(seed: int) -> None:
    """At every breakpoint, between them and beyond, no monotone policy has less error + lam * cost, counted row by row. Cost and
    error of every row of the path are those of the rows sent through the stages; stops are those of the plain loop.
    """
    exits, table, truth, weights = learned(seed)
    doubt = margins(table.value)
    counts = all_counts(exits, table, truth, weights, doubt)
    points = exits.path.lam.tolist()
    for lam in [*points, *((a + b) / 2 for a, b in itertools.pairwise(points)), points[-1] + 1]:
        go = exits.policy(exits.path.row_at_lam(lam)).go
        error, cost = tally(table, truth, weights, go, walk(go, exits.theta, doubt))
        assert (weights != 1).any() or exits.path.gap == 0
        assert error + lam * cost <= min(e + lam * c for e, c in counts) + 1e-12
    stages = TableStages(table, np.arange(table.value.shape[2]))
    X = np.arange(table.n_rows, dtype=float)[:, None]
    assert check_closure_path(exits.path).holds is True
    for k in range(len(exits.path)):
        policy = exits.policy(k)
        decision = decide(policy, stages, X)
        assert decision.stage.tolist() == walk(policy.go, exits.theta, doubt)
        np.testing.assert_array_equal(decision.value, table.value[decision.stage, np.arange(table.n_rows)])
        error, cost = tally(table, truth, weights, policy.go, decision.stage.tolist())
        assert (exits.path.error[k], exits.path.cost[k]) == (pytest.approx(error), pytest.approx(cost))
        assert policy.last_stage == max([s + 1 for s in range(len(policy.go)) if policy.go[s].any()], default=0)


@looped("seed", SEEDS)
def test_a_weight_of_two_is_the_row_twice(seed: int) -> None:
    """For given levels the instance of weights 1, 2 and 3 has the path of the rows once, twice and three times."""
    rng = np.random.default_rng(seed)
    table, truth, _ = random_table(seed)
    level = rng.integers(0, 4, (max(table.n_stages - 1, 0), table.n_rows))
    level = np.minimum.accumulate(level, axis=0)
    times = rng.integers(1, 4, table.n_rows)
    rows = np.repeat(np.arange(table.n_rows), times)
    weighted = closure_path(exit_problem(sample_of(table, truth, times.astype(float), MarginDoubt()), level, 3))
    again = sample_of(table.take(rows), truth[rows], np.ones(rows.size), MarginDoubt())
    repeated = closure_path(exit_problem(again, level[:, rows], 3))
    assert weighted.level.tolist() == repeated.level.tolist()
    assert weighted.cost == pytest.approx(repeated.cost)
    assert weighted.error == pytest.approx(repeated.error)


@pytest.mark.parametrize("seed", [4, 10])
def test_learned_doubts_are_those_of_the_fitted_object(seed: int) -> None:
    """Squared errors: cost and error of the path are those of the stops by these doubts, the best of all policies."""
    table, truth, weights = random_table(seed, 40, regression=True)
    exits = learn_exits(table, truth, weights, doubt="learned", n_levels=3)
    doubt = doubts_of(learn_doubt("learned", table, weights), table)
    counts = all_counts(exits, table, truth, weights, doubt)
    for k, lam in enumerate(exits.path.lam.tolist()):
        go = exits.policy(k).go
        error, cost = tally(table, truth, weights, go, walk(go, exits.theta, doubt))
        assert (exits.path.error[k], exits.path.cost[k]) == (pytest.approx(error), pytest.approx(cost))
        assert error + lam * cost == pytest.approx(min(e + lam * c for e, c in counts), abs=1e-8)


def test_rounding_of_equal_stages_tells_nothing() -> None:
    """Two stages that say the same in float32: how their last digits differ, which varies with the number of rows that models are
    asked about, makes no doubt.
    """
    rng = np.random.default_rng(0)
    sure = rng.uniform(0.5, 1, 400)
    says = np.column_stack([sure, 1 - sure])
    last = np.column_stack([label := (rng.random(400) < sure).astype(float), 1 - label])
    rounded = [says + rng.choice([-1, 0, 1], says.shape) * 6e-8 for _ in range(2)]
    tables = [StageTable(np.array([says, one, last]), np.zeros((3, 400)), np.ones((3, 400)), np.zeros(3)) for one in rounded]
    judge = learn_doubt("learned", tables[0], np.ones(400))
    assert doubts_of(judge, tables[1]) == pytest.approx(doubts_of(judge, tables[0]), abs=1e-5)


def test_a_stage_that_is_too_sure_is_judged_by_what_it_knows() -> None:
    """One that is right in four of five rows and always sure has more log loss than class shares, and is expected to err less."""
    truth, right = np.arange(400) % 2, np.arange(400) % 10 < 8
    sure = np.eye(2)[np.where(right, truth, 1 - truth)]
    table = StageTable(np.array([np.full((400, 2), 0.5), sure]), np.zeros((2, 400)), np.zeros((2, 400)), np.zeros(2))
    assert judged_losses(table, truth, np.ones(400)).mean(axis=1) == pytest.approx([0.5, 0.2], abs=0.01)


@pytest.mark.parametrize("prices", [np.array([0.0, 7.2734]), np.array([0.3, 5_000_000.0])])
def test_prices_with_many_decimals_and_many_rows(prices: np.ndarray) -> None:
    """Sums of prices over many rows are multiples of their unit in spite of rounding, and large prices hide no small ones."""
    n, rng = 60_000, np.random.default_rng(0)
    level = rng.integers(0, 4, (1, n))
    value = np.tile([0.7, 0.3], (2, n, 1))
    cost = np.cumsum([rng.choice([0.3, 1.7], n), rng.choice(prices, n)], axis=0)
    table = StageTable(value, np.zeros((2, n)), cost, np.zeros(2))
    problem = exit_problem(sample_of(table, rng.integers(0, 2, n), np.ones(n), MarginDoubt()), level, 3)
    assert problem.price.sum() == pytest.approx(np.diff(cost, axis=0)[0, level[0] > 0].sum() / n, rel=1e-12)
    assert check_closure_path(closure_path(problem)).holds is True


def test_a_cost_that_falls_by_rounding_only() -> None:
    """Costs are sums in whatever order, so one that falls in its last digit has not fallen."""
    table, truth = two_stages()
    cost = np.full((2, 4), 0.3)
    cost[1] = np.nextafter(0.3, 0)
    weights = np.array([1.0, 2, 1, 1])
    exits = learn_exits(replace(table, cost=cost), truth, weights, doubt="margin", n_levels=2)
    assert exits.path.problem.price.tolist() == [0.0] * exits.path.problem.n


def test_a_threshold_by_hand() -> None:
    """Three rows, doubts 3, 2, 1; the second stage saves 1, 0 and -1 error for 1 each. At lam = 0 the first or the first two rows
    go, fewest of equals: row 0, the threshold half-way at 2.5. At lam = 2 nobody goes.
    """
    loss = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    cost = np.array([[0.0, 0, 0], [1.0, 1, 1]])
    found = thresholds(loss, cost, np.ones(3), np.array([[3.0, 2, 1]]), np.array([0.0, 0.5, 2.0]))
    assert found.tolist() == [[2.5, 2.5, np.inf]]
    assert levels(np.array([[3.0, 2, 1]]), found).tolist() == [[2, 0, 0]]


@looped("seed", range(12))
def test_every_stage_takes_its_best_threshold(seed: int) -> None:
    """Backwards, at each price, no place between two rows is better, unless a lower price has a higher threshold."""
    table, truth, weights = random_table(seed)
    loss, doubt = lost(table.value, truth), margins(table.value)[:-1]
    lams = np.array([0.0, 0.05, 0.2, 0.7])
    theta = thresholds(loss, table.cost, weights, doubt, lams)
    assert (theta[:, :-1] <= theta[:, 1:]).all()
    for j, lam in enumerate(lams):
        value = loss[-1]
        for s in range(table.n_stages - 2, -1, -1):
            on = value + lam * (table.cost[s + 1] - table.cost[s])

            def total(cut: float, s: int = s, on: np.ndarray = on) -> float:
                return float(weights @ np.where(doubt[s] >= cut, on, loss[s]))

            least = min(total(cut) for cut in [np.inf, *doubt[s]])
            if j == 0 or theta[s, j] > theta[s, j - 1]:
                assert total(float(theta[s, j])) == pytest.approx(least)
            value = np.where(doubt[s] >= theta[s, j], on, loss[s])


@looped("seed", range(12))
def test_levels_never_rise_and_tell_who_would_go_on(seed: int) -> None:
    """Level >= j exactly if the doubts of all stages so far reach the j-th thresholds; one stage at a time is the same."""
    rng = np.random.default_rng(seed)
    doubt = rng.integers(0, 6, (3, 20)) / 5
    theta = np.sort(rng.integers(0, 13, (3, 4)) / 10, axis=1)  # many doubts stand exactly on a threshold
    found = levels(doubt, theta)
    assert (np.diff(found, axis=0) <= 0).all()
    for s in range(3):
        for j in range(4):
            reaches = np.all([doubt[t] >= theta[t, j] for t in range(s + 1)], axis=0)
            np.testing.assert_array_equal(found[s] >= j + 1, reaches)
    level = np.full(20, 4)
    for s in range(3):
        level = next_level(level, doubt[s], theta[s])
        np.testing.assert_array_equal(level, found[s])


def test_prices_end_where_nobody_goes_on() -> None:
    """From 0 geometrically to the dearest ratio of savings to costs; only 0 where going on saves nothing."""
    loss, cost = np.array([[1.0, 1], [0.0, 1]]), np.array([[0.0, 0], [2.0, 2]])
    doubt = np.array([[0.9, 0.1]])
    found = prices_of_cost(loss, cost, np.ones(2), doubt, 5)
    assert (found[0], found[-1], found.size) == (0.0, 0.5, 5)
    assert np.ptp(np.diff(np.log(found[1:]))) < 1e-12
    assert prices_of_cost(loss[::-1], cost, np.ones(2), doubt, 5).tolist() == [0.0]
    assert prices_of_cost(loss, cost, np.ones(2), doubt, 2).tolist() == [0.0, 0.5]


def test_what_rounding_saves_sends_nobody_on() -> None:
    """Two rows save 0.1 and 0.2 for 0.15 each, of floats 1e-17 more; a cost that rises in its last digit only has no price."""
    loss, doubt = np.array([[0.1, 0.2], [0, 0]]), np.array([[2.0, 1.0]])
    found = thresholds(loss, np.array([[0.0, 0], [1, 1]]), np.ones(2), doubt, np.array([0.0, 0.15]))
    assert found.tolist() == [[-np.inf, np.inf]]
    rises = np.array([[0.3, 0.3], [np.nextafter(0.3, 1)] * 2])
    assert prices_of_cost(loss, rises, np.ones(2), doubt, 3).tolist() == [0.0]


def test_thresholds_rise_even_where_the_best_ones_would_fall() -> None:
    """Four rows on which, at the dearest of three prices, one row more would go on from the first stage than at a cheaper one. A
    later stage sends on fewer there, and so makes going on from the first one cheap. Levels need thresholds that rise.
    """
    loss = np.array([[1.0, 1, 1, 0], [1, 1, 0, 1], [1, 0, 1, 0]])
    cost = np.array([[0.0, 0, 2, 1], [2, 1, 2, 1], [4, 2, 2, 1]])
    doubt = np.array([[1.0, 3, 2, 0], [1, 0, 3, 2]])
    theta = thresholds(loss, cost, np.ones(4), doubt, np.array([0.0, 0.3, 0.6]))
    assert theta[0].tolist() == [2.5, 2.5, 2.5]  # the best at 0.6 alone is 1.5
    assert (theta[:, :-1] <= theta[:, 1:]).all()


def test_what_rows_that_come_to_a_stage_pay() -> None:
    """By hand: rows of weights 1, 1, 1, 3 stop at the stages 0, 1, 2, 2, which cost 0, 1, 3; nobody comes to the last."""

    class Stops:
        def stop_stages(self, doubt: np.ndarray) -> np.ndarray:
            return np.array([0, 1, 2, 2])

    cost = np.repeat(np.array([[0.0], [1.0], [3.0], [7.0]]), 4, axis=1)
    weights, own = np.array([1.0, 1.0, 1.0, 3.0]), np.ones(4, dtype=bool)
    sample = ExitSample(np.zeros((3, 4)), cost, np.zeros(4), cost, cost, weights, own)
    assert sample.pay_from(cast("ExitPolicy", Stops())).tolist() == [13 / 6, 13 / 5, 3.0, 0.0]
