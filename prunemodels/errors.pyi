"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations import (
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
from prunemodels.on_demand.request import (
    AcquisitionFailedError as AcquisitionFailedError,
    InterruptedAcquisitionError as InterruptedAcquisitionError,
)
