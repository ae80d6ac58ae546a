"""Forms in which values may come, fewer or more of them than were asked for, and bad ones."""

from __future__ import annotations

import json
import logging
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import prunemodels as pm
from prunemodels.on_demand import UNAVAILABLE, Request, from_table
from prunemodels.on_demand.answers import read
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.request import AcquisitionFailedError
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand.cases import forest_of, stump, votes

ROWS = pd.Index(["p", "q", "r"])
BOTH = Request(("g",), ("a", "b"), ROWS, Fraction(5), np.arange(3), np.arange(2), 7)
CELLS = np.array([[1, 2], [3, 4], [5, 6.5]])
FRAME = pd.DataFrame(CELLS, index=ROWS, columns=["a", "b"])


def whole(answer, request):
    """Values, and which could be had, of an answer that leaves nothing out."""
    given = read(answer, request)
    assert given.came.all()
    return given.values, given.had


@pytest.mark.parametrize(
    "answer",
    [
        CELLS,
        CELLS.tolist(),
        FRAME,
        FRAME.loc[["r", "p", "q"], ["b", "a"]],
        FRAME.convert_dtypes(),
        {"b": CELLS[:, 1], "a": [1, 3, 5]},
        {"a": FRAME["a"], "b": FRAME["b"][::-1]},
        CELLS.astype(object),
        [[Decimal(1), 2], [Fraction(3), 4], [5, "6.5"]],
        CELLS.astype(np.float16),
    ],
)
def test_all_forms_mean_the_same(answer):
    """Arrays, lists, tables in any order, mappings, and numbers of any kind."""
    values, had = whole(answer, BOTH)
    assert (values.dtype, had.dtype) == (np.float32, np.bool_)
    assert values.tolist() == CELLS.tolist()
    assert had.all()


@pytest.mark.parametrize(
    "answer",
    [
        [[1, UNAVAILABLE], [UNAVAILABLE, UNAVAILABLE], [5, 6.5]],
        np.ma.array(CELLS, mask=[[0, 1], [1, 1], [0, 0]]),
        {"a": [1, UNAVAILABLE, 5], "b": np.ma.array([2, 4, 6.5], mask=[1, 1, 0])},
        pd.DataFrame({"a": [1, UNAVAILABLE, 5], "b": [UNAVAILABLE, UNAVAILABLE, 6.5]}, index=ROWS),
        np.ma.array([[1, UNAVAILABLE], [0, UNAVAILABLE], [5, 6.5]], dtype=object, mask=[[0, 0], [1, 0], [0, 0]]),
    ],
)
def test_what_was_not_had(answer):
    """Marked by UNAVAILABLE or by a mask, cell by cell; nothing is left of a masked number."""
    values, had = whole(answer, BOTH)
    assert had.tolist() == [[True, False], [False, False], [True, True]]
    assert values.tolist() == [[1, 0], [0, 0], [5, 6.5]]


def test_nan_is_a_value():
    """NaN, None and NA were measured and are missing: had, and routed as missing values."""
    for answer in (
        [[np.nan, 2], [3, np.nan], [5, 6]],
        [[None, 2], [3, None], [5, 6]],
        pd.DataFrame({"a": pd.array([None, 3, 5], dtype="Int64"), "b": pd.array([2, pd.NA, 6], dtype="Float64")}, index=ROWS),
    ):
        values, had = whole(answer, BOTH)
        assert had.all()
        assert np.isnan(values).tolist() == [[True, False], [False, True], [False, False]]


REFUSED = [
    (CELLS[:2], r"it has shape \(2, 2\); give \(3, 2\)"),
    (CELLS.T, r"it has shape \(2, 3\); give \(3, 2\)"),
    ([1, 2, 3], r"it has shape \(3,\); give \(3, 2\)"),
    (None, r"it has shape \(\); give \(3, 2\)"),
    ([[1, 2], [3], [5, 6]], r"it is ragged .*; give shape \(3, 2\)"),
    ([[1, np.inf], [3, -np.inf], [5, np.inf]], "'b' of row 'p' is infinite as a float32"),
    ([[1e39, 2], [1e39, 4], [-1e39, 6]], "'a' of row 'p' is infinite as a float32"),
    ([[1, "few"], [3, "many"], [5, "none"]], "'b' of row 'p' is 'few', which is no number"),
    ([[1, 2], [3, [4]], [5, 6]], "ragged"),
    ({"a": [1, 2, 3], "b": [1, 2]}, r"'b' has shape \(2,\) for 3 rows"),
    ({"a": [1, 2, 3], "b": 5}, r"'b' has shape \(\) for 3 rows"),
    (FRAME["a"], r"it has shape \(3,\); give \(3, 2\)"),
    (FRAME.reset_index(drop=True), "the row 'p' is not in the index"),
    ({"a": FRAME["a"].set_axis([0, 1, 2]), "b": [1, 2, 3]}, "'a': the row 'p' is not in the index, which begins with 0"),
    (pd.concat([FRAME, FRAME[:1]]), "the row 'p' occurs twice"),
    (pd.concat([FRAME, FRAME[:1].set_axis(["s"])]), "the row 's' was not asked for"),
    # a date would become microseconds, a complex number would lose its imaginary part
    ({"a": np.array(["2020-01-01"] * 3, dtype="M8[D]"), "b": [1, 2, 3]}, r"holds dates \(datetime64\[D\]\); give numbers"),
    ({"a": np.array([1 + 2j] * 3), "b": [1, 2, 3]}, r"holds complex numbers \(complex128\); give real ones"),
]


@pytest.mark.parametrize(("answer", "message"), REFUSED)
def test_what_is_refused(answer, message):
    """Wrong shapes, rows and features that were not asked for, infinities and text are refused, naming row and feature."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        read(answer, BOTH)


def test_values_are_routed_as_float32():
    """A value just above a threshold that rounds onto it goes left, as in scikit-learn."""
    case = fitted("tree")
    threshold = case.forest.tree_.threshold[0]
    X = np.tile(case.X[0], (2, 1))
    X[:, case.forest.tree_.feature[0]] = threshold + 1e-12, np.nextafter(np.float32(threshold), np.float32(9))
    assert np.array_equal(OnDemandPredictor(case.forest, 1, lambda r: X[r.positions[:, None], r.columns]).run(2).probabilities,
                          case.forest.predict_proba(X))  # fmt: skip


@pytest.mark.parametrize(
    "rows", [["p", "q", "r"], ROWS, np.array(["p", "q", "r"]), pd.Series(["p", "q", "r"]), ("p", "q", "r"), np.int64(3)]
)
def test_rows_in_any_form(rows):
    """Lists, indices, arrays, Series, or a number."""
    result = OnDemandPredictor(fitted("tree").forest, 1, from_table(np.zeros((3, 5)))).run(rows)
    assert list(result.rows) == (["p", "q", "r"] if not isinstance(rows, np.integer) else [0, 1, 2])


PAIR_ROWS = pd.Index(["p", "q"])
TWO = Request(("g",), ("a", "b"), PAIR_ROWS, Fraction(5), np.arange(2), np.arange(2), 7)
NAMED = Request(("g",), ("a", "b"), PAIR_ROWS.rename("patient"), Fraction(5), np.arange(2), np.arange(2), 7)
PAIR = votes(2)
GROUPED = pm.CostItems.from_items({"g": 3, "blood": 4}, [["g", "blood"], ["g", "blood"]])


def test_columns_that_were_not_asked_for_are_dropped_with_a_note(caplog):
    """A mapping, a table and records may hold more; a message at level INFO names what is dropped."""
    more = {"a": [1, 2], "id": ["x", "y"], "b": [3, 4]}
    for answer in (more, pd.DataFrame(more, index=PAIR_ROWS), [{"a": 1, "id": "x", "b": 3}, {"a": 2, "b": 4}]):
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="prunemodels.on_demand"):
            assert read(answer, TWO).values.tolist() == [[1, 3], [2, 4]]
        assert [r.getMessage() for r in caplog.records] == [
            "request 7 (item 'g' for 2 rows): dropped what was not asked for: 'id'"
        ]
    with caplog.at_level(logging.INFO, logger="prunemodels.on_demand"):
        caplog.clear()
        read({"a": [1, 2], "b": [3, 4]}, TWO)
    assert not caplog.records


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (TWO, '[{"a": 1, "b": 3}, {"a": null, "b": 4}]'),
        (TWO, '[{"row": "q", "a": null, "b": 4}, {"row": "p", "a": 1, "b": 3}]'),
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
    given = read(answer, TWO)
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
        read(answer, TWO)


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


def test_a_request_of_one_row_takes_a_single_record():
    """A service that is asked about one row answers with one object, in which a cell may be UNAVAILABLE."""
    one = Request(("g",), ("a", "b"), PAIR_ROWS[:1], Fraction(5), np.arange(1), np.arange(2), 7)
    answer = read({"a": 2.5, "b": UNAVAILABLE, "more": [1, 2]}, one)
    assert (answer.values.tolist(), answer.had.tolist(), answer.came.all()) == ([[2.5, 0]], [[True, False]], True)
    with pytest.raises(pm.errors.InvalidInputError, match="the row 'p' is not in the index, which begins with 'r'"):
        read({"row": "r", "a": 1, "b": 2}, one)


rng = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {"age": rng.integers(20, 70, 120).astype(float), "job": rng.choice(["a", "b", "c"], 120), "debt": rng.exponential(2, 120)},
    index=[f"r{i}" for i in range(120)],
)
TABLE.loc[TABLE.index[::9], "debt"] = np.nan
ILL = ((TABLE["age"] > 40) ^ (TABLE["job"] == "a") ^ (TABLE["debt"] > 2)).to_numpy()
NUMBERS = TABLE[["age", "debt"]]
Model = tuple[Any, pd.DataFrame, int | None]  # fitted, the rows, and prices; cascades know theirs


def a_forest() -> Model:
    return RandomForestClassifier(5, random_state=0).fit(NUMBERS, ILL), NUMBERS, 1


def a_pipeline() -> Model:
    steps = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "debt"]), (OneHotEncoder(), ["job"])
    )
    return make_pipeline(steps, RandomForestClassifier(5, random_state=0)).fit(TABLE, ILL), TABLE, 1


def a_cascade() -> Model:
    return a_cascade_of(TABLE, ILL), TABLE, None


def a_cascade_of(table: pd.DataFrame, label: Any) -> Any:
    model = pm.cascades.prepared(RandomForestClassifier(5, random_state=0), "forest")
    stages = [(None, []), (model, ["age"]), (model, None)]
    return pm.CascadeClassifier(stages, 1, lam=0, cv=2, n_levels=3, stack=False, random_state=0).fit(table, label)


def a_cascade_of_numbers() -> Model:
    return a_cascade_of(NUMBERS, NUMBERS["age"] > 40), NUMBERS, None


def spoiled(table: pd.DataFrame, row: str, column: str, value: Any) -> pd.DataFrame:
    found = table.astype(object)
    found.loc[row, column] = value
    return found


MODELS = [a_forest, a_pipeline, a_cascade, a_cascade_of_numbers]


@pytest.mark.parametrize("value", ["n/a", np.inf, -np.inf])
@pytest.mark.parametrize("model", MODELS)
def test_one_bad_value_ends_no_other_row(model: Any, value: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Its row is predicted as if the value could not be had, and named; all others are predicted as on full data."""
    fitted, table, costs = model()
    good = pm.OnDemandPredictor(fitted, costs, from_table(table)).run(table.index)
    place = next(i for i, bought in enumerate(good.bought) if "age" in bought)
    bad = table.index[place]
    with caplog.at_level(logging.WARNING, logger="prunemodels.on_demand"):
        result = pm.OnDemandPredictor(fitted, costs, from_table(spoiled(table, bad, "age", value))).run(table.index)
    absent = spoiled(table, bad, "age", UNAVAILABLE)
    without = pm.OnDemandPredictor(fitted, costs, from_table(absent)).run(table.index)
    others = table.index != bad
    assert (result.predictions[others] == good.predictions[others]).all()
    assert result.predictions[place] == without.predictions[place]
    assert result.fell_back.tolist() == (~others).tolist()
    ((row, feature, why),) = result.refused
    assert (row, feature) == (bad, "age")
    assert str(value) in why or "infinite" in why
    assert "1 value refused" in repr(result)
    assert repr(bad) in caplog.text


@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_bad_value_is_asked_for_again(model: Any) -> None:
    """With `ask_again` the value is asked for once more, for its row alone, and nothing is refused if it then is a good one."""
    fitted, table, costs = model()
    asked: list[list[str]] = []

    def at_first_bad(request: Any) -> Any:
        asked.append(request.rows.tolist())
        source = spoiled(table, "r7", "age", "n/a") if request.attempt == 1 else table
        return source.loc[request.rows, list(request.features)]

    result = pm.OnDemandPredictor(fitted, costs, at_first_bad, ask_again=1).run(table.index)
    assert result.refused == ()
    assert ["r7"] in asked
    assert (result.predictions == fitted.predict(table)).all()


@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_column_in_which_nothing_will_do_is_refused(model: Any) -> None:
    """If every one of several values is bad, it is the supplier's form that is wrong: an error, and nothing is kept."""
    fitted, table, costs = model()
    wrong = table.assign(age="old").astype(object)
    with pytest.raises(pm.errors.PruneModelsError, match="old"):
        pm.OnDemandPredictor(fitted, costs, from_table(wrong)).run(table.index)


@pytest.mark.parametrize("model", [a_forest, a_pipeline, a_cascade])
def test_a_value_that_comes_late_is_taken(model: Any) -> None:
    """A row that stopped without a value goes on when its request brings it after all, and ends as on full data; it pays then."""
    fitted, table, costs = model()
    kept = []

    def not_today(request: Any) -> Any:
        if "age" in request.features:
            kept.append(request)
            return UNAVAILABLE
        return table.loc[request.rows, list(request.features)]

    walk = pm.OnDemandPredictor(fitted, costs, not_today).start(table.index[:30])
    early = walk.run()
    assert early.fell_back.all()
    for request in kept:
        walk.take(request, table.loc[request.rows, list(request.features)])
    walk.acquire = from_table(table)
    late = walk.run()
    assert not late.fell_back.any()
    assert (late.predictions == fitted.predict(table.iloc[:30])).all()
    assert late.mean_cost > early.mean_cost
    with pytest.raises(pm.errors.InvalidInputError, match="is not open in this walk"):
        pm.OnDemandPredictor(fitted, costs, not_today).start(table.index[:30]).take(kept[0], UNAVAILABLE)


def test_a_row_that_the_model_of_a_stage_refuses_is_named() -> None:
    """A category that no training row had passes as a word; the stage's encoder refuses it, and the result says which stage."""
    encoded = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"])), RandomForestClassifier(5, random_state=0))
    stages = [(None, []), (encoded, ["job"])]
    cascade = pm.CascadeClassifier(stages, 1, lam=0, cv=2, n_levels=3, stack=False, random_state=0).fit(
        TABLE, TABLE["job"] == "a"
    )
    result = pm.OnDemandPredictor(cascade, None, from_table(spoiled(TABLE, "r7", "job", "z"))).run(TABLE.index)
    assert [refused[:2] for refused in result.refused] == [("r7", "stage 1")]
    assert "z" in result.refused[0].why
    assert result.fell_back.sum() == 1
    assert result.finished.all()


def test_known_values_that_a_pipeline_refuses_are_named() -> None:
    """A word among numbers that were known from the start counts as unavailable, and its row alone falls back."""
    fitted, table, _ = a_pipeline()
    known = spoiled(table, "r7", "age", "n/a")[["age"]]
    result = pm.OnDemandPredictor(fitted, 1, from_table(table)).run(table.index, known=known)
    assert [refused[:2] for refused in result.refused] == [("r7", "age")]
    assert (result.predictions[table.index != "r7"] == fitted.predict(table)[table.index != "r7"]).all()
