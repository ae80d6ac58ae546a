"""Forests and answers within limits survive their files; files that cannot be trusted are refused."""

from __future__ import annotations

from fractions import Fraction
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
from formulations import BrokenFileError, InvalidInputError
from formulations.answers.search_proof import Branch, Closed, Fixed
from formulations.answers.solution import SharedPrices
from formulations.instance.limit import Limit
from prunemodels.example import problem
from prunemodels.files.answers import load_solution, save_solution
from prunemodels.files.forests import FOREST_ENDINGS, load_forest, save_forest
from solvers.within import exact_budget, solve
from solvers.within.params import WithinParams
from solvers.within.prover import LagrangianOracle
from tests.instances import random_problem
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


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
def test_versions_of_scikit_learn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """A version with the same trees is read without a warning; another is refused with both versions and the remedy. `make
    test-versions` does it with real files.
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


def test_an_unknown_ending_an_absent_file_and_a_pickle_are_refused(tmp_path: Path) -> None:
    """The ending says the format. Without the caller's word a pickle is not opened: the code in it does not run."""
    with pytest.raises(pm.errors.InvalidInputError, match=r"ending '\.pkl'; give a forest as \.skops or \.joblib"):
        load_forest(tmp_path / "f.pkl")
    with pytest.raises(pm.errors.BrokenFileError, match=r"there is no file .*f\.skops"):
        load_forest(tmp_path / "f.skops")
    with pytest.raises(pm.errors.InvalidInputError, match=r"ending '\.pkl'"):
        save_forest(forest(), tmp_path / "f.pkl")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "f.joblib").write_bytes(b"never read")
    with pytest.raises(pm.errors.InvalidInputError, match=r"runs any code .* --trust-pickle .* skops"):
        load_forest(tmp_path / "f.joblib")


HALF = np.arange(150) < 75

ASKED: dict[str, dict[str, Any]] = {
    "a budget": {"budget": 10},
    "a budget as a float": {"budget": 10.3, "method": "exact"},
    "rows, a mapping, an item": {
        "limits": [Limit(9, rows=HALF), Limit(Fraction(31, 3), {"radius": 2, "area": 0.5}, name="both"), Limit(0.3, "texture")]
    },
    "every example, a size": {"limits": [Limit(9, each=True), Limit(30, "splits")], "method": "path"},
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    """Every field but the stats is the same, and the checker, which saw neither search nor limits, confirms it."""
    found = pm.solve(problem, **ASKED[name])
    save_solution(found, tmp_path / "answer.npz")
    read = load_solution(tmp_path / "answer.npz", problem)
    for field in ("at_most", "uses", "error", "bound", "stopped", "method"):
        assert getattr(read, field) == getattr(found, field)
    assert np.array_equal(read.pruning.kept, found.pruning.kept)
    assert (read.relaxation.value, read.relaxation.multipliers) == (found.relaxation.value, found.relaxation.multipliers)
    assert [weight for _, weight in read.relaxation.mixture] == [weight for _, weight in found.relaxation.mixture]
    assert [type(step) for step in read.proof.steps] == [type(step) for step in found.proof.steps]  # type: ignore[union-attr]
    verdict = pm.checks.check_solution(problem, read)
    assert verdict.holds is True, str(verdict)
    assert verdict.certificate == pm.checks.check_solution(problem, found).certificate


def test_windows_scores_and_all_kinds_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of a search in a window, and one by scores, which larger instances have."""
    kinds, windows = set(), 0
    cases = [(problem, Fraction(budget)) for budget in (7, 9, 10)]
    cases += [(instance, pm.Pruning.unpruned(instance).exact_cost * Fraction(2, 5)) for instance in map(random_problem, range(8))]
    for instance, budget in cases:
        found = exact_budget(instance, budget, params=WithinParams(first_window_arcs=0))
        save_solution(found, tmp_path / "answer.npz")
        read = load_solution(tmp_path / "answer.npz", instance)
        assert pm.checks.check_solution(instance, read).holds is True
        assert read.proof is not None
        kinds |= {type(step) for step in read.proof.steps}
        windows += read.proof.window is not None
    assert {Branch, Closed, Fixed} <= kinds
    assert windows

    def sharing(rows: Any, params: WithinParams) -> LagrangianOracle:
        oracle = LagrangianOracle(rows, params)
        oracle.shares_prices = True
        return oracle

    monkeypatch.setattr(solve, "LagrangianOracle", sharing)
    found = pm.solve(problem, limits=[Limit(10), Limit(30, "splits")], method="path")
    save_solution(found, tmp_path / "answer.npz")
    read = load_solution(tmp_path / "answer.npz", problem)
    assert read.proof is not None
    assert isinstance(read.proof.steps[0], Closed)
    assert isinstance(read.proof.steps[0].priced.payments, SharedPrices)
    assert pm.checks.check_solution(problem, read).holds is True


def test_what_is_no_answer_is_refused(tmp_path: Path) -> None:
    """No file, another ending, another instance, an archive of something else, and JSON without what it must have."""
    place = tmp_path / "answer.npz"
    with pytest.raises(BrokenFileError, match="there is no file"):
        load_solution(place, problem)
    found = pm.solve(problem, budget=10)
    with pytest.raises(InvalidInputError, match=r"ends in \.npz"):
        save_solution(found, tmp_path / "answer.txt")
    save_solution(found, place)
    with pytest.raises(BrokenFileError, match="holds no answer to this instance"):
        load_solution(place, random_problem(3))
    with np.load(place) as stored:
        arrays = dict(stored)
    np.savez(place, **{name: array for name, array in arrays.items() if name != "paid"})
    with pytest.raises(BrokenFileError, match="lacks the array 'paid'"):
        load_solution(place, problem)
    np.savez(place, **arrays | {"paid": arrays["paid"][:1]})
    with pytest.raises(BrokenFileError, match="paid has 1 entries"):
        load_solution(place, problem)
    np.savez(place, **arrays | {"about": np.frombuffer(b'{"limits": []}', dtype=np.uint8)})
    with pytest.raises(BrokenFileError, match="KeyError"):
        load_solution(place, problem)
