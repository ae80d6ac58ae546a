"""Pruned forests as scikit-learn estimators, and the pruning of an already fitted forest."""

from prunemodels.estimators.budget_pruned_forest import BudgetPrunedForestClassifier, BudgetPrunedForestRegressor
from prunemodels.estimators.fitted_forest import prune_forest
from prunemodels.estimators.pruned_forest import PrunedForest

__all__ = ["BudgetPrunedForestClassifier", "BudgetPrunedForestRegressor", "PrunedForest", "prune_forest"]
