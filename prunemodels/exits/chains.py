"""Chains of stages: the orders in which sets of items are bought.

With few priced items there is a model for every set of them, and every order of the items is a chain of sets. Which chain is best
depends on the price of cost. Each chain is scored by the dynamic program of `prunemodels.exits.levels`, whose policies have one
threshold on the doubt at each stage,

    score(chain, lam)  =  mean over the rows of V_0, the loss + lam cost of its best thresholds                            (1)

and the best chains at a dozen prices lam are kept. With many items there are two chains: backward elimination from all items, and
sets that grow forward from what is free and then join those of the elimination.

Where requests have fees, or rounds or latency have limits, some of the sets of an order may do better than all of them: parts of
orders are scored by (1), too, and a limit on rounds leaves those that are short enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations, permutations
from math import comb

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.exits.elimination import ItemSet
from prunemodels.exits.fitting import Judged, chain_of
from prunemodels.exits.levels import least_objective
from prunemodels.exits.sample import judged_losses
from prunemodels.exits.set_stages import SetStages
from prunemodels.exits.waiting import WaitLimits
from prunemodels.models.forests.labels import class_numbers

Floats = NDArray[np.float64]
Chain = NDArray[np.int64]

FEW_ITEMS = 5
"""With at most this many priced items, every set of them has a model."""

MOST_CHAINS = 6
"""Largest number of chains whose policies are learned."""

MOST_PARTS = 1_000
"""Largest number of parts of one order that are scored; longer orders are thinned out before."""

SCORED_ROWS = 2_000
"""Largest number of rows by which many chains are scored."""

PRICES_TRIED = 12
"""Number of prices of cost in (1)."""


def all_sets(items: CostItems) -> tuple[list[ItemSet], list[Chain]]:
    """Every set of priced items with all free ones that allows other columns, the free one first; and every order as a chain.

    Losses are not known yet. A chain gives places of sets.
    """
    needs = items.needs_of(range(items.n_features))
    free, priced = items.price == 0, np.flatnonzero((items.price > 0) & needs.any(axis=0))
    sets: list[ItemSet] = []
    place: dict[bytes, int] = {}

    def place_of(mask: NDArray[np.bool_]) -> int:
        allowed = ~(needs & ~mask).any(axis=1)
        if allowed.tobytes() not in place:
            place[allowed.tobytes()] = len(sets)
            sets.append(ItemSet(mask & needs[allowed].any(axis=0), np.flatnonzero(allowed), np.nan))
        return place[allowed.tobytes()]

    chains = {}
    for order in permutations(priced.tolist()):
        masks = [free | np.isin(np.arange(items.n_items), order[:size]) for size in range(len(order) + 1)]
        chain = tuple(dict.fromkeys(place_of(mask) for mask in masks))
        chains[chain] = np.array(chain)
    return sets, list(chains.values())


def best_orders(judged: Judged[SetStages], orders: Sequence[Chain], limits: WaitLimits) -> list[Judged[SetStages]]:
    """The chains that policies are learned for: at most `MOST_CHAINS`, and as many again that keep a soft limit for every row.

    Parameters
    ----------
    judged
        a model of every set.
    orders
        places of the sets.

    Raises
    ------
    InvalidInputError
        if every order makes too many rounds.
    """
    everything = judged.stages
    if limits.asking_matters(everything.items):
        most = everything.n_stages if limits.rounds is None else limits.rounds + 1
        orders = [part for order in orders for part in _parts_of(order, most)]
    orders = list({order.tobytes(): order for order in orders}.values())
    stages = [everything.of(order) for order in orders]
    asks = [chain.asks() for chain in stages]
    short = [
        k
        for k, a in enumerate(asks)
        if (limits.rounds is None or a.rounds[-1] <= limits.rounds) and (limits.latency is None or a.latency[0] <= limits.latency)
    ]
    if not short:
        raise InvalidInputError(
            "no sequence of the stages keeps max_rounds and max_latency; give more, or a first stage that is free"
        )
    kept = dict.fromkeys(short)
    if len(short) > MOST_CHAINS:
        quick = [k for k in short if limits.latency is None or asks[k].latency[-1] <= limits.latency]
        rows = np.random.RandomState(0).permutation(len(judged.rows))[:SCORED_ROWS]
        table, weights = judged.table.take(rows), judged.rows.weights[rows]
        truth = class_numbers(everything.classes, judged.rows.y, len(judged.rows))[rows]
        doubt = np.zeros(table.value.shape[:2]) if everything.classes is None else 1.0 - table.value.max(axis=2)
        loss, kept = judged_losses(table, truth, weights), {}
        for some in (short, quick if len(quick) < len(short) else []):
            best = best_chains([orders[k] for k in some], [stages[k].prices() for k in some], loss, doubt, weights)
            kept |= dict.fromkeys(some[k] for k in best)
    return [chain_of(judged, orders[k]) for k in kept]


def _parts_of(order: Chain, most: int) -> Iterable[Chain]:
    """The order, and its parts of 2 to `most` stages; of a long order those of a selection of its stages."""
    kept = order
    while sum(comb(len(kept), size) for size in range(2, most + 1)) > MOST_PARTS:
        kept = kept[np.linspace(0, len(kept) - 1, len(kept) - 1).round().astype(np.int64)]
    yield order
    for size in range(2, min(most, len(kept)) + 1):
        yield from (kept[list(part)] for part in combinations(range(len(kept)), size))


def best_chains(chains: Sequence[Chain], costs: Sequence[Floats], loss: Floats, doubt: Floats, weights: Floats) -> list[int]:
    """Places of at most `MOST_CHAINS` chains: those of least (1) at most prices of cost.

    Parameters
    ----------
    costs
        for each chain, shape (its stages,): what a row has paid by each stage.
    loss, doubt
        shape (sets, N): judged losses and doubts.
    """
    if len(chains) <= MOST_CHAINS:
        return list(range(len(chains)))
    lams = _prices(chains, costs, loss @ weights / weights.sum())
    scores = np.array([
        least_objective(loss[chain], np.repeat(cost[:, None], weights.size, axis=1), weights, doubt[chain[:-1]], lams)
        for chain, cost in zip(chains, costs, strict=True)
    ])  # fmt: skip
    above = scores - scores.min(axis=0)
    kept: list[int] = []
    while len(kept) < MOST_CHAINS:  # the chain that lowers the least score of those kept by most
        best = above[kept].min(axis=0) if kept else above.max(axis=0)
        after = np.minimum(best, above).sum(axis=1)
        after[kept] = np.inf
        kept.append(int(after.argmin()))
    return kept


def _prices(chains: Sequence[Chain], costs: Sequence[Floats], loss: Floats) -> Floats:
    """Prices of cost, rising from a tenth of the best chain's saving per cost to three times the best first purchase's."""
    priced = [(c, float(p[-1] - p[0])) for c, p in zip(chains, costs, strict=True) if p[-1] > p[0]]
    overall = max((float(loss[c[0]] - loss[c].min()) / price for c, price in priced), default=0.0)
    steps = [(loss[c[0]] - loss[c[1:]]) / np.maximum(p[1:] - p[0], 1e-12) for c, p in zip(chains, costs, strict=True)]
    top = max(float(step.max(initial=0.0)) for step in steps)
    low = max(overall / 10, 1e-12)
    return np.geomspace(low, max(3 * top, 10 * low), PRICES_TRIED)
