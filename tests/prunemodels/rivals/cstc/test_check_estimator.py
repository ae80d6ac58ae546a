"""scikit-learn's own checks of CSTC and ASTC."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import parametrize_with_checks

from prunemodels.rivals.cstc import ASTCClassifier, ASTCRegressor, CSTCClassifier, CSTCRegressor

FEW: dict[str, Any] = {"n_weak_learners": 5, "weak_depth": 2, "min_samples_leaf": 2, "learning_rate": 0.5}
QUICK: dict[str, Any] = {"lam": 1e-4, "depth": 2, "max_cycles": 2, **FEW}

# nothing is set aside and nothing boosted: a weight of 2 is the same as the row twice, and no check may fail
EXACT = [
    CSTCClassifier(lam=1e-4, depth=2, features="identity", validation_fraction=None, max_cycles=2),
    CSTCRegressor(lam=1e-4, depth=2, features="identity", validation_fraction=None, max_cycles=2),
    ASTCClassifier(depth=2, features="identity", validation_fraction=None),
    ASTCRegressor(depth=2, features="identity", validation_fraction=None),
]

# what the four share is checked above
BOOSTED = [CSTCClassifier(**QUICK), ASTCRegressor(depth=2, **FEW)]

WHY = {
    "check_sample_weight_equivalence_on_dense_data": (
        "validation rows are drawn from the rows, and other rows are drawn where one of weight 2 stands twice; besides, "
        "scikit-learn's histogram boosting bins without weights, and fails this check too"
    )
}


def expected_failures(estimator: BaseEstimator) -> dict[str, str]:
    """Of estimators that set rows aside at random, and boost; none else."""
    return {} if any(estimator is exact for exact in EXACT) else WHY


@pytest.mark.slow
@parametrize_with_checks([*EXACT, *BOOSTED], expected_failed_checks=expected_failures)
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    """Each of scikit-learn's checks passes, but for the one named above."""
    check(estimator)
