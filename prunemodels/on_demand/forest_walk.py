"""Send rows down the trees of a forest.

In every round they go down all trees as far as the known features lead. Rows that are decided stop, and the others name the
features that they wait for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.answers import Cells
from prunemodels.on_demand.deciding import Certainty
from prunemodels.on_demand.options import Options
from prunemodels.on_demand.orders import Orders
from prunemodels.on_demand.plan import Plan
from prunemodels.on_demand.request import Acquire
from prunemodels.on_demand.result import OnDemandResult
from prunemodels.on_demand.steps import _advance, _ask_for_all
from prunemodels.on_demand.stopping import _ask_for_one
from prunemodels.on_demand.tally import Standing, result_of
from prunemodels.on_demand.walk import NEVER, Walk


class ForestWalk(Walk):
    """A `Walk` for a forest.

    Parameters
    ----------
    plan, options
        trees and prices, and when to stop.
    acquire, rows, known
        see `Walk`.
    """

    def __init__(self, plan: Plan, options: Options, acquire: Acquire, rows: pd.Index[Any], known: Cells) -> None:
        super().__init__(plan, Orders(plan.needs), acquire, options.max_rows, rows, known)
        n = len(rows)
        self._plan, self._options = plan, options
        self._certainty = Certainty(plan.response, plan.extremes, options.label, options.tolerance) if options.stops else None
        self._node = np.tile(plan.ensemble.roots.astype(np.int32), (n, 1))
        self._steps = np.zeros(n, dtype=np.int64)
        self._early = np.zeros(n, dtype=bool)

    def result(self) -> OnDemandResult:
        """What is known now; of a walk that was broken off, what was bought, and for open trees the value of the node reached."""
        self._settle()
        paid_by = np.where(self._paid_by == NEVER, -1, self._paid_by)
        standing = Standing(self._node, self._status, paid_by, self._steps, self._done, self._early)
        return result_of(self._plan, self.rows, standing, self.rounds, self.requests)

    def _look_ahead(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Walk the rows as far as possible; bool, shape (rows, F): what they wait for. Rows that wait for nothing are done."""
        plan, options, ensemble = self._plan, self._options, self._plan.ensemble
        trees = (ensemble.left, ensemble.right, plan.column, ensemble.threshold, ensemble.missing_left, plan.tested)
        _advance(rows, self._node, trees, plan.routed(self._cells), self._status, plan.step_units, self._steps)
        wanted = np.zeros((rows.size, len(plan.names)), dtype=bool)
        done, early = np.zeros(rows.size, dtype=bool), np.zeros(rows.size, dtype=bool)
        if options.stops:
            wanted, done, early = self._undecided(rows, trees)
        else:
            _ask_for_all(rows, self._node, trees, self._status, wanted, done)
        self._early[rows] = early
        self._done[rows] = done
        return wanted

    def _undecided(
        self, rows: NDArray[np.int64], trees: tuple[NDArray[Any], ...]
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
        """The one feature that each row asks for, and which rows are done, and which of these are decided with open trees."""
        plan, options, ends, certainty = self._plan, self._options, self._plan.extremes, self._certainty
        assert certainty is not None
        value = plan.response.value
        wanted, done = np.zeros((rows.size, len(plan.names)), dtype=bool), np.zeros(rows.size, dtype=bool)
        total = np.zeros((rows.size, 3, value.shape[1]))
        prices = (plan.needs, plan.item_units.astype(np.float64), self._paid_by != NEVER)
        stopping = (value, ends.low, ends.high, ends.deepest, options.place)
        cells = plan.routed(self._cells)
        _ask_for_one(rows, self._node, trees, cells, self._status, *stopping, *prices, wanted, done, total)
        early = np.zeros(rows.size, dtype=bool)
        open_rows = np.flatnonzero(~done)
        early[open_rows] = certainty.of(total[open_rows])
        wanted[early] = False
        return wanted, done | early, early
