"""Rows that have met the same first splits stand together."""

import numpy as np
import pytest

from formulations.instance import row_blocks as module
from formulations.instance.row_blocks import row_order
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance


@looped("seed", range(12))
def test_rows_are_sorted_by_what_they_met(seed: int) -> None:
    """(1) row by row: the roots' sides first, tree by tree, then the next depth; equal rows as they come."""
    problem = random_problem(seed)
    ensemble, routing = problem.ensemble, problem.routing
    keys = []
    for i in range(routing.n_rows):
        key = []
        for depth in range(1, module.DEPTH + 1):
            for t in range(min(module.TREES, ensemble.n_trees)):
                reached = [
                    h
                    for h in ensemble.right[ensemble.is_split]
                    if ensemble.tree_of[h] == t
                    and ensemble.depth[h] == depth
                    and i in routing.order[t, routing.start[h] : routing.stop[h]]
                ]
                key.append(len(reached))
        keys.append((key, i))
    assert [i for _, i in sorted(keys)] == row_order(routing, ensemble).tolist()


def test_only_the_first_trees_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of one tree's two sides: all of its left rows, then all of its right ones."""
    monkeypatch.setattr(module, "TREES", 1)
    monkeypatch.setattr(module, "DEPTH", 1)
    problem = instance("digits")
    routing, ensemble = problem.routing, problem.ensemble
    root = int(ensemble.nodes_of(0).start)
    left, right = ensemble.left[root], ensemble.right[root]
    sides = [np.sort(routing.order[0, routing.start[h] : routing.stop[h]]) for h in (left, right)]
    np.testing.assert_array_equal(row_order(routing, ensemble), np.concatenate(sides))
