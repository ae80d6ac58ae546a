"""Boosted models in their libraries' own files: XGBoost's JSON and UBJSON, LightGBM's text, CatBoost's JSON.

These files are data. Reading one runs no code from it: the libraries parse their own formats, and CatBoost's JSON is parsed here.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from formulations.errors import BrokenFileError, PruneModelsError
from formulations.extras import package
from prunemodels.files.trial_loading import loaded_elsewhere, wrong_with_lightgbm, wrong_with_xgboost
from prunemodels.models.forests.reading import library_of
from prunemodels.models.libraries.catboost_models import catboost_forest

ENDINGS: dict[str, tuple[str, ...]] = {"xgboost": (".json", ".ubj"), "lightgbm": (".txt",)}
"""The formats in which models are written, by library."""

BOOSTED_ENDINGS = (".json", ".ubj", ".txt")
"""All endings that are read."""

KINDS = "a model of XGBoost (.json, .ubj), LightGBM (.txt) or CatBoost (.json)"

WITH_TREES = ("gbtree", "dart")
"""XGBoost's boosters that have trees; others are refused for what they are when their trees are asked for."""

HEAD = 64
"""Characters of a text's first line that decide what it is."""


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
    first = content[:HEAD].decode("utf-8", "replace").partition("\n")[0].strip()
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
