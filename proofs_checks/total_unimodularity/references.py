"""The exponential references, as `proofs_checks.total_unimodularity.decide` calls them."""

from __future__ import annotations

from collections.abc import Callable

from proofs_checks.matrices.sign_matrix import SignMatrix
from proofs_checks.total_unimodularity import camion, ghouila_houri, subdeterminants
from proofs_checks.verdict import Verdict

REFERENCES: dict[str, Callable[[SignMatrix], Verdict]] = {
    "subdeterminants": subdeterminants.by_subdeterminants,
    "ghouila_houri": ghouila_houri.by_ghouila_houri,
    "camion": camion.by_camion,
}
"""By name: each answers yes or no within its limit, and None beyond."""


def cheapest_reference(matrix: SignMatrix) -> tuple[str, float]:
    """The reference whose work is the smallest share of its limit, and that share."""
    shares = {
        "subdeterminants": subdeterminants.work(matrix) / subdeterminants.LIMIT,
        "ghouila_houri": ghouila_houri.work(matrix) / ghouila_houri.LIMIT,
        "camion": camion.work(matrix) / camion.LIMIT,
    }
    name = min(shares, key=lambda each: shares[each])
    return name, shares[name]
