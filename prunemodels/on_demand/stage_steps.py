"""The features that each stage of a cascade needs for a row, and its output once it has them.

Models on nested sets need the features of their set. Stages along one forest go down the same trees: at stage s rows pass the
splits that are kept there, and all other splits count as leaves. So the walk goes on from where stage s - 1 ended.

Where a feature of stage s, for which row i waits, is lost, a fitted stage of any chain answers in its place. Let c_s be what
held-out rows that come to stage s pay on average by the policy, and e_t the held-out error of a stage if all rows stop there. The
substitute is

    the stage t of least e_t, of all chains of the cascade, such that
        no feature that its answer is made from is lost                                                                   (1)
        with the items that these features need the row pays at most c_s, and at most the cap on what a row may pay       (2)
        e_t < e_r                  r: the stage that the row has its answer from; e_r = infinity without an answer        (3)
        some of these features no stage up to r has read, if there is an answer                                           (4)

So rows that go round stages cost no more on average than by the policy. If there is no such stage, the row stops with the answer
that it has. If a feature of the substitute turns out to be lost as well, another one is chosen in the same way, for the same c_s.
A row that a substitute has answered stops.

An answer of stage t is made from the features of stage t, and where a stack combines it with earlier ones, of these too. The
models of regions are no substitutes: the other chains have stages that need not know a row's region.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, singledispatch
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError
from prunemodels.on_demand.plan import Orders, Plan, PurchasePlan, StageOrders, plan_of, purchases_of
from prunemodels.on_demand.steps import LOST, NO_CAP, Standing, Trees, advance, ask_for_all
from prunemodels.stages.params import PARAMS
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.policy import StagedModel
from prunemodels.stages.raw_tables import misfits, with_types
from prunemodels.stages.set_stages import SetStages, row_prices
from prunemodels.stages.stacking import Stack, stack_inputs
from prunemodels.stages.stages import StageOutput, priced_stages
from prunemodels.stages.tree_stages import TreeStages


@dataclass(frozen=True, eq=False)
class Substitute:
    """A stage of some chain by itself."""

    stages: SetStages
    stack: Stack | None
    s: int
    error: float  # on held-out rows

    @property
    def made_from(self) -> NDArray[np.int64]:
        """The stages from whose outputs its answer is made, itself included."""
        if self.stack is None or not self.stack.stacked[self.s]:
            return np.array([self.s])
        return np.flatnonzero((self.stack.weight[self.s, : self.s + 1] != 0) | (np.arange(self.s + 1) == self.s))

    @property
    def features(self) -> NDArray[np.int64]:
        """The columns that it needs, ascending."""
        return np.unique(np.concatenate([self.stages.features[t] for t in self.made_from.tolist()]))

    def output(self, alone: Callable[[SetStages, int], StageOutput]) -> StageOutput:
        """Its output for some rows. `alone`: the output of a stage of a chain by itself."""
        own = alone(self.stages, self.s)
        if self.stack is None or not self.stack.stacked[self.s]:
            return own
        inputs = np.zeros((self.s + 1, *own.value.shape))
        for t in self.made_from.tolist():
            inputs[t] = stack_inputs((own if t == self.s else alone(self.stages, t)).value)
        return self.stack.output(self.s, own, inputs)


def substitutes_of(model: StagedModel, served: set[str] | None) -> tuple[Substitute, ...]:
    """The substitutes of a model of sets, those of least error first, and of equal ones the cheapest.

    None is dearer than the last stage that the policy lets a row reach, by what a row pays or by items paid once for all.
    `served`: the columns that can be had at all; None: every one.
    """
    own, last = model.stages, model.policy.last_stage
    assert isinstance(own, SetStages)
    each, dearest = row_prices(own.items), max(float(chain.prices()[last]) for chain in own.regions)
    once = own.items.paid_once & ~own.bought()[last]
    found: dict[bytes, tuple[float, float, Substitute]] = {}
    for one in _stages(model):
        needed = own.items.needs_of(one.features).any(axis=0)
        price = float(each @ needed)
        if price > dearest * (1 + PARAMS.rounding) or (needed & once).any() or not _is_served(model, one.features, served):
            continue
        key = one.features.tobytes()
        found[key] = min(found.get(key, (np.inf, np.inf, one)), (one.error, price, one), key=lambda known: known[:2])
    return tuple(one for _, _, one in sorted(found.values(), key=lambda known: known[:2]))


def _is_served(model: StagedModel, features: NDArray[np.int64], served: set[str] | None) -> bool:
    return served is None or model.names is None or all(str(model.names[f]) in served for f in features.tolist())


def _stages(model: StagedModel) -> Iterator[Substitute]:
    """All stages of all chains that need not know a row's region."""
    for chain in model.chains:
        stages: Any = chain.stages
        for s in range(stages.n_stages):
            one = Substitute(stages, chain.stack, s, float(chain.error[s]))
            if not any(hasattr(stages.models[t], "region") for t in one.made_from.tolist()):
                yield one


Alone = Callable[[SetStages, int, NDArray[Any]], StageOutput]
"""The output of a stage of a chain by itself, for the cells of some rows."""


class Substitutes:
    """Substitutes for the rows of a walk. D of them need F features, for which M items are to be paid.

    `plan`: features and prices of the walk. `alone`: the output of a stage by itself.
    """

    def __init__(self, some: Sequence[Substitute], plan: PurchasePlan, alone: Alone) -> None:
        self._some, self._units, self._alone = some, plan.item_units, alone
        self.needs = np.zeros((len(some), len(plan.names)), dtype=bool)  # shape (D, F)
        for k, one in enumerate(some):
            self.needs[k] = np.isin(plan.features, one.features)
        self._items = self.needs @ plan.needs  # shape (D, M)
        self._error = np.array([one.error for one in some])

    def output(self, k: int, cells: NDArray[Any]) -> StageOutput:
        """The output of substitute k for some rows."""
        return self._some[k].output(lambda stages, s: self._alone(stages, s, cells))

    def chosen(self, status: NDArray[np.uint8], paid: NDArray[np.bool_], reached: Reached) -> NDArray[np.int64]:
        """The substitute of each row by (1) to (4), -1: none; shape (rows,).

        `status`, `paid`: shapes (rows, F) and (rows, M): what can be had, and the items that the rows have paid.
        """
        lost = (status == LOST) @ self.needs.T
        price = (paid[:, None] | self._items) @ self._units  # shape (rows, D)
        new = (~reached.read @ self.needs.T) | np.isinf(reached.error)[:, None]
        able = ~lost & (price <= reached.most[:, None]) & (self._error < reached.error[:, None]) & new
        first = np.argmax(np.column_stack([able, np.ones(len(able), dtype=bool)]), axis=1)
        return np.where(first < len(self._some), first, -1)


class Reached(NamedTuple):
    """What some rows have when a feature of their next stage is lost."""

    error: NDArray[np.float64]  # shape (rows,): e_r of (3)
    most: NDArray[np.int64]  # shape (rows,): the right side of (2), in units
    read: NDArray[np.bool_]  # shape (rows, F): the features that stages up to r have read


Table = NDArray[Any]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Place:
    """The nodes that rows have reached in the trees; `advance` moves them."""

    node: NDArray[np.int32]  # shape (rows, T); for models on sets the row's region in the place of nodes, if rows part
    steps: NDArray[np.int64]  # shape (rows,): price of the splits evaluated, in units


@dataclass(frozen=True, eq=False)
class SetSteps:
    """Stages that are separate models; their first stage has no answer without all of its features."""

    stages: SetStages
    model: StagedModel  # which says the types of the columns
    plan: PurchasePlan  # all features that they read
    names: Any  # of all columns, where the models were trained with names
    some: tuple[Substitute, ...]  # D stages that may answer in the place of others

    guesses: ClassVar[bool] = False
    orders: ClassVar[type[Orders]] = StageOrders  # one request for each stage

    @cached_property
    def substitutes(self) -> Substitutes:
        """What answers in the place of a stage for which a feature is lost."""
        return Substitutes(self.some, self.plan, self._output)

    @cached_property
    def errors(self) -> NDArray[np.float64]:
        """Shape (S,): see `Chain.error`."""
        return self.model.chains[0].error if self.model.chains else np.zeros(self.stages.n_stages)

    @cached_property
    def pays(self) -> Rows:
        """Shape (S,): see `StagedModel.pays`; in units, rounded down."""
        pays = np.zeros(self.stages.n_stages) if self.model.pays is None else self.model.pays
        return np.floor(pays / float(self.plan.unit) * (1 + STAGE_PARAMS.rounding)).astype(np.int64)

    @cached_property
    def usual(self) -> NDArray[np.bool_]:
        """Shape (F,): the features that stages read which the policy lets a row reach, not only substitutes."""
        return np.isin(self.plan.features, np.concatenate(self.stages.features[: self.model.policy.last_stage + 1]))

    @cached_property
    def regions(self) -> tuple[SetStages, ...]:
        """The chain of every region."""
        return self.stages.regions

    def start(self, n: int) -> Place:
        """No nodes of trees; where rows part, the region that they are in."""
        return Place(np.zeros((n, int(len(self.regions) > 1)), dtype=np.int32), np.zeros(n, dtype=np.int64))

    def advance(self, s: int, rows: Rows, place: Place, cells: Table, status: NDArray[np.uint8]) -> None:
        """Find the regions of rows that have come beyond the fork, and so have bought what tells them; twice changes nothing."""
        if len(self.regions) > 1 and rows.size and s > self.stages.fork:
            place.node[rows, 0] = self.stages.region(self._table(self.stages.features[s], cells[rows]))

    def needs(self, s: int, rows: Rows, place: Place) -> NDArray[np.bool_]:
        """Bool, shape (rows, F): all features of the stage in the row's region; known ones among them do not matter."""
        needed = np.array([np.isin(self.plan.features, chain.features[s]) for chain in self.regions])
        return needed[place.node[rows, 0]] if len(needed) > 1 else np.repeat(needed, rows.size, axis=0)

    def output(self, s: int, place: Place, cells: Table) -> StageOutput:
        """The stage's model, on rows whose other columns are empty."""
        return self._output(self.stages, s, cells)

    def _output(self, stages: SetStages, s: int, cells: Table) -> StageOutput:
        return stages.output(s, self._table(stages.features[s], cells))

    def _table(self, columns: Rows, cells: Table) -> Any:
        rows = np.full((len(cells), self.stages.items.n_features), np.nan, dtype=cells.dtype)
        rows[:, self.plan.features] = cells
        if self.names is None:
            return rows
        types = self.model.types
        if types is None:  # scikit-learn would write into a read-only view of a float32 table
            return pd.DataFrame(rows.astype(np.float64), columns=self.names)
        return with_types(pd.DataFrame(rows, columns=self.names), types, columns.tolist())

    def misfits(self, column: int, values: Table) -> dict[int, str]:
        """Why some values of a column, by place, have not the type that it had in training; NaN stands for what is not there."""
        types = self.model.types
        return {} if types is None else misfits(pd.Series(values, dtype=object), types[column])

    def n_trees(self, stage: Rows) -> Rows:
        """These models are no trees."""
        return np.zeros(stage.shape, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class TreeSteps:
    """Stages along the trees of one forest; they ask feature by feature, as forests do."""

    stages: TreeStages
    plan: Plan  # the features that are tested by splits that some stage in use keeps

    orders: ClassVar[type[Orders]] = Orders

    substitutes: ClassVar[None] = None  # all stages walk the same trees

    guesses: ClassVar[bool] = True  # the first stage has an answer without all of its features: nodes have values

    @property
    def errors(self) -> NDArray[np.float64]:
        """None is needed."""
        return np.zeros(self.stages.n_stages)

    @property
    def usual(self) -> NDArray[np.bool_]:
        """See `SetSteps`."""
        return np.ones(len(self.plan.names), dtype=bool)

    def start(self, n: int) -> Place:
        """All rows at the roots."""
        return Place(np.tile(self.stages.ensemble.roots.astype(np.int32), (n, 1)), np.zeros(n, dtype=np.int64))

    def advance(self, s: int, rows: Rows, place: Place, cells: Table, status: NDArray[np.uint8]) -> None:
        """Go down the splits that stage s keeps."""
        most = np.full(place.steps.shape, NO_CAP)  # the walk itself looks ahead to see whether a stage keeps within a cap
        advance(rows, Standing(place.node, cells, status), self._trees(s), self.plan.step_units, most, place.steps)

    def needs(self, s: int, rows: Rows, place: Place) -> NDArray[np.bool_]:
        """The features of the splits that the rows have reached."""
        unknown = np.zeros((rows.size, len(self.plan.names)), dtype=np.uint8)
        found, done = np.zeros(unknown.shape, dtype=bool), np.zeros(rows.size, dtype=bool)
        ask_for_all(np.arange(rows.size), place.node[rows], self._trees(s), unknown, found, done)
        return found

    def _trees(self, s: int) -> Trees:
        """The trees of stage s: a split that it does not keep is a leaf."""
        e = self.stages.ensemble
        left = np.where(self.stages.first_stage <= s, e.left, -1).astype(e.left.dtype)
        return Trees(left, e.right, self.plan.column, e.threshold, e.missing_left, self.plan.tested)

    def output(self, s: int, place: Place, cells: Table) -> StageOutput:
        """The output by the nodes that the rows have reached."""
        return self.stages.output_at(place.node.T)

    def misfits(self, column: int, values: Table) -> dict[int, str]:
        """None: `read` takes numbers alone."""
        return {}

    def n_trees(self, stage: Rows) -> Rows:
        """All trees take part in every stage, none before the first."""
        return np.where(stage >= 0, self.stages.ensemble.n_trees, 0)


StageSteps = SetSteps | TreeSteps


def steps_of(model: StagedModel, served: set[str] | None = None) -> StageSteps:
    """The steps of stages, up to the last one that the policy lets a row reach, and of their substitutes.

    `served`: the columns that can be had at all; None: every one.
    """
    return _steps_of(priced_stages(model.stages), model, served)


@singledispatch
def _steps_of(stages: Any, model: StagedModel, served: set[str] | None) -> StageSteps:
    raise UnsupportedModelError(f"stages are {type(stages).__name__}, along which rows cannot buy features one by one")


@_steps_of.register
def _(stages: TreeStages, model: StagedModel, served: set[str] | None) -> TreeSteps:
    e, last = stages.ensemble, model.policy.last_stage
    return TreeSteps(stages, plan_of(e, stages.items, stages.split_prices, e.is_split & (stages.first_stage <= last)))


@_steps_of.register
def _(stages: SetStages, model: StagedModel, served: set[str] | None) -> SetSteps:
    some = substitutes_of(model, served)
    features = np.unique(np.concatenate([*stages.features[: model.policy.last_stage + 1], *(one.features for one in some)]))
    names: Any = stages.column_names if model.names is None else model.names
    dtype = object if model.types is not None else np.float32 if model.numeric else np.float64
    told = None if names is None else [str(name) for name in names]
    plan = purchases_of(features, stages.items, stages.n_columns, told, stages.classes, dtype=dtype)
    return SetSteps(stages, model, plan, names, some)
