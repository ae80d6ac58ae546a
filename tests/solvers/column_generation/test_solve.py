"""Dantzig-Wolfe at a lambda; pricing by shortest paths and by the pass over the trees, within the rounding that each states."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import linprog
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CapacityOverflowError, InvalidInputError, Pruning, PruningProblem, SolverFailedError, Status, StopReason
from formulations.instance.papers import two_trees
from formulations.programs.shortest_path import tree_network, tree_networks
from solvers import min_cut
from solvers.brute_force import all_prunings
from solvers.column_generation import BUNDLE, PLAIN, Scheme, dantzig_wolfe
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.loop import MasterAnswer, relative_gap
from solvers.column_generation.params import DEFAULTS, ColumnParams
from solvers.column_generation.pricing import Coupling
from solvers.column_generation.shortest_paths import batches_of, price_by_shortest_paths, price_by_tree_pass
from tests.instances import Node, problem_of, random_problem, stop_costs
from tests.loops import looped
from tests.solvers.cases import ends_by_ctrl_c, instance, lambdas

SCHEMES = {
    "plain": PLAIN,
    "bundle": BUNDLE,
    "bundle, not merged": Scheme(merge=False),
    "smoothed": Scheme(master="linear program", smoothing=0.5),
}
REAL = ("iris", "breast cancer, discounts", "breast cancer, licence", "wine, evaluation", "diabetes")


@pytest.mark.slow_cases("breast cancer, discounts", "breast cancer, licence", "diabetes", "iris")
@pytest.mark.parametrize("name", REAL)
def test_bounds_hold_in_every_round(name: str) -> None:
    """No round's bound passes the optimum, the best never falls, upper values never rise, and gaps are what they say."""
    problem = instance(name)
    for lam, (label, scheme) in itertools.product(lambdas(name), SCHEMES.items()):
        best, solution = min_cut(problem, lam).value, dantzig_wolfe(problem, lam, scheme=scheme)
        h = pd.DataFrame(solution.history)
        slack = 1e-10 * max(best, 1e-3)
        assert len(h) == solution.stats["rounds"] >= 1
        assert (h["round_bound"] <= best + slack).all(), (lam, label)
        assert (h["bound"].diff().dropna() >= 0).all()
        assert (h["value"].diff().dropna() <= 0).all()
        assert (h["value"] >= best - slack).all()
        assert (h["bound"] >= h["round_bound"]).all()
        assert (h["columns"].diff().dropna() == h["added"][:-1].to_numpy()).all()
        assert (h["master_seconds"] + h["pricing_seconds"]).sum() <= h["seconds"].iloc[-1]
        reference = float(problem.node_error[problem.ensemble.roots].sum())
        assert h["gap"].tolist() == [relative_gap(u, b, reference) for u, b in zip(h["value"], h["bound"], strict=True)]
        assert solution.value == pytest.approx(best, rel=1e-9)
        assert solution.relative_gap <= 1e-7


def by_recursion(problem: pm.PruningProblem, node_cost: Any, split_charge: Any) -> pm.engines.CheapestPrunings:
    """Pricing from the roots down, which shares no code with ours."""
    forest, kept = problem.ensemble, np.zeros(problem.ensemble.n_nodes, dtype=bool)

    def best(h: int) -> float:
        if not forest.is_split[h]:
            return float(node_cost[h])
        below = split_charge[h] + best(int(forest.left[h])) + best(int(forest.right[h]))
        kept[h] = below < node_cost[h]
        return float(min(below, node_cost[h]))

    value = np.array([best(int(r)) for r in forest.roots])
    for h in problem.usage.splits.tolist():
        kept[h] &= forest.parent[h] < 0 or kept[forest.parent[h]]
    return pm.engines.CheapestPrunings(kept, value, 1e-12 * np.abs(value))


class ByArrays:
    """LP3 by SciPy, row by row."""

    def __init__(self, rows: Coupling) -> None:
        self.rows, self.columns, self.alpha, self.solved = rows, list[Any](), np.zeros(0), 0

    @property
    def n_columns(self) -> int:
        return len(self.columns)

    def add(self, columns: Sequence[Any]) -> None:
        self.columns += columns

    def refine(self) -> bool:
        return False

    def solve(self, time_limit: float) -> MasterAnswer | None:
        rows, trees = self.rows, self.rows.problem.ensemble.n_trees
        self.solved += 1
        shape = (rows.n_rows, self.n_columns)
        uses = np.array([[u in c.kept for c in self.columns] for u in rows.node], dtype=float).reshape(shape)
        pays = np.equal.outer(rows.purchase, np.arange(rows.price.size)).astype(float)
        of_tree = np.array([[c.tree == t for c in self.columns] + [False] * rows.price.size for t in range(trees)], dtype=float)
        cost = np.append([c.cost for c in self.columns], rows.price)
        found = linprog(cost, np.hstack([uses, -pays]), np.zeros(rows.n_rows), of_tree, np.ones(trees))
        self.alpha = found.x[: self.n_columns]
        return MasterAnswer(found.fun, found.fun, -found.ineqlin.marginals, found.eqlin.marginals)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_pricing_and_master_may_be_functions(scheme: str) -> None:
    """The optimum and its proof are those of the named ones, whichever of the two is another's; both are really asked."""
    problem, asked, built = pm.datasets.two_trees(prices=(1, 2, 1)), [], list[ByArrays]()

    def pricing(*given: Any) -> pm.engines.CheapestPrunings:
        asked.append(given)
        return by_recursion(*given)

    def master(rows: Coupling) -> ByArrays:
        built.append(ByArrays(rows))
        return built[-1]

    for lam in (0.02, 0.1, 0.3):
        best = min_cut(problem, lam).value
        for options in ({"pricing": pricing}, {"master": master}, {"pricing": pricing, "master": master}):
            found = dantzig_wolfe(problem, lam, scheme=SCHEMES[scheme], **options)  # type: ignore[arg-type]
            assert (found.value, found.status) == (pytest.approx(best, abs=1e-12), Status.OPTIMAL)
            assert pm.checks.check_solution(problem, found)
    assert asked
    assert all(m.solved for m in built)
    assert len(built) == 6


def test_wrong_pricing_and_masters_are_refused_by_name() -> None:
    """What no pruning is, what it does not cost, and numbers that are too few; a pricing that overlooks all is not optimal."""
    problem = pm.datasets.two_trees()
    none, kept = np.zeros(12, dtype=bool), np.eye(12, dtype=bool)[2]
    roots = problem.node_error[problem.ensemble.roots]

    def gives(*answer: Any) -> Any:
        return lambda *_: pm.engines.CheapestPrunings(*answer)

    for wrong, message in (
        (lambda *_: None, "kept is object of shape"),
        (gives(none[:3], roots, 0 * roots), r"kept is bool of shape \(3,\)"),
        (gives(kept, roots, 0 * roots), "keeps node 2, which"),
        (gives(none, roots[:1], 0 * roots), "value and rounding have the shapes"),
        (gives(none, roots + 1, 0 * roots), "tree 0: value is 1.5, but what it keeps costs 0.5"),
    ):
        with pytest.raises(InvalidInputError, match=f"pricing: .*{message}"):
            dantzig_wolfe(problem, 0.1, pricing=wrong, scheme="plain")

    class Short(ByArrays):
        def solve(self, time_limit: float) -> MasterAnswer | None:
            answer = super().solve(time_limit)
            return answer and replace(answer, convexity=answer.convexity[:1])

    with pytest.raises(InvalidInputError, match=r"master: convexity has shape \(1,\); give 2"):
        dantzig_wolfe(problem, 0.1, master=Short)
    lazy = dantzig_wolfe(problem, 0.1, pricing=gives(none, roots, 0 * roots), scheme="plain")
    assert lazy.bound <= min_cut(problem, 0.1).value + 1e-12


@looped(("seed", "lam"), [(12, 0.0671717), (14, 0.03)])
def test_a_bundle_that_stalls_hands_over(seed: int, lam: float) -> None:
    """Prices 1e5 times the gains: floats hide the bundle's last 1e-8, and the linear program closes the gap from its columns. The
    bound at the bundle's charges rose above its centre's in each round, though no longer above the best: no end was seen.
    """
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, max_leaf_nodes=4, random_state=seed).fit(X, y)
    problem = pm.problem_from_forest(forest, X[::30], costs=[0, 733841, 313195, 793072], evaluation_cost=0.3)
    found = dantzig_wolfe(problem, lam, rounds=2 * DEFAULTS.most_idle)
    assert found.stopped is StopReason.CONVERGED
    assert DEFAULTS.most_idle < found.stats["rounds"] < 2 * DEFAULTS.most_idle
    assert found.relative_gap <= 1e-9
    assert found.stats["rows"] > problem.ensemble.n_trees, "the last master is the linear program"
    assert found.value == pytest.approx(min_cut(problem, lam).value)


def test_a_gap_that_stays_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither master finds a column, and where HiGHS fails after the bundle, the answer says that the run stalled."""
    problem, lam = instance("breast cancer, discounts"), lambdas("breast cancer, discounts")[2]
    monkeypatch.setattr("solvers.column_generation.loop._ColumnLoop._new", lambda *_: [])
    params = ColumnParams(most_idle=0)
    found = dantzig_wolfe(problem, lam, params=params)
    assert found.stopped is StopReason.STALLED
    assert found.status is Status.FEASIBLE
    assert found.bound <= min_cut(problem, lam).value <= found.value

    def fails(*_: object) -> None:
        raise SolverFailedError("HiGHS ended a restricted master")

    monkeypatch.setattr(FullMaster, "solve", fails)
    assert dantzig_wolfe(problem, lam, params=params).stopped is StopReason.STALLED
    with pytest.raises(SolverFailedError):
        dantzig_wolfe(problem, lam, scheme=PLAIN)


def test_impossible_options_are_refused() -> None:
    """Numbers out of range are named, and a master whose value is no upper bound is not asked for one."""
    for options, words in [
        ({"master": "linear program", "smoothing": 1.0}, "smoothing is 1.0"),
        ({"master": "linear program", "smoothing": -0.1}, "smoothing is -0.1"),
        ({"look": False}, "a bundle needs a pruning's value"),
        ({"smoothing": 0.5}, "a bundle stays near its centre"),
        ({"master": "simplex"}, "master is 'simplex'; give one of 'bundle', 'linear program'"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            Scheme(**options)  # type: ignore[arg-type]
    for options, words in [
        ({"gap": -1.0}, "gap is -1.0"),
        ({"time_limit": math.nan}, "time_limit is nan"),
        ({"pricing": "guess"}, "pricing is 'guess'"),
        ({"scheme": "simple"}, "scheme is 'simple'"),
    ]:
        with pytest.raises(InvalidInputError, match=words):
            pm.engines.dantzig_wolfe(two_trees(), 0.1, **options)


@looped("scheme", ["bundle", "plain"])
def test_a_look_inside(scheme: Literal["bundle", "plain"]) -> None:
    """Every column of the master is told once, with the reduced cost < 0 at which it entered; duals sum to at most the prices."""
    problem, lam = instance("breast cancer, discounts"), lambdas("breast cancer, discounts")[2]
    found = dantzig_wolfe(problem, lam, scheme=scheme)
    named = dantzig_wolfe(problem, lam, scheme=SCHEMES[scheme])
    assert named.history["bound"].tolist() == found.history["bound"].tolist()
    table, rounds, duals = found.columns(), found.rounds(), found.duals()
    assert len(table) == found.stats["columns"]
    assert len({e.column.key for e in found.entered}) == len(table)
    assert (table["entered"].value_counts().reindex(rounds.index[:-1], fill_value=0) == rounds["added"][:-1]).all()
    later = table[table["entered"] > 0]
    assert (later["reduced_cost"] < 0).all()
    assert table.loc[table["entered"] == 0, "reduced_cost"].isna().all()
    assert rounds.index[0] == 1
    assert rounds["bound"].iloc[-1] == found.history["bound"][-1]
    assert (duals["dual"] > 0).all()
    price = dict(zip(problem.costs.names, problem.costs.price, strict=True))
    payments = duals.groupby(["item", "example"])["dual"].sum()
    most = [lam * price[item] / problem.usage.total_weight for item, _ in payments.index]
    assert (payments.to_numpy() <= np.array(most) * (1 + 1e-9)).all()
    assert {problem.ensemble.tree_of[h] for h in duals["split"]} == set(duals["tree"])


@pytest.mark.slow
def test_ctrl_c_ends_a_long_solve() -> None:
    """Ctrl-C during a long decomposition ends the process within 8 s by InterruptedSolveError, with nothing on stderr."""
    before = """
import prunemodels as pm
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from solvers.column_generation import PLAIN, dantzig_wolfe
X, y = load_digits(return_X_y=True)
problem = pm.problem_from_forest(RandomForestClassifier(24, random_state=0).fit(X[:900], y[:900]), X[900:], costs=1)
"""
    ends_by_ctrl_c(before, "dantzig_wolfe(problem, 1e-3, scheme=PLAIN)", after=1.5, within=8)


ENGINES = [price_by_shortest_paths, price_by_tree_pass]


def exact_cost(problem: PruningProblem, kept: NDArray[np.bool_], stop: Any, charge: Any) -> list[Fraction]:
    """(1) of each tree, in fractions."""
    ends = Pruning(problem, kept).is_leaf
    costs = [Fraction(0)] * problem.ensemble.n_trees
    for h, t in enumerate(problem.ensemble.tree_of):
        if ends[h] or kept[h]:
            costs[t] += Fraction(stop[h].item()) if ends[h] else Fraction(charge[h].item())
    return costs


@pytest.mark.parametrize("engine", ENGINES)
def test_the_papers_trees_by_hand(engine: Any) -> None:
    """Errors in eighths; keeping each split costs one: tree 1 keeps its root alone, tree 2 its root and node 7."""
    # tree 1: stop at 1: 4;  keep 1: 1 + e_2 + min(e_3 = 2, 1 + 0 + 0) = 1 + 0 + 1 = 2: both splits are kept
    # tree 2: stop at 6: 4;  keep 6: 1 + min(e_7 = 1, 1 + 0) + min(e_10 = 2, 1 + 0 + 1) = 1 + 1 + 2 = 4: ties
    stop = np.array([4, 0, 2, 0, 0, 4, 1, 0, 0, 2, 0, 1])
    priced = engine(two_trees(), stop, np.full(12, 1))
    assert priced.value.tolist() == [2, 4]
    assert priced.kept[:5].tolist() == [True, False, True, False, False]
    # one cheaper split of tree 2 breaks the tie: 1 + 1 + (0 + 0 + 1) = 3, or with node 7 kept as well, equal
    charge = np.full(12, 1)
    charge[9] = 0
    priced = engine(two_trees(), stop, charge)
    assert priced.value.tolist() == [2, 3]
    assert priced.kept[[5, 9]].tolist() == [True, True]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@given(seed=st.integers(0, 10_000), scale=st.integers(-300, 300))
@settings(max_examples=60, deadline=None)
def test_no_pruning_is_cheaper(engine: Any, seed: int, scale: int) -> None:
    """Against all prunings, in fractions: value, optimum and the kept splits' cost differ by at most the rounding."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    stop, charge = np.ldexp(rng.normal(size=(2, problem.ensemble.n_nodes)), scale)
    priced = engine(problem, stop, charge)
    every = [exact_cost(problem, kept, stop, charge) for kept in all_prunings(problem).kept]
    least = [min(column) for column in zip(*every, strict=True)]
    own = exact_cost(problem, priced.kept, stop, charge)
    for value, rounding, least_t, own_t in zip(priced.value, priced.rounding, least, own, strict=True):
        assert abs(Fraction(value.item()) - least_t) <= Fraction(rounding.item())
        assert abs(Fraction(value.item()) - own_t) <= Fraction(rounding.item())
    # the rounding says something: far below the costs
    assert (priced.rounding <= 1e-9 * (np.abs(stop).sum() + np.abs(charge).sum())).all()


def test_many_rows_at_a_split_take_no_time() -> None:
    """An arc for each of 30,000 rows, in a row: one arc to OR-Tools, which would need minutes for a path that long."""
    rows = np.linspace(0, 1, 30_000)[:, None]
    problem = problem_of([Node(30_000, 0, 0.5, Node(0), Node(5_000))], [1], rows, weight=30_000.0)
    network = tree_network(problem, 0, expanded=True)
    assert (network.n_boundaries, network.runs.n_boundaries) == (30_003, 4)
    stop = stop_costs(problem, 0.5)
    for charge, kept in ((0.5, True), (1e30, False)):
        answer = price_by_shortest_paths(problem, stop, np.array([charge, 0, 0]), batches_of([network]))
        assert abs(answer.value[0] - (1 / 6 + 0.5 if kept else 1.0)) <= answer.rounding[0] + 1e-12
        assert answer.kept[0] == kept


def test_what_the_grid_cannot_hold_is_stated() -> None:
    """One huge cost beside tiny ones: these vanish, and the rounding says so; small whole numbers are not rounded at all."""
    stop, charge = np.array([9.0, 0, 1, 0, 0, 9, 1, 0, 0, 1, 0, 0]), np.full(12, 1.0)
    answer = price_by_shortest_paths(two_trees(), stop, charge)
    assert (answer.value.tolist(), answer.rounding.tolist()) == ([2.0, 3.0], [0.0, 0.0])
    huge = price_by_shortest_paths(two_trees(), np.where(np.arange(12) == 0, 2.0**80, stop), charge)
    assert abs(huge.value[0] - 2.0) <= huge.rounding[0]
    assert huge.rounding[0] > 1 > huge.rounding[1]
    with pytest.raises(CapacityOverflowError, match=r"tree 0: costs up to 1\.7e\+308 add up to more than a float64 holds"):
        price_by_shortest_paths(two_trees(), np.full(12, 1.7e308), charge)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pass_over_one_leaf_and_free_trees(engine: Any) -> None:
    """A tree of one leaf costs its stop; costs of 0 everywhere cost 0; charges of leaves do not count."""
    problem = problem_of([Node(2), Node(1, 0, 0.5, Node(0), Node(0))], [0], weight=1.0)
    charge = np.array([1e300, -3.0, 1e300, 1e300])
    priced = engine(problem, np.array([2.5, 0, 1, 1]), charge)
    assert priced.value.tolist() == [2.5, -1.0]
    assert priced.rounding.max() < 1e-12
    assert priced.kept.tolist() == [False, True, False, False]
    free = engine(problem, np.zeros(4), np.zeros(4))
    assert free.value.tolist() == [0.0, 0.0]
    assert engine is not price_by_tree_pass or not free.kept.any()  # among equals the pass keeps the fewest splits


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_costs_are_refused(engine: Any) -> None:
    """Shapes, types and non-finite numbers, by name."""
    problem = two_trees()
    with pytest.raises(InvalidInputError, match=r"node_cost is float64 of shape \(11,\).* 12"):
        engine(problem, np.zeros(11), np.zeros(12))
    with pytest.raises(InvalidInputError, match="split_charge is <U1 of shape"):
        engine(problem, np.zeros(12), np.full(12, "a"))
    with pytest.raises(InvalidInputError, match=r"split_charge\[3\] is nan; costs must be finite"):
        engine(problem, np.zeros(12), np.where(np.arange(12) == 3, np.nan, 0))


def test_graphs_of_something_else_are_refused() -> None:
    """All trees, in their order, of this problem."""
    problem = two_trees()
    networks = tree_networks(problem)
    zeros = np.zeros(12)
    for wrong in (networks[:1], networks[::-1], tree_networks(two_trees())):
        with pytest.raises(InvalidInputError, match="give the graphs of all trees of this problem, in their order"):
            price_by_shortest_paths(problem, zeros, zeros, batches_of(wrong))
