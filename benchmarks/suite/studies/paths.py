"""The path, compared with plain divide and conquer and with one cut."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import prunemodels as pm
from benchmarks.path import warm_up
from benchmarks.plain_path import plain_path
from benchmarks.suite.alternating import Measured, alternate
from benchmarks.suite.forests import instance
from benchmarks.suite.raw_cut import raw_cut
from benchmarks.suite.study import Figure, Found, Lam, Row, Setting

PATH, PLAIN, RAW = "path", "plain divide and conquer", "raw cut"

DESIGN = {
    "miniboone": ("plain 10.6 s; asked for: 0.33", "plain 10.6 s / cut 2.5 s = 4.2", "1,230"),
    "covtype426k": ("plain 15.0 s; asked for: 0.33", "plain 15.0 s, cut 2.9-3.7 s: 4.1-5.2", ""),
}
"""DESIGN sections 3.3 and 5, and the issue: against plain divide and conquer, against one cut, breakpoints."""


def measure_path(data: str, setting: Setting) -> Found:
    """Rows: the path with its certificate against the same without merging, guesses and certificate, and against single cuts."""
    name, problem = instance(data, setting)
    warm_up()
    first = pm.pruning_path(problem)
    lam: Lam = first.breakpoints[len(first) // 2]
    works: dict[str, Any] = {
        PATH: partial(pm.pruning_path, problem),
        PLAIN: partial(plain_path, problem),
        "min_cut": partial(pm.engines.min_cut, problem, lam),
        RAW: raw_cut(problem, lam),
    }
    found = alternate(works, repeats=setting.repeats, limit=2 * setting.limit)
    check_agreement(name, found, lam)
    to_plain, to_cut, breakpoints = map(setting.design, DESIGN[data])
    rows = [
        Row.of(name, found, PATH, PLAIN, to_plain),
        Row.of(name, found, PATH, "min_cut", to_cut),
        Row.of(name, found, PATH, RAW, to_cut),
    ]
    figures = [
        Figure(name, "breakpoints", len(first), breakpoints),
        Figure(name, "usage arcs", problem.n_usage_arcs, setting.design("5.1 million")),
        *(Figure(name, f"arcs of all cuts, {kind}", found.answer[kind].stats["arcs_cut"]) for kind in (PATH, PLAIN)),
    ]
    return rows, figures


def check_agreement(name: str, found: Measured[Any], lam: Lam) -> None:
    """Check that both paths are equal, and that cuts find the path's prunings.

    Raises
    ------
    SolverFailedError
        if they differ.
    """
    path, plain = found.answer[PATH], found.answer[PLAIN]
    if path.breakpoints != plain.breakpoints or not np.array_equal(path.level, plain.level):
        raise pm.errors.SolverFailedError(f"{name}: the path and plain divide and conquer differ; one of them is wrong")
    kept = path.at_lam(lam).kept
    for cut, same in (("min_cut", found.answer["min_cut"].pruning.kept), (RAW, found.answer[RAW])):
        if not np.array_equal(kept, same):
            raise pm.errors.SolverFailedError(
                f"{name}: the path and {cut} differ at lambda = {float(lam):g}; one of them is wrong"
            )
