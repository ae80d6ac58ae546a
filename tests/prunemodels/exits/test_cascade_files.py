"""Cascades survive their files; files that cannot be trusted are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.exits.cascade_files import holds_cascade, load_cascade, save_cascade
from prunemodels.files.forests import FOREST_ENDINGS, load_forest, save_forest
from tests.prunemodels.cascades import KINDS, Case, Kind, case


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_cascade_round_trips(tmp_path: Path, kind: Kind, ending: str) -> None:
    """Read back from either format it predicts bit for bit the same, costs the same, and has the whole path still."""
    known = case(kind)
    save_cascade(known.cascade, tmp_path / f"c{ending}")
    again = load_cascade(tmp_path / f"c{ending}", trust_pickle=True)
    assert type(again) is type(known.cascade)
    _check_equal(again, known.cascade, known)
    _check_equal(again.at_lam(1e-2), known.cascade.at_lam(1e-2), known)
    assert np.array_equal(again.exit_path_.to_frame(), known.path.to_frame())
    assert [p.name for p in tmp_path.iterdir()] == [f"c{ending}"]


def _check_equal(one: Any, other: Any, known: Case) -> None:
    assert np.array_equal(one.predict(known.X), other.predict(known.X))
    assert np.array_equal(one.prediction_cost(known.X), other.prediction_cost(known.X))
    if hasattr(other, "predict_proba"):
        assert np.array_equal(one.predict_proba(known.X), other.predict_proba(known.X))


class Strange(ClassifierMixin, BaseEstimator):
    """A model that skops does not know."""

    def fit(self, X: Any, y: Any) -> Strange:
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


def test_types_that_nobody_vouched_for_are_refused(tmp_path: Path) -> None:
    """A stage of an unknown class is refused by name with the remedy, and read where the caller names it."""
    known = case("sets")
    cascade = pm.CascadeClassifier([(None, []), (Strange(), None)], cv=2, random_state=0).fit(known.X, known.y)
    save_cascade(cascade, tmp_path / "c.skops")
    with pytest.raises(
        pm.errors.BrokenFileError, match=r"no cascade of scikit-learn's models needs: .*Strange.*load_cascade\(path"
    ):
        load_cascade(tmp_path / "c.skops")
    again = load_cascade(tmp_path / "c.skops", trusted=[f"{Strange.__module__}.Strange"])
    assert np.array_equal(again.predict(known.X), cascade.predict(known.X))


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """A file cut short is a BrokenFileError that says what it should have been."""
    save_cascade(case("prunings").cascade, tmp_path / "c.skops")
    (tmp_path / "c.skops").write_bytes((tmp_path / "c.skops").read_bytes()[:3000])
    with pytest.raises(pm.errors.BrokenFileError, match=r"c\.skops is not a skops file"):
        load_cascade(tmp_path / "c.skops")


def test_forests_and_cascades_are_not_confused(tmp_path: Path) -> None:
    """A forest's file is no cascade, a cascade's no forest, an unfitted cascade is not saved; each message says what to do."""
    known = case("prunings")
    save_forest(RandomForestClassifier(2).fit(known.X, known.y), tmp_path / "f.skops")
    with pytest.raises(pm.errors.NotFittedForestError, match="holds a RandomForestClassifier, not a fitted cascade"):
        load_cascade(tmp_path / "f.skops")
    save_cascade(known.cascade, tmp_path / "c.skops")
    with pytest.raises(
        pm.errors.BrokenFileError, match=r"holds a cascade, not a forest; read it with .*load_cascade.*prunemodels report"
    ):
        load_forest(tmp_path / "c.skops")
    with pytest.raises(pm.errors.InvalidInputError, match="cascade is a CascadeClassifier; give a fitted cascade"):
        save_cascade(pm.CascadeClassifier([]), tmp_path / "no.skops")
    assert not (tmp_path / "no.skops").exists()


def test_a_file_tells_whether_it_holds_a_cascade(tmp_path: Path) -> None:
    """Of both kinds of files and of models; a damaged skops file holds none, and what cannot be read is refused."""
    known = case("prunings")
    forest = RandomForestClassifier(2).fit(known.X, known.y)
    for name, model in (("f", forest), ("c", known.cascade)):
        for ending in (".skops", ".joblib"):
            save_forest(model, tmp_path / f"{name}{ending}")
            assert holds_cascade(tmp_path / f"{name}{ending}", trust_pickle=True) == (name == "c")
    (tmp_path / "c.skops").write_bytes((tmp_path / "c.skops").read_bytes()[:3000])
    assert not holds_cascade(tmp_path / "c.skops")
    with pytest.raises(pm.errors.InvalidInputError, match=r"c\.joblib is a joblib file"):
        holds_cascade(tmp_path / "c.joblib")
    with pytest.raises(pm.errors.BrokenFileError, match="give the path of a fitted forest or cascade"):
        holds_cascade(tmp_path / "absent.skops")


@pytest.mark.parametrize("change", ["boosted tree", "ensemble"])
def test_forged_trees_are_refused(tmp_path: Path, change: str) -> None:
    """A file whose trees point outside their arrays is refused before compiled code follows them and crashes the process."""
    known = case("sets" if change == "boosted tree" else "numbers")
    save_cascade(known.cascade, tmp_path / "sound.joblib")
    forged = load_cascade(tmp_path / "sound.joblib", trust_pickle=True)
    if change == "boosted tree":
        forged.stages_.models[-1]._predictors[0][0].nodes["left"][0] = 10**6
    else:
        forged.stages_.ensemble.left[0] = 10**6
    save_forest(forged, tmp_path / "c.skops")
    with pytest.raises(pm.errors.BrokenFileError, match=r"c\.skops (has arrays that do not fit|holds a cascade that cannot)"):
        load_cascade(tmp_path / "c.skops")
