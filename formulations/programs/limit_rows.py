"""Limits as rows: for each limit, or for each example of a limit on every one, what a pruning uses and how much it may.

    use_r  =  sum_{i in r} (omega_i / N_r) ( sum_m item_m w_{m,i} + sum over the kept splits h on i's paths of evaluation_h )
              + sum_m once_m u_m  +  split (number of kept splits)  +  constant       <=   B_r,    N_r = sum_{i in r} omega_i  (1)

w_{m,i}: example i asks for item m. u_m: anybody asks for it. The amounts are those of `formulations.instance.limit.Meter`. With
all examples and the prices (1) is the cost, and B a budget. Examples may be in several groups or in none; those of weight 0
count nowhere.

Items without a price may have an amount, and an item may count by example in one row and once in another. So rows are about the
items of the *metered* instance: one for each item that some row counts by example, one more for each that some row counts once,
at a price of 1. It has the same splits and gains, and `formulations.instance.reduction` holds for it whatever multipliers
price its items with.

LP1 with any number of limits is, in closure form and as a sparse matrix,

    minimise  error of the all-roots forest - sum_h gain_h y_h
    s.t.      y_h <= y_parent(h),    y_u <= w_j for every usage arc (u, j)     as in `formulations.programs.matrix` (6)
              sum_j amount_{r,j} w_j + sum_h amount_{r,h} y_h  <=  B_r     for every row r of the limits                     (2)

Purchases are those of the metered instance. Those with the same users are one variable,
whichever examples make them; it has an amount of its own in every row (2).

For branch and bound the rows (2) have integers of moderate size, and half a unit of room:

    sum_j price_j x_j <= B        becomes        sum_j n_j x_j <= floor(s B) + 1/2,        n_j = s price_j                   (3)

with a scale s at which all prices are integers. A 0-1 point that keeps the first row is at least half a unit inside the second,
and one that exceeds the first is at least half a unit outside: no tolerance and no rounding of floats can move a point from one
side to the other. Where (3) takes integers that are too large for that, s is smaller and n_j is rounded down, so that every point
that keeps the first row still keeps the second, but some that exceed the first keep it, too: a relaxation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems, Price
from formulations.instance.limit import Limit, Meter, budget_limit, first_alike, limit_of_mean_cost, members_of, meter_of
from formulations.instance.numbers import INT64_SAFE, Numbers, common_unit
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import charges_of
from formulations.programs.linear_program import Block, LinearProgram, Names, PurchaseColumns, usage_columns
from formulations.programs.matrix import closure_matrix


@dataclass(frozen=True, eq=False)
class LimitRow:
    """(1)."""

    name: str  # of the limit, and of the example where it is about a single one
    limit: int  # the place of its limit, and of the meter that counts it
    members: NDArray[np.int64]  # int64: places of its examples among those of positive weight
    at_most: Fraction  # B_r


@dataclass(frozen=True, eq=False)
class LimitRows:
    """R rows (1) over an instance."""

    problem: PruningProblem  # the instance as the user knows it
    limits: tuple[Limit, ...]  # as they were given
    meters: tuple[Meter, ...]  # for each limit what it counts
    rows: tuple[LimitRow, ...]  # one a limit, or one for each way through the forest where a limit is about every example

    @property
    def is_budget(self) -> bool:
        """Whether there is one limit, of the mean cost of all examples."""
        return len(self.limits) == 1 and self.limits[0].is_plain

    @cached_property
    def made_when_broken(self) -> NDArray[np.bool_]:
        """Bool, shape (R,): the rows that a search makes once an answer breaks them, those of limits on every example."""
        return np.array([self.limits[row.limit].each for row in self.rows], dtype=bool)

    @cached_property
    def counted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The items that some row counts by example, and those that some row counts once."""
        by_example, once = (
            np.flatnonzero([any(amounts[m] for amounts in columns) for m in range(self.problem.costs.n_items)])
            for columns in ([meter.item for meter in self.meters], [meter.once for meter in self.meters])
        )
        return by_example, once

    @cached_property
    def metered(self) -> PruningProblem:
        """The metered instance."""
        problem, (by_example, once) = self.problem, self.counted
        place = {(int(m), False): k for k, m in enumerate(by_example)}
        place |= {(int(m), True): by_example.size + k for k, m in enumerate(once)}
        needs = tuple(
            tuple(place[m, o] for o in (False, True) for m in items if (m, o) in place) for items in problem.costs.needs
        )
        names = tuple(problem.costs.names[m] for m in (*by_example, *once))
        one = (Fraction(1),) * len(place)
        costs = CostItems(names, one, needs, (False,) * by_example.size + (True,) * once.size)
        usage = replace(problem.usage, costs=costs, charges=charges_of(problem.ensemble, costs))
        ints, ones = problem.numbers, np.ones(len(place), dtype=np.int64)
        charged = np.bincount(self.of_splits().indices, minlength=problem.ensemble.n_nodes) > 0
        weight = np.ones(problem.usage.n_rows, dtype=np.int64)
        numbers = Numbers(ints.gain, ones, weight, charged.astype(np.int64), ints.gain_unit, Fraction(1))
        return PruningProblem(usage, problem.errors, numbers)

    @cached_property
    def amounts(self) -> NDArray[np.float64]:
        """What each meter counts of each metered item, float64, shape (Q, M')."""
        by_example, once = self.counted
        counts = [[*(q.item[m] for m in by_example), *(q.once[m] for m in once)] for q in self.meters]
        return np.array([[float(a) for a in row] for row in counts], dtype=np.float64).reshape(len(counts), -1)

    @cached_property
    def share(self) -> sparse.csr_array:
        """omega_i / N_r where i is in r, else 0; float64, shape (R, N): the exact ratios rounded once, where weights fit."""
        weight = self._weight
        mine = [np.asarray(weight[row.members], dtype=np.float64) / int(weight[row.members].sum()) for row in self.rows]
        start = np.cumsum([0, *(row.members.size for row in self.rows)])
        none = np.zeros(0)
        members = np.concatenate([*(row.members for row in self.rows), none]).astype(np.int64)
        return sparse.csr_array(
            (np.concatenate([*mine, none]), members, start), shape=(len(self.rows), self.problem.usage.n_rows)
        )

    @cached_property
    def at_most(self) -> NDArray[np.float64]:
        """B_r less what is used in any case, float64, shape (R,)."""
        return np.array([float(self.room(r)) for r in range(len(self.rows))])

    def room(self, r: int) -> Fraction:
        """B_r less what is used in any case."""
        return self.rows[r].at_most - self.meters[self.rows[r].limit].constant

    @cached_property
    def limit_of_row(self) -> NDArray[np.int64]:
        """int64, shape (R,)."""
        return np.array([row.limit for row in self.rows], dtype=np.int64)

    def of_purchases(self, columns: PurchaseColumns) -> sparse.csr_array:
        """What each purchase variable of the metered instance adds to each row: float64, shape (R, J), merged ones added up."""
        n_rows = self.problem.usage.n_rows
        per_row, for_all = np.split(columns.of_purchase, [-self.amounts.shape[1]])
        bought = np.flatnonzero(per_row >= 0)
        item, row = np.divmod(bought, n_rows)
        found = sparse.csr_array((len(self.rows), columns.n_columns))
        for q, amounts in enumerate(self.amounts):
            mine = sparse.diags_array((self.limit_of_row == q).astype(np.float64))
            buys = sparse.csr_array((amounts[item], (row, per_row[bought])), shape=(n_rows, columns.n_columns))
            once = np.zeros(columns.n_columns)
            np.add.at(once, for_all[for_all >= 0], amounts[for_all >= 0])
            per_group = sparse.csr_array(self.share @ buys)
            found = found + sparse.csr_array(mine @ (per_group + sparse.csr_array(np.tile(once, (len(self.rows), 1)))))
        return sparse.csr_array(found)

    def of_splits(self) -> sparse.csr_array:
        """What keeping each split adds to each row by itself: float64, shape (R, n)."""
        ensemble, routing = self.problem.ensemble, self.problem.usage.routing
        splits, found = self.problem.usage.splits, sparse.csr_array((len(self.rows), self.problem.ensemble.n_nodes))
        for q, meter in enumerate(self.meters):
            mine = (self.limit_of_row == q).astype(np.float64)
            if meter.split:
                each = np.where(ensemble.is_split, float(meter.split), 0.0)
                found = found + sparse.csr_array(np.outer(mine, each))
            rate = np.array([float(a) for a in meter.evaluation])[ensemble.feature[splits]]
            nodes = splits[rate > 0]
            count = routing.counts()[nodes]
            within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
            rows = routing.order[np.repeat(ensemble.tree_of[nodes], count), np.repeat(routing.start[nodes], count) + within]
            passed = (np.repeat(rate[rate > 0], count), (rows, np.repeat(nodes, count)))
            passes = sparse.csr_array(passed, shape=(self.problem.usage.n_rows, ensemble.n_nodes))
            found = found + sparse.csr_array(sparse.diags_array(mine) @ sparse.csr_array(self.share @ passes))
        return sparse.csr_array(found)

    def uses(self, pruning: Pruning) -> tuple[Fraction, ...]:
        """(1) of every row, exactly: amounts and weights as they were given, nothing rounded."""
        metered, (by_example, once) = self.metered, self.counted
        paid = metered.usage.paid_by(pruning.kept)
        by_row = paid[: -metered.costs.n_items].reshape(-1, self.problem.usage.n_rows)[: by_example.size]
        needed = metered.usage.once(pruning.kept)[by_example.size :]
        weight, found = self._weight, [Fraction(0)] * len(self.rows)
        for q, meter in enumerate(self.meters):
            fixed = meter.constant + meter.split * pruning.n_splits
            fixed += sum((meter.once[m] for m in once[needed]), Fraction(0))
            counts = [(meter.item[m], asked) for m, asked in zip(by_example, by_row, strict=True)]
            used, unit = _in_units([*counts, *self._evaluations(pruning, meter)], self.problem.usage.n_rows)
            used = (
                used if weight.dtype == object or used.max(initial=0) < INT64_SAFE // max(1, self._total) else used.astype(object)
            )
            for r, row in enumerate(self.rows):
                if row.limit == q:
                    mine = weight[row.members]
                    found[r] = fixed + int((mine * used[row.members]).sum()) * unit / int(mine.sum())
        return tuple(found)

    def by_limit(self, pruning: Pruning) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
        """What a pruning uses by limit, and B."""
        uses, at_most = [Fraction(0)] * len(self.limits), [Fraction(0)] * len(self.limits)
        for row, use in zip(self.rows, self.uses(pruning), strict=True):
            uses[row.limit], at_most[row.limit] = max(uses[row.limit], use), row.at_most
        return tuple(uses), tuple(at_most)

    def within(self, pruning: Pruning) -> bool:
        """Whether every row keeps to its limit, in exact numbers."""
        if self.is_budget:
            return pruning.integer_cost * self.problem.exact_numbers.price_unit <= self.rows[0].at_most
        return all(use <= row.at_most for use, row in zip(self.uses(pruning), self.rows, strict=True))

    @cached_property
    def _weight(self) -> NDArray[np.int64]:
        """The weights as integers, of arbitrary size where 64 bits do not hold their sum."""
        weight = self.problem.exact_numbers.weight
        return weight.astype(np.int64) if weight.max() * weight.size < INT64_SAFE else weight

    @cached_property
    def _total(self) -> int:
        return int(self._weight.sum())

    def _evaluations(self, pruning: Pruning, meter: Meter) -> list[tuple[Fraction, NDArray[np.int64]]]:
        """For every amount of a split: how many kept splits of that amount each example passes."""
        problem, routing, times = self.problem, self.problem.usage.routing, dict[Fraction, NDArray[np.int64]]()
        for h in np.flatnonzero(pruning.kept).tolist() if any(meter.evaluation) else []:
            a = meter.evaluation[int(problem.ensemble.feature[h])]
            if a:
                met = times.setdefault(a, np.zeros(problem.usage.n_rows, dtype=np.int64))
                met[routing.order[problem.ensemble.tree_of[h], routing.start[h] : routing.stop[h]]] += 1
        return list(times.items())

    @cached_property
    def integer_scales(self) -> tuple[Fraction, ...]:
        """For every row a factor that makes its amounts integers, for `formulations.programs.limit_rows`."""
        units = [common_unit([a for a in (*q.item, *q.once, *q.evaluation, q.split) if a]) for q in self.meters]
        scales = []
        for row in self.rows:
            mine = self._weight[row.members].tolist()
            scales.append(Fraction(sum(mine), math.gcd(*mine)) / units[row.limit])
        return tuple(scales)

    @property
    def relative_error(self) -> float:
        """By how much floating point may have changed what `of_purchases` and `of_splits` say, as a share of it."""
        return (64 + 2 * self.problem.usage.n_rows) * 2.0**-53

    def only(self, rows: NDArray[np.int64]) -> LimitRows:
        """Some of the rows, with the same metered instance."""
        some = replace(self, rows=tuple(self.rows[r] for r in rows))
        some.__dict__["metered"] = self.metered  # cached there
        return some

    def __repr__(self) -> str:
        return f"LimitRows({len(self.limits)} limits, {len(self.rows)} rows)"


def limit_rows(problem: PruningProblem, limits: Sequence[Limit]) -> LimitRows:
    """Limits as rows. An InvalidInputError names a limit that is none, that another repeats, or that no pruning can keep."""
    if not limits:
        raise InvalidInputError("limits is empty; give at least one, as [pm.Limit(10)]")
    meters, found = [], list[LimitRow]()
    titles: dict[str, int] = {}
    for k, limit in enumerate(limits):
        name = f"limits[{k}] ({limit.title!r})"
        if limit.title in titles and (limit.name is not None or limit.rows is None or isinstance(limit.rows, str)):
            raise InvalidInputError(
                f"{name} has the name of limits[{titles[limit.title]}]; keep the smaller one, or give one of them another `name`"
            )
        titles.setdefault(limit.title, k)
        meter = meter_of(limit, problem.costs, problem.usage.evaluation, problem.ensemble.n_trees, name)
        members = members_of(problem.usage, limit, name)
        if meter.constant and budget_limit(limit.at_most, name) < meter.constant:
            raise InvalidInputError(f"{name}: no pruning has less than {meter.constant} of it; give at least that")
        meters.append(meter)
        if limit.each:
            firsts = members[first_alike(problem, members)]
            found += [LimitRow(f"{limit.title}: row {problem.usage.rows[i]}", k, np.array([i]), Fraction(0)) for i in firsts]
        else:
            found.append(LimitRow(limit.title, k, members, Fraction(0)))
    rows = LimitRows(problem, tuple(limits), tuple(meters), tuple(found))
    units = zip(found, rows.integer_scales, strict=True)
    exact_rows = [replace(row, at_most=_at_most(problem, limits[row.limit], meters[row.limit], 1 / s)) for row, s in units]
    return replace(rows, rows=tuple(exact_rows))


def _at_most(problem: PruningProblem, limit: Limit, meter: Meter, unit: Fraction) -> Fraction:
    """B_r: the largest use that the limit allows, see `formulations.instance.limit`."""
    if limit.is_plain:
        return limit_of_mean_cost(problem, limit.at_most)
    return budget_limit(limit.at_most, unit=common_unit([unit, *([meter.constant] if meter.constant else [])]))


def one_row(problem: PruningProblem, budget: Price) -> LimitRows:
    """One budget for the mean cost of all examples: LP1's."""
    return limit_rows(problem, [Limit(limit_of_mean_cost(problem, budget))])


def _in_units(
    counts: list[tuple[Fraction, NDArray[np.int64] | NDArray[np.bool_]]], n_rows: int
) -> tuple[NDArray[np.int64], Fraction]:
    """Sum of amount times count for each example, in a common unit."""
    unit = common_unit([a for a, _ in counts if a])
    whole = [(int(a / unit), count) for a, count in counts if a]
    most = sum(n * max(1, int(count.max(initial=0))) for n, count in whole)  # an amount fits, too, where nothing is counted
    used = np.zeros(n_rows, dtype=np.int64 if most < INT64_SAFE else object)
    for n, count in whole:
        used += count.astype(used.dtype) * n
    return used, unit


MOST = 2**24
"""Largest sum of a row's integers: half a unit is then 30 times a tolerance of 1e-9 of the row."""


def integer_row(price: NDArray[np.float64], limit: Fraction, scale: Fraction, error: float) -> tuple[NDArray[np.float64], float]:
    """The coefficients and the right-hand side of (3). Prices are >= 0, each off by at most `error` times its size."""
    total = math.fsum(price)
    size = Fraction(total) * scale
    if size <= MOST and float(size) * error < 0.25:
        return np.rint(price * float(scale)), math.floor(limit * scale) + 0.5
    smaller = Fraction(MOST) / Fraction(total) if total > 0 else Fraction(1)
    # two more roundings, of the factor and of the product
    down = np.floor(price * float(smaller) * (1.0 - error - 2.0**-50))
    return down, math.floor(min(limit * smaller, Fraction(2 * MOST))) + 0.5


def limit_matrix(rows: LimitRows, *, relax: bool = False, merge: bool = True) -> LinearProgram:
    """The closure form with the rows (2); without `relax` these are those of (3)."""
    problem = rows.metered
    closure = closure_matrix(problem, lam=0, relax=relax, merge=merge)
    prices = sparse.hstack([rows.of_splits()[:, problem.usage.splits], rows.of_purchases(usage_columns(problem, merge=merge))])
    block = Block("budget", (np.arange(len(rows.rows)),))
    program = replace(
        closure,
        matrix=sparse.csr_array(sparse.vstack([closure.matrix, prices], format="csr")),
        row_lower=np.append(closure.row_lower, np.full(len(block), -np.inf)),
        row_upper=np.append(closure.row_upper, rows.at_most),
        rows=Names((*closure.rows.blocks, block)),
    )
    return program if relax else in_integers(program, rows)


def in_integers(program: LinearProgram, rows: LimitRows) -> LinearProgram:
    """A program whose block "budget" has the rows (2), with these as in (3); what was rounded down to 0 stays as an entry."""
    place, start = program.rows.of("budget"), program.matrix.indptr
    entries, upper = program.matrix.data.copy(), program.row_upper.copy()
    for r, row in enumerate(range(place.start, place.stop)):
        mine = slice(start[row], start[row + 1])
        entries[mine], upper[row] = integer_row(entries[mine], rows.room(r), rows.integer_scales[r], rows.relative_error)
    matrix = sparse.csr_array((entries, program.matrix.indices, start), shape=program.matrix.shape)
    return replace(program, matrix=matrix, row_upper=upper)
