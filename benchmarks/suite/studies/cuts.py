"""One lambda: the package's engines against the raw OR-Tools call, and price sharing's gaps by rounds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.instances import middles
from benchmarks.path import warm_up
from benchmarks.price_sharing import LAMBDAS
from benchmarks.suite.alternating import alternate
from benchmarks.suite.forests import instance
from benchmarks.suite.raw_cut import raw_cut
from benchmarks.suite.study import Figure, Found, Lam, Row, Setting
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing.local_rows import LocalRows
from solvers.price_sharing.run import Run

ROUNDS = (100, 150, 300)
CHECK = 25
"""Rounds after which gaps are reported, and between two looks at value and bound; DESIGN section 5."""

ROUNDS_ALONE = f"{ROUNDS[0]} rounds, nothing fixed"

GAPS: dict[tuple[str, float], tuple[str, str, str]] = {
    ("miniboone", 0.05): ("9e-8", "float precision", "float precision"),
    ("miniboone", 0.2): ("2e-7", "float precision", "float precision"),
    ("miniboone", 0.5): ("1e-7", "float precision", "float precision"),
    ("miniboone", 1.0): ("0", "float precision", "float precision"),
    ("covtype426k", 0.3): ("0", "0", "0"),
    ("covtype426k", 0.8): ("5e-7", "0", "0"),
    ("covtype426k", 1.2): ("6e-4", "1e-4", "2e-6"),
    ("covtype426k", 1.5): ("8e-5", "3e-6", "6e-8"),
    ("covtype426k", 2.0): ("6e-6", "4e-6", "7e-7"),
}
"""Relative gaps of the prototype after `ROUNDS`, by data set and lambda'."""

ONE_CUT = "2.9-3.7 s a cut"
HUNDRED = "1 s / 2.9-3.7 s = 0.27-0.34"
A_ROUND = "10"
"""The prototype's cut, 100 rounds against it, and milliseconds of a round."""


def measure_cuts(data: str, setting: Setting) -> Found:
    """Rows: min_cut, price_sharing and 100 rounds against the raw cut, the first two with proof. Figures: gaps and rounds."""
    name, problem = instance(data, setting)
    warm_up()
    rows: list[Row] = []
    figures = [Figure(name, "usage arcs", problem.n_usage_arcs, setting.design("5.1 million"))]
    for label, lam, scaled in lambdas(data, problem, setting):
        where = f"{name}, {label}"
        rows += against_the_raw_cut(where, problem, lam, setting)
        gaps = GAPS.get((data, scaled), ("", "", ""))
        figures += by_rounds(where, problem, lam, dict(zip(ROUNDS, gaps, strict=True)))
    return rows, figures


def lambdas(data: str, problem: pm.PruningProblem, setting: Setting) -> list[tuple[str, Lam, float]]:
    """Label, lambda, and lambda' of DESIGN: error counts per purchase of price 1; quick: where shares of the cost are paid."""
    if setting.quick:
        path = pm.pruning_path(problem, certificate=False)
        return [(f"{share} % of the cost", lam, 0.0) for share, lam in zip((70, 30), middles(path, (0.7, 0.3)), strict=True)]
    return [(f"lambda' = {scaled:g}", rate(problem, scaled), scaled) for scaled in LAMBDAS[data]]


def rate(problem: pm.PruningProblem, scaled: float) -> Fraction:
    """Lambda from lambda', exactly: lambda' N / (T W_t)."""
    errors = sum(Fraction(float(component.weight.sum())) for component in problem.errors.components)
    return Fraction(str(scaled)) * Fraction(float(problem.usage.total_weight)) / errors


def against_the_raw_cut(where: str, problem: pm.PruningProblem, lam: Lam, setting: Setting) -> list[Row]:
    """Pairs, measured in turns; all exact engines must find the same pruning.

    Raises
    ------
    SolverFailedError
        if they do not.
    """
    works: dict[str, Any] = {
        "raw cut": raw_cut(problem, lam),
        "min_cut": partial(pm.engines.min_cut, problem, lam),
        "price_sharing": partial(pm.engines.price_sharing, problem, lam),
        ROUNDS_ALONE: partial(averaged, problem, lam, ROUNDS[:1]),
    }
    # five lambdas in some minutes
    found = alternate(works, repeats=setting.repeats, limit=0.4 * setting.limit)
    for engine in ("min_cut", "price_sharing"):
        if not np.array_equal(found.answer[engine].pruning.kept, found.answer["raw cut"]):
            raise pm.errors.SolverFailedError(f"{where}: {engine} and the raw cut find different prunings; one of them is wrong")
    return [
        Row.of(where, found, "min_cut", "raw cut", setting.design(ONE_CUT)),
        Row.of(where, found, "price_sharing", "raw cut"),
        Row.of(where, found, ROUNDS_ALONE, "raw cut", setting.design(HUNDRED)),
        Row.of(where, found, "price_sharing", "min_cut"),
    ]


def by_rounds(where: str, problem: pm.PruningProblem, lam: Lam, design: dict[int, str]) -> list[Figure]:
    """Milliseconds of a round, gaps of rounds alone, and the rounds that price sharing needs with fixing and a last cut."""
    seconds, gaps = averaged(problem, lam, tuple(design))
    figures = [Figure(where, "ms a round, nothing fixed", 1000 * seconds, A_ROUND if any(design.values()) else "")]
    for (rounds, design_text), gap in zip(design.items(), gaps, strict=True):
        figures.append(Figure(where, f"relative gap after {rounds} rounds, nothing fixed", gap, design_text))
    best = pm.engines.price_sharing(problem, lam)
    return [*figures, Figure(where, "rounds of price_sharing to the optimum", best.stats["iterations"])]


class Unfixed(Run):
    """Rounds and checks as in the prototype, without fixing splits, so the instance does not shrink."""

    def _fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> None:
        """Leave all splits open."""


def averaged(problem: pm.PruningProblem, lam: Lam, after: Sequence[int]) -> tuple[float, list[float]]:
    """Least seconds of a round, and relative gaps after the given rounds; value and bound are computed every `CHECK` rounds."""
    seconds, gaps = [], []
    with ThreadPoolExecutor(1) as pool:
        run = Unfixed(LocalRows(integer_objective(problem, lam).refined(), pool), "smallest")
        for k in range(1, max(after) + 1):
            start = time.perf_counter()
            run.round()
            seconds.append(time.perf_counter() - start)
            if k % CHECK == 0:
                run.check()
            if k in after:
                # value and bound as gains over the all-roots forest; the bound is at least the value
                gaps.append((run.bound - run.best_value) / run.bound if run.bound else 0.0)
    return min(seconds), gaps
