"""A proof of what a search found: its log is walked again, and every step gets payments by a cut of its own.

The search works on trimmed, merged and scaled cores. A stranger needs none of that: at the multipliers that the log tells, one
minimum cut of the splits that are open there shares out the prices of the purchases that nothing kept makes, and these payments
prove the bound (6) of `formulations.answers.search_proof`, or decide splits. So the bound that is stated is the least of those
that were proven here. A node that the multipliers of a step above close already, now that the best pruning is known, is not
walked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.search_proof import (
    Branch,
    Closed,
    Exceeded,
    Fixed,
    Multipliers,
    Payments,
    Priced,
    SearchWindow,
    Step,
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
from solvers.within.search import Log


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


class TooLargeProof(Exception):  # noqa: N818 (not an error: the proof is left out)
    """The proof takes more leaves, bytes or seconds than there are."""


def proof_of(
    prover: Prover,
    log: Log,
    first: Rates,
    decided: Decided,
    gain_of: Callable[[int], Fraction],
    box: tuple[Rates | None, Rates] | None,
) -> tuple[Step, ...]:
    """The steps that a log leads to; `prover.least` is the bound that they prove.

    `first`: multipliers for what the log tells none of. `decided`: at the beginning: the window. `gain_of`: what an integer gain
    in the log stands for. `box`: the largest multipliers of the window, None: any, and the least; None: there is no window.
    """
    walk, params = _Walk(prover, gain_of, box), prover.oracle.params
    walk.stack.append((log, first, decided))
    while walk.stack:
        too_large = walk.leaves > params.proof_leaves or walk.n_bytes > params.proof_bytes
        if too_large or time.perf_counter() > prover.deadline:
            raise TooLargeProof
        walk.visit(*walk.stack.pop())
    return tuple(walk.steps)


class _Walk:
    """A walk along a log: the steps so far, and a stack of nodes that are still to be visited, the next one last.

    A node is one of the log, or None where the log tells nothing, with the multipliers of the step above and what is decided.
    """

    def __init__(self, prover: Prover, gain_of: Callable[[int], Fraction], box: tuple[Rates | None, Rates] | None) -> None:
        self.prover, self.gain_of, self.box = prover, gain_of, box
        self.steps: list[Step] = []
        self.stack: list[tuple[Log | None, Rates, Decided]] = []
        self.leaves = self.n_bytes = self.branches = 0

    def visit(self, node: Log | None, mu: Rates, decided: Decided) -> None:
        """Make the steps of one node."""
        prover = self.prover
        if self.box is None:  # only in the whole instance may what exceeds a limit end a branch
            row = prover.exceeded(decided)
            if row is not None:
                self.steps.append(Exceeded(*limit_and_row(prover.rows, row)))
                self.leaves += 1
                return
            found, decided = prover.chains(decided)
            self.steps += found
        if node is not None and node.at is not None:
            mu = node.at
        goes_on = node is not None and (node.after is not None or node.if_kept is not None)
        known = None if node is None or node.gain is None else prover.rows.problem.roots_error - self.gain_of(node.gain)
        # a node that goes on is closed only where its own bound, too, says that it can be by now
        cut = prover.cut(mu, decided) if not goes_on or known is None or known >= prover.target else None
        if cut is not None and cut.bound >= prover.target:
            self.close(cut)
        elif node is None or not goes_on:
            assert cut is not None
            self.end(cut, mu, decided)
        elif node.after is not None:
            self.fix(node, node.after, cut, mu, decided)
        else:
            self.branch(node, mu, decided)

    def close(self, cut: Cut) -> None:
        """A leaf, closed by payments."""
        self.steps.append(Closed(cut.priced))
        least = self.prover.least
        self.prover.least = cut.bound if least is None else min(least, cut.bound)
        self.leaves += 1
        self._count(cut)

    def end(self, cut: Cut, mu: Rates, decided: Decided) -> None:
        """Where the log ends. What rounding left open there is decided split by split."""
        prover = self.prover
        cut = self._better_of(cut, mu, decided)
        more = prover.branching(cut)
        if cut.bound >= prover.target or more is None or self.branches >= prover.oracle.params.proof_branches:
            self.close(cut)
            return
        self.branches += 1
        self._branch(more)
        self._later(None, mu, decided, kept=more)
        self._later(None, mu, decided, pruned=more)

    def fix(self, node: Log, after: Log, cut: Cut | None, mu: Rates, decided: Decided) -> None:
        """The splits that the search fixed here. Those that these payments do not decide are decided by branches of their own."""
        prover, at = self.prover, after.fixed_at
        assert at is not None
        if cut is None or at != mu:
            cut = prover.cut(at, decided)
        out, kept = cut.nodes[cut.if_kept()], cut.nodes[cut.if_pruned()]
        if np.intersect1d(out, kept).size:  # a split can be neither kept nor pruned
            self.close(cut)
            return
        if out.size or kept.size:
            self._count(cut)
            payer = prover.groups.payer
            self.steps.append(Fixed(cut.priced, payer[kept].astype(np.int32), payer[out].astype(np.int32)))
            decided = decided.keep(prover.parent, kept).prune(prover.parent, out)
        wanted_in, wanted_out = np.concatenate([kept[:0], *after.fixed_in]), np.concatenate([kept[:0], *after.fixed_out])
        left_in, left_out = wanted_in[~decided.kept[wanted_in]], wanted_out[~decided.out[wanted_out]]
        # one of those to keep, and this node again; only then those to prune
        for h in left_in[~decided.out[left_in]][:1].tolist():
            self._branch(h)
            self._later(node, mu, decided, kept=h)
            self._later(None, at, decided, pruned=h)
            return
        for h in left_out[~decided.kept[left_out]].tolist():
            if not decided.out[h]:
                self._branch(h)
                self._later(None, at, decided, kept=h)
                decided = decided.prune(prover.parent, np.array([h], dtype=np.int32))
        self.stack.append((after, at, decided))

    def branch(self, node: Log, mu: Rates, decided: Decided) -> None:
        """The search's own branch, but where its split is decided already."""
        h = node.split
        if decided.kept[h] or decided.out[h]:
            self.stack.append((node.if_kept if decided.kept[h] else node.if_pruned, mu, decided))
            return
        self._branch(h)
        self._later(node.if_kept, mu, decided, kept=h)
        self._later(node.if_pruned, mu, decided, pruned=h)

    def _branch(self, h: int) -> None:
        self.steps.append(Branch(int(self.prover.groups.payer[h])))

    def _later(self, node: Log | None, mu: Rates, decided: Decided, *, kept: int = -1, pruned: int = -1) -> None:
        """Visit a node later, with one more split kept or pruned."""
        parent, one = self.prover.parent, np.array([max(kept, pruned)], dtype=np.int32)
        self.stack.append((node, mu, decided.keep(parent, one) if kept >= 0 else decided.prune(parent, one)))

    def _count(self, cut: Cut) -> None:
        self.n_bytes += cut.priced.payments.n_bytes  # type: ignore[union-attr]

    def _better_of(self, cut: Cut, mu: Rates, decided: Decided) -> Cut:
        """A leaf whose multipliers fall short: large multiples prove what exceeds the surrogate row, none what leaves room."""
        prover = self.prover
        over = prover.over(mu, decided.kept)
        high, low = self.box or (None, ())
        if cut.bound >= prover.target or (high is not None if over > 0 else any(low)):
            return cut
        factor = 1 + 2 * Fraction(prover.rows.problem.largest_error) / over if over > 0 else Fraction(0)
        other = prover.cut(tuple(x * factor for x in mu), decided)
        return other if other.bound > cut.bound else cut


def search_window(
    prover: Prover,
    inner: NDArray[np.bool_],
    outer: NDArray[np.bool_],
    high: Rates | None,
    low: Rates | None,
) -> SearchWindow:
    """What proves that two nested prunings of groups are optimal at their multipliers; `prover.slack` is what it leaves open."""
    rows, groups = prover.rows, prover.groups
    nothing = np.zeros(inner.size, dtype=bool)
    high_proof = low_proof = None
    slack = Fraction(0)
    if high is not None and inner.any():  # what may be better than all of the inner pruning
        prover.look_at(nothing, inner)
        cut = prover.cut(high, Decided(nothing, ~inner), outside=True)
        spent = prover.over(high, inner) - prover.over(high, nothing)
        slack += rows.problem.roots_error - cut.bound - (prover.gain_of(inner) - spent)
        high_proof = cut.priced
    outside = rows.problem.ensemble.is_split & ~groups.kept(outer)
    if low is not None and outside.any():  # what may be better than nothing there
        prover.look_at(outer, groups.is_group)
        cut = prover.cut(low, Decided(outer, ~groups.is_group), outside=True)
        slack += rows.problem.roots_error - prover.gain_of(outer) - cut.bound
        low_proof = cut.priced
    prover.slack = slack
    prover.look_at(inner, outer)
    return SearchWindow(groups.kept(inner), groups.kept(outer), high_proof, low_proof)
