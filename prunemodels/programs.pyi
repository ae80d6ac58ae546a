"""The public names of this namespace, and where each lives; see `formulations.extras`."""

from formulations.models import (
    FORMULATIONS as FORMULATIONS,
    feature_used as feature_used,
    read_point as read_point,
    read_pruning as read_pruning,
)
from formulations.programs.files import write_program as write_program
from formulations.programs.program_text import read_program as read_program
from formulations.programs.matrix import MATRICES as MATRICES
from formulations.programs.shortest_path import (
    row_operations as row_operations,
    tree_network as tree_network,
    tree_networks as tree_networks,
)
from formulations.programs.matrix import nws15_bound as nws15_bound, size_report as size_report
from solvers import Relaxation as Relaxation, solve_model as solve_model, solve_relaxation as solve_relaxation
from solvers.programs.build import BuiltProgram as BuiltProgram, build as build
