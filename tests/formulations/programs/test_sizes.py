"""Programs as arrays: columns, names, sizes; one tree as a shortest-path graph, by the papers' figures and matrices."""

from __future__ import annotations

from collections import defaultdict

import networkx as nx
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CostItems, InvalidInputError, PruningProblem
from formulations.instance.papers import two_trees
from formulations.programs.linear_program import FOR_ALL, Block, Named, Names, PurchaseColumns, naive_columns, usage_columns
from formulations.programs.matrix import MATRICES, ip3_matrix, model_size, nws15_bound, size_report
from formulations.programs.shortest_path import TreeNetwork, row_operations, tree_network, tree_networks
from proofs_checks.total_unimodularity.formulation_network import PRINTED_TREES
from solvers.brute_force import all_prunings
from tests.formulations.models.test_models import options, takes
from tests.instances import Node, arc_costs, problem_of, random_problem
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


def test_the_papers_bounds_are_tight() -> None:
    """By hand, T = 2, N = 1, at most 7 nodes, 4 leaves, K_max = 2, K = 3: 14 + 4 + 3 columns and 8 + 8 rows. For one balanced
    stump that all reach, both bounds are attained.
    """
    assert nws15_bound(two_trees()) == (16, 21)
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
    """Blocks one behind the other, found by component; an item paid once for all rows is written `all`."""
    assert list(NAMES) == ["z[0]", "z[1]", "z[2]", "budget", "w[0,0]", "w[0,7]", "w[1,all]"]
    assert [NAMES[k] for k in range(len(NAMES))] == list(NAMES)
    assert NAMES[-1] == "w[1,all]"
    assert NAMES[2:5] == ["z[2]", "budget", "w[0,0]"]
    with pytest.raises(IndexError):
        _ = NAMES[7]
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


SEEDS = range(30)


def papers_name(name: str) -> str:
    """``z[2]`` is the papers' z3, ``w_t[5,1,0]`` their w21."""
    kind, _, inside = name.rstrip("]").partition("[")
    numbers = [int(part) + 1 for part in inside.split(",")]
    return f"z{numbers[0]}" if kind == "z" else f"w{numbers[1]}{numbers[2]}"


def own_prunings(problem: PruningProblem, t: int) -> NDArray[np.bool_]:
    """All prunings of tree t, each once."""
    return np.unique(all_prunings(problem).kept[:, problem.ensemble.nodes_of(t)], axis=0)


def all_paths(network: TreeNetwork) -> list[list[int]]:
    """Every path, by networkx."""
    graph = nx.MultiDiGraph()
    graph.add_edges_from((int(a), int(b), k) for k, (a, b) in enumerate(zip(network.tail, network.head, strict=True)))
    return [[k for _, _, k in path] for path in nx.all_simple_edge_paths(graph, 0, network.n_boundaries - 1)]


@pytest.mark.parametrize("expanded", [False, True])
@pytest.mark.parametrize("t", [0, 1])
def test_the_papers_matrices(t: int, expanded: bool) -> None:
    """BP16 section 6.2, entry by entry: the 0-1 matrix of a tree, and the network matrix after the row operations."""
    network = tree_network(two_trees(), t, expanded=expanded)
    printed = PRINTED_TREES[t]
    np.testing.assert_array_equal(network.equations().toarray(), printed.equations)
    np.testing.assert_array_equal(network.incidence().toarray(), printed.network)
    np.testing.assert_array_equal(row_operations(len(printed.equations)) @ np.array(printed.equations), printed.network)


@pytest.mark.parametrize("t", [0, 1])
def test_figure_3_arc_for_arc(t: int) -> None:
    """Every arc of BP16's Figure 3 joins the same nodes here, under the same name."""
    network = tree_network(two_trees(), t, expanded=True)
    ends = zip((network.tail + 1).tolist(), (network.head + 1).tolist(), strict=True)
    assert dict(zip(map(papers_name, network.arcs), ends, strict=True)) == PRINTED_TREES[t].arcs


def test_the_path_1_2_5_6_is_z2_z3_w11() -> None:
    """BP16's example: this path prunes tree 1 at node 3, and is what that pruning's path is."""
    network = tree_network(two_trees(), 0, expanded=True)
    path = [list(map(papers_name, network.arcs)).index(name) for name in ("z2", "z3", "w11")]
    np.testing.assert_array_equal(network.tail[path] + 1, [1, 2, 5])
    np.testing.assert_array_equal(network.head[path] + 1, [2, 5, 6])
    kept = network.pruning_of(path)
    np.testing.assert_array_equal(kept, [True, False, False, False, False])  # only the root is still a split
    np.testing.assert_array_equal(network.path_of(kept), path)


@pytest.mark.slow
@looped("seed", SEEDS)
def test_row_operations_on_ip3_give_the_network(seed: int) -> None:
    """IP3's own equations of a tree, in the order of the leaves, are the 0-1 matrix; the row operations make it the network."""
    problem = random_problem(seed)
    program = ip3_matrix(problem, lam=1)
    row = {name: k for k, name in enumerate(program.rows)}
    column = {name: k for k, name in enumerate(program.columns)}
    for network in tree_networks(problem, expanded=True):
        own = program.matrix[[row[name] for name in network.rows]]
        ours = own[:, [column[name] for name in network.arcs]]
        assert own.nnz == ours.nnz  # no other variable occurs in these rows
        assert (ours != network.equations()).nnz == 0
        assert (row_operations(len(network.rows)) @ ours != network.incidence()).nnz == 0


@pytest.mark.slow
@looped("seed", SEEDS)
def test_paths_are_prunings(seed: int) -> None:
    """Expanded or not, each path is a pruning, each pruning one path, and the one leads back to the other."""
    problem = random_problem(seed)
    for expanded in (False, True):
        for t, network in enumerate(tree_networks(problem, expanded=expanded)):
            paths = all_paths(network)
            prunings = np.array([network.pruning_of(path) for path in paths])
            np.testing.assert_array_equal(np.unique(prunings, axis=0), own_prunings(problem, t))
            assert len(paths) == len(own_prunings(problem, t))
            for path, kept in zip(paths, prunings, strict=True):
                np.testing.assert_array_equal(network.path_of(kept), path)


@pytest.mark.slow
@looped("seed", SEEDS)
def test_charges_of_splits_are_paid_on_every_path(seed: int) -> None:
    """Whole charges by split, where a split has arcs and where it has none, cost each path exactly what its pruning costs."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    stop, charge = rng.integers(-50, 50, (2, problem.ensemble.n_nodes))
    for expanded in (False, True):
        for t, network in enumerate(tree_networks(problem, expanded=expanded)):
            cost = network.costs_by_split(stop, charge)
            for kept in own_prunings(problem, t):
                path = network.path_of(kept)
                z = path[path < network.n_nodes]
                assert cost[path].sum() == stop[network.nodes][z].sum() + charge[network.nodes][kept].sum()


def test_groups_carry_their_rows_together() -> None:
    """A split that charges two items to three rows, and one paid once: three arcs, or seven; their costs are the loads' sums."""
    items = CostItems.from_items({"a": 1, "licence": 9, "b": 2}, [["a", "licence", "b"]], once=["licence"])
    problem = problem_of([Node(3, 0, 0.5, Node(1), Node(2))], items, np.array([[0.0], [1.0], [0.0]]), weight=3.0)
    together, apart = tree_network(problem, 0), tree_network(problem, 0, expanded=True)
    assert list(together.arcs) == ["z[0]", "z[1]", "z[2]", "w_t[0,0,:]", "w_t[0,1,all]", "w_t[0,2,:]"]
    # rows in the order of the routing: 0 and 2 go left, 1 goes right
    rows = ["w_t[0,0,0]", "w_t[0,0,2]", "w_t[0,0,1]", "w_t[0,1,all]", "w_t[0,2,0]", "w_t[0,2,2]", "w_t[0,2,1]"]
    assert list(apart.arcs)[3:] == rows
    assert apart.rows == ["leaf[1]", "leaf[2]", *[name.replace("w_t", "usage") for name in rows]]
    dual = np.array([1.0, 2, 4, 8, 16, 32, 64])
    assert arc_costs(together, problem.node_error, dual)[3:].tolist() == [7, 8, 112]
    assert arc_costs(apart, problem.node_error, dual)[3:].tolist() == dual.tolist()


def test_arcs_that_do_not_join_up_and_absent_trees_are_refused() -> None:
    """What is no path from the first boundary to the last is no pruning; trees are counted from 0."""
    for path in ([], [1], [1, 5], [5, 2, 1], [0, 0]):
        with pytest.raises(InvalidInputError, match="do not lead from boundary 0 to 5"):
            tree_network(two_trees(), 0).pruning_of(path)
    for t in (-1, 2):
        with pytest.raises(InvalidInputError, match=f"there is no tree {t}; the forest has the trees 0 to 1"):
            tree_network(two_trees(), t)
