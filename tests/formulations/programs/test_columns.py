"""Purchase variables: who is bound to what, and which variables are one."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from formulations.instance.problem import PruningProblem
from formulations.programs.columns import PurchaseColumns, naive_columns, usage_columns
from formulations.programs.linear_program import FOR_ALL
from tests.instances import random_problem
from tests.loops import looped


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
        t, start, stop = ensemble.tree_of[h], problem.routing.start[h], problem.routing.stop[h]
        for m in set(above) if naive else own:
            if costs.prices[m] > 0:
                for i in [FOR_ALL] if once[m] else problem.routing.order[t, start:stop]:
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
        share = 1.0 if columns.row[j] == FOR_ALL else problem.weights[columns.row[j]] / problem.usage.total_weight
        assert columns.price[j] == pytest.approx(price * share, rel=1e-12)


@pytest.mark.parametrize("naive", [False, True])
@looped("seed", range(40))
def test_merging_joins_equal_users_only_and_all_of_them(seed: int, naive: bool) -> None:
    """Merged variables are the classes of purchases with equal users, at the sum of their prices."""
    problem = random_problem(seed)
    plain = (naive_columns if naive else usage_columns)(problem)
    merged = (naive_columns if naive else usage_columns)(problem, merge=True)
    sets = listed(plain)
    classes: dict[frozenset[int], float] = defaultdict(float)
    for j in range(plain.n_columns):
        classes[frozenset(sets[int(plain.item[j]), int(plain.row[j])])] += float(plain.price[j])
    found = {
        frozenset(nodes): float(merged.price[j])
        for j in range(merged.n_columns)
        for nodes in [listed(merged)[int(merged.item[j]), int(merged.row[j])]]
    }
    assert found == pytest.approx(dict(classes))
    assert merged.n_columns == len(classes)
    for purchase in plain.purchase:
        j, k = plain.of_purchase[purchase], merged.of_purchase[purchase]
        stands_for = int(merged.item[k]), int(merged.row[k])
        assert sets[int(plain.item[j]), int(plain.row[j])] == sets[stands_for]


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
