"""Weakest links and stopped growth."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import PruningProblem
from prunemodels.models.forests.problems import pruning_from_forest
from prunemodels.rivals.cost_complexity import (
    cost_complexity_path,
    early_stopping_path,
    less,
    node_impurities,
    ranks,
    weakest_links,
)
from tests.instances import Node, ensemble_of, problem_of, random_problem, with_usage
from tests.loops import looped
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.rivals.baselines.cases import hand_forest, keeps, same_rows

INTEGERS, POSITIVE = st.integers(-(2**52), 2**52), st.integers(1, 2**52)
LARGE = 2**52


@settings(max_examples=200, deadline=None)
@given(a=INTEGERS, b=POSITIVE, c=INTEGERS, d=POSITIVE)
@example(a=LARGE, b=LARGE - 1, c=LARGE - 1, d=LARGE - 2)  # equal as floats, their products have 104 bits
@example(a=-LARGE, b=LARGE - 1, c=1 - LARGE, d=LARGE - 2)
@example(a=-1, b=3, c=-2, d=6)
@example(a=0, b=3, c=1, d=LARGE)
def test_less_is_that_of_fractions(a: int, b: int, c: int, d: int) -> None:
    """Whatever the signs, and where the cross products do not fit 64 bits."""
    assert less(a, b, c, d) == (Fraction(a, b) < Fraction(c, d))
    assert less(c, d, a, b) == (Fraction(c, d) < Fraction(a, b))
    assert not less(a, b, 3 * a if abs(a) < 2**50 else a, 3 * b if abs(a) < 2**50 else b)


@settings(max_examples=100, deadline=None)
@given(pairs=st.lists(st.tuples(st.integers(-9, 9), st.integers(1, 9)), max_size=30))
@example(pairs=[(LARGE - k, LARGE - k - 1) for k in (0, 5, 3, 1, 4, 2)] + [(0, 1), (1, 2), (2, 4)])
def test_ranks_are_places_among_the_distinct_fractions(pairs: list[tuple[int, int]]) -> None:
    """Equal ratios share a rank, however written, and different ones do not, also where they are equal as floats."""
    numerator, denominator = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    fractions = [Fraction(a, b) for a, b in pairs]
    distinct = sorted(set(fractions))
    first, rank = ranks(numerator, denominator)
    assert rank.tolist() == [distinct.index(f) for f in fractions]
    assert [fractions[k] for k in first] == distinct


def by_weakest_links(problem: PruningProblem) -> list[tuple[Fraction, NDArray[np.bool_]]]:
    """Breiman's procedure: prune the node of least (gain of its subtree) / (splits of its subtree), again and again."""
    ensemble, kept = problem.ensemble, problem.ensemble.is_split.copy()
    found: dict[Fraction, NDArray[np.bool_]] = {}
    highest = Fraction(0)
    while True:
        gain = np.where(kept, problem.exact_numbers.gain, 0)
        size = kept.astype(object)
        for h in reversed(range(ensemble.n_nodes)):
            if ensemble.parent[h] >= 0:
                gain[ensemble.parent[h]] += gain[h]
                size[ensemble.parent[h]] += size[h]
        links = {h: Fraction(int(gain[h]), int(size[h])) for h in np.flatnonzero(kept)}
        if not links or min(links.values()) > highest:
            found[highest] = kept.copy()
        if not links:
            return list(found.items())
        weakest = min(links, key=lambda h: links[h])
        highest = max(highest, links[weakest])
        gone = np.zeros_like(kept)
        gone[weakest] = True
        for h in range(ensemble.n_nodes):
            gone[h] |= ensemble.parent[h] >= 0 and gone[ensemble.parent[h]]
        kept &= ~gone


def test_hand_forest() -> None:
    """Tree 0: 5 errors of 10 for two splits, .25 each; the root's own .2 goes with them. Tree 1: .2 for its split, so first."""
    path = cost_complexity_path(hand_forest())
    assert path.parameter.tolist() == [0, 0.2, 0.25]
    assert same_rows(path, [keeps(0, 2, 5), keeps(0, 2), keeps()])
    assert path.cost.tolist() == [8, 8, 0]
    assert path.error.tolist() == [0.15, 0.25, 0.5]
    assert (path.parameter_name, path.method) == ("alpha", "cost-complexity pruning (error)")
    assert list(path.to_frame().columns) == ["alpha", "cost", "error", "splits"]


def test_splits_that_gain_nothing_go_at_alpha_zero() -> None:
    """A split of gain 0, and one that loses above nothing good, are gone in row 0; a losing one above a good one stays."""
    losing = Node(4, 0, 0.5, Node(3, 1, 0.5, Node(0), Node(0)), Node(3))
    problem = problem_of([losing, Node(1, 0, 0.5, Node(1), Node(0)), Node(1, 0, 0.5, Node(1), Node(2))], [1, 1])
    path = cost_complexity_path(problem)
    assert path.parameter.tolist() == [0, 0.05]
    assert [np.flatnonzero(pruning.kept).tolist() for pruning in path] == [[0, 1], []]


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 10**9), rounded=st.booleans())
def test_every_row_is_what_weakest_links_leave(seed: int, rounded: bool) -> None:
    """All alphas and all prunings are those of Breiman's procedure in fractions, whatever the signs of the gains."""
    problem = random_problem(seed, rounded=rounded)
    path, expected = cost_complexity_path(problem), by_weakest_links(problem)
    unit = problem.exact_numbers.gain_unit * problem.ensemble.n_trees
    alphas = [float(alpha * unit) for alpha, _ in expected]
    assert path.parameter.tolist() == (alphas if problem.numbers.exact else pytest.approx(alphas, rel=1e-12))
    assert same_rows(path, [kept for _, kept in expected])


@pytest.mark.slow
@looped("seed", range(20))
def test_deep_trees_are_decided_as_small_ones(seed: int) -> None:
    """With hundreds of splits, chains among them, where blocks swallow blocks and heaps are melded many times."""
    rng = np.random.default_rng(seed)
    n = 150
    parents = [-1] + [int(rng.integers(max(0, k - 3) if seed % 2 else 0, k)) for k in range(1, n)]
    children: list[list[int]] = [[] for _ in range(n)]
    for k in range(1, n):
        while len(children[parents[k]]) == 2:
            parents[k] = parents[k] + 1 if parents[k] + 1 < k else 0
        children[parents[k]].append(k)

    def node(k: int) -> Node:
        below = [node(c) for c in children[k]] + [Node(0)] * (2 - len(children[k]))
        return Node(0, 0, 0.5, below[0], below[1])

    ensemble, _ = ensemble_of([node(0)], 1)
    gain = np.where(ensemble.is_split, rng.integers(-3, 9, ensemble.n_nodes), 0)
    numerator, denominator = weakest_links(ensemble, gain)
    kept, size = ensemble.is_split, ensemble.is_split.astype(int)
    alphas = [Fraction(int(a), int(b)) for a, b in zip(numerator, denominator, strict=True)]
    levels = {alphas[h] for h in np.flatnonzero(kept)}
    for alpha in levels:  # the smallest best closure at alpha, by one pass in fractions
        value = [Fraction(0)] * ensemble.n_nodes
        for h in reversed(range(ensemble.n_nodes)):
            if size[h]:
                value[h] = int(gain[h]) - alpha + max(0, value[ensemble.left[h]]) + max(0, value[ensemble.right[h]])
        best = np.array([bool(size[h]) and value[h] > 0 for h in range(ensemble.n_nodes)])
        for h in range(1, ensemble.n_nodes):
            best[h] &= best[ensemble.parent[h]]
        assert [alphas[h] > alpha for h in np.flatnonzero(kept)] == best[kept].tolist()


FORESTS = [
    "random forest",
    "random forest, entropy",
    "random forest, weighted",
    "random forest, missing values",
    "random forest, best first",
    "random forest, balanced subsample",
    "extra trees",
    "tree, weighted",
    "regression forest, weighted",
    "regression tree",
]


def between(alphas: NDArray[np.float64]) -> list[tuple[int, float]]:
    """Rows, and an alpha well between theirs and the next; what differs by rounding alone is passed over."""
    following = np.append(alphas[1:], alphas[-1] + 1)
    clear = np.flatnonzero(following - alphas > 1e-9)
    return [(int(k), float(alphas[k] + following[k]) / 2) for k in clear[:: 1 + len(clear) // 12]]


@pytest.mark.parametrize("kind", FORESTS)
def test_impurity_gives_the_forest_that_scikit_learn_grows_with_ccp_alpha(kind: str) -> None:
    """At any alpha the pruning is that of every tree of ``clone(forest, ccp_alpha=alpha).fit(X, y)``, leaf for leaf."""
    f = fitted(kind)
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    path = cost_complexity_path(problem, measure="impurity", forest=f.forest)
    points = between(path.parameter)
    assert len(points) > 5
    for k, alpha in points:
        grown = clone(f.forest).set_params(ccp_alpha=alpha).fit(f.X, f.y, sample_weight=f.sample_weight)
        assert np.array_equal(pruning_from_forest(problem, grown).kept, path[k].kept), f"row {k}, alpha {alpha}"
        np.testing.assert_array_equal(pm.apply_pruning(path[k], f.forest).apply(f.X), grown.apply(f.X))


def test_early_stopping_hand_forest() -> None:
    """Impurities .5 and .9 on the way down tree 0 count as .5 both; tree 1 has .3."""
    path = early_stopping_path(hand_forest(), criterion=[0.5, 0.0, 0.9, 0, 0, 0.3, 0, 0])
    assert path.parameter.tolist() == [0, 0.3, 0.5]
    assert same_rows(path, [keeps(0, 2, 5), keeps(0, 2), keeps()])
    assert path.cost.tolist() == [8, 8, 0]
    assert (path.parameter_name, path.method) == ("threshold", "early stopping (given impurity)")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_row_is_stopped_growth(seed: int) -> None:
    """At each threshold, and between any two, a walk from the roots that stops at impurities up to it keeps the row's splits."""
    problem = random_problem(seed)
    ensemble = problem.ensemble
    impurity = np.random.default_rng(seed).integers(0, 5, ensemble.n_nodes) / 4
    path = early_stopping_path(problem, criterion=impurity)
    assert path.parameter[0] == 0
    assert (np.diff(path.parameter) > 0).all()
    for k, start in enumerate(path.parameter):
        for threshold in (start, start + 0.1):
            grown = np.zeros(ensemble.n_nodes, dtype=bool)
            waiting = ensemble.roots.tolist()
            while waiting:
                h = waiting.pop()
                if ensemble.left[h] >= 0 and impurity[h] > threshold:
                    grown[h] = True
                    waiting += [ensemble.left[h], ensemble.right[h]]
            assert np.array_equal(path[k].kept, grown)


@pytest.mark.parametrize(("kind", "criterion"), [("random forest, entropy", "entropy"), ("random forest, balanced", "gini")])
def test_class_fractions_say_what_the_trees_store(kind: str, criterion: Any) -> None:
    """Entropy and Gini impurity of the fractions are scikit-learn's own."""
    f = fitted(kind)
    ensemble = pm.read_forest(f.forest)
    np.testing.assert_allclose(node_impurities(ensemble, criterion), node_impurities(ensemble, "stored", f.forest), atol=1e-12)


def test_pairs_by_hand() -> None:
    """Three, two and one examples of three classes are 6 + 3 + 2 pairs."""
    tree = DecisionTreeClassifier(random_state=0).fit([[0], [0], [0], [1], [1], [2]], list("aaabbc"))
    impurity = node_impurities(pm.read_forest(tree), "pairs", tree)
    assert impurity[:3].tolist() == [11, 0, 2]  # "a" alone on the left


@pytest.mark.parametrize(
    ("path", "kind", "options", "message"),
    [
        (cost_complexity_path, "random forest", {"measure": "impurity"}, "forest is missing: give the fitted forest"),
        (
            cost_complexity_path,
            "random forest",
            {"measure": "impurity", "forest": "other"},
            "has other trees .* than the problem",
        ),
        (early_stopping_path, "random forest", {"criterion": "stored", "forest": "other"}, "the forest has other trees"),
        (early_stopping_path, "tree", {"criterion": "pairs"}, "forest is missing"),
        (early_stopping_path, "tree", {"criterion": [1.0]}, r"criterion has shape \(1,\); give one number for each of"),
        (early_stopping_path, "tree", {"criterion": np.nan}, r"criterion\[1\] is nan; an impurity is finite and >= 0"),
        (early_stopping_path, "tree", {"criterion": -1.0}, r"criterion\[1\] is -1.0; an impurity is finite and >= 0"),
        (early_stopping_path, "regression tree", {}, "criterion is 'entropy', which is of classes; give 'stored'"),
    ],
)
def test_what_does_not_fit_is_refused(path: Any, kind: str, options: dict[str, Any], message: str) -> None:
    """Another measure or criterion, no forest, another forest, and numbers that are no impurities: of one node among others."""
    f = fitted(kind)
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    if isinstance(options.get("criterion"), float):
        options = {"criterion": np.where(np.arange(problem.ensemble.n_nodes) == 1, options["criterion"], 1.0)}
    if options.get("forest") == "other":
        options = {**options, "forest": RandomForestClassifier(4, random_state=5).fit(f.X, f.y)}
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        path(problem, **options)


@pytest.mark.parametrize("node", [[1.2, -0.2], [0.5, 0.6]])
def test_values_that_are_no_class_fractions_are_refused(node: list[float]) -> None:
    """Entropies of something else would be numbers, too."""
    problem = hand_forest()
    value = np.full((8, 2), 0.5)
    value[3] = node
    problem = with_usage(problem, ensemble=replace(problem.ensemble, value=value, classes=np.array([0, 1])))
    with pytest.raises(pm.errors.InvalidInputError, match=r"node 3 predicts .*, no class fractions"):
        early_stopping_path(problem)
