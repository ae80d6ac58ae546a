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

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks import data as published_data
from benchmarks.data import Part, PublishedData
from benchmarks.data.published import average_precision_at_5, first_rows
from benchmarks.papers.brf15_figure3 import ALPHAS
from benchmarks.papers.budget_curves import Method, always, curve_experiment, curve_rows
from benchmarks.papers.data import Parts, grid_units
from benchmarks.papers.experiment import Comparison, Row, Scope, Unit, Value
from benchmarks.papers.methods import ASTC, BUDGET_RF, CEGB, CSTC, GREEDY_MISER, PRUNINGS, fitted
from benchmarks.papers.protocols import Grown
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest

CHALLENGE = "yahoo_challenge"  # Yahoo's data in the challenge's own three parts

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

SHORT_TRAINING = 100_000  # training examples of the short version, at most
SEVERAL_CLASSES = ("scene15",)


@dataclass(frozen=True)
class Forest:
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
    training = None if scope.full else SHORT_TRAINING

    def grid(data: str, _: int) -> Iterator[tuple[str, dict[str, Value]]]:
        return ((method, {**setting, "training": training}) for method, setting in _grid(data, full=scope.full))

    return grid_units("other_data", scope, grid)


def _grid(data: str, *, full: bool) -> list[tuple[str, dict[str, Value]]]:
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
    return first_rows(LOADERS[data](), rows)


def run(unit: Unit) -> list[Row]:
    """The points of a method at the data's prices; of queries the error is 1 - Average Precision@5 of the scores."""
    data, setting, method = loaded(unit.data, unit.rows), dict(unit.setting), unit.method.removesuffix(SHALLOW)
    setting.pop("protocol", None)
    training: Any = setting.pop("training")
    train = data.train.take(slice(0, training))
    ranking, graded = train.query is not None, "evaluation_cost" in setting
    p = Parts.of(replace(train, y=train.raw) if graded else train, data.validation, data.test)
    losses = (_loss(data.validation), _loss(data.test))
    if unit.method in PRUNINGS:
        return curve_rows(_prunings(data, unit), p, losses=losses)
    if method == BUDGET_RF:
        setting = {"n_estimators": setting["trees"], "alpha": setting["alpha"], "vote": "counts" if ranking else "majority"}
    if method == ASTC:
        setting["budget"] = float(str(setting.pop("share"))) * float(sum(data.costs.prices))
    if method == CEGB:
        plain = data.costs.n_items == data.costs.n_features
        setting = {"engine": "lightgbm" if plain else "own", "num_leaves": 64, **setting}
    model = fitted(method, setting, p, unit.seed, data.costs, ranking=ranking)
    return curve_rows(scores(model) if ranking and method == BUDGET_RF else model, p, losses=losses)


def _loss(part: Part) -> Callable[[NDArray[Any], NDArray[Any]], float]:
    """Share of wrong labels; where there are queries, 1 - Average Precision@5 of the scores."""
    if part.query is None:
        return lambda y, labels: float(np.mean(labels != y))
    query = part.query
    return lambda _, scores: 1 - average_precision_at_5(part.y, scores, query)


def scores(model: Any) -> Any:
    """BudgetRF whose predictions are the share of class 1 among the examples of the leaves, BRF15's confidence."""
    return SimpleNamespace(
        predict=lambda X: model.predict_proba(X)[:, -1],
        staged_predict=lambda X: (shares[:, -1] for shares in model.staged_predict_proba(X)),
        prediction_cost=model.prediction_cost,
        staged_cost=model.staged_cost,
    )


@dataclass(frozen=True, eq=False)
class PrunedForests:
    """Forests, cheapest first, as the stages of a learner; of queries their shares of class 1."""

    forests: Sequence[Any]
    costs: Any
    ranking: bool

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        return (np.asarray(f.predict_proba(X)[:, -1] if self.ranking else f.predict(X)) for f in self.forests)

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        return np.array([example_costs(read_forest(f), X, self.costs).mean() for f in self.forests])

    def predict(self, X: Any) -> NDArray[Any]:
        return list(self.staged_predict(X))[-1]

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(example_costs(read_forest(self.forests[-1]), X, self.costs))


@lru_cache(maxsize=1)
def _forest(name: str, rows: int | None, seed: int, trees: int, training: int | None) -> Grown:
    """The forest that the papers grow, with its instance; units in a row share it."""
    data, kind = loaded(name, rows), FORESTS[name]
    train = data.train.take(slice(0, training))
    p = Parts.of(train, data.validation, data.test)
    setting = {
        "n_estimators": trees,
        "impurity": kind.impurity,
        "max_features": min(kind.max_features or train.X.shape[1], train.X.shape[1]),
        "splits": "random" if kind.impurity == "pairs" else "all",
    }
    forest = fitted(BUDGET_RF, setting, p, seed, data.costs).forest_
    return Grown(forest, p, pm.problem_from_forest(forest, p.X_valid, costs=data.costs))


def _prunings(data: PublishedData, unit: Unit) -> PrunedForests:
    s: Any = unit.setting
    grown = _forest(unit.data, unit.rows, unit.seed, s["trees"], s["training"])
    path = PRUNINGS[unit.method](grown)
    cheap, dear = float(path.cost[-1]), float(path.cost[0])
    budgets = np.maximum(dear * np.geomspace(0.01, 1, POINTS), cheap)  # the cheapest of fewer trees is one tree
    rows = np.unique([*(path.row_at_cost(budget) for budget in budgets), len(path) - 1])
    forests = [pm.apply_pruning(path[int(k)], grown.forest) for k in rows[::-1]]
    return PrunedForests(forests, data.costs, data.train.query is not None)


SHALLOW, DEPTH, LEAVES = ", shallow trees", 4, 16  # trees similar to GreedyMiser's, CEGB17 section 5.1

ALPHA = 0.25
"""Price of a split there: a tree of depth four costs as much as the cheapest feature, 1, which is GreedyMiser's assumption."""

ALWAYS = "even shallow trees are always strictly better than GreedyMiser"


def grid_2a(full: bool) -> Iterable[Method]:
    """GreedyMiser, CEGB with trees like its own, and CEGB with deep trees, where every split costs `ALPHA`."""
    rounds, lams = (400, (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)) if full else (40, (1e-5, 1e-3))
    kinds: dict[str, dict[str, Value]] = {
        GREEDY_MISER: {"max_depth": DEPTH},
        f"{CEGB}{SHALLOW}": {"max_depth": DEPTH, "num_leaves": LEAVES},
        CEGB: {},
    }
    shared: dict[str, Value] = {"n_estimators": rounds, "evaluation_cost": ALPHA, "training": None}
    yield from ((method, {"lam": lam, **shared, **kind}) for method, kind in kinds.items() for lam in lams)


def claims_2a(_: pd.DataFrame, reached: pd.DataFrame) -> Sequence[Comparison]:
    told = {f"{CEGB}{SHALLOW}": "trees of 16 leaves against GreedyMiser", CEGB: "deep trees against GreedyMiser"}
    return [c for method, what in told.items() for c in always(reached, method, GREEDY_MISER, CHALLENGE, what, ALWAYS)]


EXPERIMENTS = (
    curve_experiment(
        lambda frame, reached: (),
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
        grid_2a,
        error_label="1 - Average Precision@5",
        name="cegb17_figure2a",
        protocol="cegb17",
        source="CEGB17, Figure 2 (a)",
        title="ranking where splits cost, too: CEGB with deep and shallow trees, GreedyMiser",
        takes="seconds where the files are absent",
        data=(CHALLENGE,),
        repeats=1,
        full_repeats=3,
        run=run,
    ),
)
