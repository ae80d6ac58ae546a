"""A tree of sets: after the first purchases, rows buy what helps in their region.

A chain of stages has a fork, the first stage with `FORK` purchases. A small decision tree on the columns of the fork divides the
rows into regions. In each region backward elimination on the region's rows orders the purchases between the fork and a stage that
has bought some ten items; there the regions meet again:

    free -> ... -> fork  =>  sets of region 1  =>  meeting stage -> ... -> all
                         =>  sets of region 2  =>
                         =>  ...               =>

Stage s buys for row i what set s of its region needs, so purchases are nested for every row. The region of a row does not depend
on exits, and so exits remain one maximum closure (`prunemodels.exits.learning`): who is counted at a level gets there whatever
else is decided. Models are trained on the rows of all regions. The chain is the tree without branches; rows that neither was
learned from choose between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from formulations.instance.routing import n_examples
from prunemodels.exits.elimination import ItemSet, SetSearch, eliminate
from prunemodels.exits.fitting import Judged, StagePlan, Training, fit_stage, judged_fold
from prunemodels.exits.set_stages import SetStages, columns_of, predictions_of
from prunemodels.exits.stages import table_of
from prunemodels.models.labelled_samples import Sample

Columns = NDArray[np.int64]

FEWEST_ROWS = 20_000
"""With fewer training rows there are no regions: each needs rows to choose its purchases by."""

FORK = 2
"""Number of purchases after which rows part."""

MEETING = 16
"""Number of purchases from which on there is one set for all again."""

REGIONS = 6
"""Largest number of regions."""

SEARCHED_ROWS = 10_000
"""Largest number of training rows of a region from which its purchases are ordered."""


@dataclass(frozen=True, eq=False)
class Regional:
    """The models of a stage, one for each region, as one model of the columns of all of them.

    Parameters
    ----------
    router
        fitted decision tree whose leaves are the regions.
    fork
        int64: positions of the router's columns among the model's.
    leaves
        int64, shape (R,): the router's leaves, ascending.
    models
        the R fitted models.
    columns
        R int64 arrays: positions of each model's columns among those of all.
    classes_
        the labels, for classification.
    """

    router: Any
    fork: Columns
    leaves: Columns
    models: tuple[Any, ...]
    columns: tuple[Columns, ...]
    classes_: NDArray[Any] | None

    def region(self, X: Any) -> Columns:
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


def with_regions(judged: Judged[SetStages], training: Training, model: Any) -> Judged[SetStages] | None:
    """The chain with regions between its fork and its meeting stage; None where nothing lies between, or rows do not part.

    Parameters
    ----------
    judged
        the chain, and its outputs for held-out rows.
    training
        of the chain's stages.
    model
        unfitted; of the regions' stages.
    """
    stages, classes, train, seed = judged.stages, training.classes, training.sample, training.seed
    if not isinstance(training.held_out, Sample):
        train = train.take(training.held_out[0][0])  # with several folds, each would have regions of its own
    priced = stages.items.price > 0
    purchases = (stages.bought() & priced).sum(axis=1)
    fork, meeting = (int(np.searchsorted(purchases, wanted)) for wanted in (FORK, MEETING))
    between = range(fork + 1, min(meeting, stages.n_stages - 1))
    if not len(between) or not stages.features[fork].size:
        return None
    grown = (DecisionTreeRegressor if classes is None else DecisionTreeClassifier)(
        max_leaf_nodes=REGIONS, min_samples_leaf=max(1, len(train) // 20), random_state=seed
    )
    at_fork = stages.features[fork]
    router = grown.fit(
        np.asarray(columns_of(train.X, at_fork), dtype=np.float32), np.asarray(train.y), sample_weight=train.weights
    )
    leaves = np.flatnonzero(router.tree_.children_left < 0)
    if leaves.size < 2:
        return None
    at_train, at_held_out = (np.searchsorted(leaves, _leaf(router, rows.X, at_fork)) for rows in (train, judged.rows))
    sizes = [int(purchases[s]) for s in between]
    sets = []
    for r in range(leaves.size):
        rows = train.take(np.flatnonzero(at_train == r)), judged.rows.take(np.flatnonzero(at_held_out == r))
        sets.append(_sets_of(stages, fork, between.stop, sizes, rows, classes, model, seed))
    different = {s.features.tobytes(): s.features for chain in sets for s in chain}
    jobs = (delayed(fit_stage)(StagePlan(model, columns), train, classes, seed, 0) for columns in different.values())
    fitted = dict(zip(different, Parallel(n_jobs=training.n_jobs)(jobs), strict=True))
    models, features = list(stages.models), list(stages.features)
    for k, s in enumerate(between):
        own = [chain[k].features for chain in sets]
        features[s] = np.unique(np.concatenate(own))
        place = [np.searchsorted(features[s], some) for some in (at_fork, *own)]
        parts = tuple(fitted[some.tobytes()] for some in own)
        models[s] = Regional(router, place[0], leaves, parts, tuple(place[1:]), classes)
    routed = replace(stages, models=tuple(models), features=tuple(features))
    return judged._replace(stages=routed, table=table_of(routed, judged.rows.X))


def _leaf(router: Any, X: Any, columns: Columns) -> Columns:
    return np.asarray(router.apply(np.asarray(columns_of(X, columns), dtype=np.float32)))


def _sets_of(
    stages: SetStages, fork: int, meeting: int, sizes: Sequence[int], rows: Sequence[Sample], classes: Any, model: Any, seed: int
) -> list[ItemSet]:
    """The sets of one region, of these numbers of purchases or the next that there are, by elimination on its rows."""
    bought, items = stages.bought(), stages.items
    prices = [Fraction(0) if has else price for has, price in zip(bought[fork], items.prices, strict=True)]
    free = replace(items, prices=tuple(prices))
    train, held_out = rows
    some = train.take(np.random.RandomState(seed).permutation(len(train))[:SEARCHED_ROWS])
    part = judged_fold(model, some, held_out, classes, seed)
    found = eliminate(SetSearch([part], free, classes), seed, lambda _: None, start=bought[meeting])[::-1]
    counts = np.array([int((s.items & (items.price > 0)).sum()) for s in found])
    return [found[min(int(np.searchsorted(counts, size)), len(found) - 1)] for size in sizes]
