"""The certificate of IP3's total unimodularity: the tree of the variables, the rows as its paths."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.models import FORMULATIONS
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.network_matrix import check_network_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity.formulation_network import (
    HUB,
    check_formulation,
    check_integral_formulation,
    formulation_network,
)
from tests.instances import random_problem, with_usage
from tests.loops import looped

UNIMODULAR = ("IP0", "IP2", "IP3", "closure")


def program(problem: Any, name: str, *, merge: bool = False, **options: Any) -> LinearProgram:
    """A formulation's matrix; lambda or budget 1 where it takes one."""
    if name != "IP0":
        options |= {"merge": merge, **({"budget": 1} if name == "LP1" else {"lam": 1})}
    return MATRICES[name](problem, **options)


def test_the_papers_tree_1_by_hand() -> None:
    """IP3's row of leaf 4 leads from the hub over nodes 1 and 3 to 4; a coupling row from one vertex over the hub to another."""
    problem = two_trees()
    ip3 = program(problem, "IP3")
    network = formulation_network(problem, ip3)
    assert network is not None
    assert network.transposed
    column = {name: k for k, name in enumerate(ip3.columns)}
    row = {name: k for k, name in enumerate(ip3.rows)}
    vertex_of_1, vertex_of_3, vertex_of_4 = (network.head[column[f"z[{h}]"]] for h in (0, 2, 3))
    assert network.tail[column["z[0]"]] == HUB
    assert network.tail[column["z[2]"]] == vertex_of_1
    assert network.tail[column["z[3]"]] == vertex_of_3
    leaf = row["leaf[3]"]
    assert (network.start[leaf], network.end[leaf]) == (HUB, vertex_of_4)
    # u of feature 2 in tree 1 is node 3: (1, 2, 1) -> hub -> 1 -> 3
    own = network.tail[column["w_t[2,1,0]"]]
    assert network.head[column["w_t[2,1,0]"]] == HUB
    usage = row["usage[2,1,0]"]
    assert (network.start[usage], network.end[usage]) == (own, vertex_of_3)
    coupling = row["coupling[2,1,0]"]
    assert (network.start[coupling], network.end[coupling]) == (own, network.tail[column["w[1,0]"]])


@pytest.mark.parametrize("merge", [False, True])
@looped("seed", range(40))
def test_every_instance_has_the_certificate(seed: int, merge: bool) -> None:
    """IP0, IP3 and the closure of any instance, IP2 of any tree: the tree of the variables serves, and the check accepts it."""
    problem = random_problem(seed)
    for name in UNIMODULAR:
        own = problem.only_tree(0) if name == "IP2" else problem
        try:
            linear = program(own, name, merge=merge)
        except InvalidInputError:  # an item paid once for all, asked for at several splits
            assert name == "IP2"
            continue
        network = formulation_network(own, linear)
        assert network is not None, name
        assert check_network_matrix(linear, network)
        assert check_formulation(own, linear).certificate.transposed
        assert check_integral_formulation(own, linear)


@pytest.mark.parametrize("name", ["IP0", "IP3", "closure"])
def test_pyomo_models_have_it_too(name: str) -> None:
    """The same certificate for the declarative model: the variables are known by their names."""
    problem = two_trees()
    model = FORMULATIONS[name](problem) if name == "IP0" else FORMULATIONS[name](problem, lam=1)
    verdict = check_formulation(problem, model)
    assert verdict, str(verdict)
    by_arrays = formulation_network(problem, program(problem, name))
    assert by_arrays is not None
    if name != "closure":  # its model has z as expressions, the matrix has none
        for array in ("tail", "head"):
            np.testing.assert_array_equal(getattr(verdict.certificate, array), getattr(by_arrays, array))


@looped("seed", range(12))
def test_one_entry_changed_is_noticed(seed: int) -> None:
    """Any nonzero of IP3's matrix dropped or turned, under the true certificate: refuted, naming the row."""
    problem = random_problem(seed)
    linear = program(problem, "IP3")
    network = formulation_network(problem, linear)
    assert network is not None
    rng = np.random.default_rng(seed)
    for k in rng.choice(linear.matrix.nnz, min(12, linear.matrix.nnz), replace=False):
        for factor in (0, -1, 2):
            wrong = linear.matrix.copy()
            wrong.data[k] *= factor
            row = int(np.searchsorted(wrong.indptr, k, side="right")) - 1
            verdict = check_network_matrix(replace(linear, matrix=wrong), network)
            assert verdict.holds is False
            assert linear.rows[row] in verdict.certificate


@pytest.mark.parametrize("name", ["IP1", "LP1"])
def test_ip1_and_lp1_are_refuted_on_the_papers_trees(name: str) -> None:
    """The tree does not serve; a violating submatrix is found and named."""
    problem = two_trees()
    linear = program(problem, name)
    assert formulation_network(problem, linear) is None
    verdict = check_formulation(problem, linear)
    assert verdict.holds is False
    found = verdict.certificate
    assert isinstance(found, ViolatingSubmatrix)
    assert abs(found.determinant) == 2
    place = {"rows": [linear.rows[i] for i in found.rows], "columns": [linear.columns[j] for j in found.columns]}
    assert list(found.row_names) == place["rows"]
    assert list(found.column_names) == place["columns"]
    dense = linear.matrix.toarray()[np.ix_(found.rows, found.columns)]
    np.testing.assert_array_equal(dense, np.array(found.entries, dtype=float))
    assert round(np.linalg.det(dense)) == found.determinant


def test_integrality_needs_integral_bounds() -> None:
    """A totally unimodular matrix with the bound 1/2 has fractional vertices; the check names the bound and claims nothing."""
    problem = two_trees()
    linear = program(problem, "IP3")
    upper = linear.upper.copy()
    upper[3] = 0.5
    verdict = check_integral_formulation(problem, replace(linear, upper=upper))
    assert verdict.holds is None
    assert verdict.certificate == "the upper bound of variable z[3] is 0.5, no integer"
    lower = linear.row_lower.copy()
    lower[1] = 0.25
    assert "lower bound of row" in check_integral_formulation(problem, replace(linear, row_lower=lower)).certificate
    assert check_integral_formulation(problem, program(problem, "IP1")).holds is None


def test_a_program_of_another_forest_is_refused() -> None:
    """A variable of a node that the forest does not have is named."""
    with pytest.raises(InvalidInputError, match=r"variable z\[5\], the forest has the nodes 0 to 4"):
        formulation_network(two_trees().only_tree(0), program(two_trees(), "IP3"))


def test_rows_of_another_tree_are_no_paths() -> None:
    """Tree 1 and its mirror image have the same nodes with other ancestors: rows of the one are no paths in the other."""
    problem = two_trees().only_tree(0)
    ensemble = problem.ensemble
    left, right, none = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1]), -1
    mirror = replace(ensemble, left=left, right=right, feature=np.array([0, 1, none, none, none]))
    assert formulation_network(problem, program(problem, "IP0")) is not None
    assert formulation_network(with_usage(problem, ensemble=mirror), program(problem, "IP0")) is None
