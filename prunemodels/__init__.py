"""Optimal pruning of tree ensembles under prediction-time cost.

>>> import prunemodels as pm
>>> from prunemodels.example import X_valid, costs, forest, y_valid
>>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
>>> result.estimator
RandomForestClassifier(max_depth=4, n_estimators=8, random_state=0)
"""

# ruff: noqa: E402 (the check must run before any other import of this project)
from prunemodels.siblings import check_siblings

check_siblings()

from formulations.extras import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
