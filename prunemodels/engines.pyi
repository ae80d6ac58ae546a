"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from formulations import Status as Status, StopReason as StopReason
from prunemodels.comparison.growth import measure_growth as measure_growth
from solvers import (
    DantzigWolfeSolution as DantzigWolfeSolution,
    MemoryNeeds as MemoryNeeds,
    dantzig_wolfe as dantzig_wolfe,
    integer_program as integer_program,
    linear_program as linear_program,
    memory_needed as memory_needed,
    min_cut as min_cut,
    price_sharing as price_sharing,
    primal_dual as primal_dual,
)
