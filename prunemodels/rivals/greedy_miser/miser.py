"""The base of both GreedyMiser estimators: from examples and prices to trees, margins and costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from formulations.arguments import Count, Finite, Positive, Range, Share, check_argument, check_arguments
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import as_rows
from prunemodels.models.costs import column_prices, example_costs, staged_costs
from prunemodels.models.labelled_samples import Sample, rows_to_predict, split, training_sample
from prunemodels.models.losses import Loss, LossName, class_targets
from prunemodels.rivals.greedy_miser.boosting import BoostedTrees, Schedule, boost, staged_margins
from prunemodels.rivals.greedy_miser.growth import GrowthLimits
from prunemodels.rivals.histograms import MOST_BINS, TrainingRows

SETTINGS: dict[str, Any] = {
    "n_estimators": Count,
    "max_depth": Annotated[int, Range(1, 16)],
    "min_samples_leaf": Count,
    "max_bins": Annotated[int, Range(2, MOST_BINS)],
    "n_iter_no_change": Count | None,
    "lam": Finite,
    "tol": Finite,
    "learning_rate": Positive,
    "subsample": Annotated[float, Range(0, 1, open_below=True)],
}
"""What each setting has to be."""


def check_settings(estimator: Any) -> None:
    """Refuse settings that are out of range.

    Raises
    ------
    InvalidInputError
        for the first one found.
    """
    check_arguments(estimator, SETTINGS)
    if estimator.n_iter_no_change is not None:
        check_argument("validation_fraction", estimator.validation_fraction, Share)
    check_argument("loss", getattr(estimator, "loss", "squared_error"), LossName)


class GreedyMiser(BaseEstimator):  # type: ignore[misc]
    """See `GreedyMiserClassifier`; subclasses define the meaning of their margins."""

    ensemble_: Ensemble

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X, y
            training examples; NaN is a missing value.
        sample_weight
            shape (N,), >= 0: weights of the examples in the loss.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            naming the argument, its value, and what to do; it is a ValueError too.
        """
        check_settings(self)
        sample = training_sample(self, X, y, sample_weight).of_weight()
        items, limits = self._prices()
        classes, y_codes = self._encoded(sample.y)
        sample = replace(sample, y=y_codes)
        rng = check_random_state(self.random_state)
        valid = None
        if self.n_iter_no_change is not None:
            sample, kept = split(sample, self.validation_fraction, rng, y_codes if is_classifier(self) else None)
            valid = self._rows(kept, classes)
        loss = self._loss_of(classes)
        names = getattr(self, "feature_names_in_", None)
        names = None if names is None else tuple(names)
        grown = boost(self._rows(sample, classes), valid, loss, items, limits, self._schedule(), rng, names)
        self._keep(grown, items, loss)
        if classes is not None:
            self.classes_ = classes
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, shape (N,)."""
        return self._decided(self._margins(X))

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """The result of `predict` after each stage."""
        for F in self._staged_margins(X):
            yield self._decided(F)

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row pays, shape (N,): the items that its own paths through the trees need, each once, and its splits.

        Items that are paid once for all examples are left out; `staged_cost` has them.

        In GreedyMiser's own accounting every example pays for every feature of the model: `model_cost_`.
        """
        rows = self._seen(X)
        return example_costs(self.ensemble_, rows, self.cost_items_, evaluation_cost=self.evaluation_cost)

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a row after each stage, shape (stages,), items paid once for all included."""
        rows = self._seen(X)
        return staged_costs(
            self.ensemble_, rows, self.cost_items_, evaluation_cost=self.evaluation_cost, stage=self.stage_of_tree_
        )

    def _keep(self, grown: BoostedTrees, items: CostItems, loss: Loss) -> None:
        self.ensemble_, self.baseline_ = grown.trees, grown.baseline
        self.stage_of_tree_, self.output_of_tree_ = grown.stage, grown.output
        self.model_cost_, self.validation_loss_ = grown.model_cost, grown.validation_loss
        self.n_estimators_ = len(grown.model_cost)
        self.cost_items_, self._loss = items, loss

    def _seen(self, X: Any) -> NDArray[np.float32]:
        """Checked rows, as the trees read them."""
        check_is_fitted(self)
        return as_rows(rows_to_predict(self, X), self.n_features_in_)

    def _staged_margins(self, X: Any) -> Iterator[NDArray[np.float64]]:
        rows = self._seen(X)
        return staged_margins(self.ensemble_, self.baseline_, self.stage_of_tree_, self.output_of_tree_, rows)

    def _margins(self, X: Any) -> NDArray[np.float64]:
        """Margins after all stages, shape (N, K)."""
        *_, last = self._staged_margins(X)
        return last

    def _rows(self, sample: Sample, classes: NDArray[Any] | None) -> TrainingRows:
        """Examples for boosting: targets for classes are 0 and 1, in one column for each class, or one column for two."""
        y: NDArray[Any] = np.asarray(sample.y)
        targets = y.astype(np.float64)[:, None] if classes is None else class_targets(y, len(classes))
        return TrainingRows(as_rows(sample.X, self.n_features_in_), targets, sample.weight)

    def _encoded(self, y: NDArray[Any] | None) -> tuple[NDArray[Any] | None, NDArray[Any]]:
        """The classes and the number of each label's class; for regression None and the targets themselves."""
        raise NotImplementedError

    def _loss_of(self, classes: NDArray[Any] | None) -> Loss:
        """The loss that the trees minimise."""
        raise NotImplementedError

    def _decided(self, F: NDArray[np.float64]) -> NDArray[Any]:
        """Predictions from margins, in a new array."""
        raise NotImplementedError

    def _prices(self) -> tuple[CostItems, GrowthLimits]:
        """Prices of the columns that `fit` saw, refused if they do not fit."""
        n, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        items, evaluation = column_prices(self.costs, n, names, evaluation_cost=self.evaluation_cost)
        return items, GrowthLimits(self.max_depth, self.min_samples_leaf, float(self.lam), evaluation)

    def _schedule(self) -> Schedule:
        rate, rows = float(self.learning_rate), float(self.subsample)
        patience, progress = self.n_iter_no_change, self.verbose > 0
        return Schedule(self.n_estimators, rate, rows, self.max_bins, patience, float(self.tol), progress)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
