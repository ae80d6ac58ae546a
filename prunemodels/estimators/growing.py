"""The steps that all estimators share, from examples to a path: split, grow, route, solve."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from formulations.instance.tree_loss import misclassification_loss
from formulations.long_steps import timed_step
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.models.costs import Costs, column_prices
from prunemodels.models.forests.error_samples import ErrorSample, Given, InBag, OutOfBag, stores_errors
from prunemodels.models.forests.problems import problem_from_forest
from prunemodels.models.forests.reading import tree_views
from prunemodels.models.labelled_samples import Sample, rows_to_predict, split
from prunemodels.models.tree_model import HoldsModel, HowPruned
from solvers import pruning_path

LOG = logging.getLogger(__name__)

ERRORS = ("in-bag", "out-of-bag", "validation")


@dataclass(frozen=True, eq=False)
class Grown:
    """A fitted forest, the sample on which its errors are measured, and the validation examples, which are the cost sample."""

    forest: Any
    errors: ErrorSample
    valid: Sample


class PrunedForestEstimator(HoldsModel, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """The common part of all four estimators: growing the forest, computing its path, and predicting with the pruned forest.

    Subclasses have the parameters `estimator`, `costs`, `validation_fraction`, `errors`, `evaluation_cost`,
    `misclassification_costs`, `random_state`.
    """

    _default: ClassVar[type]
    estimator_: Any
    misclassification_costs: Any
    path_: PruningPath

    def _forest(self) -> Any:
        """An unfitted forest: a clone of `estimator`, or the default."""
        return self._default() if self.estimator is None else clone(self.estimator)

    def _check_settings(self, labelled: bool) -> None:
        """Refuse, before any work, an estimator that cannot be pruned and errors that cannot be measured.

        `labelled` says whether the validation examples will have labels.
        """
        forest = self._forest()
        if isinstance(forest, Pipeline):
            raise UnsupportedModelError(
                f"estimator is a Pipeline; put the {type(self).__name__} at the end of the pipeline, or fit the pipeline and "
                "prune it with prune_forest, at the prices of its raw columns"
            )
        with suppress(NotFittedForestError):
            tree_views(forest)
        if is_classifier(forest) != is_classifier(self):
            wanted = "classifier" if is_classifier(self) else "regressor"
            raise UnsupportedModelError(f"{type(self).__name__} prunes a {wanted}, estimator is a {type(forest).__name__}")
        if self.errors is not None and self.errors not in ERRORS:
            raise InvalidInputError(f"errors is {self.errors!r}; give one of {', '.join(map(repr, ERRORS))}, or None")
        if self.errors == "validation" and not labelled:
            raise InvalidInputError(
                "errors are measured on validation examples: set validation_fraction, or give X_valid and y_valid"
            )

    def _grow(self, sample: Sample, given: Sample | None = None) -> Grown:
        """Fit a forest.

        Parameters
        ----------
        sample
            training examples; split by `validation_fraction`, unless validation examples are given.
        """
        sample = sample.of_weight()
        rng = check_random_state(self.random_state)
        if given is not None:
            train, valid = sample, given.of_weight()
        elif self.validation_fraction is None:
            train, valid = sample, Sample(sample.X, None, sample.weight)
        else:
            train, valid = split(sample, self.validation_fraction, rng, sample.y if is_classifier(self) else None)
        forest = self._forest()
        if "random_state" in forest.get_params(deep=False) and forest.get_params(deep=False)["random_state"] is None:
            forest.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        weights = {} if train.weight is None else {"sample_weight": train.weight}
        with timed_step(LOG, "fitting %s on %d rows", type(forest).__name__, len(train)):
            forest.fit(train.X, train.y, **weights)
        return Grown(forest, self._error_sample(forest, train, valid), valid)

    def _path(self, grown: Grown) -> PruningPath:
        """All optimal prunings of a fitted forest."""
        costs = self._costs_of(grown.forest)
        problem = problem_from_forest(grown.forest, grown.valid.array, misclassification_costs=costs, **self._settings(grown))
        return pruning_path(problem, certificate=False)

    def _settings(self, grown: Grown) -> dict[str, Any]:
        """The arguments of `problem_from_forest`, besides the forest and its cost sample."""
        return {
            "costs": self._prices,
            "errors": grown.errors,
            "sample_weight": grown.valid.weight,
            "evaluation_cost": self.evaluation_cost,
        }

    @property
    def _prices(self) -> Costs:
        return 1 if self.costs is None else self.costs

    def _check_prices(self) -> None:
        """Refuse prices that do not fit the columns, before a forest is grown."""
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        column_prices(self._prices, n, names, evaluation_cost=self.evaluation_cost)

    def _check_misclassification_costs(self, y: Any) -> None:
        """Refuse, before a forest is grown, misclassification costs that do not fit the labels."""
        if self.misclassification_costs is not None:
            misclassification_loss(self.misclassification_costs, np.unique(y) if is_classifier(self) else None)

    def _costs_of(self, forest: Any) -> Any:
        """The misclassification costs, or None; a forest that saw fewer classes, as that of a fold may, cannot judge all rows."""
        costs = self.misclassification_costs
        if costs is not None and len(forest.classes_) < len(costs):
            raise InvalidInputError(
                f"misclassification_costs are for {len(costs)} classes, and a part of the examples that a forest is grown on has "
                f"only {np.asarray(forest.classes_).tolist()}; give more examples of the others, or fewer folds"
            )
        return costs

    def _error_sample(self, forest: Any, train: Sample, valid: Sample) -> ErrorSample:
        """The sample on which the nodes' errors are measured."""
        if self.errors == "validation":
            return Given(valid.X, valid.y, valid.weight)
        if self.errors == "out-of-bag":
            return OutOfBag(train.X, train.y, train.weight)
        return InBag() if stores_errors(forest) else InBag(train.X, train.y, train.weight)

    def _keep(self, pruned: PrunedForest) -> None:
        """Set the attributes that all fitted estimators have."""
        self.estimator_ = pruned.estimator
        self.pruning_ = pruned.pruning
        self.path_ = pruned.path
        self.solution_ = pruned.solution
        self.unpruned_estimator_ = pruned.forest
        self.cost_ = pruned.cost
        self.feature_usage_ = pruned.feature_usage

    def _fitted_model(self) -> Any:
        if not hasattr(self, "estimator_"):
            raise NotFittedForestError.of(self)
        return self.estimator_

    def _how_pruned(self) -> HowPruned:
        self._fitted_model()
        chosen = self.pruning_ if self.solution_ is None else self.solution_
        return HowPruned(self.path_, self.unpruned_estimator_, chosen)

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """The feature importances of the pruned forest, if forests of its kind have them."""
        importances: NDArray[np.float64] = self.estimator_.feature_importances_
        return importances

    @property
    def estimators_(self) -> list[Any]:
        """The pruned trees, if forests of its kind have them."""
        trees: list[Any] = self.estimator_.estimators_
        return trees

    def predict(self, X: Any) -> NDArray[Any]:
        """What the pruned forest predicts for each row of X."""
        return np.asarray(self._call("predict", X))

    @available_if(lambda self: _has(self, "apply"))
    def apply(self, X: Any) -> NDArray[np.int64]:
        """The leaf of each pruned tree that each row of X reaches, as the forest's own ``apply`` has it."""
        return np.asarray(self._call("apply", X))

    @available_if(lambda self: _has(self, "decision_path"))
    def decision_path(self, X: Any) -> Any:
        """The nodes of the pruned trees that each row of X passes, as the forest's own ``decision_path`` has them."""
        return self._call("decision_path", X)

    def _call(self, method: str, X: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.estimator_, method)(rows_to_predict(self, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        forest = get_tags(self._default() if self.estimator is None else self.estimator)
        tags.input_tags.allow_nan = forest.input_tags.allow_nan
        tags.input_tags.sparse = forest.input_tags.sparse
        return tags


def _has(estimator: PrunedForestEstimator, method: str) -> bool:
    """Whether the forest, fitted or not, has a method; bags of trees have none that finds leaves."""
    return hasattr(getattr(estimator, "estimator_", None) or estimator.estimator or estimator._default, method)


class ClassProbabilities:
    """The methods and attributes that only classifiers have."""

    _default = RandomForestClassifier

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class fractions of each row of X: the mean over the pruned trees, shape (n, n_classes)."""
        return np.asarray(self._call("predict_proba", X))  # type: ignore[attr-defined]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.asarray(self._call("predict_log_proba", X))  # type: ignore[attr-defined]

    def _keep(self, pruned: PrunedForest) -> None:
        super()._keep(pruned)  # type: ignore[misc]
        self.classes_ = pruned.estimator.classes_
