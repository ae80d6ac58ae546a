"""A model of another library as arrays: its trees, and how their leaves become predictions.

    margin_o(x) = base_o + sum over the trees t of output o of scale_t * leaf value of x in t                (1)

Regression and two classes have one output, more classes one each. Averaged forests have scale_t = 1 / (trees of the output).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from formulations.arguments import checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import as_rows, leaves_of, n_examples
from formulations.sparse_arrays import dense_array, without_duplicates
from prunemodels.models.columns import TracedColumns, trace_pipeline
from prunemodels.models.costs import Costs, column_items, cost_items, features_named_in
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.response import Link, Response, SecondClass, TwoClassRule, merged
from prunemodels.models.trees import CategorySet, Cells, Trees, cast_rows, mean_of_leaves, pruned_ends, pruned_nodes
from prunemodels.models.user_columns import UserColumns

NEARLY_ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this size for zero."""


@dataclass(frozen=True, eq=False)
class ModelForest:
    """The trees of a model and how their leaves become predictions.

    Parameters
    ----------
    ensemble
        the trees; ``value``, shape (n, 1), is what a node would add to the margin as a leaf: ``scale * leaf_value``.
    leaf_value
        shape (n, 1): the same without the scale, in the model's own floating-point type, as an exported leaf holds it.
    classes
        the labels, in the order of the outputs (two for one output); None for regression.
    output
        int32, shape (T,): the output that each tree adds to.
    scale
        float64, shape (T,): see (1).
    base
        float64, shape (number of outputs,): see (1).
    link
        how margins become predictions.
    sharpness
        alpha of the sigmoid ``1 / (1 + exp(-alpha * margin))``.
    averaged
        whether an output is a mean of trees that each predict it, rather than a sum of corrections: a forest, not boosting.
    source
        the model itself (not a copy), for `to_model`.
    cells
        for thresholds that are doubles: see `Cells`; None where the library casts data to float32.
    missing
        the number that stands for a missing value besides NaN (XGBoost's `missing`).
    zero_missing
        bool, shape (n_features,): where LightGBM takes zeros for missing values.
    zero_near
        whether numbers as small as 1e-35 count as 0, as in LightGBM.
    revalued
        whether values were changed after the model was read, so that an export has to write the values of all leaves.
    second
        where, of two classes with one output, the library predicts the second: its rounded probability decides in XGBoost and
        LightGBM, the margin in scikit-learn.
    category_columns
        what the ensemble's last features are made from: see `categories`.
    codes
        how a user's columns become numbers, see `prunemodels.models.user_columns`; None: they are numbers.
    absent_missing
        whether entries that a sparse matrix does not store are missing values, as to XGBoost; False: they are zeros.
    pipeline
        the fitted ``Pipeline`` that ends with the model: `rows` then reads raw columns, and these have the prices. None: there is
        none.
    decision
        the probability from which on the model itself predicts the second of two classes; None: the likelier class.

    Examples
    --------
    >>> from xgboost import XGBClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, y_train
    >>> model = XGBClassifier(n_estimators=10, max_depth=2, n_jobs=1).fit(X_train, y_train)
    >>> trees = pm.read_model(model)
    >>> trees.ensemble.n_trees, trees.n_outputs, trees.averaged
    (10, 1, False)
    """

    ensemble: Ensemble
    leaf_value: NDArray[np.floating]
    classes: NDArray[Any] | None
    output: NDArray[np.int32]
    scale: NDArray[np.float64]
    base: NDArray[np.float64]
    link: Link
    sharpness: float
    averaged: bool
    source: Any
    cells: Mapping[int, Cells] | None = None
    missing: float = np.nan
    zero_missing: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    zero_near: bool = False
    revalued: bool = False
    second: SecondClass = "probability > 1/2"
    category_columns: tuple[CategorySet, ...] = ()
    codes: UserColumns | None = None
    absent_missing: bool = False
    pipeline: Any = None
    decision: TwoClassRule | None = None

    @cached_property
    def made(self) -> TracedColumns | None:
        """How the ensemble's features are made from the raw columns of a pipeline; None without one."""
        traced = trace_pipeline(self.pipeline)
        return None if traced is None else traced.before(replace(self, pipeline=None).rows, self.columns_of_features)

    @property
    def n_columns(self) -> int:
        """Number of columns that the model itself reads: the ensemble's features less those made from categories."""
        return self.ensemble.n_features - len(self.category_columns)

    @property
    def column_names(self) -> tuple[str, ...] | None:
        """Names of the columns that the model itself reads, or None."""
        names = self.ensemble.feature_names
        return None if names is None else names[: self.n_columns]

    def _model_forest(self) -> ModelForest:
        """Itself: what takes models, such as `OnDemandPredictor`, takes a forest that was read before."""
        return self

    @checked
    def spelled_as(self, names: Sequence[str]) -> ModelForest:
        """The same forest, its columns spelled as a user does: LightGBM stores blanks in their names as underscores.

        A pipeline's raw columns keep their names.

        Parameters
        ----------
        names
            what the user calls the columns, and possibly others. Where one of LightGBM's is missing, nothing changes.
        """
        spelled = self._spelling(names)
        if spelled is None or spelled == self.column_names or self.made is not None:
            return self
        return replace(self, ensemble=replace(self.ensemble, feature_names=spelled + self.ensemble.names[self.n_columns :]))

    def _spelling(self, names: Sequence[str]) -> tuple[str, ...] | None:
        """The names of the columns, spelled as in `names` where these are the same but for LightGBM's underscores."""
        own = self.column_names
        spelling = {name.replace(" ", "_"): name for name in names} | {name: name for name in names}
        if not self.zero_near or own is None or not set(own) <= set(spelling):
            return own
        return tuple(spelling[name] for name in own)

    @checked
    def items(self, costs: Costs) -> CostItems:
        """The prices of the ensemble's features, for prices of the columns, see `prunemodels.models.costs.cost_items`.

        At the end of a pipeline they are prices of raw columns.

        Raises
        ------
        InvalidInputError
            for prices that do not fit the columns.
        """
        if self.made is not None:
            return cost_items(costs, replace(self.ensemble, made=self.made))
        items = column_items(costs, self.n_columns, self._spelling(features_named_in(costs)))
        return replace(items, needs=items.needs + tuple(items.needs[made.feature] for made in self.category_columns))

    @property
    def n_outputs(self) -> int:
        """Number of margins of a row: 1 for regression and two classes."""
        return int(self.base.shape[0])

    @checked
    def with_values(self, value: NDArray[np.float64]) -> ModelForest:
        """The forest whose nodes add `value`, shape (n, 1), to the margin, rounded to numbers that an exported leaf can hold."""
        ensemble, scale = self.ensemble, self.scale[self.ensemble.tree_of, None]
        changed = value != ensemble.value
        unscaled = np.divide(value, scale, out=np.zeros_like(value), where=scale != 0)
        leaf_value = np.where(changed, unscaled.astype(self.leaf_value.dtype), self.leaf_value)
        value = np.where(changed, leaf_value.astype(np.float64) * scale, ensemble.value)
        return replace(self, leaf_value=leaf_value, ensemble=replace(ensemble, value=value), revalued=True)

    @checked
    def rows(self, X: Any, name: str = "X") -> NDArray[np.float32]:
        """Examples as the float32 rows that `Ensemble` routes exactly as the library routes X; raw rows of a pipeline.

        Missing values become NaN. For a library that compares doubles, a number within rounding of a threshold moves to the
        side where it belongs; all others become ``float32(x)``.

        Raises
        ------
        InvalidInputError
            for a table that is empty, not numeric, has other columns, or, where the library refuses them, infinities; for rows
            that a step of the pipeline refuses.
        """
        if self.made is not None:
            return np.asarray(self.made.features(X, name))
        check_columns(X, self._spelling([str(c) for c in getattr(X, "columns", ())]), name)
        if self.absent_missing and issparse(X):
            X = with_absent_missing(X)
        if not self.casts:
            return as_rows(X, self.n_columns, name)
        table = X if self.codes is None else self.codes.numbers(X, self.n_columns, name)
        rows = self.routed(as_doubles(table, self.n_columns, name))
        return rows if self.cells is not None else as_rows(rows, self.ensemble.n_features, name)

    @property
    def columns_of_features(self) -> NDArray[np.int64]:
        """int64, shape (n_features,): the column of a table of examples that each feature of the ensemble is, or is made from."""
        made = [test.feature for test in self.category_columns]
        return np.concatenate([np.arange(self.n_columns), np.array(made, dtype=np.int64)])

    def per_feature(self, prices: Any) -> Any:
        """Prices for each column as prices for each feature of the ensemble; anything but a list or an array as it is."""
        one_each = isinstance(prices, (list, tuple, np.ndarray)) and np.shape(prices) == (self.n_columns,)
        return [prices[f] for f in self.columns_of_features] if one_each and self.category_columns else prices

    @property
    def names_categories(self) -> bool:
        """Whether the model knows categories by the names that a table has for them, so that columns may hold words."""
        return self.codes is not None and self.codes.categories != {}

    @property
    def casts(self) -> bool:
        """Whether `routed` does more than round to float32."""
        return self.cells is not None or not np.isnan(self.missing) or bool(self.category_columns) or self.codes is not None

    @checked
    def routed(self, doubles: NDArray[np.float64], features: Sequence[int] | None = None) -> NDArray[np.float32]:
        """The numbers that `rows` makes of doubles; the columns are `features`, or all. Those made from categories follow."""
        place = {f: k for k, f in enumerate(range(self.n_columns) if features is None else features)}
        none = np.zeros(len(doubles), dtype=bool)  # of a column that no split tests
        made = [test.right(doubles[:, place[test.feature]]) if test.feature in place else none for test in self.category_columns]
        return np.column_stack([self._numbers(doubles, features), *made]).astype(np.float32)

    def _numbers(self, doubles: NDArray[np.float64], features: Sequence[int] | None) -> NDArray[np.float32]:
        """`routed` without the columns that are made from categories."""
        if self.cells is None:
            with np.errstate(over="ignore"):
                rows = doubles.astype(np.float32)
            return np.where(rows == np.float32(self.missing), np.float32(np.nan), rows)
        columns = range(self.n_columns) if features is None else features
        values = doubles.copy()
        if self.zero_near:
            values[np.abs(values) <= NEARLY_ZERO] = 0.0
        if self.zero_missing.any():
            values[(values == 0) & self.zero_missing[list(columns)]] = np.nan
        return cast_rows(values, {k: self.cells[f] for k, f in enumerate(columns) if f in self.cells})

    @checked
    def margins(self, rows: NDArray[np.float32], kept: NDArray[np.bool_] | None = None) -> NDArray[np.float64]:
        """(1) in float64, shape (N, n_outputs).

        Parameters
        ----------
        rows
            from `rows`.
        kept
            bool, shape (n,): the splits of a pruning; default: all.
        """
        ensemble = self.ensemble
        ends = pruned_ends(ensemble, ensemble.is_split if kept is None else kept)
        leaves = ends[leaves_of(ensemble, rows)]
        margins = np.tile(self.base, (rows.shape[0], 1))
        for t in range(ensemble.n_trees):
            margins[:, self.output[t]] += ensemble.value[leaves[t], 0]
        return margins

    @checked
    def predictions(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """Labels or numbers, shape (N,), that margins stand for."""
        return self.response().predictions(margins)

    @checked
    def response(self, decision: TwoClassRule | None = None) -> Response:
        """How sums of the trees' values become predictions; `decision` is what a wrapper around the model changes."""
        ensemble, decision = self.ensemble, merged(self.decision, decision)
        value = np.zeros((ensemble.n_nodes, self.n_outputs))
        value[np.arange(ensemble.n_nodes), self.output[ensemble.tree_of]] = ensemble.value[:, 0]
        dtype = self.leaf_value.dtype
        return Response(value, self.base, 1, dtype, self.link, self.sharpness, self.classes, self.second, decision)

    def __repr__(self) -> str:
        kind = "averaged" if self.averaged else "boosted"
        return f"ModelForest({self.ensemble!r}, {kind}, {self.n_outputs} output{'s' * (self.n_outputs > 1)}, {self.link})"


def link_of(objective: str, links: Mapping[str, Link]) -> Link:
    """How a library turns margins into predictions; refuses objectives without a loss of bounded curvature."""
    if objective not in links:
        raise UnsupportedModelError(
            f"a model that was trained for {objective!r} cannot be pruned; what can be: squared error, log loss of two or more "
            "classes with one tree a class"
        )
    return links[objective]


def forest_from_trees(
    trees: Trees,
    *,
    n_features: int,
    feature_names: tuple[str, ...] | None,
    classes: NDArray[Any] | None,
    output: NDArray[np.int32],
    scale: NDArray[np.float64],
    base: NDArray[np.float64],
    link: Link,
    source: Any,
    compares_doubles: bool = True,
    **other: Any,
) -> ModelForest:
    """A `ModelForest` of trees in arrays; splits get the values that they predict as leaves.

    Thresholds that are doubles are compared with doubles, or with float32. `other` are further fields of `ModelForest`.
    """
    names = feature_names
    trees, made = trees.with_columns(n_features)
    if made and names is not None:
        names = (*names, *(f"categories {k} of {names[test.feature]}" for k, test in enumerate(made)))
    cells = trees.cells() if compares_doubles else None
    ensemble = trees.ensemble(n_features + len(made), None, names, cells)
    cover = np.zeros(ensemble.n_nodes) if trees.cover is None else trees.cover
    leaf_value = mean_of_leaves(ensemble.left, ensemble.right, trees.leaf_value, cover)
    value = leaf_value.astype(np.float64) * scale[ensemble.tree_of, None]
    given: dict[str, Any] = {"sharpness": 1.0, "averaged": False, "category_columns": made, **other}
    whole = replace(ensemble, value=value)
    return ModelForest(whole, leaf_value, classes, output, scale, base, link, source=source, cells=cells, **given)


def pruned_part(forest: ModelForest, kept: NDArray[np.bool_], trees: int) -> tuple[ModelForest, NDArray[np.int64]]:
    """The first trees of a forest, in which all splits outside of `kept`, shape (n,), are leaves, and the nodes that remain."""
    smaller, nodes = pruned_nodes(forest.ensemble, kept, trees)
    part = replace(
        forest,
        ensemble=smaller,
        leaf_value=forest.leaf_value[nodes],
        output=forest.output[:trees],
        scale=forest.scale[:trees],
        source=None,
    )
    return part, nodes


def with_absent_missing(X: Any) -> NDArray[Any]:
    """A sparse matrix as an array with NaN in the place of entries that it does not store."""
    stored = without_duplicates(X, "X", rounded=True).tocoo()
    rows = np.full(X.shape, np.nan, dtype=np.result_type(X.dtype, np.float32))
    rows[stored.row, stored.col] = stored.data
    return rows


def as_doubles(X: Any, n_features: int, name: str) -> NDArray[np.float64]:
    """Check a table of examples and copy it as float64; a pandas NA is NaN, infinities pass."""
    if issparse(X):
        X = dense_array(X, "X")
    elif hasattr(X, "toarray"):
        X = X.toarray()
    try:
        if hasattr(X, "iloc"):
            X = X.to_numpy(dtype=np.float64, na_value=np.nan)
        table = np.array(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"{name} has a column that is not numeric ({error}); encode it as the model's training data was"
        ) from error
    if table.ndim != 2 or table.shape[1] != n_features:
        raise InvalidInputError(f"{name} has shape {table.shape}; the model needs a table with {n_features} columns")
    if n_examples(table) == 0:
        raise InvalidInputError(f"{name} is empty: at least one example is needed")
    return table
