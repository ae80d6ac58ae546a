"""Grids that are widened: rungs of a hyperparameter are added as long as validation chooses the last one at some budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from benchmarks.frontier.candidate import Candidate
from benchmarks.frontier.choice import winners


def climb(
    fit: Callable[[int], list[Candidate]],
    start: Sequence[int],
    lowest: int,
    highest: int,
    budgets: Sequence[float],
) -> list[Candidate]:
    """Candidates of all rungs tried.

    Parameters
    ----------
    fit
        makes the candidates of a rung.
    start
        the first rungs, consecutive and rising.
    lowest, highest
        the last rungs that may be tried.
    """
    found = {rung: fit(rung) for rung in start}
    while True:
        everything = [c for some in found.values() for c in some]
        used = [rung for rung, some in found.items() if any(w is c for w in winners(everything, budgets) for c in some)]
        low, high = min(found), max(found)
        if high in used and high < highest:
            found[high + 1] = fit(high + 1)
        elif low in used and low > lowest:
            found[low - 1] = fit(low - 1)
        else:
            return everything
