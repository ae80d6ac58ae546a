"""One fold of a cross-validation: one forest, one path, all candidates."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import check_scoring

from formulations.answers.pruning import Pruning
from formulations.long_steps import timed_step
from prunemodels.estimators.candidates import Candidates, Fold
from prunemodels.estimators.growing import PrunedForestEstimator
from prunemodels.evaluation.path import sweep_path
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.labelled_samples import Sample

LOG = logging.getLogger(__name__)


def score_fold(estimator: PrunedForestEstimator, train: Sample, test: Sample, candidates: Candidates, scoring: Any) -> Fold:
    """Grow a forest on the training part, and score every candidate on the test part.

    Parameters
    ----------
    scoring
        None: accuracy, or negative mean squared error or misclassification cost, of the whole path in one sweep. Else a scorer,
        which is called once for each row of the path that a candidate selects.
    """
    with timed_step(LOG, "fold of %d training and %d test rows", len(train), len(test)):
        return _scored(estimator, train, test, candidates, scoring)


def _scored(estimator: PrunedForestEstimator, train: Sample, test: Sample, candidates: Candidates, scoring: Any) -> Fold:
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
