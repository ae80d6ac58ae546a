"""Programs as arrays: their columns, names and sizes."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns, naive_columns, usage_columns
from formulations.programs.linear_program import FOR_ALL, Block, Named, Names
from formulations.programs.matrix import MATRICES, model_size, nws15_bound, size_report
from tests.formulations.models.test_models import options, takes
from tests.instances import random_problem
from tests.loops import looped


@pytest.mark.parametrize("name", MATRICES)
def test_counted_equals_built(name: str) -> None:
    """Rows, columns and nonzeros are those of the matrix, which `test_models` compares with Pyomo's."""
    problems = {seed: random_problem(seed) for seed in range(40)}
    problems = {seed: problem for seed, problem in problems.items() if takes(name, problem)}
    assert len(problems) >= 10
    for seed, problem in problems.items():
        for merge in (False, True):
            size, program = model_size(problem, name, merge=merge), MATRICES[name](problem, **options(name, merge=merge))
            assert (size.rows, size.columns, size.nonzeros) == (*program.shape, program.matrix.nnz), (seed, merge)


@looped("seed", range(40))
def test_the_papers_bounds_hold(seed: int) -> None:
    """IP3 has at most the rows and columns of NWS15's complexity paragraph, which knows no items that are paid once for all."""
    problem = random_problem(seed)
    if problem.costs.paid_once[problem.usage.charges.item].any():
        with pytest.raises(InvalidInputError, match="paid once for all rows, for which NWS15 states no bound"):
            nws15_bound(problem)
        return
    size, (rows, columns) = model_size(problem, "IP3"), nws15_bound(problem)
    assert size.rows <= rows
    assert size.columns <= columns


def test_the_papers_bounds_on_the_papers_trees() -> None:
    """T = 2, N = 1, at most 7 nodes, 4 leaves, K_max = 2, K = 3: 14 + 4 + 3 columns and 8 + 8 rows, by hand."""
    assert nws15_bound(two_trees()) == (16, 21)


def test_the_papers_bounds_are_tight() -> None:
    """For one balanced stump that all reach, both bounds are attained."""
    forest = RandomForestClassifier(1, max_depth=1, random_state=0).fit(*load_iris(return_X_y=True))
    problem = pm.problem_from_forest(forest, load_iris().data, costs=1.0)
    size = model_size(problem, "IP3")
    assert (size.rows, size.columns) == nws15_bound(problem) == (302, 303)


def test_the_report_has_all_that_the_instance_has() -> None:
    """One row a formulation, merged and not; IP2 for single trees only."""
    forest, tree = size_report(two_trees()), size_report(two_trees().only_tree(0))
    assert set(tree.formulation) - set(forest.formulation) == {"IP2"}
    assert len(tree) == 11
    assert set(forest.dtypes.astype(str)) <= {"object", "str", "bool", "int64"}


def test_unknown_names_are_refused() -> None:
    """The message lists what there is."""
    with pytest.raises(InvalidInputError, match="no formulation 'IP9'; there are IP0, IP1"):
        model_size(two_trees(), "IP9")


def users(problem: PruningProblem, *, naive: bool) -> dict[tuple[int, int], set[int]]:
    """The nodes that each purchase (m, i) is bound to, from the rows that reach each node and the items above it."""
    ensemble, costs, once = problem.ensemble, problem.costs, problem.costs.paid_once
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for h in range(ensemble.n_nodes):
        above: list[int] = []
        p = int(ensemble.parent[h])
        while p >= 0:
            above += costs.needs[int(ensemble.feature[p])]
            p = int(ensemble.parent[p])
        own = set(costs.needs[int(ensemble.feature[h])]) - set(above) if ensemble.left[h] >= 0 else set()
        t, start, stop = ensemble.tree_of[h], problem.usage.routing.start[h], problem.usage.routing.stop[h]
        for m in set(above) if naive else own:
            if costs.prices[m] > 0:
                for i in [FOR_ALL] if once[m] else problem.usage.routing.order[t, start:stop]:
                    found[m, int(i)].add(h)
    return dict(found)


def listed(columns: PurchaseColumns) -> dict[tuple[int, int], set[int]]:
    """The same from the arcs."""
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for h, j in zip(columns.node.tolist(), columns.column.tolist(), strict=True):
        found[int(columns.item[j]), int(columns.row[j])].add(h)
    return dict(found)


@pytest.mark.parametrize("naive", [False, True])
@looped("seed", range(40))
def test_arcs_are_what_the_definitions_say(seed: int, naive: bool) -> None:
    """Usage arcs and naive arcs equal their definitions, recomputed node by node; prices are c_m omega_i / N."""
    problem = random_problem(seed)
    columns = (naive_columns if naive else usage_columns)(problem)
    assert listed(columns) == users(problem, naive=naive)
    assert (np.diff(columns.node) >= 0).all()
    for j in range(columns.n_columns):
        price = float(problem.costs.prices[columns.item[j]])
        share = 1.0 if columns.row[j] == FOR_ALL else problem.usage.weights[columns.row[j]] / problem.usage.total_weight
        assert columns.price[j] == pytest.approx(price * share, rel=1e-12)


@looped("seed", range(40))
def test_the_user_above_charges_the_item(seed: int) -> None:
    """The user of a naive arc is the one split above the node that has a usage arc to the purchase."""
    problem = random_problem(seed)
    columns, usage = naive_columns(problem), listed(usage_columns(problem))
    parent = problem.ensemble.parent
    for h, u, j in zip(columns.node, columns.user, columns.column, strict=True):
        above, p = set(), int(parent[h])
        while p >= 0:
            above.add(p)
            p = int(parent[p])
        assert above & usage[int(columns.item[j]), int(columns.row[j])] == {int(u)}


NAMES = Names((Block("z", (np.arange(3),)), Block("budget", ()), Block("w", (np.array([0, 0, 1]), np.array([0, 7, FOR_ALL])))))


def test_names_are_components_with_indices() -> None:
    """Blocks one behind the other; an item paid once for all rows is written `all`."""
    assert list(NAMES) == ["z[0]", "z[1]", "z[2]", "budget", "w[0,0]", "w[0,7]", "w[1,all]"]
    assert [NAMES[k] for k in range(len(NAMES))] == list(NAMES)
    assert NAMES[-1] == "w[1,all]"
    assert NAMES[2:5] == ["z[2]", "budget", "w[0,0]"]
    with pytest.raises(IndexError):
        _ = NAMES[7]


def test_blocks_are_found() -> None:
    """The places of a component; an unknown one lists what there is."""
    assert NAMES.of("w") == slice(4, 7)
    assert NAMES.has("budget")
    assert not NAMES.has("y")
    with pytest.raises(KeyError, match="no 'y' here; there are z, budget, w"):
        NAMES.of("y")


def test_numbers_by_name() -> None:
    """Every number is found under its name, as in a dictionary."""
    named = Named(NAMES, np.arange(7) / 2)
    assert dict(named) == {name: k / 2 for k, name in enumerate(NAMES)}
    assert named["w[1,all]"] == 3.0
    assert named["budget"] == 1.5
    for wrong in ("w[1,7]", "w[2]", "v[0]", "w", "z[x]"):
        with pytest.raises(KeyError):
            _ = named[wrong]
    assert named.get("v[0]", 9.0) == 9.0
