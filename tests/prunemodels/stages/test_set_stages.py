"""Models on sets of columns."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from prunemodels.stages.set_stages import predictions_of


@pytest.mark.parametrize("forest", [ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor])
def test_a_forest_that_is_asked_tree_by_tree_answers_as_scikit_learn_does(forest: type) -> None:
    """Few rows are asked tree by tree, more of them at once: bit for bit the same; what is not finite is refused as there."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 3)), rng.integers(0, 3, 80)
    model = make_pipeline(StandardScaler(), forest(12, random_state=0)).fit(X, y)
    classes = np.arange(3) if hasattr(model, "predict_proba") else None
    assert (predictions_of(model, X[:16], classes) == predictions_of(model, X, classes)[:16]).all()
    other = make_pipeline(FunctionTransformer(lambda rows: rows / (rows - X[0])), forest(2, random_state=0)).fit(X[1:], y[1:])
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="infinity"):
        predictions_of(other, X[:2], classes)
