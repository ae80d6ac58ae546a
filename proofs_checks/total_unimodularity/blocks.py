"""A matrix block by block: reduced, taken apart, every block tried as a network matrix; the blocks' networks made one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from formulations.errors import SolverFailedError
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity.lifting import Block, lift
from proofs_checks.total_unimodularity.network_recognition import recognise_network
from proofs_checks.total_unimodularity.pieces import Reductions
from proofs_checks.total_unimodularity.reductions import blocks_of, reduce_matrix

Place = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows and columns of a block, as indices of the whole matrix, ascending."""


def find_network(matrix: SignMatrix, *, transposed: bool = False) -> NetworkMatrix | None:
    """A tree and paths for the whole matrix, verified; None where the matrix is not the network matrix of any.

    Parameters
    ----------
    matrix
        see `proofs_checks.matrices.sign_matrix.SignMatrix`.
    transposed
        find the tree for the matrix's transpose.
    """
    if matrix.other is not None:
        return None
    reductions = reduce_matrix(matrix)
    found = []
    for rows, columns in blocks_of(matrix, reductions.rows, reductions.columns):
        network = recognise_network(matrix.part(rows, columns), transposed=transposed)
        if network is None:
            return None
        found.append((rows, columns, network))
    return verified_lift(matrix, reductions, found, transposed=transposed)


def verified_lift(matrix: SignMatrix, reductions: Reductions, blocks: list[Block], *, transposed: bool = False) -> NetworkMatrix:
    """One network of the blocks' networks, verified against the whole matrix.

    Raises
    ------
    SolverFailedError
        if the network fails the verification: a fault of this package.
    """
    network = lift(matrix.shape, reductions, blocks, transposed=transposed)
    verdict = check_network_matrix(matrix, network)
    if not verdict:
        raise SolverFailedError(
            f"the network that was put together for {matrix!r}: {verdict.certificate}; please report the matrix"
        )
    return network
