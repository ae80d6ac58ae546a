"""One lambda: the package's engines against the raw OR-Tools call and against each other, where it is easy and where it is hard.

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
from benchmarks.measuring import warm_up
from benchmarks.suite.instances import instance, lambdas
from benchmarks.suite.plain import raw_cut
from benchmarks.suite.study import Figure, Found, Lam, Measured, Row, Setting, alternate
from proofs_checks import check_solution
from solvers import min_cut, price_sharing
from solvers.automatic import predicted_seconds
from solvers.price_sharing import stopping

EDGES, OTHERS = 6, 12
"""The longest edges of the hull beside which lambdas are hard, and the number of other lambdas."""

ROWS = (150, 1_500, 15_000)
"""Cost rows at which the two exact engines are compared."""

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
    with patch.object(stopping, "memory_free", lambda: 0), warnings.catch_warnings():
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
        cut, sharing = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
        figures.append(Figure(name, "price_sharing / min_cut, predicted", sharing / cut))
        shares = (0.85, 0.5, 0.15)
        for share, lam in zip(shares, middles(pm.pruning_path(problem, certificate=False), shares), strict=True):
            works: dict[str, Any] = {engine.__name__: partial(engine, problem, lam) for engine in (min_cut, price_sharing)}
            found = alternate(works, repeats=setting.repeats, limit=0.4 * setting.limit)
            rows.append(found.row(f"{name}, {share:.0%} of the cost", "price_sharing", "min_cut"))
    return rows, figures
