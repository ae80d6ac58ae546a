"""The public names of this package, and where each lives; see `formulations.extras`."""

from formulations.answers.nested_prunings import PruningSequence as PruningSequence
from formulations.answers.pruning import Pruning as Pruning
from formulations.answers.pruning_path import PruningPath as PruningPath
from formulations.answers.solution import (
    ItemDuals as ItemDuals,
    Solution as Solution,
    Solver as Solver,
    Status as Status,
    StopReason as StopReason,
)
from formulations.errors import (
    BrokenFileError as BrokenFileError,
    CapacityOverflowError as CapacityOverflowError,
    InfeasibleModelError as InfeasibleModelError,
    InterruptedSolveError as InterruptedSolveError,
    InvalidInputError as InvalidInputError,
    MissingPackageError as MissingPackageError,
    NotFittedForestError as NotFittedForestError,
    PruneModelsError as PruneModelsError,
    SolverFailedError as SolverFailedError,
    UnspentBudgetWarning as UnspentBudgetWarning,
    UnsupportedModelError as UnsupportedModelError,
)
from formulations.instance.cost_items import CostItems as CostItems
from formulations.instance.ensemble import Ensemble as Ensemble
from formulations.instance.node_errors import (
    ErrorComponent as ErrorComponent,
    NodeErrors as NodeErrors,
)
from formulations.answers.nested_rows import ClosureCertificate as ClosureCertificate, ClosurePath as ClosurePath
from formulations.instance.parametric_closure import ParametricClosure as ParametricClosure
from formulations.instance.problem import PruningProblem as PruningProblem
from formulations.instance.usage import Usage as Usage
