"""Blocks of rows hold the same examples as the routing that they were cut from."""

import numpy as np
import pytest

from formulations.row_blocks import BLOCK, row_blocks
from tests.instances import random_problem


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("size", [1, 2, 5, BLOCK])
def test_the_blocks_of_a_node_together_are_its_rows(seed: int, size: int) -> None:
    """(1) of `formulations.row_blocks`: block by block, the rows of every node, and as many blocks as there must be."""
    problem = random_problem(seed)
    routing, tree_of = problem.routing, problem.ensemble.tree_of
    blocks = row_blocks(routing, tree_of, size)
    assert blocks.n_blocks == -(-routing.n_rows // size)
    for h in range(problem.ensemble.n_nodes):
        t = tree_of[h]
        found = [
            b * size + blocks.order[t, b * size + blocks.start[b, h] : b * size + blocks.stop[b, h]].astype(np.int64)
            for b in range(blocks.n_blocks)
        ]
        rows = routing.order[t, routing.start[h] : routing.stop[h]]
        assert np.array_equal(np.sort(np.concatenate(found)), np.sort(rows))
        assert all(((part >= b * size) & (part < (b + 1) * size)).all() for b, part in enumerate(found))
