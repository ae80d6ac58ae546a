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
from prunemodels.estimators.ensemble_goal import in_bag_refusal, prune_for_loss
from prunemodels.estimators.fitted_forest import prune_by
from prunemodels.estimators.goal import Goal, Method, Objective
from prunemodels.estimators.growing import ClassProbabilities, PrunedForestEstimator
from prunemodels.estimators.samples import Sample, other_sample, training_sample
from prunemodels.evaluation.choosing import Rule
from prunemodels.forests.costs import Costs


class _BudgetPrunedForest(PrunedForestEstimator):
    """See `BudgetPrunedForestClassifier`."""

    def __init__(
        self,
        estimator: Any = None,
        costs: Costs | None = None,
        *,
        budget: Price | None = None,
        lam: float | Fraction | None = None,
        max_error_increase: float | None = None,
        choose: Rule = "one_se",
        validation_fraction: float | None = 0.3,
        errors: Literal["in-bag", "out-of-bag", "validation"] | None = None,
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
        method: Method = "best",
        time_limit: float | None = 30.0,
        objective: Objective = "trees",
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.budget = budget
        self.lam = lam
        self.max_error_increase = max_error_increase
        self.choose = choose
        self.validation_fraction = validation_fraction
        self.errors = errors
        self.evaluation_cost = evaluation_cost
        self.method = method
        self.time_limit = time_limit
        self.objective = objective
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
            training examples; a part of them is set aside as `validation_fraction` says, unless validation examples are given.
        sample_weight
            shape (N,), >= 0: weights in training, and of the part set aside in cost and error.
        X_valid, y_valid
            validation examples: the cost sample; their labels are needed without `budget` and `lam`, and for
            ``errors="validation"``.
        sample_weight_valid
            their weights.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError, UnsupportedModelError, CapacityOverflowError
            each says which argument, which value, and what to do; they are ValueError, TypeError and OverflowError too.
        """
        goal = self._goal(X_valid is not None, y_valid is not None)
        sample = training_sample(self, X, y, sample_weight)
        self._check_prices()
        grown = self._grow(sample, self._given(X_valid, y_valid, sample_weight_valid))
        forest, valid = grown.forest, grown.valid
        if goal.objective == "ensemble":
            pruned = prune_for_loss(goal, forest, valid.X, **self._settings(grown))
        else:
            pruned = prune_by(goal, forest, self._path(grown), valid.X, valid.y, valid.weight)
        self._keep(pruned)
        self.evaluation_, self.ensemble_path_ = pruned.evaluation, pruned.ensemble
        return self

    def _goal(self, given: bool, labelled: bool) -> Goal:
        """What to choose by, checked before any work."""
        goal = Goal.of(self.budget, self.lam, self.max_error_increase, self.choose, self.method, self.time_limit, self.objective)
        labelled = labelled if given else self.validation_fraction is not None
        self._check_settings(labelled)
        if goal.objective == "ensemble" and self.errors == "in-bag":
            raise in_bag_refusal(self.errors)
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
    """A forest classifier that is pruned, as it is fitted, so that its predictions ask for fewer or cheaper features.

        minimise  error of the pruned trees   s.t.  cost <= budget,      or      error + lam * cost                  (OBJ)

    Parameters
    ----------
    estimator
        an unfitted forest: RandomForest*, ExtraTrees*, Bagging* of decision trees, DecisionTree*, single output. Default: a
        random forest with scikit-learn's settings.
    costs
        prices: one number, one a feature, by name, or `CostItems`, see `prunemodels.forests.costs.cost_items`. Default: 1 a
        feature.
    budget
        the largest cost of an average example of the cost sample; kept exactly. At most one of `budget`, `lam` and
        `max_error_increase`.
    lam
        error per unit of cost, in the units of (OBJ).
    max_error_increase
        >= 0: the cheapest pruning of the path whose forest's validation error is at most the unpruned forest's plus this.
    choose
        where none of the three is given: ``"one_se"``, the cheapest pruning that the validation data cannot tell from the
        best, or ``"knee"``, see `prunemodels.evaluation.choosing`.
    validation_fraction
        the part of the training examples, drawn at random and by class, that the forest does not see: the cost sample, and what
        choices look at. None: the training examples are the cost sample; then a budget or a lam is needed.
    errors
        where errors are measured: on the training rows that each tree drew (``"in-bag"``) or did not draw (``"out-of-bag"``), or
        on the validation examples (``"validation"``). Default: in-bag for the trees' errors, validation for the forest's loss.
    evaluation_cost
        >= 0: price of evaluating one split on one example; one for all features or one for each.
    method, time_limit
        how a budget is solved, and for how many seconds, see `prunemodels.solve`.
    objective
        ``"trees"``: the mean error of the trees, exact. ``"ensemble"``: the Brier score (regression: squared error) of what the
        forest predicts, see `ensemble_path`; for a budget, or a `lam` in its units.
    random_state
        of the split, and of the forest where it has none of its own.

    Attributes
    ----------
    estimator_
        the pruned forest, a scikit-learn forest.
    path_
        all optimal prunings of the forest.
    pruning_
        the one taken.
    cost_
        of an average example of the cost sample.
    feature_usage_
        share of the cost sample that acquires each feature, shape (n_features,).
    solution_
        of the budget: bound, gap, relaxation; None without a budget.
    evaluation_
        the path on the validation examples, where the choice looked at them; else None.
    ensemble_path_
        the prunings seen for the forest's loss, with ``objective="ensemble"``; else None.
    classes_
        the labels.
    n_features_in_, feature_names_in_
        as in scikit-learn.

    Examples
    --------
    >>> model = BudgetPrunedForestClassifier(budget=10, random_state=0).fit(X, y)   # doctest: +SKIP
    >>> model.cost_, model.predict(X_new)                                           # doctest: +SKIP
    """


class BudgetPrunedForestRegressor(RegressorMixin, _BudgetPrunedForest):  # type: ignore[misc]
    """A forest regressor that is pruned, as it is fitted: `BudgetPrunedForestClassifier` with squared errors.

    Parameters and attributes are the same, but for `classes_`; ``lam`` and ``max_error_increase`` are in units of the mean
    squared error.
    """

    _default = RandomForestRegressor
