"""Read forests of scikit-learn as an `Ensemble`.

All models that average trees are read: random forests, extra trees, bagged trees, and single trees. Boosted models, which add
up their trees, have no error that is a mean over trees, and are refused by name.

Compiled code, scikit-learn's and ours, follows trees' arrays without a check, so they are looked at first. A tree with n nodes on
d features is sound if its children c satisfy  node < c < n,  each node but the root is the child of one node, splits ask for
features 0 to d - 1, no threshold is missing, and every node has a finite value for each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.tree._tree import Tree, _build_pruned_tree_py

from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from formulations.instance.ensemble import Ensemble
from formulations.instance.tree_loss import TreeLoss
from formulations.memory import too_large
from formulations.sparse_arrays import check_sparse
from prunemodels.models.columns import trace_pipeline
from prunemodels.models.trees import joined, one_tree

FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
BAGS = (BaggingClassifier, BaggingRegressor)
TREES = (DecisionTreeClassifier, DecisionTreeRegressor)

GRADIENT_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
HIST_GRADIENT_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)

OTHER_LIBRARIES = ("xgboost", "lightgbm", "catboost")
"""Packages whose models `prunemodels.other_libraries` reads."""

REFUSED = {
    "Boost": "boosted trees add up, so they have no mean error over trees",
    "IsolationForest": (
        "its trees predict nothing: a score is the depth at which a row is alone, pruning changes that depth, and no labels say "
        "which error that would be"
    ),
    "RandomTreesEmbedding": "its trees predict nothing, they number leaves",
    "Surviv": (
        "its trees predict survival curves; prune a RandomForestRegressor that was trained on its risk scores, or keep "
        "scikit-survival's own forest"
    ),
}
"""Kinds of models that cannot be pruned, by a part of their names, and why."""

SUPPORTED = "RandomForest*, ExtraTrees*, Bagging* of decision trees, DecisionTree*"


@dataclass(frozen=True, eq=False)
class TreeView:
    """One tree of a forest: its estimator, and which columns and classes of the forest it sees."""

    estimator: Any
    columns: NDArray[np.int64]
    classes: NDArray[np.int64]


def library_of(model: Any) -> str:
    """The package of a model's class, or of a class that it derives from: one of `OTHER_LIBRARIES`, or another."""
    packages = [kind.__module__.split(".")[0] for kind in type(model).__mro__]
    return next((p for p in packages if p in OTHER_LIBRARIES), packages[0])


def is_boosted(model: Any) -> bool:
    """Whether `read_model` is for a model of this class, rather than `read_forest`."""
    return library_of(model) in OTHER_LIBRARIES or isinstance(model, GRADIENT_BOOSTING + HIST_GRADIENT_BOOSTING)


def is_tree(forest: Any) -> bool:
    """Whether it is a single tree."""
    return isinstance(forest, TREES)


def final_step(model: Any) -> Any:
    """The model at the end of a pipeline; any other model itself."""
    while isinstance(model, Pipeline):
        model = model.steps[-1][1]
    return model


def pruned_tree(tree: Tree, is_leaf: NDArray[np.bool_]) -> Tree:
    """A copy of a tree with the given nodes, shape (n,), as leaves, and without what is below them."""
    pruned = Tree(tree.n_features, np.array(tree.n_classes, dtype=np.intp), tree.n_outputs)
    _build_pruned_tree_py(pruned, tree, is_leaf.astype(np.uint8))
    return pruned


def tree_views(forest: Any) -> list[TreeView]:
    """The trees of a fitted forest, in order; those of the last step of a `Pipeline`."""
    forest = final_step(forest)
    _check_kind(forest)
    if not hasattr(forest, "tree_" if is_tree(forest) else "estimators_"):
        raise NotFittedForestError.of(forest)
    trees = [forest] if is_tree(forest) else list(forest.estimators_)
    for tree in trees:
        if not is_tree(tree):
            raise UnsupportedModelError(
                f"the {type(forest).__name__} averages {type(tree).__name__} models, not decision trees; "
                f"what can be pruned: {SUPPORTED}"
            )
        if tree.n_outputs_ != 1:
            raise UnsupportedModelError(
                f"the {type(forest).__name__} predicts {tree.n_outputs_} outputs; train and prune one forest for each output"
            )
    given = [np.asarray(c) for c in forest.estimators_features_] if isinstance(forest, BAGS) else None
    wrong = wrong_with_forest(forest, trees, given)
    if wrong is not None:
        raise InvalidInputError(f"the {type(forest).__name__} is damaged: {wrong}; train it again")
    columns = given or [np.arange(forest.n_features_in_)] * len(trees)
    n_classes = len(forest.classes_) if is_classifier(forest) else 1
    return [TreeView(tree, c, _classes_of(forest, tree, n_classes)) for tree, c in zip(trees, columns, strict=True)]


def _check_kind(forest: Any) -> None:
    # exact types: subclasses such as IsolationForest or RandomTreesEmbedding predict something else
    kinds = (*FORESTS, *BAGS, *TREES)
    if type(forest) not in kinds and not any(isinstance(forest, k) and type(forest).predict is k.predict for k in kinds):
        hint = _hint(forest)
        raise UnsupportedModelError(f"{type(forest).__name__} cannot be pruned; what can be: {SUPPORTED}{hint}")


def _hint(forest: Any) -> str:
    """What to do with a model that is refused."""
    if type(forest).__module__.split(".")[0] in OTHER_LIBRARIES:
        return "; for forests of other libraries see problem_from_model (averaged) and prune_boosted"
    for word, reason in REFUSED.items():
        if word in type(forest).__name__:
            taken = "; prune_boosted takes them" if "GradientBoosting" in type(forest).__name__ else ""
            return f"; {reason}{taken}"
    return ""


def _classes_of(forest: Any, tree: Any, n_classes: int) -> NDArray[np.int64]:
    """The indices of the tree's classes among the forest's (a tree of a bag may know fewer classes)."""
    if not is_classifier(forest) or isinstance(forest, TREES) or len(tree.classes_) == n_classes:
        return np.arange(n_classes)
    return np.asarray(tree.classes_, dtype=np.int64)


def read_forest(forest: Any) -> Ensemble:
    """The trees of a fitted scikit-learn forest as arrays.

    Parameters
    ----------
    forest
        a fitted RandomForest*, ExtraTrees*, Bagging* of decision trees, or DecisionTree*; binary, multi-class, or
        a regressor with one target. Or a fitted `Pipeline` that ends with one: its trees test features that the steps before
        make from raw columns, see ``Ensemble.made``.

    Returns
    -------
    Ensemble
        class fractions as node values, in the order of ``forest.classes_``. A regression is judged by the criterion of its
        trees: squared error, absolute error, or Poisson deviance.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError, InvalidInputError
        see `tree_views`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> ensemble = pm.read_forest(forest)
    >>> ensemble
    Ensemble(8 trees, 84 splits, 10 features, classification)
    """
    return ReadForest.of(forest).ensemble


def read_trees(forest: Any) -> Ensemble:
    """`read_forest` that also takes an `Ensemble`."""
    return forest if isinstance(forest, Ensemble) else read_forest(forest)


@dataclass(frozen=True, eq=False)
class ReadForest:
    """A model that was checked and read: what needs its trees is handed this, and reads nothing again."""

    model: Any  # as it was given: a forest, a `Pipeline` that ends with one, or an `Ensemble`
    trees: Sequence[TreeView]  # its trees as scikit-learn holds them; none of an `Ensemble`
    ensemble: Ensemble

    @classmethod
    def of(cls, model: Any) -> ReadForest:
        """Read a fitted forest; an `Ensemble` is read already."""
        if isinstance(model, Ensemble):
            return cls(model, (), model)
        views = tree_views(model)
        forest = final_step(model)
        made = None if forest is model else trace_pipeline(model)
        classes = np.asarray(forest.classes_) if is_classifier(forest) else None
        trees = []
        for view in views:
            tree = view.estimator.tree_
            value = np.zeros((tree.node_count, 1 if classes is None else len(classes)))
            value[:, view.classes] = tree.value[:, 0, :]
            feature = view.columns[np.maximum(tree.feature, 0)]  # at leaves -2
            trees.append(
                one_tree(tree.children_left, tree.children_right, feature, tree.threshold, tree.missing_go_to_left != 0, value)
            )
        names = getattr(forest, "feature_names_in_", None) if made is None else made.feature_names
        ensemble = joined(trees).ensemble(
            int(forest.n_features_in_),
            classes,
            None if names is None else tuple(str(x) for x in names),
            task="regression" if classes is None else "classification",
            judged_by=regression_loss(views[0].estimator) if classes is None else None,
            made=made,
        )
        return cls(model, views, ensemble)

    def under_costs(self, misclassification_costs: Any) -> ReadForest:
        """The same trees, judged by misclassification costs, see `Ensemble.under_costs`; None: as they are."""
        costs = misclassification_costs
        return self if costs is None else replace(self, ensemble=self.ensemble.under_costs(costs))

    @property
    def views(self) -> Sequence[TreeView]:
        """The trees as scikit-learn holds them; refused for an `Ensemble`, which has arrays alone."""
        if isinstance(self.model, Ensemble):
            raise UnsupportedModelError(
                "an Ensemble holds trees alone, neither training rows nor estimators of scikit-learn; measure its errors on "
                "labelled rows, errors=pm.samples.Given(X, y), and read a pruning of it from `kept`"
            )
        return self.trees

    @property
    def forest(self) -> Any:
        """The estimator whose trees they are: the last step of a `Pipeline`."""
        return final_step(self.model)


def regression_loss(tree: Any) -> TreeLoss:
    """The loss that a regression tree's criterion minimises: the squared error but for two criteria."""
    criterion = tree.criterion
    return TreeLoss(criterion if criterion in ("absolute_error", "poisson") else "squared_error")


def check_columns(X: Any, names: tuple[str, ...] | None, label: str = "X") -> None:
    """Refuse tables that are not in memory, or whose columns are not in the order in which the forest was trained."""
    if isinstance(X, (str, Path)) or hasattr(X, "count_rows") or hasattr(X, "chunk_rows"):
        raise InvalidInputError(
            f"{label} is a {type(X).__name__}, not rows in memory; read it with pandas, or take problem_from_table, GivenTable, "
            "evaluate, evaluate_path or hold_out, which read files and pyarrow datasets in chunks"
        )
    if issparse(X):
        check_sparse(X, label)
    columns = getattr(X, "column_names", getattr(X, "columns", None))
    if names is None or columns is None:
        return
    given = [str(c) for c in columns]
    if len(given) == len(names) and given != list(names):
        place = next(k for k, (a, b) in enumerate(zip(given, names, strict=True)) if a != b)
        raise InvalidInputError(
            f"{label} has the column {given[place]!r} in place {place}, the forest was trained with {names[place]!r} there; "
            "select the columns in the training order: X[forest.feature_names_in_]"
        )


BYTES_OF_FEATURE = 200
"""Memory for each feature that any use of a forest takes at least: a name, a price, an item."""


def wrong_with_forest(forest: Any, trees: list[Any], columns: list[NDArray[np.int64]] | None) -> str | None:
    """The first thing that is wrong with a fitted forest of these trees, None where it is sound.

    For a bag, `columns` has the columns of the forest that each tree sees; else it is None.
    """
    given = forest.n_features_in_
    if not isinstance(given, (int, np.integer)) or isinstance(given, bool) or given < 1:
        return f"n_features_in_ is {str(given)[:40]}"
    n_features = int(given)
    size = too_large(BYTES_OF_FEATURE * n_features)
    if size is not None:
        return f"n_features_in_ is {n_features:,}, which {size}"
    if not trees:
        return "it has no trees"
    names = getattr(forest, "feature_names_in_", None)
    if names is not None and (np.shape(names) != (n_features,) or len({str(name) for name in names}) < n_features):
        return f"feature_names_in_ has not one name for each of {n_features} features"
    classes = forest.classes_ if is_classifier(forest) else None
    if classes is not None and (np.ndim(classes) != 1 or not len(classes) or len(set(classes.tolist())) < len(classes)):
        return "classes_ is no list of different classes"
    if columns is not None and len(columns) != len(trees):
        return f"it has the columns of {len(columns)} trees, and {len(trees)} trees"
    for t, tree in enumerate(trees):
        seen = None if columns is None else columns[t]
        wrong = _wrong_with_columns(seen, n_features)
        wrong = wrong or _wrong_with_classes(tree, classes, whole=columns is None)
        wrong = wrong or wrong_with_tree(tree, n_features if seen is None else len(seen))
        if wrong is not None:
            return f"tree {t}: {wrong}"
    return None


def _wrong_with_columns(columns: NDArray[np.int64] | None, n_features: int) -> str | None:
    if columns is None:
        return None
    if columns.ndim != 1 or columns.dtype.kind not in "iu" or not columns.size:
        return "its columns are no whole numbers"
    outside = columns[(columns < 0) | (columns >= n_features)]
    return f"it sees column {outside[0]} of {n_features}" if outside.size else None


def _wrong_with_classes(tree: Any, classes: Any, *, whole: bool) -> str | None:
    """A tree of a bag may know some of the forest's classes, by their numbers; other trees know all."""
    if classes is None:
        return None
    known = np.asarray(tree.classes_)
    if known.ndim != 1 or len(known) > len(classes) or (whole and len(known) != len(classes)):
        return f"it has classes of shape {known.shape}, the forest has {len(classes)}"
    if len(known) < len(classes):
        numbers = known.astype(np.int64)
        if (
            (numbers != known).any()
            or numbers.min() < 0
            or numbers.max() >= len(classes)
            or len(set(numbers.tolist())) < len(known)
        ):
            return "its classes are not among the forest's"
    return None


def wrong_with_tree(estimator: Any, n_features: int) -> str | None:
    """The first thing that is wrong with the arrays of a fitted decision tree on so many features, None where it is sound."""
    tree = estimator.tree_
    if not isinstance(tree, Tree):
        return f"tree_ is a {type(tree).__name__}"
    if tree.n_features != n_features or estimator.n_features_in_ != n_features:
        return f"it is for {tree.n_features} features, the forest has {n_features} for it"
    # sizes first: all arrays below are as long as they say
    n, n_values = tree.node_count, len(estimator.classes_) if is_classifier(estimator) else 1
    if n < 1 or tree.n_outputs != 1 or tree.value.shape != (n, 1, n_values):
        return f"it has {n} nodes with values of shape {tree.value.shape} for {n_values} classes and 1 outputs"
    if is_classifier(estimator) and np.ravel(estimator.n_classes_).tolist() != [n_values]:
        return f"n_classes_ is {str(estimator.n_classes_)[:40]} for {n_values} classes"
    # the nodes are one tree, whose parents come before their children
    split = tree.children_left != -1
    if (split != (tree.children_right != -1)).any():
        return "a node has one child"
    if not sound_nodes(split, tree.children_left, tree.children_right, tree.feature, n_features):
        return "it points outside of its own arrays, or in a circle"
    children = np.concatenate([tree.children_left[split], tree.children_right[split]])
    if (np.bincount(children, minlength=n)[1:] != 1).any():
        return "a node has no parent, or two"
    # numbers that cannot be compared or averaged
    if np.isnan(tree.threshold[split]).any():
        return "a threshold is missing"
    if not np.isfinite(tree.value).all() or (is_classifier(estimator) and (tree.value < 0).any()):
        return "a value is not finite, or a negative share of a class"
    weight = tree.weighted_n_node_samples
    if not np.isfinite(weight).all() or (weight < 0).any() or weight[0] <= 0 or (tree.n_node_samples < 0).any():
        return "a node has no finite weight of examples"
    return None


def sound_nodes(
    split: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], n_features: int
) -> bool:
    """Whether the children of every split have larger indices than it, and all features exist."""
    ids = np.flatnonzero(split)
    children = all(((child[ids] > ids) & (child[ids] < len(split))).all() for child in (left, right))
    return children and bool(((feature[ids] >= 0) & (feature[ids] < n_features)).all())
