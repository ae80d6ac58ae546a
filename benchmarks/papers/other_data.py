"""The papers' other data sets, if their files are present: Yahoo! Learning to Rank, Scene15, CIFAR-10, HEPMASS.

We may not redistribute any of them, and some are available on request only; `benchmarks.data` says which files it wants
and where they come from. An absent data set is reported in one line, and the others are run. For each, with the data's own
prices: every pruning of the forest that the papers grow on it (BudgetPrune, CCP, GreedyPrune, early stopping, individual, fewer
trees), and BudgetRF, GreedyMiser, CEGB, CSTC and ASTC over small grids; error against cost, points chosen on the validation part.
CSTC and ASTC are left out where there are more than two classes (Scene15).

    yahoo      BP16 Figure 2 (c), BRF15 Figure 3 (a), CEGB17 Figure 2 (b): 140 trees, cost-weighted entropy, 400 random features
               at a split; error is 1 - Average Precision@5 of the scores, relevance over 0 against none, learners by squared loss
    scene15    BP16 Figure 2 (d): 500 trees, entropy, 20 random features at a split; descriptors are paid once
    cifar10    BRF15 Figure 3 (d), NWS15 Table 1: BudgetRF, 40 trees, Pairs
    hepmass_*  CEGB17 Figure 2 (e), (f): 40 trees, entropy. The full version grows them on all 3.5 million training events, as
               CEGB17 did its own; the short one on the first `SHORT_TRAINING`. The notes name the number.

CEGB17 Figure 2 (a) is Yahoo's with a price for each split passed as well, by squared loss on the graded relevance.

The short version has a tenth of the trees; ``--rows`` cuts the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks import data as published_data
from benchmarks.data import Part, PublishedData
from benchmarks.data.ranking import average_precision_at_5
from benchmarks.papers.brf15_figure3 import ALPHAS, ASTC, BUDGET_RF, CSTC
from benchmarks.papers.budget_curves import POINT, always, curve_experiment
from benchmarks.papers.data import LOADING, Parts, is_absent
from benchmarks.papers.experiment import Comparison, Row, Scope, Unit, Value
from benchmarks.papers.methods import CEGB, GREEDY_MISER, PRUNINGS, prunings
from benchmarks.papers.protocols import Grown
from prunemodels.evaluation.curve import tradeoff_curve

CHALLENGE = "yahoo_challenge"
"""Yahoo's data in the challenge's own three parts."""

LOADERS: Mapping[str, Callable[[], PublishedData]] = {
    "yahoo": published_data.load_yahoo,
    CHALLENGE: partial(published_data.load_yahoo, split="challenge"),
    "scene15": published_data.load_scene15,
    "cifar10": published_data.load_cifar10,
    "hepmass_1000": partial(published_data.load_hepmass, variant="1000"),
    "hepmass_not1000": partial(published_data.load_hepmass, variant="not1000"),
}

POINTS = 40
"""Number of prunings of a path that become points, at costs that rise by a constant factor up to the unpruned forest's."""

SHORT_TRAINING = 100_000
"""Training examples of the short version, at most."""

SEVERAL_CLASSES = ("scene15",)


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


def units(scope: Scope) -> list[Unit]:
    found = []
    for data, seed in scope.groups():
        if is_absent(data):
            found += [Unit("other_data", data, seed, LOADING, {}, scope.rows)] if seed == 0 else []
            continue
        training = None if scope.full else SHORT_TRAINING
        grid = [(m, {**s, "training": training}) for m, s in _grid(data, full=scope.full)]
        found += [Unit("other_data", data, seed, method, setting, scope.rows) for method, setting in grid]
    return found


def _grid(data: str, *, full: bool) -> list[tuple[str, dict[str, Value]]]:
    """Every method with its settings."""
    trees = FORESTS[data].trees if full else max(5, FORESTS[data].trees // 10)
    lams = (0.0, 1e-5, 1e-4, 1e-3, 1e-2) if full else (1e-4, 1e-2)
    rounds = 400 if full else 40
    grid: list[tuple[str, dict[str, Value]]] = [(method, {"trees": trees}) for method in PRUNINGS]
    grid += [(BUDGET_RF, {"trees": trees, "alpha": alpha}) for alpha in (ALPHAS if full else (0, 10))]
    grid += [(m, {"lam": lam, "n_estimators": rounds}) for m in (GREEDY_MISER, CEGB) for lam in lams]
    if data not in SEVERAL_CLASSES:
        weak = 100 if full else 20
        grid += [(CSTC, {"lam": lam, "n_weak_learners": weak}) for lam in (lams[1:] if full else lams)]
        grid += [(ASTC, {"share": share, "n_weak_learners": weak}) for share in ((0.05, 0.1, 0.2, 0.4) if full else (0.2,))]
    return grid


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
    if unit.method in PRUNINGS:
        return _prunings(data, unit)
    if unit.method == BUDGET_RF:
        return _budget_rf(data, unit)
    if unit.method in (CSTC, ASTC):
        return _trees_of_classifiers(data, unit)
    return _boosted(data, unit)


def _training(data: PublishedData, unit: Unit) -> Part:
    """What the models are trained on: the first examples, so many as the setting says."""
    most: Any = unit.setting["training"]
    return data.train if most is None else data.train.take(slice(0, most))


@lru_cache(maxsize=1)
def _forest(name: str, rows: int | None, seed: int, trees: int, training: int | None) -> Grown:
    """The forest that the papers grow, with its instance; units in a row share it."""
    import prunemodels as pm
    from prunemodels.rivals.budget_rf import BudgetRFClassifier

    data, kind = loaded(name, rows), FORESTS[name]
    impurity: Any = kind.impurity
    train = data.train if training is None else data.train.take(slice(0, training))
    grower = BudgetRFClassifier(
        data.costs,
        n_estimators=trees,
        impurity=impurity,
        max_features=min(kind.max_features or train.X.shape[1], train.X.shape[1]),
        splits="random" if impurity == "pairs" else "all",
        random_state=seed,
    )
    forest = grower.fit(train.X, train.y).forest_
    parts = Parts(train.X, train.y, data.validation.X, data.validation.y, data.test.X, data.test.y)
    return Grown(forest, parts, pm.problem_from_forest(forest, data.validation.X, costs=data.costs))


def _prunings(data: PublishedData, unit: Unit) -> list[Row]:
    """Points of a path of prunings."""
    import prunemodels as pm

    s: Any = unit.setting
    grown = _forest(unit.data, unit.rows, unit.seed, s["trees"], s["training"])
    path = prunings(unit.method, grown)
    cheap, dear = float(path.cost[-1]), float(path.cost[0])
    budgets = np.maximum(dear * np.geomspace(0.01, 1, POINTS), cheap)  # the cheapest of fewer trees is one tree
    rows = np.unique([*(path.row_at_cost(budget) for budget in budgets), len(path) - 1])
    found: list[Row] = []
    for k in rows:
        pruned = pm.apply_pruning(path[int(k)], grown.forest)
        seen = [_judged(pruned, part, data) for part in (data.validation, data.test)]
        found.append(dict(zip(POINT, (float(path.parameter[k]), *seen[0], *seen[1]), strict=True)))
    return found


def _judged(forest: Any, part: Part, data: PublishedData) -> tuple[float, float]:
    """Mean cost and error of a forest on a part; scores are shares of the trees' class fractions."""
    from prunemodels.models.costs import example_costs
    from prunemodels.models.forests.reading import read_forest

    cost = float(example_costs(read_forest(forest), part.X, data.costs).mean())
    return cost, error(part, forest.predict(part.X) if part.query is None else forest.predict_proba(part.X)[:, -1])


def _budget_rf(data: PublishedData, unit: Unit) -> list[Row]:
    """Points after each tree; of ranking the share of class 1 among the examples of the leaves (BRF15's confidence)."""
    from prunemodels.rivals.budget_rf import BudgetRFClassifier

    s: Any = unit.setting
    ranking, train = data.train.query is not None, _training(data, unit)
    model = BudgetRFClassifier(
        data.costs,
        n_estimators=s["trees"],
        alpha=s["alpha"],
        vote="counts" if ranking else "majority",
        random_state=unit.seed,
    ).fit(train.X, train.y)
    seen: list[Sequence[float] | NDArray[np.float64]] = []
    for part in (data.validation, data.test):
        votes = model.staged_predict_proba(part.X)
        told = (v[:, -1] if ranking else model.classes_[v.argmax(axis=1)] for v in votes)
        seen += [model.staged_cost(part.X), [error(part, predictions) for predictions in told]]
    return [dict(zip(POINT, (float(k + 1), *(float(c[k]) for c in seen)), strict=True)) for k in range(len(seen[0]))]


def _trees_of_classifiers(data: PublishedData, unit: Unit) -> list[Row]:
    """The point of CSTC, or of ASTC with a share of the price of everything as its budget."""
    from prunemodels.rivals import cstc

    s, train, valid = dict(unit.setting), _training(data, unit), data.validation
    s.pop("training")
    options: dict[str, Any] = {**s, "random_state": unit.seed}
    if unit.method == ASTC:
        options["budget"] = float(options.pop("share")) * float(np.sum(data.costs.prices))
    regression = data.train.query is not None
    kinds = {CSTC: (cstc.CSTCClassifier, cstc.CSTCRegressor), ASTC: (cstc.ASTCClassifier, cstc.ASTCRegressor)}
    kind: Any = kinds[unit.method][regression]
    model = kind(data.costs, **options).fit(train.X, train.y, X_valid=valid.X, y_valid=valid.y)
    return _points(model, data)


def _points(model: Any, data: PublishedData) -> list[Row]:
    """The points of a fitted learner that validation data would choose."""
    curves = [tradeoff_curve(model, part.X, part.y, loss=partial(_loss_on, part)) for part in (data.validation, data.test)]
    columns = (curves[0].parameter, curves[0].cost, curves[0].error, curves[1].cost, curves[1].error)
    return [dict(zip(POINT, (float(c[k]) for c in columns), strict=True)) for k in curves[0].undominated()]


def _boosted(data: PublishedData, unit: Unit) -> list[Row]:
    """Points after each round; of ranking the numbers that a regression predicts, of graded relevance where splits cost."""
    from prunemodels.rivals import cegb, greedy_miser

    shared: dict[str, Any] = {"random_state": unit.seed, **unit.setting}
    train = _training(data, unit)
    shared.pop("training")
    ranking, graded = data.train.query is not None, "evaluation_cost" in shared
    if unit.method == GREEDY_MISER:
        miser: Any = greedy_miser.GreedyMiserRegressor if ranking else greedy_miser.GreedyMiserClassifier
        model = miser(data.costs, **shared)
    else:
        boosting: Any = cegb.CEGBRegressor if ranking else cegb.CEGBClassifier
        plain = data.costs.n_items == data.costs.n_features
        model = boosting(data.costs, **{"engine": "lightgbm" if plain else "own", "num_leaves": 64, **shared})
    return _points(model.fit(train.X, train.raw if graded else train.y), data)


SHALLOW, DEPTH, LEAVES = "CEGB, shallow trees", 4, 16
"""Trees similar to GreedyMiser's, CEGB17 section 5.1."""

ALPHA = 0.25
"""Price of a split there: a tree of depth four costs as much as the cheapest feature, 1, which is GreedyMiser's assumption."""

ALWAYS = "even shallow trees are always strictly better than GreedyMiser"


def units_2a(scope: Scope) -> list[Unit]:
    """GreedyMiser, CEGB with trees like its own, and CEGB with deep trees, where every split costs `ALPHA`."""
    if is_absent(CHALLENGE):
        return [Unit("cegb17_figure2a", CHALLENGE, 0, LOADING, {}, scope.rows)]
    rounds, lams = (400, (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)) if scope.full else (40, (1e-5, 1e-3))
    kinds: dict[str, dict[str, Value]] = {
        GREEDY_MISER: {"max_depth": DEPTH},
        SHALLOW: {"max_depth": DEPTH, "num_leaves": LEAVES},
        CEGB: {},
    }
    shared: dict[str, Value] = {"n_estimators": rounds, "evaluation_cost": ALPHA, "training": None}
    return [
        Unit("cegb17_figure2a", data, seed, method, {"lam": lam, **shared, **kind}, scope.rows)
        for data, seed in scope.groups()
        for method, kind in kinds.items()
        for lam in lams
    ]


def claims_2a(_: pd.DataFrame, reached: pd.DataFrame) -> Sequence[Comparison]:
    told = {SHALLOW: "trees of 16 leaves against GreedyMiser", CEGB: "deep trees against GreedyMiser"}
    return [c for method, what in told.items() for c in always(reached, method, GREEDY_MISER, CHALLENGE, what, ALWAYS)]


EXPERIMENTS = (
    curve_experiment(
        lambda frame, reached: [],
        name="other_data",
        protocol="bp16",
        source="BP16, Figure 2 (c), (d); BRF15, Figure 3 (a), (d); CEGB17, Figure 2 (b), (e), (f)",
        title="Yahoo, Scene15, CIFAR-10, HEPMASS, where their files are present",
        takes="seconds where nothing is present",
        data=tuple(FORESTS),
        repeats=1,
        full_repeats=3,
        units=units,
        run=run,
    ),
    curve_experiment(
        claims_2a,
        error_label="1 - Average Precision@5",
        name="cegb17_figure2a",
        protocol="cegb17",
        source="CEGB17, Figure 2 (a)",
        title="ranking where splits cost, too: CEGB with deep and shallow trees, GreedyMiser",
        takes="seconds where the files are absent",
        data=(CHALLENGE,),
        repeats=1,
        full_repeats=3,
        units=units_2a,
        run=run,
    ),
)
