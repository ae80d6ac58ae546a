"""BudgetRF: a forest that is grown for cheap predictions (Nan, Wang and Saligrama 2015)."""

from prunemodels.rivals.budget_rf.classifier import BudgetRFClassifier
from prunemodels.rivals.budget_rf.stumps import impurity

__all__ = ["BudgetRFClassifier", "impurity"]
