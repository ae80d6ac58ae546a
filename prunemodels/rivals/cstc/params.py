"""The numbers of this room: iterations, ridges and tolerances."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CSTCParams:
    """Iterations, ridges and tolerances of the training of CSTC and ASTC."""

    spent: float = 1e-8
    """A column is not used when less than this share of its variance over all examples is left: it is constant in the node, but
    for rounding, or the chosen columns explain it."""
    fine_ridge: float = 1e-4
    """Weight of the ridge term of (F1)."""
    no_error: float = 1e-3
    """A root mean squared difference up to this, of labels of variance 1, is no error: the ridge term alone makes some."""
    eps: float = 1e-6
    """Smoothing of the square roots; weights of this size count as zero."""
    leaf_rounds: int = 200
    """Largest number of rounds of (T1) and auxiliary variables."""
    node_steps: int = 20
    """Largest number of L-BFGS steps on one majoriser."""
    ridge: float = 1e-9
    """Relative addition to the diagonal of (T1), so that constant and repeated columns are allowed."""


PARAMS = CSTCParams()
