"""Why budgeting a random forest by its number of trees does not work: Table 1 of BRF15.

Random forests (Gini, entropy) with the settings of MATLAB's TreeBagger that the paper names: a bootstrap of all rows, sqrt(F)
random features at each split, leaves down to one example; and BudgetRF with threshold-Pairs, alpha = 0, and random stumps. Of the
first 1, 10, 20 and 40 trees:

    features used  =  mean over the test part of the number of different features on an example's paths / F            (1)
    test error     by majority vote, which is BRF15's for BudgetRF; by the mean of class fractions, scikit-learn's, beside it  (2)

The paper does not say how its random forests vote; full-grown trees hardly differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.data import CIFAR10, parts, without_cifar10
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.published import BRF15_TABLE_1, BRF15_TREES, NAMES, SUBSETS
from benchmarks.papers.tables import mean_of, plus_minus, spread_of

METHODS = {"RF (Gini)": "gini", "RF (entropy)": "entropy", "BudgetRF": "budget_rf_pairs"}


def units(scope: Scope) -> list[Unit]:
    scope, loading = without_cifar10("brf15_table1", scope)
    return loading + [
        Unit("brf15_table1", d, s, m, {"most_trees": BRF15_TREES[-1]}, scope.rows) for d, s in scope.groups() for m in METHODS
    ]


def run(unit: Unit) -> list[Row]:
    from sklearn.ensemble import RandomForestClassifier

    from prunemodels.models.costs import staged_costs
    from prunemodels.models.forests.reading import read_forest
    from prunemodels.rivals.budget_rf import BudgetRFClassifier
    from prunemodels.rivals.budget_rf.classifier import staged_shares

    p = parts(unit.data, unit.seed, unit.rows)  # of absent data this fails, and says where the files belong
    kind, most = METHODS[unit.method], BRF15_TREES[-1]
    if kind == "budget_rf_pairs":
        forest = BudgetRFClassifier(n_estimators=most, impurity="pairs", random_state=unit.seed).fit(p.X_train, p.y_train).forest_
    else:
        forest = RandomForestClassifier(most, criterion=kind, max_features="sqrt", random_state=unit.seed)
        forest.fit(p.X_train, p.y_train)
    features = staged_costs(read_forest(forest), p.X_test, 1) / p.X_test.shape[1]
    errors = {
        vote: [float(np.mean(forest.classes_[s.argmax(axis=1)] != p.y_test)) for s in staged_shares(forest, p.X_test, vote)]
        for vote in ("majority", "mean")
    }
    return [
        {
            "trees": k,
            "features": 100 * float(features[k - 1]),
            "error": errors["majority"][k - 1],
            "error_mean_vote": errors["mean"][k - 1],
            "splits": int(sum(t.tree_.node_count - t.tree_.n_leaves for t in forest.estimators_[:k])),
        }
        for k in BRF15_TREES
    ]


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """The paper's table: per cent of features (test error), ours and theirs below it."""
    rows: list[dict[str, Any]] = []
    for (data, method), at in frame.groupby(["data", "method"], sort=False):
        cells = {}
        for k, of_k in at.groupby("trees"):
            cells[f"{k} trees"] = f"{plus_minus(of_k['features'], 2)} ({plus_minus(of_k['error'])})"
        rows.append({"data": NAMES.get(str(data), data), "method": method, **cells})
        if str(data) in BRF15_TABLE_1:
            theirs = BRF15_TABLE_1[str(data)][str(method)]
            cells = {f"{k} trees": f"{f:.2f} ({e:.4f})" for k, (f, e) in zip(BRF15_TREES, theirs, strict=True)}
            rows.append({"data": NAMES.get(str(data), data), "method": f"{method}, BRF15", **cells})
    return pd.DataFrame(rows)


def by_trees(frame: pd.DataFrame) -> pd.DataFrame:
    """All numbers: means and standard deviations over repeats."""
    rows = []
    for (data, method, trees), at in frame.groupby(["data", "method", "trees"], sort=False):
        columns = ("features", "error", "error_mean_vote", "splits", "seconds")
        means = {c: mean_of(at[c]) for c in columns} | {f"{c}_sd": spread_of(at[c]) for c in columns[:3]}
        rows.append({"data": data, "method": method, "trees": trees, **means, "repeats": len(at)})
    return pd.DataFrame(rows)


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    all_numbers = by_trees(frame)
    notes = [
        "per cent of features used on an average test example (test error by majority vote); seconds: 40 trees and the measuring"
    ]
    for data, at in all_numbers[all_numbers["trees"] == BRF15_TREES[-1]].groupby("data", sort=False):
        one = at.set_index("method")
        if not set(METHODS) <= set(one.index):
            continue
        forests = one.loc[["RF (Gini)", "RF (entropy)"]]
        fewer = one.loc["BudgetRF", "features"] / forests["features"].min()
        less = 100 * (one.loc["BudgetRF", "error"] - forests["error"].min())
        notes.append(
            f"{NAMES.get(str(data), data)}, 40 trees: BudgetRF uses {fewer:.2f} times the features of the cheaper random forest "
            f"and errs {less:+.2f} points against the better one"
        )
    return Presentation({"table1": table(frame)}, notes=notes, files={"by_trees": all_numbers})


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    found = []
    for (data, method, trees), at in frame.groupby(["data", "method", "trees"], sort=False):
        if str(data) in BRF15_TABLE_1:
            features, error = BRF15_TABLE_1[str(data)][str(method)][BRF15_TREES.index(int(str(trees)))]
            label = f"{NAMES.get(str(data), data)}, {method}, {trees} trees"
            for what, printed, column in (("% of features", features, "features"), ("test error", error, "error")):
                ours = tuple(at[column])
                found.append(Comparison(f"{label}: {what}", printed, mean_of(ours), spread_of(ours), values=ours))
    return found


EXPERIMENT = Experiment(
    name="brf15_table1",
    source="BRF15, Table 1",
    title="features used and test error of random forests and of BudgetRF, by number of trees",
    takes="70 s on one core; full 12 min",
    data=("miniboone", "covtype_two", "covtype426k"),
    full_data=("miniboone", "covtype_two", "covtype426k", CIFAR10),
    repeats=1,
    full_repeats=10,
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
