"""Prunings that look at one tree or one feature at a time.

IP2 for each tree, NWS15 Table 1, "ind.pru.":

    tree t by itself:  minimise  error of tree t  +  lambda * (cost of tree t alone)                                         (1)

All trees at one lambda make one pruning of the forest. Its reported cost counts purchases that trees share once, but no tree
knows that another one pays already: the difference to the joint optimum is the value of knowing it. NWS15 prunes the trees of
BudgetRF; one lambda for all of them, and all values of it, are ours.

Features: GreedyPrune (BP16 section 5) removes them from the whole forest, one after the other: "at each iteration it attempts to
remove all nodes corresponding to one feature from the RF such that the resulting pruned RF has the lowest training error and
average feature cost. The process terminates in at most K iterations ... successively removing features that result in large cost
reduction yet small accuracy loss." These are two aims without a weight between them. The score is ours:

    remove the feature f of least  (rise of the error) / (fall of the cost)  if all splits on f go, and all below them        (2)

Features whose removal does not raise the error come first, by the largest fall of the error, then by the largest fall of the
cost. Features whose removal saves nothing come last, by the least rise of the error. All is computed in the problem's numbers,
and of equal features the first is removed. Every step tries every remaining feature (`removal_effects`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_prunings import PruningSequence
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from formulations.long_steps import Progress, interruption_as_error
from prunemodels.models.removal_effects import RemovalEffects, Unit, units_of
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


@checked
def greedy_feature_path(problem: PruningProblem, *, by: Unit = "feature", progress: bool = False) -> PruningSequence:
    """Remove features, or cost items, one at a time until no split is left.

    Parameters
    ----------
    by
        what one step removes: ``"feature"``, or ``"item"``: all features that need an item, so that one step saves the price that
        a group of features shares (BP16's Scene15).
    progress
        show a progress bar on stderr.

    Returns
    -------
    PruningSequence
        row k is the forest after k steps; ``parameter`` is k. Features that no split tests take no step.

    Raises
    ------
    InvalidInputError
        for another unit.
    InterruptedSolveError
        on Ctrl-C; nothing was changed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> sequence = pm.rivals.greedy_feature_path(problem)
    >>> sequence.at_cost(12)  # the optimal pruning within 5 errs less:
    Pruning(cost=11.7667, error=0.082, 20 splits)
    >>> pm.solve(problem, budget=10).pruning
    Pruning(cost=10, error=0.137, 9 splits)
    """
    ensemble = problem.ensemble
    effects = RemovalEffects(problem.usage, problem.numbers, units_of(problem.usage, by))
    kept = ensemble.is_split.copy()
    rows_kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    steps = 0
    with interruption_as_error("while removing features"), Progress(f"greedy, by {by}", ensemble.n_splits, shown=progress) as bar:
        while kept.any():
            remaining = effects.without(kept, _best(*effects.of(kept)))
            bar.advance(int(kept.sum() - remaining.sum()))
            kept = remaining
            steps += 1
            rows_kept[kept] = steps
    rows_kept[ensemble.is_split] += 1  # row 0 keeps everything
    method = "greedy feature pruning" if by == "feature" else "greedy item pruning"
    return PruningSequence(problem, rows_kept, np.arange(steps + 1, dtype=np.float64), f"{by}s removed", method)


def _best(rise: NDArray[Any], saved: NDArray[Any], users: NDArray[np.int64]) -> int:
    """(2): the unit to remove."""

    def score(unit: int) -> tuple[int, Fraction, Fraction]:
        more, less = Fraction(rise[unit].item()), Fraction(saved[unit].item())
        if more <= 0:
            return 0, more, -less
        return (1, more / less, -less) if less > 0 else (2, more, less)

    return min(np.flatnonzero(users).tolist(), key=score)
