"""GreedyTree: the paper's example, its theorem, and every split against a search by hand."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.instance.cost_items import CostItems
from prunemodels.rivals.budget_rf import BudgetRFClassifier
from prunemodels.rivals.greedy_tree import TrainingTable
from prunemodels.rivals.stumps import _best_place, growing_options, impurity


def one_tree(X: Any, y: Any, **parameters: Any) -> Any:
    """The scikit-learn tree that GreedyTree grows on exactly these rows, all stumps tried."""
    settings = {"n_estimators": 1, "bootstrap": False, "splits": "all", "random_state": 0, **parameters}
    return BudgetRFClassifier(**settings).fit(X, y).forest_.estimators_[0].tree_


def max_cost(tree: Any, prices: NDArray[np.float64]) -> float:
    """Largest sum of prices on a way from the root to a leaf, each feature once (BRF15 section 2.2)."""

    def below(h: int, paid: frozenset[int]) -> float:
        if tree.children_left[h] < 0:
            return float(sum(prices[list(paid)]))
        now = paid | {int(tree.feature[h])}
        return max(below(tree.children_left[h], now), below(tree.children_right[h], now))

    return below(0, frozenset())


def wrong(tree: Any) -> float:
    """Training examples that the leaves get wrong."""
    leaf = tree.children_left < 0
    counts = tree.value[leaf, 0, :] * tree.weighted_n_node_samples[leaf, None]
    return float(round((counts.sum(axis=1) - counts.max(axis=1)).sum(), 6))


def synthetic() -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """BRF15 section 2.4: 1,024 examples, the numbers 0 to 1023 in binary; a quarter a class but for its first number."""
    number = np.arange(1024)
    y = number // 256 + 1
    y[::256] = [2, 3, 4, 1]
    return ((number[:, None] >> np.arange(9, -1, -1)) & 1).astype(float), y


# A node of 2^k examples with one stranger has F = [(2^k - 1 - alpha)(1 - alpha) - alpha^2]_+ > 0 exactly for alpha < 1 - 2^-k.
# So for alpha = 1/2 nodes of 2 stay mixed (depth 9), for 127/128 nodes of 128 (depth 3), from 255/256 on nodes of 256 (depth 2).
# Splitting by t1 leaves at most (255 - alpha)(256 - alpha) - alpha^2, by a later bit 6 ((128 - alpha)^2 - alpha^2): t1 is better
# for alpha < 33024 / 1025 = 32.2. From 64 on the latter is 0: one split, which separates nothing; from 127.75 on the former too,
# and t1 is the first; from 128 on F = 0 for all.
EXAMPLE = [(0, 10, 0), (0.49, 10, 0), (0.5, 9, 4), (127 / 128, 3, 4), (255 / 256, 2, 4), (1, 2, 4), (32, 2, 4)]


@pytest.mark.parametrize(("alpha", "cost", "errors"), [*EXAMPLE, (64, 1, 768), (127.8, 1, 512), (128, 0, 768)])
def test_the_papers_example(alpha: float, cost: int, errors: int) -> None:
    """Section 2.4: two features leave 4 errors in 1,024 (0.39 %), none leaves ten features; and all between, by alpha."""
    X, y = synthetic()
    tree = one_tree(X, y, alpha=alpha)
    assert max_cost(tree, np.ones(10)) == cost
    assert wrong(tree) == errors
    if cost == 2:
        assert set(tree.feature[tree.children_left >= 0]) == {0, 1}  # t1 and t2 of the paper
        assert wrong(tree) / 1024 == pytest.approx(0.0039, abs=1e-5)


def test_min_impurity_stops_early() -> None:
    """With alpha = 0, nodes of 255 + 1 examples have F = 255: stopping there gives the tree of depth 2."""
    X, y = synthetic()
    assert max_cost(one_tree(X, y, min_impurity=255), np.ones(10)) == 2
    assert max_cost(one_tree(X, y, min_impurity=254.9), np.ones(10)) == 3


def least_max_cost(X: NDArray[Any], y: NDArray[Any], prices: NDArray[np.float64]) -> float:
    """OPT(S): the least max-cost of any tree of stumps on binary features that separates the classes; by trying all."""

    @lru_cache(None)
    def best(rows: tuple[int, ...]) -> float:
        if len({y[i] for i in rows}) <= 1:
            return 0.0
        least = math.inf
        for t in range(X.shape[1]):
            sides = [tuple(i for i in rows if X[i, t] == v) for v in (0, 1)]
            if all(sides):
                least = min(least, prices[t] + max(best(side) for side in sides))
        return least

    return best(tuple(range(len(y))))


@pytest.mark.slow_cases("pairs")
@pytest.mark.parametrize("measure", ["pairs", "powers"])
def test_theorem_2_2(measure: Any) -> None:
    """On binary features GreedyTree's max-cost is at most (log F(S) + 1) OPT(S), F scaled to 1 at its least; on 80 sets."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        X = np.array(list(itertools.product((0, 1), repeat=4)))[rng.permutation(16)[:9]]
        y, prices = rng.integers(0, 3, 9), rng.choice([1.0, 2.0, 5.0, 20.0], 4)
        tree = one_tree(X, y, costs=prices, impurity=measure)
        assert wrong(tree) == 0
        scale = impurity([1, 1], measure)
        whole = impurity(np.bincount(y), measure) / scale
        if whole:
            assert max_cost(tree, prices) <= (math.log(whole) + 1) * least_max_cost(X, y, prices) + 1e-9


SETTINGS: list[dict[str, Any]] = [
    {"impurity": "pairs", "alpha": 0.7},
    {"impurity": "powers", "power": 3},
    {"impurity": "pairs", "outcome": "expected"},
    {"impurity": "cost_weighted_entropy"},
    {"impurity": "cost_weighted_gini", "outcome": "minimax"},
    {"impurity": "entropy"},
    {"impurity": "gini"},
    {"impurity": "pairs", "reuse_is_free": True, "evaluation_cost": 0.3},
    {"impurity": "pairs", "reuse_is_free": True, "evaluation_cost": 4.0, "costs": [3.0, 3.0, 3.0, 3.0]},
    {"impurity": "pairs", "min_samples_leaf": 4},
]


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_every_split_is_the_least_risk(setting: dict[str, Any]) -> None:
    """At each node of a tree with prices and weights, no other stump has less risk (line 12), and leaves have none at all."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 8, (60, 4)) / 4.0, rng.integers(0, 3, 60)
    weight, prices = rng.integers(1, 4, 60).astype(float), np.array(setting.get("costs", [1.0, 2.0, 0.5, 7.0]))
    settings = {**setting, "costs": prices}
    model = BudgetRFClassifier(n_estimators=1, bootstrap=False, splits="all", random_state=0, **settings)
    tree = model.fit(X, y, weight).forest_.estimators_[0].tree_
    path = tree.decision_path(X.astype(np.float32)).toarray().astype(bool)
    paid: dict[int, frozenset[int]] = {0: frozenset()}
    splits = 0
    for h in range(tree.node_count):
        risks = all_risks(X[path[:, h]], y[path[:, h]], weight[path[:, h]], prices, paid[h], setting)
        if tree.children_left[h] < 0:
            no_gain = not risks or math.isinf(min(risks.values()))
            assert pure(y[path[:, h]]) or no_gain or stopped(y, weight, path[:, h], setting)
            continue
        splits += 1
        for child in (tree.children_left[h], tree.children_right[h]):
            paid[child] = paid[h] | {int(tree.feature[h])}
        taken = risks[int(tree.feature[h]), float(np.sum(X[path[:, h], tree.feature[h]] <= tree.threshold[h]))]
        assert taken == pytest.approx(min(risks.values()), rel=1e-9)
    assert splits > 5


@pytest.mark.parametrize("everything", [True, False], ids=["all", "random"])
@pytest.mark.parametrize(("alpha", "least"), [(0.0, 1), (0.7, 1), (3.0, 1), (0.0, 4)])
def test_the_scan_of_minimax_pairs_stops_after_the_first_best_stump(alpha: float, least: int, everything: bool) -> None:
    """To the last bit what the scan of all stumps finds, with ties and broken weights; 300 small nodes. A stump drawn among tied
    values is judged at the last of them, and only a stump that is judged may end the scan.
    """
    rng, found = np.random.default_rng(3), 0
    learner = BudgetRFClassifier(splits="all" if everything else "random", alpha=alpha, min_samples_leaf=least)
    for _ in range(300):
        n = int(rng.integers(2, 25))
        x, y, weight = np.sort(rng.integers(0, 9, n)), rng.integers(0, 3, n), rng.integers(1, 40, n) / rng.integers(1, 8)
        drawn, counts = rng.random(n) < 0.4, np.bincount(y, weights=weight, minlength=3)
        wanted, of_node = drawn | everything, impurity(counts, "pairs", alpha=alpha)
        best, wanted_place, left, right = 0.0, -1, np.zeros(3), counts.copy()
        for k in range(n - 1):
            left[y[k]] += weight[k]
            right[y[k]] -= weight[k]
            if x[k] < x[k + 1] and wanted[x == x[k]].any() and min(k + 1, n - k - 1) >= least:
                gain = of_node - max(impurity(np.maximum(side, 0), "pairs", alpha=alpha) for side in (left, right))
                best, wanted_place = max((best, wanted_place), (gain, k), key=lambda pair: pair[0])
        table = TrainingTable(np.float32(x)[None], y, weight, np.ones(n))
        rule, rows = growing_options(learner, 1)[0], np.arange(n, dtype=np.int32)
        assert _best_place(table, rows, 0, n, 0, counts, of_node, rule, drawn) == (best, wanted_place)
        assert not drawn.any()  # cleared for the next feature
        found += best > 0
    assert found > 50


def pure(y: NDArray[Any]) -> bool:
    return len(set(y)) == 1


def stopped(y: NDArray[Any], weight: NDArray[Any], here: NDArray[Any], setting: dict[str, Any]) -> bool:
    """Whether F = 0 though classes are mixed: alpha forgives."""
    counts = np.bincount(y[here], weights=weight[here], minlength=3)
    return "alpha" in setting and impurity(counts, "pairs", alpha=setting["alpha"]) == 0


def all_risks(
    X: NDArray[Any], y: NDArray[Any], weight: NDArray[Any], prices: NDArray[Any], paid: frozenset[int], setting: dict[str, Any]
) -> dict[tuple[int, float], float]:
    """(1) or (2) of every stump, by feature and number of rows that go left."""
    name = setting["impurity"]
    measure = name.removeprefix("cost_weighted_")
    minimax = setting.get("outcome", "minimax" if name in ("pairs", "powers") else "expected") == "minimax"
    options = {k: v for k, v in setting.items() if k in ("alpha", "power")}

    def f(rows: NDArray[Any]) -> float:
        return impurity(np.bincount(y[rows], weights=weight[rows], minlength=3), measure, **options)

    risks = {}
    for t in range(X.shape[1]):
        c = 1.0 if name in ("entropy", "gini") else prices[t] * (not (setting.get("reuse_is_free") and t in paid))
        c += setting.get("evaluation_cost", 0.0)
        for value in np.unique(X[:, t])[:-1]:
            left = X[:, t] <= value
            if min(left.sum(), (~left).sum()) < setting.get("min_samples_leaf", 1):
                continue
            share = weight[left].sum() / weight.sum()
            after = max(f(left), f(~left)) if minimax else share * f(left) + (1 - share) * f(~left)
            gain = f(np.ones(len(y), dtype=bool)) - after
            risks[t, float(left.sum())] = c / gain if gain > 1e-9 else math.inf
    return risks


def test_free_features_come_first_and_the_best_of_them() -> None:
    """A price of 0 makes every risk 0, not a division by it: of two free features the one that gains more is taken."""
    X = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 0, 1]])  # x0 separates, x1 nearly, x2 = x0
    y = [0, 0, 0, 1, 1, 1]
    tree = one_tree(X, y, costs=[0, 0, 0])
    assert tree.feature[0] == 0
    assert one_tree(X, y, costs=[1, 0, 1]).feature[0] == 1  # free and worse
    assert one_tree(X, y, costs=[1, 0, 0.5]).max_depth == 2


def test_shared_items_make_relatives_of_a_bought_feature_cheap() -> None:
    """With free reuse x2 costs only its own item once x0 has bought the sample that both need; else x1 is cheaper."""
    items = CostItems.from_items({"sample": 1, "own": 1.5, "other": 2}, [["sample"], ["other"], ["sample", "own"]])
    y = np.repeat([0, 1, 2], [4, 4, 8])  # x0 tells 2 from the rest (1 / 64 against 2 / 48); x1 and x2 both tell 0 from 1
    X = np.column_stack([y == 2, y == 1, y == 1])
    free, paper = (one_tree(X, y, costs=items, reuse_is_free=free).feature for free in (True, False))
    assert free[0] == paper[0] == 0
    assert set(free) == {0, 2, -2}  # 1.5 against 2
    assert set(paper) == {0, 1, -2}  # 2.5 against 2


def test_items_paid_once_for_all_cost_a_split_nothing() -> None:
    """A licence is no price of an example: x1 needs only that, and is taken before x0, price 1."""
    items = CostItems.from_items({"x0": 1, "licence": 900}, [["x0"], ["licence"]], once=["licence"])
    X, y = np.array([[0, 0], [0, 0], [1, 1], [1, 1]]), [0, 0, 1, 1]
    model = BudgetRFClassifier(items, n_estimators=1, bootstrap=False, random_state=0).fit(X, y)
    assert set(model.forest_.estimators_[0].tree_.feature) == {1, -2}
    assert model.prediction_cost(X).tolist() == [0, 0, 0, 0]
    assert model.staged_cost(X).tolist() == [900]


def test_a_node_that_no_stump_gains_on_is_a_leaf() -> None:
    """Equal rows of different classes cannot be parted: F > 0, every risk is infinite."""
    tree = one_tree([[1.0, 2.0]] * 4, [0, 1, 0, 1])
    assert tree.node_count == 1
    assert tree.value[0, 0].tolist() == [0.5, 0.5]


def test_neighbouring_float32_numbers_are_parted_as_grown() -> None:
    """The middle of two neighbouring float32 numbers, and of huge ones, still sends each training row where it went."""
    x = np.array([1.0, np.nextafter(np.float32(1), np.float32(2)), -3e38, 3e38, 1e-45, 0.0], dtype=np.float32)
    tree = one_tree(x[:, None], np.arange(6))
    assert tree.n_leaves == 6
    assert sorted(tree.value[tree.apply(x[:, None]), 0].argmax(axis=1)) == list(range(6))
    assert (tree.value[tree.apply(x[:, None]), 0].argmax(axis=1) == np.arange(6)).all()
