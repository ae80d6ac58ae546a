"""Data sets with prices: heart's patients and what their tests cost; and a small forest on ten measurements of 569 tumours."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from formulations.errors import BrokenFileError
from prunemodels.data_files import find_dataset, read_table

HEART_PRICES = """\
feature,cost,discount_cost,shared_group
age,1,,
sex,1,,
cp,1,,
trestbps,1,,
chol,7.27,5.17,blood test
fbs,5.20,3.10,blood test
restecg,15.50,,
thalach,102.90,1,thallium scan
exang,87.30,1,exercise ECG
oldpeak,87.30,1,exercise ECG
slope,87.30,1,exercise ECG
ca,100.90,,
thal,102.90,1,thallium scan
"""
"""Turney's prices of the heart tests, in Canadian dollars (*Cost-sensitive classification*, 1995, from Ontario's fee schedule).

`discount_cost` is the price once another test of the group was taken. The groups are those of equal differences.
"""

HEART_ON_OPENML = 53
"""Number of ``heart-statlog`` on OpenML; its columns stand in the order of `HEART_PRICES`."""


def fetch_heart() -> tuple[pd.DataFrame, NDArray[Any], pd.DataFrame]:
    """Patients with and without a heart disease, and what their tests cost: Statlog's 270 patients, Turney's prices.

    The table is read from ``heart_statlog.csv.gz`` in the folder of the data sets if it is there, else fetched from OpenML by
    scikit-learn, which keeps a copy.

    Returns
    -------
    X : DataFrame
        270 patients, 13 tests and facts.
    y : ndarray of str
        ``"ill"`` or ``"well"``.
    costs : DataFrame
        a price for each column of X in Canadian dollars, in the form that `prune_forest` takes.

    Raises
    ------
    BrokenFileError
        if the table is neither in the folder nor can be fetched.

    Examples
    --------
    >>> import prunemodels as pm
    >>> X, y, costs = pm.datasets.fetch_heart()
    >>> X.shape, sorted(set(y.tolist()))
    ((270, 13), ['ill', 'well'])
    """
    costs = pd.read_csv(io.StringIO(HEART_PRICES))
    try:
        table = read_table(find_dataset("heart_statlog"))
        X, ill = table.drop(columns="label"), table["label"] == 1
    except BrokenFileError as missing:
        X, ill = _heart_from_openml(missing)
    return X.set_axis(costs["feature"].tolist(), axis=1), np.where(ill, "ill", "well"), costs


def _heart_from_openml(missing: BrokenFileError) -> tuple[pd.DataFrame, pd.Series]:
    """The same table from OpenML."""
    from sklearn.datasets import fetch_openml

    try:
        fetched = fetch_openml(data_id=HEART_ON_OPENML, as_frame=True)
    except Exception as error:  # no network, a proxy, an answer that is no table: types differ
        # `from None`: its traceback would have a hundred lines
        raise BrokenFileError(f"OpenML cannot be reached ({type(error).__name__}: {error}), and {missing}") from None
    return fetched.data.astype(np.float64), fetched.target == "present"


class SmallForest(NamedTuple):
    """A fitted forest, the rows that it was grown on, two more sets of rows, and a price for each column.

    Examples
    --------
    >>> import prunemodels as pm
    >>> forest, X_train, y_train, X_valid, y_valid, X_test, y_test, costs = pm.datasets.load_tumours()
    >>> X_train.shape, X_valid.shape, X_test.shape, costs["concavity"]
    ((250, 10), (150, 10), (169, 10), 5)
    """

    forest: RandomForestClassifier
    X_train: pd.DataFrame
    y_train: Any
    X_valid: pd.DataFrame
    y_valid: Any
    X_test: pd.DataFrame
    y_test: Any
    costs: dict[str, int]


def load_tumours() -> SmallForest:
    """A forest of eight trees that says which tumours are benign, with labels and made-up prices.

    What is measured on an outline's concave parts costs 5, everything else 1. The rows and the forest are always the same.

    Returns
    -------
    SmallForest
        ``forest``, of depth 4 at most; ``X_train`` and ``y_train``, the 250 rows that it was grown on; ``X_valid`` and
        ``y_valid``, 150 rows; ``X_test`` and ``y_test``, the other 169; ``costs``, the price of each of the ten columns.

    Examples
    --------
    >>> import prunemodels as pm
    >>> data = pm.datasets.load_tumours()
    >>> pm.prune_forest(data.forest, data.X_valid, data.y_valid, costs=data.costs, budget=10).estimator
    RandomForestClassifier(max_depth=4, n_estimators=8, random_state=0)
    """
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.filter(like="mean").rename(columns=lambda name: name.removeprefix("mean "))
    costs = {name: 5 if "concav" in name else 1 for name in X.columns}
    forest = RandomForestClassifier(8, max_depth=4, random_state=0).fit(X[:250], y[:250])
    return SmallForest(forest, X[:250], y[:250], X[250:400], y[250:400], X[400:], y[400:], costs)
