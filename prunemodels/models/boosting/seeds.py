"""Prunings of a boosted ensemble that need no lambda: starts for descents, and prunings that the answer must not be worse than.

- *Prefixes*: the first rounds, unpruned; later trees are dropped, as in a model that was trained for fewer rounds.
- *Single features*: all splits that, with the splits above them, need the items of one feature and no others.
- *Eliminations*: items removed one at a time, and one after the other until none is left (`removals`), from the whole model and
  from some prefixes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from prunemodels.models.boosting.descent import Point
from prunemodels.models.boosting.parts import Part, splits_with
from prunemodels.models.forests.staged_costs import staged_costs
from prunemodels.models.libraries.model_forest import ModelForest


def round_ends(forest: ModelForest) -> NDArray[np.int64]:
    """Number of trees after each round; the last is that of all trees."""
    n = forest.ensemble.n_trees
    return np.unique(np.append(np.arange(forest.n_outputs, n, forest.n_outputs), n))


def evenly(numbers: NDArray[np.int64], n: int) -> list[int]:
    """At most n of some ascending numbers, evenly spaced, the last among them."""
    places = np.unique(np.round(np.arange(1, n + 1) * len(numbers) / n).astype(np.int64) - 1)
    return [int(numbers[k]) for k in places if k >= 0]


def prefixes(part: Part) -> Iterator[Point]:
    """The model before the first round, and after each but the last."""
    forest, usage, ensemble = part.forest, part.usage, part.forest.ensemble
    ends = round_ends(forest)
    stage = np.searchsorted(ends, np.arange(ensemble.n_trees), side="right")
    rows, evaluation = np.asarray(usage.X)[usage.rows], list(usage.evaluation)
    cost = staged_costs(ensemble, rows, usage.costs, evaluation_cost=evaluation, stage=stage, sample_weight=usage.weights)
    done = 0
    margins = np.tile(forest.base, (usage.n_rows, 1))
    for k, trees in enumerate([0, *ends[:-1].tolist()]):
        for t in range(done, trees):
            margins[:, forest.output[t]] += _values(part, t)
        done = trees
        loss = float(np.average(part.loss.values(margins), weights=usage.weights))
        yield Point(ensemble.is_split & (ensemble.tree_of < trees), loss, float(cost[k - 1]) if k else 0.0, trees=trees)


def _values(part: Part, t: int) -> NDArray[np.float64]:
    """What an unpruned tree adds to each row."""
    ensemble, routing = part.forest.ensemble, part.usage.routing
    nodes = ensemble.nodes_of(t)
    leaves = nodes.start + np.flatnonzero(~ensemble.is_split[nodes])
    leaves = leaves[np.argsort(routing.start[leaves], kind="stable")]
    added = np.empty(routing.n_rows)
    added[routing.order[t]] = np.repeat(ensemble.value[leaves, 0], routing.stop[leaves] - routing.start[leaves])
    return added


def single_features(part: Part) -> Iterator[NDArray[np.bool_]]:
    """For each feature that is split on, the splits that need no other items than this feature needs."""
    usage = part.usage
    used = np.unique(usage.ensemble.feature[usage.ensemble.is_split])
    needed = {frozenset(usage.costs.needs[f]) for f in used.tolist()}
    for items in sorted(needed, key=sorted):
        yield splits_with(usage, set(items))
