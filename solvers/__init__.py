"""Engines: every one minimises (OBJ) of `formulations.problem`, with the signature of `formulations.solution.Solver`.

A new engine is one file and one line in `SOLVERS`; the conformance suite then tests it.
"""

from formulations.solution import Solver
from solvers.brute_force import brute_force
from solvers.min_cut import min_cut
from solvers.path import pruning_path

SOLVERS: dict[str, Solver] = {
    "min_cut": min_cut,
    "brute_force": brute_force,
}

__all__ = ["SOLVERS", "brute_force", "min_cut", "pruning_path"]
