"""Payments at multipliers, and what they prove of the splits that are open: the steps of `solvers.within.proof`.

One minimum cut of the open splits shares out the prices of the purchases that nothing kept makes. The payments are for single
purchases of the user's instance, whatever the search merged and scaled.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.search_proof import (
    Multipliers,
    Payments,
    Priced,
    TooMuch,
)
from formulations.compiled import njit
from formulations.instance.reduction import mark_above
from formulations.programs.limit_rows import LimitRows
from solvers.closures.cut import merged_cut
from solvers.closures.integer_objective import Grid
from solvers.closures.subproblem import open_part, subproblem
from solvers.closures.tree_pass import best_tree_closures, chain_sums, forced, mark_below
from solvers.within.by_path import raised
from solvers.within.core import Rates, RowUses
from solvers.within.relaxation import LagrangianOracle


def limit_and_row(rows: LimitRows, r: int) -> tuple[int, int | None]:
    """The limit of a row, and the row of the cost sample that it is about where that is a single one."""
    row = rows.rows[r]
    return row.limit, int(rows.problem.usage.rows[row.members[0]]) if rows.limits[row.limit].each else None


def proof_multipliers(rows: LimitRows, mu: Rates) -> Multipliers:
    """Multipliers as a proof states them."""
    return tuple((*limit_and_row(rows, r), x) for r, x in enumerate(mu) if x > 0)


@dataclass(frozen=True, eq=False)
class Decided:
    """The splits of the reduced forest that are kept and pruned; bool, shape (r,)."""

    kept: NDArray[np.bool_]
    out: NDArray[np.bool_]

    def keep(self, parent: NDArray[np.int32], splits: NDArray[np.int32]) -> Decided:
        """With some splits kept, and all above them."""
        kept = self.kept.copy()
        kept[splits] = True
        mark_above(parent, kept)
        return replace(self, kept=kept)

    def prune(self, parent: NDArray[np.int32], splits: NDArray[np.int32]) -> Decided:
        """With some splits pruned, and all below them."""
        out = self.out.copy()
        out[splits] = True
        mark_below(parent, out)
        return replace(self, out=out)


@dataclass(frozen=True, eq=False)
class Cut:
    """What multipliers prove of the open splits."""

    priced: Priced
    bound: Fraction  # (6), raised to the next error that there can be
    nodes: NDArray[np.int32]  # the open splits that may pay, and their bounds when they are kept or pruned
    if_kept: Callable[[], NDArray[np.bool_]]  # whether the bound is at least the target then
    if_pruned: Callable[[], NDArray[np.bool_]]


class Prover:
    """Proves bounds of the error within limits."""

    def __init__(self, rows: LimitRows, oracle: LagrangianOracle, target: Fraction, deadline: float) -> None:
        self.rows, self.oracle, self.target, self.deadline = rows, oracle, target, deadline
        self.core, self.groups = oracle.problem, oracle.groups
        self.parent = self.core.ensemble.parent
        numbers = rows.problem.exact_numbers
        self.step = numbers.gain_step * numbers.gain_unit if rows.problem.numbers.exact else Fraction(0)
        self.gain = self.groups.sums(numbers.gain)
        self.most = [  # uses are whole multiples of a unit: what of a limit they can reach
            row.at_most - rows.room(r) + rows.room(r) * scale // 1 / scale
            for r, (row, scale) in enumerate(zip(rows.rows, rows.integer_scales, strict=True))
        ]
        self.least: Fraction | None = None
        self.slack = Fraction(0)
        self._used: dict[bytes, tuple[Fraction, ...]] = {}
        self._uses: RowUses | None = None
        self.look_at(np.zeros(self.parent.size, dtype=bool), self.groups.is_group)

    def look_at(self, inner: NDArray[np.bool_], outer: NDArray[np.bool_]) -> None:
        """Go on with the splits between two nested prunings of groups, and merged purchases."""
        self.part = open_part(self.core, outer, inner)

    def start(self) -> Decided:
        """Nothing is decided."""
        return Decided(np.zeros(self.parent.size, dtype=bool), ~self.groups.is_group)

    def over(self, mu: Rates, kept: NDArray[np.bool_]) -> Fraction:
        """sum_r mu_r (use_r - B_r) of some splits."""
        uses = self.used(kept)
        return sum((x * (uses[r] - self.most[r]) for r, x in enumerate(mu) if x > 0), Fraction(0))

    def used(self, kept: NDArray[np.bool_]) -> tuple[Fraction, ...]:
        """What some splits use of every row, exactly."""
        key = kept.tobytes()
        if key not in self._used:
            if len(self._used) > 200:
                self._used.clear()
            self._used[key] = self.rows.uses(Pruning(self.rows.problem, self.groups.kept(kept)))
        return self._used[key]

    def exceeded(self, decided: Decided) -> int | None:
        """A row that what is kept exceeds."""
        uses = zip(self.used(decided.kept), self.rows.rows, strict=True)
        return next((r for r, (use, row) in enumerate(uses) if use > row.at_most), None)

    def cut(self, mu: Rates, decided: Decided, *, outside: bool = False) -> Cut:
        """Payments at multipliers, and what they prove; `outside` a window limits do not count, and nothing is raised."""
        part = self.part
        # the open splits that may pay: those of best closures where nobody pays, and the purchases that they would still make
        is_open = ~(decided.kept | decided.out)[part.nodes]
        above = np.where((part.parent >= 0) & is_open[part.parent], part.parent, np.int32(-1))
        rates = np.array([float(x) for x in mu])
        gain, price = self.oracle.gain[part.nodes], self.oracle.prices(rates)[part.members]
        own = (self.oracle.own_of_groups @ rates)[part.nodes]
        wanted = best_tree_closures(above, gain, is_open)[0]
        bought = self.core.usage.paid_by(decided.kept)[part.members]
        asked = np.zeros(part.price.size, dtype=bool)
        asked[part.group[~bought & (price > 0)]] = True  # all of a group are bought, or none
        mine = np.flatnonzero(wanted[part.tail] & asked[part.head])
        nodes = np.flatnonzero(wanted).astype(np.int32)
        found = subproblem(part.parent, nodes, part.tail[mine], part.head[mine], part.price.size)
        some = asked[part.group] & np.isin(part.group, found.purchases)
        # a minimum cut of these in integers, and what each split pays for each purchase
        grid = Grid.of(gain[nodes], own[nodes], price[some], self.oracle.lost[part.nodes[nodes]], self.oracle.margin)
        member, group = part.members[some], part.group[some]
        group_price = np.zeros(part.price.size, dtype=np.int64)
        np.add.at(group_price, group, grid.price)
        _, dual = merged_cut(found.closure_problem(grid.profit, group_price[found.purchases]), "smallest")
        profit = grid.profit.copy()
        np.subtract.at(profit, found.tail, dual)
        ends = forced(found.parent, profit)
        pays = np.flatnonzero(dual)
        paid = _shared_out(found.tail[pays], found.purchases[found.head[pays]], dual[pays], member, group, grid.price)
        payments = self._payments(part.nodes[nodes[paid[0]]], paid[1], paid[2], grid.unit)
        # (6)
        base = self.rows.problem.roots_error - self.gain_of(decided.kept) - self.slack
        if not outside:
            base += self.over(mu, decided.kept)

        def reaches(values: NDArray[np.int64]) -> NDArray[np.bool_]:
            """Whether no more than so much can be gained where the target is kept."""
            return np.asarray(values <= self._most(base, grid.unit))

        bound = base - ends.best * grid.unit
        bound = bound if outside else raised(self.rows.problem, bound)
        priced = Priced(proof_multipliers(self.rows, mu), payments)
        return Cut(priced, bound, part.nodes[nodes], lambda: reaches(ends.kept), lambda: reaches(ends.pruned))

    def gain_of(self, kept: NDArray[np.bool_]) -> Fraction:
        """What some splits gain, exactly."""
        return int(self.gain[kept].sum()) * self.rows.problem.exact_numbers.gain_unit

    def _most(self, base: Fraction, unit: Fraction) -> int:
        """The largest worth of open splits, in `unit`, with which the bound reaches the target."""
        # raised(base - worth) >= target where base - worth > target - step
        if self.step:
            most = (base - self.target + self.step) / unit
            return int(most) - 1 if most == int(most) else int(most // 1)
        return int((base - self.target) / unit // 1)

    def _payments(
        self, split: NDArray[np.int32], purchase: NDArray[np.int32], paid: NDArray[np.int64], unit: Fraction
    ) -> Payments:
        """In the numbers of the user's instance."""
        rows, n = self.rows, self.rows.problem.usage.n_rows
        by_example, once = rows.counted
        m = by_example.size + once.size
        is_once = purchase >= m * n
        place = np.where(is_once, purchase - m * n, purchase // n)
        names = np.concatenate([by_example, once]).astype(np.int32)
        row = np.where(is_once, -1, purchase % n).astype(np.int32)
        return Payments(self.groups.payer[split].astype(np.int32), names[place], row, paid, unit)

    def branching(self, cut: Cut) -> int | None:
        """The open split of most gain of those that pay; None where none is left."""
        return int(cut.nodes[np.argmax(self.oracle.gain[cut.nodes])]) if cut.nodes.size else None

    def chains(self, decided: Decided) -> tuple[list[TooMuch], Decided]:
        """(3) for all open splits."""
        steps: list[TooMuch] = []
        part, n_rows = self.part, len(self.rows.rows)
        if n_rows * part.members.size > self.oracle.params.most_uses:
            return steps, decided
        if self._uses is None:
            self._uses = RowUses.of(self.rows, self.oracle.own_of_groups, part.nodes, part.members).merged(
                part.group, part.price.size
            )
            self._own_uses, self._group_uses = self._uses.of_splits.T.toarray(), self._uses.of_purchases.T.toarray()
        uses, kept = self._uses, decided.kept[part.nodes]
        bought = part.used(kept)
        room = uses.room - uses.by(kept, bought)
        is_open = ~(decided.kept | decided.out)[part.nodes]
        mine = np.flatnonzero(is_open[part.tail] & ~bought[part.head])
        tail, head = part.tail[mine], part.head[mine]
        for r in range(n_rows):
            own = np.where(is_open, self._own_uses[r] + np.bincount(tail, self._group_uses[r][head], is_open.size), 0.0)
            over = is_open & (chain_sums(part.parent, own) > room[r] + 10.0 * uses.same[r])
            tops = part.nodes[over & ((part.parent < 0) | ~over[part.parent])]
            tops = tops[~decided.out[tops]]
            if tops.size:
                steps.append(TooMuch(*limit_and_row(self.rows, r), self.groups.payer[tops].astype(np.int32)))
                decided = decided.prune(self.parent, tops)
        return steps, decided


def _shared_out(
    split: NDArray[np.int32],
    group: NDArray[np.int32],
    dual: NDArray[np.int64],
    member: NDArray[np.int32],
    group_of: NDArray[np.int32],
    price: NDArray[np.int64],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64]]:
    """Payments for groups of purchases as payments for their members, none of which gets more than its price."""
    by_group, members = np.argsort(group, kind="stable"), np.argsort(group_of, kind="stable")
    size = split.size + member.size
    pairs, paid = np.empty((2, size), dtype=np.int32), np.empty(size, dtype=np.int64)
    count = _share_out(
        split[by_group], group[by_group], dual[by_group], member[members], group_of[members], price[members], pairs, paid
    )
    return pairs[0, :count], pairs[1, :count], paid[:count]


@njit(cache=True)
def _share_out(split, group, dual, member, group_of, price, pairs, paid):  # type: ignore[no-untyped-def]
    """Fills the members of a group one after the other, payer by payer; returns how many payments that makes."""
    count = j = 0
    left = price[0] if price.size else 0
    for k in range(split.shape[0]):
        # the next group: begin with its first member
        while group_of[j] != group[k]:
            j += 1
            left = price[j]
        pays = dual[k]
        while pays > 0:
            # this member's price is paid: go on to the next one
            if left == 0:
                j += 1
                left = price[j]
                continue
            part = min(pays, left)
            pairs[0, count], pairs[1, count], paid[count] = split[k], member[j], part
            pays -= part
            left -= part
            count += 1
    return count
