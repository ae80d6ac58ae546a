"""The exponential references, which users can ask for by name, and tests do."""

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
