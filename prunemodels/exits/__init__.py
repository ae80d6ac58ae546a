"""Exits and cascades: predict cheaply, see how sure the model is, and only then buy more features."""

from prunemodels.exits.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.exits.evaluation import evaluate_exit_path
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.forest_exits import exit_path
from prunemodels.exits.named_stages import CascadeClassifier, CascadeRegressor
from prunemodels.exits.staged_models import staged_model
from prunemodels.exits.stages import Stages

__all__ = [
    "BudgetCascadeClassifier",
    "BudgetCascadeRegressor",
    "CascadeClassifier",
    "CascadeRegressor",
    "ExitPath",
    "Stages",
    "evaluate_exit_path",
    "exit_path",
    "staged_model",
]
