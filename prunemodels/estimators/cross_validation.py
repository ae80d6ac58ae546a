"""Budgets or lambdas chosen by cross-validation: each fold has one forest and one path, however many candidates are tried."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from formulations.arguments import check_argument
from formulations.instance.cost_items import Price
from prunemodels.estimators.candidates import (
    Candidates,
    Fold,
    FoldRule,
    choose_candidate,
    requested_candidates,
    results,
    score_fold,
)
from prunemodels.estimators.goal import Goal, prune_by
from prunemodels.estimators.growing import ClassProbabilities, PrunedForestEstimator
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import training_sample


class _BudgetPrunedForestCV(PrunedForestEstimator):
    """See `BudgetPrunedForestClassifierCV`."""

    def __init__(
        self,
        estimator: Any = None,
        costs: Costs | None = None,
        *,
        budgets: int | Sequence[Price] | NDArray[Any] | None = None,
        lams: int | Sequence[float | Fraction] | NDArray[Any] | None = None,
        choose: FoldRule = "best",
        cv: Any = None,
        scoring: Any = None,
        validation_fraction: float | None = 0.3,
        errors: Literal["in-bag", "out-of-bag", "validation"] = "in-bag",
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
        misclassification_costs: ArrayLike | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.costs = costs
        self.budgets = budgets
        self.lams = lams
        self.choose = choose
        self.cv = cv
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.errors = errors
        self.evaluation_cost = evaluation_cost
        self.misclassification_costs = misclassification_costs
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, groups: Any = None) -> Self:
        """Score the candidates by cross-validation, then fit on all examples with the chosen candidate.

        Parameters
        ----------
        X, y
            training examples. In each fold, and in the last fit, `validation_fraction` says which part of them is set aside.
        sample_weight
            shape (N,), >= 0: weights in training, cost, error and scores.
        groups
            groups of the examples, for splitters that need them.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError, UnsupportedModelError, CapacityOverflowError
            each message says which argument has which value, and what to do.
        """
        kind, which = requested_candidates(self.budgets, self.lams)
        check_argument("choose", self.choose, FoldRule)
        if self.scoring is not None:
            check_scoring(self, self.scoring)
        self._check_settings(self.validation_fraction is not None)
        sample = training_sample(self, X, y, sample_weight)
        self._check_prices()
        self._check_misclassification_costs(sample.y)
        grown = self._grow(sample)
        path = self._path(grown)
        candidates = Candidates.spread(kind, which, path) if isinstance(which, int) else Candidates(kind, which)
        splitter = check_cv(self.cv, sample.y, classifier=is_classifier(self))
        parts = list(splitter.split(sample.X, sample.y, groups))
        folds: list[Fold] = Parallel(n_jobs=self.n_jobs)(
            delayed(score_fold)(self, sample.take(train), sample.take(test), candidates, self.scoring) for train, test in parts
        )
        self.cv_results_ = results(candidates, folds)
        self.n_splits_ = len(folds)
        self.best_index_ = choose_candidate("best", candidates, folds)
        self.best_score_ = float(self.cv_results_["mean_test_score"][self.best_index_])
        self.best_params_ = {candidates.kind: candidates.values[self.best_index_]}
        self.one_se_index_ = choose_candidate("one_se", candidates, folds) if len(folds) > 1 else None
        self.knee_index_ = choose_candidate("knee", candidates, folds)
        chosen = choose_candidate(self.choose, candidates, folds)
        setattr(self, f"{candidates.kind}s_", np.array([float(v) for v in candidates.values]))
        setattr(self, f"{candidates.kind}_", candidates.values[chosen])
        value = candidates.values[chosen]
        between = candidates.kind == "budget" and path.spends_little(path.row_at_cost(value), value)
        how: dict[str, Any] = {"method": "best" if between else "path", "time_limit": None}
        goals: dict[str, Any] = {"budget": None, "limits": None, "lam": None, candidates.kind: value}
        goal = Goal.of(**goals, max_error_increase=None, choose="one_se", **how)
        self._keep(prune_by(goal, grown.forest, path, None, None, None, held_out=True))
        return self


class BudgetPrunedForestClassifierCV(ClassProbabilities, ClassifierMixin, _BudgetPrunedForestCV):  # type: ignore[misc]
    """`BudgetPrunedForestClassifier` with its budget or lambda chosen by cross-validation, as LassoCV chooses its penalty.

    Each fold grows one forest and computes one path. All candidates are rows of that path, and one sweep scores them all. A
    budget selects the best breakpoint within it (``method="path"``), in the folds and in the last fit. Where the last fit would
    spend less than half of the budget so, it searches between the breakpoints (``method="best"``).

    Parameters
    ----------
    estimator, costs, validation_fraction, errors, evaluation_cost, misclassification_costs
        as in `BudgetPrunedForestClassifier`.
    budgets
        the budgets to try, or how many, which are then evenly spread up to the cost of the dearest breakpoint. Default, without
        lams: 20.
    lams
        the lambdas to try, or how many, which are then those of the best breakpoints within this number of evenly spread budgets.
        Give at most one of `budgets` and `lams`.
    choose
        ``"best"``: the candidate with the largest mean score, of several the cheapest. ``"one_se"``: the cheapest candidate whose
        mean score is below the best one's by at most one standard error of this difference over the folds. ``"knee"``: the corner
        of the lower hull of the points (mean cost, -mean score), see `prunemodels.evaluation.choosing`.
    cv
        splitter, number of folds, or splits, as everywhere in scikit-learn. Default: 5 folds.
    scoring
        any scorer of scikit-learn; it is called with the pruned forest of each candidate, which is slower. Default: accuracy, or
        the negative mean squared error or misclassification cost, of all candidates in one sweep.
    n_jobs
        number of folds that are computed at the same time.
    random_state
        seed of the splits into training and validation part, and of the forests that have no seed of their own.

    Attributes
    ----------
    budgets_, lams_
        the candidates; only one of the two exists: lams_ if `lams` was given, else budgets_.
    budget_, lam_
        the chosen candidate; again only one of the two exists.
    cv_results_
        under each name an array with one entry for each candidate: ``budget`` or ``lam``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``split0_test_score`` ..., and likewise ``mean_test_cost`` ... for the cost on
        the fold's test part.
    best_index_, one_se_index_, knee_index_
        the place of the candidate that each rule chooses; one_se_index_ is None if there is a single fold.
    best_score_, best_params_
        mean score and value of the candidate at ``best_index_``, the value as ``{"budget": value}`` or ``{"lam": value}``;
        another one may be fitted if `choose` is not ``"best"``.
    n_splits_
        number of folds.
    estimator_, estimators_, unpruned_estimator_, path_, pruning_, cost_, feature_usage_, solution_, classes_, n_features_in_,
    feature_names_in_
        as in `BudgetPrunedForestClassifier`, fitted on all examples.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_train, costs, forest, y_train
    >>> model = pm.BudgetPrunedForestClassifierCV(forest, costs, budgets=[3, 6, 12], cv=3, random_state=0)
    >>> model.fit(X_train, y_train).budget_
    12
    """


class BudgetPrunedForestRegressorCV(RegressorMixin, _BudgetPrunedForestCV):  # type: ignore[misc]
    """`BudgetPrunedForestRegressor` with its budget or lambda chosen by cross-validation: see the classifier's.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> import prunemodels as pm
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> grower = RandomForestRegressor(8, max_depth=4)
    >>> model = pm.BudgetPrunedForestRegressorCV(grower, 1, budgets=[2, 4, 8], cv=3, random_state=0)
    >>> model.fit(X, y).budget_
    8
    """

    _default = RandomForestRegressor
