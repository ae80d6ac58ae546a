"""A budget is spent, fees, rounds and latency are counted, and what is stated is what calling the fitted object gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

import prunemodels as pm
from formulations.instance.cost_items import CostItems
from prunemodels.cascades.exit_path import learn_exit_path
from prunemodels.cascades.learning import solve_exits
from prunemodels.cascades.spending import between_optima, between_stages
from prunemodels.stages.doubt import MarginDoubt, aligned, doubts_of
from prunemodels.stages.policy import decide
from prunemodels.stages.stages import StageTable
from tests.loops import looped
from tests.prunemodels.cascades.tables import TableStages, random_table, sample_of

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
    """Each row costs 10/10; a budget of 3.5 sends three. So few rows have one threshold, and the optima send all or none."""
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
    """Cost and error of the own rows, for three budgets, by `prediction_cost` and `predict`; the budget holds there. Rows of
    weight 0 are none of them, wherever they stand among the others.
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
    path = learn_exit_path(stages, stages.table, truth, stack=False, doubt="margin", n_levels=4, random_state=0)
    nothing = "no other policy within it is expected to err less; the next useful budget is 10"
    assert path.within(4).spending == f"spends 0 of 4: {nothing}"
    assert path.within(10).spending == "spends 10 of 10"
    assert path.within(100).spending == "spends 10 of 100: no dearer policy is expected to err less"


def test_of_policies_that_are_expected_to_err_alike_the_cheapest_is_taken() -> None:
    """The last stage reads four columns of noise: within 4 the cheaper policy errs as little on rows that neither has seen."""
    rng = np.random.default_rng(5)
    noisy = rng.normal(size=(600, 5))
    labels = (noisy[:, 0] + rng.normal(size=600) > 0).astype(int)
    line = LogisticRegression()
    stages = [(None, []), (line, [0]), (line, None)]
    model = pm.CascadeClassifier(stages, [1, 3, 3, 3, 3], budget=4, n_levels=8, cv=3, random_state=0)
    model.fit(noisy[:400], labels[:400])
    dearer = model.exit_path_.row_at_cost(4)
    assert model.cost_ == model.exit_path_.cost[model.row_] < 0.8 * model.exit_path_.cost[dearer]
    assert model.spending_ == "spends 2.444 of 4: no dearer policy within it is expected to err less"
    assert model.score(noisy[400:], labels[400:]) >= model.at_row(dearer).score(noisy[400:], labels[400:])


def test_a_row_that_the_policies_of_the_folds_step_over_is_not_taken() -> None:
    """Before the first purchase all rows doubt alike, so all go on at once: at one lam in each fold, and not with all rows. The
    row of that lam costs nothing and errs at 0.94. The policies of the folds, which buy, told nothing of it.
    """
    rng = np.random.default_rng(11)
    means = rng.normal(size=(20, 6)) * 1.5
    labels = rng.integers(20, size=1000)
    rows = means[labels] + rng.normal(size=(1000, 6))
    model = pm.BudgetCascadeClassifier(GaussianNB(), 1, lam=0, random_state=11, cv=2, n_levels=8).fit(rows, labels)
    assert model.at_cost(1.4167).error_ <= model.at_cost(1.2083).error_ < 0.8


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
