"""Parameters that are none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.rivals.budget_rf import BudgetRFClassifier

X, Y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"impurity": "hinge"}, "impurity is 'hinge'; give one of 'pairs', 'powers'"),
    ({"splits": "best"}, "splits is 'best'; give one of 'random', 'all'"),
    ({"outcome": "mean"}, "outcome is 'mean'; give one of 'minimax', 'expected'"),
    ({"alpha": -1}, "alpha is -1; give a number >= 0"),
    ({"alpha": np.nan}, "alpha is nan"),
    ({"power": 1.5}, "power is 1.5; give a number >= 2"),
    ({"min_impurity": -0.1}, "min_impurity is -0.1"),
    ({"n_estimators": 0}, "n_estimators is 0; give a whole number >= 1"),
    ({"n_estimators": 2.0}, "n_estimators is 2.0"),
    ({"max_depth": True}, "max_depth is True"),
    ({"min_samples_leaf": 0}, "min_samples_leaf is 0"),
    ({"max_features": 31}, "max_features is 31; give an integer from 1 to 30"),
    ({"max_features": 0.0}, "max_features is 0.0"),
    ({"max_features": "auto"}, "max_features is 'auto'"),
    ({"vote": "all"}, "vote is 'all'; give one of 'majority', 'mean', 'counts'"),
    ({"budget": -1}, "budget is -1, negative"),
    ({"budget": 9, "validation_fraction": 1.5}, "validation_fraction is 1.5"),
    ({"costs": [1, 2]}, "costs has 2 prices, the forest was trained on 30 features"),
    ({"costs": CostItems.plain([1, 1])}, "costs has prices for 2 features, the forest was trained on 30"),
    ({"evaluation_cost": -2}, "evaluation_cost is -2, negative"),
]


@pytest.mark.parametrize(("parameters", "message"), REFUSED, ids=lambda v: str(v)[:40])
def test_bad_parameters_are_refused_before_work(parameters: dict[str, Any], message: str) -> None:
    """Each message names the parameter, its value and what it may be."""
    with pytest.raises(InvalidInputError, match=message):
        BudgetRFClassifier(**parameters).fit(X, Y)
