"""Fitted models of trees in files: joblib, skops, and the files of boosting libraries.

`prunemodels.cascades.cascade_files` has cascades.

Loading a joblib file runs whatever code its author put there, so the caller must say that it is trusted. A skops file is read
without running code from it: only types of scikit-learn, XGBoost and LightGBM are accepted, and a tree's arrays are checked
before they are used. The libraries' own files are data, see `boosted_models`.
"""

from __future__ import annotations

import json
import os
import re
import warnings
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import (
    BrokenFileError,
    InvalidInputError,
    MissingPackageError,
    NotFittedForestError,
    UnsupportedModelError,
)
from formulations.extras import naming_extras, package
from formulations.stored_arrays import array_header, check_archive
from prunemodels.files import FOREST_ENDINGS as FOREST_ENDINGS
from prunemodels.files.boosted_models import BOOSTED_ENDINGS, ENDINGS, KINDS, dump_boosted, load_boosted
from prunemodels.files.outputs import OutputFiles
from prunemodels.models.forests.reading import final_step, library_of
from prunemodels.models.forests.training_rows import SAME_TREES, VERSION, version_of
from prunemodels.models.tree_model import HoldsTrees, PrunesTrees, TreeModel, fitted_model, tree_model_of

MODEL_ENDINGS = (*FOREST_ENDINGS, *BOOSTED_ENDINGS)
"""Endings of files that hold a model of any kind."""

TRUSTED = (
    "collections.OrderedDict",
    "functools.partial",
    "lightgbm.basic.Booster",
    "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.sklearn.LGBMRegressor",
    "prunemodels.models.unused_columns.RestoredColumns",
    "prunemodels.stages.table_preparation.PreparedModel",
    "prunemodels.stages.table_preparation.TableColumns",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.metrics._classification.balanced_accuracy_score",
    "sklearn.metrics._scorer._CurveScorer",
    "sklearn.metrics._scorer._Scorer",
    "sklearn.utils._metadata_requests.MetadataRequest",
    "sklearn.utils._metadata_requests.MethodMetadataRequest",
    "sklearn.tree._tree.Tree",
    "sklearn.utils.validation.check_array",
    "xgboost.core.Booster",
    "xgboost.sklearn.XGBClassifier",
    "xgboost.sklearn.XGBRFClassifier",
    "xgboost.sklearn.XGBRFRegressor",
    "xgboost.sklearn.XGBRegressor",
    "numpy.dtype",
    "sklearn.compose._column_transformer.make_column_selector",
    "sklearn.feature_selection._univariate_selection.f_classif",
    "sklearn.feature_selection._univariate_selection.f_regression",
)
"""Types that a model of trees, or a pipeline of scikit-learn's own steps, holds beyond those that skops trusts.

skops cannot check trees; `prunemodels.models.forests.reading` and `Ensemble` do. Functions inside of a ``partial`` need trust
of their own.
"""


@checked
def load_forest(file: str | Path, *, trust_pickle: bool = False, trusted: Sequence[str] = ()) -> Any:
    """Read a fitted forest or boosted model, or a pipeline that ends with one, from a file.

    Parameters
    ----------
    file
        ``.skops`` or ``.joblib``; for boosted models also XGBoost's ``.json`` and ``.ubj``, LightGBM's ``.txt`` and CatBoost's
        ``.json``, as their ``save_model`` writes them. The last come as a `ModelForest`, which needs no CatBoost.
    trust_pickle
        True: a joblib file may be loaded, which runs any code that its author put into it.
    trusted
        types and functions of your own that a skops file may hold, such as the function of a `FunctionTransformer`.

    Returns
    -------
    Any
        the model; of a joblib file that holds an estimator or result of ours, its pruned model, see `save_forest`.

    Raises
    ------
    InvalidInputError
        for another ending, or a joblib file without `trust_pickle`.
    BrokenFileError
        if the file is absent, damaged, written by another scikit-learn version, or holds types that no forest needs.
    UnsupportedModelError, NotFittedForestError
        if it holds anything but a fitted model of trees.

    Examples
    --------
    >>> import tempfile
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.save_forest(forest, f"{folder}/forest.skops")
    ...     again = pm.load_forest(f"{folder}/forest.skops")
    ...
    >>> bool((again.predict(X_test) == forest.predict(X_test)).all())
    True
    """
    place = Path(file)
    if place.suffix in BOOSTED_ENDINGS:
        forest = load_boosted(place)
    else:
        forest = saved_model(load_model(place, (*TRUSTED, *trusted), "forest", trust_pickle=trust_pickle))
    _check_forest(forest, place)
    return forest


def load_model(place: Path, trusted: Sequence[str], kind: str, *, trust_pickle: bool) -> Any:
    """Read a model from a ``.skops`` or ``.joblib`` file; its contents are not checked yet.

    A skops file may hold the types `trusted` beyond those that skops trusts; messages call the model a `kind`.
    """
    check_model_file(place, kind, trust_pickle=trust_pickle)
    return _load_skops(place, trusted, kind) if place.suffix == ".skops" else load_joblib(place, kind)


def check_model_file(place: Path, kind: str, *, trust_pickle: bool) -> None:
    """Refuse a file that is missing, has another ending, or is a joblib file without trust; arguments as in `load_model`."""
    if place.suffix not in FOREST_ENDINGS:
        boosted = "" if kind == "cascade" else f", or {KINDS}"
        raise InvalidInputError(
            f"{place} has the ending {place.suffix!r}; give a {kind} as {' or '.join(FOREST_ENDINGS)}{boosted}"
        )
    if not os.path.isfile(place):
        raise BrokenFileError(f"there is no file {place}; give the path of a fitted {kind}")
    if place.suffix == ".joblib" and not trust_pickle:
        raise InvalidInputError(
            f"{place} is a joblib file, and loading one runs any code that it contains; if you trust where it comes from, "
            f"say so with --trust-pickle (in Python: trust_pickle=True); better, save the {kind} with skops.io.dump"
        )


@checked
def save_forest(forest: Any, file: str | Path) -> None:
    """Write a model whole or not at all, in the format of the file's ending.

    Parameters
    ----------
    forest
        a fitted forest or boosted model; or an estimator or result of ours, such as a `BudgetPrunedForestClassifier`, a
        `PrunedForest` or a `BoostedPruning`. Of these the pruned model is written, which predicts the same, and `load_forest`
        returns it. Settings, paths and solutions are not written: they hold the rows on which costs were measured. To keep them,
        use joblib or ``skops.io.dump`` yourself.
    file
        ``.skops`` or ``.joblib``; or the library's own format: ``.json`` or ``.ubj`` for XGBoost, ``.txt`` for LightGBM. A pruned
        model of CatBoost, which CatBoost cannot hold, is written as a `ModelForest`, as ``.joblib`` only.

    Raises
    ------
    InvalidInputError
        for an ending in which the model is not written.
    NotFittedForestError
        for an estimator of ours that is not fitted.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pm.save_forest(forest, f"{folder}/forest.skops")
    ...     [file.name for file in Path(folder).iterdir()]
    ...
    ['forest.skops']
    """
    model = saved_model(forest)
    check_ending(model, Path(file))
    with OutputFiles() as outputs:
        dump_forest(model, outputs.aside(file))


def saved_model(model: Any) -> Any:
    """What is written for a model, and read: itself, or the pruned model that a result of ours holds."""
    model = fitted_model(model)
    if not isinstance(model, PrunesTrees):
        return model
    source = model.forest.source
    return model._model_forest() if source is None or library_of(source) == "catboost" else model.to_model()


def check_ending(model: Any, path: Path) -> None:
    """Refuse a path whose ending names no format in which the model can be written."""
    own = ENDINGS.get(library_of(model), ())
    known = (".joblib",) if isinstance(model, HoldsTrees) else (*FOREST_ENDINGS, *own)
    if path.suffix not in known:
        kind = "a forest" if len(known) == len(FOREST_ENDINGS) else f"a {type(model).__name__}"
        raise InvalidInputError(f"{path} has the ending {path.suffix!r}; give {kind} as {' or '.join(known)}")


def dump_forest(forest: Any, path: Path) -> None:
    """Write a model directly to a path, in the format of the file's ending; see `check_ending`."""
    if path.suffix in ENDINGS.get(library_of(forest), ()):
        dump_boosted(forest, path)
    elif path.suffix == ".skops":
        package("skops.io").dump(forest, path, compression=zipfile.ZIP_DEFLATED)
    elif path.suffix == ".joblib":
        import joblib

        joblib.dump(forest, path, compress=3)
    else:
        check_ending(forest, path)


def _load_skops(place: Path, trusted: Sequence[str], kind: str) -> Any:
    from sklearn.exceptions import InconsistentVersionWarning

    skops_io = package("skops.io")
    try:
        with zipfile.ZipFile(place) as archive:
            check_archive(archive, place)
            schema = archive.read("schema.json").decode()
            _check_tree_nodes(json.loads(schema), archive, place)
    except BrokenFileError:
        raise
    except Exception as error:  # a damaged archive can cause any error
        raise BrokenFileError(
            f"{place} is not a skops file, or a damaged one ({error}); write it again with skops.io.dump"
        ) from error
    versions = set(re.findall(r'"_sklearn_version": \{[^}]*"content": "\\"([^"\\]+)\\""', schema))
    _check_versions(place, versions, kind)
    try:
        unknown = sorted(set(skops_io.get_untrusted_types(file=place)) - set(trusted))
    except Exception as error:  # a schema that skops did not write can cause any error
        raise _damaged(place, error, kind) from error
    if unknown:
        raise _untrusted(place, unknown, kind)
    try:
        with warnings.catch_warnings(), naming_extras():
            warnings.simplefilter("ignore", InconsistentVersionWarning)  # the versions are checked
            return skops_io.load(place, trusted=list(trusted))
    except MissingPackageError:
        raise
    except Exception as error:
        raise _damaged(place, error, kind) from error


def _check_tree_nodes(schema: Any, archive: zipfile.ZipFile, place: Path) -> None:
    """Refuse trees whose sizes contradict their arrays: scikit-learn believes both numbers when it makes a tree.

    Its constructor reads as many numbers of classes as there are outputs, and its state says how many nodes there are.
    """
    nodes: dict[Any, dict[str, Any]] = {}
    trees: list[dict[str, Any]] = []
    # a part that occurs twice is written once and then referred to, so all parts are known before any tree is looked at
    todo = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if part.get("__loader__") != "CachedNode":
                nodes.setdefault(part.get("__id__"), part)
            if part.get("__loader__") == "TreeNode":
                trees.append(part)
            todo += part.values()
        elif isinstance(part, list):
            todo += part

    def whole(part: dict[str, Any]) -> dict[str, Any]:
        """The part itself, or the one that it refers to."""
        return nodes[part["__id__"]] if part.get("__loader__") == "CachedNode" else part

    for tree in trees:
        _, classes, outputs = whole(tree["__reduce__"]["args"])["content"]
        state = whole(tree["content"])["content"]
        n_outputs, n_nodes = (json.loads(whole(part)["content"]) for part in (outputs, state["node_count"]))
        for part, length in ((classes, n_outputs), (state["nodes"], n_nodes)):
            name = str(whole(part)["file"])
            shape, _ = array_header(archive, name, place)
            if type(length) is not int or shape != (length,):
                raise BrokenFileError(f"{name} in {place} has the shape {shape}, its tree says {length}; save the model again")


def _untrusted(place: Path, unknown: list[str], kind: str) -> BrokenFileError:
    """The error for types that are not trusted."""
    needed = "cascade of scikit-learn's models" if kind == "cascade" else "scikit-learn forest"
    refusal = f"{place} holds types that no {needed} needs: {', '.join(unknown)}; loading them could run code. "
    if kind == "cascade":
        return BrokenFileError(f"{refusal}If you trust them, name them: load_cascade(path, trusted=[...])")
    if any(name.startswith("prunemodels.cascades.") for name in unknown):
        return BrokenFileError(
            f"{place} holds a cascade, not a forest; read it with prunemodels.load_cascade, "
            "or see what it does with `prunemodels report`"
        )
    return BrokenFileError(
        f"{refusal}Save the forest alone, not the object that holds it; if they are steps of a pipeline that you trust, name "
        "them: load_forest(path, trusted=[...])"
    )


def load_joblib(place: Path, kind: str) -> Any:
    """Read a model from a joblib file that is trusted, written by this version of scikit-learn or, a forest, by a similar one."""
    import joblib
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", InconsistentVersionWarning)
        try:
            with naming_extras():
                model = joblib.load(place)
        except MissingPackageError:
            raise
        except Exception as error:  # a damaged pickle raises almost anything
            if "incompatible dtype" in str(error):  # a pickle has the trees before the version
                raise _other_version(place, None) from error
            raise _damaged(place, error, kind) from error
    versions = set()
    for warning in said:
        if isinstance(warning.message, InconsistentVersionWarning):
            versions.add(str(warning.message.original_sklearn_version))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    _check_versions(place, versions, kind)
    return model


def _check_versions(place: Path, versions: set[str], kind: str) -> None:
    """Refuse models of other versions, but for forests of versions whose trees are the same."""
    import sklearn

    for version in sorted(versions - {sklearn.__version__}):
        if kind == "cascade" or version_of(version) not in SAME_TREES or VERSION not in SAME_TREES:
            raise _other_version(place, version)


def _other_version(place: Path, version: str | None) -> BrokenFileError:
    import sklearn

    writer = f"scikit-learn {version}" if version else "another version of scikit-learn"
    install = f"scikit-learn=={version}" if version else "the version that wrote it"
    return BrokenFileError(
        f"{place} was written by {writer}, this is scikit-learn {sklearn.__version__}, which may read its trees wrongly; "
        f"install {install}, or train and save the forest again"
    )


def _damaged(place: Path, error: Exception, kind: str) -> BrokenFileError:
    return BrokenFileError(f"{place} cannot be read as a {kind} ({type(error).__name__}: {error}); save it again")


def _check_forest(forest: Any, place: Path) -> None:
    """Refuse a model whose arrays compiled code must not follow, and one that lacks what predictions need."""
    try:
        trees = tree_model_of(forest)
        if library_of(final_step(forest)) == "sklearn":  # our own trees, and other libraries' models, were read whole
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # one without names warns, and so may numbers that overflow
                final_step(forest).predict(_any_row(trees, final_step(forest).n_features_in_))
    except (UnsupportedModelError, NotFittedForestError):
        raise
    except Exception as error:  # a file can lack any attribute, or give it any type
        raise _damaged(place, error, "forest") from error


def _any_row(model: TreeModel, n_columns: int) -> NDArray[Any]:
    """A row that the model takes, shape (1, n_columns): zeros, and of columns of categories the first one that it knows."""
    named = {} if model.forest is None or model.forest.codes is None else model.forest.codes.categories
    row = np.zeros((1, n_columns), dtype=object if named else np.float32)
    for f, categories in (named or {}).items():
        row[0, f] = categories[0] if len(categories) else np.nan
    return row
