"""Engines. Each minimises (OBJ) of `formulations.instance.problem` and has the signature `Solver`.

A new engine is one file and one line in a registry; the conformance suite then tests it. ``ip1``, ``ip3`` and ``closure`` in an
engine's name are formulations of `formulations.models`. Engines with ``pyomo`` in their name solve them through Pyomo, the others
as arrays.
"""

# ruff: noqa: E402 (no engine may be imported before the check)
from solvers.dependencies import check_versions

check_versions()

from functools import partial

from formulations.answers.solution import Solver
from solvers.automatic import optimal_pruning
from solvers.brute_force import brute_force
from solvers.closures.min_cut import min_cut
from solvers.column_generation import DantzigWolfeSolution, dantzig_wolfe
from solvers.path.closure_path import closure_path
from solvers.path.pruning_path import pruning_path
from solvers.price_sharing import MemoryNeeds, memory_needed, price_sharing
from solvers.primal_dual import primal_dual
from solvers.programs.linear_program import integer_program, linear_program, pyomo_highs, solve_model
from solvers.programs.relaxation import Relaxation, solve_relaxation

EXACT_SOLVERS: dict[str, Solver] = {
    "min_cut": min_cut,
    "price_sharing": price_sharing,
    "dantzig_wolfe": dantzig_wolfe,
    "brute_force": brute_force,
    "highs_ip1": partial(integer_program, formulation="IP1"),
    "highs_ip3": partial(linear_program, formulation="IP3"),
    "highs_closure": partial(linear_program, formulation="closure"),
    "glop_ip3": partial(linear_program, formulation="IP3", engine="glop"),
    "glop_closure": partial(linear_program, formulation="closure", engine="glop"),
    "pyomo_ip1": partial(pyomo_highs, formulation="IP1", relax=False),
    "pyomo_ip3": partial(pyomo_highs, formulation="IP3"),
    "pyomo_closure": partial(pyomo_highs, formulation="closure"),
}
"""Engines that find and prove the optimum, in integers or within their stated tolerance."""

BOUNDING_SOLVERS: dict[str, Solver] = {
    "primal_dual": primal_dual,
    "dantzig_wolfe_plain": partial(dantzig_wolfe, scheme="plain"),
    "highs_ip1_relaxed": partial(linear_program, formulation="IP1"),
    "highs_ipm_closure": partial(linear_program, formulation="closure", engine="highs_ipm"),
    "pdlp_ip3": partial(linear_program, formulation="IP3", engine="pdlp"),
    "pdlp_closure": partial(linear_program, formulation="closure", engine="pdlp"),
}
"""Engines that give a pruning and a valid bound, between which a gap may remain."""

SOLVERS: dict[str, Solver] = EXACT_SOLVERS | BOUNDING_SOLVERS

__all__ = [
    "BOUNDING_SOLVERS",
    "EXACT_SOLVERS",
    "SOLVERS",
    "DantzigWolfeSolution",
    "MemoryNeeds",
    "Relaxation",
    "brute_force",
    "closure_path",
    "dantzig_wolfe",
    "integer_program",
    "linear_program",
    "memory_needed",
    "min_cut",
    "optimal_pruning",
    "price_sharing",
    "primal_dual",
    "pruning_path",
    "pyomo_highs",
    "solve_model",
    "solve_relaxation",
]
