"""The exact engines against the raw OR-Tools call and against each other: at one lambda, easy or hard, and on the whole path.

What it costs to check answers and matrices stands here, too.

An edge of the hull is a breakpoint at which much of the cost goes at once. Near it two very different prunings are worth nearly
the same, so an engine that closes a gap has to close nearly all of it. At the breakpoint itself all that goes there is a tie,
so no round ever decides it.
"""

from __future__ import annotations

import tracemalloc
import warnings
from fractions import Fraction
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

import prunemodels as pm
from benchmarks.instances import hard_lambdas, middles
from benchmarks.measuring import best_of, warm_up
from benchmarks.suite.plain import plain_path, raw_cut
from benchmarks.suite.study import Figure, Found, Lam, Measured, Row, Setting, alternate, instance, lambdas
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks import check_network_matrix, check_path, check_solution, formulation_network, read_matrix
from prunemodels.comparison.processes import PeakMemory
from solvers import min_cut, price_sharing
from solvers.automatic import predicted_seconds
from solvers.price_sharing import loop
from solvers.price_sharing.params import SharingParams

EDGES, OTHERS = 6, 12  # the longest edges of the hull beside which lambdas are hard, and the number of other lambdas
ROWS = (150, 1_500, 15_000)  # cost rows at which the two exact engines are compared
TIES = (Fraction(-1, 10_000), Fraction(0), Fraction(1, 10_000))
"""Where lambda is, relative to the breakpoint of the longest edge, when no core may be cut."""


def measure_cuts(data: str, setting: Setting) -> Found:
    """Rows: min_cut and price_sharing, with proof, against the raw cut and each other. Figures: rounds and memory."""
    name, problem = instance(data, setting)
    warm_up()
    rows: list[Row] = []
    figures = [Figure(name, "usage arcs", problem.n_usage_arcs)]
    for label, lam in lambdas(data, problem, setting):
        where = f"{name}, {label}"
        works: dict[str, Any] = {
            "raw cut": raw_cut(problem, lam),
            "min_cut": partial(min_cut, problem, lam),
            "price_sharing": partial(price_sharing, problem, lam),
        }
        found = against_the_raw_cut(where, works, setting)
        pairs = (("min_cut", "raw cut"), ("price_sharing", "raw cut"), ("price_sharing", "min_cut"))
        rows += [found.row(where, a, b) for a, b in pairs]
        figures.append(Figure(where, "rounds of price_sharing", found.answer["price_sharing"].stats["iterations"]))
        figures.append(Figure(where, "bytes a usage arc of price_sharing", _bytes(problem, lam) / problem.n_usage_arcs))
    return rows, figures


def against_the_raw_cut(where: str, works: dict[str, Any], setting: Setting) -> Measured[Any]:
    """Measure in turns; all exact engines must find the raw cut's pruning."""
    found = alternate(works, repeats=setting.repeats, limit=0.4 * setting.limit)
    for engine in works:
        if engine != "raw cut" and not np.array_equal(found.answer[engine].pruning.kept, found.answer["raw cut"]):
            raise pm.errors.SolverFailedError(f"{where}: {engine} and the raw cut find different prunings; one of them is wrong")
    return found


def _bytes(problem: pm.PruningProblem, lam: Lam) -> int:
    """Peak of what Python allocates during one run of price sharing, NumPy's arrays included, above what it held before."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    price_sharing(problem, lam)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


def measure_hard(data: str, setting: Setting) -> Found:
    """Rows: price_sharing with proof against the raw cut, beside long edges and elsewhere. Figures: rounds; gaps without a cut.
    Every certificate is checked, outside the clock.
    """
    name, problem = instance(data, setting)
    warm_up()
    path = pm.pruning_path(problem, certificate=False)
    rows: list[Row] = []
    figures: list[Figure] = []
    lam: Lam
    for label, lam in hard_lambdas(path, 1 if setting.quick else EDGES, 2 if setting.quick else OTHERS):
        where = f"{name}, {label}"
        works: dict[str, Any] = {"raw cut": raw_cut(problem, lam), "price_sharing": partial(price_sharing, problem, lam)}
        found = against_the_raw_cut(where, works, setting)
        answer = found.answer["price_sharing"]
        if not check_solution(problem, answer).holds:
            raise pm.errors.SolverFailedError(f"{where}: the certificate of price_sharing does not prove its answer")
        rows.append(found.row(where, "price_sharing", "raw cut"))
        figures.append(Figure(where, "rounds of price_sharing", answer.stats["iterations"]))
    edge = path.breakpoints[int(np.argmax(-np.diff(np.asarray(path.cost)))) + 1]
    for beside in TIES:
        figures += without_cut(f"{name}, longest edge {100 * float(beside):+g} %", problem, edge * (1 + beside))
    return rows, figures


def without_cut(where: str, problem: pm.PruningProblem, lam: Lam) -> list[Figure]:
    """What rounds alone prove where no core fits into memory: rounds until the run gives up, gap, and usage arcs still open."""
    with patch.object(loop, "too_large", lambda n_bytes: "too large"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        found = price_sharing(problem, lam, small_core=0)
    figures = {"rounds": found.stats["iterations"], "gap": found.relative_gap, "open arcs": found.stats["core_usage_arcs"]}
    return [Figure(where, f"{what} without a cut", figure) for what, figure in figures.items()]


def measure_sizes(data: str, setting: Setting) -> Found:
    """Rows: price_sharing against min_cut at several sizes. Figures: the ratio that `solvers.automatic` predicts."""
    rows: list[Row] = []
    figures: list[Figure] = []
    warm_up()
    lam: Lam
    for n in (20, 100) if setting.quick else ROWS:
        name, problem = instance(data, setting, n)
        cut, sharing = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits, SharingParams())
        figures.append(Figure(name, "price_sharing / min_cut, predicted", sharing / cut))
        shares = (0.85, 0.5, 0.15)
        for share, lam in zip(shares, middles(pm.pruning_path(problem, certificate=False), shares), strict=True):
            works: dict[str, Any] = {engine.__name__: partial(engine, problem, lam) for engine in (min_cut, price_sharing)}
            found = alternate(works, repeats=setting.repeats, limit=0.4 * setting.limit)
            rows.append(found.row(f"{name}, {share:.0%} of the cost", "price_sharing", "min_cut"))
    return rows, figures


LAM = 0.005  # lambda of the answers that are checked: in the middle of both paths
PATH, BARE, PLAIN, RAW = "path", "path without certificate", "plain divide and conquer", "raw cut"


def measure_path(data: str, setting: Setting) -> Found:
    """Rows: the path with its certificate against the same without it, without merging and guesses, and against single cuts."""
    warm_up()
    with PeakMemory() as peak:
        name, problem = instance(data, setting)
        first = pm.pruning_path(problem)
    lam: Lam = first.breakpoints[len(first) // 2]
    works: dict[str, Any] = {
        PATH: partial(pm.pruning_path, problem),
        BARE: partial(pm.pruning_path, problem, certificate=False),
        PLAIN: partial(plain_path, problem),
        "min_cut": partial(min_cut, problem, lam),
        RAW: raw_cut(problem, lam),
    }
    found = alternate(works, repeats=setting.repeats, limit=2 * setting.limit)
    check_agreement(name, found, lam)
    counts = {"breakpoints": len(first), "usage arcs": problem.n_usage_arcs}
    counts["bytes a usage arc, instance and path"] = (peak.bytes or 0) // problem.n_usage_arcs
    figures = [Figure(name, what, count) for what, count in counts.items()]
    figures += [Figure(name, f"arcs of all cuts, {kind}", found.answer[kind].stats["arcs_cut"]) for kind in (PATH, PLAIN)]
    return [found.row(name, PATH, other) for other in (BARE, PLAIN, "min_cut", RAW)], figures


def check_agreement(name: str, found: Measured[Any], lam: Lam) -> None:
    """Check that both paths are equal, and that cuts find the path's prunings."""
    path, plain = found.answer[PATH], found.answer[PLAIN]
    if path.breakpoints != plain.breakpoints or not np.array_equal(path.level, plain.level):
        raise pm.errors.SolverFailedError(f"{name}: the path and plain divide and conquer differ; one of them is wrong")
    kept = path.at_lam(lam).kept
    for cut, same in (("min_cut", found.answer["min_cut"].pruning.kept), (RAW, found.answer[RAW])):
        if not np.array_equal(kept, same):
            raise pm.errors.SolverFailedError(
                f"{name}: the path and {cut} differ at lambda = {float(lam):g}; one of them is wrong"
            )


def measure_checks(data: str, setting: Setting) -> Found:
    """Rows: each check against the solve that it checks. Figures: seconds of IP3's certificate of total unimodularity."""
    name, problem = instance(data, setting)
    warm_up()
    solutions = {engine.__name__: partial(engine, problem, LAM) for engine in (min_cut, price_sharing)}
    works: dict[str, Any] = {**solutions, PATH: partial(pm.pruning_path, problem)}
    for solve, work in list(works.items()):
        check = check_path if solve == PATH else partial(check_solution, problem)
        works[f"check of {solve}"] = partial(check, work())
    found = alternate(works, repeats=setting.repeats, limit=2 * setting.limit)
    refused = [what for what, answer in found.answer.items() if what.startswith("check") and not answer]
    small = MATRICES["IP3"](two_trees(), lam=1)
    check_network_matrix(read_matrix(small), formulation_network(two_trees(), read_matrix(small)))  # compiles
    program = MATRICES["IP3"](problem, lam=LAM)
    seconds = {}
    seconds["read the matrix"], matrix = best_of(setting.repeats, lambda: read_matrix(program))
    seconds["find the tree and its paths"], network = best_of(setting.repeats, lambda: formulation_network(problem, matrix))
    seconds["check them"], verdict = best_of(setting.repeats, lambda: check_network_matrix(matrix, network))
    if refused or not verdict:
        raise pm.errors.SolverFailedError(f"{name}: refused by {', '.join(refused) or 'the check of IP3'}; one of them is wrong")
    figures = [Figure(name, "nonzeros of IP3", program.matrix.nnz)]
    figures += [Figure(name, f"IP3: {what}, s", taken) for what, taken in seconds.items()]
    return [found.row(name, f"check of {solve}", solve) for solve in (*solutions, PATH)], figures
