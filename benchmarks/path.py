"""The whole path against one cut: arcs, breakpoints, seconds, bytes.

    python -m benchmarks.path                        BP16's MiniBooNE setting: 40 entropy trees, 15,000 cost rows
    python -m benchmarks.path --data covtype426k     the same on Covertype

The forest is grown in one process and measured in another, so that training does not affect the peak memory. Compiled code is
warmed up on a small instance first. Every time is the best of --repeats runs in one process. Quote the ratios, since machines
differ.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar
from unittest.mock import patch

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.plain_path import plain_path
from benchmarks.second_process import run_in_second_process
from formulations import Pruning
from proofs_checks import check_path
from solvers.closures.cut import best_closure
from solvers.closures.subproblem import subproblem
from solvers.path import decomposition
from solvers.path.proof_by_shares import ProofByShares

T = TypeVar("T")


def best_of(repeats: int, work: Callable[[], T]) -> tuple[float, T]:
    """Least seconds of several runs, and the last answer."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        answer = work()
        seconds.append(time.perf_counter() - start)
    return min(seconds), answer


def resident() -> int:
    """Bytes of memory that the process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


class Peak:
    """The largest resident memory while a block runs, above that at its start."""

    def __enter__(self) -> Peak:
        self.before = self.most = resident()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def _watch(self) -> None:
        while not self._stop.wait(0.005):
            self.most = max(self.most, resident())

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.most = max(self.most, resident())

    @property
    def extra(self) -> int:
        return self.most - self.before


def plain_cut(problem: pm.PruningProblem, ratio_of: Pruning, lam_index: int, path: pm.PruningPath) -> int:
    """One cut on the whole network, with nothing merged and nothing left out, with which the path is compared."""
    ints = problem.integers
    ratio = path.breakpoints[lam_index] / ints.lam_unit
    arcs, price = problem.usage_arcs(), problem.purchase_price()
    part = subproblem(problem.ensemble.parent, problem.splits, arcs.tail, arcs.head, price.size)
    profit = ints.gain[problem.splits] * ratio.denominator
    closure = best_closure(part.closure_problem(profit, price[part.purchases] * ratio.numerator))
    kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
    kept[problem.splits] = closure.keep
    assert np.array_equal(kept, ratio_of.kept), "the plain cut and the path disagree"
    return closure.n_arcs


def warm_up() -> None:
    """Compile everything once."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    problem = pm.problem_from_forest(RandomForestClassifier(3, random_state=0).fit(X, y), X, costs=1)
    path = pm.pruning_path(problem)
    pm.engines.min_cut(problem, 0.01)
    path.to_frame()


def measure(file: Path, repeats: int) -> dict[str, float]:
    """Build, path and cuts on a trained forest."""
    forest, X = joblib.load(file)
    warm_up()
    with Peak() as peak:
        build, problem = best_of(1, lambda: pm.problem_from_forest(forest, X, costs=1))
        first, path = best_of(1, lambda: pm.pruning_path(problem))
    repeated, path = best_of(repeats, lambda: pm.pruning_path(problem))
    bare, _ = best_of(repeats, lambda: pm.pruning_path(problem, certificate=False))
    with patch.object(decomposition, "GUESS_ARCS", math.inf):
        cuts_only, cuts_path = best_of(repeats, lambda: pm.pruning_path(problem))
    plain_seconds, plain = best_of(repeats, lambda: plain_path(problem))
    for other in (cuts_path, plain):
        assert other.breakpoints == path.breakpoints
        assert np.array_equal(other.level, path.level)
    assert check_path(path)
    ratios = [b / problem.integers.lam_unit for b in path.breakpoints]
    by_shares, proof = best_of(repeats, lambda: ProofByShares(problem, path.level, ratios, path.ties))
    assert not proof.gaps()
    assert check_path(replace(path, certificate=proof.certificate()))
    middle = len(path) // 2
    lam, pruning = path.breakpoints[middle], path[middle]
    cut, solution = best_of(repeats, lambda: pm.engines.min_cut(problem, lam))
    assert solution.gap == 0
    one_cut, one_cut_arcs = best_of(repeats, lambda: plain_cut(problem, pruning, middle, path))
    return {
        "usage_arcs": problem.n_usage_arcs,
        "splits": problem.ensemble.n_splits,
        "breakpoints": len(path),
        "cuts": path.stats["cuts"],
        "arcs_in_all_cuts": path.stats["arcs_cut"],
        "guesses": path.stats["guesses"],
        "splits_repaired": path.stats["splits_repaired"],
        "build_seconds": build,
        "path_seconds": min(repeated, first),
        "path_without_certificate_seconds": bare,
        "path_without_guesses_seconds": cuts_only,
        "arcs_in_all_cuts_without_guesses": cuts_path.stats["arcs_cut"],
        "proof_by_shares_seconds": by_shares,
        "rounds_of_the_proof_by_shares": proof.rounds,
        "moves_of_the_proof_by_shares": len(proof.moves),
        "plain_divide_and_conquer_seconds": plain_seconds,
        "plain_divide_and_conquer_over_path": plain_seconds / min(repeated, first),
        "arcs_in_all_cuts_plain": plain.stats["arcs_cut"],
        "lambda_in_the_middle": float(lam),
        "min_cut_seconds": cut,
        "min_cut_arcs": solution.stats["arcs"],
        "plain_cut_seconds": one_cut,
        "plain_cut_arcs": one_cut_arcs,
        "path_over_min_cut": min(repeated, first) / cut,
        "path_over_plain_cut": min(repeated, first) / one_cut,
        "peak_bytes": peak.extra,
        "peak_bytes_per_usage_arc": peak.extra / problem.n_usage_arcs,
    }


def machine() -> str:
    """Processor, cores and versions, for the head of a table."""
    import numba
    import ortools
    import sklearn

    cores = joblib.cpu_count()
    versions = (
        f"numpy {np.__version__}, numba {numba.__version__}, ortools {ortools.__version__}, scikit-learn {sklearn.__version__}"
    )
    return f"{platform.machine()}, {cores} cores, Python {platform.python_version()}, {versions}"


def report(args: argparse.Namespace) -> None:
    """Print the figures, and write them to the file of ``--json``."""
    figures = measure(args.measure, args.repeats)
    print(f"{args.data}, seed {args.seed}; {machine()}")
    for name, figure in figures.items():
        print(f"  {name.replace('_', ' '):36s}{figure:>16{',.6g' if figure < 1000 else ',.0f'}}")
    if args.json:
        args.json.write_text(json.dumps({"data": args.data, "machine": machine(), **figures}, indent=1) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the figures there too")
    run_in_second_process(parser, "benchmarks.path", report)


if __name__ == "__main__":
    main()
