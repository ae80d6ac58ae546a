"""Blocks of rows hold the same examples as the routing that they were cut from."""

import numpy as np
import pytest

from formulations.instance.row_blocks import BLOCK, row_blocks
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
