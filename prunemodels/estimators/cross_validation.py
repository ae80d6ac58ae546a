"""Budgets or lambdas chosen by cross-validation: each fold has one forest and one path, however many candidates are tried.

With the score s_{j,k} of candidate j in fold k of K, greater is better, mean s_j, and the best candidate b,

    one_se:  the cheapest j with  mean_k (s_{b,k} - s_{j,k})  <=  sd_k (s_{b,k} - s_{j,k}) / sqrt(K)                     (1)

Some folds are harder than others, which shifts the scores of all candidates together. The differences in (1) are free of this
shift.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.ensemble import RandomForestRegressor
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import check_argument
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.long_steps import timed_step
from prunemodels.estimators.fitted_forest import Goal, prune_by
from prunemodels.estimators.growing import ClassProbabilities, PrunedForestEstimator
from prunemodels.evaluation.path import sweep_path
from prunemodels.models.costs import Costs
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.labelled_samples import Sample, training_sample
from prunemodels.points import ROUNDING, furthest_corner, within

LOG = logging.getLogger(__name__)

Kind = Literal["budget", "lam"]
FoldRule = Literal["best", "one_se", "knee"]

DEFAULT_COUNT = 20


@dataclass(frozen=True, eq=False)
class Candidates:
    """The budgets or lambdas that a cross-validation tries, in the order given."""

    kind: Kind
    values: tuple[Any, ...]

    @classmethod
    def spread(cls, kind: Kind, count: int, path: PruningPath) -> Self:
        """`count` budgets up to the cost of the path's dearest row, or the lambdas of the best rows within these budgets."""
        dearest = float(path.cost[0])  # rounded; row 0 itself may cost a little more
        budgets = np.linspace(0, math.nextafter(dearest, math.inf) if dearest else 0.0, count + 1)[1:]
        if kind == "budget":
            return cls(kind, tuple(np.unique(budgets).tolist()))
        rows = [path.row_at_cost(budget) for budget in budgets.tolist()]
        return cls(kind, tuple(np.unique(path.lam[rows])[::-1].tolist()))

    def rows_of(self, path: PruningPath) -> list[int]:
        """The row of a path that each candidate selects."""
        at = path.row_at_cost if self.kind == "budget" else path.row_at_lam
        return [at(value) for value in self.values]

    @property
    def from_dearest(self) -> NDArray[np.int64]:
        """The candidates' places, sorted so that the one that allows the dearest prunings comes first."""
        numbers = np.array([float(value) for value in self.values])
        return np.argsort(-numbers if self.kind == "budget" else numbers, kind="stable")


def score_fold(
    estimator: PrunedForestEstimator, train: Sample, test: Sample, candidates: Candidates, scoring: Any
) -> NDArray[np.float64]:
    """Grow a forest on the training part; scores and costs of the candidates on the test part, shape (2, candidates).

    Parameters
    ----------
    scoring
        None: accuracy, or negative mean squared error or misclassification cost, of the whole path in one sweep. Else a scorer,
        which is called once for each row of the path that a candidate selects.
    """
    with timed_step(LOG, "fold of %d training and %d test rows", len(train), len(test)):
        grown = estimator._grow(train)
        path = estimator._path(grown)
        rows = np.array(candidates.rows_of(path))
        evaluation = sweep_path(path, test.X, test.y, test.weight, unknown=-1)
        if scoring is None:
            share_right = is_classifier(estimator) and estimator.misclassification_costs is None
            score = 1 - evaluation.error[rows] if share_right else -evaluation.error[rows]
        else:
            of_row = {row: _score(path[row], grown.forest, test, scoring) for row in np.unique(rows).tolist()}
            score = np.array([of_row[row] for row in rows.tolist()])
        return np.stack([score, evaluation.cost[rows]])


def _score(pruning: Pruning, grown: Any, test: Sample, scoring: Any) -> float:
    """The scorer's score of the pruned forest."""
    forest = apply_pruning(pruning, grown)
    weights = {} if test.weight is None else {"sample_weight": test.weight}
    return float(check_scoring(forest, scoring)(forest, test.X, test.y, **weights))


def requested_candidates(budgets: Any, lams: Any) -> tuple[Kind, int | tuple[Any, ...]]:
    """Whether budgets or lambdas are tried, and how many or which ones; checks the arguments."""
    if budgets is not None and lams is not None:
        raise InvalidInputError(f"budgets and lams are both given; give one of them, or none for {DEFAULT_COUNT} budgets")
    kind: Kind = "budget" if lams is None else "lam"
    given: Any = lams if lams is not None else DEFAULT_COUNT if budgets is None else budgets
    if isinstance(given, Integral) and int(given) >= 1:
        return kind, int(given)
    if isinstance(given, str) or not np.iterable(given):
        raise InvalidInputError(f"{kind}s is {given!r}; give how many to try, at least 1, or the numbers themselves")
    values = tuple(given)
    if not values:
        raise InvalidInputError(f"{kind}s is empty; give at least one number, or how many to try")
    for j, value in enumerate(values):
        if not (kind == "lam" and value == math.inf):
            exact(value, f"{kind}s[{j}]")
    return kind, values


def choose_candidate(rule: FoldRule, candidates: Candidates, folds: NDArray[np.float64]) -> int:
    """The place of the candidate that a rule chooses from scores and costs of each fold, shape (folds, 2, candidates)."""
    order = candidates.from_dearest
    scores = folds[:, 0, order]
    mean, cost = folds[:, :, order].mean(axis=0)
    if rule == "knee":
        return int(order[furthest_corner(cost, -mean)])
    best = int(np.flatnonzero(mean >= mean.max() - ROUNDING * abs(mean.max()))[-1])
    if rule == "best":
        return int(order[best])
    if len(folds) < 2:
        raise InvalidInputError("choose is 'one_se', which needs at least 2 folds; give more, or choose 'best'")
    short = scores[:, [best]] - scores
    error = short.std(axis=0, ddof=1) / math.sqrt(len(folds))
    return int(order[within(short.mean(axis=0), error, abs(float(mean[best])))])


def results(candidates: Candidates, folds: NDArray[np.float64]) -> dict[str, NDArray[Any]]:
    """``cv_results_``: under each name an array with one entry for each candidate."""
    table: dict[str, NDArray[Any]] = {candidates.kind: np.array([float(value) for value in candidates.values])}
    for what, each in zip(("score", "cost"), folds.swapaxes(0, 1), strict=True):
        table |= {f"split{k}_test_{what}": row for k, row in enumerate(each)}
        table |= {f"mean_test_{what}": each.mean(axis=0), f"std_test_{what}": each.std(axis=0)}
    table["rank_test_score"] = rankdata(-table["mean_test_score"], method="min").astype(np.int32)
    return table


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
        scored = Parallel(n_jobs=self.n_jobs)(
            delayed(score_fold)(self, sample.take(train), sample.take(test), candidates, self.scoring) for train, test in parts
        )
        folds = np.stack(scored)
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
        budget, lam = (value, None) if candidates.kind == "budget" else (None, value)
        goal = Goal.of(budget, None, lam, None, "one_se", "best" if between else "path", None)
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
