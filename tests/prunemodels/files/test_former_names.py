"""Files of a time at which classes had other homes still load."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import prunemodels as pm
from prunemodels.files.former_names import MOVED
from prunemodels.models.columns.restored import RestoredColumns

FORMER = "prunemodels.columns.restored"
X, Y = load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("ending", [".skops", ".joblib"])
def test_a_pipeline_saved_under_a_former_name_loads(ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file names the class as it was called then; afterwards the former module is gone again."""
    pipeline = make_pipeline(StandardScaler(), RandomForestClassifier(3, max_depth=2, random_state=0)).fit(X, Y)
    slim = pm.drop_unused(pipeline)
    former = ModuleType(FORMER)
    former.RestoredColumns = RestoredColumns  # type: ignore[attr-defined]
    with monkeypatch.context() as then:
        then.setattr(RestoredColumns, "__module__", FORMER)
        then.setitem(sys.modules, FORMER, former)
        pm.save_forest(slim, tmp_path / f"model{ending}")
    again = pm.load_forest(tmp_path / f"model{ending}", trust_pickle=True)
    assert type(again[0]) is RestoredColumns
    np.testing.assert_array_equal(again.predict(X[:, slim[0].kept]), pipeline.predict(X))
    assert FORMER not in sys.modules


@pytest.mark.parametrize("former", MOVED)
def test_the_present_homes_exist(former: str) -> None:
    """What took a former module's place can be imported."""
    assert importlib.import_module(MOVED[former])
