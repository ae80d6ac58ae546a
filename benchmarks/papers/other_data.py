"""The papers' other data sets, if their files are present: Yahoo! Learning to Rank, Scene15, CIFAR-10, HEPMASS.

We may not redistribute any of them, and some are available on request only; `benchmarks.data` says which files it wants
and where they come from. An absent data set is reported in one line, and the others are run. For each: the optimal prunings of
the forest that the papers grow on it, GreedyMiser and CEGB over a small grid, with the data's own prices; error against cost,
points chosen on the validation part:

    yahoo      BP16 Figure 2 (c), BRF15 Figure 3 (a), CEGB17 Figure 2 (b): 140 trees, cost-weighted entropy, 400 random features
               at a split; error is 1 - Average Precision@5 of the scores, relevance over 0 against none, learners by squared loss
    scene15    BP16 Figure 2 (d): 500 trees, entropy, 20 random features at a split; descriptors are paid once
    cifar10    BRF15 Figure 3 (d), NWS15 Table 1: BudgetRF, 40 trees, Pairs
    hepmass_*  CEGB17 Figure 2 (e), (f): 40 trees, entropy

The short version has a tenth of the trees; ``--rows`` cuts the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks import data as published_data
from benchmarks.data import Part, PublishedData
from benchmarks.data.ranking import average_precision_at_5
from benchmarks.papers.budget_curves import POINT, by_budget, error_at, figures
from benchmarks.papers.experiment import Experiment, Presentation, Row, Scope, Unit, Value
from benchmarks.papers.methods import CEGB, GREEDY_MISER, OPTIMAL
from prunemodels.datasets import data_folder
from prunemodels.judging.curve import tradeoff_curve

LOADERS: Mapping[str, Callable[[], PublishedData]] = {
    "yahoo": published_data.load_yahoo,
    "scene15": published_data.load_scene15,
    "cifar10": published_data.load_cifar10,
    "hepmass_1000": partial(published_data.load_hepmass, variant="1000"),
    "hepmass_not1000": partial(published_data.load_hepmass, variant="not1000"),
}

LOADING = "loading"
"""The only unit of an absent data set; it fails with a message that says where the files belong."""

PRUNINGS = 40
"""Number of optimal prunings that become points, at costs that rise by a constant factor up to the unpruned forest's."""

BUDGETS = 24
"""Number of budgets in a picture, as shares of the largest cost on the validation part, denser at small costs."""


@dataclass(frozen=True)
class Forest:
    """The forest that is pruned."""

    trees: int
    impurity: str
    max_features: int | None


FORESTS: Mapping[str, Forest] = {
    "yahoo": Forest(140, "cost_weighted_entropy", 400),
    "scene15": Forest(500, "entropy", 20),
    "cifar10": Forest(40, "pairs", None),
    "hepmass_1000": Forest(40, "entropy", None),
    "hepmass_not1000": Forest(40, "entropy", None),
}


def present_in_folder(data: str) -> bool:
    """Whether the data folder has a folder of that name (both variants of HEPMASS share one)."""
    return (data_folder() / data.split("_")[0]).is_dir()


def units(scope: Scope) -> list[Unit]:
    found = []
    for data, seed in scope.groups():
        if not present_in_folder(data):
            found += [Unit("other_data", data, seed, LOADING, {}, scope.rows)] if seed == 0 else []
            continue
        lams = (0.0, 1e-5, 1e-4, 1e-3, 1e-2) if scope.full else (1e-4, 1e-2)
        trees = FORESTS[data].trees if scope.full else max(5, FORESTS[data].trees // 10)
        grid: list[tuple[str, Mapping[str, Value]]] = [(OPTIMAL, {"trees": trees})]
        rounds = 400 if scope.full else 40
        grid += [(m, {"lam": lam, "n_estimators": rounds}) for m in (GREEDY_MISER, CEGB) for lam in lams]
        found += [Unit("other_data", data, seed, method, setting, scope.rows) for method, setting in grid]
    return found


@lru_cache(maxsize=1)
def loaded(data: str, rows: int | None) -> PublishedData:
    """The data, with the first of each part where `rows` limits them all together."""
    data_set = LOADERS[data]()
    sizes = [len(p) for p in (data_set.train, data_set.validation, data_set.test)]
    if rows is None or rows >= sum(sizes):
        return data_set
    short = [
        p.take(slice(0, max(1, n * rows // sum(sizes))))
        for p, n in zip((data_set.train, data_set.validation, data_set.test), sizes, strict=True)
    ]
    return PublishedData(data_set.name, short[0], short[1], short[2], data_set.costs, data_set.feature_names, data_set.remarks)


def error(part: Part, predictions: NDArray[Any]) -> float:
    """Share of wrong labels; where there are queries, 1 - Average Precision@5 of the scores."""
    if part.query is None:
        return float(np.mean(predictions != part.y))
    return 1 - average_precision_at_5(part.y, predictions, part.query)


def _loss_on(part: Part, _: NDArray[Any], predictions: NDArray[Any]) -> float:
    return error(part, predictions)


def run(unit: Unit) -> list[Row]:
    data = loaded(unit.data, unit.rows)
    if unit.method == OPTIMAL:
        return _prunings(data, unit)
    return _boosted(data, unit)


def _prunings(data: PublishedData, unit: Unit) -> list[Row]:
    """Points of the optimal prunings."""
    import prunemodels as pm
    from prunemodels.rivals.budget_rf import BudgetRFClassifier

    kind: Any = FORESTS[unit.data]
    most = min(kind.max_features or data.train.X.shape[1], data.train.X.shape[1])
    grower = BudgetRFClassifier(
        data.costs,
        n_estimators=int(str(unit.setting["trees"])),
        impurity=kind.impurity,
        max_features=most,
        splits="random" if kind.impurity == "pairs" else "all",
        random_state=unit.seed,
    )
    forest = grower.fit(data.train.X, data.train.y).forest_
    path = pm.pruning_path(pm.problem_from_forest(forest, data.validation.X, costs=data.costs), certificate=False)
    dear = float(path.cost[0])
    rows = np.unique([*(path.row_at_cost(dear * s) for s in np.geomspace(0.01, 1, PRUNINGS)), len(path) - 1])
    found: list[Row] = []
    for k in rows:
        pruned = pm.apply_pruning(path[int(k)], forest)
        seen = [_judged(pruned, part, data) for part in (data.validation, data.test)]
        found.append(dict(zip(POINT, (float(path.parameter[k]), *seen[0], *seen[1]), strict=True)))
    return found


def _judged(forest: Any, part: Part, data: PublishedData) -> tuple[float, float]:
    """Mean cost and error of a forest on a part; scores are shares of the trees' class fractions."""
    from prunemodels.forests.reading import read_forest
    from prunemodels.forests.staged_costs import example_costs

    cost = float(example_costs(read_forest(forest), part.X, data.costs).mean())
    return cost, error(part, forest.predict(part.X) if part.query is None else forest.predict_proba(part.X)[:, -1])


def _boosted(data: PublishedData, unit: Unit) -> list[Row]:
    """Points after each round; of ranking the numbers that a regression predicts."""
    from prunemodels.rivals import cegb, greedy_miser

    shared: dict[str, Any] = {"random_state": unit.seed, **unit.setting}
    ranking = data.train.query is not None
    if unit.method == GREEDY_MISER:
        miser: Any = greedy_miser.GreedyMiserRegressor if ranking else greedy_miser.GreedyMiserClassifier
        model = miser(data.costs, **shared)
    else:
        boosting: Any = cegb.CEGBRegressor if ranking else cegb.CEGBClassifier
        plain = data.costs.n_items == data.costs.n_features
        model = boosting(data.costs, engine="lightgbm" if plain else "own", num_leaves=64, **shared)
    model.fit(data.train.X, data.train.y)
    curves = [tradeoff_curve(model, part.X, part.y, loss=partial(_loss_on, part)) for part in (data.validation, data.test)]
    columns = (curves[0].parameter, curves[0].cost, curves[0].error, curves[1].cost, curves[1].error)
    return [dict(zip(POINT, (float(c[k]) for c in columns), strict=True)) for k in curves[0].undominated()]


def budgets_of(frame: pd.DataFrame) -> dict[str, Sequence[float]]:
    """Budgets for each data set."""
    return {
        str(data): [float(b) for b in np.geomspace(0.01, 1, BUDGETS) * at["valid_cost"].max()]
        for data, at in frame.groupby("data")
    }


def present(frame: pd.DataFrame, scope: Scope) -> Presentation:
    reached = by_budget(frame, budgets_of(frame))
    shown = {data: budgets[3::5] for data, budgets in budgets_of(frame).items()}
    absent = [data for data in scope.data if not present_in_folder(data)]
    notes = [f"absent: {', '.join(absent)}" if absent else "all data sets are present"]
    notes += [f"{data}: {remark}" for data in frame["data"].unique() for remark in loaded(str(data), scope.rows).remarks]
    tables = [error_at(at, shown) for _, at in reached.groupby("data", sort=False)]
    named = {f"error_{data}": t for data, t in zip(reached["data"].unique(), tables, strict=True)}
    drawn: dict[str, Figure] = {}
    for data, at in reached.groupby("data", sort=False):
        label = "1 - Average Precision@5" if data == "yahoo" else "test error rate"
        drawn |= figures(at, error_label=label)
    return Presentation(named, drawn, notes, {"curves": reached})


EXPERIMENT = Experiment(
    name="other_data",
    source="BP16, Figure 2 (c), (d); BRF15, Figure 3 (a), (d); CEGB17, Figure 2 (b), (e), (f)",
    title="Yahoo, Scene15, CIFAR-10, HEPMASS, where their files are present",
    takes="seconds where nothing is present",
    data=tuple(LOADERS),
    repeats=1,
    full_repeats=3,
    units=units,
    run=run,
    present=present,
)
