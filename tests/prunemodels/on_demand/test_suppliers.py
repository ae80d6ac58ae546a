"""Answers as suppliers give them: more columns than asked for, JSON records, and fewer values than asked for."""

from __future__ import annotations

import json
import logging
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import prunemodels as pm
from prunemodels.on_demand import UNAVAILABLE, Request
from prunemodels.on_demand.answers import read
from prunemodels.on_demand.errors import AcquisitionFailedError
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.on_demand.cases import forest_of, random_case, stump
from tests.prunemodels.on_demand.reference import Spy

ROWS = pd.Index(["p", "q"])
BOTH = Request(("g",), ("a", "b"), ROWS, Fraction(5), np.arange(2), np.arange(2), 7)
NAMED = Request(("g",), ("a", "b"), ROWS.rename("patient"), Fraction(5), np.arange(2), np.arange(2), 7)
PAIR = forest_of(stump(0, (1, 0), (0, 1)), stump(1, (1, 0), (0, 1)), n_features=2)
GROUPED = pm.CostItems.from_items({"g": 3, "blood": 4}, [["g", "blood"], ["g", "blood"]])


def test_columns_that_were_not_asked_for_are_dropped_with_a_note(caplog):
    """A mapping, a table and records may hold more; a message at level INFO names what is dropped."""
    more = {"a": [1, 2], "id": ["x", "y"], "b": [3, 4]}
    for answer in (more, pd.DataFrame(more, index=ROWS), [{"a": 1, "id": "x", "b": 3}, {"a": 2, "b": 4}]):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="prunemodels.on_demand"):
            assert read(answer, BOTH).values.tolist() == [[1, 3], [2, 4]]
        assert [r.getMessage() for r in caplog.records] == [
            "request 7 (item 'g' for 2 rows): dropped what was not asked for: 'id'"
        ]
    with caplog.at_level(logging.INFO, logger="prunemodels.on_demand"):
        caplog.clear()
        read({"a": [1, 2], "b": [3, 4]}, BOTH)
    assert not caplog.records


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (BOTH, '[{"a": 1, "b": 3}, {"a": null, "b": 4}]'),
        (BOTH, '[{"row": "q", "a": null, "b": 4}, {"row": "p", "a": 1, "b": 3}]'),
        (NAMED, '[{"patient": "q", "a": null, "b": 4}, {"patient": "p", "a": 1, "b": 3}]'),
    ],
)
def test_json_records(request_, text):
    """In the order of the rows, or with the rows' labels under the index's name or "row"; null is a measured missing value."""
    answer = read(json.loads(text), request_)
    assert answer.came.all()
    assert answer.had.all()
    np.testing.assert_array_equal(answer.values, [[1, 3], [np.nan, 4]])


@pytest.mark.parametrize(
    ("answer", "came"),
    [
        ({"a": [1, 2]}, [[1, 0], [1, 0]]),
        (pd.DataFrame({"a": [2.0], "b": [4]}, index=["q"]), [[0, 0], [1, 1]]),
        ({"a": pd.Series([2.0], index=["q"]), "b": [3, 4]}, [[0, 1], [1, 1]]),
        ([{"row": "q", "b": 4}], [[0, 0], [0, 1]]),
        ([{"a": 1}, {"b": 4}], [[1, 0], [0, 1]]),
        ([], [[0, 0], [0, 0]]),
        ({}, [[0, 0], [0, 0]]),
    ],
)
def test_what_an_answer_leaves_out_has_not_come(answer, came):
    """Absent columns, absent rows of labelled tables, Series and records, and absent keys of records."""
    given = read(answer, BOTH)
    assert given.came.tolist() == np.array(came, dtype=bool).tolist()
    assert np.array_equal(given.had, given.came)
    full = np.array([[1, 3], [2, 4]])
    assert np.array_equal(given.values, np.where(given.came, full, 0))


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ([{"a": 1, "b": 3}], "there are 1 records for 2 rows; give one for each, or the rows' labels under 'row'"),
        ([{"row": "p", "a": 1}, {"a": 2}], "1 of 2 records have the key 'row', which names their row; give it in all"),
        ([{"row": "p"}, {"row": "p"}], "the row 'p' occurs twice"),
        ([{"row": "p", "a": 1}, {"row": "s", "a": 1}], "the row 's' was not asked for"),
        ([{"row": ["p"], "a": 1}], r"a record has \['p'\] under 'row'; give the label of its row"),
        ([{"a": 1, "b": "many"}, {"a": 1, "b": "few"}], "'b' of row 'p' is 'many', which is no number"),
        ([{"a": 1, "b": [3]}, {"a": 1, "b": [2]}], r"'b' of row 'p' is \[3\], which is no number"),
        ([{"a": 1, "b": np.inf}, {"a": 1, "b": np.inf}], "'b' of row 'p' is infinite"),
    ],
)
def test_records_that_are_refused(answer, message):
    """Labels that are missing, twice or strange, and values that are no numbers."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        read(answer, BOTH)


def test_an_incomplete_answer_by_hand():
    """Two features need the same two items. Only x0 of row p comes: p has paid both items, q nothing, and the error names what
    is absent. Going on asks p for x1 without any item, and q for what it was asked before.
    """
    asked, answers = [], iter([[{"row": "p", "x0": 1.0}], {"x1": [1.0]}, [{"row": "q", "x0": 0.0, "x1": 0.0}]])

    def acquire(request):
        asked.append((request.items, request.features, list(request.rows), float(request.price), request.attempt))
        return next(answers)

    with pytest.raises(AcquisitionFailedError, match="is incomplete: 'x0', 'x1' did not come for 2 rows, 'p', 'q'") as caught:
        OnDemandPredictor(PAIR, GROUPED, acquire).run(["p", "q"])
    walk = caught.value.walk
    assert walk.result().bought == (("g", "blood"), ())
    assert walk.run().bought == (("g", "blood"), ("g", "blood"))
    assert asked == [
        (("g", "blood"), ("x0", "x1"), ["p", "q"], 7.0, 1),
        ((), ("x1",), ["p"], 0.0, 1),
        (("g", "blood"), ("x0", "x1"), ["q"], 7.0, 1),
    ]
    assert walk.result().predictions.tolist() == ["class 1", "class 0"]


def test_what_came_decides_what_the_rest_must_pay():
    """x1 comes, x0 does not: blood and b are paid; the request for the rest names a alone."""
    trees, asked = forest_of(stump(0, (1, 0), (0, 1)), stump(1, (1, 0), (0, 1)), n_features=2), []
    both = pm.CostItems.from_items({"a": 1, "blood": 4}, [["a", "blood"], ["blood"]])

    def acquire(request):
        asked.append((request.items, request.features, request.attempt))
        return {"x1": [1.0]} if len(asked) == 1 else {"x0": [1.0]}

    result = OnDemandPredictor(trees, both, acquire, ask_again=1).run(["p"])
    assert asked == [(("a", "blood"), ("x0", "x1"), 1), (("a",), ("x0",), 2)]
    assert (result.exact_cost, result.bought, result.requests) == ((5,), (("blood", "a"),), 2)


def test_items_paid_once_are_named_once_in_what_remains():
    """The licence is paid by the first answer that brings something, and named by no later request."""
    licence = pm.CostItems.from_items({"licence": 9, "a": 1}, [["licence", "a"], ["a"]], once=["licence"])
    asked = []

    def acquire(request):
        asked.append((request.items, list(request.rows)))
        return [{"row": label, "x0": 1.0, "x1": 1.0} for label in request.rows[-1:]]  # one row at a time

    result = OnDemandPredictor(PAIR, licence, acquire, ask_again=3).run(["p", "q", "r"])
    assert asked == [(("licence", "a"), ["p", "q", "r"]), (("a",), ["p", "q"]), (("a",), ["p"])]
    assert (result.once, result.exact_cost, result.once_cost) == (("licence",), (1, 1, 1), 9)


def test_what_never_comes_may_count_as_unavailable():
    """With absent="unavailable" the row falls back, after having been asked for as often as allowed; it is not paid."""
    spy = []

    def acquire(request):
        spy.append((request.features, request.attempt))
        return {}

    result = OnDemandPredictor(PAIR, [3, 4], acquire, ask_again=1, absent="unavailable").run(1)
    assert spy == [(("x0",), 1), (("x1",), 1), (("x0",), 2), (("x1",), 2)]
    assert (result.fell_back.all(), result.exact_cost, result.finished.all()) == (True, (0,), True)
    with pytest.raises(AcquisitionFailedError, match="'x0' did not come for 1 row, 0"):
        OnDemandPredictor(PAIR, [3, 4], acquire, ask_again=1).run(1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), stops=st.booleans())
def test_however_answers_are_torn_the_walk_ends_the_same(seed, stops):
    """Answers that leave out random rows and columns end in the same predictions and costs, and no cell is delivered twice."""
    case, rng = random_case(seed), np.random.default_rng(seed)
    options = {"evaluation_cost": case.evaluation, "early_stopping": stops}
    expected = OnDemandPredictor(case.trees, case.costs, Spy(case.X), **options).run(len(case.X))
    delivered: list[tuple[int, str]] = []

    def torn(request):
        records = []
        for label, i in zip(request.rows, request.positions, strict=True):
            record = {n: case.X[i, f] for n, f in zip(request.features, request.columns, strict=True) if rng.random() < 0.6}
            delivered.extend((int(i), name) for name in record)
            records.append({"row": label} | record)
        return records

    result = OnDemandPredictor(case.trees, case.costs, torn, ask_again=200, **options).run(len(case.X))
    assert len(delivered) == len(set(delivered))
    assert np.array_equal(result.predictions, expected.predictions)
    assert np.array_equal(result.units, expected.units)
    assert result.exact_mean_cost == expected.exact_mean_cost


def test_a_request_of_one_row_takes_a_single_record():
    """A service that is asked about one row answers with one object, in which a cell may be UNAVAILABLE."""
    one = Request(("g",), ("a", "b"), ROWS[:1], Fraction(5), np.arange(1), np.arange(2), 7)
    answer = read({"a": 2.5, "b": UNAVAILABLE, "more": [1, 2]}, one)
    assert (answer.values.tolist(), answer.had.tolist(), answer.came.all()) == ([[2.5, 0]], [[True, False]], True)
    with pytest.raises(pm.errors.InvalidInputError, match="the row 'p' is not in the index, which begins with 'r'"):
        read({"row": "r", "a": 1, "b": 2}, one)
