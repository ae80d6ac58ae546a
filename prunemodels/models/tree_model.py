"""Any fitted model as its trees: the one place that knows which kinds of models there are.

Functions that take a model of any kind call `tree_model_of` and use the `TreeModel` only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.pipeline import Pipeline

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, EvaluationCost
from formulations.instance.cost_sample import in_order_of
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, leaves_of
from formulations.instance.tree_loss import USUAL_LOSS
from formulations.instance.usage import Usage
from prunemodels.models.columns import trace_pipeline
from prunemodels.models.costs import Costs, cost_items, saved_prices
from prunemodels.models.forests.reading import check_columns, final_step, is_boosted, read_trees
from prunemodels.models.labelled_samples import forest_losses, losses_of
from prunemodels.models.response import Response, TwoClassRule, average_response, merged, unwrapped

if TYPE_CHECKING:
    from prunemodels.models.libraries.model_forest import ModelForest


@dataclass(frozen=True, eq=False)
class HowPruned:
    """How a forest was pruned: all optimal prunings, the forest before, and the choice."""

    path: PruningPath
    forest: Any
    chosen: Pruning | LimitedSolution
    cut: float | None = None  # from which fraction on the second class is predicted; None: the likelier one


class HoldsModel(ABC):
    """An object that predicts with a fitted model of another class: it is read as that model."""

    def _how_pruned(self) -> HowPruned:
        """How the model was pruned; refused where it does not know."""
        raise InvalidInputError(f"a {type(self).__name__} does not know how it was pruned; give a PruningPath with its forest")

    @abstractmethod
    def _fitted_model(self) -> Any:
        """The model that predicts; a `NotFittedForestError` before there is one."""


@runtime_checkable
class HoldsTrees(Protocol):
    """A `ModelForest`, or a pruning of one: it is read without its library. These classes are not imported before a use."""

    def _model_forest(self) -> ModelForest:
        """The trees that predict."""


@runtime_checkable
class PrunesTrees(HoldsTrees, Protocol):
    """A pruning of a `ModelForest`, which can be written as a model of the forest's library."""

    @property
    def forest(self) -> ModelForest:
        """The trees before."""

    def to_model(self) -> Any:
        """The pruned model, of the class of the given one."""


def fitted_model(model: Any) -> Any:
    """What predicts: the model itself, or the one that it holds, as a `BudgetPrunedForestClassifier` does."""
    while isinstance(model, HoldsModel):
        model = model._fitted_model()
    return model


@dataclass(frozen=True, eq=False)
class TreeModel:
    """A fitted model, its trees, and how its predictions come from them."""

    model: Any  # the fitted model
    # its trees; for a `Pipeline` those of its last step, with ``made``, which makes their features from raw columns.
    ensemble: Ensemble
    # how the trees' values become predictions, for models of other libraries; None for scikit-learn's forests, whose values are
    # class fractions or means.
    forest: ModelForest | None = None
    decision: TwoClassRule | None = None  # what a calibration or a decision threshold around the model changes; None: nothing

    @cached_property
    def response(self) -> Response:
        """How the values of the trees become probabilities, numbers and labels."""
        if self.forest is None:
            return average_response(self.ensemble, self.decision)
        return self.forest.response(self.decision)

    @property
    def classes(self) -> NDArray[Any] | None:
        """The labels; None for regression."""
        return self.ensemble.classes if self.forest is None else self.forest.classes

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        if self.forest is None:
            return self.ensemble.task
        return "regression" if self.classes is None else "classification"

    @property
    def measure(self) -> str:
        """What the mean of `losses` is called, see `Ensemble.measure`."""
        return USUAL_LOSS[self.task].measure if self.forest is not None else self.ensemble.measure

    @property
    def n_columns(self) -> int:
        """Number of columns of a table of examples."""
        if self.forest is None or self.ensemble.made is not None:
            return len(self.ensemble.column_names)
        return self.forest.n_columns

    @property
    def columns_by_name(self) -> tuple[str, ...] | None:
        """Names of the columns of a table of examples; None for a model that was trained without names."""
        made = self.ensemble.made
        if made is not None:
            return made.names if made.named else None
        return self.ensemble.feature_names if self.forest is None else self.forest.column_names

    @property
    def reads_words(self) -> bool:
        """Whether columns may hold words: the steps of a pipeline judge them, or the model's own categories."""
        return self.ensemble.made is not None or (self.forest is not None and self.forest.names_categories)

    def priced(self, costs: Costs | None, evaluation_cost: Any) -> tuple[Costs | None, Any]:
        """The prices that are given, or else those that the model was pruned with and holds."""
        if costs is not None:
            return costs, evaluation_cost
        found = saved_prices(self.model, len(self.ensemble.column_names))
        if found is None:
            return costs, evaluation_cost
        own, evaluation = found
        free = not np.any(evaluation_cost)
        return own, (evaluation if free and len(evaluation) == self.ensemble.n_features else evaluation_cost)

    def items(self, costs: Costs | None) -> CostItems:
        """The prices of the trees' features, see `prunemodels.models.costs.cost_items`."""
        if costs is None:
            raise InvalidInputError(
                "costs is None, and the forest was not pruned with prices; give one number, or one for each feature"
            )
        if self.forest is None or self.ensemble.made is not None:
            return cost_items(costs, self.ensemble)
        return self.forest.items(costs)

    def spelled_as(self, names: Sequence[str]) -> TreeModel:
        """The same model, its columns spelled as a user does, see `ModelForest.spelled_as`."""
        if self.forest is None or self.ensemble.made is not None:
            return self
        forest = self.forest.spelled_as(names)
        return replace(self, forest=forest, ensemble=forest.ensemble)

    def like(self, table: Any) -> TreeModel:
        """The same model, where the types of a table may say which columns hold categories, see `read_model`."""
        if self.forest is None or self.forest.codes is None or not isinstance(table, pd.DataFrame):
            return self
        return replace(self, forest=replace(self.forest, codes=self.forest.codes.like(table)))

    def rows(self, X: Any) -> Any:
        """Examples in a form that the trees are routed by; rows of raw columns for a `Pipeline`."""
        if self.forest is not None and self.ensemble.made is None:
            return self.forest.rows(X)
        check_columns(X, self.ensemble.names_to_check)
        return X

    def usage(
        self, X: Any, costs: Costs | None, sample_weight: ArrayLike | None = None, evaluation_cost: EvaluationCost = 0
    ) -> Usage:
        """What predictions of X cost; arguments as in `problem_from_forest`."""
        costs, evaluation_cost = self.priced(costs, evaluation_cost)
        items, evaluation = self.items(costs), self.per_feature(evaluation_cost)
        sample_weight = in_order_of(X, sample_weight, "sample_weight")  # the rows may have no index
        return Usage.build(self.ensemble, items, self.rows(X), sample_weight=sample_weight, evaluation_cost=evaluation)

    def per_feature(self, prices: Any) -> Any:
        """Prices of evaluating a split: one for each feature of the trees where there is one for each column."""
        return prices if self.forest is None else self.forest.per_feature(prices)

    def counting_features(self, usage: Usage) -> Usage:
        """The same rows at a price of 1 for each column and free evaluation: the cost counts distinct columns."""
        if self.forest is None or not self.forest.category_columns:
            return usage.counting_features()
        return Usage.build(self.ensemble, self.items(1), usage.X, sample_weight=usage.every_weight)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels or numbers, shape (n,): those of the model's own ``predict``."""
        if self.forest is None or self.decision is not None:
            return np.asarray(self.model.predict(X))
        return self.response.predictions(self.response.sums(leaves_of(self.ensemble, self._features(X)).T))

    def _features(self, X: Any) -> NDArray[np.float32]:
        """What the trees of a sum compare, for rows of raw columns."""
        rows = self.rows(X)
        return rows if self.ensemble.made is None else features_of(self.ensemble, rows)

    def loss(self, X: Any, y: Any, sample_weight: NDArray[np.float64] | None = None) -> float:
        """The mean loss of a sum of trees, see `prunemodels.models.losses`; NaN for averages of class fractions or
        numbers, and for models whose probabilities are calibrated.
        """
        if self.forest is None or (self.decision and self.decision.calibration):
            return np.nan
        from prunemodels.models.losses import loss_of

        rows = self._features(X)
        return float(np.average(loss_of(self.forest, y, len(rows)).values(self.forest.margins(rows)), weights=sample_weight))

    def losses(self, X: Any, y: Any, entry: Callable[[int], str] | None = None) -> NDArray[np.float64]:
        """The loss of each row's prediction, see `measure` and `forest_losses`; shape (n,)."""
        if self.forest is None:
            return forest_losses(self.model, X, y, self.ensemble.loss, entry)
        return losses_of(self.classes, self.predict(X), y, entry)


def tree_model_of(model: Any) -> TreeModel:
    """The trees of any fitted model that is read.

    These are a forest of scikit-learn, see `read_forest`; a boosted model or one of another library, see `read_model`, or what
    that returned; a `BoostedPruning`; an object that holds one of these, such as a `BudgetPrunedForestClassifier` or a
    `PrunedForest`; one of these at the end of a `Pipeline`, or in a `CalibratedClassifierCV`, `FixedThresholdClassifier`,
    `TunedThresholdClassifierCV` or `FrozenEstimator`.
    """
    if isinstance(model, TreeModel):
        return model
    model = fitted_model(model)
    if isinstance(model, Pipeline):
        return _at_end_of(model, tree_model_of(final_step(model)))
    if isinstance(model, HoldsTrees):
        return _of_sum(model._model_forest())
    inner, decision = unwrapped(model)
    if inner is not model:
        found = tree_model_of(inner)
        return replace(found, model=model, decision=merged(found.decision, decision))
    if not is_boosted(model):
        return TreeModel(model, read_trees(model))
    from prunemodels.models.libraries.reading import read_model

    return _of_sum(read_model(model))


def adds_up(model: Any) -> bool:
    """Whether `tree_model_of` reads the model as a `ModelForest`: told by its classes, without reading its trees."""
    model = fitted_model(model)
    inner = final_step(model) if isinstance(model, Pipeline) else unwrapped(model)[0]
    return isinstance(model, HoldsTrees) or is_boosted(model) if inner is model else adds_up(inner)


def _of_sum(forest: ModelForest) -> TreeModel:
    found = TreeModel(forest.source if forest.source is not None else forest, forest.ensemble, replace(forest, pipeline=None))
    return found if forest.pipeline is None else _at_end_of(forest.pipeline, found)


def _at_end_of(pipeline: Pipeline, last: TreeModel) -> TreeModel:
    """The trees of a pipeline's last step, whose features are made from raw columns."""
    made = trace_pipeline(pipeline) if last.forest is None else replace(last.forest, pipeline=pipeline).made
    if made is None:
        return replace(last, model=pipeline)
    names = last.ensemble.feature_names or made.feature_names
    if names is not None and len(names) != last.ensemble.n_features:
        names = None  # features that the model makes from categories have no names
    return replace(last, model=pipeline, ensemble=replace(last.ensemble, made=made, feature_names=names))


def with_threshold(model: TreeModel, threshold: float) -> TreeModel:
    """The same trees, where the second of two classes is predicted if its probability is at least `threshold`."""
    if model.classes is None or len(model.classes) != 2:
        found = "numbers" if model.classes is None else f"{len(model.classes)} classes"
        raise InvalidInputError(f"threshold is {threshold}, but the model predicts {found}; a threshold is for two classes")
    return replace(model, decision=merged(model.decision, TwoClassRule(threshold=threshold)))
