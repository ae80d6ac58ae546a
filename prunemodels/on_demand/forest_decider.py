"""Decide what rows ask for on their way down the trees of a forest.

In every round they go down all trees as far as the known features lead. Rows that are decided stop, and the others name the
features that they wait for.

With a cap C on what a row pays, let P be what it has paid for items, and S for the splits that it passed. It passes
a split on feature f, whose evaluation costs e_f, only if P + S + e_f <= C, and of the features that it waits for it asks for
those with

    P + S + (price of the items that f needs and the row has not paid) + e_f  <=  C.                              (1)

All other features count as ones that cannot be had. P + S only grows, and P plus the price in (1) never falls, so a feature
that is out of reach stays so. If the row cannot pay all that it waits for together, it asks for one feature at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.stored_arrays import fingerprint
from prunemodels.on_demand.deciding import Certainty, Options
from prunemodels.on_demand.holdings import Decider, Holdings, account_of
from prunemodels.on_demand.plan import Plan
from prunemodels.on_demand.request import NEVER
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import (
    KNOWN,
    LOST,
    NO_CAP,
    UNKNOWN,
    Owed,
    Ranges,
    Room,
    Standing,
    Trees,
    advance,
    ask_for_all,
    ask_for_one,
)


class ForestDecider(Decider):
    """Sends rows down the trees of a forest.

    `plan`, `options`: trees and prices, and when to stop.
    """

    def __init__(self, plan: Plan, options: Options, held: Holdings) -> None:
        super().__init__(plan, held)
        n = len(held.rows)
        self._plan, self._options = plan, options
        self._certainty = Certainty(options, plan.response, plan.extremes) if options.stops else None
        self._node = np.tile(plan.ensemble.roots.astype(np.int32), (n, 1))
        self._steps = np.zeros(n, dtype=np.int64)
        self._early, self._capped = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)

    def result(self, **counts: Any) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and for open trees the value of the node reached."""
        plan, node, split = self._plan, self._node, self._plan.ensemble.is_split[self._node]
        sums = plan.response.sums(node)
        probabilities = plan.response.probabilities(sums)
        lost = np.zeros(node.shape, dtype=bool)
        if plan.names:
            lost = split & (np.take_along_axis(self.held.status, plan.column[node], axis=1) == LOST)
        return OnDemandResult(
            rows=self.held.rows,
            predictions=plan.response.predictions(sums),
            probabilities=None if probabilities is None else probabilities.astype(np.float64),
            **account_of(plan, self.held.paid_by, self._steps),
            finished=self.held.done.copy(),
            stopped_early=self._early.copy(),
            fell_back=np.any(lost, axis=1),
            capped=self._capped.copy(),
            trees_finished=(~split | lost).sum(axis=1),
            **counts,
        )

    @property
    def model_print(self) -> str:
        """See `Decider`."""
        plan, e = self._plan, self._plan.ensemble
        return fingerprint(plan.everything, plan.features, plan.item_units, e.left, e.feature, e.threshold, e.value)

    def memory(self) -> Any:
        """See `Decider`."""
        return self._node, self._steps, self._early, self._capped

    def go_on(self, memory: Any) -> None:
        """See `Decider`."""
        self._node, self._steps, self._early, self._capped = memory

    @property
    def _trees(self) -> Trees:
        e = self._plan.ensemble
        return Trees(e.left, e.right, self._plan.column, e.threshold, e.missing_left, self._plan.tested)

    def _standing(self, status: NDArray[np.uint8]) -> Standing:
        """Where the rows stand if their features have this status."""
        return Standing(self._node, self._plan.routed(self.held.cells), status)

    def look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """See `Decider`."""
        plan, most = self._plan, self._most_steps()
        advance(rows, self._standing(self.held.status), self._trees, plan.step_units, most, self._steps)
        status = self._status_within_cap(rows, most)
        capped = np.zeros(rows.size, dtype=bool)
        if self._options.stops:
            wanted, done, early = self._undecided(rows, self.held.status)
            limited = np.flatnonzero(~done & (status[rows] != self.held.status[rows]).any(axis=1))
            if limited.size:
                wanted[limited], done[limited], _ = self._undecided(rows[limited], status)
                capped[limited] = done[limited]  # without the cap they would go on
        else:
            wanted, done, early = self._nothing(rows)
            ask_for_all(rows, self._node, self._trees, status, wanted, done)
            if self.held.cap is not None:
                short = np.flatnonzero(self._price_of(rows, wanted) > (most - self._steps)[rows])
                wanted[short] = self.choose(rows[short], wanted[short])
        self._early[rows], self.held.done[rows] = early, done
        self._capped[rows] = capped | (done & ~early & self._barred(rows, status))
        return wanted

    def choose(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The feature that early stopping would ask for next."""
        status = self._status_within_cap(rows, self._most_steps())
        return self._undecided(rows, status, stop=False)[0]

    def _undecided(
        self, rows: NDArray[np.int64], status: NDArray[np.uint8], *, stop: bool = True
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """The one feature that each row asks for, and which rows are done, and which of them are decided with open trees.

        Without `stop` no row is decided.
        """
        plan, ends, value = self._plan, self._plan.extremes, self._plan.response.value
        wanted, done, early = self._nothing(rows)
        total = np.zeros((rows.size, 3, value.shape[1]))
        ranges = Ranges(value, ends.low, ends.high)
        owed = Owed(plan.needs, plan.item_units.astype(np.float64), self.held.paid_by != NEVER)
        room = Room.of(len(plan.needs), value.shape[1], self._trees)
        ask_for_one(rows, self._standing(status), self._trees, ranges, owed, room, wanted, done, total)
        if stop and self._certainty is not None:
            open_rows = np.flatnonzero(~done)
            early[open_rows] = self._certainty.of(total[open_rows])
        wanted[early] = False
        return wanted, done | early, early

    def _nothing(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """Nothing is wanted, and no row is done or decided."""
        return np.zeros((rows.size, len(self._plan.names)), dtype=bool), np.zeros(rows.size, bool), np.zeros(rows.size, bool)

    def _most_steps(self) -> NDArray[np.int64]:
        """C - P: the most that each row may pay for passing splits."""
        if self.held.cap is None:
            return np.full(len(self.held.rows), NO_CAP)
        return np.asarray(self.held.cap - (self.held.paid_by != NEVER) @ self._plan.item_units)

    def _status_within_cap(self, rows: NDArray[np.int64], most: NDArray[np.int64]) -> NDArray[np.uint8]:
        """The status of all features, where those of `rows` that (1) excludes count as lost."""
        if self.held.cap is None:
            return self.held.status
        plan, status = self._plan, self.held.status.copy()
        unpaid = self.held.paid_by[rows] == NEVER
        price = unpaid @ (plan.needs * plan.item_units).T + plan.step_units
        beyond = price > (most - self._steps)[rows, None]
        status[rows] = np.where((status[rows] == UNKNOWN) & beyond, LOST, status[rows])
        return status

    def _price_of(self, rows: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
        """What the rows would pay for all that they want, and for passing one split on each."""
        items = (wanted @ self._plan.needs) & (self.held.paid_by[rows] == NEVER)
        return np.asarray(items @ self._plan.item_units + wanted @ self._plan.step_units)

    def _barred(self, rows: NDArray[np.int64], status: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Rows that the cap keeps from going on in a tree: its feature is known, but not passed, or is lost in `status` alone."""
        if self.held.cap is None or not self._plan.names:
            return np.zeros(rows.size, dtype=bool)
        node = self._node[rows]
        column, split = self._plan.column[node], self._plan.ensemble.is_split[node]
        true = np.take_along_axis(self.held.status[rows], column, axis=1)
        held = (true == KNOWN) | (true != np.take_along_axis(status[rows], column, axis=1))
        return np.asarray((split & held).any(axis=1))
