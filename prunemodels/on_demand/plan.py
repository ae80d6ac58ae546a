"""The model and the prices as a walk uses them, and the requests by which it buys.

The features are those that the model reads, prices are in integer units. What the rows wait for is grouped into as few requests
as possible, which are numbered. A row that waits for feature f buys the items of f that it has not bought. Of all features that
the forest tests, it gets

    f itself, and each unknown g that needs one of the items bought now and no item that is still missing.            (1)

Rows with the same items and features form one request. Two requests of a round never make one row pay for the same item: if f
needs an item that the row buys for an earlier feature, in the forest's order, f waits for the next round. So what a row buys does
not depend on the other rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.numbers import INT64_SAFE
from prunemodels.models.response import Response, average_response
from prunemodels.models.tree_model import TreeModel
from prunemodels.models.user_columns import UserColumns
from prunemodels.on_demand.answers import Answer
from prunemodels.on_demand.deciding import Extremes, extremes_of
from prunemodels.on_demand.request import NEVER, Request


@dataclass(frozen=True, eq=False)
class PurchasePlan:
    """What may be bought, the same for all rows. F features are read, M items exist."""

    costs: CostItems
    names: tuple[str, ...]  # the F features' names
    features: NDArray[np.int64]  # shape (F,): their places among the model's features
    everything: tuple[str, ...]  # names of all features of the model
    needs: NDArray[np.bool_]  # shape (F, M)
    unit: Fraction  # all prices are multiples of it
    item_units: NDArray[np.int64]  # what a row pays for each item (0 for items paid once for all)
    classes: NDArray[Any] | None  # the labels; None for regression
    dtype: Any  # of the values that the model reads
    # how a user's values of the F features become numbers; None: they are numbers, or the model's steps judge them.
    columns: UserColumns | None

    @property
    def arrays_hold_codes(self) -> bool:
        """Whether an array has codes in a column for which a user has categories."""
        return self.columns is not None and self.columns.arrays and bool(self.columns.categories)

    def nothing_known(self, n: int) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Values of n rows, and whether each is known: none is."""
        return np.zeros((n, len(self.names)), dtype=self.dtype), np.zeros((n, len(self.names)), dtype=bool)


@dataclass(frozen=True, eq=False)
class Plan(PurchasePlan):
    """Purchases for a forest."""

    ensemble: Ensemble
    column: NDArray[np.int32]  # shape (n,): which of the F features a node needs, -1 at leaves
    tested: NDArray[np.int32]  # shape (n,): which column of `routed` a node compares: its feature, or one that is made from it
    step_units: NDArray[np.int64]  # shape (F,): what a row pays for evaluating a split on each of the F features
    response: Response  # how the trees' values become predictions
    # turns doubles, one column for each of the F features, into the float32 that the splits compare, to which columns made from
    # categories are added; None: they are float32.
    cast: Callable[[NDArray[np.float64]], NDArray[np.float32]] | None = None

    @cached_property
    def extremes(self) -> Extremes:
        """The least and greatest values below each node."""
        return extremes_of(self.ensemble, self.response)

    def routed(self, cells: NDArray[Any]) -> NDArray[Any]:
        """The values that the splits compare, for values of the F features as they were answered."""
        return cells if self.cast is None else self.cast(cells)


def plan_of(
    ensemble: Ensemble,
    costs: CostItems,
    evaluation: tuple[Fraction, ...],
    splits: NDArray[np.bool_] | None = None,
    model: TreeModel | None = None,
) -> Plan:
    """Number the features that are tested, and express prices as integers.

    `splits`: shape (n,): the splits that are walked; default: all. `model`: what says how the trees' values become predictions;
    default: their mean is the prediction.
    """
    forest = None if model is None or model.forest is None or not model.forest.casts else model.forest
    if ensemble.made is not None:
        forest = None  # the features come from the pipeline as the splits compare them
    n_columns = ensemble.n_features if forest is None else forest.n_columns
    of = np.arange(ensemble.n_features) if forest is None else forest.columns_of_features
    features = np.unique(of[ensemble.feature[ensemble.is_split if splits is None else splits]]).astype(np.int64)
    bought_as = np.full(n_columns, -1, dtype=np.int32)
    bought_as[features] = np.arange(features.size)
    place = np.append(bought_as[of], np.int32(-1))  # the last place is for the -1 of leaves
    made = features.size + np.arange(ensemble.n_features - n_columns, dtype=np.int32)
    tested = np.concatenate([bought_as, made, np.array([-1], dtype=np.int32)])[ensemble.feature]
    costs.check_features(ensemble.n_features)
    costs = costs if len(costs.needs) == n_columns else replace(costs, needs=costs.needs[:n_columns])
    steps = [evaluation[f] for f in features]
    longest = int(ensemble.depth.max()) * ensemble.n_trees
    response = average_response(ensemble) if model is None else model.response
    cast = None if forest is None else partial(forest.routed, features=features.tolist())
    named = ensemble.feature_names if forest is None else forest.column_names
    dtype = np.float32 if cast is None else np.float64
    bought = purchases_of(features, costs, n_columns, named, response.classes, steps, longest, dtype)
    step_units = np.array([int(p / bought.unit) for p in steps], dtype=np.int64)
    column = place[ensemble.feature]
    if forest is not None and forest.codes is not None:
        forest.codes.placed()  # refuses a model that does not know its columns
        bought = replace(bought, columns=forest.codes)
    return Plan(
        **vars(bought), ensemble=ensemble, column=column, tested=tested, step_units=step_units, response=response, cast=cast
    )


def purchases_of(
    features: NDArray[np.int64],
    costs: CostItems,
    n_features: int,
    named: Sequence[str] | None,
    classes: NDArray[Any] | None,
    steps: Sequence[Fraction] = (),
    longest: int = 0,
    dtype: Any = np.float32,
) -> PurchasePlan:
    """Names, items and integer prices of some features of a model.

    `steps`, `longest`: prices of evaluating a split, and the largest number of splits that a row passes.
    """
    costs.check_features(n_features)
    everything = tuple(named) if named is not None else tuple(f"x{f}" for f in range(n_features))
    needs = costs.needs_of(features)
    pays = needs.any(axis=0) & ~costs.paid_once
    per_row = [p if paid else Fraction(0) for p, paid in zip(costs.prices, pays.tolist(), strict=True)]
    unit = Fraction(1, math.lcm(*(p.denominator for p in [*per_row, *steps])))
    most = sum(per_row) + max(steps, default=Fraction(0)) * longest
    if most / unit >= INT64_SAFE:
        raise CapacityOverflowError(
            f"prices: their common unit is {float(unit):.3g} and a row may pay {float(most):.3g}; that does not fit 64 bits: "
            "write prices with fewer digits"
        )
    item_units = np.array([int(p / unit) for p in per_row], dtype=np.int64)
    names = tuple(everything[f] for f in features)
    return PurchasePlan(costs, names, features, everything, needs, unit, item_units, classes, dtype, None)


Bundle = tuple[tuple[int, ...], tuple[int, ...]]
"""Items to buy and features to bring, as ascending indices."""


class Orders:
    """Groups the rows of one walk into requests, and numbers these.

    `plan`: features, items and prices. `rows`: labels of the walk's rows. `made`: the number of requests so far.
    """

    def __init__(self, plan: PurchasePlan, rows: pd.Index[Any]) -> None:
        self._plan, self._rows, self.made, self._needs = plan, rows, 0, plan.needs

    def of_round(
        self,
        wanted: NDArray[np.bool_],
        unknown: NDArray[np.bool_],
        rows: NDArray[np.int64],
        paid: NDArray[np.bool_],
        most: int | None,
    ) -> list[Request]:
        """The requests for what some rows want, each of at most `most` rows.

        `wanted`, `unknown`: see `_groups`. `paid`: shape (n, M): the items that each row of the walk has paid.
        """
        once = self._plan.costs.paid_once
        paid_for_all = once & paid.any(axis=0)
        requests = []
        for (items, features), members in self._groups(wanted, unknown, paid[rows]):
            step = most or members.size
            for first in range(0, members.size, step):
                to_pay = [m for m in items if not paid_for_all[m]]
                paid_for_all[to_pay] |= once[to_pay]
                made = self._request(to_pay, features, rows[members[first : first + step]], 1)
                requests.append(made)
        return requests

    def remaining(
        self, request: Request, given: Answer, paid_by: NDArray[np.int32], others: Iterable[Request], attempt: int
    ) -> list[Request]:
        """Requests for what an answer left out; they name the items that what came does not pay.

        `paid_by`: shape (n, M): the request that paid each row's items before, `NEVER` where none did. `others`: requests that
        are open. What they buy once for all is not bought again. `attempt`: of the new requests.
        """
        plan, costs = self._plan, self._plan.costs
        place = np.searchsorted(plan.features, request.columns)
        needs = plan.needs[place]
        paid = (paid_by[request.positions] != NEVER) | (given.had @ needs)
        paid_for_all = costs.paid_once & ((paid_by != NEVER).any(axis=0) | paid.any(axis=0))
        if costs.paid_once.any():
            named = {name for other in others if other.number != request.number for name in other.items}
            paid_for_all |= costs.paid_once & np.isin(costs.names, list(named))
        rows = np.flatnonzero(~given.came.all(axis=1))
        kinds, kind = np.unique(np.concatenate([~given.came, paid], axis=1)[rows], axis=0, return_inverse=True)
        requests = []
        for k in range(len(kinds)):
            absent, paid_by_row = np.split(kinds[k], [len(request.features)])
            buys = np.flatnonzero(needs[absent].any(axis=0) & ~paid_by_row & ~paid_for_all)
            paid_for_all |= costs.paid_once & np.isin(np.arange(costs.n_items), buys)
            requests.append(self._request(buys, place[absent], request.positions[rows[kind.ravel() == k]], attempt))
        return requests

    def _request(
        self,
        items: Iterable[int],
        features: Iterable[int],
        positions: NDArray[np.int64],
        attempt: int,
    ) -> Request:
        plan, items, features = self._plan, list(items), list(features)
        number, self.made = self.made, self.made + 1
        return Request(
            tuple(plan.costs.names[m] for m in items),
            tuple(plan.names[f] for f in features),
            self._rows[positions],
            int(plan.item_units[items].sum()) * plan.unit,
            positions,
            plan.features[features],
            number,
            attempt,
        )

    @cached_property
    def _near(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """For each feature: those that share an item with it, itself included, and all items of these."""
        shares = (self._needs.astype(np.int32) @ self._needs.T.astype(np.int32)) > 0
        np.fill_diagonal(shares, True)
        return [(np.flatnonzero(row), np.flatnonzero(self._needs[row].any(axis=0))) for row in shares]

    def _groups(
        self, wanted: NDArray[np.bool_], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """What the requests of a round buy and bring, each with its rows, ascending.

        `wanted`: shape (rows, F): what each row waits for. `unknown`: shape (rows, F): what was never asked for. `bought`: shape
        (rows, M): what each row has paid, items that are paid once for all likewise.
        """
        found: dict[Bundle, list[NDArray[np.int64]]] = {}
        taken = np.zeros_like(bought)
        for f in np.flatnonzero(wanted.any(axis=0)):
            for bundle, rows in self._bundles(int(f), np.flatnonzero(wanted[:, f]), unknown, bought):
                to_pay_for = np.array(bundle[0], dtype=np.int64)
                free = rows[~taken[np.ix_(rows, to_pay_for)].any(axis=1)]
                taken[np.ix_(free, to_pay_for)] = True
                if free.size:
                    found.setdefault(bundle, []).append(free)
        return [(bundle, np.sort(np.concatenate(rows))) for bundle, rows in found.items()]

    def _bundles(
        self, f: int, rows: NDArray[np.int64], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """(1) for the rows that wait for feature f; rows with the same items and unknown features are together."""
        near, items = self._near[f]
        if near.size == 1 and items.size <= 1:  # f shares no item: all rows that wait for it buy the same
            return [((tuple(items.tolist()), (f,)), rows)]
        standing = np.concatenate([unknown[np.ix_(rows, near)], bought[np.ix_(rows, items)]], axis=1)
        kinds, kind = np.unique(np.packbits(standing, axis=1), axis=0, return_inverse=True)
        bundles = []
        for k in range(len(kinds)):
            members = np.flatnonzero(kind.ravel() == k)
            has = bought[rows[members[0]]]
            buys = self._needs[f] & ~has
            complete = ~(self._needs[near] & ~(has | buys)).any(axis=1)
            touched = (self._needs[near] & buys).any(axis=1)
            brings = near[(unknown[rows[members[0]], near] & complete & touched) | (near == f)]
            bundles.append(((tuple(np.flatnonzero(buys).tolist()), tuple(brings.tolist())), rows[members]))
        return bundles


class StageOrders(Orders):
    """Puts all that a row waits for into one request, with the other unknown features that (1) completes for the same items."""

    def _groups(
        self, wanted: NDArray[np.bool_], unknown: NDArray[np.bool_], bought: NDArray[np.bool_]
    ) -> list[tuple[Bundle, NDArray[np.int64]]]:
        """See `Orders`."""
        kinds, kind = np.unique(
            np.packbits(np.concatenate([wanted, unknown, bought], axis=1), axis=1), axis=0, return_inverse=True
        )
        found = []
        for k in range(len(kinds)):
            rows = np.flatnonzero(kind.ravel() == k)
            i = rows[0]
            if wanted[i].any():
                buys = self._needs[wanted[i]].any(axis=0) & ~bought[i]
                complete = ~(self._needs & ~(bought[i] | buys)).any(axis=1) & (self._needs & buys).any(axis=1)
                brings = wanted[i] | (unknown[i] & complete)
                found.append(((tuple(np.flatnonzero(buys).tolist()), tuple(np.flatnonzero(brings).tolist())), rows))
        return found
