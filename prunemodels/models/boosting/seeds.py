"""Prunings of a boosted ensemble that need no lambda: starts for descents, and prunings that the answer must not be worse than.

- *Prefixes*: the first rounds, unpruned; later trees are dropped, as in a model that was trained for fewer rounds.
- *Single features*: all splits that, with the splits above them, need the items of one feature and no others.
- *Eliminations*: items removed one at a time, and one after the other until none is left, from the whole model and from some
  prefixes:

    without(K, m)  =  K without the splits that need item m, and without all below them                            (1)
    next item      =  the m of least  (loss(without(K, m)) - loss(K)) / (cost(K) - cost(without(K, m)))             (2)

From a pruning K on, (2) is repeated until no split that costs something is left. Every step tries all items, so the first step
includes all single removals. One sweep counts the cost that each removal saves (`RemovalEffects`); the losses come from the
margins of K, corrected for the rows below the removed splits.

A `SomeTrees` of the ensemble, its first trees or some splits of these, is an ensemble of its own. A search inside it is a search
of the whole model that may keep no other splits. Losses and costs are those of the whole model, pruned to the part. Trees after
the part's last one add nothing, as in a model of fewer rounds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import total_cost
from formulations.compiled import njit
from formulations.instance.numbers import Numbers, engine_numbers
from formulations.instance.usage import Usage
from prunemodels.models.boosting.descent import OnRows, PricedPruning, add_leaves, mean_loss, state_of
from prunemodels.models.costs import staged_costs
from prunemodels.models.libraries.model_forest import ModelForest, pruned_part
from prunemodels.models.losses import SampleLoss
from prunemodels.models.removal_effects import RemovalEffects, units_of
from solvers.closures.tree_pass import mark_below


@dataclass(frozen=True, eq=False)
class SomeTrees(OnRows):
    """A part of the trees, with the rows and prices of the whole, of which its first `trees` trees count.

    The forest and its usage are the part's own. `nodes` has the number of each of its nodes among the `size` nodes of the whole.
    """

    nodes: NDArray[np.int64]
    size: int
    trees: int

    @classmethod
    def whole(cls, forest: ModelForest, usage: Usage, loss: SampleLoss) -> SomeTrees:
        """The whole model as a part."""
        n = forest.ensemble.n_nodes
        return cls(forest, usage, loss, np.arange(n), n, forest.ensemble.n_trees)

    @cached_property
    def prices(self) -> Numbers:
        """The prices of the part, for engines."""
        return engine_numbers(self.usage, None)

    def inside(self, kept: NDArray[np.bool_], trees: int) -> SomeTrees:
        """The part of the whole with its first trees, in which all splits outside `kept`, shape (n,), are leaves."""
        forest, nodes = pruned_part(self.forest, kept, trees)
        smaller = forest.ensemble
        u = self.usage
        rows, evaluation = np.asarray(u.X)[u.rows], list(u.evaluation)
        usage = Usage.build(smaller, u.costs, rows, sample_weight=u.weights, evaluation_cost=evaluation)
        return SomeTrees(forest, usage, self.loss, nodes, self.forest.ensemble.n_nodes, trees)

    def lift(self, kept: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """A pruning of the part as one of the whole, shape (size,)."""
        lifted = np.zeros(self.size, dtype=np.bool_)
        lifted[self.nodes] = kept
        return lifted


def splits_with(usage: Usage, items: set[int]) -> NDArray[np.bool_]:
    """The largest pruning that needs no other priced items than these; bool, shape (n,)."""
    costs, ensemble = usage.costs, usage.ensemble
    free = {m for m, price in enumerate(costs.prices) if price == 0}
    allowed = np.array([set(needed) <= items | free for needed in costs.needs], dtype=np.bool_)
    out = ~(ensemble.is_split & allowed[ensemble.feature])
    mark_below(ensemble.parent, out)
    return ~out


def items_of(usage: Usage, kept: NDArray[np.bool_]) -> set[int]:
    """The priced items that the splits of a pruning need."""
    node = np.repeat(np.arange(len(kept)), np.diff(usage.charges.start))
    return set(np.unique(usage.charges.item[kept[node]]).tolist())


def round_ends(forest: ModelForest) -> NDArray[np.int64]:
    """Number of trees after each round; the last is that of all trees."""
    n = forest.ensemble.n_trees
    return np.unique(np.append(np.arange(forest.n_outputs, n, forest.n_outputs), n))


def evenly(numbers: NDArray[np.int64], n: int) -> list[int]:
    """At most n of some ascending numbers, evenly spaced, the last among them."""
    places = np.unique(np.round(np.arange(1, n + 1) * len(numbers) / n).astype(np.int64) - 1)
    return [int(numbers[k]) for k in places if k >= 0]


def prefixes(part: SomeTrees) -> Iterator[PricedPruning]:
    """The model before the first round, and after each but the last."""
    forest, usage, ensemble = part.forest, part.usage, part.forest.ensemble
    ends = round_ends(forest)
    stage = np.searchsorted(ends, np.arange(ensemble.n_trees), side="right")
    rows, evaluation = np.asarray(usage.X)[usage.rows], list(usage.evaluation)
    cost = staged_costs(ensemble, rows, usage.costs, evaluation_cost=evaluation, stage=stage, sample_weight=usage.weights)
    done = 0
    margins, value = np.tile(forest.base, (usage.n_rows, 1)), np.ascontiguousarray(ensemble.value[:, 0])
    for k, trees in enumerate([0, *ends[:-1].tolist()]):
        add_leaves(part, value, margins, range(done, trees))
        done = trees
        yield PricedPruning(
            ensemble.is_split & (ensemble.tree_of < trees),
            mean_loss(part, margins),
            float(cost[k - 1]) if k else 0.0,
            trees=trees,
        )


def single_features(part: SomeTrees) -> Iterator[NDArray[np.bool_]]:
    """For each feature that is split on, the splits that need no other items than this feature needs."""
    usage = part.usage
    used = np.unique(usage.ensemble.feature[usage.ensemble.is_split])
    needed = {frozenset(usage.costs.needs[f]) for f in used.tolist()}
    for items in sorted(needed, key=sorted):
        yield splits_with(usage, set(items))


def eliminate(part: SomeTrees, deadline: float, most_steps: int) -> Iterator[tuple[PricedPruning, bool]]:
    """All removals of an elimination that starts with all splits of a part, at integer prices; True: the step that it takes.

    About `most_steps` steps are taken: with more items, each removes several, the best ones by (2). The deadline, on the clock of
    ``time.perf_counter``, is checked before each step.
    """
    usage, prices = part.usage, part.prices
    kept = usage.ensemble.is_split.copy()
    effects = RemovalEffects(usage, prices, units_of(usage, "item"))
    state = state_of(part, kept)
    margins, current_loss = state.margins, state.loss
    unit_price, at_once = prices.price_unit, 0
    cost = total_cost(usage, prices, kept, usage.paid_by(kept))
    while kept.any() and time.perf_counter() <= deadline:
        _, saved, users = effects.of(kept)
        units = np.flatnonzero((users > 0) & (saved > 0))
        if not units.size:
            return
        at_once = at_once or -(-units.size // most_steps)
        # every removal of one item is tried, and told
        tried = []
        for unit in units.tolist():
            remaining = effects.without(kept, unit)
            new_loss = mean_loss(part, without(part, kept, remaining, margins))
            yield PricedPruning(remaining, new_loss, float((cost - saved[unit].item()) * unit_price)), False
            tried.append(((new_loss - current_loss) / float(saved[unit]), unit))
        # the best removals are carried out
        remaining, gone = kept, [unit for _, unit in sorted(tried)[:at_once]]
        for unit in gone:
            remaining = effects.without(remaining, unit)
        cost = cost - saved[gone[0]].item() if len(gone) == 1 else total_cost(usage, prices, remaining, usage.paid_by(remaining))
        margins = without(part, kept, remaining, margins)
        current_loss, kept = mean_loss(part, margins), remaining
        yield PricedPruning(kept, current_loss, float(cost * unit_price)), True


def without(
    part: SomeTrees, kept: NDArray[np.bool_], remaining: NDArray[np.bool_], margins: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The margins of a pruning that keeps fewer splits, from those of one that keeps more."""
    forest, ensemble, moved = part.forest, part.forest.ensemble, margins.copy()
    _move_up(kept, remaining, ensemble.parent, forest.output, ensemble.value, part.usage.reached, moved)
    return moved


@njit(cache=True)
def _move_up(kept, remaining, parent, output, value, reached, margins):  # type: ignore[no-untyped-def]
    """Move the rows of the leaves of `kept` to the leaves of `remaining` above them."""
    tree_of, order, start, stop = reached
    end = np.empty(parent.shape[0], dtype=np.int32)
    for h in range(parent.shape[0]):
        above = parent[h]
        end[h] = h if above < 0 or remaining[above] else end[above]
        if end[h] == h or kept[h] or not kept[above]:
            continue
        t = tree_of[h]
        change = value[end[h], 0] - value[h, 0]
        for j in range(start[h], stop[h]):
            margins[order[t, j], output[t]] += change
