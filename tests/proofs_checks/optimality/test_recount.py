"""The instance recounted is the instance: its routes, prices, errors and integers, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from formulations import InvalidInputError, PruningProblem
from formulations.answers.pruning import Pruning
from formulations.instance.papers import two_trees
from proofs_checks.optimality.item_duals import WideSums, forced, wide_sum
from proofs_checks.optimality.recount import Recount, Refuted, shown
from tests.instances import Node, ensemble_of, plain_errors, random_problem, random_tree, with_usage
from tests.loops import looped
from tests.proofs_checks.optimality.slow_recount import SlowRecount

INT64 = st.integers(-(2**63), 2**63 - 1)


@settings(deadline=None)
@given(amounts=st.lists(INT64, min_size=1, max_size=40))
def test_wide_sums_are_those_of_python(amounts: list[int]) -> None:
    """Sums of 64-bit integers are exact far beyond 64 bits, of all together and place by place."""
    array = np.array(amounts, dtype=np.int64)
    assert wide_sum(array) == sum(amounts)
    sums = WideSums(3)
    for k, x in enumerate(amounts):
        sums.add(np.array([k % 3, (k + 1) % 3]), np.array([x, -1 - x], dtype=np.int64))
    expected = [sum(x for k, x in enumerate(amounts) if k % 3 == p) for p in range(3)]
    expected = [e + sum(-1 - x for k, x in enumerate(amounts) if (k + 1) % 3 == p) for p, e in enumerate(expected)]
    assert sums.of(slice(0, 3)).tolist() == expected


@looped("seed", range(24))
def test_segments_are_the_usage_arcs(seed: int) -> None:
    """Found by thresholds alone, usage arcs come out in the canonical order of certificates, of all splits and of some."""
    problem = random_problem(seed)
    recount = Recount(problem)
    rng = np.random.default_rng(seed)
    some = rng.permutation(problem.usage.splits)[: problem.usage.splits.size // 2].astype(np.int32)
    for nodes in (None, some):
        arcs = problem.usage.arcs(nodes)
        found = list(recount.segments(None if nodes is None else nodes.tolist()))
        tail = [s.split for s in found for _ in s.purchases]
        head = [int(j) for s in found for j in s.purchases]
        assert tail == arcs.tail.tolist()
        assert head == arcs.head.tolist()
        assert [s.last for s in found] == np.cumsum([s.purchases.size for s in found]).tolist()


@looped("seed", range(24))
def test_objectives_are_those_of_fractions(seed: int) -> None:
    """Error and cost of any pruning are, exactly, those that slow fractions give; free items, weights and evaluation included."""
    problem = random_problem(seed, rounded=seed % 3 == 0)
    slow, fast = SlowRecount(problem), Recount(problem)
    rng = np.random.default_rng(seed)
    for _ in range(4):
        kept = problem.ensemble.is_split & (rng.random(problem.ensemble.n_nodes) < 0.8)
        for h in range(kept.size):
            if problem.ensemble.parent[h] >= 0:
                kept[h] &= kept[problem.ensemble.parent[h]]
        assert fast.objective(kept) == slow.objective(Pruning(problem, kept))


def test_what_is_no_pruning_is_refuted() -> None:
    """A leaf kept, a split below one that is not, another length or type: each is named."""
    problem = two_trees()
    recount, kept = Recount(problem), Pruning.unpruned(problem).kept
    for wrong in (kept[:-1], kept.astype(np.int8), kept.tolist(), None, kept[None, :]):
        with pytest.raises(Refuted, match="no array of 12 times"):
            recount.objective(wrong)  # type: ignore[arg-type]
    for h, keeps, named in ((0, False, 2), (1, True, 1)):
        wrong = kept.copy()
        wrong[h] = keeps
        with pytest.raises(Refuted, match=f"node {named} is kept, but"):
            recount.objective(wrong)


def test_nan_goes_where_the_tree_says() -> None:
    """A missing value goes left or right as the node has it, and a threshold is met by a value that equals it."""
    ensemble, error = ensemble_of([Node(2, 0, 0.5, Node(1), Node(1))], 1)
    X = np.array([[np.nan], [0.5], [np.float32(0.5000001)]])
    for left in (True, False):
        trees = replace(ensemble, missing_left=np.array([left, False, False]))
        problem = PruningProblem.build(trees, plain_errors(trees, error, 4.0), X, random_problem(0).costs.plain([1]))
        routes = Recount(problem).routes
        assert routes.rows(1).tolist() == ([0, 1] if left else [1])
        assert routes.rows(2).tolist() == ([2] if left else [0, 2])


def test_any_table_can_be_routed_again() -> None:
    """Tables with missing entries, sparse matrices and lists are read as they were when the instance was built."""
    rng = np.random.default_rng(5)
    problem = random_problem(5)
    x = rng.integers(0, 5, (9, problem.ensemble.n_features)).astype(float)
    table = pd.DataFrame(x).convert_dtypes().astype("Float64")
    table.iloc[2, 0] = pd.NA
    for X in (table, sparse.csr_array(x), x.tolist(), x.astype(np.float32)):
        built = PruningProblem.build(
            problem.ensemble, problem.errors, X, problem.costs, sample_weight=[1, 0, 1, 1, 1, 0, 1, 1, 1]
        )
        recount = Recount(built)
        assert recount.n_rows == 7
        assert Recount(with_usage(built, X=None), X).total == recount.total


def test_tables_of_another_shape_are_refused() -> None:
    """Another number of rows or columns, no table, words: the message says what is asked for."""
    problem = two_trees()
    for X, message in (
        (np.zeros((1, 2)), "the trees ask for 3 features"),
        (np.zeros(3), "the trees ask for 3 features"),
        (np.zeros((2, 3)), "X has 2 rows, the problem's cost sample has 1"),
        (np.zeros((0, 3)), "X has 0 rows, the problem counts rows up to 0"),
        ([["a", "b", "c"]], "not a table of numbers"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            Recount(problem, X)
    with pytest.raises(InvalidInputError, match="carries no rows"):
        Recount(with_usage(problem, X=None))


def test_weights_and_errors_that_are_none_are_refused() -> None:
    """Weights of 0, below, or not a number, one too many, and errors that are not finite are refused, not summed."""
    problem = two_trees()
    for weights in ([0.0], [-1.0], [np.nan], [1.0, 1.0]):
        with pytest.raises(InvalidInputError, match="weights for 1 rows"):
            Recount(with_usage(problem, weights=np.array(weights)))
    with pytest.raises(InvalidInputError, match="a row's weight is inf"):
        Recount(with_usage(problem, weights=np.array([np.inf])))
    broken = random_problem(1)
    broken.errors.components[0].e[0] = np.nan
    with pytest.raises(InvalidInputError, match="not all finite"):
        Recount(broken)


def test_weights_of_any_size_are_exact() -> None:
    """Weights whose common denominator has hundreds of digits give the same costs as fractions do."""
    seed = next(s for s in range(50) if random_problem(s).usage.n_rows > 3 and Pruning.unpruned(random_problem(s)).cost > 0)
    problem = random_problem(seed)
    weights = np.array([1e-200, 0.1, 1 / 3, 1e17, *np.ones(problem.usage.n_rows)])[: problem.usage.n_rows]
    heavy = with_usage(problem, weights=weights)
    kept = problem.ensemble.is_split
    assert Recount(heavy).weight.dtype == object
    assert Recount(heavy).objective(kept) == SlowRecount(heavy).objective(Pruning(heavy, kept))


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_forcing_costs_what_all_closures_say(seed: int) -> None:
    """The best closure with a split in it, and without it, found by listing all, are what two passes over the trees give."""
    rng = np.random.default_rng(seed)
    trees = [random_tree(rng, 1, int(rng.integers(0, 5)), 1) for _ in range(2)]
    ensemble, _ = ensemble_of(trees, 1)
    splits = np.flatnonzero(ensemble.is_split).tolist()
    profit = {h: int(rng.integers(-5, 6)) for h in splits}
    parent = ensemble.parent.tolist()
    closures = [set[int]()]
    for h in splits:
        closures += [c | {h} for c in closures if parent[h] < 0 or parent[h] in c]
    worth = [(sum(profit[h] for h in c), c) for c in closures]
    found = forced(profit, ensemble.left.tolist(), ensemble.right.tolist(), parent)
    assert found.best == max(w for w, _ in worth)
    for h in splits:
        assert found.best - found.lost_in[h] == max(w for w, c in worth if h in c)
        assert found.best - found.lost_out[h] == max(w for w, c in worth if h not in c)


def test_numbers_are_shown_whatever_their_size() -> None:
    """A fraction beyond the range of floats is shown by its size."""
    assert shown(Fraction(1, 4)) == "0.25"
    assert shown(Fraction(10**400)) == "about 10^400"
