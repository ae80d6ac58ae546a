"""The instances on which every engine must agree: by hand, random, degenerate, and real.

A case is a function that builds an instance, with the lambdas to solve it for. `OPTIMA` holds optima worked out by hand.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from formulations import CostItems, PruningPath, PruningProblem
from formulations.instance.papers import two_trees
from prunemodels.data_files import FOLDER_VARIABLE, data_folder, load_dataset
from solvers.path.params import PathParams
from solvers.path.pruning_path import PathOptions, divide_and_conquer
from tests.instances import Node, problem_of, random_problem

PATH_POINTS = (0.15, 0.5, 0.85)
"""Where on the path, from its first breakpoint to its last, real instances are solved: at the breakpoint, and beyond it."""


@dataclass(frozen=True)
class Case:
    """An instance and its lambdas; None: taken from its path."""

    build: Callable[[], PruningProblem]
    lams: tuple[float, ...] | None = None


def stump(errors: tuple[float, float, float], prices: list[float], rows: list[list[float]], **options: object) -> PruningProblem:
    """One split on feature 0 with the errors of its root and of its leaves, of 10 examples."""
    X, costs = np.array(rows, dtype=float), CostItems.plain(prices)
    return problem_of([Node(errors[0], 0, 0.5, Node(errors[1]), Node(errors[2]))], costs, X, **options)  # type: ignore[arg-type]


def twin_stumps(price: float = 1.0) -> PruningProblem:
    """Two equal stumps: each gains 2 of 10 in its tree, and together they pay once."""
    tree = Node(4, 0, 0.5, Node(1), Node(1))
    return problem_of([tree, tree], [price])


def leaves_only() -> PruningProblem:
    """Two trees that are single leaves: nothing to prune."""
    return problem_of([Node(3), Node(1)], [1, 1], np.zeros((3, 2)))


def unreached() -> PruningProblem:
    """A split that no cost row reaches is free; the one above it is not."""
    tree = Node(6, 0, 0.5, Node(1), Node(4, 1, 0.5, Node(1), Node(1)))
    return problem_of([tree], [1, 5], np.zeros((4, 2)))


def ladder() -> PruningProblem:
    """A chain of splits on one feature: paid at the top, the rest is free."""
    tree = Node(9)
    for error in (3, 5, 8, 9):
        tree = Node(error, 0, float(error), Node(1), tree) if tree.left else Node(error, 0, float(error), Node(1), Node(1))
    return problem_of([tree], [3], np.full((2, 1), 100.0), weight=20.0)


def losing() -> PruningProblem:
    """Splits that lose: gains below 0 on data that the tree was not grown on, worth keeping only for what is below."""
    good = Node(3, 1, 0.5, Node(0), Node(0))
    return problem_of([Node(4, 0, 0.5, good, Node(3)), Node(1, 0, 0.5, Node(1), Node(2))], [1, 1], np.zeros((2, 2)))


def apart(prices: tuple[float, float] = (1e6, 1e-6), **options: object) -> PruningProblem:
    """One tree: a useless dear split below which a cheap one gains a quarter of the error."""
    tree = Node(10, 1, 0.5, Node(5), Node(0, 0, 0.5, Node(0), Node(0)))
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=float)
    return problem_of([tree], prices, X, weight=20.0, **options)  # type: ignore[arg-type]


def beyond_the_gain() -> PruningProblem:
    """One split earns all there is, one purchase costs more: capped and rounded down, its price stays above the gain."""
    split = Node(np.pi / 3, 0, 0.5, Node(0.1234567890123), Node(0.0))
    return problem_of([split], [1], weight=3.0, sample_weight=[0.3141592653589793])


def forest_case(
    load: Callable[..., tuple[np.ndarray, np.ndarray]], trees: int, depth: int | None, rows: int, **options: object
) -> Case:
    """A forest on data that scikit-learn ships: half of the rows to train, some of the others as cost sample."""
    grow = RandomForestRegressor if load is load_diabetes else RandomForestClassifier
    forest = grow(trees, max_depth=depth, random_state=0)
    return Case(lambda: grown(forest, *load(return_X_y=True), rows, **options))


def grown(forest: Any, X: np.ndarray, y: np.ndarray, rows: int, **options: object) -> PruningProblem:
    """The problem of the forest, fitted to half of the rows; options may depend on the data."""
    order = np.random.default_rng(0).permutation(len(y))
    train, cost = order[: len(y) // 2], order[len(y) // 2 :][:rows]
    given = {key: value(X, cost) if callable(value) else value for key, value in options.items()}
    return pm.problem_from_forest(forest.fit(X[train], y[train]), X[cost], **{"costs": 1.0, **given})


def real_case(name: str, trees: int, rows: int) -> Case:
    """A forest on data of the shared folder; skipped visibly where it is absent."""

    def build() -> PruningProblem:
        if not (data_folder() / f"{name}.csv.gz").is_file():
            pytest.skip(f"no {name}.csv.gz in {data_folder()}; name its folder in {FOLDER_VARIABLE}")
        data = load_dataset(name)
        forest = ExtraTreesClassifier(trees, criterion="entropy", max_depth=5, bootstrap=True, random_state=0)
        return grown(forest, np.asarray(data.X, dtype=np.float32), data.y, rows)

    return Case(build)


def grouped(X: np.ndarray, cost: np.ndarray) -> CostItems:
    """Three features share an item; every other group has its own price."""
    groups = [f"g{f // 3}" for f in range(X.shape[1])]
    return CostItems.grouped(groups, {g: 1 + k % 3 for k, g in enumerate(dict.fromkeys(groups))})


def discounted(X: np.ndarray, cost: np.ndarray) -> CostItems:
    """Turney's discounts: the first feature of a group pays 2.10 more."""
    n = X.shape[1]
    own = [1 + 0.37 * (f % 5) for f in range(n)]
    return CostItems.discounted([p + 2.10 for p in own], own, [f"lab{f % 2}" for f in range(n)])


def licensed(X: np.ndarray, cost: np.ndarray) -> CostItems:
    """The second half of the features needs a licence, paid once for all examples."""
    names = [f"x{f}" for f in range(X.shape[1])]
    needs = [[n, "licence"] if f >= len(names) // 2 else [n] for f, n in enumerate(names)]
    return CostItems.from_items(dict.fromkeys(names, 1) | {"licence": 2}, needs, once=["licence"])


def lognormal(X: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Weights of the cost rows that are real numbers."""
    return np.random.default_rng(0).lognormal(0, 1, len(cost))


def roots(X: np.ndarray, cost: np.ndarray) -> list[float]:
    """No two prices have a common unit."""
    return [float(p) for p in np.sqrt(np.arange(X.shape[1]) + 2)]


def decades(X: np.ndarray, cost: np.ndarray) -> list[float]:
    """From 1e-7 to 1e3."""
    return [float(p) for p in 10 ** np.random.default_rng(1).uniform(-7, 3, X.shape[1])]


def real_stump() -> PruningProblem:
    """A tree of two levels whose rows weigh anything between 0 and 1: its cheapest good pruning costs 10.094."""
    rng = np.random.default_rng(1)
    X = rng.random((40, 2)).round(2)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, ((X[:, 0] > 0.5) ^ (X[:, 1] > 0.4)).astype(int))
    return pm.problem_from_forest(tree, X, costs=[10, 1], sample_weight=rng.random(40))


HAND_LAMS = (0.0, 0.05, 0.1, 0.2, 0.4, 1.0, 1e300)
SHARED = {"sonar": 60, "heart_statlog": 50}  # data of the shared folder, and the rows of the cost sample

CASES: dict[str, Case] = {
    "papers": Case(two_trees, HAND_LAMS),
    "papers, tree 1": Case(lambda: two_trees().only_tree(0), HAND_LAMS),
    "papers, tree 2": Case(lambda: two_trees().only_tree(1), HAND_LAMS),
    "stump": Case(lambda: stump((4, 1, 1), [1], [[0], [1]]), HAND_LAMS),
    "stump, half weight": Case(lambda: stump((4, 1, 1), [1], [[0], [1]], sample_weight=[0, 2]), HAND_LAMS),
    "stump, evaluation": Case(lambda: stump((4, 1, 1), [1], [[0], [1]], evaluation_cost=0.5), HAND_LAMS),
    "stump, free": Case(lambda: stump((4, 1, 1), [0], [[0], [1]]), HAND_LAMS),
    "stump without gain": Case(lambda: stump((2, 1, 1), [1], [[0], [1]]), HAND_LAMS),
    "twin stumps": Case(twin_stumps, HAND_LAMS),
    "single leaves": Case(leaves_only, HAND_LAMS),
    "unreached split": Case(unreached, HAND_LAMS),
    "ladder": Case(ladder, HAND_LAMS),
    "losing splits": Case(losing, HAND_LAMS),
    "prices far apart": Case(apart, (0.001,)),
    "free, real weights": Case(lambda: apart((0, 0), sample_weight=[0.1234567890123, 1 / 3, np.pi, 1e-9]), (0.5,)),
    "any lambda": Case(lambda: apart((1, 1)), (Fraction(10**300 + 1, 3 * 10**300), 1e-300, Fraction(1, 10**40))),  # type: ignore[arg-type]
    "price above all gains": Case(beyond_the_gain, (0.5, 10, 1e6)),
    **{
        f"random {seed}": Case(lambda seed=seed: random_problem(seed), (0.003, 0.1, 1 / 3, 1234.5))
        for seed in (*range(12), 15, 21)
    },
    **{f"rounded {seed}": Case(lambda seed=seed: random_problem(seed, rounded=True), (0.02, 0.1)) for seed in range(6)},
    "iris": forest_case(load_iris, 5, None, 40),
    "wine, groups": forest_case(load_wine, 5, None, 40, costs=grouped),
    "breast cancer, discounts": forest_case(load_breast_cancer, 4, None, 40, costs=discounted),
    "breast cancer, licence": forest_case(load_breast_cancer, 4, None, 40, costs=licensed),
    "wine, evaluation": forest_case(load_wine, 5, None, 40, evaluation_cost=0.25),
    "iris, weights": forest_case(load_iris, 5, None, 40, sample_weight=lambda X, cost: 0.25 + cost % 4),
    "digits": forest_case(load_digits, 3, 5, 40),
    "diabetes": forest_case(load_diabetes, 3, 4, 40),
    "real weights": Case(real_stump),
    "diabetes, real prices and weights": forest_case(load_diabetes, 3, 3, 30, costs=roots, sample_weight=lognormal),
    "diabetes, one large weight": forest_case(
        load_diabetes, 2, 3, 30, costs=roots, sample_weight=lambda X, cost: np.where(np.arange(len(cost)) == 3, 1e12, 1 / 3)
    ),
    "wine, real prices and weights": forest_case(load_wine, 4, None, 30, costs=roots, sample_weight=lognormal),
    # at lambdas above 1, where single cheap purchases count, HiGHS' tolerances leave a gap
    "wine, ten decades": replace(forest_case(load_wine, 3, None, 30, costs=decades), lams=(0.0, 2.3e-5, 0.0156)),
    **{name: real_case(name, 4, rows) for name, rows in SHARED.items()},
}

PRESENT = [name for name in CASES if name not in SHARED or (data_folder() / f"{name}.csv.gz").is_file()]
"""Cases whose data are there, for tests that run through all cases; a test of `test_conformance` skips for each of the others."""

OPTIMA: dict[tuple[str, float], float] = {
    # the root errs on 4 of 10, the leaves on 1 + 1: keeping gains .2 and costs 1 for every example
    ("stump", 0.1): 0.2 + 0.1,
    ("stump", 0.2): 0.4,  # a tie: .2 + .2
    ("stump", 0.4): 0.4,
    ("stump, half weight", 0.1): 0.2 + 0.1,  # the one example that counts pays 1
    ("stump, evaluation", 0.1): 0.2 + 0.1 * 1.5,
    ("stump, evaluation", 0.2): 0.4,  # .2 + .3 is more than .4
    ("stump, free", 1e300): 0.2,
    ("stump without gain", 0.0): 0.2,
    ("stump without gain", 0.1): 0.2,
    # each tree gains .1 of the mean error; alone neither is worth a price of .15, together they are
    ("twin stumps", 0.1): 0.2 + 0.1,
    ("twin stumps", 0.2): 0.4,
    ("single leaves", 0.4): 0.2,
    # the cheap split costs 1e-9 and gains 1/4, the dear one 500: cut down to fit beside it, lambda was 0, and it was kept
    ("prices far apart", 0.001): 0.25 + 1e-9,
    ("free, real weights", 0.5): 0.25,  # nothing costs anything: all gains are taken
    # below the root, which costs 1 for all, a split that nobody reaches is free: 6 -> 1 + (1 + 1)
    ("unreached split", 0.2): 0.3 + 0.2,
    ("unreached split", 0.4): 0.6,
    # tree 2 of the papers at lambda 0 keeps all three splits; see tests of the papers' trees for others
    ("papers", 0.0): (0 + 1) / 8,
    ("papers", 1.0): 1.0,
    # tree 1: -2 at its root opens +3 below: 4 -> 0 + 3; tree 2 loses at any price
    ("losing splits", 0.0): (3 + 1) / 20,
}
"""Optima by hand, in (OBJ)."""


@cache
def instance(name: str) -> PruningProblem:
    """The instance of a case, built once."""
    return CASES[name].build()


@cache
def lambdas(name: str) -> tuple[float, ...]:
    """The lambdas of a case: given, or breakpoints of its path and points just beyond them."""
    case = CASES[name]
    if case.lams is not None:
        return case.lams
    path = pm.pruning_path(instance(name))
    rows = [int(part * (len(path) - 1)) for part in PATH_POINTS]
    ahead = [(float(path.lam[k]) + float(path.lam[min(k + 1, len(path) - 1)])) / 2 for k in rows]
    return (float(path.lam[rows[0]]), *ahead)


def path_by_parts(
    problem: PruningProblem, largest: int | None = None, params: PathParams = PathParams(), **asked: Any
) -> PruningPath:
    """The path in parts of at most so many usage arcs, with these tuning numbers and options."""
    params = params if largest is None else replace(params, largest_network=largest)
    return divide_and_conquer(problem, PathOptions(params=params, **asked))


def halfway(path: PruningPath) -> Fraction:
    """The middle of the longest edge of the path; what a single row costs, where there is one."""
    cost = path.exact_cost
    k = max(range(len(cost) - 1), key=lambda k: cost[k] - cost[k + 1], default=0)
    return (cost[k] + cost[min(k + 1, len(cost) - 1)]) / 2


def children_of(pid: int) -> set[int]:
    """Process numbers of the processes that a process has started and that have not ended."""
    return {int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def ends_by_ctrl_c(before: str, call: str, *, after: float, within: float, in_child: bool = False) -> str:
    """That a script which makes a call ends by InterruptedSolveError alone, so soon after a Ctrl-C in the middle of the call.

    It comes so long after the call began (`in_child`: after it started a process, which must end, too). On a machine that is done
    by then the script is run again, and Ctrl-C comes after half the time. Returns what the error says.
    """
    code = f"import sys\n{before}\nfrom formulations import InterruptedSolveError\nprint('go', flush=True)\n"
    code += f"try:\n    {call}\nexcept InterruptedSolveError as stop:\n    print(stop)\n    sys.exit(7)"
    pipe, root = subprocess.PIPE, Path(__file__).resolve().parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as script:
        assert script.stdout is not None
        assert script.stdout.readline() == "go\n"
        children: set[int] = set()
        while in_child and not children and script.poll() is None:
            time.sleep(0.01)
            children = children_of(script.pid)
        time.sleep(after)
        done = script.poll() is not None or (in_child and not children & children_of(script.pid))
        if not done:
            os.killpg(script.pid, signal.SIGINT)  # as a terminal does: to the process of the solve as well
        start = time.perf_counter()
        out, err = script.communicate(timeout=60)
    if done:
        assert (script.returncode, err) == (0, "")
        assert after > 0.01, "it ends too early to be interrupted"
        return ends_by_ctrl_c(before, call, after=after / 2, within=within, in_child=in_child)
    assert time.perf_counter() - start < within
    assert script.returncode == 7, err
    assert err == ""
    for child in children:
        assert not Path(f"/proc/{child}").exists(), "the process of the solve goes on"
    return out
