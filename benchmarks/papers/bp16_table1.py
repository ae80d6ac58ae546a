"""Use of features before and after pruning (Table 1 of BP16), and two ways to combine the trees' predictions.

The table: of all pairs of a test example and a feature, the share that no tree uses, that 1 to 7 trees use, that more use; with
cost and test error. BP16 gives it for "a typical feature" and does not say which: all pairs are ours. The pruning is the optimal
one at the paper's cost, 24.3 features, or on other data than MiniBooNE at the same share of the unpruned cost (58 %); and the
cheapest whose validation error is at most a tenth of a point above the unpruned forest's.

The votes: BP16 (end of section 4) predicts by the leaves' distributions added up over the trees, as scikit-learn does, and says
that this "consistently gives lower prediction error than majority voting with pruned trees". The prunings are the same; the error
of both votes is measured along the path, at budgets that are shares of the unpruned cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

import prunemodels as pm
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.forests import Grown, grown
from benchmarks.papers.methods import optimal
from benchmarks.papers.published import BP16_TABLE_1, BP16_VOTES, NAMES, SUBSETS, USAGE_NAMES
from benchmarks.papers.tables import mean_of, plus_minus, spread_of
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.evaluation.path import Vote, evaluate_path
from prunemodels.plots.curves import plot_curves
from prunemodels.report_page.counts import usage_counts

USAGE, VOTES = "usage", "votes"

ALLOWED = 0.001
"""Additional validation error that the second pruning may have, compared with the unpruned forest."""

SHARES = tuple(k / 50 for k in range(1, 51))

BOTH: tuple[Vote, Vote] = ("mean", "majority")


def units(scope: Scope) -> list[Unit]:
    return [
        Unit("bp16_table1", data, seed, method, {"trees": 40}, scope.rows)
        for data, seed in scope.groups()
        for method in (USAGE, VOTES)
    ]


def run(unit: Unit) -> list[Row]:
    forest = grown(unit.data, unit.seed, unit.rows)
    return list(usage_rows(forest, unit.data) if unit.method == USAGE else vote_rows(forest))


def usage_rows(forest: Grown, data: str) -> Iterator[Row]:
    """The table's lines for one forest."""
    path, p, problem = optimal(forest), forest.parts, forest.problem
    test, valid = evaluate_path(path, p.X_test, p.y_test), evaluate_path(path, p.X_valid, p.y_valid)
    unpruned = pm.Pruning.unpruned(problem)
    paper = BP16_TABLE_1
    budget = (
        paper["BudgetPrune"].cost if data == "miniboone" else unpruned.cost * paper["BudgetPrune"].cost / paper["unpruned"].cost
    )
    alike = np.flatnonzero(valid.error <= valid.unpruned_error + ALLOWED)
    wanted = {"pruned to the paper's cost": path.row_at_cost(budget)}
    if alike.size:
        wanted["cheapest within 0.1 point, validation"] = int(alike[-1])
    weights = np.ones(len(p.y_test))
    yield _line("unpruned", unpruned, p.X_test, weights, test.unpruned_cost, test.unpruned_error)
    for name, row in wanted.items():
        yield _line(name, path[row], p.X_test, weights, float(test.cost[row]), float(test.error[row]))


def _line(name: str, pruning: pm.Pruning, X: np.ndarray, weights: np.ndarray, cost: float, error: float) -> Row:
    """One line."""
    none, few, more = usage_counts(pruning.problem.ensemble, pruning.kept, X, weights).bins
    return {"forest": name, "none": none, "few": few, "more": more, "cost": cost, "error": error}


def vote_rows(forest: Grown) -> Iterator[Row]:
    """Test error by both votes at each budget; share 0: the unpruned forest."""
    path, p = optimal(forest), forest.parts
    seen = {vote: evaluate_path(path, p.X_test, p.y_test, vote=vote) for vote in BOTH}
    unpruned = pm.Pruning.unpruned(forest.problem).cost
    yield {"share": 0.0, "cost": seen["mean"].unpruned_cost, **{vote: s.unpruned_error for vote, s in seen.items()}}
    for share in SHARES:
        row = path.row_at_cost(share * unpruned)
        yield {"share": share, "cost": float(seen["mean"].cost[row]), **{v: float(s.error[row]) for v, s in seen.items()}}


def usage_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over repeats, with the paper's lines."""
    rows = []
    for (data, forest), at in frame[frame["method"] == USAGE].groupby(["data", "forest"], sort=False):
        shares = {name: f"{100 * mean_of(at[c]):.1f} %" for name, c in (("no use", "none"), ("1-7", "few"), ("> 7", "more"))}
        error = plus_minus(100 * at["error"], 2)
        rows.append(
            {"data": NAMES.get(str(data), data), "forest": forest, **shares, "cost": plus_minus(at["cost"], 1), "error, %": error}
        )
    if "miniboone" in set(frame["data"]):
        for name, u in BP16_TABLE_1.items():
            cells = {"no use": f"{100 * u.none:.1f} %", "1-7": f"{100 * u.few:.1f} %", "> 7": f"{100 * u.more:.1f} %"}
            rows.append(
                {
                    "data": "MiniBooNE",
                    "forest": f"BP16: {name}",
                    **cells,
                    "cost": f"{u.cost:.1f}",
                    "error, %": f"{100 * u.error:.1f}",
                }
            )
    return pd.DataFrame(rows)


def votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean test errors of both votes by share of the unpruned cost, and their paired difference."""
    rows = []
    for (data, share), at in frame[frame["method"] == VOTES].groupby(["data", "share"], sort=False):
        gained = 100 * (at["majority"] - at["mean"])
        rows.append(
            {
                "data": data,
                "share": share,
                "cost": mean_of(at["cost"]),
                "mean, %": 100 * mean_of(at["mean"]),
                "majority, %": 100 * mean_of(at["majority"]),
                "majority less mean, points": mean_of(gained),
                "sd": spread_of(gained),
            }
        )
    return pd.DataFrame(rows)


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    counted = votes(frame)
    figures, notes = {}, []
    for data, at in counted.groupby("data", sort=False):
        pruned = at[at["share"] > 0]
        lines = [
            TradeoffCurve(
                {"mean": "mean of the trees' fractions", "majority": "majority of the trees"}[vote],
                "share",
                pruned["share"].to_numpy(),
                pruned["cost"].to_numpy(),
                pruned[f"{vote}, %"].to_numpy() / 100,
                scope.repeats,
            )
            for vote in BOTH
        ]
        figures[f"votes_{data}"] = plot_curves(lines, error_label="test error rate")
        lower = int((pruned["majority less mean, points"] > 0).sum())
        higher = int((pruned["majority less mean, points"] < 0).sum())
        notes.append(
            f"{NAMES.get(str(data), data)}: the mean errs less at {lower}, the majority at {higher} of {len(pruned)} budgets"
        )
    shown = counted[np.isin(counted["share"], (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0))]
    notes.append(
        "usage is of all pairs of test example and feature; BP16's is of a typical feature, so only cost and error compare"
    )
    return Presentation({"table1": usage_table(frame), "votes_at_tenths": shown}, figures, notes, {"votes": counted})


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    at = frame[(frame["data"] == "miniboone") & (frame["method"] == USAGE)]
    found = []
    for ours, theirs in (("unpruned", "unpruned"), ("pruned to the paper's cost", "BudgetPrune")):
        line, paper = at[at["forest"] == ours], BP16_TABLE_1[theirs]
        for column in ("none", "few", "more", "cost", "error") if len(line) else ():
            label, values = f"MiniBooNE, {theirs}: {USAGE_NAMES.get(column, column)}", tuple(line[column])
            found.append(Comparison(label, getattr(paper, column), mean_of(values), spread_of(values), values=values))
    pruned = votes(frame).query("share > 0") if VOTES in set(frame["method"]) else pd.DataFrame()
    for data, at in pruned.groupby("data", sort=False) if len(pruned) else ():
        lower = int((at["majority less mean, points"] > 0).sum())
        label = f"{NAMES.get(str(data), data)}: mean of the leaves' fractions against majority"
        told = f"less error at {lower} of {len(at)} budgets"
        found.append(Comparison(label, BP16_VOTES, told, holds=lower == len(at)))
    return found


EXPERIMENT = Experiment(
    name="bp16_table1",
    source="BP16, Table 1",
    title="which features how many trees use before and after pruning; averaging against majority vote",
    takes="about 5 min; --full about 25 min",
    data=("miniboone", "covtype426k"),
    repeats=2,
    full_repeats=10,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
