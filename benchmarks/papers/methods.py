"""The prunings and the learners that the figures compare, by the names of their legends."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import prunemodels as pm
from benchmarks.papers.experiment import Value
from benchmarks.papers.protocols import Grown
from formulations.answers.nested_prunings import NestedPrunings, PruningSequence
from formulations.errors import InvalidInputError
from prunemodels.rivals.baselines.cost_complexity import cost_complexity_path
from prunemodels.rivals.baselines.early_stopping import early_stopping_path
from prunemodels.rivals.baselines.greedy_features import greedy_feature_path
from prunemodels.rivals.baselines.individual import individual_path
from prunemodels.rivals.baselines.sub_forest import sub_forest_path

OPTIMAL, WITHIN = "BudgetPrune", "BudgetPrune, between breakpoints"
CCP, GREEDY, INDIVIDUAL = "CCP", "GreedyPrune", "individual"
EARLY, FEWER = "BudgetRF, early stopping", "fewer trees"
GREEDY_MISER, CEGB = "GreedyMiser", "CEGB"


def optimal(grown: Grown) -> NestedPrunings:
    """BP16's BudgetPrune, solved exactly: all optimal prunings."""
    return pm.pruning_path(grown.problem, certificate=False)


SECONDS = 5.0
"""For one budget between breakpoints."""


def within_budgets(grown: Grown, budgets: Sequence[float]) -> dict[float, NestedPrunings]:
    """The best pruning found within each budget below the unpruned cost, breakpoint or not.

    The optimal path has prunings at its breakpoints only, and jumps; BP16 has no others. This is ours: `pm.solve`.
    """
    path = pm.pruning_path(grown.problem, certificate=False)
    most = pm.Pruning.unpruned(grown.problem).cost
    found: dict[float, NestedPrunings] = {}
    for budget in (b for b in budgets if b < most):
        pruning = pm.solve(grown.problem, budget=budget, time_limit=SECONDS, path=path).pruning
        kept = pruning.kept.astype(np.int32)
        found[budget] = PruningSequence(grown.problem, kept, np.array([budget]), "budget", WITHIN)
    return found


PRUNINGS: dict[str, Callable[[Grown], NestedPrunings]] = {
    OPTIMAL: optimal,
    CCP: lambda grown: cost_complexity_path(grown.problem),
    GREEDY: lambda grown: greedy_feature_path(grown.problem),
    EARLY: lambda grown: early_stopping_path(grown.problem, grown.forest, criterion="entropy"),
    INDIVIDUAL: lambda grown: individual_path(grown.problem),
    FEWER: lambda grown: sub_forest_path(grown.problem, random_state=0),
}
"""Of one and the same forest; early stopping is BP16's: a split stays while its entropy exceeds a threshold."""


def prunings(method: str, grown: Grown) -> NestedPrunings:
    """The prunings of a method.

    Raises
    ------
    InvalidInputError
        for another name.
    """
    if method not in PRUNINGS:
        raise InvalidInputError(f"method is {method!r}; give one of {', '.join(PRUNINGS)}")
    return PRUNINGS[method](grown)


def learner(method: str, setting: Mapping[str, Value], seed: int) -> Any:
    """An unfitted boosted learner at uniform prices."""
    if method == GREEDY_MISER:
        from prunemodels.rivals.greedy_miser import GreedyMiserClassifier

        return GreedyMiserClassifier(costs=1, random_state=seed).set_params(**setting)
    if method == CEGB:
        from prunemodels.rivals.cegb import CEGBClassifier

        return CEGBClassifier(costs=1, random_state=seed).set_params(**setting)
    raise InvalidInputError(f"method is {method!r}; give {GREEDY_MISER} or {CEGB}")


def learner_settings(method: str, *, full: bool) -> Sequence[dict[str, Value]]:
    """The grid that validation data choose from.

    BP16 gives GreedyMiser 1,000 trees of depth 4, squared loss, and searches learning rates; CEGB17 gives no grid. The grids here
    are ours; the short one has fewer trees at a greater rate.
    """
    if method == GREEDY_MISER:
        rates, trees = ((0.03, 0.1, 0.3), 1000) if full else ((0.3,), 200)
        grid: tuple[float, ...] = (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2) if full else (1e-5, 3e-4, 1e-3, 3e-3, 1e-2)
        return [
            {"n_estimators": trees, "learning_rate": rate, "lam": lam, "loss": "squared_error"} for rate in rates for lam in grid
        ]
    trees, leaves, rate = (400, 64, 0.1) if full else (100, 32, 0.2)
    grid = (0.0, 1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1) if full else (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2)
    return [{"n_estimators": trees, "num_leaves": leaves, "learning_rate": rate, "lam": lam} for lam in grid]
