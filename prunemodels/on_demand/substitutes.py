"""Fitted stages that answer in the place of one for which a feature cannot be had.

Let row i wait for stage s of its policy, and let a feature of stage s be lost. Let c_s be what held-out rows that come to stage s
pay on average by the policy, and e_t the held-out error of a stage if all rows stop there. The substitute is

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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.steps import LOST
from prunemodels.stages.params import PARAMS
from prunemodels.stages.policy import StagedModel
from prunemodels.stages.set_stages import SetStages, row_prices
from prunemodels.stages.stacking import Stack, stack_inputs
from prunemodels.stages.stages import StageOutput


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
