"""Forests of other libraries: XGBoost, LightGBM, and what treelite reads besides.

Averaged forests are pruned as scikit-learn's are (`problem_from_model`, `prune_model`). Boosted ensembles, whose trees add up,
are pruned by a majoriser of their loss (`prune_boosted`, `boosted_path`).
"""

from prunemodels.other_libraries.averaged import problem_from_model, prune_model
from prunemodels.other_libraries.boosted import boosted_path, prune_boosted
from prunemodels.other_libraries.boosted_pruning import BoostedPath, BoostedPruning
from prunemodels.other_libraries.model_evaluation import ModelEvaluation, evaluate_model
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.other_libraries.reading import read_model

__all__ = [
    "BoostedPath",
    "BoostedPruning",
    "ModelEvaluation",
    "ModelForest",
    "boosted_path",
    "evaluate_model",
    "problem_from_model",
    "prune_boosted",
    "prune_model",
    "read_model",
]
