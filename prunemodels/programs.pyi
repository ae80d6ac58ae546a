"""The public names of this namespace, and where each lives; see `formulations.lazy_names`."""

from formulations.models import (
    FORMULATIONS as FORMULATIONS,
    feature_used as feature_used,
    read_point as read_point,
    read_pruning as read_pruning,
)
from formulations.programs.files import write_program as write_program
from solvers.programs.stoppable import size_report as size_report
from solvers import Relaxation as Relaxation, solve_model as solve_model, solve_relaxation as solve_relaxation
from solvers.programs.build import BuiltProgram as BuiltProgram, build as build
