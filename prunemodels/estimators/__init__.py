"""Pruned forests as scikit-learn estimators, and the pruning of an already fitted forest."""

from prunemodels.estimators.cross_validation import BudgetPrunedForestClassifierCV, BudgetPrunedForestRegressorCV
from prunemodels.estimators.fitted_forest import prune_forest
from prunemodels.estimators.pruned_forest import PrunedForest
from prunemodels.estimators.single_fit import BudgetPrunedForestClassifier, BudgetPrunedForestRegressor

__all__ = [
    "BudgetPrunedForestClassifier",
    "BudgetPrunedForestClassifierCV",
    "BudgetPrunedForestRegressor",
    "BudgetPrunedForestRegressorCV",
    "PrunedForest",
    "prune_forest",
]
