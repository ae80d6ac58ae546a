"""Cascades on demand: the classes and costs of full data, whatever is capped, lost or broken off."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.fitted_cascade import keep_columns
from prunemodels.on_demand import UNAVAILABLE, from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.stages.policy import ExitPolicy, decide
from prunemodels.stages.set_stages import Constant, SetStages
from prunemodels.stages.stacking import Stack
from prunemodels.stages.stages import StageOutput, table_of
from prunemodels.stages.tree_stages import TreeStages
from tests.prunemodels.cascade_cases import KINDS, Kind, case, middle
from tests.prunemodels.on_demand.cases import SEEDS, Spy, random_case


@dataclass(frozen=True)
class Unsure:
    """A doubt that looks at all that a stage says, and at what the stage before said."""

    def __call__(self, s: int, now: StageOutput, before: StageOutput | None) -> np.ndarray:
        change = 0.0 if before is None else np.abs(now.value[:, 0] - before.value[:, 0])
        return now.spread + change - now.value.max(axis=1)


@dataclass(frozen=True)
class Random:
    """A cascade over random trees with random prices and a random policy, and rows."""

    cascade: Cascade
    X: np.ndarray


def random_cascade(seed: int) -> Random:
    """Splits join at random stages, after their parents; thresholds lie among the doubts that occur."""
    rng = np.random.default_rng(seed)
    given_trees = random_case(seed, regression=seed % 4 == 0)
    trees, n_stages = given_trees.trees, int(rng.integers(1, 5))
    first = np.where(trees.is_split, rng.integers(0, n_stages + 1, trees.n_nodes), n_stages).astype(np.int32)
    for h in range(trees.n_nodes):  # parents stand before their children
        if trees.parent[h] >= 0:
            first[h] = max(first[h], first[trees.parent[h]])
    stages = TreeStages(trees, given_trees.costs, tuple(given_trees.evaluation), first, n_stages)
    doubts = np.sort(np.concatenate([Unsure()(s, stages.output(s, given_trees.X), None) for s in range(n_stages)]))
    theta = np.sort(rng.choice(doubts, (n_stages - 1, 4)), axis=1)
    steps = np.minimum.accumulate(np.sort(rng.integers(0, 6, n_stages - 1))[::-1]) if n_stages > 1 else np.zeros(0, int)
    go = np.arange(5)[None, :] >= 5 - steps[:, None]
    stack = None if seed % 3 else random_stack(rng, n_stages, trees.value.shape[1])
    return Random(by_hand(stages, ExitPolicy(Unsure(), theta, go[:, :5], stack)), given_trees.X)


def random_stack(rng: np.random.Generator, n_stages: int, n_outputs: int) -> Stack:
    """Some stages weigh what earlier ones said; the first speaks for itself."""
    weight, base = np.tril(rng.normal(size=(n_stages, n_stages))), rng.normal(size=(n_stages, n_outputs))
    return Stack(weight, base, (np.arange(n_stages) > 0) & (rng.random(n_stages) < 0.7))


def by_hand(stages: Any, policy: ExitPolicy) -> Cascade:
    """A cascade of stages and a policy that nothing was learned for."""
    cascade = (pm.CascadeClassifier if stages.classes is not None else pm.CascadeRegressor)(stages)
    keep_columns(cascade, stages)
    cascade.stages_, cascade.policy_, cascade.exit_path_, cascade.exit_paths_ = stages, policy, None, ()  # type: ignore[assignment]
    return cascade


@pytest.mark.slow_cases("prunings")
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_cascade_on_full_data(kind: Kind) -> None:
    """For every kind of stages: the same predictions, stages and costs row by row, and what is paid once for all."""
    known, most = case(kind), 1
    between = [known.cascade.at_cost(float(budget)) for budget in np.quantile(known.path.cost[[0, -1]], [0.5, 0.9])]
    for cascade in (known.cascade, known.cascade.at_row(middle(kind)), *between):
        predictor = OnDemandPredictor(cascade, acquire=from_table(known.X))
        result = predictor.run(known.X.index)
        assert np.array_equal(result.predictions, cascade.predict(known.X))
        assert np.array_equal(result.stage, cascade.stop_stages(known.X))
        np.testing.assert_allclose(result.cost, cascade.prediction_cost(known.X), rtol=1e-12, atol=1e-12)
        unused = float(cascade.stages_.once[cascade.policy_.last_stage]) - float(result.once_cost)  # paid once, used by no row
        assert result.mean_cost == pytest.approx(pm.evaluate(cascade, known.X, known.y).cost - unused)
        assert result.finished.all()
        if result.probabilities is not None:
            np.testing.assert_allclose(result.probabilities, cascade.predict_proba(known.X), rtol=1e-12)
            assert np.array_equal(predictor.classes_, cascade.classes_)
        most = max(most, np.unique(result.stage).size)
    assert most > 1


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS)
def test_random_trees_prices_and_policies(seed: int) -> None:
    """Stages, answers and costs are those of full data, each feature asked for once, and each item paid once."""
    made = random_cascade(seed)
    decision = decide(made.cascade.policy_, made.cascade.stages_, made.X)
    costs = made.cascade.stages_.costs(made.X)[decision.stage, np.arange(len(made.X))]
    spy = Spy(made.X)
    result = OnDemandPredictor(made.cascade, acquire=spy).run(len(made.X))
    assert np.array_equal(result.stage, decision.stage)
    assert np.array_equal(_said(result), decision.value)
    np.testing.assert_allclose(result.cost, costs, rtol=1e-9, atol=1e-12)
    assert len(spy.asked()) == len(set(spy.asked()))
    paid = [(i, m) for i, m in spy.paid() if m not in result.once]
    assert len(paid) == len(set(paid))


def _said(result: Any) -> np.ndarray:
    """Probabilities, or numbers as a column."""
    return result.predictions[:, None] if result.probabilities is None else result.probabilities


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, cap=st.integers(0, 60))
def test_a_cap_is_never_exceeded(seed: int, cap: int) -> None:
    """No row pays more than the cap; who needs no more is served as without it, who does has the answer of an earlier stage."""
    made = random_cascade(seed)
    free = OnDemandPredictor(made.cascade, acquire=Spy(made.X)).run(len(made.X))
    most = max(free.exact_cost) * cap / 60
    result = OnDemandPredictor(made.cascade, acquire=Spy(made.X), max_cost=most).run(len(made.X))
    assert all(c <= most for c in result.exact_cost)
    within = np.array([c <= most for c in free.exact_cost])
    assert np.array_equal(result.capped, ~within)
    assert np.array_equal(result.predictions[within], free.predictions[within])
    assert np.array_equal(result.units[within], free.units[within])
    assert (result.stage[~within] < free.stage[~within]).all()
    _check_answers(made, result)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, lost=st.floats(0, 0.6))
def test_what_cannot_be_had_stops_a_row_at_the_last_stage_that_could_speak(seed: int, lost: float) -> None:
    """With cells lost a row gets as far as it can, is flagged if that is less, and never pays more than with all of them."""
    made, rng = random_cascade(seed), np.random.default_rng(seed)
    free = OnDemandPredictor(made.cascade, acquire=Spy(made.X)).run(len(made.X))
    result = OnDemandPredictor(made.cascade, acquire=Spy(made.X, rng.random(made.X.shape) >= lost)).run(len(made.X))
    assert result.finished.all()
    assert np.array_equal(result.stage < free.stage, result.fell_back & (free.stage > 0))
    assert (result.stage <= free.stage).all()
    assert all(a <= b for a, b in zip(result.exact_cost, free.exact_cost, strict=True))
    whole = ~result.fell_back
    assert np.array_equal(result.units[whole], free.units[whole])
    _check_answers(made, result, ~result.fell_back | (result.stage > 0))


def _check_answers(made: Random, result: Any, rows: Any = True) -> None:
    """The answers are those of the stages that the result names, on full data."""
    said, table, stack = _said(result), table_of(made.cascade.stages_, made.X), made.cascade.policy_.stack
    expected = (table if stack is None else stack.table(table)).value
    for s in np.unique(result.stage[result.stage >= 0]):
        of_stage = np.flatnonzero((result.stage == s) & rows)
        assert np.array_equal(said[of_stage], expected[s][of_stage])


def test_a_stage_is_one_request() -> None:
    """Models on sets ask once a stage, for the items that are new and the rows that come to it; bundles come whole."""
    known, asked = case("sets"), []
    cascade = known.cascade.at_row(0)
    table = from_table(known.X)
    stage = cascade.stop_stages(known.X)
    result = OnDemandPredictor(cascade, acquire=lambda request: asked.append(request) or table(request)).run(known.X.index)
    assert [request.items for request in asked[:2]] == [("blood", "b"), ("c", "d")]
    assert [request.features for request in asked[:2]] == [("a", "b"), ("c", "d")]
    for s, request in enumerate(asked):
        assert np.array_equal(request.positions, np.flatnonzero(stage > s))
    assert result.rounds == result.requests == len(asked) == stage.max()


def test_an_item_brings_all_that_it_pays_for() -> None:
    """Where two stages' features share an item, the first request brings both, and the second stage asks for nothing."""
    spy = Spy(np.array([[1.0, 0.0]]))
    result = OnDemandPredictor(two_sets(pm.CostItems.grouped(["g", "g"], {"g": 4})), acquire=spy).run(1)
    assert [(request.items, request.features) for request in spy.requests] == [(("g",), ("x0", "x1"))]
    assert (result.stage[0], result.exact_cost[0], result.rounds) == (1, 4, 1)


def two_sets(items: pm.CostItems | None = None) -> Cascade:
    """By hand: stage 0 reads x0 (price 2), stage 1 x1 as well (3), stage 2 is a constant; rows go on to the end."""

    @dataclass(frozen=True)
    class First:
        classes_ = np.array(["no", "yes"])

        def predict_proba(self, X: np.ndarray) -> np.ndarray:
            return np.column_stack([1 - X[:, 0], X[:, 0]])

    last = Constant(np.array([0.5, 0.5]))
    features = (np.array([0]), np.array([0, 1]), np.zeros(0, dtype=np.int64))
    prices = pm.CostItems.plain([2, 3]) if items is None else items
    stages = SetStages((First(), First(), last), features, prices, np.array(["no", "yes"]))
    return by_hand(stages, ExitPolicy(Unsure(), np.full((2, 1), -np.inf), np.array([[False, True], [False, False]])))


def test_a_row_without_any_answer_says_so() -> None:
    """Where the first model's feature cannot be had the result says None for a label, and predict refuses, naming the row."""
    answer = {"p": UNAVAILABLE, "q": 1.0}
    predictor = OnDemandPredictor(
        two_sets(), acquire=lambda request: {f: [answer[i] for i in request.rows] for f in request.features}
    )
    result = predictor.run(["p", "q"])
    assert result.predictions.tolist() == [None, "yes"]
    assert result.stage.tolist() == [-1, 1]
    assert result.finished.tolist() == [False, True]
    assert result.exact_cost == (0, 5)
    assert np.isnan(result.probabilities[0]).all()
    with pytest.raises(
        pm.errors.InvalidInputError, match=r"row 'p' has no prediction \(1 of 2 rows\).*first stage that reads nothing"
    ):
        predictor.predict(["p", "q"])


def test_a_cap_by_hand() -> None:
    """Stage 1 would make 5 of 4: the row stops with stage 0's answer, has paid 2, and was not asked for more."""
    spy = Spy(np.array([[1.0, 0.0]]))
    result = OnDemandPredictor(two_sets(), acquire=spy, max_cost=Fraction(4)).run(1)
    assert (result.predictions[0], result.stage[0], result.capped[0], result.exact_cost[0]) == ("yes", 0, True, 2)
    assert spy.asked() == [(0, 0)]
    assert result.to_frame().loc[0, ["stage", "capped"]].tolist() == [0, True]
    assert "1 capped" in repr(result)


def test_stages_that_do_not_say_what_they_read_are_refused() -> None:
    """Stages of another class cannot be bought for; the message names the class."""

    class Other:
        classes = None

    cascade = by_hand(two_sets().stages_, two_sets().policy_)
    cascade.stages_ = Other()  # type: ignore[assignment]
    with pytest.raises(pm.errors.InvalidInputError, match="the stages are Other, which do not say what they read"):
        OnDemandPredictor(cascade, acquire=print)


def test_a_price_that_nobody_pays_limits_no_other() -> None:
    """An item that no stage in use buys takes no part in the common unit of the prices."""
    X = np.random.default_rng(0).normal(size=(90, 3))
    prices = [1e-9, 1.0, 1e12]
    stages = [(LogisticRegression(), [0]), (LogisticRegression(), [0, 1]), (LogisticRegression(), None)]
    cascade = pm.CascadeClassifier(stages, prices, max_cost=2, cv=2, random_state=0).fit(X, X[:, 0] + X[:, 1] > 0)
    walked = OnDemandPredictor(cascade, acquire=from_table(X)).run(len(X))
    assert walked.cost.tolist() == cascade.prediction_cost(X).tolist()
