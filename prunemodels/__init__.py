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
    from prunemodels.comparison import compare
    from prunemodels.error_samples import Blend, Given, InBag, OutOfBag
    from prunemodels.evaluation import Evaluation, evaluate
    from prunemodels.forests import read_forest
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
    from solvers.program_files import write_program

__version__ = "0.1.0"

__all__ = [
    "FORMULATIONS",
    "SOLVERS",
    "Blend",
    "BrokenFileError",
    "CapacityOverflowError",
    "CostItems",
    "Ensemble",
    "Evaluation",
    "Given",
    "InBag",
    "InterruptedSolveError",
    "InvalidInputError",
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
    "compare",
    "dantzig_wolfe",
    "evaluate",
    "integer_program",
    "linear_program",
    "min_cut",
    "price_sharing",
    "primal_dual",
    "problem_from_forest",
    "pruning_path",
    "read",
    "read_forest",
    "read_point",
    "size_report",
    "solve_model",
    "solve_relaxation",
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
