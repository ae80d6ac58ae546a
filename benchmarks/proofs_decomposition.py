"""CPU seconds of deciding total unimodularity where no network is all of the matrix: Seymour's decomposition, and its check.

    python -m benchmarks.proofs_decomposition            200 x 200 and 1,000 x 1,000
    python -m benchmarks.proofs_decomposition --quick    40 x 40

Matrices of known structure (`tests.proofs_checks.total_unimodularity.nested_sums`): chains of 3-sums of networks and transposed
ones; 1-, 2- and 3-sums mixed with R10, signed, with two pivots; each as it is, and with one entry changed at random, which
makes most of them not totally unimodular. Every answer is checked, and the CPU seconds of the slowest of the seeds are shown,
after some matrices for which numba compiles.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.path import machine
from proofs_checks.matrices.violation import ViolatingSubmatrix
from proofs_checks.total_unimodularity import Pieces, Split, check_total_unimodularity
from tests.proofs_checks.total_unimodularity.nested_sums import chain, nested, one_entry_changed
from tests.proofs_checks.total_unimodularity.proven import proven

Matrix = NDArray[np.int8]


def sums_within(pieces: Pieces) -> Counter[str]:
    """How many leaves and sums of each kind a decomposition has, at all depths."""
    found: Counter[str] = Counter()
    for piece in pieces.pieces:
        found[piece.kind] += 1
        if isinstance(piece.evidence, Split):
            for part in piece.evidence.parts:
                found += sums_within(part)
    return found


def line_of(kind: str, make: Callable[[int], Matrix], seeds: range) -> str:
    """A row of the table."""
    deciding, checking, changed_seconds = [], [], []
    sums: Counter[str] = Counter()
    answers: Counter[bool | None] = Counter()
    orders, sizes, nonzeros = [], [], []
    for seed in seeds:
        matrix = make(seed)
        sizes.append(matrix.shape)
        nonzeros.append(int(np.count_nonzero(matrix)))
        start = time.process_time()
        verdict = check_total_unimodularity(matrix)
        deciding.append(time.process_time() - start)
        start = time.process_time()
        assert proven(matrix, verdict) is True
        checking.append(time.process_time() - start)
        if isinstance(verdict.certificate, Pieces):
            sums += sums_within(verdict.certificate)
        changed = one_entry_changed(matrix, seed)
        start = time.process_time()
        answer = check_total_unimodularity(changed)
        changed_seconds.append(time.process_time() - start)
        answers[proven(changed, answer)] += 1
        if isinstance(answer.certificate, ViolatingSubmatrix):
            orders.append(answer.certificate.order)
    rows, columns = (max(size[k] for size in sizes) for k in (0, 1))
    cells = [
        f"{kind}, up to {rows:,} x {columns:,}",
        f"{max(nonzeros):,}",
        f"{sums['2-sum'] / len(seeds):.0f} / {sums['3-sum'] / len(seeds):.0f}",
        f"{max(deciding):.1f}",
        f"{max(checking):.1f}",
        f"{answers[True]} / {answers[False]} / {answers[None]}",
        f"{max(changed_seconds):.1f}",
        f"{max(orders, default=0)}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="What deciding total unimodularity costs.")
    parser.add_argument("--quick", action="store_true", help="40 x 40 only")
    parser.add_argument("--seeds", type=int, default=20, help="matrices of each kind (default 20; a fifth of the largest)")
    args = parser.parse_args()
    sizes = ((40, args.seeds),) if args.quick else ((200, args.seeds), (1000, max(1, args.seeds // 5)))
    for seed in range(3):  # compiled code is warmed up
        check_total_unimodularity(one_entry_changed(nested(40, seed), seed))
        check_total_unimodularity(chain(60, seed))
    print(machine(), "\n")
    heads = (
        "matrix",
        "nonzeros, most",
        "2-sums / 3-sums, mean",
        "decide, s",
        "check, s",
        "changed: yes / no / None",
        "s",
        "order",
    )
    print(f"| {' | '.join(heads)} |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size, count in sizes:
        kinds: dict[str, Callable[[int], Matrix]] = {
            "3-sums of leaves with 6 arcs": partial(chain, size, leaves=6),
            "3-sums of leaves with 20 arcs": partial(chain, size, leaves=20),
            "1-, 2-, 3-sums, two pivots": partial(nested, size, leaves=8, pivots=2),
        }
        for kind, make in kinds.items():
            print(line_of(kind, make, range(count)), flush=True)


if __name__ == "__main__":
    main()
