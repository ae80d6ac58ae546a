"""Forests survive their files; files that cannot be trusted are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import sklearn
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from prunemodels.files.forests import FOREST_ENDINGS, load_forest, save_forest
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning

X, Y = load_breast_cancer(return_X_y=True)


class Wrapped(RandomForestClassifier):
    """A type that skops does not know."""


def forest(**options: Any) -> RandomForestClassifier:
    return RandomForestClassifier(5, random_state=0, **options).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@looped("kind", KINDS)
def test_every_kind_survives_its_file(tmp_path: Path, kind: str, ending: str) -> None:
    """Pruned, written and read again, it predicts the same to the last bit."""
    case = fitted(kind)
    pruned = pm.apply_pruning(random_pruning(pm.problem_from_forest(case.forest, case.X, costs=1)), case.forest)
    save_forest(pruned, tmp_path / f"pruned{ending}")
    again = load_forest(tmp_path / f"pruned{ending}", trust_pickle=True)
    np.testing.assert_array_equal(again.predict(case.X), pruned.predict(case.X))
    if hasattr(pruned, "predict_proba"):
        np.testing.assert_array_equal(again.predict_proba(case.X), pruned.predict_proba(case.X))


def test_a_joblib_file_needs_trust(tmp_path: Path) -> None:
    """Without the caller's word a pickle is not opened: the code in it does not run."""
    (tmp_path / "f.joblib").write_bytes(b"never read")
    with pytest.raises(pm.errors.InvalidInputError, match=r"runs any code .* --trust-pickle .* skops"):
        load_forest(tmp_path / "f.joblib")


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
def test_versions_of_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """A version with the same trees is read without a warning; another is refused with both versions and the remedy.

    `make test-versions` does it with real files.
    """
    for version in ("1.6.0", "1.5.2"):
        with monkeypatch.context() as patch:
            patch.setattr("sklearn.base.__version__", version)
            save_forest(forest(), tmp_path / f"{version}{ending}")
    again = load_forest(tmp_path / f"1.6.0{ending}", trust_pickle=True)
    assert all(np.array_equal(a.tree_.value, b.tree_.value) for a, b in zip(again, forest(), strict=True))
    with pytest.raises(pm.errors.BrokenFileError, match=rf"1\.5\.2, .*{sklearn.__version__}.* install scikit-learn==1\.5\.2"):
        load_forest(tmp_path / f"1.5.2{ending}", trust_pickle=True)


def test_a_pickle_with_trees_of_another_layout_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where scikit-learn cannot even read the trees, the message still speaks of versions."""

    def incompatible(file: Path) -> None:
        raise ValueError("node array from the pickle has an incompatible dtype")

    (tmp_path / "f.joblib").touch()
    monkeypatch.setattr(joblib, "load", incompatible)
    with pytest.raises(pm.errors.BrokenFileError, match="another version of scikit-learn"):
        load_forest(tmp_path / "f.joblib", trust_pickle=True)


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@pytest.mark.parametrize("keep", [0, 100, 5000])
def test_a_damaged_file_is_refused(tmp_path: Path, ending: str, keep: int) -> None:
    """A file cut short is a BrokenFileError that names it, whatever the library underneath raises."""
    file = tmp_path / f"f{ending}"
    save_forest(forest(), file)
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(pm.errors.BrokenFileError, match=rf"f\{ending}"):
        load_forest(file, trust_pickle=True)


def test_unknown_types_are_refused_by_name(tmp_path: Path) -> None:
    """A skops file with a type that no forest needs is not loaded, and the type is named."""
    skops.io.dump(Wrapped(2).fit(X, Y), tmp_path / "f.skops")
    with pytest.raises(pm.errors.BrokenFileError, match=r"types that no scikit-learn forest needs: .*Wrapped"):
        load_forest(tmp_path / "f.skops")


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (RandomForestClassifier(), pm.errors.NotFittedForestError, "not fitted"),
        (LogisticRegression(), pm.errors.UnsupportedModelError, "LogisticRegression cannot be pruned"),
        (AdaBoostClassifier(n_estimators=2).fit(X, Y), pm.errors.UnsupportedModelError, "boosted trees add up"),
        ({"a": 1}, pm.errors.UnsupportedModelError, "dict cannot be pruned"),
    ],
    ids=["unfitted", "linear", "boosted", "dict"],
)
def test_other_models_are_refused(tmp_path: Path, model: Any, error: type[Exception], message: str, ending: str) -> None:
    """What is no fitted average of trees is refused after reading, by its kind."""
    save_forest(model, tmp_path / f"f{ending}")
    with pytest.raises(error, match=message):
        load_forest(tmp_path / f"f{ending}", trust_pickle=True)


def test_an_unknown_ending_or_an_absent_file_is_refused(tmp_path: Path) -> None:
    """The ending says the format, and both refusals say what is wanted."""
    with pytest.raises(pm.errors.InvalidInputError, match=r"ending '\.pkl'; give a forest as \.skops or \.joblib"):
        load_forest(tmp_path / "f.pkl")
    with pytest.raises(pm.errors.BrokenFileError, match=r"there is no file .*f\.skops"):
        load_forest(tmp_path / "f.skops")
    with pytest.raises(pm.errors.InvalidInputError, match=r"ending '\.pkl'"):
        save_forest(forest(), tmp_path / "f.pkl")
    assert list(tmp_path.iterdir()) == []
