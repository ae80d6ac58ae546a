"""Algorithm 1 of BP16, and Dantzig-Wolfe decomposition: gaps by iterations, and seconds to a gap that both reach."""

from __future__ import annotations

from functools import partial
from typing import Any

import prunemodels as pm
from benchmarks.dantzig_wolfe import GAP, QUICK, SCHEMES, SETTINGS
from benchmarks.dantzig_wolfe import instance as priced_instance
from benchmarks.path import warm_up
from benchmarks.suite.alternating import alternate
from benchmarks.suite.forests import instance
from benchmarks.suite.studies.cuts import lambdas
from benchmarks.suite.study import Figure, Found, Lam, Row, Setting
from solvers import dantzig_wolfe, min_cut, price_sharing, primal_dual

AFTER = {100: "1e-3", 300: "3e-4"}
"""DESIGN section 5: gaps of a plain prototype with Polyak's step on the MiniBooNE instance, by iterations."""

COMMON = 1e-3
"""Relative gap to which Algorithm 1 and price sharing are both run."""

DATA = ("sonar", "ann_thyroid", "pima")
"""Those of `benchmarks.dantzig_wolfe.SETTINGS` on which the textbook's scheme ends within a minute."""

LIMIT = 120.0
"""Seconds for one run of a decomposition."""


def measure_primal_dual(setting: Setting) -> Found:
    """Rows: price sharing against Algorithm 1, both to the gap `COMMON`. Figures: gaps by iterations, Polyak's step."""
    name, problem = instance("miniboone", setting)
    warm_up()
    rows: list[Row] = []
    figures: list[Figure] = []
    for label, lam, _ in lambdas("miniboone", problem, setting):
        where = f"{name}, {label}"
        works: dict[str, Any] = {
            "price_sharing": partial(price_sharing, problem, lam, gap=COMMON),
            "primal_dual": partial(primal_dual, problem, lam, gap=COMMON, time_limit=LIMIT),
        }
        found = alternate(works, repeats=setting.repeats, limit=setting.limit)
        if max(answer.relative_gap for answer in found.answer.values()) <= COMMON:
            rows.append(Row.of(f"{where}, to a gap of {COMMON:g}", found, "price_sharing", "primal_dual"))
        gaps = primal_dual(problem, lam, gap=0, iterations=max(AFTER)).history["gap"]
        for iterations, design in AFTER.items():
            gap = float(gaps[:iterations][-1])
            what = f"relative gap of primal_dual after {iterations} iterations"
            figures.append(Figure(where, what, gap, setting.design(design)))
    return rows, figures


def measure_dantzig_wolfe(setting: Setting) -> Found:
    """Rows: the bundle master against the textbook's, and against min_cut. Figures: rounds of both, and their gaps."""
    rows: list[Row] = []
    figures: list[Figure] = []
    lam: Lam
    warm, lam = priced_instance(QUICK[0])
    for scheme, pricing in SCHEMES.values():
        dantzig_wolfe(warm, lam, gap=GAP, scheme=scheme, pricing=pricing)
    for given in QUICK if setting.quick else [s for s in SETTINGS if s.data in DATA]:
        problem, lam = priced_instance(given)
        where = f"{given.data}, {given.trees} trees, lambda' = {float(given.rate):g}"
        works: dict[str, Any] = {"min_cut": partial(min_cut, problem, lam)}
        for name, (scheme, pricing) in SCHEMES.items():
            options = {"gap": GAP, "scheme": scheme, "pricing": pricing, "time_limit": LIMIT}
            works[f"dantzig_wolfe, {name}"] = partial(dantzig_wolfe, problem, lam, **options)
        works["min_cut"]()
        works["dantzig_wolfe, bundle"]()
        found = alternate(works, repeats=setting.repeats, limit=setting.limit / 6)
        optimum = found.answer["min_cut"].value
        for name in SCHEMES:
            engine = f"dantzig_wolfe, {name}"
            answer = found.answer[engine]
            if answer.bound > optimum * (1 + 1e-12) or answer.value < optimum * (1 - 1e-12):
                raise pm.errors.SolverFailedError(f"{where}: {engine} claims more than min_cut; one of them is wrong")
            figures.append(Figure(where, f"rounds of {engine}", answer.stats["rounds"]))
            figures.append(Figure(where, f"relative gap of {engine}", answer.relative_gap))
        closed = [name for name in works if found.answer[name].relative_gap <= GAP]
        pairs = (("dantzig_wolfe, bundle", "dantzig_wolfe, textbook"), ("min_cut", "dantzig_wolfe, bundle"))
        rows += [Row.of(where, found, a, b) for a, b in pairs if a in closed and b in closed]
    return rows, figures
