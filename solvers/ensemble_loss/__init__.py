"""Pruning for the loss of the forest's predictions; (ENS) is defined in `formulations.instance.ensemble_loss`."""

from solvers.ensemble_loss.frank_wolfe import frank_wolfe
from solvers.ensemble_loss.level_values import LevelSets, evaluate_levels, level_sets_of, linearise, linearised_path

__all__ = ["LevelSets", "evaluate_levels", "frank_wolfe", "level_sets_of", "linearise", "linearised_path"]
