"""The rows that fitted estimators take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from prunemodels.models.labelled_samples import _plain_rows


class Trained(BaseEstimator):  # type: ignore[misc]
    """What the check of rows reads of a fitted estimator."""

    def __init__(self, allow_nan: bool = False, names: list[str] | None = None) -> None:
        self.allow_nan, self.names, self.n_features_in_ = allow_nan, names, 2
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.allow_nan
        return tags


NUMBERS = np.array([[1.5, 2**60 + 1], [0.1, -3]])
PLAIN: list[tuple[Any, bool]] = [
    (NUMBERS, False),
    (NUMBERS.astype(np.float32)[:1], False),
    (NUMBERS.astype(np.int64), False),
    (np.asfortranarray(NUMBERS), False),
    (pd.DataFrame(NUMBERS, columns=["a", "b"]), False),
    (pd.DataFrame({"a": [1.5], "b": [2**60 + 1]}), False),
    (pd.DataFrame({"a": np.array([2**60 + 1]), "b": np.array([7], dtype=np.uint8)}), False),
    (np.array([[np.nan, 1.0]]), True),
]


def test_rows_of_numbers_are_those_of_the_check_of_scikit_learn() -> None:
    """Arrays, tables of one type and of several, whole numbers that no double holds, and missing values that are allowed."""
    for X, gaps in PLAIN:
        estimator = Trained(gaps, ["a", "b"] if isinstance(X, pd.DataFrame) else None)
        found = _plain_rows(estimator, X)
        expected = validate_data(estimator, X, reset=False, dtype=np.float32, ensure_all_finite="allow-nan" if gaps else True)
        assert found is not None
        assert found.dtype == np.float32
        assert found.flags.f_contiguous == expected.flags.f_contiguous
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("names", "X"),
    [
        (None, np.array([[np.nan, 1.0]])),
        (None, np.array([[np.inf, 1.0]])),
        (None, np.array([[1e300, 1.0]])),
        (None, np.array([["1", "2"]])),
        (None, np.ones((1, 3))),
        (None, np.ones((0, 2))),
        (None, np.ones(2)),
        (None, [[1.0, 2.0]]),
        (None, pd.DataFrame({"a": [1.0], "b": [2.0]})),
        (["a", "b"], np.ones((1, 2))),
        (["a", "b"], pd.DataFrame({"b": [1.0], "a": [2.0]})),
        (["a", "b"], pd.DataFrame({"a": [1.0]})),
        (["a", "b"], pd.DataFrame({"a": [1.0], "b": [True]})),
        (["a", "b"], pd.DataFrame({"a": [1.0], "b": pd.array([2], dtype="Int64")})),
    ],
)
def test_other_rows_are_left_to_the_check_of_scikit_learn(names: list[str] | None, X: Any) -> None:
    """What it converts, warns of or refuses: gaps, infinite and too large numbers, words, shapes, names and types."""
    assert _plain_rows(Trained(names=names), X) is None
