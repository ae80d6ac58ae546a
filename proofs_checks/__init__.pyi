"""The public names of this package, and where each lives; see `formulations.extras`."""

from proofs_checks.integrality.counterexample import check_counterexample as check_counterexample
from proofs_checks.integrality.objectives import optima_of_random_objectives as optima_of_random_objectives
from proofs_checks.integrality.objectives import (
    arbitrary_objectives as arbitrary_objectives,
    draw_data as draw_data,
)
from proofs_checks.integrality.reading import read_polyhedron as read_polyhedron
from proofs_checks.integrality.vertices import (
    check_integrality as check_integrality,
    fractional_vertex as fractional_vertex,
)
from proofs_checks.integrality.points import check_vertex as check_vertex
from proofs_checks.integrality.vertices import (
    check_integral_vertices as check_integral_vertices,
    vertices as vertices,
)
from proofs_checks.integrality.points import check_weak_relaxation as check_weak_relaxation
from proofs_checks.matrices.network_matrix import (
    NetworkMatrix as NetworkMatrix,
    check_network_matrix as check_network_matrix,
)
from proofs_checks.total_unimodularity.formulation_network import check_printed_matrices as check_printed_matrices
from proofs_checks.matrices.sign_matrix import read_matrix as read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix as ViolatingSubmatrix
from proofs_checks.optimality.relaxation import check_relaxation as check_relaxation
from proofs_checks.optimality.closure_path import check_closure_path as check_closure_path
from proofs_checks.optimality.corollary import check_corollary as check_corollary
from proofs_checks.optimality.path_optimality import check_path as check_path
from proofs_checks.optimality.solution import check_solution as check_solution
from proofs_checks.total_unimodularity import (
    METHODS as METHODS,
    check_pieces as check_pieces,
    check_total_unimodularity as check_total_unimodularity,
)
from proofs_checks.total_unimodularity.explanation import explain_unimodularity as explain_unimodularity
from proofs_checks.total_unimodularity.formulation_network import (
    check_formulation as check_formulation,
    formulation_network as formulation_network,
)
from proofs_checks.total_unimodularity.decide import check_violation as check_violation
from proofs_checks.verdict import Verdict as Verdict
