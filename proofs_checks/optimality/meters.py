"""What limits count of an instance, and of whom: uses of prunings in fractions, and prices at multipliers.

    use_r  =  what each example asks for, added up                    price_j  =  sum_r mu_r amount_{r,j}                    (1)

Items are those of the metered instance: one for each that some limit counts by example, then one for each that some limit counts
once, as payments and scores number them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.search_proof import Multipliers
from formulations.instance.cost_items import CostItems
from formulations.instance.limit import Limit, members_of, meter_of
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.recount import Recount, Refuted
from proofs_checks.verdict import DEFAULTS


class Meters:
    """What limits count, and of whom."""

    def __init__(self, problem: PruningProblem, limits: tuple[Limit, ...], X: Any) -> None:
        self.limits = limits
        # what each limit counts, and of which examples
        trees, names = problem.ensemble.n_trees, [f"limits[{k}]" for k in range(len(limits))]
        self.meters = [
            meter_of(limit, problem.costs, problem.usage.evaluation, trees, name)
            for limit, name in zip(limits, names, strict=True)
        ]
        self.members = [members_of(problem.usage, limit, name) for limit, name in zip(limits, names, strict=True)]
        # by example first, then once, as certificates number their arcs
        self.counted = [
            (m, once)
            for once in (False, True)
            for m in range(problem.costs.n_items)
            if any((meter.once if once else meter.item)[m] for meter in self.meters)
        ]
        # the metered instance: every item that some limit counts has the price 1
        place = {item: k for k, item in enumerate(self.counted)}
        needs = tuple(
            tuple(place[m, once] for once in (False, True) for m in items if (m, once) in place) for items in problem.costs.needs
        )
        costs = CostItems(
            tuple(problem.costs.names[m] for m, _ in self.counted),
            (Fraction(1),) * len(place),
            needs,
            tuple(o for _, o in self.counted),
        )
        self.problem = replace(problem, usage=replace(problem.usage, costs=costs))
        self.recount = Recount(self.problem, X)

    def amount(self, k: int, item: int) -> Fraction:
        """What limit k counts of a metered item."""
        m, once = self.counted[item]
        return (self.meters[k].once if once else self.meters[k].item)[m]

    def uses(self, kept: NDArray[np.bool_]) -> list[Fraction]:
        """What a pruning uses of every limit; the most of any example where it is about every one."""
        recount, bought = self.recount, np.zeros(self.recount.n_purchases, dtype=bool)
        splits = np.flatnonzero(kept).tolist()
        for h in splits:
            recount.buy(bought, h)
        return [self.use(k, None, splits, bought) for k in range(len(self.limits))]

    def use(self, k: int, row: int | None, splits: list[int], bought: NDArray[np.bool_]) -> Fraction:
        """What some splits with their purchases use of limit k, of one of its rows where it is about every example."""
        recount, meter = self.recount, self.meters[k]
        members = self.members[k] if row is None else self.members_of_row(k, row)
        unit, wide = self._units[k]
        used = np.zeros(recount.n_rows, dtype=object if wide else np.int64)
        fixed = meter.constant + meter.split * len(splits)
        for item, (_, once) in enumerate(self.counted):
            amount, mine = self.amount(k, item), bought[recount.by_item(item)]
            if once:
                fixed += amount if mine[0] else 0
            elif amount:
                used[mine] += int(amount / unit)
        for h in splits if any(meter.evaluation) else []:
            used[recount.routes.rows(h)] += int(meter.evaluation[int(recount.ensemble.feature[h])] / unit)
        if self.limits[k].each:
            return fixed + int(used[members].max()) * unit
        weight = recount.weight[members].astype(used.dtype)
        return fixed + Fraction(int((used[members] * weight).sum()), int(recount.weight[members].sum())) * unit

    @cached_property
    def _units(self) -> list[tuple[Fraction, bool]]:
        """By limit what the amounts of examples are whole multiples of, and whether sums of them may not fit 64 bits."""
        found, recount = [], self.recount
        for meter in self.meters:
            denominator = math.lcm(*(a.denominator for a in (*meter.item, *meter.evaluation)))
            most = sum(meter.item) + max(meter.evaluation, default=Fraction(0)) * len(recount.splits)
            found.append((Fraction(1, denominator), (most * denominator + 1) * recount.total >= DEFAULTS.int64_safe))
        return found

    def members_of_row(self, k: int, row: int | None) -> NDArray[np.int64]:
        """The places of a limit's examples; of one of them where the limit is about every example."""
        if not 0 <= k < len(self.limits) or self.limits[k].each != (row is not None):
            raise Refuted(f"a step is about limit {k} and row {row}; there is no such row")
        members = self.members[k]
        if row is not None:
            members = members[self.problem.usage.rows[members] == row]
            if members.size != 1:
                raise Refuted(f"limits[{k}] is not about row {row}")
        return members

    def reachable(self, k: int, row: int | None, most: Fraction) -> Fraction:
        """The largest use up to a limit: beyond the constant, uses are whole multiples of one number."""
        meter, weight = self.meters[k], self.recount.weight[self.members_of_row(k, row)].tolist()
        share = Fraction(math.gcd(*weight), sum(weight))
        parts = [share * a for a in (*meter.item, *meter.evaluation)] + [*meter.once, meter.split]
        denominator = math.lcm(*(part.denominator for part in parts))
        unit = Fraction(math.gcd(*(int(part * denominator) for part in parts)), denominator)
        return meter.constant + (most - meter.constant) // unit * unit if unit else most

    @cached_property
    def step(self) -> Fraction:
        """What all errors of prunings differ by whole multiples of."""
        recount = self.recount
        return math.gcd(*(recount.gain(h) for h in recount.splits)) * recount.error_unit

    @cached_property
    def roots(self) -> Fraction:
        """The error of the forest of single leaves."""
        return self.recount.roots_error() * self.recount.error_unit

    def raised(self, bound: Fraction, spare: Fraction) -> Fraction:
        """A bound raised to the next error that a pruning can have, where these are more than `spare` apart."""
        if self.step <= 2 * spare:
            return bound
        return self.roots - (self.roots - bound) // self.step * self.step


class PricedRecount(Recount):
    """The metered instance at prices sum_r mu_r amount_{r,j}, all as integers in one unit."""

    def __init__(self, meters: Meters, multipliers: Multipliers, at_most: tuple[Fraction, ...]) -> None:
        self.__dict__.update(meters.recount.__dict__)  # trees, routes, errors and weights are those of the metered instance
        parts = read_multipliers(meters, multipliers)
        weight = self.weight.astype(object)
        totals = [int(weight[members].sum()) for _, members, _ in parts]
        amounts = [a for meter in meters.meters for a in (*meter.item, *meter.once, *meter.evaluation, meter.split)]
        denominators = [(mu / total).denominator for (_, _, mu), total in zip(parts, totals, strict=True)]
        scale = math.lcm(*denominators) * math.lcm(*(a.denominator for a in amounts))
        self.cost_unit, self.spent = Fraction(1, scale), Fraction(0)
        self._prices = [np.zeros(1 if once else self.n_rows, dtype=object) for _, once in meters.counted]
        self.evaluation = [0] * self.ensemble.n_nodes
        for (k, members, mu), total in zip(parts, totals, strict=True):
            meter, share = meters.meters[k], np.zeros(self.n_rows, dtype=object)
            share[members] = weight[members]
            self.spent += mu * (at_most[k] - meter.constant)
            for item, (_, once) in enumerate(meters.counted):
                amount = meters.amount(k, item)
                if amount:
                    self._prices[item] += int(amount * mu * scale) if once else int(amount * mu / total * scale) * share
            for h in self.splits:
                a = meter.evaluation[int(self.ensemble.feature[h])]
                passed = int(a * mu / total * scale) * int(share[self.routes.rows(h)].sum()) if a else 0
                self.evaluation[h] += passed + int(meter.split * mu * scale)

    def prices(self, item: int) -> NDArray[np.object_]:
        """What the purchases of an item cost, in `cost_unit`."""
        return self._prices[item]

    def distinct_prices(self, item: int) -> tuple[list[int], NDArray[np.intp]]:
        """The different prices among them, and which of them each purchase has."""
        prices, place = np.unique(self._prices[item], return_inverse=True)
        return prices.tolist(), place

    def cost_of(self, bought: NDArray[np.bool_]) -> int:
        """Sum of the prices of some purchases."""
        return sum(int(self._prices[m][bought[self.by_item(m)]].sum()) for m in range(len(self._prices)))


def read_multipliers(meters: Meters, multipliers: Multipliers) -> list[tuple[int, NDArray[np.int64], Fraction]]:
    """The limit of each multiplier, the examples that it is about, and the multiplier, checked."""
    parts, seen = [], set()
    for k, row, mu in multipliers:
        members = meters.members_of_row(k, row)
        if not isinstance(mu, Fraction) or mu < 0:
            raise Refuted(f"the multiplier of limits[{k}] is {mu!r}; it must be a fraction >= 0")
        if (k, row) in seen:
            raise Refuted(f"limits[{k}] has two multipliers")
        seen.add((k, row))
        parts.append((k, members, mu))
    return parts


def is_limit(limit: Limit, most: Fraction) -> bool:
    """Whether a number is what a limit allows: the number that was given, or one that rounds to it where that was a float."""
    if isinstance(limit.at_most, float):
        return float(most) == limit.at_most
    return most == Fraction(limit.at_most)
