"""Ranking where splits cost as well as features: Figure 2 (a) of CEGB17, on Yahoo! Learning to Rank, if its files are present.

    cost of a prediction = prices of the features that it uses + alpha * number of splits that it passes,  alpha = 1/4    (1)

A tree of depth four passes four splits and so costs as much as the cheapest feature, 1, which is GreedyMiser's assumption.
Learners predict the graded relevance, 0 to 4, by squared loss. Error is 1 - Average Precision@5; a document is relevant if its
grade is over 0. The parts are the challenge's own three. Compared are

    GreedyMiser            trees of depth four
    CEGB, shallow trees    of at most 16 leaves and depth four, "trees similar to GreedyMiser"
    CEGB                   deep trees, at most 64 leaves

over small grids of lambda; a point after each round, chosen on the validation part within each budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import pandas as pd
from numpy.typing import NDArray

from benchmarks.data import Part, PublishedData, load_yahoo
from benchmarks.data.ranking import average_precision_at_5
from benchmarks.papers.budget_curves import POINT, always, curve_experiment
from benchmarks.papers.data import LOADING, is_absent
from benchmarks.papers.experiment import Comparison, Row, Scope, Unit
from benchmarks.papers.methods import CEGB, GREEDY_MISER
from prunemodels.evaluation.curve import tradeoff_curve

ALPHA = 0.25
"""(1)"""

SHALLOW = "CEGB, shallow trees"

LEAVES = {SHALLOW: 16, CEGB: 64}

DEPTH = 4

ALWAYS = "even shallow trees are always strictly better than GreedyMiser"


def units(scope: Scope) -> list[Unit]:
    if is_absent("yahoo"):
        return [Unit("cegb17_figure2a", "yahoo", 0, LOADING, {}, scope.rows)]
    lams = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2) if scope.full else (1e-5, 1e-3)
    rounds = 400 if scope.full else 40
    return [
        Unit("cegb17_figure2a", data, seed, method, {"lam": lam, "n_estimators": rounds}, scope.rows)
        for data, seed in scope.groups()
        for method in (GREEDY_MISER, SHALLOW, CEGB)
        for lam in lams
    ]


@lru_cache(maxsize=1)
def loaded() -> PublishedData:
    """The challenge's three files."""
    return load_yahoo(split="challenge")


def run(unit: Unit) -> list[Row]:
    from prunemodels.rivals.cegb import CEGBRegressor
    from prunemodels.rivals.greedy_miser import GreedyMiserRegressor

    data = loaded()
    shared: dict[str, Any] = {"evaluation_cost": ALPHA, "random_state": unit.seed, **unit.setting}
    if unit.method == GREEDY_MISER:
        model: Any = GreedyMiserRegressor(data.costs, max_depth=DEPTH, **shared)
    else:
        depth = DEPTH if unit.method == SHALLOW else None
        model = CEGBRegressor(data.costs, num_leaves=LEAVES[unit.method], max_depth=depth, **shared)
    whole = (data.train, data.validation, data.test)
    train, *seen = (part if unit.rows is None else part.take(slice(0, unit.rows)) for part in whole)
    model.fit(train.X, train.raw)
    curves = [tradeoff_curve(model, part.X, part.y, loss=partial(_error, part)) for part in seen]
    columns = (curves[0].parameter, curves[0].cost, curves[0].error, curves[1].cost, curves[1].error)
    return [dict(zip(POINT, (float(c[k]) for c in columns), strict=True)) for k in curves[0].undominated()]


def _error(part: Part, _: NDArray[Any], scores: NDArray[Any]) -> float:
    """1 - Average Precision@5."""
    assert part.query is not None  # ranking data have queries
    return 1 - average_precision_at_5(part.y, scores, part.query)


def claims(_: pd.DataFrame, reached: pd.DataFrame) -> Sequence[Comparison]:
    return [
        c
        for method, what in ((SHALLOW, "trees of 16 leaves against GreedyMiser"), (CEGB, "deep trees against GreedyMiser"))
        for c in always(reached, method, GREEDY_MISER, "yahoo", what, ALWAYS)
    ]


EXPERIMENT = curve_experiment(
    claims,
    error_label="1 - Average Precision@5",
    name="cegb17_figure2a",
    protocol="cegb17",
    source="CEGB17, Figure 2 (a)",
    title="ranking where splits cost, too: CEGB with deep and shallow trees, GreedyMiser",
    takes="seconds where the files are absent",
    data=("yahoo",),
    repeats=1,
    full_repeats=3,
    units=units,
    run=run,
)
