"""IP3's matrix is the transpose of a network matrix: a complete certificate of NWS15's Theorem 4.2, at any size.

Take a directed tree with a hub R; its arcs are the variables:

    z_h        from the vertex of h's parent to the vertex of h; from R for a root                                          (1)
    w^t, w     each from a vertex of its own to R                                                                           (2)

Then every row is the signed path of the tree that its variables say:

    leaf       sum of z over the ancestors of l          R -> l                                                             (3)
    usage      w^t + sum of z over the ancestors of u    (t, m, i) -> R -> u                                                (4)
    coupling   w^t - w                                   (t, m, i) -> R -> (m, i), the last arc backwards                   (5)

Bounds on single variables are single arcs. IP0 has the rows (3); IP2 (3) and (4) with w for w^t; the closure's rows
y_h - y_parent and y_u - w are paths of two arcs through R if y is taken like w. IP1's rows z_h - w are no paths here, and on the
papers' trees in no other tree either: its matrix is not totally unimodular.

NWS15's own proof of Theorem 4.2 gives a partition of all rows; total unimodularity asks for one of every subset of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.programs.linear_program import Names
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix, paths_in_tree
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.total_unimodularity import check_total_unimodularity
from proofs_checks.verdict import Verdict

HUB = 0


@checked
def formulation_network(problem: PruningProblem, program: Any) -> NetworkMatrix | None:
    """The tree of (1) and (2) with the paths that the rows are; None where a row is no path in it, as in IP1 and LP1.

    Parameters
    ----------
    problem
        the instance: its nodes' parents are all that is used.
    program
        a formulation of it: `LinearProgram`, or Pyomo model. Variables named z are nodes, all others hang on the hub.

    Raises
    ------
    InvalidInputError
        for a variable z of a node that the forest does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.checks.formulation_network(problem, pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True)).n_vertices
    20
    >>> print(pm.checks.formulation_network(problem, pm.programs.FORMULATIONS["IP1"](problem, lam=1, relax=True)))
    None
    """
    return _network(problem, read_matrix(program))


@checked
def check_formulation(problem: PruningProblem, program: Any) -> Verdict:
    """Is the formulation's matrix totally unimodular: by the tree of (1) and (2) if that serves, else in any other way.

    Parameters
    ----------
    problem, program
        see `formulation_network`.

    Returns
    -------
    Verdict
        certificate: a `NetworkMatrix`, or what `check_total_unimodularity` finds.

    Examples
    --------
    >>> import prunemodels as pm
    >>> problem = pm.datasets.two_trees()
    >>> pm.checks.check_formulation(problem, pm.programs.FORMULATIONS["IP3"](problem, lam=1, relax=True)).holds
    True
    >>> pm.checks.check_formulation(problem, pm.programs.FORMULATIONS["IP1"](problem, lam=1, relax=True)).holds
    False
    """
    matrix = read_matrix(program)
    network = None if matrix.other is not None else _network(problem, matrix)
    if network is not None:
        return check_network_matrix(matrix, network)
    return check_total_unimodularity(matrix)


def _network(problem: PruningProblem, matrix: SignMatrix) -> NetworkMatrix | None:
    node, column = _nodes(matrix.columns)
    parent = problem.ensemble.parent
    if node.size and not 0 <= int(node.min()) <= int(node.max()) < len(parent):
        wrong = node[(node < 0) | (node >= len(parent))][0]
        raise InvalidInputError(f"the program has a variable z[{wrong}], the forest has the nodes 0 to {len(parent) - 1}")
    vertex = np.full(len(parent), HUB, dtype=np.int32)
    vertex[node] = column + 1
    tail = np.arange(1, len(matrix.columns) + 1, dtype=np.int32)  # (2)
    head = np.full(len(tail), HUB, dtype=np.int32)
    above = parent[node]
    tail[column] = np.where(above >= 0, vertex[np.maximum(above, 0)], HUB)  # (1)
    head[column] = column + 1
    return paths_in_tree(matrix, tail, head, transposed=True)


def _nodes(columns: Any) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The nodes h that have a variable z_h, and its columns."""
    if isinstance(columns, Names):
        if not columns.has("z"):
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        place = columns.of("z")
        block = next(block for block in columns.blocks if block.name == "z")
        return block.index[0].astype(np.int64), np.arange(place.start, place.stop)
    named = [(int(name[2:-1]), k) for k, name in enumerate(columns) if name.startswith("z[")]
    found = np.array(named, dtype=np.int64).reshape(-1, 2)
    return found[:, 0], found[:, 1]
