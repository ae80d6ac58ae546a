"""General solvers of linear programs, on IP3 and on the closure form, at sizes that they can solve in time."""

from __future__ import annotations

from functools import partial
from typing import Any

import prunemodels as pm
from benchmarks.instances import middles
from benchmarks.path import warm_up
from benchmarks.suite.alternating import alternate
from benchmarks.suite.forests import instance
from benchmarks.suite.study import Figure, Found, Lam, Row, Setting
from formulations.instance.papers import two_trees

ROWS = (100, 300, 1000)
"""Cost rows; the forest is the same."""

LIMIT = 60.0
"""Seconds after which a solver is stopped; it is then not tried on more rows."""

CLOSE = 1e-5
"""Relative gap up to which an answer counts as the optimum, first-order methods included."""

EXACT = ("min_cut", "price_sharing")


def measure_linear_programs(solver: str, setting: Setting) -> Found:
    """Rows: `min_cut` and `price_sharing` against `solver` (highs, pdlp), building and proving included."""
    rows: list[Row] = []
    figures: list[Figure] = []
    warm_up()
    remaining = [f"{solver}_{form}" for form in ("ip3", "closure")]
    for engine in (*EXACT, *remaining):
        pm.SOLVERS[engine](two_trees(), 0.1)
    for n in (20, 40) if setting.quick else ROWS:
        name, problem = instance("miniboone", setting, n)
        lam = middles(pm.pruning_path(problem, certificate=False), (0.5,))[0]
        figures.append(Figure(name, "usage arcs", problem.n_usage_arcs))
        for engine in tuple(remaining):
            found, gap = against(engine, name, problem, lam, setting)
            rows += found
            figures.append(Figure(name, f"relative gap of {engine}", gap))
            if not found:
                remaining.remove(engine)
    return rows, figures


def against(engine: str, name: str, problem: pm.PruningProblem, lam: Lam, setting: Setting) -> tuple[list[Row], float | None]:
    """Rows for one engine and its relative gap; no rows and None if it does not finish.

    Raises
    ------
    SolverFailedError
        if it finishes with a wrong value.
    """
    exact: dict[str, Any] = {ours: partial(pm.SOLVERS[ours], problem, lam) for ours in EXACT}
    optimum = [work() for work in exact.values()][0]  # noqa: RUF015 (all of them warm up)
    works = exact | {engine: partial(pm.SOLVERS[engine], problem, lam, time_limit=LIMIT)}
    # one run of some seconds suffices, since the others take milliseconds
    found = alternate(works, repeats=setting.repeats, limit=setting.limit / 6)
    answer = found.answer[engine]
    if answer.stopped is not pm.engines.StopReason.CONVERGED or not answer.relative_gap <= CLOSE:
        return [], None
    gain = pm.Pruning.all_roots(problem).error - optimum.value
    if abs(answer.value - optimum.value) > CLOSE * gain:
        raise pm.errors.SolverFailedError(
            f"{name}: {engine} ends with the value {answer.value!r}, min_cut with {optimum.value!r}; one of them is wrong"
        )
    return [Row.of(name, found, ours, engine) for ours in EXACT], answer.relative_gap
