"""Engines. Each minimises (OBJ) of `formulations.instance.problem` and has the signature `Solver`.

A new engine is one file and one line in a registry; the conformance suite then tests it. ``ip1``, ``ip3`` and ``closure`` in an
engine's name are formulations of `formulations.models`. Engines with ``pyomo`` in their name solve them through Pyomo, the others
as arrays.
"""

# ruff: noqa: E402 (no engine may be imported before the check)
from solvers.engine import check_versions

check_versions()

from functools import partial

from formulations.answers.solution import Solver
from solvers.automatic import optimal_pruning
from solvers.brute_force import brute_force
from solvers.closures.min_cut import min_cut
from solvers.column_generation import DantzigWolfeSolution, dantzig_wolfe
from solvers.engine import Engine
from solvers.path.closure_path import closure_path
from solvers.path.pruning_path import pruning_path
from solvers.price_sharing import MemoryNeeds, memory_needed, price_sharing
from solvers.primal_dual import primal_dual
from solvers.programs.linear_program import integer_program, linear_program, pyomo_highs, solve_model
from solvers.programs.rounding import Relaxation, solve_relaxation

ENGINES: dict[str, Engine[Solver]] = {
    "min_cut": Engine(min_cut, proves="optimum"),
    "price_sharing": Engine(price_sharing, proves="optimum"),
    "dantzig_wolfe": Engine(dantzig_wolfe, proves="optimum"),
    "brute_force": Engine(brute_force, proves="optimum", takes="small"),
    "highs_ip1": Engine(partial(integer_program, formulation="IP1"), proves="optimum"),
    "highs_ip3": Engine(partial(linear_program, formulation="IP3"), proves="optimum"),
    "highs_closure": Engine(partial(linear_program, formulation="closure"), proves="optimum"),
    "glop_ip3": Engine(partial(linear_program, formulation="IP3", engine="glop"), proves="optimum"),
    "glop_closure": Engine(partial(linear_program, formulation="closure", engine="glop"), proves="optimum"),
    "pyomo_ip1": Engine(partial(pyomo_highs, formulation="IP1", relax=False), proves="optimum"),
    "pyomo_ip3": Engine(partial(pyomo_highs, formulation="IP3"), proves="optimum"),
    "pyomo_closure": Engine(partial(pyomo_highs, formulation="closure"), proves="optimum"),
    "primal_dual": Engine(primal_dual, proves="bound"),
    "dantzig_wolfe_plain": Engine(partial(dantzig_wolfe, scheme="plain"), proves="bound"),
    "highs_ip1_relaxed": Engine(partial(linear_program, formulation="IP1"), proves="bound"),
    "highs_ipm_closure": Engine(partial(linear_program, formulation="closure", engine="highs_ipm"), proves="bound"),
    "pdlp_ip3": Engine(partial(linear_program, formulation="IP3", engine="pdlp"), proves="bound"),
    "pdlp_closure": Engine(partial(linear_program, formulation="closure", engine="pdlp"), proves="bound"),
}
"""The engines by name, and what each proves. A new engine is one file and one line here."""

SOLVERS: dict[str, Solver] = {name: engine.solve for name, engine in ENGINES.items()}
"""Their functions."""

__all__ = [
    "ENGINES",
    "SOLVERS",
    "DantzigWolfeSolution",
    "Engine",
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
