"""Some rows of a cost sample, and all that depends on them alone.

Given the scores, rows are independent, see (1) of `solvers.price_sharing.shares`: a shard works out what its rows charge every
open split, what they would pay for a level set, and what they have paid for splits that are fixed in. It knows nothing of errors
and gains, and nothing of items that are paid once for all rows: both are the driver's.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Ensemble
from formulations.instance.integers import Integers
from formulations.instance.node_errors import ErrorComponent, NodeErrors
from formulations.instance.problem import MOST_PURCHASES, PruningProblem, check_weights
from formulations.instance.routing import as_rows, route
from solvers.price_sharing.cluster.item_payers import charges_by_row
from solvers.price_sharing.cluster.row_sources import RowSource
from solvers.price_sharing.cluster.shard import MOST_WEIGHTS, Opened, ShardArcs, ShardFacts
from solvers.price_sharing.levels import paid_at
from solvers.price_sharing.remaining import Remaining, all_open
from solvers.price_sharing.shares import Sharing
from solvers.price_sharing.whole import Whole


class RowShard:
    """A `Shard` that lives where it was built.

    Parameters
    ----------
    source
        its rows.
    name
        of the part, for messages.
    threads
        1, or 2: a pass over many arcs is halved then.
    """

    def __init__(self, source: RowSource, ensemble: Ensemble, costs: CostItems, name: str = "the part", threads: int = 1) -> None:
        self.ensemble, self.costs = ensemble, costs
        self.pool = ThreadPoolExecutor(1) if threads > 1 else _AtOnce()
        X, weights = _read(source(), name)
        rows = as_rows(X, ensemble.n_features, name)
        omega = check_weights(weights, len(rows), f"{name}: the weights")
        mine = np.flatnonzero(omega > 0)
        if costs.n_items * (mine.size + 1) > MOST_PURCHASES:
            raise CapacityOverflowError(
                f"{name} has {mine.size:,} rows and costs {costs.n_items:,} items: a part can number {MOST_PURCHASES:,} pairs of "
                "them; give more parts"
            )
        self.weights = omega[mine]
        self.routing = route(ensemble, rows if mine.size == len(rows) else rows[mine])
        self.problem: PruningProblem | None = None
        self.left: Remaining | None = None

    def facts(self) -> ShardFacts:
        """Rows, weights and routing in numbers."""
        values, counts = np.unique(self.weights, return_counts=True)
        some = slice(0, MOST_WEIGHTS + 1)
        start = self.routing.start.astype(np.int64)
        return ShardFacts(self.routing.n_rows, values[some], counts[some].astype(np.int64), start, self.routing.counts())

    def node_weights(self, weight_unit: Fraction) -> NDArray[np.int64]:
        """Sums of integer weights."""
        return self.routing.node_sums(self.ensemble, _in_units(self.weights, weight_unit))

    def join(self, weight_unit: Fraction) -> None:
        """Set up the shard's own instance."""
        n, weight = self.ensemble.n_nodes, _in_units(self.weights, weight_unit)
        nothing = np.zeros(n, dtype=np.int64)
        items = self.costs.n_items
        integers = Integers(nothing, np.zeros(items, dtype=np.int64), weight, nothing, Fraction(1), Fraction(1), 0.0, 0.0)
        self.problem = PruningProblem(
            self.ensemble,
            NodeErrors((ErrorComponent(np.zeros(n), np.ones(self.ensemble.n_trees), source="the driver's"),)),
            self.costs,
            None,
            np.arange(weight.size),
            self.weights,
            (Fraction(0),) * self.ensemble.n_features,
            self.routing,
            charges_by_row(self.ensemble, self.costs),
            integers,
        )

    def price(self, item_price: NDArray[np.int64], is_open: NDArray[np.bool_]) -> Opened:
        """Open splits at integer prices."""
        self.left = all_open(self._whole(item_price), np.array(is_open))
        return self._opened()

    def fix(self, kept: NDArray[np.bool_], out: NDArray[np.bool_]) -> Opened:
        """Purchases of the kept ones are paid here, and nobody else need know which."""
        self.left = self._open.fixed(np.array(kept), np.array(out))
        return self._opened()

    def charges(self, score: NDArray[np.float32]) -> NDArray[np.float64]:
        """(1) of `solvers.price_sharing.shares` for the shard's rows."""
        return Sharing(self._open, self.pool).charges(score)

    def whole_charges(self, score: NDArray[np.float32]) -> NDArray[np.int64]:
        """Rounded down here, so that their sums over all shards are at most feasible shares too."""
        return Sharing(self._open, self.pool).whole_charges(score)

    def levels(self, level: NDArray[np.int32], top: int) -> list[int]:
        """One pass for all levels."""
        return paid_at(self._open, np.array(level), top)

    def bill(self, kept: NDArray[np.bool_], item_price: NDArray[np.int64]) -> int:
        """The level sets' pass, with a single level."""
        left = all_open(self._whole(item_price), np.array(kept))
        return paid_at(left, np.ones(left.nodes.size, dtype=np.int32), 1)[1]

    def arcs(self) -> ShardArcs:
        """Expanded here; what is left is small by then."""
        left, problem = self._open, self._joined
        usage = problem.usage_arcs(left.nodes)
        item, row = np.divmod(usage.head.astype(np.int64), problem.n_rows)
        price = left.whole.of(usage.head)
        if left.paid is not None:
            price[left.paid[usage.head]] = 0
        leaf = np.empty(usage.tail.size, dtype=np.int32)
        ensemble, routing = self.ensemble, self.routing
        _leaves(usage.tail, item, ensemble.left, ensemble.right, routing.start, routing.stop, leaf)
        return ShardArcs(usage.tail, item.astype(np.int32), leaf, row, price)

    @property
    def _joined(self) -> PruningProblem:
        assert self.problem is not None, "join comes first"
        return self.problem

    @property
    def _open(self) -> Remaining:
        assert self.left is not None, "price comes first"
        return self.left

    def _whole(self, item_price: NDArray[np.int64]) -> Whole:
        problem = self._joined
        ints = problem.integers
        return Whole(problem, np.array(item_price), ints.weight, None, ints.gain, 1, 0, 0, Fraction(1), Fraction(1), 0.0)

    def _opened(self) -> Opened:
        # without gains, the base is what was paid
        return Opened(self._open.slices.n_arcs, -self._open.base)


class _AtOnce(ThreadPoolExecutor):
    """No thread of its own: does what is submitted before it returns."""

    def __init__(self) -> None:
        super().__init__(1)

    def submit(self, work: Callable[..., Any], /, *args: Any, **options: Any) -> Future[Any]:
        """Done already."""
        done: Future[Any] = Future()
        done.set_result(work(*args, **options))
        return done


def _read(rows: Any, name: str) -> tuple[Any, Any]:
    """Rows and weights."""
    if not isinstance(rows, tuple):
        return rows, None
    if len(rows) != 2:
        raise InvalidInputError(f"{name}: its source returned {len(rows)} things; return rows, or rows and weights")
    return rows


def _in_units(weights: NDArray[np.float64], unit: Fraction) -> NDArray[np.int64]:
    """Decimals as whole multiples of a unit."""
    values, place = np.unique(weights, return_inverse=True)
    whole = np.array([int(Fraction(repr(float(w))) / unit) for w in values], dtype=np.int64)
    return whole[place]


@njit(cache=True)
def _leaves(tail, item, left, right, start, stop, leaf):  # type: ignore[no-untyped-def]
    """The leaf below the split of each arc: arcs of one split and item come along its range, leaf by leaf."""
    k = 0
    while k < tail.shape[0]:
        h = tail[k]
        end = k + stop[h] - start[h]
        first = start[h] - k
        while k < end:
            at = h
            while left[at] >= 0:
                at = left[at] if first + k < stop[left[at]] else right[at]
            while k < end and first + k < stop[at]:
                leaf[k] = at
                k += 1
