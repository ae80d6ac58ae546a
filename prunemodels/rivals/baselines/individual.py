"""Prune every tree optimally by itself: IP2 for each tree, NWS15 Table 1, "ind.pru.".

    tree t by itself:  minimise  error of tree t  +  lambda * (cost of tree t alone)                                         (1)

All trees at one lambda make one pruning of the forest. Its reported cost counts purchases that trees share once, but no tree
knows that another one pays already: the difference to the joint optimum is the value of knowing it. NWS15 prunes the trees of
BudgetRF; one lambda for all of them, and all values of it, are ours.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from formulations.answers.nested_prunings import PruningSequence
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from formulations.long_steps import Progress
from solvers.path.pruning_path import pruning_path


@checked
def individual_path(problem: PruningProblem, *, progress: bool = False) -> PruningSequence:
    """The optimal prunings of each tree alone, for every lambda >= 0 that changes any of them.

    Parameters
    ----------
    progress
        show a progress bar on stderr.

    Returns
    -------
    PruningSequence
        row k holds the smallest optimum of (1) for lambda from ``parameter[k]`` up to the next. Lambda is error of *one tree* for
        one unit of that tree's cost: T times that of (OBJ) where nothing is shared. Breakpoints are compared as exact fractions.

    Raises
    ------
    InterruptedSolveError
        on Ctrl-C; nothing was changed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.rivals.individual_path(problem).at_cost(12)
    Pruning(cost=11.8867, error=0.093, 18 splits)
    """
    ensemble = problem.ensemble
    paths: list[PruningPath] = []
    with Progress("individual pruning", ensemble.n_splits, shown=progress) as bar:
        for t in range(ensemble.n_trees):
            paths.append(pruning_path(problem.only_tree(t), certificate=False))
            bar.advance(paths[-1].problem.ensemble.n_splits)
    table = sorted({Fraction(0)}.union(*(path.breakpoints for path in paths)))
    place = {ratio: k for k, ratio in enumerate(table)}
    rows_kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    for t, path in enumerate(paths):
        # a split of level j is pruned at breakpoint j of its own path; beyond the last level it is free and always stays
        goes = np.array([*(place[ratio] for ratio in path.breakpoints), len(table)], dtype=np.int32)
        rows_kept[ensemble.nodes_of(t)] = goes[path.rows_kept]
    parameter = np.array([float(ratio) for ratio in table])
    return PruningSequence(problem, rows_kept, parameter, "lambda of one tree", "individual pruning")
