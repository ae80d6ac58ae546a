"""Blocks of rows hold the same examples as the routing that they were cut from; rows that met the same splits stand together."""

import numpy as np
import pytest

from formulations.instance import row_blocks as module
from formulations.instance.row_blocks import BLOCK, row_blocks, row_order
from tests.instances import random_problem
from tests.loops import looped


@pytest.mark.parametrize("ordered", [False, True])
@looped("seed", range(12))
@looped("size", [1, 2, 5, BLOCK])
def test_the_blocks_of_a_node_together_are_its_rows(seed: int, size: int, ordered: bool) -> None:
    """(1) of `formulations.instance.row_blocks`: block by block, the rows of every node, and as many blocks as there must be.

    Whatever order the rows are in; leaf by leaf the places rise.
    """
    problem = random_problem(seed)
    routing, ensemble = problem.routing, problem.ensemble
    rows = np.random.default_rng(seed).permutation(routing.n_rows).astype(np.int32) if ordered else np.arange(routing.n_rows)
    blocks = row_blocks(routing, ensemble.tree_of, size, rows.astype(np.int32) if ordered else None)
    assert blocks.n_blocks == -(-routing.n_rows // size)
    np.testing.assert_array_equal(blocks.rows, rows)
    for h in range(ensemble.n_nodes):
        t = ensemble.tree_of[h]
        found = [
            b * size + blocks.order[t, b * size + blocks.start[b, h] : b * size + blocks.stop[b, h]].astype(np.int64)
            for b in range(blocks.n_blocks)
        ]
        mine = routing.order[t, routing.start[h] : routing.stop[h]]
        assert np.array_equal(np.sort(rows[np.concatenate(found)]), np.sort(mine))
        assert all(((part >= b * size) & (part < (b + 1) * size)).all() for b, part in enumerate(found))
        if not ensemble.is_split[h]:
            assert all((np.diff(part) > 0).all() for part in found)


@looped("seed", range(12))
def test_rows_are_sorted_by_what_they_met(seed: int) -> None:
    """(2) row by row: the roots' sides first, tree by tree, then the next depth; equal rows as they come."""
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
