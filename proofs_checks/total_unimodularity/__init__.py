"""Is a matrix totally unimodular: does every square submatrix have determinant -1, 0 or 1?"""

from proofs_checks.total_unimodularity.decide import METHODS, check_total_unimodularity
from proofs_checks.total_unimodularity.pieces import R10, Piece, Pieces, Split, ThreeSum, TwoSum
from proofs_checks.total_unimodularity.pieces_check import check_pieces
from proofs_checks.total_unimodularity.reductions import find_network

__all__ = [
    "METHODS",
    "R10",
    "Piece",
    "Pieces",
    "Split",
    "ThreeSum",
    "TwoSum",
    "check_pieces",
    "check_total_unimodularity",
    "find_network",
]
