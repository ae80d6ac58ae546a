"""Forests that are grown and pruned by one `fit`, as scikit-learn estimators."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit
from formulations.instance.tree_loss import misclassification_loss
from formulations.long_steps import timed_step
from prunemodels.estimators.fitted_forest import Goal, prune_by
from prunemodels.models.costs import Costs, column_prices
from prunemodels.models.forests.error_samples import ErrorSample, Given, InBag, OutOfBag, stores_errors
from prunemodels.models.forests.problems import problem_of
from prunemodels.models.forests.reading import ReadForest, tree_views
from prunemodels.models.labelled_samples import Sample, group_numbers, other_sample, rows_to_predict, split, training_sample
from prunemodels.models.tree_model import HoldsModel, HowPruned
from prunemodels.points import Rule
from solvers import pruning_path
from solvers.within.solve import Method

LOG = logging.getLogger(__name__)

ERRORS = ("in-bag", "out-of-bag", "validation")


class _BudgetPrunedForest(HoldsModel, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """See `BudgetPrunedForestClassifier`."""

    _default: ClassVar[type]
    estimator_: Any

    def __init__(
        self,
        estimator: Any = None,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        limits: Sequence[Limit] | None = None,
        lam: float | Fraction | None = None,
        max_error_increase: float | None = None,
        choose: Rule = "one_se",
        validation_fraction: float | None = 0.3,
        errors: Literal["in-bag", "out-of-bag", "validation"] | None = None,
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
        method: Method = "best",
        time_limit: float | None = None,
        misclassification_costs: ArrayLike | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.budget = budget
        self.limits = limits
        self.lam = lam
        self.max_error_increase = max_error_increase
        self.choose = choose
        self.validation_fraction = validation_fraction
        self.errors = errors
        self.evaluation_cost = evaluation_cost
        self.method = method
        self.time_limit = time_limit
        self.misclassification_costs = misclassification_costs
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        X_valid: Any = None,
        y_valid: Any = None,
        sample_weight_valid: ArrayLike | None = None,
        groups: Any = None,
    ) -> Self:
        """Grow a forest, compute all its optimal prunings, and keep one.

        Parameters
        ----------
        X, y
            training examples; unless validation examples are given, `validation_fraction` of them is set aside.
        sample_weight
            shape (N,), >= 0: weights in training; the weights of the part set aside are used in cost and error.
        X_valid, y_valid
            validation examples, which are the cost sample; their labels are needed if no `budget`, `limits` or `lam` is given,
            and for ``errors="validation"``.
        sample_weight_valid
            weights of the validation examples.
        groups
            shape (N,): the group of each training example, such as the patient of a visit; none is in both parts.

        Returns
        -------
        self
        """
        # all settings are checked before any work
        goals = self.budget, self.limits, self.lam, self.max_error_increase, self.choose
        goal = Goal.of(*goals, self.method, self.time_limit)
        if X_valid is None and not (y_valid is None and sample_weight_valid is None):
            raise InvalidInputError("X_valid is missing: y_valid or sample_weight_valid is given without it")
        labelled = self.validation_fraction is not None if X_valid is None else y_valid is not None
        self._check_settings(labelled)
        if goal.needs_labels and not labelled:
            raise InvalidInputError(
                "without budget and lam the choice needs labelled examples that the forest was not trained on: set "
                "validation_fraction, or give X_valid and y_valid"
            )
        sample = replace(training_sample(self, X, y, sample_weight), group=group_numbers(groups, X))
        costs = 1 if self.costs is None else self.costs
        column_prices(costs, self.n_features_in_, getattr(self, "feature_names_in_", None), evaluation_cost=self.evaluation_cost)
        if self.misclassification_costs is not None:
            misclassification_loss(self.misclassification_costs, np.unique(np.asarray(sample.y)) if is_classifier(self) else None)
        # grow a forest on one part, and prune it by the other
        given = None if X_valid is None else other_sample(self, X_valid, y_valid, sample_weight_valid, "valid")
        train, valid, rng = self._parts(sample.of_weight(), given)
        forest = self._grown(train, rng)
        read = ReadForest.of(forest).under_costs(self.misclassification_costs)
        problem = problem_of(
            read,
            valid.array,
            costs=costs,
            errors=self._error_sample(read, train, valid),
            sample_weight=valid.weight,
            evaluation_cost=self.evaluation_cost,
        )
        path = pruning_path(problem, certificate=False)
        pruned = prune_by(goal, read, path, valid.X, valid.y, valid.weight, held_out=self.errors != "validation")
        self.estimator_ = pruned.estimator
        self.pruning_ = pruned.pruning
        self.path_ = path
        self.solution_ = pruned.solution
        self.unpruned_estimator_ = forest
        self.cost_ = pruned.cost
        self.feature_usage_ = pruned.feature_usage
        self.evaluation_ = pruned.evaluation
        if is_classifier(self):
            self.classes_ = pruned.estimator.classes_
        return self

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

    def _forest(self) -> Any:
        """An unfitted forest: a clone of `estimator`, or the default."""
        return self._default() if self.estimator is None else clone(self.estimator)

    def _parts(self, sample: Sample, given: Sample | None) -> tuple[Sample, Sample, np.random.RandomState]:
        """The examples to train on, the validation examples, and the random numbers for the forest."""
        rng = check_random_state(self.random_state)
        if given is not None:
            return sample, given.of_weight(), rng
        if self.validation_fraction is None:
            return sample, Sample(sample.X, None, sample.weight), rng
        return *split(sample, self.validation_fraction, rng, sample.y if is_classifier(self) else None), rng

    def _grown(self, train: Sample, rng: np.random.RandomState) -> Any:
        """A fitted forest; one without a seed of its own gets one."""
        forest = self._forest()
        if forest.get_params(deep=False).get("random_state", 0) is None:
            forest.set_params(random_state=rng.randint(np.iinfo(np.int32).max))
        weights = {} if train.weight is None else {"sample_weight": train.weight}
        with timed_step(LOG, "fitting %s on %d rows", type(forest).__name__, len(train)):
            return forest.fit(train.X, train.y, **weights)

    def _error_sample(self, forest: ReadForest, train: Sample, valid: Sample) -> ErrorSample:
        """The sample on which the nodes' errors are measured."""
        if self.errors == "validation":
            return Given(valid.X, valid.y, valid.weight)
        if self.errors == "out-of-bag":
            return OutOfBag(train.X, train.y, train.weight)
        return InBag() if stores_errors(forest) else InBag(train.X, train.y, train.weight)

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


def _has(estimator: _BudgetPrunedForest, method: str) -> bool:
    """Whether the forest, fitted or not, has a method; bags of trees have none that finds leaves."""
    return hasattr(getattr(estimator, "estimator_", None) or estimator.estimator or estimator._default, method)


class BudgetPrunedForestClassifier(ClassifierMixin, _BudgetPrunedForest):  # type: ignore[misc]
    """A forest classifier that `fit` grows and prunes, so that its predictions need fewer or cheaper features.

        minimise  error of the pruned trees   s.t.  cost <= budget,      or      error + lam * cost                  (OBJ)

    Parameters
    ----------
    estimator
        an unfitted forest: RandomForest*, ExtraTrees*, Bagging* of decision trees, DecisionTree*, single output. Default: a
        random forest with scikit-learn's settings.
    costs
        prices: one number, one number for each feature, a mapping from names to numbers, or `CostItems`, see
        `prunemodels.models.costs.cost_items`. Default: 1 for each feature.
    budget
        the largest mean cost of the examples of the cost sample; the pruning's exact cost never exceeds it. Give at most one of
        `budget`, `limits`, `lam` and `max_error_increase`.
    limits
        any number of `Limit`: other currencies, shares of examples, groups, every example, the size.
    lam
        error per unit of cost, in the units of (OBJ).
    max_error_increase
        >= 0: the cheapest pruning of the path whose forest's validation error is at most the unpruned forest's plus this.
    choose
        the rule if none of the four is given: ``"one_se"``, the cheapest pruning whose validation error is within one standard
        error of the best, or ``"knee"``, see `prunemodels.evaluation.path`.
    validation_fraction
        the share of the training examples, drawn at random within each class, that the forest is not trained on. They are the
        cost sample, and held-out errors are measured on them. None: the training examples are the cost sample; then a budget or a
        lam is needed.
    errors
        where errors are measured: on the training rows that each tree drew (``"in-bag"``) or did not draw (``"out-of-bag"``), or
        on the validation examples (``"validation"``). Default: in-bag.
    evaluation_cost
        >= 0: price of evaluating one split on one example; one number for all features or one for each.
    method, time_limit
        the method for a budget, and its limit in seconds, see `prunemodels.solve`.
    misclassification_costs
        C[true class, predicted class] in the order of the sorted labels, each >= 0, see `problem_from_forest`: errors are then
        mean misclassification costs, and so are the units of `lam` and `max_error_increase`. Default: each wrong prediction
        costs 1. The trees are grown as without it; for that set the forest's ``class_weight``.
    random_state
        seed of the split, and of the forest if it has no seed of its own.

    Attributes
    ----------
    estimator_
        the pruned forest, a scikit-learn forest.
    estimators_
        its trees, if forests of its kind have them.
    unpruned_estimator_
        the forest before pruning.
    path_
        the optimal prunings of the forest for all lambdas.
    pruning_
        the chosen pruning.
    cost_
        mean cost of the examples of the cost sample.
    feature_usage_
        share of the cost sample that acquires each feature, shape (n_features,).
    solution_
        the solution for the budget, with bound, gap and relaxation; None without a budget.
    evaluation_
        the path on the validation examples, if the choice used them; else None.
    classes_
        the labels.
    n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, costs, forest, y_test, y_train
    >>> model = pm.BudgetPrunedForestClassifier(forest, costs, budget=8, random_state=0).fit(X_train, y_train)
    >>> print(round(model.cost_, 2), round(model.score(X_test, y_test), 3))
    7.99 0.876
    """

    _default = RandomForestClassifier

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class fractions of each row of X: the mean over the pruned trees, shape (n, n_classes)."""
        return np.asarray(self._call("predict_proba", X))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Logarithms of `predict_proba`."""
        return np.asarray(self._call("predict_log_proba", X))


class BudgetPrunedForestRegressor(RegressorMixin, _BudgetPrunedForest):  # type: ignore[misc]
    """A forest regressor that `fit` grows and prunes: `BudgetPrunedForestClassifier` with squared errors.

    Parameters and attributes are the same, except that there is no `classes_`, and `misclassification_costs` are refused; ``lam``
    and ``max_error_increase`` are in units of the mean squared error.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> grower = RandomForestRegressor(8, max_depth=4)
    >>> model = pm.BudgetPrunedForestRegressor(grower, 1, budget=4, random_state=0).fit(X[:300], y[:300])
    >>> print(f"R2 {model.score(X[300:], y[300:]):.2f}")
    R2 0.38
    """

    _default = RandomForestRegressor
