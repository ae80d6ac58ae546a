"""The only rule by which validation chooses a model for a budget.

Among the candidates whose cost on the validation part is at most the budget, it takes the one of least validation error; of equal
ones that of lower validation loss, then the cheaper one. The test part is not used.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.frontier.candidate import Candidate


def chosen(candidates: Sequence[Candidate], budget: float) -> Candidate | None:
    """The candidate for a budget; None if none is cheap enough."""
    within = [c for c in candidates if c.valid_cost <= budget]
    return min(within, key=lambda c: (c.valid_error, c.valid_loss, c.valid_cost)) if within else None


def winners(candidates: Sequence[Candidate], budgets: Sequence[float]) -> list[Candidate]:
    """The candidates that are chosen at some budget, each once, in the order of the budgets."""
    found: list[Candidate] = []
    for budget in budgets:
        best = chosen(candidates, budget)
        if best is not None and not any(best is other for other in found):
            found.append(best)
    return found
