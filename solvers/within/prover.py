"""What multipliers of the limits prove: a bound of all prunings, and of the splits that are open.

One closure at given multipliers proves a bound,

    D(mu)  =  min over prunings of  error + sum_r mu_r (use_r - B_r)   <=   the least error within the limits                (1)

for every mu >= 0. A purchase costs sum_r mu_r amount_{r,j} and a split sum_r mu_r amount_{r,h}, so (1) is a maximum closure like
(OBJ), whatever the limits are about. It is solved in integers, profits rounded up and prices rounded down, by a minimum cut or by
price sharing. So the bound holds in spite of floating-point errors, and the pruning is the best one up to this rounding.

The steps of `solvers.within.proof` are payments at multipliers; (3) and (6) are those of `formulations.answers.search_proof`. One
minimum cut of the open splits shares out the prices of the purchases that nothing kept makes. The payments are for single
purchases of the user's instance, whatever the search merged and scaled.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.pruning import Pruning
from formulations.answers.search_proof import Multipliers, Payments, Priced, TooMuch
from formulations.answers.solution import SharedPrices
from formulations.compiled import njit
from formulations.instance.reduction import mark_above
from formulations.programs.limit_rows import LimitRows
from solvers.automatic import predicted_seconds
from solvers.closures.cut import merged_cut, subproblem
from solvers.closures.integer_objective import Grid, IntegerObjective, on_grid
from solvers.closures.min_cut import closure_at
from solvers.closures.subproblem import open_part
from solvers.closures.tree_pass import best_tree_closures, chain_sums, climb, forced, mark_below
from solvers.price_sharing.loop import StopRule, run_to_goal
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.rows import LocalRows, Scores
from solvers.price_sharing.solve import proof_for_forest
from solvers.within.by_path import raised, rounded_down
from solvers.within.core import Rates, RowUses
from solvers.within.params import WithinParams


@dataclass(frozen=True, eq=False)
class OraclePruning:
    """A best pruning by (1), the value of (1) that is proven, and what proves it."""

    mu: NDArray[np.float64]  # float64, shape (R,): the multipliers
    kept: NDArray[np.bool_]  # bool, shape (n,), over the nodes of the user's forest
    bound: float  # (1), proven
    certificate: SharedPrices | None  # on the usage arcs of the metered instance; its lambda is 1; None: of a cut


class LagrangianOracle:
    """Solves (1) for any multipliers, and counts uses in floating point, for searches."""

    def __init__(self, rows: LimitRows, params: WithinParams) -> None:
        self.rows, self.user_problem, self.params = rows, rows.problem, params
        reduced = rows.metered.reduced("smallest")
        self.problem, self.groups = reduced.core, reduced.groups
        self.own = rows.of_splits()
        of, r = self.groups.of, self.groups.payer.size
        in_group = np.flatnonzero(of >= 0)
        into = sparse.csr_array((np.ones(in_group.size), (in_group, of[in_group])), shape=(of.size, r))
        self.own_of_groups = sparse.csr_array((self.own @ into).T)  # shape (r, R)
        ints = rows.problem.numbers
        self.gain = self.problem.numbers.gain * float(ints.gain_unit)
        largest_group = int(np.bincount(of[in_group], minlength=1).max(initial=1))
        self.lost = 2.0**-50 * np.abs(self.gain) if ints.exact else self.problem.gain_lost
        self.margin = (32 + len(rows.rows) + largest_group) * 2.0**-52
        self.roots = rows.problem.roots_error
        self._by_example = rows.counted[0].size
        self.scores: Scores | None = None
        self.calls = 0

    @cached_property
    def _seconds(self) -> tuple[float, float]:
        """What a cut of the metered instance and price sharing take, about."""
        return predicted_seconds(self.problem.n_usage_arcs, self.problem.ensemble.n_splits, SharingParams())

    @cached_property
    def shares_prices(self) -> bool:
        """Whether price sharing solves (1), rather than a cut."""
        cut, sharing = self._seconds
        return cut > sharing and self.problem.n_usage_arcs > SharingParams.small_core

    @property
    def work(self) -> float:
        """Of a closure, as `Effort` counts it."""
        return max(self.params.per_closure, self._seconds[self.shares_prices])

    def objective(self, mu: NDArray[np.float64]) -> IntegerObjective:
        """The profits and prices of (1) in integers."""
        price, own = self.prices(mu), self.own_of_groups @ mu
        return on_grid(self.problem, Grid.of(self.gain, own, price, self.lost, self.margin), Fraction(1))

    def prices(self, mu: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each purchase of the metered instance costs at the multipliers; float64, shape (M' (N + 1),)."""
        rows, k = self.rows, self._by_example
        price = np.zeros((rows.amounts.shape[1], rows.problem.usage.n_rows + 1))
        for q, amounts in enumerate(rows.amounts):
            mine = np.where(rows.limit_of_row == q, mu, 0.0)
            price[:k, :-1] += np.outer(amounts[:k], rows.share.T @ mine)
            price[k:, -1] += amounts[k:] * mine.sum()
        return np.concatenate([price[:, :-1].ravel(), price[:, -1]])

    def solve(self, mu: NDArray[np.float64], *, gap: float = 0.0, time_limit: float = math.inf) -> OraclePruning:
        """Solve (1), or up to a relative gap where that saves time."""
        self.calls += 1
        objective = self.objective(mu)
        if self.shares_prices:
            certificate: SharedPrices | None
            kept, best, certificate = self._shared(objective, gap, time_limit)
        else:
            kept, dual, _ = closure_at(objective, "smallest")
            charged = objective.profits()
            np.subtract.at(charged, self.problem.usage.arcs().tail, dual)
            best, certificate = int(climb(self.problem.ensemble.parent, charged, self.problem.ensemble.is_split)), None
        return OraclePruning(mu, self.groups.kept(kept), self.bound_of(best, objective.unit, mu), certificate)

    def bound_of(self, best: int, unit: Fraction, mu: NDArray[np.float64]) -> float:
        """(1) where no closure is worth more than `best`, rounded down."""
        spent = sum((Fraction(float(x)) * self.rows.room(r) for r, x in enumerate(mu) if x), Fraction(0))
        return rounded_down(self.roots - best * unit - spent)

    def _shared(self, objective: IntegerObjective, gap: float, time_limit: float) -> tuple[NDArray[np.bool_], int, SharedPrices]:
        """By price sharing, from the scores of the last multipliers."""
        goal = StopRule(time.perf_counter() + time_limit, gap, self.params.sharing_rounds, SharingParams.small_core)
        with ThreadPoolExecutor(1) as pool:
            rows = LocalRows(objective, pool, SharingParams())
            run, _, _ = run_to_goal(rows, goal, ties="smallest", start=self.scores, checkpoint=None, progress=False)
        self.scores = Scores(run.scores().score, SharingParams.warm_start_iteration)
        return run.best_kept, run.bound, proof_for_forest(run.certificate(), self.groups, self.rows.metered)

    def uses(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What a pruning uses of every row beyond what is used in any case, up to rounding errors; float64, shape (R,)."""
        rows, usage, k = self.rows, self.rows.metered.usage, self._by_example
        paid = usage.paid_by(kept)
        bought = paid[: -usage.costs.n_items].reshape(-1, rows.problem.usage.n_rows)[:k]
        needed = usage.once(kept)[k:]
        found: NDArray[np.float64] = self.own @ kept.astype(np.float64)
        for q, amounts in enumerate(rows.amounts):
            mine = rows.limit_of_row == q
            used = rows.share @ (amounts[:k] @ bought) + amounts[k:] @ needed
            found += np.where(mine, used, 0.0)
        return found


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
