"""Features of rows of which only some raw columns are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

from formulations.errors import InvalidInputError
from prunemodels.models.columns import trace_pipeline
from tests.prunemodels.models.columns.tables import WORDS, raw_table
from tests.prunemodels.models.columns.test_tracing import RATIO, STEPS, fitted

X, y = raw_table()


def cells() -> Any:
    """The raw table as values of any type."""
    return X.to_numpy(dtype=object)


@pytest.mark.parametrize("name", [name for name in STEPS if name != "any transformer of one column"])
def test_what_is_known_is_as_on_the_whole_table(name: str) -> None:
    """A feature is known where its raw columns are, and then it has the value that the pipeline computes from whole rows."""
    pipeline = fitted(STEPS[name])
    traced = trace_pipeline(pipeline)
    assert traced is not None
    whole = np.asarray(traced.features(X).toarray() if hasattr(traced.features(X), "toarray") else traced.features(X))
    rng = np.random.default_rng(3)
    for share in (0.0, 0.3, 0.8, 1.0):
        known = rng.random(X.shape) < share
        found, done = traced.features_known(np.where(known, cells(), None), known)
        for f, columns in enumerate(traced.sources):
            assert (done[:, f] == known[:, list(columns)].all(axis=1)).all()
        np.testing.assert_allclose(found[done], whole.astype(np.float32)[done], rtol=1e-6)


def test_a_single_row_of_which_one_column_is_known() -> None:
    """No other row is there to lend a value: an encoder is given one of its categories, and refuses nothing."""
    pipeline = fitted(make_column_transformer((OneHotEncoder(), WORDS), (StandardScaler(), ["age", "debt"])))
    traced = trace_pipeline(pipeline)
    assert traced is not None
    known = np.zeros((1, 6), dtype=bool)
    known[0, [3, 5]] = True  # job and debt
    found, done = traced.features_known(np.where(known, cells()[:1], None), known)
    assert done[0].tolist() == [False] * 3 + [True] * 4 + [False, True]
    assert found[0, 3:7].sum() == 1


def test_a_step_runs_only_on_rows_for_which_it_writes_something() -> None:
    """A function that would fail on a gap is not called before all that it reads is known."""
    calls = []

    def ratio(table: Any) -> Any:
        calls.append(len(table))
        return (table["debt"] / table["score"]).to_frame()

    pipeline = fitted(make_column_transformer((FunctionTransformer(ratio), ["debt", "score"])))
    pipeline[0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    traced = trace_pipeline(pipeline)
    assert traced is not None
    known = np.ones((3, 6), dtype=bool)
    known[0, 4] = known[2, 5] = False
    calls.clear()
    found, done = traced.features_known(np.where(known, cells()[:3], None), known)
    assert calls == [1]
    assert done.ravel().tolist() == [False, True, False]
    assert found[1, 0] == np.float32(X["debt"][1] / X["score"][1])


def test_a_value_that_a_step_refuses() -> None:
    """The message names the step, and what the step said."""
    traced = trace_pipeline(fitted(make_column_transformer((OneHotEncoder(), WORDS))))
    assert traced is not None
    rows = cells()[:2]
    rows[1, 1] = "Paris"
    with pytest.raises(InvalidInputError, match=r"'columntransformer\.onehotencoder' of the pipeline refuses rows \(Found"):
        traced.features_known(rows, np.ones((2, 6), dtype=bool))
    with pytest.raises(InvalidInputError, match=r"X: the step 'columntransformer' of the pipeline refuses the rows: Found"):
        traced.features(X.assign(city="Paris"))


def test_infinite_features_are_refused() -> None:
    """scikit-learn's trees refuse them too."""
    pipeline = fitted(make_pipeline(make_column_transformer((RATIO, ["debt", "score"]))))
    pipeline[0][0].named_transformers_["functiontransformer"].made_from_ = [["debt", "score"]]
    traced = trace_pipeline(pipeline)
    assert traced is not None
    rows = cells()[:1]
    rows[0, 4] = 0.0
    with pytest.raises(InvalidInputError, match="column 0 is infinite"):
        traced.features_known(rows, np.ones((1, 6), dtype=bool))
