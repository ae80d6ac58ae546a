"""Prunings that treat trees one by one: each is pruned optimally by itself, or stays or goes as a whole.

IP2 for each tree, NWS15 Table 1, "ind.pru.":

    tree t by itself:  minimise  error of tree t  +  lambda * (cost of tree t alone)                                         (1)

All trees at one lambda make one pruning of the forest. Its reported cost counts purchases that trees share once, but no tree
knows that another one pays already: the difference to the joint optimum is the value of knowing it. NWS15 prunes the trees of
BudgetRF; one lambda for all of them, and all values of it, are ours.

Dropping whole trees is the classical way to spend less on a forest (BP16 section 2 cites Kulkarni and Sinha's survey of it).
Compared with it, one sees what pruning inside the trees adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from formulations.answers.nested_prunings import PruningSequence
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.long_steps import Progress
from solvers.path.pruning_path import pruning_path


@checked
def individual_path(problem: PruningProblem, *, progress: bool = False) -> PruningSequence:
    """The optimal prunings of each tree alone, for every lambda >= 0 that changes any of them.

    Parameters
    ----------
    progress
        show a progress bar on stderr.

    Returns
    -------
    PruningSequence
        row k holds the smallest optimum of (1) for lambda from ``parameter[k]`` up to the next. Lambda is error of *one tree* for
        one unit of that tree's cost: T times that of (OBJ) where nothing is shared. Breakpoints are compared as exact fractions.

    Raises
    ------
    InterruptedSolveError
        on Ctrl-C; nothing was changed.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.rivals.individual_path(problem).at_cost(12)
    Pruning(cost=11.8867, error=0.093, 18 splits)
    """
    ensemble = problem.ensemble
    paths: list[PruningPath] = []
    with Progress("individual pruning", ensemble.n_splits, shown=progress) as bar:
        for t in range(ensemble.n_trees):
            paths.append(pruning_path(problem.only_tree(t), certificate=False))
            bar.advance(paths[-1].problem.ensemble.n_splits)
    table = sorted({Fraction(0)}.union(*(path.breakpoints for path in paths)))
    place = {ratio: k for k, ratio in enumerate(table)}
    rows_kept = np.zeros(ensemble.n_nodes, dtype=np.int32)
    for t, path in enumerate(paths):
        # a split of level j is pruned at breakpoint j of its own path; beyond the last level it is free and always stays
        goes = np.array([*(place[ratio] for ratio in path.breakpoints), len(table)], dtype=np.int32)
        rows_kept[ensemble.nodes_of(t)] = goes[path.rows_kept]
    parameter = np.array([float(ratio) for ratio in table])
    return PruningSequence(problem, rows_kept, parameter, "lambda of one tree", "individual pruning")


@checked
def sub_forest_path(
    problem: PruningProblem,
    *,
    order: Literal["random", "cheapest"] | Sequence[int] | NDArray[np.int64] = "random",
    random_state: Seed | np.random.RandomState | None = None,
) -> PruningSequence:
    """Forests of T, T - 1, ..., 1 whole trees of a forest, and none.

    Parameters
    ----------
    order
        which trees stay longest: ``"random"`` ones, the ``"cheapest"`` (by the cost of a single tree on the cost sample; of
        equals the first), or the trees' numbers, the one that stays longest first.
    random_state
        for ``"random"``.

    Returns
    -------
    PruningSequence
        ``parameter`` is the number of trees; those that are dropped do not vote (``single_leaves_vote=False``), so each row is
        the forest with fewer ``estimators_``. With no tree left, all vote with their roots' predictions. Trees that were single
        leaves from the start are not counted, and vote only then. (`apply_pruning` of a row keeps dropped trees as single leaves,
        which do vote; `evaluate_path` leaves them out.)

    Raises
    ------
    InvalidInputError
        if the order is none of these.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> pm.rivals.sub_forest_path(problem, order="cheapest").at_cost(12)
    Pruning(cost=6.83333, error=0.408, 12 splits)
    """
    ensemble = problem.ensemble
    chosen = _order(problem, order, random_state)
    chosen = chosen[ensemble.is_split[ensemble.roots[chosen]]]
    rows_of_tree = np.zeros(ensemble.n_trees, dtype=np.int32)
    rows_of_tree[chosen] = np.arange(chosen.size, 0, -1)
    rows_kept = np.where(ensemble.is_split, rows_of_tree[ensemble.tree_of], 0).astype(np.int32)
    trees = np.arange(chosen.size, -1, -1, dtype=np.float64)
    name = f"{order} trees" if isinstance(order, str) else "fewer trees"
    return PruningSequence(problem, rows_kept, trees, "trees", name, single_leaves_vote=False)


def _order(
    problem: PruningProblem,
    order: str | Sequence[int] | NDArray[np.int64],
    random_state: int | np.random.RandomState | None,
) -> NDArray[np.int64]:
    """The trees, the one that stays longest first."""
    n_trees = problem.ensemble.n_trees
    if isinstance(order, str):
        if order == "random":
            return np.asarray(check_random_state(random_state).permutation(n_trees), dtype=np.int64)
        return np.argsort(_own_costs(problem), kind="stable")
    trees = np.asarray(order)
    if not np.array_equal(np.sort(trees), np.arange(n_trees)):
        raise InvalidInputError(f"order is {trees.tolist()}; give each of the trees 0 to {n_trees - 1} once")
    return trees.astype(np.int64)


def _own_costs(problem: PruningProblem) -> NDArray[Any]:
    """The cost of each tree alone, unpruned, in the numbers of the problem.

    On a path down a tree an item is charged once, so a tree's cost is the sum over its charges. A tree may have several charges
    of an item that is paid once for all examples, and pays for one.
    """
    ensemble, numbers, charges, once = problem.ensemble, problem.numbers, problem.usage.charges, problem.costs.paid_once
    node = np.repeat(np.arange(ensemble.n_nodes), np.diff(charges.start))
    weight = problem.usage.routing.node_sums(ensemble, numbers.weight)
    cost = np.zeros(ensemble.n_trees, dtype=numbers.price.dtype)
    each = ~once[charges.item]
    np.add.at(cost, ensemble.tree_of[node[each]], numbers.price[charges.item[each]] * weight[node[each]])
    np.add.at(cost, ensemble.tree_of, numbers.evaluation)
    bought = np.unique(np.stack([ensemble.tree_of[node[~each]], charges.item[~each]], axis=1), axis=0)
    np.add.at(cost, bought[:, 0], numbers.price[bought[:, 1]] * numbers.weight.sum())
    return cost
