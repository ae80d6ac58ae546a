"""Boosted models in their libraries' own files: XGBoost's JSON and UBJSON, LightGBM's text, CatBoost's JSON.

These files are data. Reading one runs no code from it: the libraries parse their own formats, and CatBoost's JSON is parsed here.

XGBoost and LightGBM trust their files: a length that is wrong makes their loaders read beyond an array, and a child that is its
own ancestor makes them loop. So a file is loaded in a process of its own first, by the library's C interface. What survives that
is loaded here, after its trees were checked by `wrong_with_xgboost` and `wrong_with_lightgbm`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, PruneModelsError
from formulations.extras import package
from prunemodels.models.forests.reading import library_of
from prunemodels.models.libraries.catboost_models import catboost_forest
from prunemodels.models.libraries.lightgbm_models import CATEGORICAL, LEAF_KEYS, SPLIT_KEYS, ModelText, children, numbers
from prunemodels.models.libraries.xgboost_models import PER_NODE, trees_in
from solvers.child_process import how_it_ended

ENDINGS: dict[str, tuple[str, ...]] = {"xgboost": (".json", ".ubj"), "lightgbm": (".txt",)}
"""The formats in which models are written, by library."""

BOOSTED_ENDINGS = (".json", ".ubj", ".txt")
"""All endings that are read."""

KINDS = "a model of XGBoost (.json, .ubj), LightGBM (.txt) or CatBoost (.json)"

WITH_TREES = ("gbtree", "dart")
"""XGBoost's boosters that have trees; others are refused for what they are when their trees are asked for."""


def load_boosted(place: Path) -> Any:
    """Read a model from its library's own file, with one of `BOOSTED_ENDINGS`.

    It is an estimator of XGBoost where one wrote the file, else a ``Booster`` of XGBoost or LightGBM, or the `ModelForest` of a
    model of CatBoost. The labels are 0, 1, ..., which is all that XGBoost and LightGBM store; CatBoost stores them.
    """
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}; give the path of {KINDS}")
    if place.suffix == ".txt":
        return _lightgbm(place)
    return _xgboost(place) if place.suffix == ".ubj" else _of_json(place)


def _of_json(place: Path) -> Any:
    """What a JSON file holds decides which library wrote it."""
    try:
        document = json.loads(place.read_bytes())
    except (ValueError, RecursionError) as error:
        raise BrokenFileError(f"{place} is not a JSON file, or a damaged one ({error}); save the model again") from error
    keys = set(document) if isinstance(document, dict) else set()
    if "learner" in keys:
        if _booster_kind(document) in WITH_TREES:
            _refuse(place, wrong_with_xgboost(document))
        return _xgboost(place)
    if "tree_info" in keys:
        raise BrokenFileError(
            f"{place} holds what LightGBM's dump_model returns, which LightGBM cannot read; save the model with "
            "booster.save_model('model.txt')"
        )
    if {"features_info", "model_info"} <= keys:
        return _catboost(place, document)
    found = f"the keys {', '.join(sorted(keys)[:6])}" if keys else f"a {type(document).__name__}"
    raise BrokenFileError(f"{place} holds {found}; give {KINDS}, saved by its save_model")


def _booster_kind(document: Any) -> Any:
    """What XGBoost calls the booster in a document; None where it does not say."""
    held = document["learner"]
    held = held.get("gradient_booster") if isinstance(held, dict) else None
    return held.get("name") if isinstance(held, dict) else None


def _xgboost(place: Path) -> Any:
    """XGBoost reads here only what it has written itself in the trial, after its trees were checked."""
    xgboost = package("xgboost")
    content = bytearray(loaded_elsewhere(place, "XGBoost", xgboost))

    def read() -> Any:
        document = json.loads(content)
        if _booster_kind(document) in WITH_TREES:
            _refuse(place, wrong_with_xgboost(document))
        booster = xgboost.Booster(model_file=content)
        best, rounds = booster.attr("best_iteration"), booster.num_boosted_rounds()
        if best is not None and not 0 <= int(best) < rounds:
            _refuse(place, f"its best iteration is {best} of {rounds}")
        writer = booster.attr("scikit_learn")
        if not writer:
            return booster
        classifies = json.loads(writer).get("_estimator_type") == "classifier"
        model = (xgboost.XGBClassifier if classifies else xgboost.XGBRegressor)()
        model.load_model(content)
        return model

    return _parsed(place, "XGBoost", read)


def _lightgbm(place: Path) -> Any:
    """A Booster; LightGBM's text begins with the word "tree" on a line of its own."""
    content = place.read_bytes()
    first = content[:64].decode("utf-8", "replace").partition("\n")[0].strip()
    if first != "tree":
        raise BrokenFileError(
            f"{place} begins with {first!r}, a LightGBM model with 'tree'; save the model with booster.save_model('model.txt')"
        )
    _refuse(place, wrong_with_lightgbm(content))
    lightgbm = package("lightgbm")
    loaded_elsewhere(place, "LightGBM", lightgbm)
    return _parsed(place, "LightGBM", lambda: lightgbm.Booster(model_file=str(place)))


def _refuse(place: Path, wrong: str | None) -> None:
    if wrong is not None:
        raise BrokenFileError(f"{place} is damaged: {wrong}; save the model again")


def _catboost(place: Path, document: Mapping[str, Any]) -> Any:
    def read() -> Any:
        names = [f.get("feature_id", "") for f in document["features_info"].get("float_features", [])]
        named = document["model_info"].get("class_params")
        classes = named.get("class_names") if isinstance(named, dict) else None
        return catboost_forest(document, classes or None, names if all(names) else ())

    return _parsed(place, "CatBoost", read)


def _parsed(place: Path, library: str, read: Callable[[], Any]) -> Any:
    """What `read` returns; what a library says of a damaged file becomes one error that names the file."""
    try:
        return read()
    except PruneModelsError:
        raise
    except Exception as error:  # each library has its own, and a damaged file can cause any
        said = str(error).strip().splitlines()
        reason = said[0] if said else type(error).__name__
        raise BrokenFileError(f"{place} cannot be read as a model of {library} ({reason}); save it again") from error


def dump_boosted(model: Any, place: Path) -> None:
    """Write a model directly to a path in its library's own format."""
    owner = model.booster_ if library_of(model) == "lightgbm" and hasattr(model, "booster_") else model
    owner.save_model(str(place))


SECONDS, SECONDS_PER_MEGABYTE = 20.0, 1.0
"""Time of a trial, of which a sound file takes less than a hundredth."""

TYPES = {"int", "float", "i", "q", "c"}
"""What XGBoost calls the kinds of columns."""

PARAMETER = re.compile(rb"\[\w+: .*\]\r?")
"""A line of LightGBM's parameters; its loader reads beyond the end of one without a colon, and may crash or not."""

TRIAL = """
import ctypes, os, sys
library, place, model = ctypes.CDLL(sys.argv[1]), os.fsencode(sys.argv[2]), ctypes.c_void_p()
length, text = ctypes.c_uint64(), ctypes.c_char_p()
if sys.argv[3] == "XGBoost":
    library.XGBGetLastError.restype = ctypes.c_char_p
    library.XGBoosterCreate(None, length, ctypes.byref(model))
    failed = library.XGBoosterLoadModel(model, place) or library.XGBoosterSaveModelToBuffer(
        model, b'{"format": "json"}', ctypes.byref(length), ctypes.byref(text)
    )
    written = library.XGBGetLastError() if failed else ctypes.string_at(text, length.value)
else:
    library.LGBM_GetLastError.restype = ctypes.c_char_p
    failed = library.LGBM_BoosterCreateFromModelfile(
        place, ctypes.byref(ctypes.c_int()), ctypes.byref(model)
    ) or library.LGBM_BoosterGetLoadedParam(model, ctypes.c_int64(0), ctypes.byref(length), None)
    written = library.LGBM_GetLastError() if failed else b""
sys.stdout.buffer.write(b"\\0\\0answer" + (b"1" if failed else b"0") + written)
sys.stdout.flush()
os._exit(0)
"""
"""Loads a file by the library's C interface; writes 0 and what XGBoost makes of the model as JSON, or 1 and the error."""


MARK = b"\0\0answer"


def loaded_elsewhere(place: Path, name: str, package: Any) -> bytes:
    """Load a file in another process: the model as XGBoost writes it, as JSON; nothing for LightGBM, whose text is its own."""
    limit = SECONDS + SECONDS_PER_MEGABYTE * place.stat().st_size / 1e6
    core = package.core if name == "XGBoost" else package.basic
    command = [sys.executable, "-I", "-S", "-c", TRIAL, os.fspath(core._LIB._name), str(place), name]
    try:
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        raise BrokenFileError(f"{place} is damaged: {name} did not load it within {limit:.0f} s; save the model again") from None
    if ended.returncode != 0:
        cause = how_it_ended(ended.returncode, ended.stderr)
        raise BrokenFileError(f"{place} is damaged: loading it with {name} was {cause}; save the model again")
    _, marked, answer = ended.stdout.rpartition(MARK)  # LightGBM writes warnings in front of it
    if not marked or answer[:1] != b"0":
        reason = answer[1:].decode(errors="replace").strip().splitlines()
        raise BrokenFileError(
            f"{place} cannot be read as a model of {name} ({reason[0] if reason else 'no reason'}); save it again"
        )
    return answer[1:]


def wrong_with_lightgbm(content: bytes) -> str | None:
    """The first thing that is wrong with the trees of a model text; None where each is a tree with one entry for each node."""
    for end in ("end of trees", "end of parameters") if b"\nparameters:" in content else ("end of trees",):
        if f"\n{end}\n".encode() not in content:
            return f"it has no line {end!r}, so a part is missing"
    _, _, parameters = content.partition(b"\nparameters:")
    for line in parameters.partition(b"\nend of parameters")[0].split(b"\n"):
        if line.strip() and PARAMETER.fullmatch(line) is None:
            return f"the parameter {line[:40].decode('utf-8', 'replace')!r} is not [name: value]"
    try:
        model = ModelText.parse(content.decode("utf-8", "replace"))
        head = dict(line.partition("=")[::2] for line in model.head)
        n_features = int(head["max_feature_idx"]) + 1
        stop = content.index(b"\nend of trees\n") + 1
        marks = [*(found.start() for found in re.finditer(rb"^Tree=", content[:stop], re.MULTILINE)), stop]
        if "tree_sizes" in head and head["tree_sizes"].split() != [str(b - a) for a, b in pairwise(marks)]:
            return "tree_sizes are not those of its trees"
        return next((f"tree {t}: {w}" for t, tree in enumerate(model.trees) if (w := _wrong_block(tree, n_features))), None)
    except (ValueError, KeyError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"


def _wrong_block(tree: Mapping[str, str], n_features: int) -> str | None:
    """What is wrong with a tree of LightGBM's text."""
    n = int(tree["num_leaves"])
    if n < 1:
        return f"num_leaves is {n}"
    expected = dict.fromkeys(("left_child", "right_child", *SPLIT_KEYS), n - 1) | dict.fromkeys(LEAF_KEYS, n)
    optional = ("split_gain", "internal_value", "internal_weight", "internal_count", "leaf_weight", "leaf_count")
    for key, length in expected.items():
        found = numbers(dict(tree), key).size
        if found != length and not (found == 0 and (key in optional or n == 1)):
            return f"{key} has {found} numbers, of {n} leaves it has {length}"
    if n == 1:
        return None if len(tree["leaf_value"].split()) == 1 else "leaf_value has not one number"
    left, right = children(dict(tree))
    for side in (left, right):
        if (side > n - 2).any():
            return f"a child is {side[side > n - 2][0]}, which is no node"
    left, right = (np.where(side < 0, n - 2 - side, side) for side in (left, right))
    wrong = _wrong_children(left, right, 2 * n - 1, spare=False)
    feature = numbers(dict(tree), "split_feature")
    if wrong is None and not ((feature >= 0) & (feature < n_features) & (feature % 1 == 0)).all():
        wrong = f"split_feature is not from 0 to {n_features - 1} throughout"
    return wrong or _wrong_categories(tree)


def _wrong_categories(tree: Mapping[str, str]) -> str | None:
    """What is wrong with the lists of categories in a tree of LightGBM's text."""
    decision, threshold = (numbers(dict(tree), key) for key in ("decision_type", "threshold"))
    places = threshold[decision.astype(np.int64) & CATEGORICAL > 0]
    n, ends = int(tree.get("num_cat", "0")), numbers(dict(tree), "cat_boundaries")
    if n and (ends.size != n + 1 or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != len(tree["cat_threshold"].split())):
        return "cat_boundaries and cat_threshold do not fit together"
    return None if ((places >= 0) & (places < n) & (places % 1 == 0)).all() else "a threshold names no list of categories"


def wrong_with_xgboost(document: Mapping[str, Any]) -> str | None:
    """The first thing that is wrong with the trees of a model's JSON; None where each is a tree with one entry for each node."""
    try:
        model = trees_in(dict(document))
        shape = document["learner"]["learner_model_param"]
        n_features = int(shape["num_feature"])
        n_groups = max(1, int(shape["num_class"]), int(shape.get("num_target", 1)))
        n = len(model["trees"])
        ends, groups = np.array(model.get("iteration_indptr", [0, n])), np.array(model["tree_info"], dtype=np.int64)
        names, types = (document["learner"].get(key) or [] for key in ("feature_names", "feature_types"))
        if {len(names), len(types)} - {0, n_features} or not {*types} <= TYPES:
            return f"feature_names and feature_types do not describe {n_features} features"
        if groups.size != n or ((groups < 0) | (groups >= n_groups)).any():
            return f"tree_info does not say which of {n_groups} outputs each of {n} trees has"
        if ends[0] != 0 or ends[-1] != n or (np.diff(ends) < 0).any():
            return f"iteration_indptr does not divide {n} trees into rounds"
        weight = model.get("weight_drop", document["learner"]["gradient_booster"].get("weight_drop"))
        if weight is not None and len(weight) != n:
            return f"weight_drop has {len(weight)} numbers for {n} trees"
        return next((f"tree {t}: {w}" for t, tree in enumerate(model["trees"]) if (w := _wrong_tree(tree, n_features))), None)
    except (LookupError, TypeError, ValueError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"


def _wrong_tree(tree: Mapping[str, Any], n_features: int) -> str | None:
    """What is wrong with a tree of XGBoost's JSON."""
    n = int(tree["tree_param"]["num_nodes"])
    lengths = {key: len(tree[key]) for key in PER_NODE if (key in tree or key != "split_type") and len(tree[key]) != n}
    if lengths or n < 1:
        return f"{', '.join(f'{key} has {size} entries' for key, size in lengths.items())}; it has {n} nodes"
    left, right = (np.array(tree[key], dtype=np.int64) for key in ("left_children", "right_children"))
    split = left >= 0
    if ((right >= 0) != split).any():
        return f"node {int(np.argmax((right >= 0) != split))} has one child"
    wrong = _wrong_children(left, right, n, spare=True)
    feature = np.array(tree["split_indices"], dtype=np.int64)[split]
    if wrong is None and ((feature < 0) | (feature >= n_features)).any():
        wrong = f"split_indices is not from 0 to {n_features - 1} throughout"
    if wrong is None and "categories" in tree:
        first, size = (np.array(tree[key], dtype=np.int64) for key in ("categories_segments", "categories_sizes"))
        nodes = np.array(tree["categories_nodes"], dtype=np.int64)
        fit = first.size == size.size == nodes.size and ((first >= 0) & (size >= 0)).all()
        if not fit or (first + size > len(tree["categories"])).any() or not np.isin(nodes, np.arange(n)).all():
            wrong = "categories, categories_nodes, categories_segments and categories_sizes do not fit together"
    return wrong


def _wrong_children(left: NDArray[np.int64], right: NDArray[np.int64], n: int, *, spare: bool) -> str | None:
    """Why the children of n nodes form no tree from node 0 on; nodes from ``len(left)`` on, and those with -1, are leaves.

    Only with `spare` may there be nodes that are in no tree, as XGBoost leaves them behind when it prunes.
    """
    seen = np.zeros(n, dtype=bool)
    level = np.zeros(1, dtype=np.int64)
    while level.size:
        if ((level < 0) | (level >= n)).any():
            return f"a child is {level[(level < 0) | (level >= n)][0]}, which is no node"
        seen[level] = True
        splits = level[level < len(left)]
        splits = splits[left[splits] >= 0]
        level = np.concatenate([left[splits], right[splits]])
        if np.unique(level).size < level.size or (seen[level[(level >= 0) & (level < n)]]).any():
            return "a node is a child twice, or above itself"
    return None if spare or seen.all() else f"node {np.argmin(seen)} is nobody's child"
