"""Buying features on demand: savings by early stopping for each order of requests, and the speed of predictions.

    python -m benchmarks.on_demand                    MiniBooNE and Covertype: pruned forests of 40 entropy trees, uniform costs
    python -m benchmarks.on_demand --prices           heart, thyroid, hepatitis, Pima, BUPA: real prices, five forests each
    python -m benchmarks.on_demand --down             heart by five suppliers, one of which is down: cascades, five splits

Every run is checked: the classes are the forest's on every row, and without early stopping the mean cost is the one that
`evaluate` counts. Costs are means over held-out rows.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.data.medical import PRICES, load_prices
from benchmarks.instances import bp16
from benchmarks.measuring import command_line, line, markdown
from prunemodels.comparison.processes import machine
from prunemodels.data_files import load_dataset
from prunemodels.on_demand import UNAVAILABLE, OnDemandResult, from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.stages.policy import StagedModel

BUDGETS: dict[str, tuple[float | None, ...]] = {"miniboone": (10, 20, None), "covtype426k": (8, 14, None)}
MOST_ROWS, REPEATS = 20_000, 5  # held-out rows to predict; forests, or splits
PRICED = ("heart_cleveland", "ann_thyroid", "hepatitis", "pima", "bupa")


def serve(forest: Any, X: Any, costs: Any, *, early_stopping: bool) -> tuple[OnDemandResult, float]:
    """Predict all rows; also the seconds of processor time."""
    predictor = OnDemandPredictor(forest, costs, from_table(X), early_stopping=early_stopping)
    rows = X.index if hasattr(X, "index") else len(X)
    start = time.process_time()
    result = predictor.run(rows)
    seconds = time.process_time() - start
    assert np.array_equal(result.predictions, forest.predict(X))
    return result, seconds


def costs_of(forest: Any, X: Any, y: NDArray[Any], costs: Any) -> list[tuple[OnDemandResult, float]]:
    """Runs without early stopping, then with it."""
    runs = [serve(forest, X, costs, early_stopping=early) for early in (False, True)]
    assert abs(runs[0][0].mean_cost - pm.evaluate(forest, X, y, costs=costs).cost) < 1e-9
    return runs


def uniform(name: str) -> None:
    """Print a line for each budget."""
    forest, X_cost = bp16(name)
    data = load_dataset(name)
    X, test = np.asarray(data.X, dtype=np.float32), data.parts(0)[2][:MOST_ROWS]
    path = pm.pruning_path(pm.problem_from_forest(forest, X_cost, costs=1.0), certificate=False)
    for budget in BUDGETS[name]:
        model = forest if budget is None else pm.apply_pruning(path.at_cost(budget), forest)
        serve(model, X[test[:100]], 1, early_stopping=True)  # compiles
        runs = costs_of(model, X[test], data.y[test], 1)
        seconds = "; ".join(f"{1e5 * seconds / len(test):.1f}" for _, seconds in runs)
        costs = [f"{result.mean_cost:.2f}" for result, _ in runs]
        print(line(name, "none" if budget is None else f"{budget:g}", *costs, seconds), flush=True)


def priced(name: str, share: float | None) -> None:
    """Print one line: forests pruned to at most a share of the unpruned cost in dollars, or not pruned; means over forests."""
    data, costs = load_dataset(name), load_prices(PRICES[name])
    kept = []
    for seed in range(REPEATS):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, cost, test = np.split(order, [len(order) // 2, 3 * len(order) // 4])
        forest = RandomForestClassifier(40, random_state=seed).fit(data.X.iloc[train], data.y[train])
        path = pm.pruning_path(pm.problem_from_forest(forest, data.X.iloc[cost], costs=costs), certificate=False)
        model = forest if share is None else pm.apply_pruning(path.at_cost(share * float(path.cost[0])), forest)
        X = data.X.iloc[test]
        kept.append([run.mean_cost for run, _ in costs_of(model, X, data.y[test], costs)])
    dollars = [f"{mean:.2f}" for mean in np.mean(kept, axis=0)]
    print(line(name, "none" if share is None else format(share, ".0%"), *dollars), flush=True)


SUPPLIERS = {"file": ["age", "sex"], "history": ["cp"], "practice": ["trestbps", "restecg"], "laboratory": ["chol", "fbs"]} | {
    "exercise": ["thalach", "exang", "oldpeak", "slope"],
    "scan": ["ca", "thal"],
}
SUPPLIER_PRICES = {"file": 0, "history": 1, "practice": 2, "laboratory": 2, "exercise": 4, "scan": 8}


@dataclass(frozen=True)
class WithoutSubstitutes:
    """A cascade whose rows stop where a feature cannot be had."""

    cascade: Any

    def staged_model(self) -> StagedModel:
        """Without what is known of other stages."""
        return replace(self.cascade.staged_model(), chains=())


def down() -> None:
    """Print a line for each supplier: error and cost while it delivers, and while it is down, with and without substitutes."""
    data = load_dataset("heart_cleveland")
    of = {column: name for name, columns in SUPPLIERS.items() for column in columns}
    items = pm.CostItems.grouped([of[column] for column in data.X.columns], SUPPLIER_PRICES)
    found: dict[str, list[list[float]]] = {name: [] for name in ("history", "exercise", "scan")}
    for seed in range(REPEATS):
        train, test = np.split(np.random.default_rng(seed).permutation(len(data.y)), [2 * len(data.y) // 3])
        X, y = data.X.iloc[test], data.y[test]
        table = from_table(X)
        fitted = pm.BudgetCascadeClassifier(costs=items, budget=3, random_state=seed).fit(data.X.iloc[train], data.y[train])
        for cascade in (fitted.at_cost(budget) for budget in (3, 6, 9)):
            bought = cascade.purchases(X)["bought"]
            for name in [name for name in found if bought[name] > 0]:

                def broken(request: Any, table: Any = table, columns: Any = tuple(SUPPLIERS[name])) -> Any:
                    return table(request).assign(**{c: UNAVAILABLE for c in columns if c in request.features})

                ways = ((cascade, table), (WithoutSubstitutes(cascade), broken), (cascade, broken))
                seen = [OnDemandPredictor(model, acquire=acquire).run(X.index) for model, acquire in ways]
                found[name].append([x for run in seen for x in (100 * float((run.predictions != y).mean()), run.mean_cost)])
    for name, lines in found.items():
        print(line(name, str(len(lines)), *(f"{x:.1f}" for x in np.mean(lines, axis=0))), flush=True)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--prices", action="store_true", help="data with real prices instead")
    parser.add_argument("--down", action="store_true", help="cascades, one of whose suppliers is down")
    args = parser.parse_args()
    if args.down:
        columns = [f"{what}, {how}" for how in ("delivers", "down: stops", "down: goes round") for what in ("error %", "cost")]
        print(machine(), markdown(["supplier", "policies", *columns], []), sep="\n\n", flush=True)
        down()
        return
    seconds = [] if args.prices else ["CPU s for 100,000 rows: all; stopping"]
    print(
        machine(), markdown(["data", "pruned to", "all that is needed", "stopping early", *seconds], []), sep="\n\n", flush=True
    )
    for name in PRICED if args.prices else BUDGETS:
        if not args.prices:
            uniform(name)
            continue
        for share in (None, 0.95, 0.8):
            priced(name, share)


if __name__ == "__main__":
    main()
