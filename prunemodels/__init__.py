"""Optimal pruning of tree ensembles under prediction-time cost.

>>> import prunemodels as pm
>>> problem = pm.problem_from_forest(forest, X_valid, costs=costs)   # doctest: +SKIP
>>> path = pm.pruning_path(problem)                                  # doctest: +SKIP
>>> cheap = pm.apply_pruning(path.at_cost(24.0), forest)             # doctest: +SKIP
"""

# ruff: noqa: E402 (nothing of ours may be imported before the check)
from prunemodels.siblings import check_siblings

check_siblings()

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from formulations import (
        BrokenFileError,
        CapacityOverflowError,
        CostItems,
        Ensemble,
        InterruptedSolveError,
        InvalidInputError,
        NotFittedForestError,
        PruneModelsError,
        Pruning,
        PruningPath,
        PruningProblem,
        Solution,
        SolverFailedError,
        Status,
        StopReason,
        UnsupportedModelError,
    )
    from formulations.models import FORMULATIONS, read, read_point
    from formulations.sizes import size_report
    from prunemodels.budget_plots import plot_budget
    from prunemodels.certified_budget import budget_for_confidence
    from prunemodels.comparison import compare
    from prunemodels.error_samples import Blend, Given, InBag, OutOfBag
    from prunemodels.evaluation import Evaluation, evaluate
    from prunemodels.forests import read_forest
    from prunemodels.held_out import HeldOut, HeldOutCost, held_out_cost, held_out_error, hold_out
    from prunemodels.mixture import MixturePredictor, mixture_of
    from prunemodels.problems import problem_from_forest
    from prunemodels.surgery import apply_pruning
    from solvers import (
        SOLVERS,
        dantzig_wolfe,
        integer_program,
        linear_program,
        min_cut,
        price_sharing,
        primal_dual,
        pruning_path,
        solve_model,
        solve_relaxation,
    )
    from solvers.budgets import BUDGET_SOLVERS, solve_budget, solve_class_budgets, solve_worst_case
    from solvers.program_files import write_program

__version__ = "0.1.0"

__all__ = [
    "BUDGET_SOLVERS",
    "FORMULATIONS",
    "SOLVERS",
    "Blend",
    "BrokenFileError",
    "CapacityOverflowError",
    "CostItems",
    "Ensemble",
    "Evaluation",
    "Given",
    "HeldOut",
    "HeldOutCost",
    "InBag",
    "InterruptedSolveError",
    "InvalidInputError",
    "MixturePredictor",
    "NotFittedForestError",
    "OutOfBag",
    "PruneModelsError",
    "Pruning",
    "PruningPath",
    "PruningProblem",
    "Solution",
    "SolverFailedError",
    "Status",
    "StopReason",
    "UnsupportedModelError",
    "apply_pruning",
    "budget_for_confidence",
    "compare",
    "dantzig_wolfe",
    "evaluate",
    "held_out_cost",
    "held_out_error",
    "hold_out",
    "integer_program",
    "linear_program",
    "min_cut",
    "mixture_of",
    "plot_budget",
    "price_sharing",
    "primal_dual",
    "problem_from_forest",
    "pruning_path",
    "read",
    "read_forest",
    "read_point",
    "size_report",
    "solve_budget",
    "solve_class_budgets",
    "solve_model",
    "solve_relaxation",
    "solve_worst_case",
    "write_program",
]

_HOMES = {
    "formulations": [
        "BrokenFileError",
        "CapacityOverflowError",
        "CostItems",
        "Ensemble",
        "InterruptedSolveError",
        "InvalidInputError",
        "NotFittedForestError",
        "PruneModelsError",
        "Pruning",
        "PruningPath",
        "PruningProblem",
        "Solution",
        "SolverFailedError",
        "Status",
        "StopReason",
        "UnsupportedModelError",
    ],
    "prunemodels.mixture": ["MixturePredictor", "mixture_of"],
    "prunemodels.held_out": ["HeldOut", "HeldOutCost", "held_out_cost", "held_out_error", "hold_out"],
    "prunemodels.certified_budget": ["budget_for_confidence"],
    "prunemodels.budget_plots": ["plot_budget"],
    "solvers.budgets": ["BUDGET_SOLVERS", "solve_budget", "solve_class_budgets", "solve_worst_case"],
    "prunemodels.comparison": ["compare"],
    "prunemodels.error_samples": ["Blend", "Given", "InBag", "OutOfBag"],
    "prunemodels.evaluation": ["Evaluation", "evaluate"],
    "prunemodels.forests": ["read_forest"],
    "prunemodels.problems": ["problem_from_forest"],
    "prunemodels.surgery": ["apply_pruning"],
    "formulations.models": ["FORMULATIONS", "read", "read_point"],
    "formulations.sizes": ["size_report"],
    "solvers": [
        "SOLVERS",
        "dantzig_wolfe",
        "integer_program",
        "linear_program",
        "min_cut",
        "price_sharing",
        "primal_dual",
        "pruning_path",
        "solve_model",
        "solve_relaxation",
    ],
    "solvers.program_files": ["write_program"],
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that the command line answers at once."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
