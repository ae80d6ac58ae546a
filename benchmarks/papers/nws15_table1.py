"""Forests unpruned, pruned together, and pruned tree by tree, at matched error: Table 1 of NWS15.

BudgetRF forests at uniform prices: 40 trees on MiniBooNE and Forest, pruned with the validation part as cost sample; 90 trees on
Sonar and Heart, ten-fold cross validation, where the training part is the cost sample (the paper names no validation part there).
Errors are in-bag. Each path is read at budgets of 1, 2, ..., 100 per cent of the unpruned forest's cost on the cost sample, and
cost and error on the test part are averaged over repeats (and folds) at each. The paper matches test errors, not a rule that a
user could follow, and so do we:

    low, high = the least mean cost whose mean test error is at most      our unpruned error * max(1, r),               (1)
    r = the paper's error of ensemble pruning at that level / the paper's error of the unpruned forest

MiniBooNE and Forest are matched a second time by (1) with *validation* errors, repeat by repeat, as a user would. The paired
count goes over the whole curve: in each repeat, at 21 errors from the unpruned forest's to that of the high level, which is
cheaper. The full version has CIFAR-10 as well, if its files are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import prunemodels as pm
from benchmarks.papers.data import CIFAR10, FOLDS, LOADING, SMALL, fold, parts, without_cifar10
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.forests import Grown, Kind, grow_forest, grown
from benchmarks.papers.matched_levels import (
    LEVELS,
    METHODS,
    Level,
    level_by_validation,
    level_of,
    paired,
    rows_at,
    split,
    targets,
)
from benchmarks.papers.methods import OPTIMAL, prunings
from benchmarks.papers.published import NAMES, NWS15_TABLE_1, SAME_DATA, SUBSETS, Measured
from benchmarks.papers.tables import mean_of, plus_minus, spread_of
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.evaluation.path import evaluate_path
from prunemodels.plots.curves import plot_curves

FOREST: Kind = "budget_rf_pairs"

SHARES = tuple(k / 100 for k in range(1, 101))


def units(scope: Scope) -> list[Unit]:
    """Both methods on every forest; small data get the paper's 100 repeats for its 10 on large ones."""
    scope, loading = without_cifar10("nws15_table1", scope)
    return loading + [
        Unit("nws15_table1", data, seed, method, {"trees": 90 if data in SMALL else 40, "forest": FOREST}, scope.rows)
        for data in scope.data
        for seed in range(scope.repeats * (10 if scope.full and data in SMALL else 1))
        for method in METHODS
    ]


@lru_cache(maxsize=FOLDS)
def grown_in_fold(data: str, seed: int, k: int, rows: int | None, trees: int) -> Grown:
    """The forest of one fold."""
    parts = fold(data, seed, k, rows)
    forest = grow_forest(FOREST, parts.X_train, parts.y_train, trees=trees, seed=FOLDS * seed + k)
    return Grown(forest, parts, pm.problem_from_forest(forest, parts.X_train, costs=1))


def run(unit: Unit) -> list[Row]:
    if unit.method == LOADING:
        parts(unit.data, unit.seed, unit.rows)
    trees = int(str(unit.setting["trees"]))
    if unit.data not in SMALL:
        return list(read_path(unit.method, grown(unit.data, unit.seed, unit.rows, kind=FOREST, trees=trees), None))
    return [
        row for k in range(FOLDS) for row in read_path(unit.method, grown_in_fold(unit.data, unit.seed, k, unit.rows, trees), k)
    ]


def read_path(method: str, forest: Grown, k: int | None) -> Iterator[Row]:
    """The unpruned forest (share 0), then what each budget buys; validation errors where there is a part for them."""
    path, parts = prunings(method, forest), forest.parts
    test = evaluate_path(path, parts.X_test, parts.y_test)
    valid = evaluate_path(path, parts.X_valid, parts.y_valid) if k is None else None
    n_features = parts.X_test.shape[1]
    yield {
        "fold": k,
        "share": 0.0,
        "cost": test.unpruned_cost,
        "error": test.unpruned_error,
        "valid_error": None if valid is None else valid.unpruned_error,
        "features": n_features,
    }
    rows = [path.row_at_cost(share * pm.Pruning.unpruned(forest.problem).cost) for share in SHARES]
    for share, row in zip(SHARES, rows, strict=True):
        yield {
            "fold": k,
            "share": share,
            "cost": float(test.cost[row]),
            "error": float(test.error[row]),
            "valid_error": None if valid is None else float(valid.error[row]),
            "features": n_features,
        }


def table(frame: pd.DataFrame, *, by_validation: bool = False) -> pd.DataFrame:
    """Table 1: one line a data set and quantity, the paper's line below ours."""
    rows: list[dict[str, Any]] = []
    for data in frame["data"].unique():
        unpruned, by_method = split(frame, data)
        if by_validation and unpruned["valid_error"].isna().any():
            continue
        wanted = targets(data, mean_of(unpruned["error"]))
        cells: dict[str, Level] = {"no pruning": Level(unpruned["cost"].to_numpy(), unpruned["error"].to_numpy())}
        for level in LEVELS:
            for method, runs in by_method.items():
                name = f"{'ens' if method == OPTIMAL else 'ind'}.pru.{level}"
                cells[name] = level_by_validation(runs, unpruned, data)[level] if by_validation else level_of(runs, wanted[level])
        name, full = NAMES.get(data, data), mean_of(unpruned["cost"])
        rows.append({"data": name, "": "cost", **{k: plus_minus(c.cost, 2) for k, c in cells.items()}})
        rows.append({"data": name, "": "% of unpruned", **{k: f"{100 * mean_of(c.cost) / full:.1f}" for k, c in cells.items()}})
        rows.append({"data": name, "": "error", **{k: plus_minus(c.error) for k, c in cells.items()}})
        rows += _published_lines(data, name)
    return pd.DataFrame(rows)


def _published_lines(data: str, name: str) -> list[dict[str, Any]]:
    """The paper's own lines, in the same columns."""
    if data not in NWS15_TABLE_1:
        return []
    p = NWS15_TABLE_1[data]
    columns = ("no pruning", "ens.pru.low", "ind.pru.low", "ens.pru.high", "ind.pru.high")
    cells = (p.unpruned, p.ensemble_low, p.individual_low, p.ensemble_high, p.individual_high)
    return [
        {"data": name, "": "NWS15: cost", **{k: f"{c.cost:.2f} ± {c.cost_sd:.2f}" for k, c in zip(columns, cells, strict=True)}},
        {
            "data": name,
            "": "NWS15: % of unpruned",
            **{k: f"{100 * c.cost / p.unpruned.cost:.1f}" for k, c in zip(columns, cells, strict=True)},
        },
        {
            "data": name,
            "": "NWS15: error",
            **{k: f"{c.error:.4f} ± {c.error_sd:.4f}" for k, c in zip(columns, cells, strict=True)},
        },
    ]


def pictures(frame: pd.DataFrame) -> dict[str, Figure]:
    """One a data set: mean test error against mean test cost at the same shares."""
    drawn = {}
    for data in frame["data"].unique():
        unpruned, by_method = split(frame, data)
        lines = []
        for method, runs in by_method.items():
            means = runs.groupby("share")[["cost", "error"]].mean()
            shares, cost, error = (np.asarray(a, dtype=np.float64) for a in (means.index, means["cost"], means["error"]))
            name = "pruned together" if method == OPTIMAL else "pruned tree by tree"
            lines.append(TradeoffCurve(name, "share", shares, cost, error, len(unpruned)))
        share, cost, error = (np.array([mean_of(unpruned[c])]) for c in ("share", "cost", "error"))
        lines.append(TradeoffCurve("no pruning", "share", share, cost, error, len(unpruned)))
        drawn[str(data)] = plot_curves(lines, error_label="test error rate")
    return drawn


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    tables = {"table1": table(frame), "paired": paired(frame)}
    by_validation = table(frame, by_validation=True)
    if len(by_validation):
        tables["matched_on_validation"] = by_validation
    lost = tables["paired"].query("`individual cheaper` > 0")
    verdict = (
        "at every matched error, in every repeat, pruning together is cheaper than or as cheap as pruning tree by tree"
        if lost.empty
        else "pruning tree by tree is cheaper somewhere on: " + ", ".join(lost["data"])
    )
    return Presentation(
        tables,
        pictures(frame),
        [
            verdict,
            "levels are matched by mean test error, as in the paper: see (1) of the module; a level that a method never reaches "
            "shows its least error",
            "± is the standard deviation over repeats; on cross-validated data over all folds of all repeats",
        ],
    )


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    found = []
    for data in frame["data"].unique():
        if data not in NWS15_TABLE_1:
            continue
        paper, name = NWS15_TABLE_1[data], NAMES[data]
        unpruned, by_method = split(frame, data)
        found += _cost_and_error(f"{name}, no pruning", paper.unpruned, unpruned)
        wanted, full = targets(data, mean_of(unpruned["error"])), unpruned.groupby("seed")["cost"].mean()
        for method, runs in by_method.items():
            for level in LEVELS:
                theirs = getattr(paper, f"{'ensemble' if method == OPTIMAL else 'individual'}_{level}")
                at = rows_at(runs, wanted[level])
                label = f"{name}, {'ens' if method == OPTIMAL else 'ind'}.pru.{level}"
                shares = tuple(100 * at.groupby("seed")["cost"].mean() / full)
                printed = 100 * theirs.cost / paper.unpruned.cost
                found.append(
                    Comparison(f"{label}: % of unpruned cost", printed, mean_of(shares), spread_of(shares), values=shares)
                )
                found += _cost_and_error(label, theirs, at)
    small = ("Sonar", "Heart")
    return [replace(c, why=SAME_DATA, published_runs=100) if c.figure.startswith(small) else c for c in found]


def _cost_and_error(label: str, theirs: Measured, ours: pd.DataFrame) -> list[Comparison]:
    """Both quantities; a repeat's value is the mean over its folds, the spread is over all runs, as in the paper."""
    found = []
    for column, published, sd in (("cost", theirs.cost, theirs.cost_sd), ("error", theirs.error, theirs.error_sd)):
        values = tuple(ours.groupby("seed")[column].mean())
        spread = spread_of(ours[column])
        found.append(Comparison(f"{label}: {column}", published, mean_of(values), spread, values=values, published_sd=sd))
    return found


EXPERIMENT = Experiment(
    name="nws15_table1",
    source="NWS15, Table 1",
    title="BudgetRF forests unpruned, pruned together and tree by tree, at matched error",
    takes="about 8 min; --full about 2 h",
    data=("miniboone", "covtype_two", "covtype426k", "sonar", "heart_statlog"),
    full_data=("miniboone", "covtype_two", "covtype426k", "sonar", "heart_statlog", CIFAR10),
    repeats=2,
    full_repeats=10,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
