"""GreedyPrune (BP16 section 5): features are removed from the whole forest, one after the other.

BP16: "at each iteration it attempts to remove all nodes corresponding to one feature from the RF such that the resulting pruned
RF has the lowest training error and average feature cost. The process terminates in at most K iterations ... successively
removing features that result in large cost reduction yet small accuracy loss." These are two aims without a weight between them.
The score is ours:

    remove the feature f of least  (rise of the error) / (fall of the cost)  if all splits on f go, and all below them        (1)

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
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from formulations.long_steps import Progress, interruption_as_error
from prunemodels.models.removal_effects import RemovalEffects, Unit, units_of


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
    """(1): the unit to remove."""

    def score(unit: int) -> tuple[int, Fraction, Fraction]:
        more, less = Fraction(rise[unit].item()), Fraction(saved[unit].item())
        if more <= 0:
            return 0, more, -less
        return (1, more / less, -less) if less > 0 else (2, more, less)

    return min(np.flatnonzero(users).tolist(), key=score)
