"""The papers' matrices and the row operations between them, entry by entry."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.shortest_path import tree_network, tree_networks
from proofs_checks.matrices import row_operations
from proofs_checks.matrices.row_operations import PRINTED_TREES, check_printed_matrices


@pytest.mark.parametrize("t", [0, 1])
def test_the_papers_trees(t: int) -> None:
    """Our graphs of the two trees carry the printed matrices; the certificate has both, with the operations as names."""
    network = tree_network(two_trees(), t, expanded=True)
    verdict = check_printed_matrices(t, network.equations(), network.incidence(), list(network.arcs))
    assert verdict, str(verdict)
    found = verdict.certificate
    assert found.names[0] == "-r1"
    assert found.names[1] == "r1 - r2"
    assert found.names[-1] == f"r{len(PRINTED_TREES[t].equations)}"
    assert found.to_dict()["network"]["r1 - r2"] == list(PRINTED_TREES[t].network[1])
    first_row = re.search(r"^ *-r1 (.*)$", str(found), re.MULTILINE)
    assert first_row is not None
    assert [int(x) for x in first_row.group(1).split()] == list(PRINTED_TREES[t].network[0])


@pytest.mark.parametrize("t", [0, 1])
@pytest.mark.parametrize("which", ["equations", "network"])
def test_every_entry_counts(which: str, t: int) -> None:
    """Any single entry of either matrix changed is noticed: against the printed ones, or by the row operations."""
    network = tree_network(two_trees(), t, expanded=True)
    true = {"equations": network.equations().toarray(), "network": network.incidence().toarray()}
    for i, j in np.ndindex(true[which].shape):
        wrong = {name: matrix.copy() for name, matrix in true.items()}
        wrong[which][i, j] += 1
        assert check_printed_matrices(t, **wrong, columns=list(network.arcs)).holds is False


def test_the_first_wrong_entry_is_named() -> None:
    """Row, column, what stands there and what should."""
    network = tree_network(two_trees(), 0, expanded=True)
    wrong = network.incidence().toarray()
    wrong[2, 3] = 0
    assert "0 in row 3, column z4; r2 - r3 is 1" in str(
        check_printed_matrices(0, network.equations(), wrong, list(network.arcs)).certificate
    )


def test_other_matrices_than_the_printed_ones_are_refuted_though_the_operations_hold() -> None:
    """Tree 2's matrices under tree 1's number, columns exchanged, and a consistent pair that is not the papers'."""
    one, two = tree_networks(two_trees(), expanded=True)
    assert check_printed_matrices(0, two.equations(), two.incidence(), list(two.arcs)).holds is False
    names = list(one.arcs)
    names[1], names[2] = names[2], names[1]
    assert "the papers have z1" in check_printed_matrices(0, one.equations(), one.incidence(), names).certificate
    equations, network = one.equations().toarray(), one.incidence().toarray()
    equations[:, [1, 2]], network[:, [1, 2]] = equations[:, [2, 1]], network[:, [2, 1]]
    assert "the papers print" in check_printed_matrices(0, equations, network, list(one.arcs)).certificate


@pytest.mark.parametrize(
    ("which", "change", "message"),
    [
        ("network", lambda m: m[:-1], r"network has the shape \(5, 7\); \(5, 7\) equations and 7 names lead to \(6, 7\)"),
        ("equations", lambda m: m[:, :-1], "7 names lead to"),
        ("equations", lambda m: m / 2, r"no integer: 0\.5"),
        ("equations", lambda m: m[0], r"equations: shape \(7,\)"),
        ("network", lambda m: m.astype(str), "give a matrix of integers"),
    ],
)
def test_what_is_no_pair_of_matrices_is_refused(which: str, change: Any, message: str) -> None:
    """Shapes and entries."""
    network = tree_network(two_trees(), 0, expanded=True)
    pair = {"equations": network.equations().toarray(), "network": network.incidence().toarray()}
    with pytest.raises(InvalidInputError, match=message):
        check_printed_matrices(0, **pair | {which: change(pair[which])}, columns=list(network.arcs))


def test_figure_3_is_checked_beside_the_matrices(monkeypatch: pytest.MonkeyPatch) -> None:
    """An arc of the figure that is not the network matrix's column is named."""
    one, two = PRINTED_TREES
    wrong = replace(one, arcs={**one.arcs, "z3": (2, 4)})
    monkeypatch.setattr(row_operations, "PRINTED_TREES", (wrong, two))
    network = tree_network(two_trees(), 0, expanded=True)
    verdict = check_printed_matrices(0, network.equations(), network.incidence(), list(network.arcs))
    assert verdict.holds is False
    assert verdict.certificate == "z3 leads from 2 to 5, in Figure 3 (2, 4)"
