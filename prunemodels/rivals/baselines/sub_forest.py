"""A smaller forest: whole trees are dropped, and none is pruned.

This is the classical way to spend less on a forest (BP16 section 2 cites Kulkarni and Sinha's survey of it). Compared with it,
one sees what pruning inside the trees adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from formulations.answers.nested_prunings import PruningSequence
from formulations.arguments import Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem


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


def _own_costs(problem: PruningProblem) -> NDArray[np.int64]:
    """The cost of each tree alone, unpruned, in integers.

    On a path down a tree an item is charged once, so a tree's cost is the sum over its charges. A tree may have several charges
    of an item that is paid once for all examples, and pays for one.
    """
    ensemble, ints, charges, once = problem.ensemble, problem.integers, problem.usage.charges, problem.costs.paid_once
    node = np.repeat(np.arange(ensemble.n_nodes), np.diff(charges.start))
    weight = problem.routing.node_sums(ensemble, ints.weight)
    cost = np.zeros(ensemble.n_trees, dtype=np.int64)
    each = ~once[charges.item]
    np.add.at(cost, ensemble.tree_of[node[each]], ints.price[charges.item[each]] * weight[node[each]])
    np.add.at(cost, ensemble.tree_of, ints.evaluation)
    bought = np.unique(np.stack([ensemble.tree_of[node[~each]], charges.item[~each]], axis=1), axis=0)
    np.add.at(cost, bought[:, 0], ints.price[bought[:, 1]] * int(ints.weight.sum()))
    return cost
