"""Several budgets: for each group of examples the mean cost of its members is limited.

    cost_c  =  sum_{i in c} (omega_i / N_c) ( sum_m c_m w_{m,i} + sum over the kept splits h on i's paths of a_h )
               + sum over items paid once of c_m w_m                  <=   B_c,          N_c = sum_{i in c} omega_i         (1)

With all examples in one group (1) is the cost of `formulations.instance.problem` and B its budget. An item that is paid once for
all is counted in full in every group, as it is in the cost: it is needed as soon as anybody's prediction needs it. Examples may
be in several groups ("everybody" beside "ward") or in none; those in none are not limited. Examples of weight 0 count nowhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.budget import budget_limit, limit_of_mean_cost
from formulations.instance.cost_items import Price
from formulations.instance.integers import common_unit
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import n_examples
from formulations.programs.columns import PurchaseColumns

ClassBudgets = Mapping[str, Annotated[tuple[ArrayLike, Price], "its rows and its budget, (rows, budget)"]]
"""A mapping from the name of a class to its rows of the cost sample and its budget."""


@dataclass(frozen=True, eq=False)
class BudgetRows:
    """C groups of examples with their budgets (1).

    Parameters
    ----------
    names
        of the groups.
    member
        bool, shape (C, N): which example is in which group; N examples of positive weight.
    limits
        B_c >= 0, in the unit of the prices.
    """

    problem: PruningProblem
    names: tuple[str, ...]
    member: sparse.csr_array
    limits: tuple[Fraction, ...]

    @cached_property
    def share(self) -> sparse.csr_array:
        """omega_i / N_c where i is in c: float64, shape (C, N)."""
        weight = sparse.csr_array(self.member.astype(np.float64) * self.problem.weights[None, :])
        per_group = np.asarray(weight.sum(axis=1)).ravel()
        return sparse.csr_array(sparse.diags_array(1.0 / per_group) @ weight)

    @cached_property
    def integer_scales(self) -> tuple[Fraction, ...]:
        """For every group a factor that makes its prices integers, for `formulations.programs.integer_rows`."""
        problem, weight = self.problem, self._integer_weights
        unit = common_unit([p for p in (*problem.costs.prices, *problem.evaluation) if p])
        scales = []
        for c in range(len(self.names)):
            mine = weight[self._rows_of(c)].tolist()
            scales.append(Fraction(sum(mine), math.gcd(*mine)) / unit)
        return tuple(scales)

    @property
    def relative_error(self) -> float:
        """By how much floating point may have changed what `of_purchases` and `of_splits` say, as a share of it."""
        return (64 + 2 * self.problem.n_rows) * 2.0**-53

    def _rows_of(self, c: int) -> NDArray[np.int32]:
        rows: NDArray[np.int32] = self.member.indices[self.member.indptr[c] : self.member.indptr[c + 1]]
        return rows

    def of_purchases(self, columns: PurchaseColumns) -> sparse.csr_array:
        """What each purchase variable adds to each group's cost: float64, shape (C, J), merged purchases added up."""
        costs, n_rows = self.problem.costs, self.problem.n_rows
        per_row = columns.of_purchase[: costs.n_items * n_rows]
        bought = np.flatnonzero(per_row >= 0)
        item, row = np.divmod(bought, n_rows)
        shape = (n_rows, columns.n_columns)
        buys = sparse.csr_array((costs.price[item], (row, per_row[bought])), shape=shape)
        once = np.zeros(columns.n_columns)
        for_all = columns.of_purchase[costs.n_items * n_rows :]
        np.add.at(once, for_all[for_all >= 0], costs.price[for_all >= 0])
        return sparse.csr_array(self.share @ buys + sparse.csr_array(np.tile(once, (len(self.names), 1))))

    def of_splits(self) -> sparse.csr_array:
        """What evaluating each split adds to each group's cost: float64, shape (C, n)."""
        ensemble, routing = self.problem.ensemble, self.problem.routing
        split_price = self.problem.usage.split_price
        nodes = np.flatnonzero(split_price > 0)
        count = routing.counts()[nodes]
        within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
        rows = routing.order[np.repeat(ensemble.tree_of[nodes], count), np.repeat(routing.start[nodes], count) + within]
        price = np.repeat(split_price[nodes], count)
        shape = (self.problem.n_rows, ensemble.n_nodes)
        return sparse.csr_array(self.share @ sparse.csr_array((price, (rows, np.repeat(nodes, count))), shape=shape))

    def costs(self, pruning: Pruning) -> tuple[Fraction, ...]:
        """(1) of every group, exactly: prices and weights as they were given, nothing rounded."""
        problem, weight = self.problem, self._integer_weights
        fixed = sum((problem.costs.prices[m] for m in np.flatnonzero(pruning.bought_once)), Fraction(0))
        priced = [(price, bought) for price, bought in zip(problem.costs.prices, pruning.bought, strict=True) if price]
        evaluated = self._evaluations(pruning)
        found = []
        for c in range(len(self.names)):
            rows = self._rows_of(c)
            mine = weight[rows]
            paid = sum((price * int((mine * bought[rows]).sum()) for price, bought in priced), Fraction(0))
            paid += sum((a * int((mine * times[rows]).sum()) for a, times in evaluated), Fraction(0))
            found.append(fixed + paid / int(mine.sum()))
        return tuple(found)

    def within(self, pruning: Pruning) -> bool:
        """Whether every group's cost is at most its budget, in exact numbers."""
        return all(cost <= limit for cost, limit in zip(self.costs(pruning), self.limits, strict=True))

    @cached_property
    def _integer_weights(self) -> NDArray[np.int64]:
        """The weights as integers, of arbitrary size where 64 bits do not hold their sum."""
        weights, place = np.unique(self.problem.weights, return_inverse=True)
        decimals = [Fraction(repr(float(w))) for w in weights]
        common = math.lcm(*(d.denominator for d in decimals))
        integers = [int(d * common) for d in decimals]
        fits = max(integers) * self.problem.n_rows * (self.problem.ensemble.n_nodes + 1) < 2**62
        return np.array(integers, dtype=np.int64 if fits else object)[place]

    def _evaluations(self, pruning: Pruning) -> list[tuple[Fraction, NDArray[np.int64]]]:
        """For every price of a split: how many kept splits of that price each example meets."""
        problem = self.problem
        times: dict[Fraction, NDArray[np.int64]] = {}
        for h in np.flatnonzero(pruning.kept).tolist():
            a = problem.evaluation[int(problem.ensemble.feature[h])]
            if a:
                met = times.setdefault(a, np.zeros(problem.n_rows, dtype=np.int64))
                met[problem.routing.order[problem.ensemble.tree_of[h], problem.routing.start[h] : problem.routing.stop[h]]] += 1
        return list(times.items())

    def __repr__(self) -> str:
        return f"BudgetRows({len(self.names)} groups of {self.problem.n_rows:,} examples)"


def class_rows(problem: PruningProblem, budgets: ClassBudgets) -> BudgetRows:
    """A budget for each class of examples.

    Parameters
    ----------
    budgets
        by the class's name its rows of the cost sample, a bool mask over all rows or their numbers, and B_c >= 0.

    Raises
    ------
    InvalidInputError
        without classes; for rows that are not there, occur twice, or have no weight; for a budget that is negative or no number.
    """
    if not budgets:
        raise InvalidInputError("budgets is empty; give at least one class, as {'ward': (rows, budget)}")
    n = n_examples(problem.X)
    place = np.full(n, -1, dtype=np.int64)
    place[problem.rows] = np.arange(problem.n_rows)
    members, limits = [], []
    for name, given in budgets.items():
        if not isinstance(given, Sequence) or len(given) != 2:
            raise InvalidInputError(f"budgets[{name!r}] is {given!r}; give its rows and its budget, (rows, budget)")
        rows, limit = given
        mine = place[_row_numbers(rows, n, f"budgets[{name!r}]")]
        mine = mine[mine >= 0]
        if mine.size == 0:
            raise InvalidInputError(f"budgets[{name!r}] has no row of positive weight: it has no mean cost; leave it out")
        members.append(mine)
        budget_limit(limit, f"budgets[{name!r}]")
        limits.append(limit)
    found = BudgetRows(problem, tuple(map(str, budgets)), _membership(members, problem.n_rows), ())
    return replace(found, limits=tuple(budget_limit(b, unit=1 / s) for b, s in zip(limits, found.integer_scales, strict=True)))


def one_row(problem: PruningProblem, budget: Price) -> BudgetRows:
    """One budget for the mean cost of all examples: LP1's.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number.
    """
    limit = limit_of_mean_cost(problem, budget)
    return BudgetRows(problem, ("all",), _membership([np.arange(problem.n_rows)], problem.n_rows), (limit,))


def example_rows(problem: PruningProblem, budget: Price) -> BudgetRows:
    """The same budget for every example alone: a limit for the dearest prediction. Examples routed alike are one group.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number.
    """
    limit = budget_limit(budget, unit=common_unit([p for p in (*problem.costs.prices, *problem.evaluation) if p]))
    ensemble, routing = problem.ensemble, problem.routing
    leaves = np.flatnonzero(~ensemble.is_split)
    ends = np.empty((ensemble.n_trees, problem.n_rows), dtype=np.int64)
    for h in leaves.tolist():
        ends[ensemble.tree_of[h], routing.order[ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] = h
    _, first = np.unique(ends, axis=1, return_index=True)
    first = np.sort(first)
    names = tuple(str(problem.rows[i]) for i in first)
    return BudgetRows(problem, names, _membership([np.array([i]) for i in first], problem.n_rows), (limit,) * first.size)


def _membership(members: list[NDArray[np.int64]], n_rows: int) -> sparse.csr_array:
    start = np.cumsum([0, *(m.size for m in members)])
    rows = np.concatenate(members)
    return sparse.csr_array((np.ones(rows.size, dtype=bool), rows, start), shape=(len(members), n_rows))


def _row_numbers(rows: ArrayLike, n: int, name: str) -> NDArray[np.int64]:
    """Numbers of rows, from a mask or from numbers.

    Raises
    ------
    InvalidInputError
        for a mask of another length, numbers that are no rows, or one that occurs twice.
    """
    given = np.asarray(rows)
    if given.ndim != 1:
        raise InvalidInputError(f"{name}: rows has shape {given.shape}; give a bool mask of {n} rows, or row numbers")
    if given.dtype == np.bool_:
        if given.size != n:
            raise InvalidInputError(f"{name}: the mask has {given.size} entries, the cost sample {n} rows; give one for each")
        return np.flatnonzero(given)
    if given.size and not np.issubdtype(given.dtype, np.integer):
        raise InvalidInputError(f"{name}: rows is {given.dtype}; give a bool mask of {n} rows, or row numbers")
    numbers = given.astype(np.int64)
    bad = numbers[(numbers < 0) | (numbers >= n)]
    if bad.size:
        raise InvalidInputError(f"{name}: there is no row {bad[0]} in a cost sample of {n} rows; give numbers from 0 to {n - 1}")
    values, times = np.unique(numbers, return_counts=True)
    if (times > 1).any():
        raise InvalidInputError(f"{name}: row {values[times > 1][0]} occurs twice; name each row once")
    return values
