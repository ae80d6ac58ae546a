"""Forests of other libraries: XGBoost, LightGBM, CatBoost.

Averaged forests are pruned as scikit-learn's are (`problem_from_model`, `prunemodels.prune_model`). Boosted ensembles, whose
trees add up, are pruned by a majoriser of their loss (`prunemodels.prune_boosted`, `boosted_path`).
"""

from formulations.extras import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
