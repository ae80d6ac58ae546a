"""Heart's patients, and what their tests cost."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

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
