"""How each paper ran its experiments, as data, and the forests that are grown by it.

Every field of a `Protocol` has its source: the paper and section, or a file of the authors' program (the GitHub repository
fnan/FeatureBudgetedRandomForest, commit e555044 for BRF15, d8e2e99 for BP16). "Ours" marks what no source says. A variant is
`replace(nws15, vote="mean")`.

    from benchmarks.papers.protocols import nws15, grown
    forest = grown(nws15, "miniboone", seed=0)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.papers.data import FOLDS, SMALL, Parts, fold, parts, svm_prices
from benchmarks.papers.experiment import Value
from formulations.errors import InvalidInputError
from prunemodels.evaluation.path import Vote

Thresholds = Literal["all", "random"]
Criterion = Literal["pairs", "entropy", "gini"]
ErrorSample = Literal["in-bag", "out-of-bag", "in-bag and out-of-bag", "validation", "test"]
CostSample = Literal["validation", "training", "test"]
Prices = Literal["one", "svm"]
ORDINARY = ("entropy", "gini")  # criteria of scikit-learn's trees, which grow them where all thresholds are tried
SMALL_TREES = 90  # trees of a forest on cross-validated data (NWS15 section 6)
OUTSIDE = float(np.exp(-1))
"""Share of the rows that a bootstrap leaves out: the weight of out-of-bag errors where both samples count (-o 2)."""


@dataclass(frozen=True)
class Protocol:
    """How a paper's forests are grown, pruned and judged, how often, and where each field is said."""

    name: str
    trees: int  # of a forest, on data that are not cross-validated; those have `SMALL_TREES`
    thresholds: Thresholds  # "all" midpoints between neighbouring values, or 80, 40 or 20 "random" ones for each feature
    # "pairs": least max over outcomes of price / decrease (BRF15); "entropy", "gini": greatest mean decrease.
    criterion: Criterion
    features: str | float | int | None  # how many a split tries, as scikit-learn's ``max_features``; None: all
    vote: Vote  # "majority" of the trees' classes, or "mean" of the leaves' class frequencies
    repeats: int
    # A node is a leaf if no split has a decrease, or by alpha, min_samples_leaf and max_depth.
    alpha: float = 0.0
    min_samples_leaf: int = 1
    max_depth: int | None = None
    # of a tree: "bootstrap", as many rows as there are, with replacement; or "all rows".
    sample: Literal["bootstrap", "all rows"] = "bootstrap"
    # errors, costs: samples of the pruning. Where there is no validation part, the training part stands for it.
    errors: ErrorSample = "in-bag"
    costs: CostSample = "validation"
    prices: Prices = "one"  # "one" for each feature, or those of `benchmarks.papers.data.svm_prices`
    signal: float = 0.28
    source: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        missing = [f.name for f in fields(self) if f.name not in ("name", "source", *self.source)]
        if missing:
            raise InvalidInputError(f"protocol {self.name}: no source for {', '.join(missing)}; say where each field is from")

    def told(self) -> str:
        shown = (f"{f.name.replace('_', ' ')} {getattr(self, f.name)}" for f in fields(self) if f.name not in ("name", "source"))
        return f"protocol {self.name}: {', '.join(shown)}"

    def changed(self, changes: Mapping[str, Value]) -> Protocol:
        """A variant, from a unit's setting: those of its entries that are fields."""
        mine: dict[str, Any] = {f.name: changes[f.name] for f in fields(self) if f.name in changes}
        return replace(self, **mine)


PROGRAM: Mapping[str, str] = {
    "alpha": "0, args.h",
    "min_samples_leaf": "1: nodes are leaves if pure or without a decrease over 1e-7, BudgetNode.h, impurity.cpp",
    "max_depth": "1,000, which no tree reaches, args.h",
    "sample": "as many rows as there are, with replacement, BudgetTree.cpp",
    "errors": "in-bag rows (-o 0, the default), args.h, pruneDW.cpp",
    "costs": "the first file after the training file, 'assuming test[0] is validation set', main.cpp; the last is reported",
    "prices": "1 where no file of prices is given, README.md; NWS15 section 6: 'the cost of each feature is 1 uniformly'",
    "signal": "that of UCI's file, all of whose 130,065 rows but one the parts of BP16 section 6.4 add up to",
}
"""What BRF15's, NWS15's and BP16's forests have in common."""

nws15 = Protocol(
    "NWS15",
    trees=40,
    thresholds="all",
    criterion="pairs",
    features=None,
    vote="majority",
    repeats=10,
    source={
        **PROGRAM,
        "trees": "40; 90 on Sonar and Heart: section 6",
        "thresholds": "all midpoints: impurity.cpp; the paper refers to BRF15, which drew random ones",
        "criterion": "'ensembles from BudgetRF', section 6; -i 0 is the default, args.h",
        "features": "all: -k is -1, args.h",
        "vote": "errPrec1, which main.cpp averages; the paper says no more than 'test error'",
        "repeats": "10; 100 of ten-fold cross validation on Sonar and Heart: section 6",
    },
)

brf15 = Protocol(
    "BRF15",
    trees=40,
    thresholds="random",
    criterion="pairs",
    features=None,
    vote="majority",
    repeats=10,
    source={
        **PROGRAM,
        "trees": "40, section 3",
        "thresholds": "80, 40 or 20 random stumps by the size of a node, section 3; the program, impurity.cpp, tries all",
        "criterion": "threshold-Pairs, section 3",
        "features": "all, Algorithm 1",
        "vote": "majority, section 2.1",
        "repeats": "'an average of 10 runs', section 3",
    },
)

bp16 = Protocol(
    "BP16",
    trees=40,
    thresholds="all",
    criterion="entropy",
    features=None,
    vote="mean",
    repeats=10,
    source={
        **PROGRAM,
        "trees": "40 on MiniBooNE and Forest, section 5",
        "thresholds": "all midpoints: impurity.cpp",
        "criterion": "entropy, section 5",
        "features": "all, section 5",
        "vote": "'aggregates the leaf distributions from all trees', end of section 4",
        "repeats": "ours: figures without intervals",
    },
)

cegb17 = replace(
    bp16,
    name="CEGB17",
    source={**bp16.source, "trees": "BudgetPrune's numbers are those of BP16, section 5", "repeats": "ours: curves of one run"},
)

cstc13 = replace(
    bp16,
    name="CSTC13",
    source=dict.fromkeys((*bp16.source,), "no forest: the paper's learner is CSTC itself") | {"repeats": "ours"},
)

PROTOCOLS = {p.name.lower(): p for p in (nws15, brf15, bp16, cegb17, cstc13)}


def table() -> pd.DataFrame:
    rows = [
        (p.name, f.name.replace("_", " "), str(getattr(p, f.name)), p.source[f.name])
        for p in PROTOCOLS.values()
        for f in fields(p)
        if f.name not in ("name", "source")
    ]
    return pd.DataFrame(rows, columns=["protocol", "field", "value", "source"])


def grow(protocol: Protocol, X: Any, y: Any, *, trees: int, seed: int) -> Any:
    shared = {name: getattr(protocol, name) for name in ("min_samples_leaf", "max_depth")}
    shared |= {"max_features": protocol.features, "bootstrap": protocol.sample == "bootstrap", "random_state": seed}
    if protocol.criterion in ORDINARY and protocol.thresholds == "all":
        return RandomForestClassifier(trees, criterion=protocol.criterion, **shared).fit(X, y)
    from prunemodels.rivals.budget_rf import BudgetRFClassifier

    own = {"impurity": protocol.criterion, "splits": protocol.thresholds, "alpha": protocol.alpha}
    return BudgetRFClassifier(n_estimators=trees, **own, **shared).fit(X, y).forest_


@dataclass(frozen=True, eq=False)
class Grown:
    forest: Any
    parts: Parts
    problem: pm.PruningProblem


@lru_cache(maxsize=FOLDS)
def grown(protocol: Protocol, data: str, seed: int, rows: int | None = None, *, k: int | None = None) -> Grown:
    """The forest of a protocol on a data set's parts, or on fold k of ten; the last ones are remembered."""
    if protocol.prices == "svm":
        same = replace(protocol, prices="one"), data, seed, rows
        plain = grown(*same) if k is None else grown(*same, k=k)  # called as others call it, so that the forest is remembered
        forest, p = plain.forest, plain.parts
        costs: Any = [round(float(price), 6) for price in svm_prices(p.X_train, p.y_train)]
    else:
        p = parts(data, seed, rows, signal=protocol.signal) if k is None else fold(data, seed, k, rows)
        trees = SMALL_TREES if data in SMALL else protocol.trees
        forest = grow(protocol, p.X_train, p.y_train, trees=trees, seed=seed if k is None else FOLDS * seed + k)
        costs = 1
    sample = {"training": p.X_train, "validation": p.X_valid, "test": p.X_test}[protocol.costs]
    return Grown(forest, p, pm.problem_from_forest(forest, sample, costs=costs, errors=_errors(protocol, p)))


def _errors(protocol: Protocol, p: Parts) -> Any:
    if protocol.errors in ("validation", "test"):
        return pm.samples.Given(*((p.X_test, p.y_test) if protocol.errors == "test" else (p.X_valid, p.y_valid)))
    if protocol.errors == "in-bag":
        return "in-bag"
    outside = pm.samples.OutOfBag(p.X_train, p.y_train)
    return outside if protocol.errors == "out-of-bag" else pm.samples.Blend([(1, pm.samples.InBag()), (OUTSIDE, outside)])
