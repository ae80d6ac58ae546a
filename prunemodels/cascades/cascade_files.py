"""Fitted cascades in files: joblib and skops.

As with forests (`prunemodels.files.forests`), loading a joblib file can run code that its author put into it, so the caller must
state that the file is trusted. A skops file may only hold the types named here, which hold data and run no code from the file.
Compiled code follows the indices in trees without bounds checks, so all trees are checked as soon as they are loaded.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from formulations.arguments import checked
from formulations.errors import BrokenFileError, InvalidInputError, NotFittedForestError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.tree_loss import MEASURES, TreeLoss
from formulations.memory import too_large
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.fitted_cascade import version_of_package
from prunemodels.cascades.learning import ExitSample
from prunemodels.files.boosted_models import BOOSTED_ENDINGS
from prunemodels.files.forests import check_model_file, load_joblib, load_model, save_forest
from prunemodels.models.forests.reading import BYTES_OF_FEATURE, sound_nodes, wrong_with_tree
from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stacking import Stack
from prunemodels.stages.stages import priced_stages
from prunemodels.stages.tree_stages import TreeStages

TRUSTED_IN_CASCADES = (
    "formulations.instance.parametric_closure.ClosureIntegers",
    "formulations.instance.cost_items.CostItems",
    "formulations.instance.ensemble.Ensemble",
    "formulations.instance.tree_loss.TreeLoss",
    "formulations.answers.nested_rows.ClosureCertificate",
    "formulations.answers.nested_rows.ClosurePath",
    "formulations.instance.parametric_closure.ParametricClosure",
    "fractions.Fraction",
    "functools.partial",
    "numpy.dtype",
    "prunemodels.models.columns.pipelines.TracedColumns",
    "prunemodels.models.unused_columns.RestoredColumns",
    "prunemodels.cascades.budget_cascade.BudgetCascadeClassifier",
    "prunemodels.cascades.budget_cascade.BudgetCascadeRegressor",
    "prunemodels.stages.doubt.LearnedDoubt",
    "prunemodels.stages.doubt.MarginDoubt",
    "prunemodels.cascades.exit_path.ExitPath",
    "prunemodels.cascades.learning.CrossFitted",
    "prunemodels.cascades.learning.LearnedExits",
    "prunemodels.cascades.forest_exits.CascadeClassifier",
    "prunemodels.cascades.forest_exits.CascadeRegressor",
    "prunemodels.stages.policy.Cut",
    "prunemodels.stages.policy.ExitPolicy",
    "prunemodels.cascades.chains.Regional",
    "prunemodels.cascades.learning.ExitSample",
    "prunemodels.stages.set_stages.BlendedStage",
    "prunemodels.stages.set_stages.Constant",
    "prunemodels.stages.set_stages.SetStages",
    "prunemodels.stages.stacking.Stack",
    "prunemodels.stages.table_preparation.PreparedModel",
    "prunemodels.stages.table_preparation.TableColumns",
    "prunemodels.stages.tree_stages.TreeStages",
    "prunemodels.statements.promises.Promise",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
)
"""Types in cascades of scikit-learn's models, beyond those that skops trusts by itself.

A partial function is called with what the file holds; the function itself must be one that is trusted, too.
"""


@checked
def save_cascade(cascade: Cascade, file: str | Path, *, force: bool = False) -> None:
    """Write a fitted cascade to a ``.skops`` or ``.joblib`` file; after a failure no partial file remains.

    Parameters
    ----------
    force
        whether a file that exists is overwritten.

    Raises
    ------
    InvalidInputError
        for another file ending, for a file that exists, and for an object that is not a fitted cascade.
    BrokenFileError
        if the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.save_cascade(exits.at_cost(12), f"{folder}/cascade.skops")
    ...     [file.name for file in Path(folder).iterdir()]
    ...
    ['cascade.skops']
    """
    _check_fitted(cascade, "cascade")
    if os.path.exists(file) and not force:
        raise InvalidInputError(f"file is {os.fspath(file)!r}, which exists; name another, or overwrite it with force=True")
    save_forest(storable(cascade), file)


def storable(cascade: Cascade) -> Cascade:
    """The cascade with the same options in forms that every file can hold."""
    if isinstance(getattr(cascade, "costs", None), (pd.DataFrame, pd.Series)):  # skops writes no table; the items say the same
        cascade = copy(cascade).set_params(costs=priced_stages(cascade.stages_).items)
    if isinstance(cascade.mistakes, Mapping):  # skops writes no pairs as keys; the matrix says the same
        cascade = copy(cascade).set_params(mistakes=cascade.policy_.by.matrix)
    return cascade


@checked
def load_cascade(file: str | Path, *, trust_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
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

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, path, y_valid
    >>> cascade = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0).at_cost(5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.save_cascade(cascade, f"{folder}/cascade.skops")
    ...     again = pm.load_cascade(f"{folder}/cascade.skops")
    ...
    >>> bool((again.predict(X_test) == cascade.predict(X_test)).all())
    True
    """
    place = Path(file)
    cascade = load_model(place, (*TRUSTED_IN_CASCADES, *trusted), "cascade", trust_pickle=trust_pickle)
    if not isinstance(cascade, Cascade) or not hasattr(cascade, "exit_path_"):
        raise NotFittedForestError(f"{place} holds a {type(cascade).__name__}, not a fitted cascade; save one with save_cascade")
    try:
        for part in _parts(cascade, set()):
            if not _sound(part):
                raise BrokenFileError(
                    f"a {type(part).__name__} in {place} has arrays that do not fit, or point outside of each other; the file is "
                    "damaged: save the cascade again"
                )
        _try_out(cascade)
    except BrokenFileError:
        raise
    except Exception as error:  # a file can lack any attribute, or give it any type
        writer, own = getattr(cascade, "package_version_", "an unknown version"), version_of_package()
        versions = "" if writer == own else f"; prunemodels {writer} wrote it, this is {own}"
        raise BrokenFileError(
            f"{place} holds a cascade that cannot predict ({type(error).__name__}: {error}){versions}; save the cascade again"
        ) from error
    return cascade


def holds_cascade(file: str | Path, *, trust_pickle: bool = False) -> bool:
    """Whether a file holds a cascade rather than a forest; a skops file is not loaded for this."""
    place = Path(file)
    if place.suffix in BOOSTED_ENDINGS:
        return False
    check_model_file(place, "forest or cascade", trust_pickle=trust_pickle)
    if place.suffix == ".joblib":
        return isinstance(load_joblib(place, "forest or cascade"), Cascade)
    with suppress(OSError, KeyError, ValueError, zipfile.BadZipFile), zipfile.ZipFile(place) as archive:
        schema = json.loads(archive.read("schema.json"))
        if not isinstance(schema, dict) or schema.get("__class__") == "PreparedModel":  # what `prunemodels train` writes
            return False
        return str(schema.get("__module__")).startswith("prunemodels.cascades.")
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
        return wrong_with_tree(part, part.n_features_in_) is None
    if isinstance(part, (HistGradientBoostingClassifier, HistGradientBoostingRegressor)) and hasattr(part, "_predictors"):
        return all(_sound_predictor(tree, part._n_features) for trees in part._predictors for tree in trees)
    if isinstance(part, Ensemble):
        # the constructor checks the arrays, and computes again what the file holds besides
        kinds = [(part.left, "<i4"), (part.right, "<i4"), (part.feature, "<i4"), (part.threshold, "<f8"), (part.value, "<f8")]
        native = all(np.asarray(array).dtype == np.dtype(kind) for array, kind in kinds) and part.missing_left.dtype == np.bool_
        return native and _agree(part, replace(part), ("parent", "depth", "is_split", "tree_of", "roots"))
    if isinstance(part, TreeLoss):
        return part.name in MEASURES and all(len(row) == len(part.costs) for row in part.costs)
    if isinstance(part, CostItems):
        return _agree(part, replace(part), ("price", "paid_once"))
    if isinstance(part, TreeStages):
        e, first = part.ensemble, part.first_stage
        replace(part)
        return (
            first.shape == (e.n_nodes,) and first.dtype == np.int32
            and part.items.n_features == len(part.evaluation) == e.n_features
            and bool((first[~e.is_split] >= part.n_stages).all())
        )  # fmt: skip
    if isinstance(part, Stack):
        S = len(part.weight)
        letters = part.weight.dtype.kind + part.base.dtype.kind + part.stacked.dtype.kind
        sizes = part.weight.shape == (S, S) and part.base.ndim == 2 and len(part.base) == S and part.stacked.shape == (S,)
        return sizes and letters == "ffb"
    if isinstance(part, ExitPolicy):
        S, levels = part.theta.shape
        cut = part.cut is None or (0 <= part.cut.stage < S and part.cut.more.shape == part.go.shape)
        return cut and part.go.shape == (S, levels + 1) and part.go.dtype == np.bool_ and part.theta.dtype.kind == "f"
    if isinstance(part, ExitSample):
        S, N = part.loss.shape
        same = part.cost.shape == part.judged.shape == (S, N) and part.doubt.shape == (S - 1, N) and part.once.shape == (S,)
        return same and part.own.shape == part.weights.shape == (N,) and part.own.dtype == np.bool_
    return True


def _agree(part: Any, again: Any, names: Sequence[str]) -> bool:
    """Whether arrays that follow from others, and that the file may hold as well, are what they should be."""
    return all(name not in part.__dict__ or np.array_equal(part.__dict__[name], getattr(again, name)) for name in names)


def _try_out(cascade: Any) -> None:
    """Run all stages on a few rows of numbers, where the cascade takes numbers; whatever is missing raises."""
    n_features = cascade.n_features_in_
    size = too_large(BYTES_OF_FEATURE * int(n_features))
    if size is not None:
        raise InvalidInputError(f"n_features_in_ is {n_features:,}, which {size}")
    if not cascade.numeric_:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # rows without names warn, and so may numbers that overflow
        rows = np.linspace(-1.0, 10.0, 3)[:, None] * np.ones(n_features)
        cascade.predict(rows)
        cascade.prediction_cost(rows)


def _sound_predictor(tree: Any, n_features: int) -> bool:
    nodes = tree.nodes
    split = nodes["is_leaf"] == 0
    bitsets = nodes["bitset_idx"][split & (nodes["is_categorical"] != 0)]
    inside = len(nodes) > 0 and bool((bitsets < len(tree.raw_left_cat_bitsets)).all())
    return inside and sound_nodes(split, nodes["left"], nodes["right"], nodes["feature_idx"], n_features)
