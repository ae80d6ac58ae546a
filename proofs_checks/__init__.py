"""Evidence: checkers that share no code with what they check. Each answers with a `Verdict` and what shows it."""

from proofs_checks.counterexample.argument import check_counterexample
from proofs_checks.integrality.balanced import check_balanced
from proofs_checks.integrality.integral_vertices import check_integral_vertices
from proofs_checks.integrality.objective_study import optima_of_random_objectives
from proofs_checks.integrality.objectives import arbitrary_objectives, draw_data
from proofs_checks.integrality.perfect import check_perfect
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.reasons import check_integrality, fractional_vertex
from proofs_checks.integrality.vertex import check_vertex
from proofs_checks.integrality.vertices import vertices
from proofs_checks.integrality.weak_relaxation import check_weak_relaxation
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.row_operations import check_printed_matrices, check_row_operations
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.optimality.budget_rounding import check_budget_rounding
from proofs_checks.optimality.budget_solution import check_budget_solution
from proofs_checks.optimality.closure_path import check_closure_path
from proofs_checks.optimality.corollary import check_corollary
from proofs_checks.optimality.limits_solution import check_limits_solution
from proofs_checks.optimality.path_optimality import check_path
from proofs_checks.optimality.solution_optimality import check_solution
from proofs_checks.total_unimodularity import METHODS, check_pieces, check_total_unimodularity
from proofs_checks.total_unimodularity.explanation import explain_unimodularity
from proofs_checks.total_unimodularity.formulation_network import (
    check_formulation,
    check_integral_formulation,
    formulation_network,
)
from proofs_checks.total_unimodularity.violation_check import check_violation
from proofs_checks.verdict import Verdict

__all__ = [
    "METHODS",
    "NetworkMatrix",
    "Verdict",
    "ViolatingSubmatrix",
    "arbitrary_objectives",
    "check_balanced",
    "check_budget_rounding",
    "check_budget_solution",
    "check_closure_path",
    "check_corollary",
    "check_counterexample",
    "check_formulation",
    "check_integral_formulation",
    "check_integral_vertices",
    "check_integrality",
    "check_limits_solution",
    "check_network_matrix",
    "check_path",
    "check_perfect",
    "check_pieces",
    "check_printed_matrices",
    "check_row_operations",
    "check_solution",
    "check_total_unimodularity",
    "check_vertex",
    "check_violation",
    "check_weak_relaxation",
    "draw_data",
    "explain_unimodularity",
    "formulation_network",
    "fractional_vertex",
    "optima_of_random_objectives",
    "read_matrix",
    "read_polyhedron",
    "vertices",
]
