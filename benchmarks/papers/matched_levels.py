"""Two prunings at matched error: the cost at which each reaches the same error, for NWS15's Table 1.

Rows have data, seed, method, share (of the unpruned cost, the budget; 0: the unpruned forest), cost, error and, where there is a
validation part, valid_error; several rows of a share in one repeat are folds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.papers.methods import INDIVIDUAL, OPTIMAL
from benchmarks.papers.published import NAMES, NWS15_TABLE_1
from benchmarks.papers.tables import mean_of

METHODS = (OPTIMAL, INDIVIDUAL)

LEVELS = ("low", "high")

TRIALS = 21
"""Errors at which the paired count is taken."""

ROUNDING = 1e-12
"""Mean errors that differ by less are the same."""


@dataclass(frozen=True)
class Level:
    """Cost and error of a method at one level: one number for each run (repeat, or repeat and fold)."""

    cost: NDArray[np.float64]
    error: NDArray[np.float64]


def targets(data: str, unpruned: float) -> dict[str, float]:
    """The errors of the two levels: (1) of `nws15_table1`; for a data set that the paper has not, MiniBooNE's ratios."""
    paper = NWS15_TABLE_1.get(data, NWS15_TABLE_1["miniboone"])
    ratios = (paper.ensemble_low.error / paper.unpruned.error, paper.ensemble_high.error / paper.unpruned.error)
    return {level: unpruned * max(1.0, ratio) for level, ratio in zip(LEVELS, ratios, strict=True)}


def rows_at(runs: pd.DataFrame, target: float) -> pd.DataFrame:
    """The rows of the cheapest share whose mean test error meets the target; if none does, of the share of least error."""
    means = runs.groupby("share")[["cost", "error"]].mean().sort_values("cost", kind="stable")
    good = means.index[means["error"] <= target + ROUNDING]
    share = good[0] if len(good) else means["error"].idxmin()
    return runs[runs["share"] == share]


def level_of(runs: pd.DataFrame, target: float) -> Level:
    """Cost and error of `rows_at`."""
    at = rows_at(runs, target)
    return Level(at["cost"].to_numpy(), at["error"].to_numpy())


def level_by_validation(runs: pd.DataFrame, unpruned: pd.DataFrame, data: str) -> dict[str, Level]:
    """The same in each repeat by its own validation errors."""
    found: dict[str, list[tuple[float, float]]] = {level: [] for level in LEVELS}
    for seed, one in runs.groupby("seed"):
        start = float(unpruned.loc[unpruned["seed"] == seed, "valid_error"].iloc[0])
        for level, target in targets(data, start).items():
            ordered = one.sort_values("cost", kind="stable")
            good = ordered[ordered["valid_error"] <= target + ROUNDING]
            row = (good if len(good) else ordered.sort_values(["valid_error", "cost"], kind="stable")).iloc[0]
            found[level].append((row["cost"], row["error"]))
    return {level: Level(*np.array(pairs, dtype=np.float64).T) for level, pairs in found.items()}


def split(frame: pd.DataFrame, data: str) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Of one data set: the unpruned forests' rows, and each method's."""
    of_data = frame[frame["data"] == data]
    unpruned = of_data[(of_data["share"] == 0) & (of_data["method"] == of_data["method"].iloc[0])]
    return unpruned, {
        m: of_data[(of_data["share"] > 0) & (of_data["method"] == m)] for m in METHODS if m in set(of_data["method"])
    }


def paired(frame: pd.DataFrame) -> pd.DataFrame:
    """In how many (repeat, error) pairs ensemble pruning is cheaper than individual pruning, and at which mean ratio."""
    rows = []
    for data in frame["data"].unique():
        unpruned, by_method = split(frame, data)
        if len(by_method) < len(METHODS):
            continue
        cheaper, ratios, dearer, missed = 0, [], 0, 0
        for seed in sorted(unpruned["seed"].unique()):
            start = mean_of(unpruned.loc[unpruned["seed"] == seed, "error"])
            for target in np.linspace(start, targets(data, start)["high"], TRIALS):
                ours, theirs = (_cheapest(by_method[m], seed, float(target)) for m in METHODS)
                if np.isnan(ours) or np.isnan(theirs):
                    missed += 1
                    continue
                cheaper, dearer = cheaper + (ours < theirs), dearer + (ours > theirs)
                ratios.append(ours / theirs)
        name = NAMES.get(data, data)
        share = float(np.mean(ratios)) if ratios else np.nan
        rows.append((name, len(ratios), cheaper, len(ratios) - cheaper - dearer, dearer, missed, share))
    columns = ["data", "pairs", "ensemble cheaper", "equal", "individual cheaper", "not reached by both", "mean cost ratio"]
    return pd.DataFrame(rows, columns=columns)


def _cheapest(runs: pd.DataFrame, seed: int, target: float) -> float:
    """The least cost in one repeat (mean over its folds) at which the error is at most the target; NaN if it never is."""
    means = runs[runs["seed"] == seed].groupby("share")[["cost", "error"]].mean()
    good = means.loc[means["error"] <= target + ROUNDING, "cost"]
    return float(good.min()) if len(good) else float("nan")
