"""Files that are damaged or hostile: each is refused by name, before memory is allocated or compiled code follows it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import stored_arrays
from formulations.errors import BrokenFileError
from formulations.stored_arrays import read_arrays, stored_fraction, stored_json
from prunemodels.cascades.cascade_files import load_cascade, save_cascade
from prunemodels.files.forests import load_forest
from prunemodels.files.matrices import load_matrix
from prunemodels.models.forests.reading import read_forest
from solvers.price_sharing import price_sharing

X, Y = load_iris(return_X_y=True)


def forest() -> RandomForestClassifier:
    """Two small trees."""
    return RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y)


def bag() -> BaggingClassifier:
    """Trees that see some of the columns."""
    return BaggingClassifier(DecisionTreeClassifier(max_depth=2), 2, max_features=0.5, random_state=0).fit(X, Y)


@cache
def problem() -> Any:
    """An instance of the forest."""
    return pm.problem_from_forest(forest(), X, costs=[1, 2, 3, 4])


def repacked(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """An archive with other members, its check sums right."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as other:
        for name in archive.namelist():
            other.writestr(name, change(name, archive.read(name)))
    return out.getvalue()


ATTRIBUTES: dict[str, tuple[Callable[[], Any], Callable[[Any], None], str]] = {
    "features": (forest, lambda f: setattr(f, "n_features_in_", 10**12), "which needs 200000.0 GB of memory"),
    "features of a tree": (forest, lambda f: setattr(f.estimators_[1], "n_features_in_", 3), "tree 1: it is for 4 features"),
    "no trees": (forest, lambda f: f.estimators_.clear(), "it has no trees"),
    "a tree of another kind": (forest, lambda f: setattr(f.estimators_[0], "tree_", 5), "tree_ is a int"),
    "classes of a tree": (forest, lambda f: setattr(f.estimators_[0], "classes_", np.arange(2)), "tree 0: it has classes"),
    "an infinite value": (
        forest,
        lambda f: f.estimators_[1].tree_.value.__setitem__((0, 0, 0), np.inf),
        "tree 1: a value is not finite",
    ),
    "number of classes": (  # scikit-learn would make arrays for two billion classes
        forest,
        lambda f: setattr(f.estimators_[0], "n_classes_", np.int64(2**31 - 1)),
        "n_classes_ is 2147483647 for 3 classes",
    ),
    "classes": (forest, lambda f: setattr(f, "classes_", np.zeros(3)), "classes_ is no list of different classes"),
    "names": (forest, lambda f: setattr(f, "feature_names_in_", np.array(["a"])), "feature_names_in_ has not one name"),
    "jobs": (forest, lambda f: setattr(f, "n_jobs", "many"), "cannot be read as a forest"),
    "columns": (bag, lambda f: f.estimators_features_.append(np.arange(2)), "columns of 3 trees, and 2 trees"),
    "column": (bag, lambda f: f.estimators_features_[0].__setitem__(0, 99), "tree 0: it sees column 99 of 4"),
}


@pytest.mark.parametrize("what", ATTRIBUTES)
def test_forests_whose_parts_do_not_fit(what: str, tmp_path: Path) -> None:
    """A file of a forest with one attribute changed is refused, and the message says which."""
    make, change, message = ATTRIBUTES[what]
    model = make()
    change(model)
    skops.io.dump(model, tmp_path / "f.skops")
    with pytest.raises(BrokenFileError, match=message):
        load_forest(tmp_path / "f.skops")


ARRAYS: dict[str, tuple[str, Any, str]] = {
    "left_child": ("left_child", 10**6, "points outside of its own arrays"),
    "circle": ("right_child", 0, "points outside of its own arrays, or in a circle"),
    "feature": ("feature", -3, "points outside of its own arrays"),
    "threshold": ("threshold", np.nan, "a threshold is missing"),
    "one child": ("right_child", -1, "a node has one child"),
    "two parents": ("right_child", 1, "a node has no parent, or two"),
    "weight": ("weighted_n_node_samples", -1.0, "no finite weight"),
}


@pytest.mark.parametrize("what", ARRAYS)
def test_trees_whose_arrays_do_not_fit(what: str, tmp_path: Path) -> None:
    """One entry of a tree's array is changed in the file; a forest in memory with such arrays is refused alike."""
    field, value, message = ARRAYS[what]
    skops.io.dump(forest(), tmp_path / "f.skops")

    def change(name: str, content: bytes) -> bytes:
        held = np.load(io.BytesIO(content)) if name.endswith(".npy") else None
        if held is None or held.dtype.names is None or field not in held.dtype.names:
            return content
        held[field][0] = value
        out = io.BytesIO()
        np.save(out, held)
        return out.getvalue()

    (tmp_path / "g.skops").write_bytes(repacked((tmp_path / "f.skops").read_bytes(), change))
    with pytest.raises(BrokenFileError, match=message):
        load_forest(tmp_path / "g.skops")
    assert read_forest(load_forest(tmp_path / "f.skops")).n_trees == 2


@pytest.mark.parametrize(("name", "value"), [("node_count", 10**6), ("n_outputs", 1000)])
def test_sizes_of_trees_that_contradict_their_arrays(name: str, value: int, tmp_path: Path) -> None:
    """scikit-learn believes them, reads past the arrays' ends and crashes; such a file is refused before a tree is made."""
    skops.io.dump(forest(), tmp_path / "f.skops")

    def change(member: str, content: bytes) -> bytes:
        if member != "schema.json":
            return content
        schema = json.loads(content)
        tree = schema["content"]["content"]["estimators_"]["content"][0]["content"]["content"]["tree_"]
        part = tree["content"]["content"]["node_count"] if name == "node_count" else tree["__reduce__"]["args"]["content"][2]
        part["content"] = str(value)
        return json.dumps(schema).encode()

    (tmp_path / "g.skops").write_bytes(repacked((tmp_path / "f.skops").read_bytes(), change))
    with pytest.raises(BrokenFileError, match=f"its tree says {value}"):
        load_forest(tmp_path / "g.skops")


def test_flipped_bits_in_a_forest(tmp_path: Path) -> None:
    """Wherever a bit flips, there is a forest or a named error; zlib's own errors are none."""
    skops.io.dump(forest(), tmp_path / "f.skops", compression=zipfile.ZIP_DEFLATED)
    content = bytearray((tmp_path / "f.skops").read_bytes())
    refused = 0
    for at in range(40, len(content), len(content) // 60):
        content[at] ^= 4
        (tmp_path / "g.skops").write_bytes(content)
        content[at] ^= 4
        try:
            load_forest(tmp_path / "g.skops")
        except BrokenFileError:
            refused += 1
    assert refused > 30


@pytest.mark.slow
def test_a_forest_that_unpacks_to_a_thousand_times_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A member with zeros alone is refused by what the archive says of it."""
    monkeypatch.setattr(stored_arrays, "HARMLESS", 1 << 20)
    skops.io.dump(forest(), tmp_path / "f.skops")
    with zipfile.ZipFile(tmp_path / "f.skops", "a", zipfile.ZIP_DEFLATED) as archive, archive.open("more", "w") as member:
        for _ in range(64):
            member.write(bytes(1 << 20))
    with pytest.raises(BrokenFileError, match="more than 100 times its size"):
        load_forest(tmp_path / "f.skops")


@pytest.mark.slow
@pytest.mark.parametrize("part", ["stack", "policy", "parent"])
def test_cascades_whose_parts_do_not_fit(part: str, tmp_path: Path) -> None:
    """Weights of stages, levels of a policy, and parents that do not follow from the children."""
    path = pm.pruning_path(problem())
    cascade = deepcopy(pm.exit_path(path, X, Y, random_state=0).at_cost(2.0))
    save_cascade(cascade, tmp_path / "sound.skops")
    load_cascade(tmp_path / "sound.skops")
    if part == "stack":
        object.__setattr__(cascade.policy_.stack, "weight", cascade.policy_.stack.weight[:, :1])
    elif part == "policy":
        object.__setattr__(cascade.policy_, "go", cascade.policy_.go[:, 1:])
    else:
        cascade.stages_.ensemble.parent[1] = 10**6
    save_cascade(cascade, tmp_path / "c.skops")
    with pytest.raises(BrokenFileError, match=r"has arrays that do not fit|holds a cascade that cannot predict"):
        load_cascade(tmp_path / "c.skops")


@pytest.mark.parametrize(
    "text", ["1e99999999", "1e-99999999", "9" * 100_000, "1/0", "1/00", "nan", "inf", "1e", "", "0x1", "1_0"]
)
def test_fractions_that_no_file_should_hold(text: str) -> None:
    """Huge exponents took minutes; a zero below the stroke, and what is no number."""
    with pytest.raises(BrokenFileError, match=r"a number is .* not a fraction such as 5/7"):
        stored_fraction(text, "a number")


@pytest.mark.slow
def test_nested_json_is_refused() -> None:
    """A hundred thousand brackets, which Python cannot follow."""
    with pytest.raises(BrokenFileError, match="it is not a JSON file, or a damaged one"):
        stored_json("[" * 100_000, "it")


def test_archives_that_lack_an_array_or_hold_too_much(tmp_path: Path) -> None:
    """The array is named, and so is a header that claims more than there is."""
    place = tmp_path / "a.npz"
    np.savez(place, a=np.zeros(3))
    assert read_arrays(place, ("a",))["a"].tolist() == [0, 0, 0]
    with pytest.raises(BrokenFileError, match="lacks the array 'b'"):
        read_arrays(place, ("b",))
    place.write_bytes(repacked(place.read_bytes(), lambda name, content: content.replace(b"(3,)", b"(9,)")))
    with pytest.raises(BrokenFileError, match="announces 9 entries of 8 bytes and has 24 bytes"):
        read_arrays(place)
    place.write_bytes(b"")
    with pytest.raises(BrokenFileError, match="cannot be read"):
        read_arrays(place)


SCORES: dict[str, tuple[str, Any, str]] = {
    "iteration": (
        "figures",
        np.array('{"iteration": 1000000000}'),
        "iteration is 1000000000, not a whole number from 0 to 10,000,000",
    ),
    "text": ("figures", np.array('{"iteration": "soon"}'), "iteration is soon"),
    "nan": ("score", np.full(10, np.nan), "score holds nan, which is not finite"),
    "shape": ("score", np.zeros((2, 2)), r"score has the shape \(2, 2\)"),
}


@pytest.mark.parametrize("what", SCORES)
def test_checkpoints_of_scores(what: str, tmp_path: Path) -> None:
    """A count of rounds that would never end, text, numbers that are none; an empty file, and one of something else."""
    place = tmp_path / "a.scores"
    price_sharing(problem(), 0.01, checkpoint=place)
    name, value, message = SCORES[what]
    with np.load(place) as held:
        arrays = dict(held)
    with place.open("wb") as file:
        np.savez(file, **(arrays | {name: value}))
    with pytest.raises(BrokenFileError, match=message):
        price_sharing(problem(), 0.01, checkpoint=place)
    for content in (b"", b"PK\x03\x04", b"something else"):
        place.write_bytes(content)
        with pytest.raises(BrokenFileError, match=r"checkpoint: .*cannot be read"):
            price_sharing(problem(), 0.01, checkpoint=place)


def test_a_number_that_becomes_zero_is_refused(tmp_path: Path) -> None:
    """1e-400 is not 0: without it the matrix would be totally unimodular."""
    place = tmp_path / "small.csv"
    place.write_text("1,1,0\n0,1,1\n-1,1e-400,1\n")
    with pytest.raises(BrokenFileError, match="1e-400 is a number so small that no float holds it"):
        load_matrix(place)
    place.write_text("1,1e-300\n0e-400,1\n")
    assert load_matrix(place).shape == (2, 2)
