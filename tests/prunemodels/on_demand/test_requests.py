"""What is asked for, in how few requests, what these cost, and what a row and a run may pay."""

from __future__ import annotations

import asyncio
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.on_demand import from_table
from prunemodels.on_demand.answers import Answer
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.instances import Node, ensemble_of
from tests.prunemodels.forest_kinds import rows
from tests.prunemodels.on_demand.cases import SEEDS, Spy, forest_of, random_case, stump, with_values

THYROID = pm.CostItems.from_items(
    {"TT4": 12.41, "T4U": 9.31, "blood": 2.1, "age": 1}, [["TT4", "blood"], ["T4U", "blood"], ["TT4", "T4U", "blood"], ["age"]]
)


def test_a_discount_by_hand():
    """Blood is drawn with the first test, the second goes without, and what is computed from both is asked for with the last."""
    forest = forest_of(*[stump(f, (1, 0), (0, 1)) for f in range(4)], n_features=4)
    spy = Spy(np.zeros((2, 4)))
    result = OnDemandPredictor(forest, THYROID, spy).run(2)
    assert [(r.items, r.features, r.price) for r in spy.requests] == [
        (("TT4", "blood"), ("x0",), Fraction("14.51")),
        (("age",), ("x3",), Fraction(1)),  # of its own: in the same round
        (("T4U",), ("x1", "x2"), Fraction("9.31")),
    ]
    assert [r.number for r in spy.requests] == [0, 1, 2]
    assert (result.rounds, result.requests) == (2, 3)
    assert result.bought == (("TT4", "blood", "age", "T4U"),) * 2
    assert result.exact_cost == (Fraction("24.82"),) * 2


def test_what_is_computed_from_paid_items_costs_nothing_more():
    """If two purchases of a round complete a third feature, it is asked for afterwards without any item."""
    costs = pm.CostItems.from_items({"a": 1, "b": 2}, [["a"], ["b"], ["a", "b"]])
    spy = Spy(np.zeros((1, 3)))
    result = OnDemandPredictor(forest_of(*[stump(f, (1, 0), (0, 1)) for f in range(3)], n_features=3), costs, spy).run(1)
    assert [(r.items, r.features) for r in spy.requests] == [(("a",), ("x0",)), (("b",), ("x1",)), ((), ("x2",))]
    assert result.exact_cost == (3,)


def test_a_group_comes_in_one_request():
    """Rows that wait for different features of a group are asked for together, and get all of it that some split tests."""
    costs = pm.CostItems.grouped(["image", "image", "image", "lab"], {"image": 5, "lab": 20})
    node, values = stump(3, (1, 0), (0, 1))
    deeper = stump(0, (1, 0), (0, 1)), stump(1, (0, 1), (1, 0))
    node.left, node.right = deeper[0][0], deeper[1][0]
    forest = forest_of((node, [values[0], *deeper[0][1], *deeper[1][1]]), n_features=4)
    spy = Spy(np.array([[0, 0, 0, 0], [0, 0, 0, 1]]))  # the first row waits for x0, the second for x1
    OnDemandPredictor(forest, costs, spy).run(["p", "q"])
    assert [(r.items, r.features, list(r.rows)) for r in spy.requests] == [
        (("lab",), ("x3",), ["p", "q"]),
        (("image",), ("x0", "x1"), ["p", "q"]),
    ]


def test_a_licence_is_named_once():
    """What is paid once for all rows stands in the first request that needs it, and in no row's purchases."""
    costs = pm.CostItems.from_items({"a": 1, "licence": 900, "b": 2}, [["a", "licence"], ["b", "licence"]], once=["licence"])
    spy = Spy(np.array([[0, 0], [1, 0]]))
    node, values = stump(0, (1, 0), (0, 1))
    below = stump(1, (1, 0), (0, 1))
    node.left = below[0]
    forest = forest_of((node, [values[0], *below[1], values[2]]), n_features=2)
    result = OnDemandPredictor(forest, costs, spy).run(2)
    assert [r.items for r in spy.requests] == [("a", "licence"), ("b",)]
    assert [r.price for r in spy.requests] == [1, 2]
    assert result.once == ("licence",)
    assert result.once_cost == 900
    assert result.bought == (("a", "b"), ("a",))
    assert result.exact_mean_cost == 900 + Fraction(4, 2)


def test_a_licence_is_named_once_in_a_round():
    """Two requests of the same round that need it: the first names it; several requests of few rows likewise."""
    costs = pm.CostItems.from_items({"a": 1, "licence": 9}, [["a", "licence"]], once=["licence"])
    spy = Spy(np.zeros((5, 1)))
    OnDemandPredictor(forest_of(stump(0, (1, 0), (0, 1)), n_features=1), costs, spy, max_rows=2).run(5)
    assert [(r.items, r.positions.tolist()) for r in spy.requests] == [
        (("a", "licence"), [0, 1]),
        (("a",), [2, 3]),
        (("a",), [4]),
    ]


def test_known_features_cost_nothing():
    """What is at hand is not asked for; NaN is known, a masked cell is not; columns that no split tests are ignored."""
    forest = forest_of(stump(0, (1, 0), (0, 1)), stump(1, (1, 0), (0, 1)), n_features=3)
    spy = Spy(np.array([[1.0, 1, 0], [1, 1, 0]]))
    known = {"x0": np.ma.array([0.0, 9], mask=[False, True]), "x1": [np.nan, np.nan], "x2": [5, 5]}
    result = OnDemandPredictor(forest, [3, 4, 5], spy).run(2, known=known)
    assert [(r.items, r.positions.tolist()) for r in spy.requests] == [(("x0",), [1])]
    assert result.exact_cost == (0, 3)
    assert result.probabilities.tolist() == [[0.5, 0.5], [0.0, 1.0]]  # NaN goes right: missing_left is False


def test_from_table_serves_by_label_and_by_place():
    """Tables of pandas are looked up by label, others by position; polars tables too."""
    polars = pytest.importorskip("polars")
    X = rows()
    labels = np.random.default_rng(0).permutation(len(X)) + 1000
    frame = pd.DataFrame(X, index=labels, columns=list("abcde"))
    y = (X[:, 0] > 0).astype(int)
    forest = RandomForestClassifier(3, random_state=0).fit(frame, y)
    some = labels[10:40]
    by_label = OnDemandPredictor(forest, 1, from_table(frame)).run(some)
    assert np.array_equal(by_label.predictions, forest.predict(frame.loc[some]))
    by_place = OnDemandPredictor(forest, 1, from_table(X[10:40])).run(some)
    of_polars = OnDemandPredictor(forest, 1, from_table(polars.DataFrame(X[10:40], schema=list("abcde")))).run(30)
    assert np.array_equal(by_place.predictions, by_label.predictions)
    assert np.array_equal(of_polars.predictions, by_label.predictions)


X = pd.DataFrame([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]], columns=["x0", "x1", "x2"], index=["p", "q"])
PRICES = pm.CostItems.plain([1, 2, 0])
THREE = forest_of(*[stump(f, (1, 0), (0, 1), root=(0.75, 0.25)) for f in range(3)], n_features=3)


def test_a_row_that_cannot_pay_all_buys_what_fits():
    """Prices 3, 4, 5 and a cap of 8: together 12 is too much, so one at a time: equal trees settle most per price at x0, then x1
    (7 paid); x2 is out of reach, and its tree answers with its root.
    """
    spy = Spy(np.ones((1, 3)))
    result = OnDemandPredictor(THREE, [3, 4, 5], spy, max_cost=8).run(1)
    assert [r.items for r in spy.requests] == [("x0",), ("x1",)]
    assert (result.exact_cost, result.capped.tolist(), result.finished.tolist()) == ((7,), [True], [True])
    assert result.probabilities.tolist() == [[0.25, 0.75]]  # 0.75, and twice class 1
    assert (result.trees_finished.tolist(), result.fell_back.any()) == ([2], False)
    assert "1 capped" in repr(result)
    free = OnDemandPredictor(THREE, [3, 4, 5], Spy(np.ones((1, 3))), max_cost=12).run(1)
    assert (free.exact_cost, free.capped.tolist(), free.requests) == ((12,), [False], 3)


def test_evaluation_counts_in_a_rows_cap():
    """A split costs 1 to pass. x0 at 3 needs 4 in all; a cap of 3 leaves it out of reach, although its price would fit. Of two
    trees that share a bought feature, a cap of 4 lets the row pass one.
    """
    one = forest_of(stump(0, (1, 0), (0, 1)), n_features=1)
    assert OnDemandPredictor(one, 3, Spy(np.ones((1, 1))), evaluation_cost=1, max_cost=3).run(1).exact_cost == (0,)
    two = forest_of(stump(0, (1, 0), (0, 1)), stump(0, (1, 0), (0, 1)), n_features=1)
    result = OnDemandPredictor(two, 3, Spy(np.ones((1, 1))), evaluation_cost=1, max_cost=4).run(1)
    assert (result.exact_cost, result.trees_finished.tolist(), result.capped.tolist()) == ((4,), [1], [True])


def test_a_shared_item_stays_in_reach():
    """Blood 4 and two tests at 1: a cap of 6 pays for both, since the second no longer pays blood."""
    trees = forest_of(stump(0, (1, 0), (0, 1)), stump(1, (1, 0), (0, 1)), n_features=2)
    blood = pm.CostItems.from_items({"a": 1, "b": 1, "blood": 4}, [["a", "blood"], ["b", "blood"]])
    result = OnDemandPredictor(trees, blood, Spy(np.ones((1, 2))), max_cost=6).run(1)
    assert (result.exact_cost, result.capped.tolist()) == ((6,), [False])
    assert OnDemandPredictor(trees, blood, Spy(np.ones((1, 2))), max_cost=5).run(1).exact_cost == (5,)


def test_a_row_that_only_the_cap_decides_is_capped():
    """A tree asks for x0 at 1, then for x1 at 50. With a cap of 20 its splits on x1 answer, and both say class 0: whatever x0 is,
    so nothing is bought. The tree waits for x0, which could be paid; the row is capped all the same, since x1 could say class 1.
    """
    below = [Node(0, 1, 0.5, Node(0), Node(0)) for _ in range(2)]
    bare, _ = ensemble_of([Node(0, 0, 0.5, *below)], 2)
    value = np.array([[0.9, 0.1], [0.9, 0.1], [1, 0], [0, 1], [0.9, 0.1], [1, 0], [0, 1]])  # in preorder
    trees = with_values(bare, value, "classification")
    result = OnDemandPredictor(trees, [1, 50], Spy(np.ones((1, 2))), early_stopping=True, max_cost=20).run(1)
    assert (result.exact_cost, result.predictions.tolist()) == ((0,), ["class 0"])
    assert (result.capped.tolist(), result.stopped_early.tolist()) == ([True], [False])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(seed=SEEDS, cap=st.integers(0, 40), stops=st.booleans(), regression=st.booleans())
def test_no_row_of_a_forest_exceeds_its_cap(seed, cap, stops, regression):
    """Who needs no more than the cap is served as without it; nobody exceeds it; who is capped could not go on."""
    case = random_case(seed, regression=regression)
    options = {"evaluation_cost": case.evaluation}
    if stops:
        options |= {"tolerance": 0.1} if regression else {"early_stopping": True}
    free = OnDemandPredictor(case.trees, case.costs, Spy(case.X), **options).run(len(case.X))
    most = Fraction(cap, 30) * max(free.exact_cost)
    spy = Spy(case.X)
    result = OnDemandPredictor(case.trees, case.costs, spy, max_cost=most, **options).run(len(case.X))
    assert all(c <= most for c in result.exact_cost)
    assert result.finished.all()
    assert not (result.capped & result.stopped_early).any()
    assert len(spy.asked()) == len(set(spy.asked()))
    within = np.array([c <= most for c in free.exact_cost])
    if not stops:
        assert np.array_equal(result.capped, ~within)
        assert np.array_equal(result.predictions[within], free.predictions[within])
        assert np.array_equal(result.units[within], free.units[within])
    whole = OnDemandPredictor(case.trees, case.costs, Spy(case.X)).run(len(case.X)).predictions
    served = ~result.capped
    if regression:
        assert np.abs(result.predictions - whole)[served].max(initial=0) <= 0.1 * stops + 1e-9
    else:
        assert np.array_equal(result.predictions[served], whole[served])


def test_a_run_stops_before_the_request_that_would_exceed_its_limit():
    """Two rows at 3, 4, 5: 6 and 8 make 14, so a limit of 20 stops before the third request; a limit of 24 goes on with it."""
    spy = Spy(np.ones((2, 3)))
    walk = OnDemandPredictor(THREE, [3, 4, 5], spy).start(2)
    result = walk.run(max_total_cost=20)
    assert ([r.items for r in spy.requests], result.exact_cost) == ([("x0",), ("x1",)], (7, 7))
    assert (result.finished.any(), walk.finished, result.requests) == (False, False, 2)
    assert walk.run(max_total_cost=20).requests == 2
    assert walk.run(max_total_cost=24).finished.all()
    assert [r.items for r in spy.requests] == [("x0",), ("x1",), ("x2",)]


def test_a_limit_is_about_what_was_paid():
    """What could not be had is not paid, so the run goes on; and an item paid once for all rows counts once."""
    had = np.array([[False, True, True]] * 2)
    assert OnDemandPredictor(THREE, [3, 4, 5], Spy(np.ones((2, 3)), had)).run(2, max_total_cost=18).finished.all()
    licence = pm.CostItems.from_items(
        {"licence": 9, "a": 1, "b": 1}, [["licence", "a"], ["licence", "b"], ["b"]], once=["licence"]
    )
    for most, finished in ((12, False), (13, True)):  # 9 + 2 rows (1 + 1)
        assert OnDemandPredictor(THREE, licence, Spy(np.ones((2, 3)))).run(2, max_total_cost=most).finished.all() == finished


@pytest.mark.parametrize("limit", [None, 1])
def test_requests_in_flight_count_in_full(limit):
    """Async: 6 + 8 are reserved, the third request is not begun, and a higher limit goes on without asking again."""
    spy = Spy(np.ones((2, 3)))

    async def acquire(request):
        await asyncio.sleep(0)
        return spy(request)

    walk = OnDemandPredictor(THREE, [3, 4, 5], acquire).start(2)
    assert asyncio.run(walk.run_async(limit, max_total_cost=20)).exact_cost == (7, 7)
    assert asyncio.run(walk.run_async(limit, max_total_cost=24)).exact_cost == (12, 12)
    assert [r.items for r in spy.requests] == [("x0",), ("x1",), ("x2",)]


@pytest.mark.parametrize("run", [lambda walk: walk.run(max_total_cost=13), lambda w: asyncio.run(w.run_async(max_total_cost=13))])
def test_an_answer_that_waited_to_be_entered_counts(run):
    """Ctrl-C struck after the answer for x0 had come, at 6 for two rows: a limit of 13 leaves 7, and x1 at 8 is not asked."""
    spy = Spy(np.ones((2, 3)))
    walk = OnDemandPredictor(THREE, [3, 4, 5], spy).start(2)
    had = np.ones((2, 1), dtype=bool)
    walk._arrived.append((walk.next_requests()[0], Answer(np.ones((2, 1), np.float32), had, had), []))
    assert run(walk).exact_cost == (3, 3)
    assert spy.calls == 0
