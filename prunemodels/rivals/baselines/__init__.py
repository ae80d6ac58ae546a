"""Other prunings of a forest, as nested families, to compare optimal pruning with.

Each is a function from a `PruningProblem` to a `PruningSequence`, so that cost, error, `evaluate_path`, curves and pictures work
on all of them as on the optimal path.
"""

from prunemodels.rivals.baselines.cost_complexity import cost_complexity_path, early_stopping_path
from prunemodels.rivals.baselines.tree_by_tree import greedy_feature_path, individual_path

__all__ = ["cost_complexity_path", "early_stopping_path", "greedy_feature_path", "individual_path"]
