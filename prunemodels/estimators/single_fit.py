"""A forest that is pruned as it is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.ensemble import RandomForestRegressor

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price
from formulations.instance.limit import Limit
from prunemodels.estimators.fitted_forest import Goal, prune_by
from prunemodels.estimators.growing import ClassProbabilities, PrunedForestEstimator
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import Sample, other_sample, training_sample
from prunemodels.points import Rule
from solvers.within.call import Method


class _BudgetPrunedForest(PrunedForestEstimator):
    """See `BudgetPrunedForestClassifier`."""

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

        Returns
        -------
        self
        """
        goal = self._goal(X_valid is not None, y_valid is not None)
        sample = training_sample(self, X, y, sample_weight)
        self._check_prices()
        self._check_misclassification_costs(sample.y)
        grown = self._grow(sample, self._given(X_valid, y_valid, sample_weight_valid))
        forest, valid = grown.forest, grown.valid
        held_out = self.errors != "validation"
        pruned = prune_by(goal, forest, self._path(grown), valid.X, valid.y, valid.weight, held_out=held_out)
        self._keep(pruned)
        self.evaluation_ = pruned.evaluation
        return self

    def _goal(self, given: bool, labelled: bool) -> Goal:
        """The goal, checked before any work."""
        goals = self.budget, self.limits, self.lam, self.max_error_increase, self.choose
        goal = Goal.of(*goals, self.method, self.time_limit)
        labelled = labelled if given else self.validation_fraction is not None
        self._check_settings(labelled)
        if goal.needs_labels and not labelled:
            raise InvalidInputError(
                "without budget and lam the choice needs labelled examples that the forest was not trained on: set "
                "validation_fraction, or give X_valid and y_valid"
            )
        return goal

    def _given(self, X_valid: Any, y_valid: Any, sample_weight_valid: Any) -> Sample | None:
        if X_valid is None:
            if y_valid is not None or sample_weight_valid is not None:
                raise InvalidInputError("X_valid is missing: y_valid or sample_weight_valid is given without it")
            return None
        return other_sample(self, X_valid, y_valid, sample_weight_valid, "valid")


class BudgetPrunedForestClassifier(ClassProbabilities, ClassifierMixin, _BudgetPrunedForest):  # type: ignore[misc]
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
        error of the best, or ``"knee"``, see `prunemodels.evaluation.choosing`.
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
