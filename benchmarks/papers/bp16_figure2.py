"""Accuracy against cost of all methods on one axis: Figure 2 (a), (b) of BP16 and Figure 2 (c), (d) of CEGB17.

The forest of `bp16` at uniform prices is pruned by each of `PRUNINGS`; GreedyMiser and CEGB are grown at a grid of settings, and
every number of their stages is a point. For each budget the point of least validation error within it is chosen, over all
settings of a method, and reported on the test part. CEGB17 uses two of Covertype's classes and does not say which; see
`benchmarks.papers.data`.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from benchmarks.papers.budget_curves import always, budget_rows, budgets_of, by_budget, curve_experiment, curve_rows
from benchmarks.papers.data import parts
from benchmarks.papers.experiment import Comparison, Row, Scope, Unit
from benchmarks.papers.methods import (
    CEGB,
    GREEDY_MISER,
    OPTIMAL,
    PRUNINGS,
    WITHIN,
    learner,
    learner_settings,
    prunings,
    within_budgets,
)
from benchmarks.papers.protocols import bp16, grown
from benchmarks.papers.published import BP16_FIGURE_2A, CEGB17_FIGURE_2CD, NAMES, SUBSETS
from benchmarks.papers.tables import mean_of, spread_of

FOREST_METHODS = (OPTIMAL, WITHIN, *(method for method in PRUNINGS if method != OPTIMAL))
"""Methods that prune the forest; the first one grows it."""

ALIKE = 0.001
"""Additional error that counts as "essentially the same accuracy"; ours, since BP16 gives no number."""


def units(scope: Scope) -> list[Unit]:
    return [
        Unit("bp16_figure2", data, seed, method, {"protocol": "bp16", **setting}, scope.rows, version=2)
        for data, seed in scope.groups()
        for method, settings in (
            *((pruning, [{}]) for pruning in FOREST_METHODS),
            *((boosted, learner_settings(boosted, full=scope.full)) for boosted in (GREEDY_MISER, CEGB)),
        )
        for setting in settings
    ]


def run(unit: Unit) -> list[Row]:
    if unit.method in FOREST_METHODS:
        forest = grown(bp16, unit.data, unit.seed, unit.rows)
        if unit.method == WITHIN:
            costs = pd.DataFrame({"data": [unit.data], "valid_cost": [float(forest.parts.X_valid.shape[1])]})
            return budget_rows(within_budgets(forest, budgets_of(costs)[unit.data]), forest.parts)
        return curve_rows(prunings(unit.method, forest), forest.parts)
    p, setting = parts(unit.data, unit.seed, unit.rows), {k: v for k, v in unit.setting.items() if k != "protocol"}
    return curve_rows(learner(unit.method, setting, unit.seed).fit(p.X_train, p.y_train), p)


def alike_at(reached: pd.DataFrame) -> tuple[float, float]:
    """Of BudgetPrune on MiniBooNE: the least mean cost at the unpruned forest's error, up to `ALIKE`; and the unpruned cost."""
    at = reached[(reached["data"] == "miniboone") & (reached["method"] == OPTIMAL)]
    cost, error = at["cost"].to_numpy(), at["error"].to_numpy()
    unpruned = int(cost.argmax())
    return float(cost[error <= error[unpruned] + ALIKE].min()), float(cost[unpruned])


def claims(frame: pd.DataFrame, reached: pd.DataFrame) -> Sequence[Comparison]:
    found = []
    of_data = frame[(frame["data"] == "miniboone") & (frame["method"] == OPTIMAL)]
    if len(of_data):
        ends = [alike_at(by_budget(one, budgets_of(one))) for _, one in of_data.groupby("seed")]
        names = ("features at the unpruned forest's error + 0.1 point", "features of the unpruned forest")
        for name, published, values in zip(names, BP16_FIGURE_2A, zip(*ends, strict=True), strict=True):
            label, ours = f"MiniBooNE, BudgetPrune: {name}", mean_of(values)
            found.append(Comparison(label, published, ours, spread_of(values), values=tuple(values)))
    for data, at in reached.groupby("data", sort=False):
        least = at.loc[at.groupby("budget")["error"].idxmin(), "method"]
        first = int(least.isin((OPTIMAL, WITHIN)).sum())
        ours = f"least error at {first} of {len(least)} budgets, {least.mode()[0]} most often"
        label = f"{NAMES.get(str(data), data)}: BudgetPrune against all, CEGB among them"
        found.append(Comparison(label, "BudgetPrune has the best trade-off", ours, holds=first == len(least)))
        found += always(reached, CEGB, OPTIMAL, str(data), "CEGB against BudgetPrune", CEGB17_FIGURE_2CD)
    return found


EXPERIMENT = curve_experiment(
    claims,
    name="bp16_figure2",
    protocol="bp16",
    source="BP16, Figure 2 (a), (b); CEGB17, Figure 2 (c), (d)",
    title="accuracy against cost: prunings of one forest, GreedyMiser and CEGB",
    takes="about 15 min; --full a day",
    data=("miniboone", "covtype_two"),
    repeats=1,
    full_repeats=10,
    units=units,
    run=run,
    why=SUBSETS,
)
