"""The papers' formulations at the front door, which does not know that there is a forest."""

from __future__ import annotations

from typing import Any

import pytest

from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.total_unimodularity import check_total_unimodularity
from tests.instances import random_problem
from tests.loops import looped
from tests.proofs_checks.total_unimodularity.proven import proven


def program(problem: Any, name: str, *, merge: bool = False, **options: Any) -> SignMatrix:
    """A formulation's matrix; lambda or budget 1 where it takes one."""
    if name != "IP0":
        options |= {"merge": merge, **({"budget": 1} if name == "LP1" else {"lam": 1})}
    return read_matrix(MATRICES[name](problem, **options))


@pytest.mark.parametrize("merge", [False, True])
def test_the_papers_formulations_are_recognised_without_knowing_the_forest(merge: bool) -> None:
    """IP0, IP3, the closure and, for each tree, IP2 of the papers' instance are transposes of network matrices."""
    problem = two_trees()
    cases = [(problem, name) for name in ("IP0", "IP3", "closure")]
    cases += [(problem.only_tree(t), "IP2") for t in range(2)]
    for instance, name in cases:
        matrix = program(instance, name, merge=merge)
        assert proven(matrix, check_total_unimodularity(matrix)) is True, name


@looped("seed", range(12))
def test_random_forests_formulations_are_recognised(seed: int) -> None:
    """With everything that an instance can have, merged or not."""
    problem = random_problem(seed)
    for merge in (False, True):
        for name in ("IP0", "IP3", "closure"):
            matrix = program(problem, name, merge=merge)
            assert proven(matrix, check_total_unimodularity(matrix)) is True, name


def test_lp1_of_the_papers_is_refuted() -> None:
    """With unit prices the budget row closes a cycle of order 5 with determinant 2; another price is refuted by one entry."""
    matrix = program(two_trees(), "LP1")
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is False
    assert verdict.certificate.order == 5
    assert abs(verdict.certificate.determinant) == 2
    assert "budget" in verdict.certificate.row_names
    dear = program(two_trees(prices=(1, 3, 1)), "LP1")
    verdict = check_total_unimodularity(dear)
    assert proven(dear, verdict) is False
    assert verdict.method == "entries"
    assert verdict.certificate.row_names == ("budget",)
    assert verdict.certificate.determinant == 3
