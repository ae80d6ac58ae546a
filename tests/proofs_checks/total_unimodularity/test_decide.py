"""What is decided, of any matrix and of the papers' formulations; the references by definition, and verdicts explained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from proofs_checks.matrices.network_matrix import NetworkMatrix, check_network_matrix
from proofs_checks.matrices.sign_matrix import SignMatrix, read_matrix
from proofs_checks.matrices.violation import ViolatingSubmatrix, submatrix
from proofs_checks.total_unimodularity import METHODS, Pieces, check_total_unimodularity, decide
from proofs_checks.total_unimodularity.decide import by_subdeterminants, too_large
from proofs_checks.total_unimodularity.explanation import LEFT_OUT, REASONS, explain_unimodularity, leaves_of
from proofs_checks.total_unimodularity.formulation_network import HUB, check_formulation, formulation_network
from proofs_checks.total_unimodularity.ternary import least_violation
from proofs_checks.verdict import DEFAULTS, CheckParams, Verdict
from tests.instances import random_problem, with_usage
from tests.loops import looped
from tests.proofs_checks.total_unimodularity import matrix_families as families
from tests.proofs_checks.total_unimodularity.matrix_families import Matrix, large_three_sum, nested, proven, signed_fano, two_sum


@pytest.mark.slow
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


# large matrices


@pytest.mark.parametrize("first", [True, False])
def test_an_undecided_block_hides_no_violation_in_another(first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A block above the largest size is not decomposed: None, with its size; another is refuted all the same, wherever it is."""
    monkeypatch.setattr(decide, "DEFAULTS", CheckParams(largest_block=1000))
    hard = large_three_sum()
    verdict = check_total_unimodularity(hard)
    assert verdict.holds is None
    assert not verdict
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
    with pytest.raises(InvalidInputError, match="'seymour'; choose one of network, subdeterminants"):
        check_total_unimodularity([[1]], method="seymour")


def test_network_alone_is_honest() -> None:
    """Yes for a network matrix or its transpose, no where signs are wrong, None for R10 and for F7."""
    assert check_total_unimodularity(families.cycles_of_k5().T, method="network").method == "transposed network matrix"
    assert proven(families.odd_cycle(3), check_total_unimodularity(families.odd_cycle(3), method="network")) is False
    for matrix in (families.r10(), signed_fano()):
        verdict = check_total_unimodularity(matrix, method="network")
        assert verdict.holds is None
        assert "does not refute" in verdict.certificate


def ip3_program(problem: Any, name: str, *, merge: bool = False, **options: Any) -> LinearProgram:
    """A formulation; lambda or budget 1 where it takes one."""
    if name != "IP0":
        options |= {"merge": merge, **({"budget": 1} if name == "LP1" else {"lam": 1})}
    return MATRICES[name](problem, **options)


def program(problem: Any, name: str, **options: Any) -> SignMatrix:
    """A formulation's matrix."""
    return read_matrix(ip3_program(problem, name, **options))


@pytest.mark.slow
@looped("seed", [None, *range(12)])
def test_formulations_are_recognised_without_knowing_the_forest(seed: int | None) -> None:
    """Of the papers' instance, and with everything that an instance can have, merged or not."""
    problem = two_trees() if seed is None else random_problem(seed)
    for merge in (False, True):
        for name in ("IP0", "IP3", "closure", *["IP2"] * (seed is None)):
            matrix = program(problem.only_tree(0) if name == "IP2" else problem, name, merge=merge)
            assert proven(matrix, check_total_unimodularity(matrix)) is True, name


UNIMODULAR = ("IP0", "IP2", "IP3", "closure")


def test_the_papers_tree_1_by_hand() -> None:
    """IP3's row of leaf 4 leads from the hub over nodes 1 and 3 to 4; a coupling row from one vertex over the hub to another."""
    problem = two_trees()
    ip3 = ip3_program(problem, "IP3")
    network = formulation_network(problem, ip3)
    assert network is not None
    assert network.transposed
    column = {name: k for k, name in enumerate(ip3.columns)}
    row = {name: k for k, name in enumerate(ip3.rows)}
    vertex_of_1, vertex_of_3, vertex_of_4 = (network.head[column[f"z[{h}]"]] for h in (0, 2, 3))
    assert network.tail[column["z[0]"]] == HUB
    assert network.tail[column["z[2]"]] == vertex_of_1
    assert network.tail[column["z[3]"]] == vertex_of_3
    leaf = row["leaf[3]"]
    assert (network.start[leaf], network.end[leaf]) == (HUB, vertex_of_4)
    # u of feature 2 in tree 1 is node 3: (1, 2, 1) -> hub -> 1 -> 3
    own = network.tail[column["w_t[2,1,0]"]]
    assert network.head[column["w_t[2,1,0]"]] == HUB
    usage = row["usage[2,1,0]"]
    assert (network.start[usage], network.end[usage]) == (own, vertex_of_3)
    coupling = row["coupling[2,1,0]"]
    assert (network.start[coupling], network.end[coupling]) == (own, network.tail[column["w[1,0]"]])


@pytest.mark.slow
@pytest.mark.parametrize("merge", [False, True])
@looped("seed", range(40))
def test_every_instance_has_the_certificate(seed: int, merge: bool) -> None:
    """IP0, IP3 and the closure of any instance, IP2 of any tree: the tree of the variables serves, and the check accepts it."""
    problem = random_problem(seed)
    for name in UNIMODULAR:
        own = problem.only_tree(0) if name == "IP2" else problem
        try:
            linear = ip3_program(own, name, merge=merge)
        except InvalidInputError:  # an item paid once for all, asked for at several splits
            assert name == "IP2"
            continue
        network = formulation_network(own, linear)
        assert network is not None, name
        assert check_network_matrix(linear, network)
        assert check_formulation(own, linear).certificate.transposed


@pytest.mark.parametrize("name", ["IP1", "LP1"])
def test_ip1_and_lp1_are_refuted_on_the_papers_trees(name: str) -> None:
    """The tree does not serve; a violating submatrix is found and named."""
    problem = two_trees()
    linear = ip3_program(problem, name)
    assert formulation_network(problem, linear) is None
    verdict = check_formulation(problem, linear)
    assert verdict.holds is False
    found = verdict.certificate
    assert isinstance(found, ViolatingSubmatrix)
    assert abs(found.determinant) == 2
    place = {"rows": [linear.rows[i] for i in found.rows], "columns": [linear.columns[j] for j in found.columns]}
    assert list(found.row_names) == place["rows"]
    assert list(found.column_names) == place["columns"]
    assert name == "IP1" or (found.order, "budget" in found.row_names) == (5, True)  # unit prices close a cycle
    dear = check_formulation(problem, ip3_program(two_trees(prices=(1, 3, 1)), "LP1")).certificate
    assert (dear.row_names, dear.determinant) == (("budget",), 3)  # one entry refutes
    dense = linear.matrix.toarray()[np.ix_(found.rows, found.columns)]
    np.testing.assert_array_equal(dense, np.array(found.entries, dtype=float))
    assert round(np.linalg.det(dense)) == found.determinant


def test_a_program_of_another_forest_is_refused() -> None:
    """A variable of a node that the forest does not have is named."""
    with pytest.raises(InvalidInputError, match=r"variable z\[5\], the forest has the nodes 0 to 4"):
        formulation_network(two_trees().only_tree(0), ip3_program(two_trees(), "IP3"))


def test_rows_of_another_tree_are_no_paths() -> None:
    """Tree 1 and its mirror image have the same nodes with other ancestors: rows of the one are no paths in the other."""
    problem = two_trees().only_tree(0)
    ensemble = problem.ensemble
    left, right, none = np.array([1, 2, -1, -1, -1]), np.array([4, 3, -1, -1, -1]), -1
    mirror = replace(ensemble, left=left, right=right, feature=np.array([0, 1, none, none, none]))
    assert formulation_network(problem, ip3_program(problem, "IP0")) is not None
    assert formulation_network(with_usage(problem, ensemble=mirror), ip3_program(problem, "IP0")) is None


def minors(batch: NDArray[np.int64]) -> dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.int64]]:
    """All minors of a stack of matrices, by Laplace's expansion along the first row: {(rows, columns): values}."""
    _, m, n = batch.shape
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], NDArray[np.int64]] = {((), ()): np.ones(len(batch), dtype=np.int64)}
    for k in range(1, min(m, n) + 1):
        for rows, columns in itertools.product(itertools.combinations(range(m), k), itertools.combinations(range(n), k)):
            terms = (
                (-1) ** t * batch[:, rows[0], c] * found[rows[1:], columns[:t] + columns[t + 1 :]] for t, c in enumerate(columns)
            )
            found[rows, columns] = np.sum(list(terms), axis=0)
    return found


def check_minimal(matrix: Matrix, verdict: Verdict) -> None:
    """A no comes with a submatrix: the matrix's entries, determinant 2 or -2, and nothing smaller in it that violates."""
    assert families.proven(matrix, verdict) is False
    assert abs(verdict.certificate.determinant) == 2


def by_camion(matrix: Matrix) -> Verdict:
    """The answer of Camion's criterion, which the decomposition asks about few lines."""
    given = read_matrix(matrix)
    place = least_violation(matrix if len(matrix) <= matrix.shape[1] else np.ascontiguousarray(matrix.T))
    if place is None:
        return Verdict("", True, "")
    return Verdict("", False, "", submatrix(given, *(place if len(matrix) <= matrix.shape[1] else place[::-1])))


@pytest.mark.slow_cases("NO")
@pytest.mark.parametrize("family", ["YES", "NO"])
def test_families(family: str) -> None:
    """What is known to be totally unimodular holds; of what is known not to be, a minimal submatrix is found."""
    for name, factory in getattr(families, family):
        matrix = factory()
        verdict = by_subdeterminants(read_matrix(matrix))
        assert verdict.holds is (family == "YES"), (name, str(verdict))
        if family == "NO":
            check_minimal(matrix, verdict)


@pytest.mark.slow_cases("(3, 5)", "(4, 4)", "(5, 4)")
@pytest.mark.parametrize("shape", [(1, 3), (2, 2), (3, 2), (3, 3), (3, 5), (4, 4), (5, 4)], ids=str)
def test_random_matrices(shape: tuple[int, int]) -> None:
    """On 200 random matrices a shape, dense and sparse, the definition and Camion's criterion say what all minors say."""
    rng = np.random.default_rng(0)
    density = rng.choice([0.3, 0.45, 0.6, 0.9], size=(200, 1, 1))
    batch = ((rng.random((200, *shape)) < density) * rng.choice([-1, 1], size=(200, *shape))).astype(np.int8)
    truth = np.all([np.abs(value) <= 1 for value in minors(batch.astype(np.int64)).values()], axis=0)
    assert shape[0] == 1 or 16 < truth.sum() < 199
    for matrix, yes in zip(batch, truth, strict=True):
        for verdict in (by_subdeterminants(read_matrix(matrix)), by_camion(matrix)):
            assert verdict.holds is bool(yes)
            if not yes:
                check_minimal(matrix, verdict)


@pytest.mark.parametrize("decide", [lambda matrix: by_subdeterminants(read_matrix(matrix)), by_camion])
@pytest.mark.parametrize("k", [3, 5, 7])
def test_odd_cycles_are_found_whole(k: int, decide: Callable[[Matrix], Verdict]) -> None:
    """An odd cycle is itself minimal: it is the answer, in a larger matrix as well, whichever way it lies."""
    cycle = families.odd_cycle(k)
    wide = np.hstack([np.zeros((k, 3), dtype=np.int8), cycle[:, ::-1], np.eye(k, 2, dtype=np.int8)])
    for matrix in (wide, np.ascontiguousarray(wide.T)):
        found = decide(matrix).certificate
        lines, across = (found.rows, found.columns) if matrix is wide else (found.columns, found.rows)
        assert lines == tuple(range(k))
        assert across == tuple(range(3, 3 + k))
        check_minimal(matrix, decide(matrix))


def test_another_entry_refutes_at_once() -> None:
    """An entry of 2 or 1/2 is a violating submatrix of order 1, at any size."""
    matrix = np.zeros((400, 500))
    matrix[7, 3] = 0.5
    verdict = by_subdeterminants(read_matrix(matrix))
    assert verdict.holds is False
    assert (verdict.certificate.rows, verdict.certificate.columns) == ((7,), (3,))
    assert verdict.certificate.determinant == Fraction(1, 2)
    assert verdict.certificate.row_names == ("r7",)


@pytest.mark.parametrize("shape", [(40, 40), (10**7, 10**9)], ids=str)
def test_beyond_the_limit_nothing_is_claimed(shape: tuple[int, int]) -> None:
    """Too large a matrix is undecided, and says how large, how much work, and what the limit is, however large it is."""
    steps = decide.minor_steps(*shape)
    words = too_large(shape, steps, DEFAULTS.most_determinant_steps)
    assert steps > DEFAULTS.most_determinant_steps
    assert f"{shape[0]:,} x {shape[1]:,}" in words
    assert "more than 10^" in words
    assert f"the limit is {DEFAULTS.most_determinant_steps:,}" in words
    if shape[0] == 40:
        verdict = by_subdeterminants(read_matrix(np.eye(40, dtype=np.int8)))
        assert (verdict.holds, verdict.certificate) == (None, words)
        assert "totally unimodular: is undecided" in str(verdict)


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 4), (1, 6)], ids=str)
def test_counts_of_a_yes(shape: tuple[int, int]) -> None:
    """The count in the certificate, and the steps, are those of plain enumeration."""
    m, n = shape
    orders = range(1, min(m, n) + 1)
    assert decide.minor_steps(m, n) == sum(k * math.comb(m, k) * math.comb(n, k) for k in orders)
    squares = sum(math.comb(m, k) * math.comb(n, k) for k in orders)
    given = read_matrix(families.random_network(m, n, 0))
    assert by_subdeterminants(given).certificate.startswith(f"all {squares:,} square")


def test_a_3_sum_is_explained_step_by_step() -> None:
    """R12 by hand: its 3-separation begins with a pivot, and leaves a network matrix and the transpose of one."""
    matrix = families.r12()
    text = explain_unimodularity(matrix, check_total_unimodularity(matrix))
    assert text.startswith(
        """The matrix with 6 rows and 6 columns is totally unimodular.

6 x 6, nothing left out
  6 x 6 (rows r0, r1, r2, ...; columns c0, c1, c2, ...): 3-sum after a pivot on row r0, column c0
    first part: 4 x 5, nothing left out
      4 x 5 (rows r1, r4, r5, c0'; columns r0, c2, c3, ...): transposed network matrix
    second part: 4 x 5, nothing left out
      4 x 5 (rows c0, r2, r3, first side'; columns c1, c4, c5, ...): network matrix

Network matrix: there is a directed tree"""
    )
    assert "Pivot: as in the simplex method" in text
    assert "R10:" not in text
    short = explain_unimodularity(matrix, check_total_unimodularity(matrix), most=2)
    assert "column c0\n... and 4 lines more\n\nNetwork" in short


def test_names_and_what_was_left_out_are_told() -> None:
    """R10 beside a zero row and a row with one nonzero, 2-summed to another R10; the names are the matrix's own."""
    matrix = two_sum(families.r10(), families.r10_of_ones())
    matrix = np.vstack([matrix, np.zeros(9, dtype=np.int8), np.eye(1, 9, dtype=np.int8)])
    rows = [f"row {i}" for i in range(len(matrix))]
    read = read_matrix(matrix, rows=rows)
    text = explain_unimodularity(read, check_total_unimodularity(read))
    assert "11 x 9, left out: 1 zero, 1 with one nonzero" in text
    assert "2-sum where " in text
    assert "(rows row 0, row 1, row 2, ...; " in text
    assert text.count(": R10\n") == 2
    assert "'" in text.split("\n\n")[1]


def test_other_verdicts_are_explained() -> None:
    """A network, the transpose of one, a violating submatrix, an entry, and a count."""
    for matrix, words in (
        (np.triu(np.ones((3, 3), dtype=np.int8)), "Here it is a tree with the 3 rows as arcs"),
        (families.cycles_of_k5().T, "Transposed network matrix"),
        (families.odd_cycle(3), "have a fractional solution. No smaller part"),
        (np.array([[2]]), "One entry is 2"),
    ):
        assert words in explain_unimodularity(matrix, check_total_unimodularity(matrix)).replace("\n", " ")
    counted = check_total_unimodularity(families.r10(), method="subdeterminants")
    assert "Method: all square subdeterminants; all 251 square" in explain_unimodularity(families.r10(), counted)


@pytest.mark.slow
def test_every_line_is_in_one_leaf() -> None:
    """In nested sums with lines left out at all depths; each kind of leaf has its reason."""
    kinds = set()
    for seed in range(12):
        matrix = nested(40, seed, leaves=6)
        pieces = check_total_unimodularity(matrix).certificate
        if not isinstance(pieces, Pieces):
            continue
        leaves = leaves_of(pieces, matrix.shape)
        assert np.array_equal(np.sort(np.concatenate([leaf.rows for leaf in leaves])), np.arange(matrix.shape[0]))
        assert np.array_equal(np.sort(np.concatenate([leaf.columns for leaf in leaves])), np.arange(matrix.shape[1]))
        kinds |= {leaf.kind for leaf in leaves}
    assert {"network matrix", "transposed network matrix", "R10", LEFT_OUT} <= kinds <= set(REASONS)
