"""A mixture survives its files; files that say something else are refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.files.forests import save_forest
from prunemodels.files.mixtures import load_mixture, mixture_files, write_mixture
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.forests.mixture import mixture_of

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def solved() -> tuple[Any, Any]:
    """A forest, and a budget inside a hull edge."""
    forest = RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:300], Y[:300])
    problem = pm.problem_from_forest(forest, X[300:], costs=1)
    path = pm.pruning_path(problem)
    budget = (2 * path.exact_cost[2] + 5 * path.exact_cost[1]) / 7
    return forest, pm.solve(problem, budget=budget, method="path", path=path)


def write(folder: Path, solved: tuple[Any, Any], ending: str = ".skops") -> Path:
    """What `prune --mixture` writes beside m.skops; the JSON file."""
    with OutputFiles(force=False) as outputs:
        files = mixture_files(folder / f"m{ending}", outputs)
        write_mixture(files, outputs, solved[1], solved[0])
    return files[-1]


@pytest.mark.parametrize("ending", [".skops", ".joblib"])
def test_what_is_read_back_serves_alike(solved: tuple[Any, Any], tmp_path: Path, ending: str) -> None:
    """The same fraction, the same draws from a seed, the same predictions of both forests, stratified where asked."""
    forest, solution = solved
    for stratified in (False, True):
        folder = tmp_path / str(stratified)
        folder.mkdir()
        again = load_mixture(write(folder, solved, ending), trust_pickle=True, random_state=3, stratified=stratified)
        own = mixture_of(solution.relaxation, forest, random_state=3, stratified=stratified)
        assert again.weight == own.weight == Fraction(5, 7)
        np.testing.assert_array_equal(again.predict_proba(X), own.predict_proba(X))
        for which in ("cheaper", "dearer"):
            np.testing.assert_array_equal(getattr(again, which).predict_proba(X), getattr(own, which).predict_proba(X))
        assert int(again.choose(700).sum()) == 500 or not stratified
    assert not np.array_equal(again.cheaper.predict_proba(X), again.dearer.predict_proba(X))


def test_the_command_writes_what_is_read(solved: tuple[Any, Any], tmp_path: Path) -> None:
    """Forests are named without folders, so that the three files can be moved together."""
    place = write(tmp_path, solved)
    (tmp_path / "moved").mkdir()
    for file in list(tmp_path.glob("m.*")):
        file.rename(tmp_path / "moved" / file.name)
    assert load_mixture(str(tmp_path / "moved" / place.name)).weight == Fraction(5, 7)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"weight": "two"}, pm.errors.BrokenFileError, r"'weight' is 'two', not a fraction such as 5/7"),
        ({"weight": "1/0"}, pm.errors.BrokenFileError, r"'weight' is '1/0', not a fraction"),
        ({"weight": 0.5}, pm.errors.BrokenFileError, r"'weight' is 0\.5, but must be a text"),
        ({"weight": "3/2"}, pm.errors.InvalidInputError, r"above 1; give the dearer forest's share"),
        ({"weight": "-1/2"}, pm.errors.InvalidInputError, r"negative"),
        ({"cheaper": None}, pm.errors.BrokenFileError, r"'cheaper' is None, but must be a text"),
        ({"dearer": "../m.dearer.skops"}, pm.errors.BrokenFileError, r"'dearer' is '\.\./m\.dearer\.skops', outside its folder"),
        ({"dearer": "/m.dearer.skops"}, pm.errors.BrokenFileError, r"outside its folder"),
        ({"dearer": ".."}, pm.errors.BrokenFileError, r"outside its folder"),
        ({"dearer": ""}, pm.errors.BrokenFileError, r"outside its folder"),
        ({"dearer": "absent.skops"}, pm.errors.BrokenFileError, r"there is no file .*absent\.skops"),
        ({"dearer": "m.mixture.json"}, pm.errors.InvalidInputError, r"has the ending '\.json'"),
        ({"dearer": "other.skops"}, pm.errors.InvalidInputError, r"cheaper and dearer differ in n_features_in_"),
    ],
)  # fmt: skip
def test_what_is_no_mixture_is_refused(
    solved: tuple[Any, Any], tmp_path: Path, change: dict[str, Any], error: type[Exception], message: str
) -> None:
    """A wrong weight, a missing or foreign entry, a forest outside the folder: each is named."""
    place = write(tmp_path, solved)
    save_forest(RandomForestClassifier(2, random_state=0).fit(X.iloc[:, :4], Y), tmp_path / "other.skops")
    place.write_text(json.dumps({**json.loads(place.read_text()), **change}))
    with pytest.raises(error, match=message):
        load_mixture(place)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"{", r"not a JSON file, or a damaged one"), (b"\xff\xfe{", r"not a JSON file"), (b"[1]", r"holds a list, not a mixture")],
)
def test_damaged_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    """Half a file, no text, another kind of JSON."""
    place = tmp_path / "m.mixture.json"
    place.write_bytes(content)
    with pytest.raises(pm.errors.BrokenFileError, match=message):
        load_mixture(place)


def test_other_files_are_refused(tmp_path: Path) -> None:
    """Of another ending, or not there; the message says what writes them."""
    with pytest.raises(pm.errors.InvalidInputError, match=r"m\.skops is not a mixture; give the file ending in \.mixture\.json"):
        load_mixture(tmp_path / "m.skops")
    with pytest.raises(pm.errors.BrokenFileError, match=r"there is no file .*m\.mixture\.json; `prunemodels prune --mixture`"):
        load_mixture(tmp_path / "m.mixture.json")
