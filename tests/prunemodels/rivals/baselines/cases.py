"""Random nested prunings, and what they are checked against."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from formulations import PruningProblem
from formulations.answers.nested_prunings import NestedPrunings, PruningSequence
from tests.instances import Node, problem_of


def random_sequence(problem: PruningProblem, seed: int) -> PruningSequence:
    """One to six rows; a split is kept in as many as its parent, or in fewer."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(1, 7))
    ensemble = problem.ensemble
    kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    for h in np.flatnonzero(ensemble.is_split):
        above = rows if ensemble.parent[h] < 0 else kept[ensemble.parent[h]]
        kept[h] = above if rng.random() < 0.5 else rng.integers(0, above + 1)
    return PruningSequence(problem, kept, np.arange(rows) / 2, "step", "random")


def same_rows(path: NestedPrunings, expected: list[NDArray[np.bool_]]) -> bool:
    """Whether the prunings are these, one by one."""
    return len(path) == len(expected) and all(np.array_equal(p.kept, kept) for p, kept in zip(path, expected, strict=True))


def cost_of(problem: PruningProblem, kept: NDArray[np.bool_]) -> Fraction:
    """Cost of a pruning, by `Pruning`."""
    return pm.Pruning(problem, kept).exact_cost


def hand_forest() -> PruningProblem:
    """Two trees of ten error examples each; features cost 3 and 5; the one example passes every split.

    Tree 0: errs 6 at its root, on feature 0; 3 on the right, on feature 1, where the leaves err 0; the left leaf errs 1.
    Tree 1: errs 4 at its root, on feature 1; its leaves err 1 each.
    Gains: 6 - 1 - 3 = 2 and 3 - 0 - 0 = 3 in tree 0, 4 - 1 - 1 = 2 in tree 1.
    """
    trees = [Node(6, 0, -0.5, Node(1), Node(3, 1, -0.5, Node(0), Node(0))), Node(4, 1, -0.5, Node(1), Node(1))]
    return problem_of(trees, [3, 5])


def keeps(*nodes: int) -> NDArray[np.bool_]:
    """Of the eight nodes of `hand_forest`: 0 and 2 are splits of tree 0, 5 is that of tree 1."""
    return np.isin(np.arange(8), nodes)
