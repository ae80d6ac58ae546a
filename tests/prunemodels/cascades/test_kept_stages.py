"""A fit that was stopped goes on with the stages that it has trained; other work is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.cascades import fitting
from prunemodels.errors import BrokenFileError, InterruptedSolveError, InvalidInputError

X, Y = make_classification(300, 8, n_informative=5, n_redundant=0, random_state=1)


def cascade(kind: str, place: Path | None, **more: Any) -> Any:
    tree = DecisionTreeClassifier(min_samples_leaf=10)
    options: dict[str, Any] = {"lam": 0.01, "n_levels": 4, "cv": 2, "random_state": 0, "checkpoint": place} | more
    if kind == "named":
        return pm.CascadeClassifier([(tree, [0]), (tree, [0, 1, 2]), (tree, None)], 1, **options)
    return pm.BudgetCascadeClassifier(tree, 1, n_stages=4, **options)


@pytest.mark.parametrize("kind", ["named", "sets"])
def test_what_is_trained_is_not_trained_again(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the last stage of a fold: the next call trains what is missing, and gives the same object to the last bit."""
    place, original, fits, stages = tmp_path / "kept", fitting._fit_or_load, [], []
    whole = cascade(kind, None).fit(X, Y)
    fit_stage = fitting.fit_stage

    def counted(*given: Any) -> Any:
        fits.append(1)
        return fit_stage(*given)

    def stopped(*given: Any) -> Any:
        nonlocal stages
        if len(stages := [*stages, 1]) > 4:
            raise KeyboardInterrupt
        return original(*given)

    monkeypatch.setattr(fitting, "_fit_or_load", stopped)
    with pytest.raises(InterruptedSolveError, match=r"the same call goes on from .*kept"):
        cascade(kind, place).fit(X, Y)
    monkeypatch.setattr(fitting, "_fit_or_load", original)
    monkeypatch.setattr(fitting, "fit_stage", counted)
    again = cascade(kind, place).fit(X, Y)
    kept = len(list(place.glob("*.joblib")))
    if kind == "named":
        assert (kept, len(fits)) == (6, 2)  # three stages of two folds, four of them before
    assert pickle.dumps(again.policy_) == pickle.dumps(whole.policy_)
    np.testing.assert_array_equal(again.predict_proba(X), whole.predict_proba(X))
    np.testing.assert_array_equal(again.exit_path_.held_out_error, whole.exit_path_.held_out_error)
    fits.clear()
    cascade(kind, place, lam=0.1).fit(X, Y)  # another price of cost needs no other stages
    assert not fits


def test_other_work_is_refused(tmp_path: Path) -> None:
    """Other examples, estimators and seeds; a damaged file; a random state that draws anew; stages that are fitted already."""
    place = tmp_path / "kept"
    model = cascade("named", place).fit(X, Y)
    for change in (
        lambda: cascade("named", place).fit(X + 1, Y),
        lambda: cascade("named", place).fit(X, 1 - Y),
        lambda: cascade("named", place, random_state=1).fit(X, Y),
        lambda: cascade("named", place).fit(X, Y, sample_weight=np.linspace(1, 2, 300)),
        lambda: pm.CascadeClassifier([(DecisionTreeClassifier(max_depth=2), None)], checkpoint=place, random_state=0).fit(X, Y),
    ):
        with pytest.raises(InvalidInputError, match="belongs to another instance, or to other options"):
            change()
    with pytest.raises(InvalidInputError, match="random_state is None: another call would draw other rows"):
        cascade("named", place, random_state=None).fit(X, Y)
    with pytest.raises(InvalidInputError, match="these are fitted already"):
        pm.CascadeClassifier(model.stages_, checkpoint=place, random_state=0).fit(X, Y)
    next(place.glob("*.joblib")).write_bytes(b"x")
    with pytest.raises(BrokenFileError, match=r"cannot be read .* delete it"):
        cascade("named", place).fit(X, Y)


def test_without_a_checkpoint_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """And that is said."""

    def stopped(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(fitting, "fit_stage", stopped)
    with pytest.raises(InterruptedSolveError, match="nothing was kept; with a checkpoint the same call goes on from there"):
        cascade("named", None).fit(X, Y)
