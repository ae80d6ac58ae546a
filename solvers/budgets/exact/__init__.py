"""The best pruning within a budget, by branch and bound on what the path leaves undecided."""
