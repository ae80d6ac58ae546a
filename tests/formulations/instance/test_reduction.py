"""What must go together is one split: the groups keep the optima bit for bit, and what is told of them is told of the splits."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations import PruningProblem
from formulations.instance.reduction import Groups, Ties
from proofs_checks.optimality.recount import Recount
from tests.instances import Node, problem_of, random_problem, random_tree
from tests.loops import looped

TIES: tuple[Ties, ...] = ("smallest", "largest")
SEEDS = range(40)
MOST_SETS = 400  # instances with more prunings are left out: each is recomputed in fractions


def closed_sets(parent: NDArray[np.int32], is_split: NDArray[np.bool_]) -> list[NDArray[np.bool_]]:
    """All sets of splits that are closed under parents; parents come before children, of which there may be any number."""
    sets = [np.zeros(parent.size, dtype=bool)]
    for h in np.flatnonzero(is_split):
        more = [s.copy() for s in sets if parent[h] < 0 or s[parent[h]]]
        for s in more:
            s[h] = True
        sets += more
    return sets


def an_instance(seed: int) -> PruningProblem:
    """In even seeds with everything that an instance can have, in odd ones with many free splits and gains of -2 to 3."""
    if seed % 2 == 0:
        return random_problem(seed)
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(2, 5))
    trees = [random_tree(rng, n_features, int(rng.integers(1, 8)), 0) for _ in range(int(rng.integers(1, 3)))]
    for tree in trees:
        draw_errors(tree, rng)
    rows = rng.integers(0, 5, (int(rng.integers(1, 6)), n_features))
    evaluation = 0 if rng.random() < 0.7 else rng.choice([0.0, 0.0, 0.5], n_features).tolist()
    return problem_of(trees, rng.choice([0.0, 0.0, 1.0, 2.5], n_features).tolist(), rows, evaluation_cost=evaluation)


def draw_errors(node: Node, rng: np.random.Generator) -> None:
    """From below: a gain for each split."""
    node.error = 10.0
    if node.left is not None and node.right is not None:
        draw_errors(node.left, rng)
        draw_errors(node.right, rng)
        node.error = node.left.error + node.right.error + int(rng.integers(-2, 4))


def few_prunings() -> list[int]:
    """Seeds of instances that can be enumerated."""
    problems = {seed: an_instance(seed).ensemble for seed in SEEDS}
    return [seed for seed, forest in problems.items() if len(closed_sets(forest.parent, forest.is_split)) <= MOST_SETS]


def whole(numbers: list[Fraction]) -> NDArray[np.object_]:
    """Fractions over their common denominator, as Python's integers."""
    denominator = math.lcm(*(x.denominator for x in numbers))
    return np.array([int(x * denominator) for x in numbers], dtype=object)


def extreme(sets: NDArray[np.bool_], values: NDArray[np.object_], ties: Ties) -> NDArray[np.bool_]:
    """The intersection or the union of all optimal sets."""
    best = sets[values == values.min()]
    return best.all(axis=0) if ties == "smallest" else best.any(axis=0)


def members(groups: Groups) -> dict[int, set[int]]:
    """The splits of each group, by its payer."""
    return {int(groups.payer[g]): set(np.flatnonzero(groups.of == g).tolist()) for g in np.flatnonzero(groups.is_group)}


def free(problem: PruningProblem) -> NDArray[np.bool_]:
    """Splits that cost nothing wherever they are kept: no usage arcs, no evaluation."""
    recount = Recount(problem)
    costs = np.array([bool(recount.evaluation[h]) for h in range(problem.ensemble.n_nodes)])
    costs[[segment.split for segment in recount.segments() if segment.purchases.size]] = True
    return problem.ensemble.is_split & ~costs


@pytest.mark.parametrize("ties", TIES)
@looped("seed", few_prunings)
def test_the_optima_of_the_groups_are_those_of_the_splits(seed: int, ties: Ties) -> None:
    """At breakpoints, between them and beyond, by listing all prunings of both: bit for bit, at every lambda."""
    problem = an_instance(seed)
    recount, rng, forest = Recount(problem), np.random.default_rng(seed), problem.ensemble
    groups = problem.reduced(ties).groups
    every = np.array(closed_sets(forest.parent, forest.is_split))
    of_groups = closed_sets(groups.above, groups.is_group)
    restored = np.array([groups.kept(s) for s in of_groups])
    assert all(np.array_equal(groups.of_pruning(groups.kept(s)), s) for s in of_groups)
    place = {s.tobytes(): k for k, s in enumerate(every)}
    among = [place[s.tobytes()] for s in restored]  # each is closed under parents
    assert len(set(among)) == len(among)
    error, cost = map(whole, zip(*map(recount.objective, every), strict=True))
    pairs = rng.integers(0, len(every), (15, 2))
    slopes = {Fraction(abs(error[i] - error[k]), abs(cost[i] - cost[k])) for i, k in pairs if cost[i] != cost[k]}
    for lam in (Fraction(0), Fraction(1, 10**9), *slopes, *(s * Fraction(999, 1000) for s in slopes), Fraction(10**9)):
        values = error * lam.denominator + cost * lam.numerator
        best = extreme(every, values, ties)
        assert values[place[best.tobytes()]] == values.min()
        assert np.array_equal(extreme(restored, values[among], ties), best), lam


@looped("seed", few_prunings)
def test_an_optimum_within_any_budget_obeys_the_rules(seed: int) -> None:
    """The least error within what any pruning costs is that of a set of groups."""
    problem = an_instance(seed)
    recount = Recount(problem)
    every = [recount.objective(s) for s in closed_sets(problem.ensemble.parent, problem.ensemble.is_split)]
    for ties in TIES:
        groups = problem.reduced(ties).groups
        of_groups = [recount.objective(groups.kept(s)) for s in closed_sets(groups.above, groups.is_group)]
        for budget in {cost for _, cost in every}:
            least = min(error for error, cost in every if cost <= budget)
            assert min(error for error, cost in of_groups if cost <= budget) == least


@pytest.mark.parametrize("ties", TIES)
@looped("seed", SEEDS)
def test_the_groups_are_a_forest_in_the_order_of_their_payers(seed: int, ties: Ties) -> None:
    """Payer and first split are of the group, all others are free; what is below a group is below its payer, in the same tree."""
    problem = an_instance(seed)
    ensemble, groups, is_free = problem.ensemble, problem.reduced(ties).groups, free(problem)
    for payer, splits in members(groups).items():
        g = int(groups.of[payer])
        assert groups.first[g] == min(splits)
        assert payer in splits
        assert all(is_free[h] for h in splits - {payer})
        assert (groups.above[g] < 0) == (ensemble.parent[groups.first[g]] < 0)
    for g in range(groups.payer.size):
        above = int(groups.above[g])
        assert above < g
        assert ensemble.tree_of[groups.payer[g]] == ensemble.tree_of[groups.payer[above]] or above < 0
        if above >= 0 and groups.is_group[g]:
            assert groups.of[ensemble.parent[groups.first[g]]] == above
            h = int(groups.payer[g])
            while h >= 0 and h != groups.payer[above]:
                h = int(ensemble.parent[h])
            assert h == groups.payer[above]
    payers = groups.payer[groups.is_group]
    assert np.array_equal(payers, np.sort(payers))
    assert not ((groups.of >= 0) & ~ensemble.is_split).any()


@pytest.mark.parametrize("ties", TIES)
@looped("seed", SEEDS)
def test_errors_and_costs_of_the_groups_are_those_of_their_splits(seed: int, ties: Ties) -> None:
    """Of every set of groups: what is never kept, and what is a leaf below a group, have left their errors where they count."""
    problem = an_instance(seed)
    reduced, recount = problem.reduced(ties), Recount(problem)
    groups, core = reduced.groups, reduced.core
    for s in closed_sets(groups.above, groups.is_group)[:MOST_SETS:7]:
        error, cost = recount.objective(groups.kept(s))
        is_leaf = ~s & (s[groups.above] | (groups.above < 0))
        assert core.node_error[is_leaf].sum() == pytest.approx(float(error), rel=1e-13, abs=1e-15)
        bill = core.usage.bill(s)
        assert bill.feature_cost + bill.evaluation_cost == pytest.approx(float(cost), rel=1e-13, abs=1e-15)


@pytest.mark.parametrize("ties", TIES)
@looped("seed", SEEDS)
def test_levels_and_weights_of_groups_are_those_of_their_splits(seed: int, ties: Ties) -> None:
    """(4) and (6): a level and a weight of a group are those of all its splits; sums are over them."""
    problem = an_instance(seed)
    groups, rng = problem.reduced(ties).groups, np.random.default_rng(seed)
    level = rng.integers(0, 9, groups.payer.size).astype(np.int32)
    weight, amount = rng.random(groups.payer.size), rng.integers(-9, 9, problem.ensemble.n_nodes)
    levels, weights, sums = groups.levels(level, -7), groups.weights(weight), groups.sums(amount)
    grouped = set()
    for payer, splits in members(groups).items():
        g = int(groups.of[payer])
        grouped |= splits
        assert {int(levels[h]) for h in splits} == {int(level[g])}
        assert {float(weights[h]) for h in splits} == {float(weight[g])}
        assert sums[g] == sum(int(amount[h]) for h in splits)
    others = [h for h in range(problem.ensemble.n_nodes) if h not in grouped]
    assert (levels[others] == -7).all()
    assert (weights[others] == 0).all()
    assert (sums[~groups.is_group] == 0).all()


@pytest.mark.parametrize("ties", TIES)
@looped("seed", SEEDS)
def test_duals_of_groups_are_their_payers(seed: int, ties: Ties) -> None:
    """(5): arc by arc, split and purchase; all others of the forest have none, and are of splits that are never kept."""
    problem = an_instance(seed)
    reduced = problem.reduced(ties)
    groups, arcs, few = reduced.groups, problem.usage.arcs(), reduced.core.usage.arcs()
    dual = np.random.default_rng(seed).integers(1, 10**6, few.tail.size)
    told = groups.duals(dual, problem.usage)
    of_arc = dict(zip(zip(groups.payer[few.tail].tolist(), few.head.tolist(), strict=True), dual.tolist(), strict=True))
    assert len(of_arc) == dual.size
    for h, purchase, mine in zip(arcs.tail.tolist(), arcs.head.tolist(), told.tolist(), strict=True):
        assert mine == of_arc.pop((h, purchase), 0)
        assert bool(mine) == (groups.of[h] >= 0)
    assert not of_arc


@pytest.mark.parametrize("ties", TIES)
@looped("seed", SEEDS)
def test_a_group_fixed_in_takes_its_payer_and_what_is_above(seed: int, ties: Ties) -> None:
    """(8): no split is named twice, and every set with these splits that obeys the rules has the group; (9): without the payer,
    it has nothing of what the group's splits have below them but what is free.
    """
    problem = an_instance(seed)
    parent, groups, rng = problem.ensemble.parent, problem.reduced(ties).groups, np.random.default_rng(seed)
    some = np.flatnonzero(groups.is_group & (rng.random(groups.payer.size) < 0.5)).astype(np.int32)
    wanted, fixed = np.zeros(parent.size, dtype=bool), np.zeros(parent.size, dtype=bool)
    for g in some:
        h = int(groups.payer[g])
        while h >= 0:
            wanted[h] = True
            h = int(parent[h])
    first = groups.fixed_in(some[: some.size // 2], parent, fixed)
    assert np.array_equal(np.flatnonzero(fixed), np.sort(first))
    second = groups.fixed_in(some[some.size // 2 :], parent, fixed)
    assert np.array_equal(fixed, wanted)
    assert not set(first.tolist()) & set(second.tolist())
    assert groups.fixed_in(some, parent, fixed).size == 0
    for s in closed_sets(groups.above, groups.is_group)[:MOST_SETS:5]:
        kept = groups.kept(s)
        assert kept[wanted].all() == s[some].all()
        assert not kept[(groups.of >= 0) & ~kept[groups.payer[groups.of]]].any()


FREE, DEAR, DEARER = 1, 0, 2  # features: the first and the last have a price


def leaf(error: float) -> Node:
    return Node(error)


def above_what_gains(error_beside: float) -> Node:
    """A free root that gains 6 less `error_beside`, and below it a split that costs 1 and gains 4."""
    return Node(10, FREE, 0.5, Node(4, DEAR, 0.5, leaf(0), leaf(0)), leaf(error_beside))


def below_what_costs(gain: float) -> Node:
    """A root that costs 1 and gains 2, and below it a free split with this gain."""
    return Node(6 + gain, DEAR, 0.5, Node(gain + 2, FREE, 0.5, leaf(1), leaf(1)), leaf(2))


LOSS_BEFORE_GAIN = Node(9, DEAR, 0.5, Node(4, FREE, 0.5, Node(5, FREE, 1.5, leaf(1), leaf(2)), leaf(0)), leaf(0))
"""Below what costs, a free split loses 1, and the free one below it gains 2: together they gain."""

LOSS_BEFORE_PRICE = Node(9, DEAR, 0.5, Node(4, FREE, 0.5, Node(5, DEARER, 1.5, leaf(1), leaf(1)), leaf(0)), leaf(0))
"""Below what costs, a free split loses 1, and what it opens costs 1 and gains 3."""

NOTHING_BEFORE_PRICE = Node(10, DEAR, 0.5, Node(5, FREE, 0.5, Node(5, DEARER, 1.5, leaf(1), leaf(1)), leaf(0)), leaf(0))
"""The same with a free split that gains nothing."""

TWO_BELOW = Node(8, FREE, 0.5, Node(4, DEAR, 0.5, leaf(0), leaf(0)), Node(4, DEARER, 0.5, leaf(0), leaf(0)))
"""A free root that gains nothing opens two splits, each with a price."""

BY_HAND: list[tuple[str, Node, Ties, dict[int, set[int]]]] = [
    # nodes are numbered in preorder; groups are told by their payers
    ("(1) a split that loses", Node(2, DEAR, 0.5, leaf(2), leaf(1)), "largest", {}),
    ("(1) one that gains nothing", Node(2, DEAR, 0.5, leaf(1), leaf(1)), "smallest", {}),
    ("(1) the same among the largest", Node(2, DEAR, 0.5, leaf(1), leaf(1)), "largest", {0: {0}}),
    ("(2) a gain for nothing", below_what_costs(3), "smallest", {0: {0, 1}}),
    ("(2) no gain for nothing", below_what_costs(0), "smallest", {0: {0}}),
    ("(2) the same among the largest", below_what_costs(0), "largest", {0: {0, 1}}),
    ("(2) a loss before a larger gain", LOSS_BEFORE_GAIN, "smallest", {0: {0, 1, 2}}),
    ("(3) opens what has a price", above_what_gains(6), "smallest", {1: {0, 1}}),
    ("(3) gains nothing, among the largest", above_what_gains(6), "largest", {0: {0}, 1: {1}}),
    ("(3) loses, among the largest", above_what_gains(7), "largest", {1: {0, 1}}),
    ("(3) a gain needs no reason", above_what_gains(5), "smallest", {0: {0}, 1: {1}}),
    ("(3) a loss below what costs", LOSS_BEFORE_PRICE, "smallest", {0: {0}, 2: {1, 2}}),
    ("(3) nothing below what costs", NOTHING_BEFORE_PRICE, "smallest", {0: {0}, 2: {1, 2}}),
    ("(2) the same among the largest", NOTHING_BEFORE_PRICE, "largest", {0: {0, 1}, 2: {2}}),
    ("(3) two are below", TWO_BELOW, "smallest", {0: {0}, 1: {1}, 4: {4}}),
]


@looped(("rule", "tree", "ties", "groups"), BY_HAND)
def test_rules_by_hand(rule: str, tree: Node, ties: Ties, groups: dict[int, set[int]]) -> None:
    """Each rule where it just holds, and where it just does not."""
    problem = problem_of([tree], [1, 0, 1], np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [0, 0, 1]], dtype=float))
    assert members(problem.reduced(ties).groups) == groups


def test_what_is_evaluated_at_a_price_is_not_free() -> None:
    """Below what costs, a split that gains at once waits for a lambda of its own if its evaluation costs something."""
    rows = np.zeros((2, 3))
    assert members(problem_of([below_what_costs(3)], [1, 0, 1], rows).reduced().groups) == {0: {0, 1}}
    problem = problem_of([below_what_costs(3)], [1, 0, 1], rows, evaluation_cost=[0, 0.5, 0])
    assert members(problem.reduced().groups) == {0: {0}, 1: {1}}


def test_a_reduction_is_made_once_for_each_kind_of_ties() -> None:
    """The same object at the second call; smallest and largest are two."""
    problem = problem_of([below_what_costs(0)], [1, 0, 1])
    assert problem.reduced() is problem.reduced("smallest")
    assert problem.reduced("largest") is problem.reduced("largest")
    assert members(problem.reduced().groups) != members(problem.reduced("largest").groups)
