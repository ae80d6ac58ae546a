"""The prunings and the learners that the figures compare, by the names of their legends, and the unit that runs any of them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

import prunemodels as pm
from benchmarks.papers.budget_curves import budgets_up_to, curve_rows
from benchmarks.papers.data import Parts, parts
from benchmarks.papers.experiment import Row, Unit, Value
from benchmarks.papers.protocols import PROTOCOLS, Grown, grown
from formulations.answers.nested_prunings import NestedPrunings, PruningSequence
from prunemodels.rivals.cost_complexity import cost_complexity_path, early_stopping_path
from prunemodels.rivals.tree_by_tree import greedy_feature_path, individual_path

OPTIMAL, WITHIN = "BudgetPrune", "BudgetPrune, between breakpoints"
CCP, GREEDY, INDIVIDUAL = "CCP", "GreedyPrune", "individual"
EARLY = "BudgetRF, early stopping"
GREEDY_MISER, CEGB, BUDGET_RF, CSTC = "GreedyMiser", "CEGB", "BudgetRF", "CSTC"


def optimal(grown: Grown) -> NestedPrunings:
    """BP16's BudgetPrune, solved exactly: all optimal prunings."""
    return pm.pruning_path(grown.problem, certificate=False)


SECONDS = 5.0  # for one budget between breakpoints


def within_budgets(grown: Grown, budgets: Sequence[float]) -> dict[float, NestedPrunings]:
    """The best pruning found within each budget below the unpruned cost, breakpoint or not. The optimal path has prunings at its
    breakpoints only, and jumps; BP16 has no others. This is ours: `pm.solve`.
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
}
"""Of one and the same forest; early stopping is BP16's: a split stays while its entropy exceeds a threshold."""

LEARNERS: Mapping[str, tuple[str, str]] = {
    GREEDY_MISER: ("greedy_miser", "GreedyMiserClassifier"),
    CEGB: ("cegb", "CEGBClassifier"),
    BUDGET_RF: ("budget_rf", "BudgetRFClassifier"),
    CSTC: ("cstc", "CSTCClassifier"),
}
"""Package of `prunemodels.rivals`, and classifier. A package is imported where one of its learners is run."""


def fitted(method: str, setting: Mapping[str, Any], p: Parts, seed: int, costs: Any = 1) -> Any:
    """One of `LEARNERS` with the setting; CSTC prunes itself on the validation part."""
    package, name = LEARNERS[method]
    learner = getattr(importlib.import_module(f"prunemodels.rivals.{package}"), name)(costs, random_state=seed)
    valid = {"X_valid": p.X_valid, "y_valid": p.y_valid} if package == "cstc" else {}
    return learner.set_params(**setting).fit(p.X_train, p.y_train, **valid)


LAMS = (0.0, 1e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
"""Error per unit of cost, of the boosted learners; the short grids leave out 0, which the least is close to."""


def learner_settings(method: str, *, full: bool) -> Sequence[dict[str, Value]]:
    """The grid of a boosted learner that validation data choose from.

    BP16 gives GreedyMiser 1,000 trees of depth 4, squared loss, and searches learning rates; CEGB17 gives no grid. The grids here
    are ours; the short one has fewer trees at a greater rate. CEGB also has trees of 512 leaves, which are best on Forest.
    """
    if method == GREEDY_MISER:
        trees, rates, lams = (1000, (0.03, 0.1, 0.3), LAMS) if full else (200, (0.3,), LAMS[1:])
        return [
            {"n_estimators": trees, "learning_rate": rate, "lam": lam, "loss": "squared_error"} for rate in rates for lam in lams
        ]
    sizes = ((400, 64, 0.1, LAMS), (400, 512, 0.1, LAMS)) if full else ((100, 32, 0.2, LAMS[1:]), (400, 512, 0.1, LAMS[4:]))
    return [
        {"n_estimators": trees, "num_leaves": leaves, "learning_rate": rate, "lam": lam}
        for trees, leaves, rate, lams in sizes
        for lam in lams
    ]


def run_curve(unit: Unit) -> list[Row]:
    """The points of a pruning or of a learner by the protocol of its setting; the method's name stands before any brackets."""
    name, setting = unit.method.split(" (")[0], dict(unit.setting)
    protocol = PROTOCOLS[str(setting.pop("protocol"))].changed(unit.setting)
    if name in LEARNERS:
        p = parts(unit.data, unit.seed, unit.rows, signal=protocol.signal)
        return curve_rows(fitted(name, setting, p, unit.seed), p)
    forest = grown(protocol, unit.data, unit.seed, unit.rows)
    if name != WITHIN:
        return curve_rows(PRUNINGS[name](forest), forest.parts)
    found = within_budgets(forest, budgets_up_to(unit.data, forest.parts.X_valid.shape[1]))
    return [row for path in found.values() for row in curve_rows(path, forest.parts)]
