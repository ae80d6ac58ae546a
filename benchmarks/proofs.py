"""Seconds of checks: IP3's unimodularity, optimality of a solution and of a path, recognition of network matrices.

    python -m benchmarks.proofs                      BP16's MiniBooNE setting: 40 entropy trees, 15,000 cost rows
    python -m benchmarks.proofs --data covtype426k   the same on Covertype

The forest is grown in one process and measured in another; compiled code is warmed up on the papers' trees; seconds are the best
of --repeats in one process. The seconds of a minimum cut and of the path are shown beside those of their checks.
"""

from __future__ import annotations

import argparse
import resource
from pathlib import Path

import joblib
import numpy as np

import prunemodels as pm
from benchmarks.path import best_of, machine
from benchmarks.second_process import run_in_second_process
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks import (
    check_corollary,
    check_formulation,
    check_network_matrix,
    check_path,
    check_solution,
    check_total_unimodularity,
    formulation_network,
    read_matrix,
)
from proofs_checks.matrices.sign_matrix import SignMatrix

LAM = 0.005
"""Error per unit of cost: in the middle of both paths."""

ARCS = (100, 1_000, 5_000)
"""Sizes of the random networks."""


def random_network(arcs: int, seed: int) -> SignMatrix:
    """A random network matrix: as many random paths as arcs in a random tree, with rows and columns shuffled."""
    rng = np.random.default_rng(seed)
    above = np.array([0, *(int(rng.integers(0, v)) for v in range(1, arcs + 1))])
    depth = np.zeros(arcs + 1, dtype=int)
    for v in range(1, arcs + 1):
        depth[v] = depth[above[v]] + 1
    sign = rng.choice([-1, 1], arcs + 1)
    matrix = np.zeros((arcs, arcs), dtype=np.int8)
    for p in range(arcs):
        a, b = rng.integers(0, arcs + 1, 2)
        while a != b:
            if depth[a] >= depth[b]:
                matrix[a - 1, p], a = sign[a], above[a]
            else:
                matrix[b - 1, p], b = -sign[b], above[b]
    return read_matrix(matrix[rng.permutation(arcs)][:, rng.permutation(arcs)])


def unimodular_lines(problem: pm.PruningProblem, repeats: int) -> list[tuple[str, str]]:
    """IP3 with its certificate."""
    program = MATRICES["IP3"](problem, lam=LAM)
    lines = [("IP3: rows / columns / nonzeros", " / ".join(f"{x:,}" for x in (*program.shape, program.matrix.nnz)))]
    read, matrix = best_of(repeats, lambda: read_matrix(program))
    made, network = best_of(repeats, lambda: formulation_network(problem, matrix))
    checked, verdict = best_of(repeats, lambda: check_network_matrix(matrix, network))
    assert verdict
    for what, seconds in (("read the matrix", read), ("find the tree and its paths", made), ("check them", checked)):
        lines.append((f"IP3: {what}, s", f"{seconds:.1f}"))
    return lines


def naive_line(problem: pm.PruningProblem) -> tuple[str, str]:
    """IP1 and its violating submatrix."""
    naive = read_matrix(MATRICES["IP1"](problem, lam=LAM))
    seconds, verdict = best_of(1, lambda: check_total_unimodularity(naive))
    assert verdict.holds is False
    return f"IP1, {naive.nnz:,} nonzeros: violating submatrix of order {verdict.certificate.order}, s", f"{seconds:.1f}"


def optimality_lines(problem: pm.PruningProblem, repeats: int) -> list[tuple[str, str]]:
    """Seconds of checks, beside those of the solve that they check."""
    lines = []
    for name, solve in {"min_cut": pm.engines.min_cut, "price_sharing": pm.engines.price_sharing}.items():
        solved, solution = best_of(repeats, lambda solve=solve: solve(problem, LAM))  # type: ignore[misc]
        checked, verdict = best_of(repeats, lambda solution=solution: check_solution(problem, solution))  # type: ignore[misc]
        assert verdict
        lines.append((f"{name}: solve / check, s", f"{solved:.1f} / {checked:.1f}"))
    solved, path = best_of(repeats, lambda: pm.pruning_path(problem))
    checked, verdict = best_of(repeats, lambda: check_path(path))
    assert verdict
    lines.append((f"path, {len(path):,} prunings: solve / check, s", f"{solved:.1f} / {checked:.1f}"))
    seconds, verdict = best_of(1, lambda: check_corollary(path))
    answers = [row.integral for row in verdict.certificate.rows]
    counts = ", ".join(
        f"{answers.count(x)} {word}" for x, word in ((True, "integral"), (False, "fractional"), (None, "undecided"))
    )
    lines.append((f"LP1 in the middle of every edge ({counts}), s", f"{seconds:.1f}"))
    return lines


def recognition_lines(repeats: int) -> list[tuple[str, str]]:
    """Recognition of network matrices without a given tree."""
    lines = []
    for arcs in ARCS:
        matrix = random_network(arcs, 0)
        seconds, verdict = best_of(repeats, lambda matrix=matrix: check_total_unimodularity(matrix))  # type: ignore[misc]
        assert verdict
        lines.append((f"network matrix {arcs:,} x {arcs:,}, {matrix.nnz:,} nonzeros: find its tree, s", f"{seconds:.3f}"))
    return lines


def measure(name: str, file: Path, repeats: int) -> None:
    """Print the table for a forest that was grown before."""
    forest, X = joblib.load(file)
    problem = pm.problem_from_forest(forest, X, costs=1.0)
    small = two_trees()
    check_formulation(small, MATRICES["IP3"](small, lam=1))
    check_formulation(small, MATRICES["IP1"](small, lam=1))
    check_corollary(pm.pruning_path(small))
    for solve in (pm.engines.min_cut, pm.engines.price_sharing):
        check_solution(small, solve(small, 0.1))
    lines = [*recognition_lines(repeats), *optimality_lines(problem, repeats)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    lines.append(("peak memory up to here, GB", f"{peak:.1f}"))
    lines += [*unimodular_lines(problem, repeats), naive_line(problem)]
    lines.append(("peak memory in all, GB", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f}"))
    print(f"{name}: {problem}\n{machine()}\n")
    print(f"| | {name} |\n| --- | ---: |")
    for what, number in lines:
        print(f"| {what} | {number} |")


def main() -> None:
    parser = argparse.ArgumentParser(description="What checking costs.")
    parser.add_argument("--data", default="miniboone", choices=("miniboone", "covtype426k"))
    parser.add_argument("--repeats", type=int, default=3)
    run_in_second_process(parser, "benchmarks.proofs", lambda args: measure(args.data, args.measure, args.repeats))


if __name__ == "__main__":
    main()
