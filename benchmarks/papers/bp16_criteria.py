"""Ways to grow the forests that are pruned: Figures 6 and 7 of BP16.

Figure 6: trees by entropy and by BRF15's Pairs. Figure 7's question, for Scene15 there: how many features a split may choose
from (k = 20 or 120 there); here the square root of all, half of them, and all, on the data at hand, since Scene15 is not public
in that form. Prices are uniform; the rest is as in `bp16_figure2`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

import pandas as pd

from benchmarks.papers.bp16_figure2 import budgets_of
from benchmarks.papers.budget_curves import budget_rows, by_budget, curve_rows, error_at, figures
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit, Value
from benchmarks.papers.forests import Grown, Kind, MaxFeatures, grown
from benchmarks.papers.methods import CCP, GREEDY, OPTIMAL, WITHIN, prunings, within_budgets
from benchmarks.papers.published import BP16_FIGURE_6, BP16_FIGURE_7, NAMES, SUBSETS
from benchmarks.papers.tables import plus_minus

KINDS: dict[str, Kind] = {"entropy": "entropy", "Pairs": "budget_rf_pairs"}

SUBSET_SIZES: dict[str, MaxFeatures] = {"k = sqrt": "sqrt", "k = half": 0.5, "k = all": None}


def _forest(unit: Unit) -> Grown:
    """The unit's forest."""
    kind, k = cast("Kind", unit.setting["kind"]), cast("MaxFeatures", unit.setting["max_features"])
    return grown(unit.data, unit.seed, unit.rows, kind=kind, max_features=k)


def run(unit: Unit) -> list[Row]:
    """The curve of a pruning."""
    forest, method = _forest(unit), unit.method.split(" (")[0]
    if method == WITHIN:
        return budget_rows(within_budgets(forest, budgets_of(unit.data)), forest.parts)
    return curve_rows(prunings(method, forest), forest.parts)


def _units(name: str, grows: dict[str, dict[str, Value]], methods: Sequence[str]) -> Callable[[Scope], list[Unit]]:
    """Every way to grow a forest with every pruning."""
    return lambda scope: [
        Unit(name, data, seed, f"{method} ({label})", setting, scope.rows)
        for data, seed in scope.groups()
        for label, setting in grows.items()
        for method in methods
    ]


def ends(frame: pd.DataFrame) -> pd.DataFrame:
    """Cost and error of the forests at lambda = 0, the dearest point of the optimal path."""
    at = frame[frame["method"].str.startswith(f"{OPTIMAL} (")].reset_index(drop=True)
    first = at.loc[at.groupby(["data", "method", "seed"], sort=False)["test_cost"].idxmax()]
    rows = []
    for (data, method), runs in first.groupby(["data", "method"], sort=False):
        error = plus_minus(100 * runs["test_error"], 2)
        rows.append({"data": data, "forest": _label(str(method)), "cost": plus_minus(runs["test_cost"], 2), "error, %": error})
    return pd.DataFrame(rows)


def _label(method: str) -> str:
    """``entropy`` of ``BudgetPrune (entropy)``."""
    return method.split(" (")[1].rstrip(")")


def best_by_budget(reached: pd.DataFrame) -> pd.DataFrame:
    """Of the optimally pruned forests, the mean test error of each at each budget, in per cent, and which is least."""
    at = reached[reached["method"].str.startswith(f"{OPTIMAL} (")].assign(percent=lambda r: 100 * r["error"])
    wide = at.pivot_table(index=["data", "budget"], columns="method", values="percent", sort=False)
    wide.columns = pd.Index([_label(str(c)) for c in wide.columns])
    return wide.assign(least=wide.idxmin(axis=1)).reset_index()


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    reached = by_budget(frame, {data: budgets_of(data) for data in frame["data"].unique()})
    best = best_by_budget(reached)
    notes = []
    for data, at in best.groupby("data", sort=False):
        counts = ", ".join(f"{name} at {n}" for name, n in at["least"].value_counts().items())
        notes.append(f"{NAMES.get(str(data), data)}: least error after optimal pruning: {counts} of {len(at)} budgets")
    shown = {data: budgets_of(data)[1::2] for data in reached["data"].unique()}
    tables = {"unpruned": ends(frame), "best_by_budget": best, "test_error": error_at(reached, shown)}
    return Presentation(tables, figures(reached), notes, {"curves": reached})


def entropy_is_dearer_and_better(frame: pd.DataFrame, data: str) -> bool:
    """Whether entropy's forest costs more and errs less than that of Pairs, in means over repeats, unpruned."""
    at = frame[(frame["data"] == data) & frame["method"].str.startswith(f"{OPTIMAL} (")].reset_index(drop=True)
    first = at.loc[at.groupby(["method", "seed"])["test_cost"].idxmax()]
    means = first.groupby(first["method"].map(_label))[["test_cost", "test_error"]].mean()
    entropy, pairs = means.loc["entropy"], means.loc["Pairs"]
    return bool(entropy["test_cost"] > pairs["test_cost"] and entropy["test_error"] < pairs["test_error"])


def _compare(claim: str, what: str, *, paper_has_it: bool) -> Callable[[pd.DataFrame], Sequence[Comparison]]:
    """The paper's sentence, beside cost and error at lambda = 0 and the counts of least error."""

    def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
        found = []
        best = best_by_budget(by_budget(frame, {data: budgets_of(data) for data in frame["data"].unique()}))
        starts = ends(frame)
        for data, at in best.groupby("data", sort=False):
            counts = ", ".join(f"{name} {n}" for name, n in at["least"].value_counts().items())
            of_data = starts[starts["data"] == data]
            grown_as = "; ".join(
                f"{f}: cost {c}, {e} %" for f, c, e in of_data[["forest", "cost", "error, %"]].itertuples(index=False)
            )
            ours = f"unpruned {grown_as}; budgets of least error after pruning: {counts}"
            label = f"{NAMES.get(str(data), data)}: {what}"
            holds = entropy_is_dearer_and_better(frame, str(data)) if paper_has_it else None
            found.append(Comparison(label, claim, ours, holds=holds, other_data=not paper_has_it))
        return found

    return compare


FIGURE_6 = Experiment(
    name="bp16_criteria",
    source="BP16, Figure 6",
    title="forests by entropy and by Pairs, pruned by BudgetPrune and CCP",
    takes="about 6 min; --full about 1 h",
    data=("miniboone", "covtype426k"),
    repeats=1,
    full_repeats=10,
    units=_units("bp16_criteria", {label: {"kind": kind, "max_features": None} for label, kind in KINDS.items()}, (OPTIMAL, CCP)),
    run=run,
    present=present,
    compare=_compare(BP16_FIGURE_6, "entropy against Pairs", paper_has_it=True),
    why=SUBSETS,
)

FIGURE_7 = Experiment(
    name="bp16_subsets",
    source="BP16, Figure 7",
    title="forests whose splits choose from few, half, or all features, pruned by BudgetPrune, CCP and GreedyPrune",
    takes="about 12 min; --full about 2 h",
    data=("miniboone", "covtype426k"),
    repeats=1,
    full_repeats=10,
    units=_units(
        "bp16_subsets",
        {label: {"kind": "entropy", "max_features": k} for label, k in SUBSET_SIZES.items()},
        (OPTIMAL, WITHIN, CCP, GREEDY),
    ),
    run=run,
    present=present,
    compare=_compare(BP16_FIGURE_7, "size of the random feature subset", paper_has_it=False),
    why="other data: the paper's is Scene15, not public in that form",
)

EXPERIMENTS = (FIGURE_6, FIGURE_7)
