"""Forms in which values may come, and what is refused."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from prunemodels.on_demand import UNAVAILABLE, Request, from_table
from prunemodels.on_demand.answers import read
from prunemodels.on_demand.errors import AcquisitionFailedError
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand.cases import forest_of, stump

ROWS = pd.Index(["p", "q", "r"])
BOTH = Request(("g",), ("a", "b"), ROWS, Fraction(5), np.arange(3), np.arange(2), 7)
ONE = Request(("a",), ("a",), ROWS, Fraction(5), np.arange(3), np.arange(1), 7)
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
        {"a": FRAME["a"], "b": FRAME["b"]},
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


GOOD = {"forest": "random forest, named features", "costs": 1, "acquire": from_table(np.zeros((3, 5)))}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"acquire": 3}, "acquire is 3; give a function that serves a Request; for a full table from_table"),
        ({"costs": [1, 2]}, "costs has 2 prices"),
        ({"costs": pm.CostItems.plain([1, 2])}, "costs has prices for 2 features, the forest was trained on 5"),
        ({"evaluation_cost": -1}, "evaluation_cost is -1"),
        ({"order": "best"}, "order is 'best'; give one of 'adaptive', 'forest', a sequence"),
        ({"order": [0, 1]}, "order is no permutation of the trees 0 to 2"),
        ({"order": [0, 1, 1]}, "order is no permutation"),
        ({"order": [0.0, 1.0, 2.0]}, r"order\[0\] is 0.0; give a whole number"),
        ({"threshold": 1.5}, "threshold is 1.5; give a number"),
        ({"forest": "regression tree", "threshold": 0.5}, "the model predicts numbers; a threshold is for two classes"),
        ({"max_rows": 0}, "max_rows is 0; give a whole number >= 1"),
        ({"forest": "regression tree", "early_stopping": True}, "early_stopping: .* give tolerance"),
        ({"forest": "regression tree", "tolerance": -1}, "tolerance is -1; give a number >= 0"),
        ({"forest": "regression tree", "tolerance": np.nan}, "tolerance is nan"),
    ],
)
def test_bad_options_are_refused(options, message):
    """Each says which argument, which value, and what to do."""
    given = {**GOOD, **options}
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        OnDemandPredictor(fitted(given.pop("forest")).forest, given.pop("costs"), given.pop("acquire"), **given)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["p", "q", "p"], "rows has 'p' twice"),
        ([], "rows is empty"),
        (0, "rows is empty"),
        (-3, "rows is empty"),
        (True, "rows is bool; give the rows' labels"),
        ("patient", "rows is str"),
        (2.0, "rows is float"),
        (np.zeros((2, 2)), "rows is ndarray"),
        (pd.DataFrame({"a": [1]}), "rows is DataFrame"),
        ({"p": 1}, "rows is dict"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    """Rows are distinct labels, or how many there are."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        OnDemandPredictor(fitted("tree").forest, 1, GOOD["acquire"]).run(rows)


@pytest.mark.parametrize(
    "rows", [["p", "q", "r"], ROWS, np.array(["p", "q", "r"]), pd.Series(["p", "q", "r"]), ("p", "q", "r"), np.int64(3)]
)
def test_rows_in_any_form(rows):
    """Lists, indices, arrays, Series, or a number."""
    result = OnDemandPredictor(fitted("tree").forest, 1, GOOD["acquire"]).run(rows)
    assert list(result.rows) == (["p", "q", "r"] if not isinstance(rows, np.integer) else [0, 1, 2])


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"z": [1, 2, 3]}, "known has 'z', the model has no such feature"),
        ({"a": [1, 2]}, r"known: 'a' has shape \(2,\) for 3 rows"),
        ({"a": [1, np.inf, 3]}, "known: 'a' of row 1 is infinite"),
        ([1, 2, 3], "known is list; give a mapping"),
        (pd.DataFrame({"a": [1, 2, 3]}, index=[5, 6, 7]), "known: its index differs from the rows"),
    ],
)
def test_bad_known_values_are_refused(known, message):
    """Features by name, one finite value or NaN a row."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        OnDemandPredictor(fitted(GOOD["forest"]).forest, 1, GOOD["acquire"]).start(3, known=known)


def test_questions_that_a_predictor_cannot_answer():
    """Probabilities of a regressor, or under early stopping, and a regressor's classes."""
    table = from_table(rows := np.zeros((2, 5)))
    with pytest.raises(pm.errors.InvalidInputError, match="early stopping leaves probabilities open"):
        OnDemandPredictor(fitted("tree").forest, 1, table, early_stopping=True).predict_proba(len(rows))
    regressor = OnDemandPredictor(fitted("regression tree").forest, 1, table)
    with pytest.raises(pm.errors.InvalidInputError, match="a regression forest has no probabilities"):
        regressor.predict_proba(2)
    with pytest.raises(AttributeError, match="no classes"):
        _ = regressor.classes_
    assert set(regressor.features) <= {"x0", "x1", "x2", "x3", "x4"}


@pytest.mark.parametrize("as_known", [False, True])
def test_series_in_a_mapping_are_looked_up_by_their_labels(as_known):
    """The values belong to the rows that the index names, in whatever order the rows stand; other labels are refused."""
    case = fitted("random forest")
    labels = [f"r{i}" for i in range(len(case.X))]
    table = pd.DataFrame(case.X, index=labels, columns=[f"x{i}" for i in range(case.X.shape[1])])
    names = OnDemandPredictor(case.forest, 1, from_table(case.X)).features
    shuffled = table.sample(frac=1, random_state=0)

    def run(given):
        mapping = {name: given[name] for name in names}
        if as_known:
            return OnDemandPredictor(case.forest, 1, lambda request: None).predict(labels, known=mapping)
        return OnDemandPredictor(
            case.forest, 1, lambda request: {name: given[name].loc[request.rows[::-1]] for name in request.features}
        ).predict(labels)

    expected = case.forest.predict(case.X)
    assert not np.array_equal(case.forest.predict(shuffled.to_numpy()), expected)
    assert np.array_equal(run(shuffled), expected)
    if as_known:
        with pytest.raises(pm.errors.InvalidInputError, match=r"known: 'x.*': the row 'r0' is not in the index"):
            run(shuffled.reset_index(drop=True))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.array(["2020-01-01"], dtype="datetime64[D]"), r"holds dates \(datetime64\[D\]\); give numbers"),
        (np.array([1 + 2j]), r"holds complex numbers \(complex128\); give real ones"),
    ],
)
def test_values_that_are_no_real_numbers_are_refused(values, message):
    """A date would become microseconds, a complex number would lose its imaginary part."""
    forest = forest_of(stump(0, (1, 0), (0, 1)), n_features=1)
    with pytest.raises(AcquisitionFailedError, match=message):
        OnDemandPredictor(forest, 1, lambda request: {request.features[0]: values}).predict(1)
