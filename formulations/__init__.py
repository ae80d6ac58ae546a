"""The ground floor: the data of a pruning problem, and its models."""

from formulations.cost_items import CostItems
from formulations.ensemble import Ensemble
from formulations.errors import (
    BrokenFileError,
    CapacityOverflowError,
    InterruptedSolveError,
    InvalidInputError,
    NotFittedForestError,
    PruneModelsError,
    SolverFailedError,
    UnsupportedModelError,
)
from formulations.nested_prunings import PruningSequence
from formulations.node_errors import ErrorComponent, NodeErrors
from formulations.parametric_closure import ClosureCertificate, ClosurePath, ParametricClosure
from formulations.problem import PruningProblem
from formulations.pruning import Pruning
from formulations.pruning_path import PruningPath
from formulations.solution import ItemLoads, Solution, Solver, Status, StopReason

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
    "ItemLoads",
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
    "UnsupportedModelError",
]
