"""The front door: any matrix, the fastest method, a certificate for yes and for no."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations.errors import InvalidInputError
from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.matrices.sign_matrix import read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity import METHODS, Pieces, check_total_unimodularity, decide
from proofs_checks.total_unimodularity.claim import TooLarge
from proofs_checks.total_unimodularity.reductions import reduce_matrix
from proofs_checks.total_unimodularity.subdeterminants import by_subdeterminants
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.composed_matrices import signed_fano, three_sum
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix
from tests.proofs_checks.total_unimodularity.proven import proven


@looped(("name", "factory"), families.YES)
def test_all_families_that_are_get_a_checked_yes(name: str, factory: Callable[[], Matrix]) -> None:
    """Every totally unimodular family is recognised, and its certificate holds."""
    matrix = factory()
    assert proven(matrix, check_total_unimodularity(matrix)) is True


@looped(("name", "factory"), families.NO)
def test_all_families_that_are_not_get_a_minimal_violating_submatrix(name: str, factory: Callable[[], Matrix]) -> None:
    """Every other family is refuted; the submatrix has determinant 2 or -2 and no smaller one violates."""
    matrix = factory()
    verdict = check_total_unimodularity(matrix)
    assert proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


@pytest.mark.parametrize(
    ("matrix", "method", "kind"),
    [
        ([[1, 2]], "entries", ViolatingSubmatrix),
        ([[1, 0, 1], [1, 1, 0], [0, 1, 1]], "signing", ViolatingSubmatrix),
        (families.random_network(6, 6, 0), "network matrix", NetworkMatrix),
        (families.cycles_of_k5().T, "transposed network matrix", NetworkMatrix),
        (signed_fano(), "decomposition", ViolatingSubmatrix),
        (families.block_diagonal(families.cycles_of_k5(), families.cycles_of_k5().T),
         "reductions and blocks: network matrix, transposed network matrix", Pieces),
    ],
)  # fmt: skip
def test_the_method_is_named(matrix: Any, method: str, kind: type) -> None:
    """What decided stands in the verdict, with a certificate of its kind."""
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == method
    assert isinstance(verdict.certificate, kind)
    assert verdict.claim.endswith("is totally unimodular")


def test_blocks_that_are_all_one_kind_get_one_tree() -> None:
    """Two transposes of network matrices beside a matrix that is both: one certificate, transposed."""
    both = families.random_network(5, 5, 1)
    matrix = families.block_diagonal(families.cycles_of_k5().T, both, families.cycles_of_k33().T)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, NetworkMatrix)
    assert verdict.certificate.transposed
    assert proven(matrix, verdict) is True


def test_small_random_matrices_agree_with_the_definition() -> None:
    """300 of all densities: the same answer as all square subdeterminants, never undecided, all certificates checked."""
    rng = np.random.default_rng(0)
    answers = Counter()
    for _ in range(300):
        m, n = rng.integers(1, 8, size=2).tolist()
        matrix = families.random_signs(m, n, float(rng.uniform(0.2, 0.8)), rng)
        answer = proven(matrix, check_total_unimodularity(matrix))
        assert answer is by_subdeterminants(read_matrix(matrix)).holds, matrix.tolist()
        answers[answer] += 1
    assert min(answers[True], answers[False]) > 60


def test_mixes_and_mutations_agree_with_the_definition() -> None:
    """Mixes of R10, R12, K5's and K3,3's cycles and networks, every other with one entry put at random."""
    bases = [families.r10, families.r12, families.cycles_of_k5, families.cycles_of_k33, lambda: families.random_network(6, 6, 7)]
    answers: Counter[tuple[bool | None, str]] = Counter()
    for seed in range(300):
        matrix = families.mixed(bases[seed % 5](), seed, steps=10, largest=8)
        rng = np.random.default_rng(seed)
        if seed % 2:
            matrix[tuple(rng.integers(matrix.shape))] = rng.choice([-1, 0, 1])
        verdict = check_total_unimodularity(matrix)
        assert proven(matrix, verdict) is by_subdeterminants(read_matrix(matrix)).holds, matrix.tolist()
        answers[verdict.holds, verdict.method.split(":")[0]] += 1
    assert answers[True, "reductions and blocks"] > 50
    assert answers[False, "signing"] > 10
    assert answers[False, "decomposition"] > 3


@given(st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_transposing_and_scaling_lines_change_no_answer(seed: int) -> None:
    """A matrix, its transpose and the matrix with lines negated and permuted are totally unimodular or not together."""
    rng = np.random.default_rng(seed)
    matrix = families.random_signs(int(rng.integers(2, 7)), int(rng.integers(2, 7)), 0.45, rng)
    other = (matrix * rng.choice([-1, 1], size=(len(matrix), 1)))[:, rng.permutation(matrix.shape[1])]
    answers = {check_total_unimodularity(a).holds for a in (matrix, matrix.T, other)}
    assert len(answers) == 1


# large matrices


def test_a_large_mix_is_decided_block_by_block() -> None:
    """Network, transposed network, R10, R12 and copies, negatives, unit and zero lines of them, shuffled: a checked yes."""
    blocks = [families.random_network(150, 150, 0), families.random_network(120, 170, 1).T, families.r10(), families.r12(),
              families.cycles_of_k5(), families.cycles_of_k33().T]  # fmt: skip
    matrix = families.mixed(families.block_diagonal(*blocks), 0, steps=80, largest=10_000, pivots=False)
    verdict = check_total_unimodularity(matrix)
    assert isinstance(verdict.certificate, Pieces)
    assert len(verdict.certificate.reductions) > 20
    assert {"network matrix", "transposed network matrix"} < {piece.kind for piece in verdict.certificate.pieces}
    assert proven(matrix, verdict) is True


@pytest.mark.parametrize("seed", range(3))
def test_one_flipped_sign_in_a_large_network_is_found(seed: int) -> None:
    """A chordless cycle of the wrong sum, minimal, in a network matrix with hundreds of rows."""
    matrix = families.random_network(250, 250, seed)
    rng = np.random.default_rng(seed)
    core = reduce_matrix(read_matrix(matrix))  # what is left of it lies on cycles
    places = np.argwhere(matrix[np.ix_(core.rows, core.columns)])
    i, j = places[rng.integers(len(places))]
    matrix[core.rows[i], core.columns[j]] *= -1
    verdict = check_total_unimodularity(matrix)
    assert verdict.method == "signing"
    assert proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


@pytest.mark.parametrize("first", [True, False])
def test_an_undecided_block_hides_no_violation_in_another(first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block above the largest size is not decomposed: None, with its size; another is refuted all the same, wherever it is."""
    monkeypatch.setattr(decide, "LARGEST", 1000)
    hard = three_sum(60, 1)
    verdict = check_total_unimodularity(hard)
    assert verdict.holds is None
    assert not verdict
    assert isinstance(verdict.certificate, TooLarge)
    assert "the limit is 1,000" in str(verdict)
    blocks = (hard, signed_fano()) if first else (signed_fano(), hard)
    matrix = families.block_diagonal(*blocks)
    assert proven(matrix, check_total_unimodularity(matrix)) is False


# methods and what they are given


@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_by_its_name(method: str) -> None:
    """A network matrix is one for all of them, and a 2 refutes at once."""
    assert check_total_unimodularity(families.random_network(5, 5, 2), method=method).holds is True
    refuted = check_total_unimodularity([[1, 0], [0, 2]], method=method)
    assert refuted.holds is False
    assert (refuted.certificate.rows, refuted.certificate.columns, refuted.certificate.determinant) == ((1,), (1,), 2)
    assert list(METHODS) == ["network", "subdeterminants", "ghouila_houri", "camion"]


def test_network_alone_is_honest() -> None:
    """Yes for a network matrix or its transpose, no where signs are wrong, None for R10 and for F7."""
    assert check_total_unimodularity(families.cycles_of_k5().T, method="network").method == "transposed network matrix"
    assert proven(families.odd_cycle(3), check_total_unimodularity(families.odd_cycle(3), method="network")) is False
    for matrix in (families.r10(), signed_fano()):
        verdict = check_total_unimodularity(matrix, method="network")
        assert verdict.holds is None
        assert "does not refute" in verdict.certificate


def test_an_unknown_method_is_refused() -> None:
    """The message names the methods."""
    with pytest.raises(InvalidInputError, match="'seymour'; choose one of network, subdeterminants, ghouila_houri, camion"):
        check_total_unimodularity([[1]], method="seymour")
