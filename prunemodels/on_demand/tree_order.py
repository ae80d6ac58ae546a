"""A fixed order of the trees in which the first ones are cheap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, leaves_of
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import TreeModel, tree_model_of


@checked
def cheap_trees_first(forest: Any, X: Any, *, costs: Costs) -> NDArray[np.int64]:
    """Order the trees so that each adds as little to the mean cost as possible, given what the ones before it bought.

    Parameters
    ----------
    forest
        a fitted forest or boosted model, or an `Ensemble`.
    X
        examples like those to come, shape (N, n_features); some hundred are enough.
    costs
        as in `OnDemandPredictor`. Items paid once for all do not count.

    Returns
    -------
    array
        int64, shape (T,): a permutation of the trees, for ``OnDemandPredictor(order=...)``.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `problem_from_forest`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest
    >>> pm.on_demand.cheap_trees_first(forest, X_valid, costs=costs)
    array([0, 2, 4, 7, 5, 3, 1, 6])
    """
    model = TreeModel(None, forest) if isinstance(forest, Ensemble) else tree_model_of(forest)
    trees, items = model.ensemble, model.items(costs)
    uses = items_on_path(trees, items)[leaves_of(trees, features_of(trees, model.rows(X)))]
    price = np.where(items.paid_once, 0.0, items.price)
    bought = np.zeros(uses.shape[1:], dtype=bool)
    remaining, order = list(range(trees.n_trees)), []
    while remaining:
        extra = [float(((uses[t] & ~bought) @ price).sum()) for t in remaining]
        cheapest = remaining.pop(int(np.argmin(extra)))
        bought |= uses[cheapest]
        order.append(cheapest)
    return np.array(order, dtype=np.int64)


def items_on_path(trees: Ensemble, items: CostItems) -> NDArray[np.bool_]:
    """bool, shape (n, M): the items that a row pays on its way to a node, in this tree alone."""
    path = np.zeros((trees.n_nodes, items.n_items), dtype=bool)
    for depth in range(1, int(trees.depth.max()) + 1):
        nodes = np.flatnonzero(trees.depth == depth)
        above = trees.parent[nodes]
        path[nodes] = path[above] | items.needs_table[trees.feature[above]]
    return path
