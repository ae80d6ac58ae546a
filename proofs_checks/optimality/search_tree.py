"""Does the tree of a search prove a bound of the error within limits? Every step is computed anew, in integers.

A walk carries the splits K that are kept, those that are pruned, and the purchases that K makes. At a leaf, with multipliers mu
and payments d of open splits,

    bound  =  error of single leaves - gain(K) + sum_r mu_r (use_r(K) - B_r) - sum over trees of their best closures         (1)

where an open split is worth its gain less sum_r mu_r amount_r and its payments, and no purchase is paid more than its price at
mu. A payment is for a purchase that the split needs: its feature needs the item, and the example reaches it. (1) is weak duality,
with splits that are decided. Errors of prunings are whole multiples of one number apart, so bounds are raised to the next one.

A split is fixed where (1) with the split forced the other way reaches the bound, by (3) and (4) of
`proofs_checks.optimality.item_duals`. In a window K begins with the inner pruning. Nothing is lost by that as far as the payments
at ``high`` show that no part of the inner pruning is better than all of it, those at ``low`` that nothing outside the outer one
pays: both become no less true at multipliers between them, since uses of more splits are larger. What they leave open is taken
off every bound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.search_proof import (
    Branch,
    Closed,
    Exceeded,
    Fixed,
    Payments,
    Priced,
    SearchProof,
    SearchWindow,
    Step,
    TooMuch,
)
from formulations.answers.solution import SharedPrices
from proofs_checks.optimality.item_duals import forced, tree_worth
from proofs_checks.optimality.meters import Meters, PricedRecount, read_multipliers
from proofs_checks.optimality.recount import Refuted, shown
from proofs_checks.optimality.solution_optimality import proven

Parts = list[tuple[int, NDArray[np.int64], Fraction]]
"""Multipliers: limit, examples, mu."""


@dataclass(frozen=True, eq=False)
class State:
    """What is decided; bool arrays over nodes and purchases."""

    kept: NDArray[np.bool_]
    out: NDArray[np.bool_]
    bought: NDArray[np.bool_]


class SearchTree:
    """Replays a proof of a bound; the limits are `at_most`."""

    def __init__(self, meters: Meters, at_most: tuple[Fraction, ...]) -> None:
        self.meters, self.at_most, self.recount = meters, at_most, meters.recount
        recount = self.recount
        self.slack = Fraction(0)
        self.box: tuple[dict[Any, Fraction] | None, dict[Any, Fraction]] | None = None  # the most and the least multipliers
        self.place = np.empty((recount.ensemble.n_trees, recount.n_rows), dtype=np.int32)
        for t, order in enumerate(recount.routes.order):
            self.place[t, order] = np.arange(recount.n_rows, dtype=np.int32)
        self.metered = {item: k for k, item in enumerate(meters.counted)}
        self.asks = np.zeros((recount.ensemble.n_features, len(meters.counted)), dtype=bool)
        for f, items in enumerate(recount.costs.needs):
            self.asks[f, list(items)] = True
        self._own: dict[tuple[int, int | None], list[Fraction] | None] = {}

    def start(self) -> State:
        """Nothing is decided."""
        n = self.recount.ensemble.n_nodes
        return State(np.zeros(n, dtype=bool), np.zeros(n, dtype=bool), np.zeros(self.recount.n_purchases, dtype=bool))

    def least(self, proof: SearchProof, stated: Fraction, spare: Fraction) -> Fraction:
        """The bound that a proof's leaves prove; Refuted where a step is wrong, or fixes what `stated` does not decide."""
        self.goal, self.spare = stated - spare, spare
        # a walk through the steps; what is left to prove waits on a stack
        least = None
        pending = [self.start() if proof.window is None else self._window(proof.window)]
        for number, step in enumerate(proof.steps):
            if not pending:
                raise Refuted(f"step {number} of the proof comes after its last branch has ended")
            state = pending.pop()
            try:
                ended = self._step(step, state, pending)
            except Refuted as why:
                raise Refuted(f"step {number} of the proof: {why}") from None
            if ended is not None:
                least = ended if least is None else min(least, ended)
        # every branch has ended; the least bound of the leaves is proven
        if pending:
            raise Refuted(f"the proof ends with {len(pending)} branches open")
        if any(isinstance(step, Fixed) for step in proof.steps):  # what was fixed errs at least so much the other way
            least = stated if least is None else min(least, stated)
        if least is None:
            raise Refuted("the proof has no leaf with a bound, as if nothing were within the limits")
        return least

    def _step(self, step: Step, state: State, pending: list[State]) -> Fraction | None:
        """What a step leaves to prove goes to `pending`; returns the bound of a leaf."""
        if isinstance(step, Branch):
            h = self._open(step.split, state)
            pending.append(self._keep(state, [h]))
            pending.append(self._prune(state, [h]))
            return None
        if isinstance(step, TooMuch | Exceeded):
            if self.box is not None:
                raise Refuted("in a window nothing follows from what a limit leaves")
            k, row = step.limit, step.row
            self.meters.members_of_row(k, row)
            if isinstance(step, Exceeded):
                self._exceeds(k, row, state, "what is kept")
                return None
            # TooMuch: none of these splits fits
            splits = [self._open(h, state) for h in _ids(step.splits)]
            for h in splits:
                self._exceeds(k, row, self._keep(state, [h]), f"split {h} and what is above it")
            pending.append(self._prune(state, splits))
            return None
        if isinstance(step, Fixed):
            pending.append(self._fixed(step, state))
            return None
        if isinstance(step, Closed):
            return self._closed(step.priced, state)
        raise Refuted(f"{type(step).__name__} is no step of a proof")

    def _fixed(self, step: Fixed, state: State) -> State:
        profit, unit = self._profits(step.priced, state)
        base, trees = self._base(step.priced, state), forced(profit, self.recount.left, self.recount.right, self.recount.parent)
        kept, pruned = ([self._open(h, state) for h in _ids(ids)] for ids in (step.kept, step.pruned))
        for what, splits, lost in (("in", kept, trees.lost_out), ("out", pruned, trees.lost_in)):
            for h in splits:
                if self.meters.raised(base - (trees.best - lost[h]) * unit, self.spare) < self.goal:
                    raise Refuted(f"split {h} is fixed {what}, but the other way the error may be less than the bound")
        return self._prune(self._keep(state, kept), pruned)

    def _closed(self, priced: Priced, state: State) -> Fraction:
        if isinstance(priced.payments, SharedPrices):
            if state.kept.any() or state.out.any() or self.box is not None or priced.kept is None:
                raise Refuted("scores stand where splits are decided already")
            recount = PricedRecount(self.meters, priced.multipliers, self.at_most)
            bound = proven(recount, priced.payments, Fraction(1), priced.kept)[2] - recount.spent
            return self.meters.raised(bound, self.spare)
        worth = self._best(priced, state)
        return self.meters.raised(self._base(priced, state) - worth, self.spare)

    def _base(self, priced: Priced, state: State) -> Fraction:
        """(1) but for the open trees."""
        splits = np.flatnonzero(state.kept).tolist()
        base = self.meters.roots - self._gain(state.kept) - self.slack
        for k, row, mu in priced.multipliers:
            base += mu * (self.meters.use(k, row, splits, state.bought) - self.meters.reachable(k, row, self.at_most[k]))
        return base

    def _best(self, priced: Priced, state: State) -> Fraction:
        """What the best closures of the open splits are worth."""
        profit, unit = self._profits(priced, state)
        return tree_worth(profit, self.recount.left, self.recount.right, self.recount.parent)[1] * unit

    def _profits(self, priced: Priced, state: State) -> tuple[dict[int, int], Fraction]:
        """What each open split is worth by itself, and the unit, at multipliers within the window's."""
        parts = read_multipliers(self.meters, priced.multipliers)
        self._in_box(priced)
        recount, payments = self.recount, priced.payments
        if not isinstance(payments, Payments):
            raise Refuted(f"the payments are {type(payments).__name__}")
        charged = self._charged(payments, parts, state)
        all_own = [(self._own_uses(k, row), mu) for k, row, mu in priced.multipliers]
        own = [(uses, mu) for uses, mu in all_own if uses is not None]
        open_splits = [h for h in recount.splits if not state.kept[h] and not state.out[h]]
        denominator = math.lcm(
            recount.error_unit.denominator,
            payments.unit.denominator,
            *(mu.denominator * uses[h].denominator for uses, mu in own for h in open_splits if uses[h]),
        )
        gain, charge = int(recount.error_unit * denominator), int(payments.unit * denominator)
        profit = {}
        for h in open_splits:
            used = sum((int(mu * uses[h] * denominator) for uses, mu in own if uses[h]), 0)
            profit[h] = recount.gain(h) * gain - charged.get(h, 0) * charge - used
        return profit, Fraction(1, denominator)

    def _charged(self, payments: Payments, parts: Parts, state: State) -> dict[int, int]:
        """What each split pays, after checking that it may: for what it needs and nobody has bought, no more than prices."""
        arrays: list[NDArray[Any]] = [np.asarray(x) for x in (payments.split, payments.item, payments.row, payments.paid)]
        split, item, row, paid = arrays
        if len({x.shape for x in (split, item, row, paid)}) > 1 or split.ndim != 1:
            raise Refuted("the payments' arrays have different lengths")
        if any(not np.issubdtype(x.dtype, np.integer) for x in (split, item, row, paid)):
            raise Refuted("the payments are no whole numbers")
        if not isinstance(payments.unit, Fraction) or payments.unit <= 0:
            raise Refuted(f"the unit of the payments is {payments.unit!r}; it must be a fraction above 0")
        if not split.size:
            return {}
        # who pays: open splits, no less than nothing
        ensemble = self.recount.ensemble
        if (paid < 0).any():
            raise Refuted(f"split {split[np.argmin(paid)]} pays less than nothing")
        if split.min() < 0 or split.max() >= ensemble.n_nodes or (~ensemble.is_split[split]).any():
            raise Refuted("a node pays that is no split")
        if (state.kept[split] | state.out[split]).any():
            raise Refuted(f"split {split[np.argmax(state.kept[split] | state.out[split])]} pays, but it is decided already")
        # for what: purchases that the split needs and nobody has bought; and how much: prices at most
        purchase = self._purchases(split, item, row)
        if state.bought[purchase].any():
            raise Refuted(f"split {split[np.argmax(state.bought[purchase])]} pays for what is bought already")
        self._check_prices(purchase, paid, parts, payments.unit)
        charged: dict[int, int] = {}
        for h, amount in zip(split.tolist(), paid.tolist(), strict=True):
            charged[h] = charged.get(h, 0) + amount
        return charged

    def _purchases(self, split: NDArray[Any], item: NDArray[Any], row: NDArray[Any]) -> NDArray[np.int64]:
        """The numbers of what is paid for, after checking that each split needs it."""
        recount = self.recount
        once = row < 0
        metered = np.array([self.metered.get((int(m), bool(o)), -1) for m, o in zip(item, once, strict=True)], dtype=np.int64)
        needed = (metered >= 0) & self.asks[recount.ensemble.feature[split], metered]
        in_range = once | (row < recount.n_rows)
        if not (needed & in_range).all():
            raise Refuted(f"split {split[np.argmin(needed & in_range)]} pays for an item that it does not need")
        place = self.place[recount.ensemble.tree_of[split], np.maximum(row, 0)]
        reaches = once | ((recount.routes.start[split] <= place) & (place < recount.routes.stop[split]))
        if not reaches.all():
            raise Refuted(f"split {split[np.argmin(reaches)]} pays for an example that does not reach it")
        first_once = len(self.meters.counted) * recount.n_rows  # as `Recount` numbers purchases
        return np.asarray(np.where(once, first_once + metered, metered * recount.n_rows + row), dtype=np.int64)

    def _check_prices(self, purchase: NDArray[np.int64], paid: NDArray[Any], parts: Parts, unit: Fraction) -> None:
        """For no purchase more is paid than sum_r mu_r amount_r."""
        n = self.recount.n_rows
        # what all splits pay for each purchase
        numbers, place = np.unique(purchase, return_inverse=True)
        total = np.zeros(numbers.size, dtype=object)
        np.add.at(total, place, paid.astype(object))
        # item by item, compared with its price at the multipliers
        once = numbers >= len(self.meters.counted) * n
        item = np.where(once, numbers - len(self.meters.counted) * n, numbers // n)
        weight = self.recount.weight.astype(object)
        for q in np.unique(item).tolist():
            mine = np.flatnonzero(item == q)
            rates = [(members, mu * self.meters.amount(k, q)) for k, members, mu in parts]
            if once[mine[0]]:
                prices = np.full(mine.size, sum((rate for _, rate in rates), Fraction(0)), dtype=object)
                over = total[mine] * unit > prices
            else:
                shares = [(members, rate / int(weight[members].sum())) for members, rate in rates if rate]
                denominator = math.lcm(unit.denominator, *(share.denominator for _, share in shares))
                price = np.zeros(n, dtype=object)
                for members, share in shares:
                    price[members] += weight[members] * int(share * denominator)
                over = total[mine] * int(unit * denominator) > price[numbers[mine] % n]
            if over.any():
                o = self.meters.counted[q][1]
                name = self.meters.recount.costs.names[q]
                where = name if o else f"{name} by row {self.recount.problem.usage.rows[numbers[mine[np.argmax(over)]] % n]}"
                raise Refuted(f"the payments for {where} are more than its price")

    def _own_uses(self, k: int, row: int | None) -> list[Fraction] | None:
        """What each split by itself uses of a limit's row; None where no split does."""
        if (k, row) not in self._own:
            meter, recount, members = self.meters.meters[k], self.recount, self.meters.members_of_row(k, row)
            uses = None
            if meter.split or any(meter.evaluation):
                share = np.zeros(recount.n_rows, dtype=object)
                share[members] = recount.weight[members].astype(object)
                total = int(share.sum())
                uses = [Fraction(0)] * recount.ensemble.n_nodes
                for h in recount.splits:
                    a = meter.evaluation[int(recount.ensemble.feature[h])]
                    passed = Fraction(int(share[recount.routes.rows(h)].sum()), total) if a else Fraction(0)
                    uses[h] = meter.split + a * passed
            self._own[k, row] = uses
        return self._own[k, row]

    def _gain(self, kept: NDArray[np.bool_]) -> Fraction:
        return sum((self.recount.gain(h) for h in np.flatnonzero(kept).tolist()), 0) * self.recount.error_unit

    def _exceeds(self, k: int, row: int | None, state: State, what: str) -> None:
        use = self.meters.use(k, row, np.flatnonzero(state.kept).tolist(), state.bought)
        if use <= self.at_most[k]:
            raise Refuted(f"{what} use {shown(use)} of {self.meters.limits[k].title}, which is within {shown(self.at_most[k])}")

    def _open(self, h: int, state: State) -> int:
        ensemble = self.recount.ensemble
        if not 0 <= h < ensemble.n_nodes or not ensemble.is_split[h]:
            raise Refuted(f"node {h} is no split")
        if state.kept[h] or state.out[h]:
            raise Refuted(f"split {h} is decided twice")
        return h

    def _keep(self, state: State, splits: list[int]) -> State:
        """With some splits kept, and all above them."""
        kept, bought = state.kept.copy(), state.bought.copy()
        for h in splits:
            above = h
            while above >= 0 and not kept[above]:
                if state.out[above]:
                    raise Refuted(f"split {h} is kept below split {above}, which is pruned")
                kept[above] = True
                self.recount.buy(bought, above)
                above = self.recount.parent[above]
        return State(kept, state.out, bought)

    def _prune(self, state: State, splits: list[int]) -> State:
        """With some splits pruned, and all below them."""
        if not splits:
            return state
        out = state.out.copy()
        out[splits] = True
        for h in self.recount.splits:
            above = self.recount.parent[h]
            if above >= 0 and out[above]:
                out[h] = True
        if (out & state.kept).any():
            raise Refuted(f"split {int(np.argmax(out & state.kept))} is kept, but what is above it is pruned")
        return State(state.kept, out, state.bought)

    def _window(self, window: SearchWindow) -> State:
        """The state between the two prunings of a window, the slack of their proofs, and the box of multipliers."""
        for kept in (window.inner, window.outer):
            self.recount.objective(kept)  # that it is a pruning
        if (window.inner & ~window.outer).any():
            raise Refuted("the inner pruning of the window is not within the outer one")
        # the prunings, with what they buy
        start, splits = self.start(), self.recount.ensemble.is_split
        inner = self._keep(start, np.flatnonzero(window.inner).tolist())
        outer = self._keep(start, np.flatnonzero(window.outer).tolist())
        # at `high` no part of the inner pruning is worth more than all of it, up to the slack
        slack = Fraction(0)
        if window.high is not None:
            slack += self._best(window.high, State(start.kept, splits & ~window.inner, start.bought))
            worth = self._gain(window.inner)
            inside: list[int] = np.flatnonzero(window.inner).tolist()
            for k, row, mu in window.high.multipliers:
                worth -= mu * (self.meters.use(k, row, inside, inner.bought) - self.meters.meters[k].constant)
            slack -= worth
        elif window.inner.any():
            raise Refuted("nothing shows that the inner pruning of the window is optimal")
        # at `low` nothing outside the outer pruning is worth anything, up to the slack
        if window.low is not None:
            slack += self._best(window.low, outer)
        elif (splits & ~window.outer).any():
            raise Refuted("nothing shows that the outer pruning of the window is optimal")
        # the slack is >= 0: at payments up to the prices the inner pruning's splits are worth at least what it is worth itself
        self.slack = slack
        # multipliers of all steps must lie between the two
        high = None if window.high is None else {(k, row): mu for k, row, mu in window.high.multipliers}
        low = {} if window.low is None else {(k, row): mu for k, row, mu in window.low.multipliers}
        self.box = high, low
        return State(inner.kept, splits & ~window.outer, inner.bought)

    def _in_box(self, priced: Priced) -> None:
        """Refuse multipliers outside the window's."""
        if self.box is None:
            return
        high, low = self.box
        mine = {(k, row): mu for k, row, mu in priced.multipliers}
        if any(mine.get(key, Fraction(0)) < mu for key, mu in low.items()):
            raise Refuted("the multipliers are below those of the window")
        if high is not None and any(mu > high.get(key, Fraction(0)) for key, mu in mine.items()):
            raise Refuted("the multipliers are above those of the window")


def _ids(ids: Any) -> list[int]:
    if not isinstance(ids, np.ndarray) or ids.ndim != 1 or not np.issubdtype(ids.dtype, np.integer):
        raise Refuted("the splits are no array of whole numbers")
    found: list[int] = ids.tolist()
    if len(set(found)) < len(found):
        raise Refuted("a split stands there twice")
    return found
