"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations import Status as Status, StopReason as StopReason
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
from solvers.brute_force import AllPrunings as AllPrunings, all_prunings as all_prunings, brute_force as brute_force
from solvers.column_generation import BUNDLE as BUNDLE, PLAIN as PLAIN, Scheme as Scheme
from solvers.column_generation.loop import MasterAnswer as MasterAnswer
from solvers.column_generation.full_master import TreeMaster as TreeMaster
from solvers.column_generation.shortest_paths import (
    CheapestPrunings as CheapestPrunings,
    batches_of as batches_of,
    price_by_shortest_paths as price_by_shortest_paths,
    price_by_tree_pass as price_by_tree_pass,
)
from solvers.price_sharing import final_scores as final_scores
