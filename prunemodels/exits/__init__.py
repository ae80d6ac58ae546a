"""Exits and cascades: predict cheaply, look how sure the model is, and only then ask for more."""

from prunemodels.exits.budget_cascade import BudgetCascadeClassifier, BudgetCascadeRegressor
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.forest_exits import exit_path
from prunemodels.exits.named_stages import CascadeClassifier, CascadeRegressor
from prunemodels.exits.stages import Stages

__all__ = [
    "BudgetCascadeClassifier",
    "BudgetCascadeRegressor",
    "CascadeClassifier",
    "CascadeRegressor",
    "ExitPath",
    "Stages",
    "exit_path",
]
