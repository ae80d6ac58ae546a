"""Grids that are widened: rungs of a hyperparameter are added as long as validation chooses the last one at some budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.frontier.candidate import Candidate, chosen, winners


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


def climb_each(
    fit: Callable[[Mapping[str, int]], list[Candidate]],
    start: Mapping[str, int],
    highest: Mapping[str, int],
    budgets: Sequence[float],
) -> list[Candidate]:
    """Candidates of all settings of several hyperparameters, climbed one after the other.

    Each is climbed from the neighbours of its first rung, while the others stay where they are, and then stays at the rung
    whose candidates validation chooses at most budgets.

    Parameters
    ----------
    fit
        makes the candidates of a setting, a rung for each name.
    start
        the first setting; names are climbed in this order.
    highest
        the last rung of each name; the first one is 0.
    """
    here, known = dict(start), dict[tuple[int, ...], list[Candidate]]()

    def remembered(rungs: Mapping[str, int]) -> list[Candidate]:
        key = tuple(rungs.values())
        if key not in known:
            known[key] = fit(rungs)
        return known[key]

    for name in start:
        around = [rung for rung in range(here[name] - 1, here[name] + 2) if 0 <= rung <= highest[name]]
        climb(lambda rung, at=here, name=name: remembered({**at, name: rung}), around, 0, highest[name], budgets)
        everything = [c for some in known.values() for c in some]
        best = [chosen(everything, budget) for budget in budgets]
        wins = {key: sum(any(c is w for c in some) for w in best) for key, some in known.items()}
        here = dict(zip(start, max(wins, key=lambda key: wins[key]), strict=True))
    return [c for some in known.values() for c in some]
