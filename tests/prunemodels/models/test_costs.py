"""Prices in every form, losses, and any model as trees."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations.instance.routing import as_rows
from prunemodels.data_files import data_folder
from prunemodels.example import X_test, X_train, costs, y_test, y_train
from prunemodels.models.costs import column_prices, cost_items, items_from_table
from prunemodels.models.losses import SQUARED_ERROR, Loss, classification_loss
from prunemodels.models.tree_model import adds_up, tree_model_of
from tests.instances import way
from tests.loops import looped
from tests.prunemodels.forest_kinds import fitted, random_pruning, rows, weights

NAMED = "random forest, named features"


def items(costs, kind=NAMED):
    return cost_items(costs, pm.read_forest(fitted(kind).forest))


def table(**columns):
    return pd.DataFrame({"feature": list("abcde"), "cost": [1.0, 2, 3, 4, 5], **columns})


def bill(costs, *features):
    """What an example pays that uses the given features."""
    named = dict(zip("abcde", costs.needs, strict=True))
    return sum(costs.prices[m] for m in set().union(*(named[f] for f in features)))


PRICES = (1, 2.5, 0, Fraction(1, 3), Decimal("7.27"))
EXACT = (Fraction(1), Fraction(5, 2), Fraction(0), Fraction(1, 3), Fraction(727, 100))


@pytest.mark.parametrize(
    "costs",
    [
        list(PRICES),
        PRICES,
        np.array(PRICES, dtype=object),
        dict(zip("abcde", PRICES, strict=True)),
        dict(zip("edcba", PRICES[::-1], strict=True)),
        pd.Series(dict(zip("bcdea", (*PRICES[1:], PRICES[0]), strict=True)), dtype=object),
        pd.DataFrame({"feature": list("abcde"), "cost": list(PRICES)}, dtype=object),
        pd.DataFrame({"feature": list("edcba"), "cost": list(PRICES[::-1])}, dtype=object),
        pm.CostItems.plain(PRICES, list("abcde")),
    ],
    ids=["list", "tuple", "array", "mapping", "other order", "Series", "table", "table in another order", "CostItems"],
)
def test_prices_by_feature(costs):
    """Feature f costs its price, whatever the form and the order in which names come, exactly as written."""
    read = items(costs)
    assert [bill(read, f) for f in "abcde"] == list(EXACT)
    assert bill(read, *"abcde") == sum(EXACT)


SCANS = {"feature": list("aabcde"), "cost": [10, 1, 10, 3, 4, 5], "item": ["scan", "read", "scan", None, None, ""]}
BILLS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{f"one price, {type(two).__name__}": (two, dict.fromkeys("abcde", 2)) for two in (2, 2.0, np.float64(2), np.int32(2))},
    "whole numbers of any size": (np.array([2**62, 2**62, 2**62, 0, 1]), {"abcde": 3 * 2**62 + 1}),
    "groups share one item": (pm.CostItems.grouped(list("hhssh"), {"h": 3, "s": 4.5}), {"abe": 3, "acd": 7.5}),
    "the first test of a group costs its full price": (
        table(cost=[7.27, 5.2, 3, 4, 5], discount_cost=[5.17, 3.1, 3, 4, 5], shared_group=["A", "A", None, None, None]),
        {"a": Fraction("7.27"), "b": Fraction("5.2"), "ab": Fraction("10.37"), "abc": Fraction("13.37")},
    ),
    "items of one name are shared, a feature may have several": (pd.DataFrame(SCANS), {"a": 11, "b": 10, "abe": 16}),
    "a ratio needs both tests, through other ratios too": (
        table(cost=[np.nan, np.nan, 3, 4, 5], needs=["b; e", "c;d", None, None, ""]),
        {"b": 7, "a": 12, "abc": 12},
    ),
    "an own cost comes on top, circles do no harm": (table(needs=["b", "a", None, None, "e"]), {"a": 3, "b": 3, "e": 5}),
}


@looped("what", BILLS)
def test_what_an_example_pays(what):
    """By the features that it uses: items are paid once, whichever of their features are used."""
    costs, bills = BILLS[what]
    assert {features: bill(items(costs), *features) for features in bills} == bills


def test_unnamed_features_and_items_that_are_paid_once():
    """Features of a forest without names are called x0, x1, ...; a table marks what is paid once for all examples."""
    read = items({"x4": 5, "x0": 1, "x1": 2, "x2": 3, "x3": 4}, "random forest")
    assert [read.prices[m] for (m,) in read.needs] == [1, 2, 3, 4, 5]
    read = items(table(once=[1, 0, None, True, False]))
    assert dict(zip(read.names, read.paid_once, strict=True)) == {"a": 1, "b": 0, "c": 0, "d": 1, "e": 0}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": ["scan"] * 2 + [None] * 3, "cost": [2] * 5, "once": [1, 0, 0, 0, 0]}, "'scan' has `once` 0 for 'b' and 1"),
        ({"cost": [1, 2, np.nan, 4, 5]}, "'c' has no cost; write 0, or name the features"),
        ({"cost": [1, 2, -3, 4, 5]}, "the price of 'c' is -3, negative; give a number >= 0"),
        ({"cost": [1, 2, np.inf, 4, 5]}, "the price of 'c' is inf; give a finite number"),
        ({"cost": [1, 2, "dear", 4, 5]}, "prices.0. is 'dear'; give a number"),
        ({"feature": list("abcdx")}, "has a price for 'x', and there is no such feature; there are a, b, c, d, e"),
        ({"feature": list("abcda")}, r"has no price for 'e' \(1 missing\); write 0 for a free feature"),
        ({"item": ["scan", "scan", None, None, None]}, "the item 'scan' costs 2 for 'b' and 1 elsewhere"),
        ({"needs": ["z", None, None, None, None]}, "'a' needs 'z', which is not a feature"),
        ({"once": ["yes", None, None, None, None]}, r"`once` is 'yes' for 'a'; write 1 \(paid once"),
        ({"shared_group": ["A", "A", None, None, None]}, "'a' is in the group 'A' and has no discount_cost"),
        ({"shared_group": ["A"] * 2 + [None] * 3, "discount_cost": [0.5, 1, 0, 0, 0]}, "'shared:A' costs 1 for 'b' and 0.5"),
        ({"shared_group": ["A"] * 2 + [None] * 3, "discount_cost": [1.5, 1, 0, 0, 0]}, "'a' has discount_cost 1.5 above"),
    ],
)
def test_tables_of_prices_that_are_refused(columns, message):
    """What a row says that cannot be, and what to write; a table without names of features."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        items(table(**columns))
    with pytest.raises(pm.errors.InvalidInputError, match="it needs 'feature'"):
        items(table().rename(columns={"feature": "name"}))


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([1, 2, 3], "costs has 3 prices, the forest was trained on 5 features"),
        ({"a": 1, "b": 1, "c": 1, "d": 1, "f": 1}, "costs has a price for 'f', and there is no such feature"),
        ({"a": 1, "b": 1, "c": 1}, r"costs has no price for 'd', 'e' \(2 missing\)"),
        ([1, 2, -3, 4, 5], "the price of 'c' is -3, negative"),
        ([1, np.nan, 3, 4, 5], "costs.1. is nan; give a number"),
        ({"a": 1, "b": 1, "c": 1, "d": np.inf, "e": 1}, "the price of 'd' is inf"),
        (Decimal("NaN"), r"costs is Decimal\('NaN'\)"),
        ("free", "costs is 'free'; give a price, a price for each feature"),
        (None, "costs is None; give a price"),
        (pd.Series([1, 2, 3, 4, 5, 6], index=list("abcdea")), "two prices for 'a'"),
        (pm.CostItems.plain([1, 2]), "costs has prices for 2 features, the forest was trained on 5"),
    ],
)
def test_refusals(costs, message):
    """Wrong numbers of prices, unknown and missing features, and prices that are no price are named."""
    case = fitted(NAMED)
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.problem_from_forest(case.forest, case.X, costs=costs)


def paid_by_walking(pruning, omega, evaluation):
    """(1/N) sum over the examples of what each pays, by walking every one: exact, with sets."""
    problem = pruning.problem
    ensemble, costs = problem.ensemble, problem.costs
    X32 = as_rows(problem.X, ensemble.n_features)
    once, total = set(), Fraction(0)
    for row, w in zip(X32, omega, strict=True):
        mine, walked = set(), Fraction(0)
        for root in ensemble.roots:
            for f in ensemble.feature[way(ensemble, root, row, pruning.kept)[:-1]].tolist():
                mine |= set(costs.needs[f])
                walked += evaluation[f]
        total += w * (sum(costs.prices[m] for m in mine if not costs.paid_once[m]) + walked)
    for h in np.flatnonzero(pruning.kept):  # a licence is needed for every kept split, whether or not a row comes by
        once |= {m for m in costs.needs[ensemble.feature[h]] if costs.paid_once[m]}
    return total / sum(omega) + sum(costs.prices[m] for m in once)


COSTS = {
    "unit": 1,
    "decimals": [7.27, 1, 102.9, 0, 5.17],
    "groups": pm.CostItems.grouped(["g", "h", "g", "h", "i"], {"g": 0.1, "h": 2, "i": 7.27}),
    "discount": pm.CostItems.discounted([7.27, 5.2, 3, 87.3, 87.3], [5.17, 3.1, 3, 1, 1], ["A", "A", None, "B", "B"]),
    "once": pm.CostItems.from_items(
        {"licence": 9, "scan": 2.5, "unused": 1}, [("licence",), ("scan",), ("licence", "scan"), (), ("scan",)], ["licence"]
    ),
}


@looped("weighted", [False, True])
@looped("evaluation", [0, 0.25, [0.1, 0, 2, 0.01, 0]])
@pytest.mark.parametrize("costs", COSTS.values(), ids=COSTS)
@pytest.mark.parametrize("kind", ["random forest, 3 string labels", "bag, some columns"])
def test_cost_of_a_pruning_by_walking(kind, costs, evaluation, weighted):
    """The cost is what each example pays on its way, every item once, exactly to the last digit of the prices."""
    case, X = fitted(kind), rows(30, seed=8, missing=0.05)
    omega = [Fraction(w) for w in ([1, 0, 2.5, 1, 0.25] * 6 if weighted else [1] * 30)]
    a = [Fraction(str(x)) for x in (evaluation if isinstance(evaluation, list) else [evaluation] * 5)]
    problem = pm.problem_from_forest(
        case.forest, X, costs=costs, evaluation_cost=evaluation, sample_weight=[float(w) for w in omega] if weighted else None
    )
    for pruning in (
        pm.Pruning.unpruned(problem),
        random_pruning(problem, 1),
        random_pruning(problem, 2),
        pm.Pruning.all_roots(problem),
    ):
        expected = paid_by_walking(pruning, omega, a)
        assert problem.numbers.exact
        assert pruning.exact_cost == expected
        assert pruning.cost == pytest.approx(float(expected), rel=1e-12, abs=1e-15)
        assert pruning.cost == pytest.approx(pruning.feature_cost + pruning.evaluation_cost, rel=1e-14)


def test_rows_of_weight_zero_are_no_rows():
    """An example of weight 0 changes nothing."""
    case, w = fitted("random forest"), weights()
    all_rows = pm.problem_from_forest(case.forest, case.X, costs=1, sample_weight=w)
    without = pm.problem_from_forest(case.forest, case.X[w > 0], costs=1, sample_weight=w[w > 0])
    assert pm.Pruning.unpruned(all_rows).cost == pm.Pruning.unpruned(without).cost
    assert all_rows.usage.n_rows == without.usage.n_rows == (w > 0).sum()


def test_real_price_files() -> None:
    """Turney's: alone a test costs its full price, a bundle its shared part once; FTI is computed from TT4 and T4U. Its file
    gives FTI no cost of its own, which is refused with the remedy.
    """
    folder = data_folder() / "costs"
    if not folder.exists():
        pytest.skip(f"no price files in {folder}; set PRUNEMODELS_DATA")
    for name, bundle in (("heart", "A"), ("pima", "A"), ("hepatitis", "A"), ("bupa", "A"), ("heart", "B")):
        prices = pd.read_csv(folder / f"{name}.csv")
        features = prices["feature"].tolist()
        read = items_from_table(prices, features)
        full, reduced = ([Fraction(str(x)) for x in prices[column]] for column in ("cost", "discount_cost"))
        assert [sum(read.prices[m] for m in needs) for needs in read.needs] == full
        group = np.flatnonzero(prices["shared_group"] == bundle).tolist()
        used = {m for f in group for m in read.needs[f]}
        assert len(group) > 1
        assert sum(read.prices[m] for m in used) == full[group[0]] - reduced[group[0]] + sum(reduced[f] for f in group)
    prices = pd.read_csv(folder / "ann_thyroid.csv")
    features = prices["feature"].tolist()
    with pytest.raises(pm.errors.InvalidInputError, match=r"'FTI' has no cost; write 0, or name .* in the column 'needs'"):
        items_from_table(prices, features)
    read = items_from_table(prices.assign(needs=[None] * (len(features) - 1) + ["TT4;T4U"]), features)
    # 14.51 for TT4 with the blood drawn, and 9.31 for T4U after it
    assert sum(read.prices[m] for m in read.needs[features.index("FTI")]) == Fraction("14.51") + Fraction("9.31")


def test_a_table_becomes_items() -> None:
    """In the order of the table, or in that of the data as ``costs=`` reads it."""
    table = pd.DataFrame({"feature": ["city", "age"], "cost": [3, 2], "discount_cost": [1, None], "shared_group": ["form", None]})
    items = items_from_table(table)
    assert (items.names, items.needs) == (("shared:form", "city", "age"), ((0, 1), (2,)))
    assert column_prices(table, 2, ["age", "city"])[0].needs == ((2,), (0, 1))


ONE_HOT = np.eye(3)[[0, 2, 1, 1, 0]]
BINARY = np.array([[0.0], [1], [1], [0], [1]])
NUMBERS = np.array([[0.3], [-2], [5], [1], [1]])
CASES = [
    (SQUARED_ERROR, NUMBERS, 0.5),
    (SQUARED_ERROR, ONE_HOT, 0.5),
    (Loss("log_loss"), BINARY, 1.0),
    (Loss("softmax"), ONE_HOT, 1.0),
]
WEIGHT = np.array([1.0, 2, 1, 3, 1])


@pytest.mark.parametrize(("loss", "targets", "share"), CASES)
def test_derivatives_are_those_of_the_loss(loss: Loss, targets: np.ndarray, share: float) -> None:
    """Finite differences of the loss (half of them for squares) give g, and those of g give h, for softmax 1.5 times."""
    F = np.random.default_rng(0).normal(size=targets.shape)
    slopes = approx_fprime(F.ravel(), lambda v: loss.values(targets, v.reshape(F.shape)).sum(), 1e-7).reshape(F.shape)
    np.testing.assert_allclose(loss.gradient(targets, F), share * slopes, atol=1e-5)
    step = 1e-6 * np.eye(F.shape[1])
    curved = [(loss.gradient(targets, F + e) - loss.gradient(targets, F - e))[:, k] / 2e-6 for k, e in enumerate(step)]
    factor = 1.5 if loss.kind == "softmax" else 1.0
    np.testing.assert_allclose(loss.hessian(F), factor * np.column_stack(curved), atol=1e-5)


@pytest.mark.parametrize(("loss", "targets", "share"), CASES)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_no_constant_is_better_than_the_baseline(
    loss: Loss, targets: np.ndarray, share: float, weight: np.ndarray | None
) -> None:
    """A numerical minimiser finds no smaller mean loss."""

    def mean(F0: np.ndarray) -> float:
        return float(np.average(loss.values(targets, np.tile(F0, (len(targets), 1))), weights=weight))

    found = loss.baseline(targets, weight)
    assert mean(found) <= minimize(mean, np.zeros(targets.shape[1])).fun + 1e-9


def test_probabilities_by_hand() -> None:
    """Each row sums to 1: of log odds log 3 the second class has 3/4; squares are cut off at 0 and 1."""
    np.testing.assert_allclose(Loss("log_loss").probabilities(np.array([[np.log(3)]])), [[0.25, 0.75]])
    np.testing.assert_allclose(Loss("softmax").probabilities(np.log([[1.0, 2, 5]])), [[0.125, 0.25, 0.625]])
    np.testing.assert_allclose(SQUARED_ERROR.probabilities(np.array([[0.3], [1.7], [-2]])), [[0.7, 0.3], [0, 1], [1, 0]])
    squares = SQUARED_ERROR.probabilities(np.array([[0.5, -1, 0.25], [-1, -2, -3], [2, 1, 0]]))
    np.testing.assert_allclose(squares, [[2 / 3, 0, 1 / 3], [1 / 3, 1 / 3, 1 / 3], [0.5, 0.5, 0]])


def test_the_loss_follows_the_name_and_the_classes() -> None:
    """Two classes have one margin."""
    kinds = [classification_loss(*of).kind for of in (("log_loss", 2), ("log_loss", 3), ("squared_error", 2))]
    assert kinds == ["log_loss", "softmax", "squared_error"]


def test_the_class_tells_what_is_read_as_a_sum() -> None:
    """Boosted models alone, after the steps of a pipeline, in a wrapper, or read; no forest, wherever it is."""
    X, y = X_train.to_numpy(), y_train
    boosted = HistGradientBoostingClassifier(max_iter=2, max_depth=2).fit(X, y)
    averaged = DecisionTreeClassifier(max_depth=2).fit(X, y)
    for inner in (boosted, averaged):
        models = [inner, Pipeline([("scale", StandardScaler().fit(X)), ("trees", inner)]), FrozenEstimator(inner)]
        models += [FixedThresholdClassifier(FrozenEstimator(inner), threshold=0.3).fit(X, y)]
        models += [pm.read_model(boosted)] if inner is boosted else []
        assert [adds_up(model) for model in models] == [inner is boosted] * len(models)
        assert [tree_model_of(model).forest is not None for model in models] == [inner is boosted] * len(models)


def test_other_models_are_refused_by_name() -> None:
    """A linear model has no trees."""
    with pytest.raises(pm.errors.UnsupportedModelError, match="LogisticRegression cannot be pruned"):
        pm.evaluate(LogisticRegression(), X_test, y_test, costs=costs)
