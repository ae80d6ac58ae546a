"""What is promised: predictions, costs, each item at most once, and a stop exactly when nothing can change the answer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning
from tests.prunemodels.on_demand.cases import SEEDS, Spy, forest_of, mean_of, possible_nodes, random_case, stump, walk_row

COSTS = pm.CostItems.from_items(
    {"blood": 2.1, "b": 7.27, "c": 1, "free": 0, "licence": 50},
    [["b", "blood"], ["c", "blood"], ["free"], ["b", "c", "licence"], []],
    once=["licence"],
)


@pytest.mark.slow
@looped("kind", KINDS)
def test_predictions_are_scikit_learns_to_the_last_bit_and_the_cost_is_the_reported_one(kind):
    """For every kind of forest, pruned: the same classes, and bit for bit the same probabilities or means. `evaluate` and the
    pruning itself report the mean cost, items and evaluation together.
    """
    case, evaluation = fitted(kind), [0.1, 0, 0.25, 1, 0]
    pruning = random_pruning(pm.problem_from_forest(case.forest, case.X, costs=COSTS, evaluation_cost=evaluation))
    forest = pm.apply_pruning(pruning, case.forest)
    predictor = OnDemandPredictor(forest, COSTS, from_table(case.X), evaluation_cost=evaluation)
    rows = case.X.index if hasattr(case.X, "index") else len(case.X)
    result = predictor.run(rows)
    assert np.array_equal(result.predictions, forest.predict(case.X))
    assert result.predictions.dtype == forest.predict(case.X).dtype
    assert np.array_equal(predictor.predict(rows), result.predictions)
    if hasattr(forest, "classes_"):
        assert np.array_equal(predictor.predict_proba(rows), forest.predict_proba(case.X))
        assert np.array_equal(predictor.classes_, forest.classes_)
    assert not result.fell_back.any()
    assert not result.stopped_early.any()
    assert result.finished.all()
    assert (result.trees_finished == pm.read_forest(forest).n_trees).all()
    assert result.exact_mean_cost == pruning.exact_cost
    told = pm.evaluate(forest, case.X, case.y, costs=COSTS, evaluation_cost=evaluation).cost
    assert result.mean_cost == pytest.approx(told, rel=1e-12)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, lost=st.floats(0, 0.6), up_front=st.floats(0, 0.6))
def test_against_the_slow_walk(seed, lost, up_front):
    """With features lost and known, for every row: the same requests, purchases, nodes, flags and costs as the slow walk's."""
    case, rng = random_case(seed, regression=seed % 3 == 0), np.random.default_rng(seed)
    had, known = rng.random(case.X.shape) >= lost, rng.random(case.X.shape) < up_front
    spy = Spy(case.X, had)
    given_up_front = {f"x{f}": np.ma.array(case.X[:, f], mask=~known[:, f]) for f in range(case.X.shape[1])}
    predictor = OnDemandPredictor(case.trees, case.costs, spy, evaluation_cost=case.evaluation)
    result = predictor.run(len(case.X), known=given_up_front)
    asked = spy.asked()
    assert len(asked) == len(set(asked))
    orders = {i: [] for i in range(len(case.X))}
    for request in spy.requests:
        for i in request.positions:
            orders[i].append((set(request.items), set(request.columns.tolist())))
    for i, x in enumerate(case.X):
        row = walk_row(case.trees, case.costs, x, had[i], set(np.flatnonzero(known[i]).tolist()))
        named = [
            ({case.costs.names[m] for m in items if not case.costs.paid_once[m]}, set(features)) for items, features in row.orders
        ]
        once = {name for name, flag in zip(case.costs.names, case.costs.paid_once, strict=True) if flag}
        assert sorted((sorted(i - once), sorted(f)) for i, f in orders[i]) == sorted((sorted(i), sorted(f)) for i, f in named)
        assert result.exact_cost[i] == row.cost(case.costs, case.evaluation)
        assert set(result.bought[i]) == {case.costs.names[m] for m in row.paid} - once
        assert result.fell_back[i] == row.fell_back
        mean = mean_of(case.trees, row.nodes)
        if result.probabilities is None:
            assert result.predictions[i] == mean[0]
        else:
            assert np.array_equal(result.probabilities[i], mean)
            assert result.predictions[i] == case.trees.classes[np.argmax(mean)]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(seed=SEEDS, ties=st.booleans(), lost=st.floats(0, 0.4))
def test_the_classes_are_the_full_walks(seed, ties, lost):
    """Also with ties, arbitrary values of inner nodes, up to four classes, and features lost: as without early stopping. No row
    that lost nothing pays more than the walk to the end, for any item that it would not have bought, or for one twice. Where a
    feature is lost, what came with it for the same item is paid for, and another order may bring other things along.
    """
    case, rng = random_case(seed, ties=ties), np.random.default_rng(seed)
    had = rng.random(case.X.shape) >= lost
    spy = Spy(case.X, had)
    stopping = OnDemandPredictor(case.trees, case.costs, spy, early_stopping=True).run(len(case.X))
    full = OnDemandPredictor(case.trees, case.costs, Spy(case.X, had)).run(len(case.X))
    assert np.array_equal(stopping.predictions, full.predictions)
    whole = ~stopping.fell_back & ~full.fell_back
    assert (stopping.units <= full.units)[whole].all()
    assert all(set(stopping.bought[i]) <= set(full.bought[i]) for i in np.flatnonzero(whole))
    if had.all():
        assert set(stopping.once) <= set(full.once)
        assert len(spy.paid()) == len(set(spy.paid()))
    same = ~stopping.stopped_early & whole
    assert np.array_equal(stopping.probabilities[same], full.probabilities[same])


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(seed=SEEDS, lost=st.floats(0, 0.4))
def test_a_row_stops_at_once_when_it_is_decided_and_not_before(seed, lost):
    """Before each request for a row some completion of the open trees changes its class; when it has stopped, none does."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    had = rng.random(case.X.shape) >= lost
    trees, spy = case.trees, Spy(case.X, had)
    result = OnDemandPredictor(trees, case.costs, spy, early_stopping=True).run(len(case.X))

    def decided(i, seen):
        known, gone = {f for f in seen if had[i, f]}, {f for f in seen if not had[i, f]}
        ends = [possible_nodes(trees, int(r), case.X[i], known, gone) for r in trees.roots]
        spread = [(trees.value[e].min(axis=0), trees.value[e].max(axis=0)) for e in ends]
        low, high = sum(s[0] for s in spread), sum(s[1] for s in spread)
        k = int(np.argmax(low))
        return all(low[k] - high[j] > 1e-12 for j in range(len(low)) if j != k)

    for i in range(len(case.X)):
        seen: set[int] = set()
        for request in spy.requests:
            if i in request.positions:
                assert not decided(i, seen)
                seen |= set(request.columns.tolist())
        if result.stopped_early[i]:
            assert decided(i, seen)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, tolerance=st.floats(0, 2), lost=st.floats(0, 0.4))
def test_regression_stops_within_the_tolerance(seed, tolerance, lost):
    """A row's prediction is as near to the full walk's as promised, and a tolerance of 0 leaves it exact."""
    case, rng = random_case(seed, regression=True), np.random.default_rng(seed)
    tolerance *= float(np.abs(case.trees.value).max()) * float(rng.integers(0, 2))
    had = rng.random(case.X.shape) >= lost
    full = OnDemandPredictor(case.trees, case.costs, Spy(case.X, had)).run(len(case.X))
    near = OnDemandPredictor(case.trees, case.costs, Spy(case.X, had), tolerance=tolerance).run(len(case.X))
    assert (np.abs(near.predictions - full.predictions) <= tolerance).all()
    assert (near.units <= full.units).all()
    if tolerance == 0:
        assert not near.stopped_early.any()


def test_regression_by_hand():
    """Answers 0 or 2 and 10 or 12, guesses 1 and 11: at first the mean is 6 to within 1, after one tree 5.5 to within 1/2."""
    forest = forest_of(stump(0, (0,), (2,)), stump(1, (10,), (12,)), n_features=2, task="regression")
    for tolerance, bought in ((1.1, ()), (0.9, ("x0",)), (0.4, ("x0", "x1"))):
        result = OnDemandPredictor(forest, [1, 2], Spy(np.zeros((1, 2))), tolerance=tolerance).run(1)
        assert result.bought == (bought,)
        assert result.predictions[0] == {0: 6.0, 1: 5.5, 2: 5.0}[len(bought)]
        assert result.stopped_early[0] == (len(bought) < 2)
        assert result.probabilities is None


def test_by_hand():
    """Two trees of three agree for certain: the third is not asked. What is cheapest is paid for first."""
    forest = forest_of(*[stump(f, (1, 0), (0, 1)) for f in range(3)], n_features=3)
    for prices, bought in (([1, 2, 3], ("x0", "x1")), ([3, 2, 1], ("x2", "x1")), ([1, 0, 3], ("x1", "x0"))):
        result = OnDemandPredictor(forest, prices, Spy(np.zeros((1, 3))), early_stopping=True).run(1)
        assert result.bought == (bought,)
        assert (result.trees_finished[0], result.stopped_early[0], result.rounds) == (2, True, 2)
        assert result.probabilities[0].tolist() == [2.5 / 3, 0.5 / 3]  # the open tree counts with its root's own fractions


@looped(
    ("stumps", "prices", "first"),
    [
        # three trees that wait for a feature outweigh one that waits for a feature of a quarter of its price, not of a sixteenth
        ([stump(0, (1, 0), (0, 1))] + [stump(1, (1, 0), (0, 1))] * 3, [1, 4], "x1"),
        ([stump(0, (1, 0), (0, 1))] + [stump(1, (1, 0), (0, 1))] * 3, [1, 16], "x0"),
        # a split between 0.5 and 0.6 settles less than one between 0 and 1
        ([stump(0, (0.5, 0.5), (0.6, 0.4)), stump(1, (1, 0), (0, 1))], [1, 1], "x1"),
    ],
)
def test_what_settles_most_for_its_price_goes_first(stumps, prices, first):
    """Trees that wait, and how far apart their answers are, per price."""
    spy = Spy(np.zeros((1, 2)))
    OnDemandPredictor(forest_of(*stumps, n_features=2), prices, spy, early_stopping=True).run(1)
    assert spy.requests[0].items == (first,)


def test_bought_items_count_nothing_for_the_next_price():
    """Once the blood is drawn, what needs only blood besides is cheap."""
    costs = pm.CostItems.from_items({"a": 1, "b": 2, "c": 9, "blood": 10}, [["a", "blood"], ["b", "blood"], ["c"]])
    forest = forest_of(*[stump(f, (1, 0), (0, 1)) for f in (0, 0, 0, 0, 1, 2, 2)], n_features=3)
    spy = Spy(np.array([[0, 1, 1]]))
    OnDemandPredictor(forest, costs, spy, early_stopping=True).run(1)
    assert [r.items for r in spy.requests] == [("a", "blood")]  # 4 of 7 votes at 11 beat 2 at 9
    spy = Spy(np.array([[0, 1, 1]]))
    forest = forest_of(*[stump(f, (1, 0), (0, 1)) for f in (0, 0, 0, 1, 2, 2)], n_features=3)
    OnDemandPredictor(forest, costs, spy, early_stopping=True).run(1)
    assert [r.items for r in spy.requests] == [("a", "blood"), ("b",), ("c",)]


def test_a_tie_is_never_stopped_at():
    """Where the last tree can make a tie, which goes to the first class, the row goes on; argmax of the full sums decides."""
    forest = forest_of(stump(0, (0, 1), (1, 0)), stump(1, (1, 0), (0, 1)), n_features=2)
    for x in itertools.product([0, 1], repeat=2):
        result = OnDemandPredictor(forest, 1, Spy(np.array([x])), early_stopping=True).run(1)
        assert result.bought == (("x0", "x1"),)
        assert not result.stopped_early[0]
        assert result.predictions[0] == ("class 1" if x == (0, 1) else "class 0")


def test_a_lead_within_rounding_is_no_lead():
    """A lead that the forest's own floating-point sums may not show does not stop a row; one just above does."""
    lead = 2.0**-53
    for size, stopped in ((1, False), (1000, True)):
        fixed = stump(0, (0.5 + size * lead, 0.5), (0.5 + size * lead, 0.5), root=(0.5 + size * lead, 0.5))
        even = stump(1, (0.5, 0.5), (0.5, 0.5), root=(0.5, 0.5))
        result = OnDemandPredictor(forest_of(fixed, even, n_features=2), 1, Spy(np.zeros((1, 2))), early_stopping=True).run(1)
        assert result.stopped_early[0] == stopped


def test_what_is_known_below_an_open_split_counts():
    """A split whose two sides lead to the same class, by features that are known, is not asked about."""
    node, _ = stump(0, (1, 0), (0, 1))
    left, right = stump(1, (1, 0), (0, 1), root=(1, 0)), stump(1, (1, 0), (0, 1), root=(1, 0))
    node.left, node.right = left[0], right[0]
    forest = forest_of((node, [(1, 0), *left[1], *right[1]]), n_features=2)
    spy = Spy(np.zeros((1, 2)))
    result = OnDemandPredictor(forest, 1, spy, early_stopping=True).run(1, known={"x1": [0]})
    assert spy.calls == 0
    assert result.predictions[0] == "class 0"
    assert result.stopped_early[0]
