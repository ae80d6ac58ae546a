"""A verdict is believed only after its certificate was checked."""

from __future__ import annotations

from typing import Any

from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity import Pieces, check_pieces
from proofs_checks.total_unimodularity.violation_check import check_violation
from proofs_checks.verdict import Verdict


def proven(matrix: Any, verdict: Verdict) -> bool | None:
    """The verdict's answer, after its certificate was checked by the checker for its kind."""
    certificate = verdict.certificate
    if verdict.holds is None:
        return None
    if isinstance(certificate, ViolatingSubmatrix):
        checked = check_violation(matrix, certificate)
        assert checked.holds is True, checked
        assert str(checked.certificate).endswith(", minimal"), checked
        assert verdict.holds is False
    elif isinstance(certificate, Pieces):
        assert check_pieces(matrix, certificate).holds is True
        assert verdict.holds is True
    else:
        assert isinstance(certificate, NetworkMatrix)
        assert check_network_matrix(matrix, certificate).holds is True
        assert verdict.holds is True
    return verdict.holds
