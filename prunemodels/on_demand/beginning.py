"""Prepare a model for walks: the plan of its purchases, and how a walk begins.

The walks of a pipeline's trees ask for raw columns, and features are made from what was bought.

    a feature is known  where all raw columns that it is made from are known                                              (1)
    a feature is lost   where one of them cannot be had
    a row that waits for a feature waits for all raw columns that it is made from and that were not asked for             (2)

The walk through the trees, by features, is that of a model without a pipeline. It never asks; it shares the rows' purchases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble, MadeFeatures
from prunemodels.models.costs import Costs, features_named_in
from prunemodels.models.tree_model import TreeModel, tree_model_of, with_threshold
from prunemodels.on_demand.answers import Answer, Cells, logger
from prunemodels.on_demand.cascade_decider import CascadeDecider
from prunemodels.on_demand.deciding import Options
from prunemodels.on_demand.forest_decider import ForestDecider
from prunemodels.on_demand.holdings import Decider, Holdings, refused_rows
from prunemodels.on_demand.plan import Plan, PurchasePlan, plan_of, purchases_of
from prunemodels.on_demand.request import Request
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.stage_steps import steps_of
from prunemodels.on_demand.steps import KNOWN, LOST, UNKNOWN
from prunemodels.stages.policy import StagedModel
from prunemodels.stages.stages import by_column, check_same_prices


@dataclass(frozen=True, eq=False)
class RawColumns:
    """What a pipeline's rows may buy, and which features come of it. R raw columns may be asked for, F features are tested."""

    plan: PurchasePlan  # prices and needs of the R raw columns
    made: MadeFeatures  # how features are made from all raw columns
    features: NDArray[np.int64]  # shape (F,): the places of the F features among all
    sources: NDArray[np.bool_]  # shape (F, R): which raw columns each is made from

    def known_features(self, cells: NDArray[Any], known: NDArray[np.bool_]) -> Cells:
        """The F features of rows, and (1), from the R raw columns; shapes (n, F) and (n, R)."""
        shape, places = (len(cells), len(self.plan.everything)), self.plan.features
        values, had = np.zeros(shape, dtype=object), np.zeros(shape, dtype=bool)
        values[:, places], had[:, places] = cells, known
        found, done = self.made.features_known(values, had)
        return found[:, self.features], done[:, self.features]


def raw_columns_of(plan: Plan) -> RawColumns:
    """The raw columns that the features of a plan are made from, with their prices."""
    made, costs = plan.ensemble.made, plan.costs
    assert made is not None
    sources = np.zeros((plan.features.size, len(made.names)), dtype=bool)
    for f, feature in enumerate(plan.features):
        sources[f, list(made.sources[feature])] = True
    columns = np.flatnonzero(sources.any(axis=0))
    bought = purchases_of(columns, by_column(costs), len(made.names), made.names, plan.classes, dtype=object)
    # the same unit as the plan's, in which evaluating a split counts too
    bought = replace(bought, unit=plan.unit, item_units=plan.item_units)
    return RawColumns(bought, made, plan.features, sources[:, columns])


class PipelineDecider(Decider):
    """Decides which raw columns the rows of a pipeline's trees ask for, or of a cascade along them.

    `columns`: what may be bought. `inner`: makes the decider that goes through the trees by features. It has cells of its own,
    the features, and shares everything else with the walk.
    """

    def __init__(self, columns: RawColumns, inner: Callable[[Holdings], Decider], held: Holdings) -> None:
        super().__init__(columns.plan, held)
        self._columns, names = columns, columns.plan.names
        shape = len(held.rows), columns.features.size
        cells, status = np.zeros(shape, dtype=np.float32), np.full(shape, UNKNOWN, dtype=np.uint8)
        self._inner = inner(replace(held, cells=cells, status=status))
        self.orders = self._inner.orders
        for (i, f), why in self._unfit(held.cells, held.status == KNOWN, np.arange(len(names))).items():
            held.status[i, f] = LOST
            held.refused[i, names[f]] = why
            logger.warning("%r of row %r %s; it counts as unavailable", names[f], held.rows[i], why)
        self._seen = held.status.copy()
        self._make_features(np.arange(len(held.rows)))

    def result(self, **counts: Any) -> OnDemandResult:
        """See `Decider`."""
        return self._inner.result(**counts)

    @property
    def model_print(self) -> str:
        """See `Decider`."""
        return self._inner.model_print

    def memory(self) -> Any:
        """See `Decider`; features are made again."""
        return self._inner.memory()

    def go_on(self, memory: Any) -> None:
        """See `Decider`."""
        self._inner.go_on(memory)

    def reopen(self, rows: NDArray[np.int64]) -> None:
        """See `Decider`."""
        self._make_new_features()
        self._inner.reopen(rows)

    def look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """See `Decider`; (2)."""
        self._make_new_features()
        wanted = self._inner.look_ahead(rows)
        return np.asarray((wanted @ self._columns.sources) & (self.held.status[rows] == UNKNOWN))

    def choose(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The first raw column that the feature that the trees would ask for next is made from, and that is wanted."""
        sources, rows_of_features = self._columns.sources, (wanted @ self._columns.sources.T).astype(bool)
        chosen = (self._inner.choose(rows, rows_of_features) @ sources) & wanted
        of_these = np.where(chosen.any(axis=1, keepdims=True), chosen, wanted)
        return np.asarray(of_these & (np.cumsum(of_these, axis=1) == 1))

    def _make_new_features(self) -> None:
        """Compute the features of the rows to which something was delivered."""
        self._make_features(np.flatnonzero((self.held.status != self._seen).any(axis=1)))

    def _make_features(self, rows: NDArray[np.int64]) -> None:
        """Compute the features of some rows."""
        if self._seen.shape[1] == 0 or rows.size == 0:
            return
        status, features = self.held.status[rows], self._inner.held
        values, known = self._columns.known_features(self.held.cells[rows], status == KNOWN)
        lost = (status == LOST) @ self._columns.sources.T
        features.cells[rows] = values
        features.status[rows] = np.where(known, KNOWN, np.where(lost, LOST, UNKNOWN))
        self._seen[rows] = status

    def judged(self, request: Request, given: Answer) -> Answer:
        """Refuses values with which the pipeline cannot make a row's features."""
        places = np.searchsorted(self.purchases.features, request.columns)
        cells, known = self.held.cells[request.positions], self.held.status[request.positions] == KNOWN
        cells[:, places] = np.where(given.had, given.values, cells[:, places])
        known[:, places] |= given.had
        found = self._unfit(cells, known, places)
        return given.refusing({(i, int(np.flatnonzero(places == f)[0])): why for (i, f), why in found.items()}, request)

    def _unfit(self, cells: NDArray[Any], known: NDArray[np.bool_], places: NDArray[np.int64]) -> dict[tuple[int, int], str]:
        """The cells, among those of some columns, without which the pipeline takes their rows, and why it refuses them.

        If it refuses every one of several rows, its error is raised: then it is no single value that is wrong.
        """
        everyone = np.arange(len(cells))

        def attempt(rows: NDArray[np.int64]) -> None:
            self._columns.known_features(cells[rows], known[rows])

        refused, found = refused_rows(attempt, everyone), {}
        if len(refused) == everyone.size > 1:
            raise next(iter(refused.values()))
        for i, why in refused.items():
            new = [f for f in places.tolist() if known[i, f]]
            for f in [f for f in new if self._passes_without(cells[[i]], known[[i]], f)] or new:
                found[i, f] = f"is {cells[i, f]!r}, which the pipeline refuses ({why})"
        return found

    def _passes_without(self, cells: NDArray[Any], known: NDArray[np.bool_], f: int) -> bool:
        """Whether a row's features can be made if one of its raw columns is not known."""
        others = known & (np.arange(known.shape[1]) != f)
        return not refused_rows(lambda one: self._columns.known_features(cells, others), np.zeros(1, dtype=np.int64))


Begin = tuple[PurchasePlan, Callable[[Holdings], Decider]]
"""A model that is ready to be walked: what may be bought, and what makes the decider of a walk."""


def _begin(plan: PurchasePlan, decider: Callable[[Holdings], Decider]) -> Begin:
    """Walks by features; around them walks by raw columns if these make the features."""
    if not isinstance(plan, Plan) or plan.ensemble.made is None:
        return plan, decider
    columns = raw_columns_of(plan)
    return columns.plan, partial(PipelineDecider, columns, decider)


def staged_walks(model: StagedModel, costs: Costs | None, evaluation_cost: Any, served: set[str] | None) -> Begin:
    """Walks along the stages of a fitted cascade; `served`: the columns that can be had at all, None: every one."""
    steps = steps_of(model, served)
    begin = _begin(steps.plan, partial(CascadeDecider, steps, model.policy))
    check_same_prices(model.stages, begin[0].everything, costs, evaluation_cost)
    return begin


def forest_walks(
    forest: Any, costs: Any, evaluation: Any, threshold: float | None, options: Callable[[TreeModel], Options], like: Any
) -> Begin:
    """Walks through the trees of a forest or a boosted model; `like`: a table with the types of the columns, if there is one."""
    model = TreeModel(None, forest) if isinstance(forest, Ensemble) else tree_model_of(forest)
    # requests speak of columns as the table does, or the prices
    model = model.like(like).spelled_as([*getattr(like, "columns", ()), *features_named_in(costs)])
    if threshold is not None:
        model = with_threshold(model, threshold)
    costs, evaluation = model.priced(costs, evaluation)
    trees, items = model.ensemble, model.items(costs)
    plan = plan_of(trees, items, evaluation_prices(model.per_feature(evaluation), trees.n_features), model=model)
    return _begin(plan, partial(ForestDecider, plan, options(model)))
