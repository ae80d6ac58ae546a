"""Why budgeting a random forest by its number of trees does not work: Table 1 of BRF15.

Random forests (Gini, entropy) as MATLAB's TreeBagger grows them by default, which the paper uses: a bootstrap of all rows,
sqrt(F) features at each split, leaves down to one example; and BudgetRF by the protocol `brf15`. Of the first 1 to 40 trees:

    features used  =  mean over the test part of the number of different features on an example's paths / F            (1)
    test error     by majority vote, which is BRF15's for BudgetRF; by the mean of class fractions beside it           (2)

The paper does not say how its random forests vote; full-grown trees hardly differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.measuring import plus_minus
from benchmarks.papers.data import grid_units, parts
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit, Value
from benchmarks.papers.protocols import brf15, grow
from benchmarks.papers.published import BRF15_TABLE_1, BRF15_TREES, NAMES, SUBSETS

TREE_BAGGER: Mapping[str, Value] = {"thresholds": "all", "features": "sqrt"}

METHODS: dict[str, Mapping[str, Value]] = {
    "RF (Gini)": {**TREE_BAGGER, "criterion": "gini"},
    "RF (entropy)": {**TREE_BAGGER, "criterion": "entropy"},
    "BudgetRF": {},
}
"""The table's rows, by what they change of the protocol."""


def units(scope: Scope) -> list[Unit]:
    return grid_units("brf15_table1", scope, lambda *_: METHODS.items(), version=2, protocol="brf15")


def run(unit: Unit) -> list[Row]:
    from prunemodels.models.costs import staged_costs
    from prunemodels.models.forests.reading import read_forest
    from prunemodels.rivals.budget_rf import staged_shares

    protocol = brf15.changed(unit.setting)
    # of absent data this fails, and says where the files belong
    p = parts(unit.data, unit.seed, unit.rows, signal=protocol.signal)
    forest = grow(protocol, p.X_train, p.y_train, trees=BRF15_TREES[-1], seed=unit.seed)
    features = staged_costs(read_forest(forest), p.X_test, 1) / p.X_test.shape[1]
    errors = {
        vote: [float(np.mean(forest.classes_[s.argmax(axis=1)] != p.y_test)) for s in staged_shares(forest, p.X_test, vote)]
        for vote in ("majority", "mean")
    }
    columns = {"features": (100 * features).tolist(), "error": errors["majority"], "error_mean_vote": errors["mean"]}
    return [{"trees": k, **{name: numbers[k - 1] for name, numbers in columns.items()}} for k in BRF15_TREES]


def table(frame: pd.DataFrame) -> pd.DataFrame:
    """The paper's table: per cent of features (test error), ours and theirs below it."""
    rows: list[dict[str, Any]] = []
    for (data, method), at in frame.groupby(["data", "method"], sort=False):
        cells = {
            f"{k} trees": f"{plus_minus(of_k['features'], 2)} ({plus_minus(of_k['error'])})" for k, of_k in at.groupby("trees")
        }
        rows.append({"data": NAMES.get(str(data), data), "method": method, **cells})
        if theirs := BRF15_TABLE_1.get(str(data), {}).get(str(method)):
            cells = {f"{k} trees": f"{f:.2f} ({e:.4f})" for k, (f, e) in zip(BRF15_TREES, theirs, strict=True)}
            rows.append({"data": NAMES.get(str(data), data), "method": f"{method}, BRF15", **cells})
    return pd.DataFrame(rows)


def present(frame: pd.DataFrame) -> Presentation:
    note = "per cent of features used on an average test example (test error by majority vote)"
    return Presentation({"table1": table(frame)}, notes=[note])


def compare(frame: pd.DataFrame) -> Sequence[Comparison]:
    found = []
    for (data, method, trees), at in frame.groupby(["data", "method", "trees"], sort=False):
        if theirs := BRF15_TABLE_1.get(str(data), {}).get(str(method)):
            label = f"{NAMES.get(str(data), data)}, {method}, {trees} trees"
            features, error = theirs[BRF15_TREES.index(int(str(trees)))]
            found.append(Comparison.of(f"{label}: % of features", features, at["features"]))
            found.append(Comparison.of(f"{label}: test error", error, at["error"]))
    return found


EXPERIMENT = Experiment(
    name="brf15_table1",
    protocol="brf15",
    source="BRF15, Table 1",
    title="features used and test error of random forests and of BudgetRF, by number of trees",
    takes="90 s on one core; full 15 min",
    data=("miniboone", "covtype_two"),
    units=units,
    run=run,
    present=present,
    compare=compare,
    why=SUBSETS,
)
