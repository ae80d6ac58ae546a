"""Accuracy against cost of all methods on one axis: Figure 2 (a), (b) of BP16 and Figure 2 (c), (d) of CEGB17.

The forest is BP16's: 40 entropy trees, all features at each split, uniform prices. It is pruned by each of `PRUNINGS`, with
in-bag errors and the validation part as cost sample; GreedyMiser and CEGB are grown at a grid of settings, and every number of
their stages is a point. For each budget the point of least validation error within it is chosen, over all settings of a method,
and reported on the test part. BP16 uses Covertype's seven classes, CEGB17 two of them (it does not say which; see
`benchmarks.papers.data`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from benchmarks.papers.budget_curves import budget_rows, by_budget, curve_rows, error_at, figures
from benchmarks.papers.data import parts
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.forests import grown
from benchmarks.papers.methods import (
    CCP,
    CEGB,
    EARLY,
    GREEDY,
    GREEDY_MISER,
    OPTIMAL,
    PRUNINGS,
    WITHIN,
    learner,
    learner_settings,
    prunings,
    within_budgets,
)
from benchmarks.papers.published import BP16_FIGURE_2A, CEGB17_FIGURE_2CD, NAMES, SUBSETS
from benchmarks.papers.tables import mean_of, spread_of

BUDGETS: Mapping[str, Sequence[float]] = {
    "miniboone": (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 21, 25, 30, 35, 40, 45, 50),
    "covtype426k": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 25, 30, 54),
    "covtype_two": (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 20, 25, 30, 54),
}

SHOWN: Mapping[str, Sequence[float]] = {
    "miniboone": (5, 10, 15, 18, 25, 35, 50),
    "covtype426k": (5, 8, 10, 12, 16, 20, 54),
    "covtype_two": (5, 8, 10, 12, 16, 20, 54),
}
"""Budgets in the table."""

FOREST_METHODS = (OPTIMAL, WITHIN, *(method for method in PRUNINGS if method != OPTIMAL))
"""Methods that prune the forest; the first one grows it."""

DRAWN = (OPTIMAL, WITHIN, CCP, GREEDY, EARLY, GREEDY_MISER, CEGB)
"""Methods in the figures; the tables have all methods."""

ALIKE = 0.001
"""Additional error that counts as "essentially the same accuracy"; our choice, since BP16 gives no number."""


def budgets_of(data: str) -> Sequence[float]:
    """Budgets of the curves; any other data set's are shares of its features."""
    if data in BUDGETS:
        return BUDGETS[data]
    return tuple(float(b) for b in np.linspace(0, parts(data, 0).X_train.shape[1], 21)[1:])


def units(scope: Scope) -> list[Unit]:
    return [
        Unit("bp16_figure2", data, seed, method, setting, scope.rows)
        for data, seed in scope.groups()
        for method, settings in (
            *((pruning, [{}]) for pruning in FOREST_METHODS),
            *((boosted, learner_settings(boosted, full=scope.full)) for boosted in (GREEDY_MISER, CEGB)),
        )
        for setting in settings
    ]


def run(unit: Unit) -> list[Row]:
    if unit.method in FOREST_METHODS:
        forest = grown(unit.data, unit.seed, unit.rows)
        if unit.method == WITHIN:
            return budget_rows(within_budgets(forest, budgets_of(unit.data)), forest.parts)
        return curve_rows(prunings(unit.method, forest), forest.parts)
    p = parts(unit.data, unit.seed, unit.rows)
    return curve_rows(learner(unit.method, unit.setting, unit.seed).fit(p.X_train, p.y_train), p)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean cost and error of every method within every budget, over repeats."""
    return by_budget(frame, {data: budgets_of(data) for data in frame["data"].unique()})


LEADING = ("data", "budget", "least error", "its error, %", "BudgetPrune, %", "CEGB less BudgetPrune, points")


def leaders(reached: pd.DataFrame) -> pd.DataFrame:
    """At each budget the method of least mean test error, BudgetPrune's error beside it, and CEGB's against BudgetPrune's."""
    rows = []
    for (data, budget), at in reached.groupby(["data", "budget"], sort=False):
        error = {m: 100 * e for m, e in zip(at["method"], at["error"], strict=True)}
        if OPTIMAL in error:
            best = min(error, key=lambda m: error[m])
            cegb = error[CEGB] - error[OPTIMAL] if CEGB in error else np.nan
            rows.append((data, budget, best, error[best], error[OPTIMAL], cegb))
    return pd.DataFrame(rows, columns=list(LEADING))


def seconds(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds of a unit: to grow the model, prune it, and measure. Growing a forest counts for its first pruning."""
    one = frame.drop_duplicates(["data", "method", "seed", *_settings(frame)])
    return one.groupby(["data", "method"], sort=False)["seconds"].agg(["mean", "count"]).reset_index()


def _settings(frame: pd.DataFrame) -> list[str]:
    """Columns in which the settings of a method differ."""
    return [c for c in ("n_estimators", "learning_rate", "lam", "num_leaves") if c in frame.columns]


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    reached = summary(frame)
    ahead = leaders(reached)
    notes = [
        "test_error is in per cent; budgets are met on validation data, what is paid on test data is in curves.csv",
        "seconds are means over units; the first pruning's include growing the forest",
    ]
    for data in ahead["data"].unique():
        at = ahead[ahead["data"] == data]
        lost = at[~at["least error"].isin((OPTIMAL, WITHIN))]
        names = " or ".join(sorted(set(lost["least error"]))) or "no other method"
        notes.append(f"{NAMES.get(data, data)}: {names} errs less than BudgetPrune at {len(lost)} of {len(at)} budgets")
        cegb = at["CEGB less BudgetPrune, points"].dropna()
        if len(cegb):
            less, label = int((cegb < 0).sum()), NAMES.get(data, data)
            notes.append(
                f"{label}: CEGB errs less than BudgetPrune at {less} of {len(cegb)} budgets (CEGB17: {CEGB17_FIGURE_2CD})"
            )
    shown = {data: SHOWN.get(data, budgets_of(data)[3::4]) for data in reached["data"].unique()}
    tables = {"test_error": error_at(reached, shown), "leaders": ahead, "seconds": seconds(frame)}
    return Presentation(tables, figures(reached[reached["method"].isin(DRAWN)]), notes, {"curves": reached})


def alike_at(reached: pd.DataFrame, data: str, method: str = OPTIMAL) -> tuple[float, float]:
    """The least mean cost at which a method's error is that of the unpruned forest, up to `ALIKE`; and the unpruned cost."""
    at = reached[(reached["data"] == data) & (reached["method"] == method)]
    cost, error = at["cost"].to_numpy(), at["error"].to_numpy()
    unpruned = int(cost.argmax())
    return float(cost[error <= error[unpruned] + ALIKE].min()), float(cost[unpruned])


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    reached, found = summary(frame), []
    if "miniboone" in set(reached["data"]):
        ends = [alike_at(summary(one), "miniboone") for _, one in frame[frame["data"] == "miniboone"].groupby("seed")]
        names = ("features at the unpruned forest's error + 0.1 point", "features of the unpruned forest")
        for name, published, values in zip(names, BP16_FIGURE_2A, zip(*ends, strict=True), strict=True):
            label, ours = f"MiniBooNE, BudgetPrune: {name}", mean_of(values)
            found.append(Comparison(label, published, ours, spread_of(values), values=tuple(values)))
    ahead = leaders(reached)
    for data in ahead["data"].unique():
        at = ahead[ahead["data"] == data]
        first = int(at["least error"].isin((OPTIMAL, WITHIN)).sum())
        best = "BudgetPrune has the best trade-off" if data != "covtype_two" else None
        if best:
            ours = f"least error at {first} of {len(at)} budgets"
            label = f"{NAMES.get(data, data)}: BudgetPrune against all, CEGB among them"
            found.append(Comparison(label, best, ours, holds=first == len(at)))
        cegb = at["CEGB less BudgetPrune, points"].dropna()
        if len(cegb) and data != "covtype426k":
            ours = f"CEGB errs less at {int((cegb < 0).sum())} of {len(cegb)} budgets"
            label, holds = f"{NAMES.get(data, data)}: CEGB against BudgetPrune", bool((cegb < 0).all())
            found.append(Comparison(label, CEGB17_FIGURE_2CD, ours, holds=holds))
    return found


EXPERIMENT = Experiment(
    name="bp16_figure2",
    source="BP16, Figure 2 (a), (b); CEGB17, Figure 2 (c), (d)",
    title="accuracy against cost: prunings of one forest, GreedyMiser and CEGB",
    takes="about 15 min; --full a day",
    data=("miniboone", "covtype426k", "covtype_two"),
    repeats=1,
    full_repeats=10,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
