"""Chains of stages: the orders in which sets of items are bought, one for all rows or one for each region.

With few priced items there is a model for every set of them, and every order of the items is a chain of sets. Which chain is best
depends on the price of cost. Each chain is scored by the dynamic program of `prunemodels.stages.policy`, whose policies have one
threshold on the doubt at each stage,

    score(chain, lam)  =  mean over the rows of V_0, the loss + lam cost of its best thresholds                            (1)

and the best chains at a dozen prices lam are kept. With many items there are two chains: backward elimination from all items, and
sets that grow forward from what is free and then join those of the elimination.

With many rows there is also a tree of sets: after the first purchases, rows buy what helps in their region.
A chain of stages has a fork, mostly the first stage with two purchases. A small decision tree on its columns divides the rows
into regions. In each region backward elimination on the region's rows orders the purchases between the fork and a stage that
has bought some eight items; there the regions meet again:

    free -> ... -> fork  =>  sets of region 1  =>  meeting stage -> ... -> all
                         =>  sets of region 2  =>
                         =>  ...               =>

Stage s buys for row i what set s of its region needs, so purchases are nested for every row. The region of a row does not depend
on exits, and so exits remain one maximum closure (`prunemodels.cascades.learning`): who is counted at a level gets there whatever
else is decided. Models are trained on the rows of all regions. The chain is the tree without branches; rows that neither was
learned from choose between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from formulations.instance.cost_items import CostItems
from formulations.instance.routing import n_examples
from formulations.instance.tree_loss import TreeLoss
from prunemodels.cascades.elimination import ItemSet, SetSearch, eliminate
from prunemodels.cascades.fitting import Judged, StagePlan, Training, fit_models, judged_fold
from prunemodels.cascades.learning import judged_losses
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import Sample, class_numbers
from prunemodels.stages.judging import margin
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.policy import least_objective
from prunemodels.stages.set_stages import SetStages, columns_of, predictions_of
from prunemodels.stages.stages import table_of

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
"""Places of sets, or columns."""


def all_sets(items: CostItems) -> tuple[list[ItemSet], list[Places]]:
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


def best_orders(judged: Judged[SetStages], orders: Sequence[Places], by: TreeLoss) -> list[Places]:
    """Of too many orders those that policies are learned for: at most `CascadeParams.most_chains`.

    `judged`: a model of every set. `orders`: places of the sets. `by`: what predictions are judged by.
    """
    everything = judged.stages
    rows = np.random.RandomState(0).permutation(len(judged.rows))[: PARAMS.scored_rows]
    table, weights = judged.table.take(rows), judged.rows.weights[rows]
    truth = class_numbers(everything.classes, judged.rows.y, len(judged.rows))[rows]
    doubt = (
        np.zeros(table.value.shape[:2])
        if everything.classes is None
        else np.array([1.0 - margin(value, by) for value in table.value])
    )
    loss, costs = judged_losses(table, truth, weights, by), [everything.of(order).prices() for order in orders]
    return [orders[k] for k in best_chains(orders, costs, loss, doubt, weights)]


def best_chains(chains: Sequence[Places], costs: Sequence[Floats], loss: Floats, doubt: Floats, weights: Floats) -> list[int]:
    """Places of at most `CascadeParams.most_chains` chains: those of least (1) at most prices of cost.

    `costs`: for each chain, shape (its stages,): what a row has paid by each stage. `loss`, `doubt`: shape (sets, N): judged
    losses and doubts.
    """
    lams = _prices(chains, costs, loss @ weights / weights.sum())
    scores = np.array([
        least_objective(loss[chain], np.repeat(cost[:, None], weights.size, axis=1), weights, doubt[chain[:-1]], lams)
        for chain, cost in zip(chains, costs, strict=True)
    ])  # fmt: skip
    above = scores - scores.min(axis=0)
    kept: list[int] = []
    while len(kept) < PARAMS.most_chains:  # the chain that lowers the least score of those kept by most
        best = above[kept].min(axis=0) if kept else above.max(axis=0)
        after = np.minimum(best, above).sum(axis=1)
        after[kept] = np.inf
        kept.append(int(after.argmin()))
    return kept


def _prices(chains: Sequence[Places], costs: Sequence[Floats], loss: Floats) -> Floats:
    """Prices of cost, rising from a tenth of the best chain's saving per cost to three times the best first purchase's."""
    priced = [(c, float(p[-1] - p[0])) for c, p in zip(chains, costs, strict=True) if p[-1] > p[0]]
    overall = max((float(loss[c[0]] - loss[c].min()) / price for c, price in priced), default=0.0)
    steps = [(loss[c[0]] - loss[c[1:]]) / np.maximum(p[1:] - p[0], 1e-12) for c, p in zip(chains, costs, strict=True)]
    top = max(float(step.max(initial=0.0)) for step in steps)
    low = max(overall / 10, 1e-12)
    return np.geomspace(low, max(3 * top, 10 * low), PARAMS.prices_tried)


@dataclass(frozen=True, eq=False)
class Regional:
    """The models of a stage, one for each region, as one model of the columns of all of them."""

    router: Any  # fitted decision tree whose leaves are the regions
    fork: Places  # positions of the router's columns among the model's
    leaves: Places  # shape (R,): the router's leaves, ascending
    models: tuple[Any, ...]  # the R fitted models
    columns: tuple[Places, ...]  # R int64 arrays: positions of each model's columns among those of all
    classes_: NDArray[Any] | None  # the labels, for classification

    def region(self, X: Any) -> Places:
        """The region of each row, shape (N,)."""
        return np.searchsorted(self.leaves, _leaf(self.router, X, self.fork))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """By the model of each row's region."""
        region, value = self.region(X), np.empty((n_examples(X), 1 if self.classes_ is None else len(self.classes_)))
        for r in np.unique(region).tolist():
            rows = np.flatnonzero(region == r)
            some = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            value[rows] = predictions_of(self.models[r], columns_of(some, self.columns[r]), self.classes_)
        return value

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The numbers, for regression."""
        return self.predict_proba(X)[:, 0]


class Parting(NamedTuple):
    """How a chain gets regions."""

    order: Places  # places of its sets
    fork: int  # purchases after which rows part
    # shape (M,): the items among which regions choose where they never meet again; None: they meet, and choose among those of
    # the meeting stage.
    largest: NDArray[np.bool_] | None


def with_regions(
    judged: Judged[SetStages], parting: Parting, training: Training, model: Any, quick: Any
) -> Judged[SetStages] | None:
    """The chain with regions between its fork and its meeting stage; None where nothing lies between, or rows do not part.

    `judged`: the chain, and its outputs for held-out rows. `training`: of the chain's stages. `model`: unfitted; of the regions'
    stages. `quick`: unfitted; by which purchases are compared.
    """
    largest = parting.largest
    stages, classes, train, seed = judged.stages, training.classes, training.sample, training.seed
    if not isinstance(training.held_out, Sample):
        train = train.take(training.held_out[0][0])  # with several folds, each would have regions of its own
    priced = stages.items.price > 0
    purchases = (stages.bought() & priced).sum(axis=1)
    fork, meeting = (int(np.searchsorted(purchases, wanted)) for wanted in (parting.fork, PARAMS.meeting))
    between = range(fork + 1, min(meeting, stages.n_stages - 1) if largest is None else stages.n_stages)
    if not len(between) or not stages.features[fork].size:
        return None
    grown = (DecisionTreeRegressor if classes is None else DecisionTreeClassifier)(
        max_leaf_nodes=PARAMS.regions, min_samples_leaf=max(1, len(train) // 20), random_state=seed
    )
    at_fork = stages.features[fork]
    router = grown.fit(
        np.asarray(columns_of(train.X, at_fork), dtype=np.float32), np.asarray(train.y), sample_weight=train.weights
    )
    leaves = np.flatnonzero(router.tree_.children_left < 0)
    if leaves.size < 2:
        return None
    at_train, at_held_out = (np.searchsorted(leaves, _leaf(router, rows.X, at_fork)) for rows in (train, judged.rows))
    if np.bincount(at_held_out, minlength=leaves.size).min() < PARAMS.fewest_rows_of_region:
        return None
    start = stages.bought()[between.stop] if largest is None else largest
    limits = stages.prices()[between]
    sets = []
    for r in range(leaves.size):
        rows = train.take(np.flatnonzero(at_train == r)), judged.rows.take(np.flatnonzero(at_held_out == r))
        sets.append(_sets_of(stages, fork, start, limits, rows, training, quick))
    different = {s.features.tobytes(): s.features for chain in sets for s in chain}
    plans = [StagePlan(model, columns) for columns in different.values()]
    fitted = dict(zip(different, fit_models(training, plans, train), strict=True))
    models, features = list(stages.models), list(stages.features)
    for k, s in enumerate(between):
        own = [chain[k].features for chain in sets]
        features[s] = np.unique(np.concatenate(own))
        place = [np.searchsorted(features[s], some) for some in (at_fork, *own)]
        parts = tuple(fitted[some.tobytes()] for some in own)
        models[s] = Regional(router, place[0], leaves, parts, tuple(place[1:]), classes)
    routed = replace(stages, models=tuple(models), features=tuple(features))
    return judged._replace(stages=routed, table=table_of(routed, judged.rows.X))


def _leaf(router: Any, X: Any, columns: Places) -> Places:
    return np.asarray(router.apply(np.asarray(columns_of(X, columns), dtype=np.float32)))


def _sets_of(
    stages: SetStages, fork: int, start: NDArray[np.bool_], limits: Floats, rows: Sequence[Sample], training: Training, model: Any
) -> list[ItemSet]:
    """The sets of one region by elimination on its rows, from `start` on: for each limit the largest that costs no more."""
    items, seed = stages.items, training.seed
    prices = [Fraction(0) if has else price for has, price in zip(stages.bought()[fork], items.prices, strict=True)]
    free = replace(items, prices=tuple(prices))
    train, held_out = rows
    some = train.take(np.random.RandomState(seed).permutation(len(train))[: PARAMS.searched_rows])
    part = judged_fold(model, some, held_out, training.classes, seed)
    kept = partial(training.kept, ("region", model, free, training.by, train.place, held_out.place))
    found = eliminate(SetSearch([part], free, training.classes, training.by, kept), seed, lambda _: None, start=start)
    cost = np.array([float(items.price[s.items].sum()) for s in found])  # falling, down to what the fork has bought
    return [found[int(np.flatnonzero(cost <= limit * (1 + STAGE_PARAMS.rounding))[0])] for limit in limits]
