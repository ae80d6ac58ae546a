"""Which suppliers a walk's rows have asked, and what that took them (`formulations.instance.requests`).

The requests of a round run side by side. A request that is made again is one more round for its rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prunemodels.exits.waiting import Calls
from prunemodels.on_demand.plan import PurchasePlan
from prunemodels.on_demand.request import Request


class CallLog:
    """The answered requests of n rows.

    Parameters
    ----------
    plan
        suppliers and fees.
    n
        number of rows.
    """

    def __init__(self, plan: PurchasePlan, n: int) -> None:
        self._plan, self._n = plan, n
        self._noted: dict[int, tuple[tuple[int, int], NDArray[np.int64], tuple[str, ...]]] = {}

    def note(self, request: Request, round_number: int) -> None:
        """Enter an answered request; entering it twice changes nothing."""
        if request.suppliers:
            self._noted[request.number] = (round_number, request.attempt), request.positions, request.suppliers

    def units(self) -> NDArray[np.int64]:
        """What each row has paid for fees, in units, shape (n,)."""
        return self._sums()[2] if self._plan.fee_units.any() else np.zeros(self._n, dtype=np.int64)

    def calls(self) -> Calls:
        """Rounds, latency and fees of each row, shape (n,)."""
        rounds, latency, units = self._sums()
        return Calls(rounds, latency, np.asarray(units * float(self._plan.unit), dtype=np.float64))

    def _sums(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        asks = self._plan.asks
        by_round: dict[tuple[int, int], NDArray[np.bool_]] = {}
        for when, rows, suppliers in self._noted.values():
            asked = by_round.setdefault(when, np.zeros((self._n, len(asks.names)), dtype=bool))
            asked[np.ix_(rows, np.array([asks.names.index(name) for name in suppliers]))] = True
        rounds, latency, units = np.zeros(self._n, dtype=np.int64), np.zeros(self._n), np.zeros(self._n, dtype=np.int64)
        for _, asked in sorted(by_round.items(), key=lambda pair: pair[0]):  # in order: floats are summed as in the stages
            rounds += asked.any(axis=1)
            latency += asks.latency(asked)
            units += asked @ self._plan.fee_units
        return rounds, latency, units
