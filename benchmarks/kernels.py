"""How close the kernels of price sharing come to the speed of the memory.

    python -m benchmarks.kernels                 0.7 million HEPMASS-like rows, 40 trees of at most 5,000 leaves each
    python -m benchmarks.kernels --rows 1400000 --forest F     a forest that benchmarks.scale grew (its --out keeps it)

A round visits each arc twice and reads the two-byte number of its row each time. The first pass reads and writes one float64 of
the row, the second pass reads it. So a round moves, for each arc,

    4 bytes from memory (numbers of rows, in order)   and   24 bytes within the cache (rows, out of order)                (1)

It is compared with the triad a = b + s c on arrays far larger than the caches (24 bytes an element), with one thread and with two
at once. It is also compared with the two operations of a pass on their own: adding to (scatter) and reading (gather) one float64
of half a megabyte by two-byte numbers, tree by tree in the order of the leaves. Each figure is the best of several runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import joblib
import numpy as np
from numba import njit
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.hepmass_like import events
from benchmarks.path import best_of
from prunemodels.comparison.machine import machine
from solvers.closures.integer_objective import integer_objective
from solvers.closures.tree_pass import without_prices
from solvers.price_sharing import shares
from solvers.price_sharing.merged_usage import MOST_BYTES, merged_usage
from solvers.price_sharing.remaining import all_open
from solvers.price_sharing.shares import Sharing

ELEMENTS = 2**24
FROM_MEMORY, IN_CACHE = 4, 24
"""Bytes an arc and round, by (1)."""


@njit(cache=True, nogil=True)
def _triad(a, b, c, s):  # type: ignore[no-untyped-def]
    for i in range(a.shape[0]):
        a[i] = b[i] + s * c[i]


@njit(cache=True, nogil=True)
def _scatter(values, rows, w):  # type: ignore[no-untyped-def]
    for i in rows:
        values[i] += w


@njit(cache=True, nogil=True)
def _gather(values, rows):  # type: ignore[no-untyped-def]
    a = b = c = d = 0.0
    for p in range(0, rows.shape[0] - 3, 4):
        a += values[rows[p]]
        b += values[rows[p + 1]]
        c += values[rows[p + 2]]
        d += values[rows[p + 3]]
    return a + b + c + d


def triad(threads: int, repeats: int = 5) -> float:
    """Bytes a second that all threads together move."""
    arrays = [np.ones((3, ELEMENTS)) for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        seconds, _ = best_of(repeats, lambda: list(pool.map(lambda a: _triad(a[0], a[1], a[2], 3.0), arrays)))
    return threads * 24 * ELEMENTS / seconds


def alone(problem: pm.PruningProblem, repeats: int = 5) -> tuple[float, float]:
    """Seconds an element of a scatter and of a gather, one float64 a row, in the order of the forest's leaves."""
    blocks = problem.row_blocks
    values = np.ones(min(blocks.size, problem.n_rows))
    places = blocks.order[:, : values.size]
    scattered, _ = best_of(repeats, lambda: [_scatter(values, tree, 1.0) for tree in places])
    gathered, _ = best_of(repeats, lambda: [_gather(values, tree) for tree in places])
    return scattered / places.size, gathered / places.size


def rounds(problem: pm.PruningProblem, repeats: int = 3) -> dict[int, float]:
    """Seconds of the charges of one round, with one thread and with two; no prices are paid, no purchases merged."""
    remaining = all_open(integer_objective(problem, Fraction(1, 200)).refined(), without_prices(problem, "smallest"))
    score = np.zeros(remaining.nodes.size, dtype=np.float32)
    found = {}
    with ThreadPoolExecutor(1) as pool:
        for threads, threshold in ((1, remaining.slices.n_arcs + 1), (2, 0)):
            found[threads], _ = best_of(repeats, _charged(Sharing(remaining, pool, most_bytes=0), score, threshold))
    return found


def merging(problem: pm.PruningProblem) -> tuple[int, float, float]:
    """The arcs that are left where purchases are merged, the seconds that it takes one thread, and those of its charges then."""
    remaining = all_open(integer_objective(problem, Fraction(1, 200)).refined(), without_prices(problem, "smallest"))
    usage, slices = remaining.blocked_usage, remaining.slices
    once, merged = best_of(3, lambda: merged_usage(usage, remaining.prices, 0, slices.split.size, slices.n_arcs, MOST_BYTES))
    assert merged is not None
    weight, charge = np.ones(remaining.nodes.size), np.zeros(remaining.nodes.size)
    seconds, _ = best_of(3, lambda: merged.add_charges(weight, charge))
    return merged.place.size, once, seconds


def _charged(sharing: Sharing, score: np.ndarray, threshold: int) -> Callable[[], object]:
    """A round's charges by one thread or two."""

    def work() -> object:
        before, shares.ONE_THREAD_ARCS = shares.ONE_THREAD_ARCS, threshold
        try:
            return sharing.charges(score)
        finally:
            shares.ONE_THREAD_ARCS = before

    return work


def table(problem: pm.PruningProblem) -> str:
    """All figures as a table."""
    open_arcs = all_open(
        integer_objective(problem, Fraction(1, 200)).refined(), without_prices(problem, "smallest")
    ).slices.n_arcs
    seconds, speed = rounds(problem), {n: triad(n) for n in (1, 2)}
    scatter, gather = alone(problem)
    lines = [f"{problem}", machine(), "", "| | one thread | two threads |", "| --- | ---: | ---: |"]
    lines += ["| triad, GB/s | " + " | ".join(f"{speed[n] / 1e9:.1f}" for n in (1, 2)) + " |"]
    lines += ["| ns an arc and round | " + " | ".join(f"{seconds[n] / open_arcs * 1e9:.2f}" for n in (1, 2)) + " |"]
    moved = {n: FROM_MEMORY * open_arcs / seconds[n] for n in (1, 2)}
    lines += ["| from memory, GB/s | " + " | ".join(f"{moved[n] / 1e9:.1f}" for n in (1, 2)) + " |"]
    lines += ["| - of the triad | " + " | ".join(f"{moved[n] / speed[n]:.0%}" for n in (1, 2)) + " |"]
    within = {n: IN_CACHE * open_arcs / seconds[n] for n in (1, 2)}
    lines += ["| within the cache, GB/s | " + " | ".join(f"{within[n] / 1e9:.1f}" for n in (1, 2)) + " |"]
    lines += [f"| a scatter alone, ns an element | {scatter * 1e9:.2f} | |"]
    lines += [f"| a gather alone, ns an element | {gather * 1e9:.2f} | |"]
    lines += [f"| - both, of the round's seconds | {(scatter + gather) * open_arcs / seconds[1]:.0%} | |"]
    if 2 * open_arcs <= MOST_BYTES:
        left, once, merged = merging(problem)
        lines += [f"| merged: arcs that are left | {left / open_arcs:.0%} | |"]
        lines += [f"| - ns an arc of all and round | {merged / open_arcs * 1e9:.2f} | |"]
        lines += [f"| - merging, in rounds without it | {once / seconds[1]:.1f} | |"]
    return "\n".join(lines)


def grown(file: Path | None) -> RandomForestClassifier:
    """The forest in a file, or a new one of 40 trees of at most 5,000 leaves each."""
    if file is not None:
        return joblib.load(file)
    X, y = events(20_000, 0)
    forest = RandomForestClassifier(40, criterion="entropy", max_features="sqrt", max_leaf_nodes=5_000, random_state=0)
    return forest.fit(X, y)


def main() -> None:
    parser = argparse.ArgumentParser(description="How close the kernels come to the speed of the memory.")
    parser.add_argument("--rows", type=int, default=700_000)
    parser.add_argument("--forest", type=Path, help="a forest on the same 28 features, kept by benchmarks.scale")
    args = parser.parse_args()
    print(table(pm.problem_from_forest(grown(args.forest), events(args.rows, 1)[0], costs=1.0)))


if __name__ == "__main__":
    main()
