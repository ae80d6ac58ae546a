"""A budget is spent, fees, rounds and latency are counted, and what is stated is what calling the fitted object gives."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from formulations.instance.cost_items import CostItems
from prunemodels.exits.doubt import MarginDoubt, aligned, doubts_of
from prunemodels.exits.learning import ExitSample, solve_exits
from prunemodels.exits.policy import decide
from prunemodels.exits.set_stages import Constant, SetStages
from prunemodels.exits.spending import between_optima, between_stages
from prunemodels.exits.stages import StageTable
from tests.loops import looped
from tests.prunemodels.cascades import ITEMS, KINDS, Kind, case, middle
from tests.prunemodels.exits.tables import TableStages, random_table, sample_of

X, Y = make_classification(240, 6, n_informative=4, n_redundant=0, random_state=1)
PRICES = [0, 1, 2, 4, 8, 16]


def ten_rows() -> tuple[StageTable, np.ndarray]:
    """The first stage is free and wrong about the five rows that doubt most; the second costs 10 and is always right."""
    sure = np.linspace(0.95, 0.55, 10)
    value = np.stack([np.column_stack([sure, 1 - sure]), np.tile([0.0, 1.0], (10, 1))])
    value[1, :5] = [1.0, 0.0]
    cost = np.repeat([[0.0], [10.0]], 10, axis=1)
    return StageTable(value, np.zeros((2, 10)), cost, np.zeros(2)), np.repeat([0, 1], 5)


@pytest.mark.parametrize(("budget", "sent"), [(0.0, 0), (0.99, 0), (1.0, 1), (3.5, 3), (5.0, 5), (7.0, 7)])
@pytest.mark.parametrize("way", [between_optima, between_stages])
def test_rows_of_largest_doubt_go_first_until_the_money_ends(way: Any, budget: float, sent: int) -> None:
    """Each row costs 10/10; a budget of 3.5 sends three.

    So few rows have one threshold, and the optima send all or none.
    """
    table, truth = ten_rows()
    sample = sample_of(table, truth, np.ones(10), MarginDoubt())
    policy = way(solve_exits(sample, MarginDoubt(), None, n_levels=4), sample, budget)
    expected = [0] * (10 - sent) + [1] * sent
    assert policy.stop_stages(sample.doubt).tolist() == expected
    rows = np.arange(10.0)[:, None]
    assert decide(policy, TableStages(table, np.array([0, 1])), rows).stage.tolist() == expected


def test_rows_that_doubt_alike_go_together() -> None:
    """The first stage says the same of all rows, so nobody can be told apart there; a free second stage tells them apart."""
    table, truth = ten_rows()
    constant = np.tile([0.5, 0.5], (10, 1))
    value, cost = np.stack([constant, *table.value]), np.concatenate([table.cost[:1], table.cost])
    three = StageTable(value, np.zeros((3, 10)), cost, np.zeros(3))
    sample = sample_of(three, truth, np.ones(10), MarginDoubt())
    policy = between_optima(solve_exits(sample, MarginDoubt(), None, n_levels=4), sample, 2.0)
    assert policy.stop_stages(sample.doubt).tolist() == [1] * 8 + [2] * 2


@looped("seed", range(24))
def test_no_budget_is_exceeded_and_rows_walk_as_counted(seed: int) -> None:
    """Random tables, items paid once and weights: cost <= budget; stage by stage the policy stops rows where it says."""
    table, truth, weights = random_table(seed, 30)
    sample = sample_of(table, truth, weights, MarginDoubt())
    learned = solve_exits(sample, MarginDoubt(), None, n_levels=4)
    least, most = sample.mean_cost(learned.policy(len(learned.path) - 1)), float((table.cost[-1] + table.once[-1]).max())
    stages = TableStages(table, np.arange(table.value.shape[2]))
    for budget in np.linspace(least, most, 7):
        for way in (between_optima, between_stages):
            policy = way(learned, sample, float(budget))
            assert sample.mean_cost(policy) <= budget * (1 + 1e-9) or policy.last_stage == 0
            walked = decide(policy, stages, np.arange(30.0)[:, None]).stage
            np.testing.assert_array_equal(walked, policy.stop_stages(doubts_of(MarginDoubt(), table)))


CASES: dict[str, Any] = {
    "folds": {},
    "weights": {"sample_weight": np.random.default_rng(0).integers(0, 4, 240).astype(float)},
    "one division": {
        "X_valid": X[160:],
        "y_valid": Y[160:],
        "sample_weight_valid": np.random.default_rng(0).integers(0, 4, 80).astype(float),
    },
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["named", "sets", "many"])
def test_what_is_stated_is_what_calling_gives(kind: str, case: str) -> None:
    """Cost and error of the own rows, for three budgets, by `prediction_cost` and `predict`; the budget holds there.

    Rows of weight 0 are none of them, wherever they stand among the others.
    """
    prices = PRICES if kind != "many" else [0, 1, 2, 4, 8, 16.0]
    line = LogisticRegression()
    options: dict[str, Any] = {"n_levels": 8, "random_state": 0, "lam": 0.0}
    if kind == "named":
        model: Any = pm.CascadeClassifier([(line, [0]), (line, [0, 1, 2]), (line, None)], prices, **options)
    else:
        few = CostItems.grouped(list("abbccc"), {"a": 0, "b": 3, "c": 9}) if kind == "sets" else prices
        model = pm.BudgetCascadeClassifier(line, few, n_stages=4, **options)
    given = dict(CASES[case])
    weight = given.get("sample_weight", given.get("sample_weight_valid"))
    rows, labels = (X, Y) if "X_valid" not in given else (X[:160], Y[:160])
    model.fit(rows, labels, **given)
    own_X, own_y = (given["X_valid"], given["y_valid"]) if "X_valid" in given else (rows, labels)
    own_X, own_y = own_X[model.own_rows_], own_y[model.own_rows_]
    w = None if weight is None else weight[model.own_rows_]
    for budget in (1.0, 4.0, 9.0):
        at = model.at_cost(budget)
        assert at.cost_ == pytest.approx(np.average(at.prediction_cost(own_X), weights=w), rel=1e-12)
        assert at.error_ == pytest.approx(1 - at.score(own_X, own_y, sample_weight=w), abs=1e-12)
        assert at.cost_ <= budget * (1 + 1e-12)
        assert at.spending_.startswith(f"spends {at.cost_:.4g} of {budget:.4g}")


def test_a_budget_that_buys_nothing_says_which_one_helps() -> None:
    """A stage of 10 for all or nobody, since the first knows nothing of the rows: at 4 nothing is bought, and 10 is named."""
    table, truth = ten_rows()
    value = np.stack([np.tile([0.6, 0.4], (10, 1)), table.value[1]])
    stages = TableStages(StageTable(value, np.zeros((2, 10)), table.cost, np.zeros(2)), np.array([0, 1]))
    path = pm.exits.learn_exit_path(stages, stages.table, truth, stack=False, doubt="margin", n_levels=4, random_state=0)
    nothing = "no other policy within it is expected to err less; the next useful budget is 10"
    assert path.within(4).spending == f"spends 0 of 4: {nothing}"
    assert path.within(10).spending == "spends 10 of 10"
    assert path.within(100).spending == "spends 10 of 100: no dearer policy is expected to err less"


def test_a_fold_without_a_class_is_learned_from() -> None:
    """One row of a class: the folds that train without it know only the other."""
    labels = np.where(np.arange(60) == 7, 1, 0)
    model = pm.BudgetCascadeClassifier(LogisticRegression(), 1, n_levels=4, lam=0.0, random_state=0).fit(X[:60], labels)
    assert set(model.predict(X)) <= {0, 1}


def test_doubts_of_other_folds_count_by_their_rank() -> None:
    """Rows 3 to 5 are doubted by another fold's stages, ten times as much; where a stage doubts alike, all are alike."""
    doubt = np.array([[0.3, 0.1, 0.2, 2.0, 3.0, 1.0], [0.5, 0.5, 0.5, 0.7, 0.7, 0.7]])
    fold = np.array([0, 0, 0, 2, 2, 2])
    assert aligned(doubt, fold).tolist() == [[0.3, 0.1, 0.2, 0.2, 0.3, 0.1], [0.5] * 6]


def test_what_is_held_out_costs_as_much_elsewhere() -> None:
    """The first stage knows the class shares alone, which differ from fold to fold; within a small budget few go on anywhere."""
    X, y = make_classification(900, 6, n_informative=4, n_redundant=0, random_state=3)
    line = LogisticRegression()
    stages = [(None, []), (line, [0, 1]), (line, None)]
    model = pm.CascadeClassifier(stages, [1, 1, 4, 4, 4, 4], lam=0.0, n_levels=8, cv=3, random_state=0).fit(X[:451], y[:451])
    for budget in (1.0, 3.0, 6.0):
        at = model.at_cost(budget)
        assert at.held_out_cost_ == pytest.approx(at.prediction_cost(X[451:]).mean(), abs=0.25 * budget + 0.1)


SUPPLIERS = {"blood": "laboratory", "b": "laboratory", "c": "laboratory", "d": "station", "e": "station", "g": "station"}
ASKED = ITEMS.with_requests({"laboratory": 0.5, "station": 0.25}, {"laboratory": 80, "station": 30}, supplier=SUPPLIERS)


def test_a_stage_is_a_round_and_pays_a_fee_for_each_supplier() -> None:
    """Stage 1 buys b, so blood is drawn: the laboratory. Stage 2 buys c and d: both. Stage 3 buys f, which is at hand."""
    columns = [[0], [0, 1], [0, 1, 2, 3], [0, 5]]
    stages = SetStages((Constant(np.ones(2) / 2),) * 4, tuple(np.array(c) for c in columns), ASKED, np.array([0, 1]))
    asks = stages.asks()
    assert asks.rounds.tolist() == [0, 1, 2, 2]
    assert asks.latency.tolist() == [0, 80, 160, 160]
    assert asks.fees.tolist() == [0, 0.5, 1.25, 1.25]
    assert stages.prices().tolist() == [0, 3.25 + 0.5, 4.75 + 1.25, 7.75 + 1.25]


@pytest.mark.parametrize("kind", KINDS)
def test_calls_and_costs_are_those_of_the_walk(kind: Kind) -> None:
    """What is stated of a row, with fees, is what buying on demand takes, in stages that are sets and stages along trees."""
    fitted = case(kind)
    cascade = copy(fitted.path.at_row(middle(kind)))
    cascade.stages_ = replace(cascade.stages_, items=ASKED)  # type: ignore[type-var]
    walked = pm.OnDemandPredictor(cascade, acquire=pm.on_demand.from_table(fitted.X)).run(fitted.X.index)
    stated = cascade.prediction_calls(fitted.X)
    assert stated.rounds.max() > 1
    assert np.array_equal(walked.calls.rounds, stated.rounds)
    assert np.allclose(walked.calls.latency, stated.latency)
    assert np.allclose(walked.calls.fees, stated.fees)
    assert np.allclose(walked.cost, cascade.prediction_cost(fitted.X))


def late_sample(seed: int) -> ExitSample:
    """Random tables with the limit that at most some share of the rows may go beyond a stage of their own."""
    rng = np.random.default_rng(seed)
    table, truth, weights = random_table(seed, 12)
    sample = sample_of(table, truth, weights, MarginDoubt())
    last = rng.integers(0, table.n_stages, sample.n_rows)
    return replace(sample, late=((np.arange(table.n_stages)[:, None] > last, float(rng.choice([0.0, 0.2, 0.5]))),))


def test_policies_that_spend_a_budget_keep_the_share_of_late_rows() -> None:
    """Counted row by row, for budgets between the cheapest and the dearest policy."""
    binding = 0
    for seed in range(40):
        sample = late_sample(seed)
        free = replace(sample, late=())
        learned = solve_exits(free, MarginDoubt(), None, n_levels=4)
        over, most = sample.late[0]
        for budget in np.linspace(sample.cost[0].mean(), sample.cost[-1].mean(), 4) + sample.once[-1]:
            for method in (between_optima, between_stages):
                policy, unlimited = method(learned, sample, budget), method(learned, free, budget)
                for found in (policy, unlimited):
                    late = sum(w for i, w in enumerate(sample.weights) if over[found.stop_stages(sample.doubt)[i], i])
                    share = late / sample.weights.sum()
                    if found is policy:
                        assert share <= most + 1e-9
                    binding += found is unlimited and share > most
    assert binding > 20


def data() -> tuple[pd.DataFrame, np.ndarray]:
    """Three columns of equal price, the last of which says nearly all."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    return X, (X["c"] + 0.3 * X["a"] + 0.2 * rng.normal(size=600) > 0).to_numpy().astype(int)


CHAIN: Any = [(None, []), (LogisticRegression(), ["a"]), (LogisticRegression(), ["a", "b"]), (LogisticRegression(), None)]


@pytest.mark.parametrize(
    ("limits", "rounds", "in_time"),
    [({"max_rounds": 1}, 1, 1.0), ({"max_latency": 160}, 2, 1.0), ({"max_latency": (80, 0.7)}, 3, 0.7)],
)
def test_limits_choose_the_stages(limits: Any, rounds: int, in_time: float) -> None:
    """One round leaves one purchase; and of the rows that the policy was learned from the share stated is in time."""
    X, y = data()
    costs = pm.CostItems.plain([1, 1, 1], list(X.columns)).with_requests(0.1, 80)
    cascade = pm.CascadeClassifier(CHAIN, costs, lam=1e-4, cv=3, random_state=0, **limits).fit(X, y)
    own = cascade.prediction_calls(X.iloc[cascade.own_rows_])
    assert own.rounds.max() <= rounds
    limit = limits.get("max_latency", 80)
    longest = limit[0] if isinstance(limit, tuple) else limit
    assert (own.latency <= longest).mean() >= in_time - 1e-9
    assert cascade.score(X, y) > 0.7
    assert cascade.at_cost(1.2).prediction_calls(X.iloc[cascade.own_rows_]).rounds.max() <= rounds


def test_a_fee_makes_fewer_rounds() -> None:
    """Where a request costs more than all columns, no row asks twice; without a fee some do."""
    X, y = data()
    most = []
    for fee in (0, 20):
        costs = pm.CostItems.plain([1, 1, 1], list(X.columns)).with_requests(fee)
        cascade = pm.CascadeClassifier(CHAIN, costs, budget=23 if fee else 2.5, cv=3, random_state=0).fit(X, y)
        most.append(int(cascade.prediction_calls(X).rounds.max()))
        assert cascade.cost_ == pytest.approx(cascade.prediction_cost(X.iloc[cascade.own_rows_]).mean())
    assert most[0] > most[1] == 1


def test_stages_that_differ_in_what_is_paid_once_are_scored() -> None:
    """Of the eleven parts of four stages one has stages of equal cost: the last stage adds what is paid once for all rows."""
    X, y = data()
    items = pm.CostItems.from_items({"a": 1, "b": 1, "c": 1}, [["a"], ["b"], ["c"]], once=["c"])
    costs = items.with_requests(0.1, supplier={"a": "s", "b": "s"})
    cascade = pm.CascadeClassifier(CHAIN, costs, budget=3, cv=2, n_levels=4, random_state=0).fit(X, y)
    assert cascade.cost_ <= 3


def test_exits_along_a_forest_keep_the_limits() -> None:
    """A stage of trees takes several rounds; no own row makes more than allowed, and the sums are those of a walk."""
    from prunemodels.example import X_test, X_valid, forest, y_valid

    costs = pm.CostItems.plain([1] * X_valid.shape[1], list(X_valid.columns)).with_requests(0.5, 80)
    path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))
    free, held = (
        pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, max_rounds=most, random_state=0).at_cost(11)
        for most in (None, 2)
    )
    assert free.prediction_calls(X_valid).rounds.max() > 2
    assert held.prediction_calls(X_valid).rounds.max() == 2
    walked = pm.OnDemandPredictor(held, acquire=pm.on_demand.from_table(X_test)).run(X_test.index)
    assert np.allclose(walked.cost, held.prediction_cost(X_test))
