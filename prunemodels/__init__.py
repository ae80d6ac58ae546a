"""Optimal pruning of tree ensembles under prediction-time cost.

>>> path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))   # doctest: +SKIP
>>> cheap = pm.apply_pruning(path.at_cost(24.0), forest)                           # doctest: +SKIP
"""

# ruff: noqa: E402 (the check must run before any other import of this project)
from prunemodels.siblings import check_siblings

check_siblings()

from prunemodels.lazy_names import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
