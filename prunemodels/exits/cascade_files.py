"""Fitted cascades in files: joblib and skops.

As with forests (`prunemodels.files.forests`), loading a joblib file can run code that its author put into it, so the caller must
state that the file is trusted. A skops file may only hold the types named here, which hold data and run no code from the file.
Compiled code follows the indices in trees without bounds checks, so all trees are checked as soon as they are loaded.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from formulations.errors import BrokenFileError, InvalidInputError, NotFittedForestError
from formulations.instance.ensemble import Ensemble
from prunemodels.exits.cascade import Cascade
from prunemodels.files.forests import check_model_file, load_joblib, load_model, save_forest, sound_nodes, sound_tree

TRUSTED_IN_CASCADES = (
    "formulations.instance.closure_integers.ClosureIntegers",
    "formulations.instance.cost_items.CostItems",
    "formulations.instance.ensemble.Ensemble",
    "formulations.instance.parametric_closure.ClosureCertificate",
    "formulations.instance.parametric_closure.ClosurePath",
    "formulations.instance.parametric_closure.ParametricClosure",
    "fractions.Fraction",
    "prunemodels.exits.budget_cascade.BudgetCascadeClassifier",
    "prunemodels.exits.budget_cascade.BudgetCascadeRegressor",
    "prunemodels.exits.doubt.LearnedDoubt",
    "prunemodels.exits.doubt.MarginDoubt",
    "prunemodels.exits.doubt._take_all",
    "prunemodels.exits.exit_path.ExitPath",
    "prunemodels.exits.learning.LearnedExits",
    "prunemodels.exits.named_stages.CascadeClassifier",
    "prunemodels.exits.named_stages.CascadeRegressor",
    "prunemodels.exits.policy.ExitPolicy",
    "prunemodels.exits.set_stages.Constant",
    "prunemodels.exits.set_stages.SetStages",
    "prunemodels.exits.stacking.Stack",
    "prunemodels.exits.tree_stages.TreeStages",
    "prunemodels.exits.validation.CrossFitted",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
"""Types in cascades of scikit-learn's models, beyond those that skops trusts by itself."""


def save_cascade(cascade: Cascade, path: str | Path) -> None:
    """Write a fitted cascade to a ``.skops`` or ``.joblib`` file; after a failure no partial file remains.

    Raises
    ------
    InvalidInputError
        for another file ending, and for an object that is not a fitted cascade.
    BrokenFileError
        if the file cannot be written.
    """
    _check_fitted(cascade, "cascade")
    save_forest(cascade, path)


def load_cascade(path: str | Path, *, trust_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Read a fitted cascade from a ``.skops`` or ``.joblib`` file; its predictions equal those of the saved one bit for bit.

    Parameters
    ----------
    trust_pickle
        True: a joblib file may be loaded, which runs any code that its author put into it.
    trusted
        names of further types that a skops file may hold, for stages from other libraries. For LightGBM
        ``["lightgbm.sklearn.LGBMClassifier", "lightgbm.basic.Booster", "collections.OrderedDict"]``.

    Raises
    ------
    InvalidInputError
        for another ending, or a joblib file without `trust_pickle`.
    BrokenFileError
        if the file is absent, damaged, written by another scikit-learn version, or holds types that are not trusted.
    NotFittedForestError
        if it holds anything but a fitted cascade.
    """
    place = Path(path)
    cascade = load_model(place, (*TRUSTED_IN_CASCADES, *trusted), "cascade", trust_pickle=trust_pickle)
    if not isinstance(cascade, Cascade) or not hasattr(cascade, "exit_path_"):
        raise NotFittedForestError(f"{place} holds a {type(cascade).__name__}, not a fitted cascade; save one with save_cascade")
    for part in _parts(cascade, set()):
        if not _sound(part):
            raise BrokenFileError(
                f"a {type(part).__name__} in {place} points outside its own arrays; the file is damaged: save the cascade again"
            )
    return cascade


def holds_cascade(path: str | Path, *, trust_pickle: bool = False) -> bool:
    """Whether a file holds a cascade rather than a forest; a skops file is not loaded for this.

    Raises
    ------
    InvalidInputError, BrokenFileError
        for another ending, a file that is absent, and a joblib file that is not trusted or cannot be loaded.
    """
    place = Path(path)
    check_model_file(place, "forest or cascade", trust_pickle=trust_pickle)
    if place.suffix == ".joblib":
        return isinstance(load_joblib(place, "forest or cascade"), Cascade)
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(place) as archive:
        schema = json.loads(archive.read("schema.json"))
        return isinstance(schema, dict) and str(schema.get("__module__")).startswith("prunemodels.exits.")
    return False  # the file is damaged; the error of loading it says how


def _check_fitted(cascade: Any, name: str) -> None:
    if not isinstance(cascade, Cascade) or not hasattr(cascade, "exit_path_"):
        raise InvalidInputError(
            f"{name} is a {type(cascade).__name__}; give a fitted cascade, for instance exit_path(...).at_cost(budget)"
        )


def _parts(model: Any, seen: set[int]) -> Iterator[Any]:
    """The model and all objects in it, each once."""
    if id(model) in seen or isinstance(model, (str, bytes, int, float, type)):
        return
    seen.add(id(model))
    if isinstance(model, np.ndarray):
        inside: Any = model.ravel().tolist() if model.dtype == object else ()
    elif isinstance(model, (list, tuple, set)):
        inside = model
    else:
        yield model
        inside = model.values() if isinstance(model, dict) else getattr(model, "__dict__", {}).values()
    for part in inside:
        yield from _parts(part, seen)


def _sound(part: Any) -> bool:
    """Whether all indices that compiled code follows are within their arrays."""
    if isinstance(part, (DecisionTreeClassifier, DecisionTreeRegressor)) and hasattr(part, "tree_"):
        return sound_tree(part)
    if isinstance(part, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)) and hasattr(part, "_predictors"):
        return all(_sound_predictor(tree, part._n_features) for trees in part._predictors for tree in trees)
    if isinstance(part, Ensemble):
        try:
            replace(part)  # its constructor checks the arrays
        except (InvalidInputError, IndexError, ValueError):
            return False
    return True


def _sound_predictor(tree: Any, n_features: int) -> bool:
    nodes = tree.nodes
    split = nodes["is_leaf"] == 0
    bitsets = nodes["bitset_idx"][split & (nodes["is_categorical"] != 0)]
    inside = len(nodes) > 0 and bool((bitsets < len(tree.raw_left_cat_bitsets)).all())
    return inside and sound_nodes(split, nodes["left"], nodes["right"], nodes["feature_idx"], n_features)
