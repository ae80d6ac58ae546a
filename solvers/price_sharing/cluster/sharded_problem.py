"""An instance whose cost sample is divided among workers.

The driver has the trees, the errors and gains, and the items that are paid once for all rows. It holds them as an instance of its
own, in which one row stands for all rows and reaches no node. The workers have the rows. Both count in the same integers,

    weight of a row = weight_unit * integer,      price_unit = (common unit of prices) / (sum of all integer weights)         (1)

which are those that `formulations.instance.numbers` would choose for the whole instance. To find them the driver only needs the
different weights, and how often each occurs.

Every call of the driver to a `RowShard` goes through `Shards`, which takes the functions of `RowShard` themselves, so that a type
checker sees arguments and answers; only the transport, `Workers`, knows them by their names. Sums are made in the order of the
shards, so that they do not depend on who answers first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Concatenate, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

from formulations.arguments import Count, checked
from formulations.errors import CapacityOverflowError, InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import NodeErrors
from formulations.instance.numbers import MOST_WEIGHTS, PRODUCT_BITS, Numbers, engine_numbers
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import Routing
from formulations.instance.usage import Usage
from solvers.price_sharing.cluster.row_shard import (
    RowShard,
    ShardFacts,
    charges_once,
)
from solvers.price_sharing.cluster.workers import Recipe, RowSource, Workers

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class Shards:
    """A `RowShard` at each worker.

    What changes the shards is kept in the workers' journal, so that a lost shard can be built again: first the unit of weights,
    then the open splits, then what was fixed since.
    """

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def ask(
        self,
        method: Callable[Concatenate[RowShard, Arguments], Answer],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> list[Answer]:
        """Call a method that does not change the shards; their answers in order."""
        assert not kwargs, "workers take arguments by position"
        return self.workers.ask(method.__name__, *args)

    def tell(
        self,
        after: int | None,
        method: Callable[Concatenate[RowShard, Arguments], Answer],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> list[Answer]:
        """Call a method that changes the shards; `after` as of `Workers.tell`."""
        assert not kwargs, "workers take arguments by position"
        return self.workers.tell(method.__name__, *args, after=after)


@dataclass(frozen=True, eq=False)
class ShardedProblem:
    """A forest at the driver and its cost sample at workers; build it with `ShardedProblem.build`.

    Parameters
    ----------
    driver
        the instance without its rows: gains, evaluation prices and integers are those of the whole instance.
    error_rounding
        how far the driver's integer gains, of which a pruning's error is made, can be from the real ones; 0 where they are exact.
    workers
        a `RowShard` each, all with the same unit of weights.
    n_rows
        int64, shape (shards,): rows of positive weight.
    start, reach
        int64, shape (n,): `Routing.start` of the whole instance, and the number of rows that reach each node.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, problem
    >>> parts = pm.cluster.array_parts(X_valid.to_numpy(), 3)
    >>> recipes = pm.cluster.shard_recipes(problem.ensemble, problem.costs, parts)
    >>> with pm.cluster.start_workers(recipes, ray=False) as workers:
    ...     sharded = pm.cluster.ShardedProblem.build(problem.ensemble, problem.errors, workers, problem.costs)
    ...     len(sharded.workers), sharded.n_rows
    ...
    (3, array([50, 50, 50]))
    """

    driver: PruningProblem
    workers: Workers
    n_rows: NDArray[np.int64]
    start: NDArray[np.int64]
    reach: NDArray[np.int64]
    error_rounding: float = 0.0

    @classmethod
    @checked
    def build(
        cls,
        ensemble: Ensemble,
        errors: NodeErrors,
        workers: Workers,
        costs: CostItems,
        *,
        evaluation_cost: Price | Sequence[Price] | NDArray[np.float64] = 0,
    ) -> ShardedProblem:
        """Ask the shards about their rows, and tell them the unit of all weights.

        Parameters
        ----------
        workers
            built from `shard_recipes` of the same ensemble and costs.
        evaluation_cost
            as of `PruningProblem.build`.
        """
        evaluation = evaluation_prices(evaluation_cost, ensemble.n_features)
        shards = Shards(workers)
        facts = shards.ask(RowShard.facts)
        unit, total = _weight_units(facts)
        driver, error_rounding = _driver(ensemble, errors, costs, evaluation, unit, total)
        if any(evaluation):
            reaching = np.asarray(sum(shards.ask(RowShard.node_weights, unit)))
            price_unit = driver.numbers.price_unit * total
            by_feature = np.array([int(a / price_unit) for a in evaluation], dtype=np.int64)
            price = np.where(ensemble.is_split, by_feature[ensemble.feature] * reaching, 0)
            driver = replace(driver, numbers=replace(driver.numbers, evaluation=price))
        shards.tell(0, RowShard.set_weight_unit, unit)
        rows = np.array([f.n_rows for f in facts], dtype=np.int64)
        start, reach = (np.asarray(sum(part)) for part in zip(*((f.start, f.reach) for f in facts), strict=True))
        return cls(driver, workers, rows, start, reach, error_rounding)

    @property
    def shards(self) -> Shards:
        """The shards at the workers."""
        return Shards(self.workers)

    def __repr__(self) -> str:
        return f"ShardedProblem({self.driver.ensemble!r}, {int(self.n_rows.sum()):,} cost rows on {len(self.workers)} workers)"


@checked
def shard_recipes(ensemble: Ensemble, costs: CostItems, sources: Sequence[RowSource], *, threads: Count = 1) -> list[Recipe]:
    """How each worker builds its part of the instance: from its source, which it reads itself.

    Parameters
    ----------
    sources
        `array_parts`, `parquet_parts`, or functions that return rows, or a pair of rows and weights.
    threads
        of each worker.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, problem
    >>> parts = pm.cluster.array_parts(X_valid.to_numpy(), 3)
    >>> len(pm.cluster.shard_recipes(problem.ensemble, problem.costs, parts))
    3
    """
    costs.check_features(ensemble.n_features)
    return [partial(RowShard, source, ensemble, costs, f"part {k}", threads) for k, source in enumerate(sources)]


def _weight_units(facts: Sequence[ShardFacts]) -> tuple[Fraction, int]:
    """The largest unit of which all weights are whole multiples, and their sum in it."""
    count: dict[float, int] = {}
    for f in facts:
        for weight, times in zip(f.weights.tolist(), f.counts.tolist(), strict=True):
            count[weight] = count.get(weight, 0) + times
    if len(count) > MOST_WEIGHTS:
        raise InvalidInputError(
            f"the rows have more than {MOST_WEIGHTS:,} different weights, which cannot be made integers shard by shard; "
            "round them to fewer digits"
        )
    exact = {weight: Fraction(repr(weight)) for weight in count}
    denominator = math.lcm(*(w.denominator for w in exact.values()))
    unit = Fraction(math.gcd(*(int(w * denominator) for w in exact.values())), denominator)
    return unit, sum(int(exact[w] / unit) * times for w, times in count.items())


def _driver(
    ensemble: Ensemble, errors: NodeErrors, costs: CostItems, evaluation: tuple[Fraction, ...], unit: Fraction, total: int
) -> tuple[PruningProblem, float]:
    """The instance without rows, in the integers (1) of the whole, and how far these can be from the real errors."""
    # Two rows whose weights have the unit and the sum of all weights: they give the integers of the whole instance.
    pair = np.array([float(unit), float(unit * (total - 1))][: 1 if total == 1 else 2])
    n, charges = ensemble.n_nodes, charges_once(ensemble, costs)
    unreached = Routing(np.zeros((ensemble.n_trees, pair.size), dtype=np.int32), *np.zeros((2, n), dtype=np.int32))

    def usage(weights: NDArray[np.float64], routing: Routing) -> Usage:
        return Usage(ensemble, costs, evaluation, charges, weights, routing, X=None, rows=np.arange(weights.size))

    both, error_rounding = usage(pair, unreached), 0.0
    numbers = engine_numbers(both, errors)
    if not numbers.exact:
        prices = engine_numbers(both, None)
        if prices.exact:
            numbers, error_rounding = _with_rounded_gains(ensemble, errors, prices, total)
    if not numbers.exact or sum(Fraction(repr(float(w))) for w in pair) != unit * total:
        raise CapacityOverflowError(
            "prices and weights do not fit 64-bit integers exactly, and a sharded instance cannot round them; use fewer digits"
        )
    one = replace(numbers, weight=np.array([total], dtype=np.int64))
    routing = replace(unreached, order=unreached.order[:, :1].copy())
    return PruningProblem(usage(np.array([float(unit * total)]), routing), errors, one), error_rounding


def _with_rounded_gains(ensemble: Ensemble, errors: NodeErrors, prices: Numbers, total: int) -> tuple[Numbers, float]:
    """Whole prices with gains on the finest binary grid that fits beside them: shards have no grid for each lambda."""
    most = int(prices.price.sum()) * total
    error = errors.per_node(ensemble)
    gain = ensemble.gains(error)
    exponent = min(50, PRODUCT_BITS - max(1, most.bit_length())) - 1 - math.frexp(float(np.abs(gain).sum()) or 1.0)[1]
    scaled = np.ldexp(gain, exponent)
    rounded = np.rint(scaled)
    lost = float(np.abs(scaled - rounded).sum()) + math.ldexp(float(error.sum()), exponent) * 2.0**-50
    numbers = replace(prices, gain=rounded.astype(np.int64), gain_unit=Fraction(2) ** -exponent)
    return numbers, math.ldexp(lost, -exponent)
