"""A proof of what a search found: its log is walked again, and every step gets payments by a cut of its own.

The search works on trimmed, merged and scaled cores. A stranger needs none of that: at the multipliers that the log tells, the
payments of `solvers.within.prover` prove the bound (6) of `formulations.answers.search_proof`, or decide splits. So the bound
that is stated is the least of those that were proven here. A node that the multipliers of a step above close already, now that
the best pruning is known, is not walked.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.search_proof import Branch, Closed, Exceeded, Fixed, Priced, SearchProof, SearchWindow, Step
from solvers.within.by_path import raised
from solvers.within.core import Rates, rates_of
from solvers.within.prover import Cut, Decided, LagrangianOracle, Prover, limit_and_row, proof_multipliers
from solvers.within.search import Log
from solvers.within.windows import Between


@dataclass(eq=False)
class Found:
    """What is known so far: the bound by the search, and the logs that prove it."""

    bound: Fraction  # of the error
    first: Rates  # multipliers of the relaxation's bound
    log: Log | None = None
    between: Between | None = None  # the window of the log; None: the whole instance
    gain_of: Callable[[int], Fraction] = Fraction  # what the log's integer gains stand for
    counts: dict[str, float] = field(default_factory=lambda: {"nodes": 0.0, "cuts": 0.0})

    def proof(self, oracle: LagrangianOracle, deadline: float) -> tuple[SearchProof | None, Fraction | None]:
        """What proves the bound, and what it proves; None where it is too large."""
        rows = oracle.rows
        try:
            if self.log is None and oracle.shares_prices:
                priced = oracle.solve(np.array([float(x) for x in self.first]))
                assert priced.certificate is not None
                multipliers = proof_multipliers(rows, rates_of(priced.mu))
                closed = Closed(Priced(multipliers, priced.certificate, priced.kept))
                return SearchProof((closed,)), raised(rows.problem, Fraction(priced.bound))
            prover = Prover(rows, oracle, self.bound, deadline)
            window, decided, box = None, prover.start(), None
            if (b := self.between) is not None:
                window = search_window(prover, b.inner, b.outer, b.high, b.low)
                decided, box = replace(decided, kept=b.inner, out=~b.outer), (b.high, b.low or ())
            walk, params = _Walk(prover, self.gain_of, box), oracle.params
            walk.stack.append((self.log or Log(), self.first, decided))
            while walk.stack:
                too_large = walk.leaves > params.proof_leaves or walk.n_bytes > params.proof_bytes
                if too_large or time.perf_counter() > deadline:
                    raise TooLargeProof
                walk.visit(*walk.stack.pop())
            steps = tuple(walk.steps)
        except (TooLargeProof, KeyboardInterrupt):
            return None, None
        return SearchProof(steps, window), prover.least


class TooLargeProof(Exception):  # noqa: N818 (not an error: the proof is left out)
    """The proof takes more leaves, bytes or seconds than there are."""


class _Walk:
    """A walk along a log: the steps so far, and a stack of nodes that are still to be visited, the next one last.

    A node is one of the log, or None where the log tells nothing, with the multipliers of the step above and what is decided.
    `gain_of`: what an integer gain in the log stands for. `box`: the largest multipliers of the window, None: any, and the least;
    None: there is no window.
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
