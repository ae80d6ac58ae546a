"""Candidates of a cross-validation, their scores in one fold and over the folds, and the choice among them.

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
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.long_steps import timed_step
from prunemodels.estimators.growing import PrunedForestEstimator
from prunemodels.evaluation.path import sweep_path
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.labelled_samples import Sample
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


@dataclass(frozen=True, eq=False)
class Fold:
    """Score and held-out cost of each candidate in one fold."""

    score: NDArray[np.float64]
    cost: NDArray[np.float64]


def score_fold(estimator: PrunedForestEstimator, train: Sample, test: Sample, candidates: Candidates, scoring: Any) -> Fold:
    """Grow a forest on the training part, and score every candidate on the test part.

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
        return Fold(score, evaluation.cost[rows])


def _score(pruning: Pruning, grown: Any, test: Sample, scoring: Any) -> float:
    """The scorer's score of the pruned forest."""
    forest = apply_pruning(pruning, grown)
    weights = {} if test.weight is None else {"sample_weight": test.weight}
    return float(check_scoring(forest, scoring)(forest, test.X, test.y, **weights))


def requested_candidates(budgets: Any, lams: Any) -> tuple[Kind, int | tuple[Any, ...]]:
    """Whether budgets or lambdas are tried, and how many or which ones; checks the arguments.

    Raises
    ------
    InvalidInputError
        if both are given, for negative numbers, and for counts below 1.
    """
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


def choose_candidate(rule: FoldRule, candidates: Candidates, folds: Sequence[Fold]) -> int:
    """The place of the candidate that a rule chooses.

    Raises
    ------
    InvalidInputError
        for "one_se" with a single fold.
    """
    order = candidates.from_dearest
    scores = np.stack([fold.score[order] for fold in folds])
    mean = scores.mean(axis=0)
    if rule == "knee":
        cost = np.stack([fold.cost[order] for fold in folds]).mean(axis=0)
        return int(order[furthest_corner(cost, -mean)])
    best = int(np.flatnonzero(mean >= mean.max() - ROUNDING * abs(mean.max()))[-1])
    if rule == "best":
        return int(order[best])
    if len(folds) < 2:
        raise InvalidInputError("choose is 'one_se', which needs at least 2 folds; give more, or choose 'best'")
    short = scores[:, [best]] - scores
    error = short.std(axis=0, ddof=1) / math.sqrt(len(folds))
    return int(order[within(short.mean(axis=0), error, abs(float(mean[best])))])


def results(candidates: Candidates, folds: Sequence[Fold]) -> dict[str, NDArray[Any]]:
    """``cv_results_``: under each name an array with one entry for each candidate."""
    table: dict[str, NDArray[Any]] = {candidates.kind: np.array([float(value) for value in candidates.values])}
    for what in ("score", "cost"):
        each = np.stack([getattr(fold, what) for fold in folds])
        table |= {f"split{k}_test_{what}": row for k, row in enumerate(each)}
        table |= {f"mean_test_{what}": each.mean(axis=0), f"std_test_{what}": each.std(axis=0)}
    table["rank_test_score"] = rankdata(-table["mean_test_score"], method="min").astype(np.int32)
    return table
