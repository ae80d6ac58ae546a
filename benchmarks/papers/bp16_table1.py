"""Use of features before and after pruning (Table 1 of BP16), and two ways to combine the trees' predictions.

The table: the share of test examples that do not use "a typical feature", that use it 1 to 7 times, and more often; with cost and
test error. The authors' program counts the nodes that an example visits (README.md, featMatrix), so a use is a visit here:

    visits_if = number of splits on feature f, over all trees, on example i's paths                                     (1)

Which feature is typical is not said. Rows are kept of each; compared is, of each repeat, the one whose three unpruned shares are
nearest to the printed ones, in the sum of absolute differences. So the unpruned shares show only that there is such a feature,
and the pruned ones are the test. The pruning is the optimal one at the paper's cost, 24.3 features, or on other data at the same
share, 58 %.

The votes: BP16 (end of section 4) predicts by the leaves' distributions added up over the trees, as scikit-learn does, and says
that this "consistently gives lower prediction error than majority voting with pruned trees". The error of both votes is measured
along the path, at budgets that are shares of the unpruned cost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.papers.data import grid_units
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.methods import optimal
from benchmarks.papers.protocols import Grown, bp16, grown
from benchmarks.papers.published import BP16_TABLE_1, BP16_VOTES, NAMES, SUBSETS, USAGE_NAMES
from formulations.compiled import njit
from formulations.instance.ensemble import Ensemble
from prunemodels.evaluation.path import Vote, evaluate_path

USAGE, VOTES = "usage", "votes"
OFTEN = 7  # visits up to this are the table's second column
SHARES = tuple(k / 50 for k in range(1, 51))
BOTH: tuple[Vote, Vote] = ("mean", "majority")
COLUMNS = ("none", "few", "more")


def units(scope: Scope) -> list[Unit]:
    return grid_units("bp16_table1", scope, lambda *_: ((USAGE, {}), (VOTES, {})), version=2, protocol="bp16")


def run(unit: Unit) -> list[Row]:
    forest = grown(bp16, unit.data, unit.seed, unit.rows)
    return list(usage_rows(forest, unit.data) if unit.method == USAGE else vote_rows(forest))


def usage_rows(forest: Grown, data: str) -> Iterator[Row]:
    """The shares of each feature, unpruned and pruned, with the forest's cost and error."""
    path, p = optimal(forest), forest.parts
    test, unpruned = evaluate_path(path, p.X_test, p.y_test), pm.Pruning.unpruned(forest.problem)
    before, after = (BP16_TABLE_1[name].cost for name in ("unpruned", "BudgetPrune"))
    k = path.row_at_cost(after if data == "miniboone" else unpruned.cost * after / before)
    lines = {
        "unpruned": (unpruned, test.unpruned_cost, test.unpruned_error),
        "BudgetPrune": (path[k], float(test.cost[k]), float(test.error[k])),
    }
    for name, (pruning, cost, error) in lines.items():
        times = visits(forest.problem.ensemble, pruning.kept, p.X_test)
        shares = np.stack([times == 0, (times > 0) & (times <= OFTEN), times > OFTEN]).mean(axis=1).T
        for f, of_feature in enumerate(shares.tolist()):
            yield {"forest": name, "feature": f, **dict(zip(COLUMNS, of_feature, strict=True)), "cost": cost, "error": error}


def visits(ensemble: Ensemble, kept: NDArray[np.bool_], X: NDArray[np.float32]) -> NDArray[np.int64]:
    """(1): int64, shape (N, F)."""
    times = np.zeros((len(X), ensemble.n_features), dtype=np.int64)
    _visit(X, ensemble.roots, ensemble.left, ensemble.right, ensemble.feature, ensemble.threshold, kept, times)
    return times


@njit(cache=True)
def _visit(X, roots, left, right, feature, threshold, kept, times):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        for h in roots:
            while kept[h]:
                f = feature[h]
                times[i, f] += 1
                h = left[h] if X[i, f] <= threshold[h] else right[h]


def vote_rows(forest: Grown) -> Iterator[Row]:
    """Test error by both votes at each budget; share 0: the unpruned forest."""
    path, p = optimal(forest), forest.parts
    seen = {vote: evaluate_path(path, p.X_test, p.y_test, vote=vote) for vote in BOTH}
    unpruned = pm.Pruning.unpruned(forest.problem).cost
    yield {"share": 0.0, "cost": seen["mean"].unpruned_cost, **{vote: s.unpruned_error for vote, s in seen.items()}}
    for share in SHARES:
        row = path.row_at_cost(share * unpruned)
        yield {"share": share, "cost": float(seen["mean"].cost[row]), **{v: float(s.error[row]) for v, s in seen.items()}}


def typical(frame: pd.DataFrame, data: str) -> pd.DataFrame:
    """Of each repeat the rows of the feature whose unpruned shares are nearest to the printed ones. The paper shows a feature of
    one forest, and does not name it. Another forest asks for the same feature more or less often.
    """
    at = frame[(frame["data"] == data) & (frame["method"] == USAGE)]
    unpruned = at[at["forest"] == "unpruned"]
    distance = sum((unpruned[c] - getattr(BP16_TABLE_1["unpruned"], c)).abs() for c in COLUMNS)
    nearest = unpruned.loc[distance.groupby(unpruned["seed"]).idxmin(), ["seed", "feature"]] if len(unpruned) else unpruned
    return at.merge(nearest[["seed", "feature"]])


def usage_table(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over repeats of the typical feature, and the paper's lines."""
    at = pd.concat([typical(frame, data) for data in frame["data"].unique()])
    at = at.assign(data=at["data"].map(lambda data: NAMES.get(data, data)), repeats=at["seed"])
    shown = {**dict.fromkeys((*COLUMNS, "cost", "error"), "mean"), "repeats": "nunique"}
    ours = at.groupby(["data", "forest"], sort=False).agg(shown).reset_index()
    theirs = [{"data": "MiniBooNE", "forest": f"BP16: {name}", **asdict(usage)} for name, usage in BP16_TABLE_1.items()]
    return pd.concat([ours, pd.DataFrame(theirs)], ignore_index=True).rename(columns=USAGE_NAMES)


def votes(frame: pd.DataFrame) -> pd.DataFrame:
    """Mean test errors of both votes by share of the unpruned cost, in per cent, and how much more the majority errs."""
    at = frame[frame["method"] == VOTES]
    means = at.assign(mean=100 * at["mean"], majority=100 * at["majority"]).groupby(["data", "share"], sort=False)
    table = means[["cost", "mean", "majority"]].mean().reset_index()
    return table.assign(**{"majority less mean": table["majority"] - table["mean"]})


def present(frame: pd.DataFrame) -> Presentation:
    counted = votes(frame)
    tenths = counted[np.isclose(10 * counted["share"], np.round(10 * counted["share"]))]
    notes = [f"{c.figure}: {c.ours} (BP16: {c.published})" for c in compare(frame) if c.holds is not None]
    notes.append("usage: by visits of nodes, of the feature whose unpruned shares are nearest to the printed ones")
    return Presentation({"table1": usage_table(frame), "votes_at_tenths": tenths}, notes=notes, files={"votes": counted})


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    found, at = [], typical(frame, "miniboone")
    for name, paper in BP16_TABLE_1.items():
        line = at[at["forest"] == name] if len(at) else at
        for column in (*COLUMNS, "cost", "error") if len(line) else ():
            label = f"MiniBooNE, {name}: {USAGE_NAMES.get(column, column)}"
            found.append(Comparison.of(label, getattr(paper, column), line[column]))
    pruned = votes(frame).query("share > 0") if VOTES in set(frame["method"]) else pd.DataFrame()
    for data, of_data in pruned.groupby("data", sort=False) if len(pruned) else ():
        lower = int((of_data["majority less mean"] > 0).sum())
        label = f"{NAMES.get(str(data), data)}: mean of the leaves' fractions against majority"
        told = f"less error at {lower} of {len(of_data)} budgets"
        found.append(Comparison(label, BP16_VOTES, told, holds=lower == len(of_data)))
    return found


EXPERIMENT = Experiment(
    name="bp16_table1",
    protocol="bp16",
    source="BP16, Table 1",
    title="which features how many trees use before and after pruning; averaging against majority vote",
    takes="about 2 min; --full about 15 min",
    data=("miniboone", "covtype_two"),
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
