"""What examples pay for the trees of a model, all together and tree after tree.

    cost(x) = prices of the items that x's ways through the trees need, each once  +  sum of a_f over the splits passed        (1)
    cost_s  = (items paid once that the stages 0..s need)  +  weighted mean of (1), trees of the stages 0..s alone             (2)

The model need not be an average of its trees: boosted trees pay in the same way. An item belongs to the first stage in which an
example meets it, so one pass over the splits gives all stages.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import features_of, n_examples
from formulations.instance.usage import Usage
from formulations.sparse_arrays import check_sparse
from prunemodels.models.costs import Costs, cost_items

BLOCK_BYTES = 2**27
"""Examples are taken in blocks that need about so much memory."""


def example_costs(ensemble: Ensemble, X: Any, costs: Costs, *, evaluation_cost: EvaluationCost = 0) -> NDArray[np.float64]:
    """(1) for every row of X, shape (N,), in the unit of the prices; items that are paid once for all are left out.

    Parameters
    ----------
    ensemble
        the trees.
    X
        examples, shape (N, n_features).
    costs, evaluation_cost
        as in `problem_from_forest`.
    """
    stage = np.zeros(ensemble.n_nodes, dtype=np.int32)
    paid: NDArray[np.float64] = staged_example_costs(ensemble, X, costs, stage, 1, evaluation_cost=evaluation_cost)[0]
    return paid


def staged_example_costs(
    ensemble: Ensemble,
    X: Any,
    costs: Costs,
    stage: NDArray[np.int32],
    n_stages: int,
    *,
    evaluation_cost: EvaluationCost = 0,
) -> NDArray[np.float64]:
    """(1) for every row of X and the splits of the stages 0..s alone, shape (S, N); items paid once for all are left out.

    Parameters
    ----------
    stage
        int32, shape (n,): the first stage that each split belongs to, not before its parent's; S: none.
    """
    blocks = _by_blocks(ensemble, X, costs, evaluation_cost, n_stages)
    return np.concatenate([np.cumsum(usage.stage_costs(stage, n_stages), axis=0) for usage in blocks], axis=1)


def first_stages_of_items(ensemble: Ensemble, X: Any, costs: Costs, stage: NDArray[np.int32], n_stages: int) -> NDArray[np.int64]:
    """The first stage at which each row needs each priced item, shape (M, N); S: at none. Items paid once for all count for all.

    Parameters
    ----------
    stage
        as in `staged_example_costs`.
    """
    found = []
    for usage in _by_blocks(ensemble, X, costs, 0, n_stages):
        once = usage.first_stage_once(stage, n_stages)[:, None]
        found.append(np.minimum(once, usage.first_stage_by_row(stage, n_stages)))
    return np.concatenate(found, axis=1)


def staged_costs(
    ensemble: Ensemble,
    X: Any,
    costs: Costs,
    *,
    evaluation_cost: EvaluationCost = 0,
    stage: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> NDArray[np.float64]:
    """(2) for every stage, shape (S,), rising.

    Parameters
    ----------
    stage
        int, shape (T,): the stage that each tree belongs to, from 0 on; default: each tree is one.
    sample_weight
        weights of the examples in the mean, >= 0.

    Raises
    ------
    InvalidInputError
        if the stages do not fit the trees, or weights or columns do not fit.
    """
    stages = np.arange(ensemble.n_trees, dtype=np.int32) if stage is None else np.asarray(stage, dtype=np.int32)
    if stages.shape != (ensemble.n_trees,) or (stages < 0).any():
        raise InvalidInputError(f"stage has shape {stages.shape}; give one number >= 0 for each of {ensemble.n_trees} trees")
    first, n_stages = stages[ensemble.tree_of], int(stages.max(initial=-1)) + 1
    weights = check_weights(sample_weight, n_examples(X), "sample_weight")
    paid, done = np.zeros(n_stages), 0
    for usage in _by_blocks(ensemble, X, costs, evaluation_cost, n_stages):
        paid += usage.stage_costs(first, n_stages) @ weights[done : done + usage.n_rows]
        done += usage.n_rows
    once = usage.first_stage_once(first, n_stages)
    for_all = np.bincount(once, weights=usage.costs.price * usage.costs.paid_once, minlength=n_stages + 1)
    return np.asarray(np.cumsum(paid) / weights.sum() + np.cumsum(for_all[:-1]))


def _by_blocks(ensemble: Ensemble, X: Any, costs: Costs, evaluation_cost: EvaluationCost, n_stages: int = 0) -> Iterator[Usage]:
    """The usage of the rows of X, block by block."""
    X = X if hasattr(X, "shape") else np.asarray(X)
    check_sparse(X, "X")
    X = X.tocsr() if hasattr(X, "tocsr") and ensemble.made is None else features_of(ensemble, X)
    items, ensemble = cost_items(costs, ensemble), ensemble.on_features
    size = max(1, BLOCK_BYTES // (8 * ensemble.n_trees + 16 * items.n_items + 8 * n_stages + 32))
    usage = Usage.build(ensemble, items, X[:size], evaluation_cost=evaluation_cost)
    yield usage
    for first in range(size, n_examples(X), size):
        yield usage.on(X[first : first + size])
