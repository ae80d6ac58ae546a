"""The path against plain divide and conquer and one cut, and what it costs to check answers and matrices."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import prunemodels as pm
from benchmarks.measuring import Peak, best_of, warm_up
from benchmarks.suite.instances import instance
from benchmarks.suite.plain import plain_path, raw_cut
from benchmarks.suite.study import Figure, Found, Lam, Measured, Setting, alternate
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from proofs_checks import check_network_matrix, check_path, check_solution, formulation_network, read_matrix
from solvers import min_cut, price_sharing

LAM = 0.005
"""Lambda of the answers that are checked: in the middle of both paths."""

PATH, BARE, PLAIN, RAW = "path", "path without certificate", "plain divide and conquer", "raw cut"


def measure_path(data: str, setting: Setting) -> Found:
    """Rows: the path with its certificate against the same without it, without merging and guesses, and against single cuts."""
    warm_up()
    with Peak() as peak:
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
    counts["bytes a usage arc, instance and path"] = peak.extra // problem.n_usage_arcs
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
