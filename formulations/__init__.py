"""The data of a pruning problem and its models; the other packages import this one."""

from formulations.answers.nested_prunings import PruningSequence
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.answers.solution import ItemDuals, Solution, Solver, Status, StopReason
from formulations.errors import (
    BrokenFileError,
    CapacityOverflowError,
    InterruptedSolveError,
    InvalidInputError,
    MissingPackageError,
    NotFittedForestError,
    PruneModelsError,
    SolverFailedError,
    UnspentBudgetWarning,
    UnsupportedModelError,
)
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.parametric_closure import ClosureCertificate, ClosurePath, ParametricClosure
from formulations.instance.problem import PruningProblem
from formulations.instance.usage import Usage

__all__ = [
    "BrokenFileError",
    "CapacityOverflowError",
    "ClosureCertificate",
    "ClosurePath",
    "CostItems",
    "Ensemble",
    "ErrorComponent",
    "InterruptedSolveError",
    "InvalidInputError",
    "ItemDuals",
    "MissingPackageError",
    "NodeErrors",
    "NotFittedForestError",
    "ParametricClosure",
    "PruneModelsError",
    "Pruning",
    "PruningPath",
    "PruningProblem",
    "PruningSequence",
    "Solution",
    "Solver",
    "SolverFailedError",
    "Status",
    "StopReason",
    "UnspentBudgetWarning",
    "UnsupportedModelError",
    "Usage",
]
