"""Branch and bound on a core: best bound first.

Every node computes a hull edge, fixes splits and fills a pruning greedily.

The split to branch on is chosen by an estimate of how much each branch lowers the bound; no cuts are needed. The splits between
the edge's two ends have the gain G and the cost C > r, where r is the room, and lambda = G / C. For a split h among them,

    kept:    h and its ancestors cost c and gain g. The edge then starts at (c, g), lower than the old one by  lambda c - g,  so
             the bound at r falls by about  (lambda c - g) (C - r) / (C - c)                                              (1)
    pruned:  h and the splits below it gain g', and c' is the cost that they alone pay. The edge then ends at (C - c', G - g'),
             and the bound falls by about  (g' - lambda c') r / (C - c')                                                  (2)

If one of them exceeds the gap, that branch probably holds no better pruning, and one or two cuts may prove it. This is a probe.

Where a core has several limits, a node looks for a better surrogate row, too (`solvers.within.relaxation`), and a pruning is
filled from each closure met that keeps to all limits. A `Log` says which multipliers decided what: `solvers.within.proof` makes a
proof of it afterwards.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.instance.reduction import mark_above
from solvers.closures.tree_pass import chain_sums, mark_below, subtree_sums
from solvers.within.core import Effort, KnapsackCore, Rates
from solvers.within.edge import BudgetEdge, edge_of, filled, fixed
from solvers.within.relaxation import ClosureColumn, best_direction, columns_of, halved, still_columns
from solvers.within.windows import BestPruning, Window

Decisions = list[NDArray[np.int32]]


@dataclass(eq=False)
class Log:
    """One node: the multipliers of its best bound, and what came next, if anything did.

    Splits are those of the reduced forest.
    """

    at: Rates | None = None  # the multipliers, at first those of the node above
    gain: int | None = None  # no pruning here gains more, in the integers of the core
    # what was fixed on the way to this node, and at which multipliers
    fixed_at: Rates | None = None
    fixed_in: Decisions = field(default_factory=list)
    fixed_out: Decisions = field(default_factory=list)
    after: Log | None = None  # the node after splits were fixed
    split: int = -1  # the split that it branches on
    if_pruned: Log | None = None
    if_kept: Log | None = None

    def proven(self, core: KnapsackCore, edge: BudgetEdge) -> None:
        """Take note of a bound."""
        if edge.proven_at is not None:
            self.at, self.gain = core.surrogate.multipliers(edge.proven_at), edge.bound

    def decided(self, fixed_in: NDArray[np.int32], fixed_out: NDArray[np.int32]) -> None:
        """Take note of splits that were fixed."""
        self.fixed_in.append(fixed_in)
        self.fixed_out.append(fixed_out)

    def fix(self, core: KnapsackCore, lam: Fraction, after: Log) -> None:
        """Go on after splits were fixed at lambda."""
        after.fixed_at, self.after = core.surrogate.multipliers(lam), after

    def branch(self, split: int, pruned: Log, kept: Log) -> None:
        """Go on with the two branches of a split."""
        self.split, self.if_pruned, self.if_kept = split, pruned, kept


@dataclass(frozen=True, eq=False)
class Estimates:
    """By how much each branch of each split lowers the bound; float64, shape (k,) each.

    `kept` is (1), `lam` is the edge's slope in that branch, `pruned` is (2).
    """

    kept: NDArray[np.float64]
    lam: NDArray[np.float64]
    pruned: NDArray[np.float64]

    def order(self, larger_weight: float) -> NDArray[np.int64]:
        """The splits, most promising first: by the smaller of both estimates, plus so many times the larger."""
        score = np.minimum(self.kept, self.pruned) + larger_weight * np.maximum(self.kept, self.pruned)
        return np.argsort(-score, kind="stable")


def estimates(part: KnapsackCore) -> Estimates:
    """(1) and (2)."""
    total_cost, total_gain, room = float(part.total_cost), float(part.total_gain), float(part.room)
    lam = total_gain / total_cost
    cost = chain_sums(part.parent, part.own_cost()).astype(float)
    gain = chain_sums(part.parent, part.gain).astype(float)
    cost_left = np.maximum(total_cost - cost, 1e-9)
    kept = np.where(cost <= room, (lam * cost - gain) * (total_cost - room) / cost_left, total_gain * room / total_cost)
    below = subtree_sums(part.parent, part.gain).astype(float)
    alone = subtree_sums(part.parent, _alone(part)).astype(float)
    cost_without = np.maximum(total_cost - alone, 1e-9)
    pruned = np.where(cost_without > room, (below - lam * alone) * room / cost_without, total_gain * room / total_cost)
    return Estimates(kept, np.where(cost <= room, (total_gain - gain) / cost_left, lam), pruned)


def _alone(part: KnapsackCore) -> NDArray[np.int64]:
    """The price of evaluation plus the purchases that no other split needs."""
    own = part.evaluation.copy()
    single = np.bincount(part.head, minlength=part.price.size)[part.head] == 1
    np.add.at(own, part.tail[single], part.price[part.head[single]])
    return own


@dataclass(order=True, frozen=True)
class OpenNode:
    """A node of the search: a core with its edge. The heap returns the smallest `minus_bound` first, among equals the oldest."""

    minus_bound: int
    number: int
    core: KnapsackCore = field(compare=False)
    edge: BudgetEdge = field(compare=False)
    log: Log = field(compare=False)
    columns: tuple[ClosureColumn, ...] = field(compare=False, default=())  # closures of the core, where it has several limits


class Search:
    """The state of one branch and bound.

    `window`: the splits to decide. `best`: the best pruning so far, which the search improves. `effort`: what may be spent.
    `first_lam`: the first lambda to try, gain per cost in integers.
    """

    def __init__(self, window: Window, best: BestPruning, effort: Effort, first_lam: Fraction) -> None:
        core = window.core
        self.window, self.best = window, best
        self.goal = window.goal(best.gain)  # what a pruning has to gain in the core to be better
        self.params = effort.params
        self.log = Log()
        self.effort = effort
        self.nodes = 0
        self.cuts = 0
        self.left_splits = core.nodes.size
        self.open: list[OpenNode] = []
        self._root: KnapsackCore | None = core
        self._first_lam = first_lam
        self._current: OpenNode | None = None
        self._missed = self.goal
        self._number = 0

    @property
    def bound(self) -> int | None:
        """No pruning of the core gains more; None before the first node was solved."""
        if self._root is not None:
            return None
        branched = [] if self._current is None else [-self._current.minus_bound]
        return max(self.goal, self._missed, *branched, *(-n.minus_bound for n in self.open[:1]))

    @property
    def is_open(self) -> bool:
        """Whether branching can still lower the bound."""
        return bool(self.open) and -self.open[0].minus_bound > max(self.goal, self._missed)

    def run(self) -> Iterator[None]:
        """Branch until no node is open or the effort is spent; yields after every node."""
        if self._root is not None:
            root = self._solved(self._root, self._first_lam, self.log)
            self._root = None
            self.left_splits = 0 if root is None else root.core.nodes.size
            if root is not None:
                heapq.heappush(self.open, root)
            yield
        while self.is_open and not self.effort.is_over:
            # the best node; if too many are open, the last one of the heap, which is mostly the newest
            self._current = heapq.heappop(self.open) if len(self.open) <= self.params.most_open else self.open.pop()
            # until it is branched it counts in the bound, for Ctrl-C
            if -self._current.minus_bound > self.goal:
                for child in self._branches(self._current):
                    heapq.heappush(self.open, child)
                self.nodes += 1
            self._current = None
            yield

    def show(self, bar: tqdm[NoReturn], relaxed: int) -> None:
        """Show nodes, open nodes and the gap as a share of the gain; `relaxed` is the largest gain that the relaxation allows."""
        bound = relaxed if self.bound is None else min(relaxed, self.bound)
        gap = (bound - self.goal) / max(1, bound)
        bar.set_description_str(f"gap {100 * gap:.4f} % of the gain, {len(self.open):,} open", refresh=False)
        bar.update(1)

    def _branches(self, node: OpenNode) -> list[OpenNode]:
        """The two children of the node for the best of some promising splits, or what probing leaves of the node."""
        between = node.edge.between
        if between.nodes.size:
            estimate = estimates(between)
            smaller, log = self._probed(node, estimate)
            if smaller is None:
                return []
            if smaller.nodes.size < node.core.nodes.size:
                child = self._solved(smaller, node.edge.lam, log, -node.minus_bound, node.columns)
                return [] if child is None else [child]
            trials = self.params.most_trials if between.tail.size <= self.params.one_trial_arcs else 1
            promising = between.nodes[estimate.order(self.params.larger_weight)[:trials]]
            places = np.searchsorted(node.core.nodes, promising).tolist()
        else:  # the surrogate row has no edge: limits without a multiplier are broken
            places = [halved(node.core, node.columns)]
        # of some promising splits the one whose worse child has the lowest bound
        chosen: list[OpenNode] = []
        least = None
        for place in places:
            # its two branches, as far as they may hold something better
            children, logs = [], (Log(node.log.at), Log(node.log.at))
            for keep, mine in enumerate(logs):
                core = branch(node.core, place, keep=bool(keep))
                child = None if core is None else self._solved(core, node.edge.lam, mine, -node.minus_bound, node.columns)
                if child is not None:
                    children.append(child)
            worst = (max((-c.minus_bound for c in children), default=0), sum(-c.minus_bound for c in children))
            if len(children) < 2 or least is None or worst < least:
                chosen, least = children, worst
                node.log.branch(int(node.core.nodes[place]), pruned=logs[0], kept=logs[1])
            if len(children) < 2 or self.effort.is_over:
                break
        return chosen

    def _probed(self, node: OpenNode, estimate: Estimates) -> tuple[KnapsackCore | None, Log]:
        """The node's core without branches that probes prove to hold nothing better, None if no branch is left; and its log."""
        core, gap, log = node.core, -node.minus_bound - self.goal, node.log
        likely = np.maximum(estimate.kept, estimate.pruned)
        failures = 0
        for h in np.argsort(-likely, kind="stable"):
            if likely[h] < gap or failures == self.params.most_failed_probes or self.effort.is_over:
                break
            place = int(np.searchsorted(core.nodes, node.edge.between.nodes[h]))
            if place == core.nodes.size or core.nodes[place] != node.edge.between.nodes[h]:
                continue  # an earlier probe has decided it
            # probe the branch that is estimated to lower the bound more
            keeping = bool(estimate.kept[h] >= estimate.pruned[h])
            probed, left = Log(log.at), Log(log.at)
            empty = self._is_empty(branch(core, place, keep=keeping), estimate.lam[h] if keeping else None, node.edge.lam, probed)
            if not empty:
                failures += 1
                continue
            # it holds nothing better: go on with the other branch
            pruned, kept = (left, probed) if keeping else (probed, left)
            log.branch(int(core.nodes[place]), pruned, kept)
            log, other = left, branch(core, place, keep=not keeping)
            if other is None or not other.nodes.size:
                return other, log
            core = other
        return core, log

    def _is_empty(self, core: KnapsackCore | None, estimated_lam: float | None, lam: Fraction, log: Log) -> bool:
        """Whether a probe proves that a branch holds nothing better."""
        if core is None:
            return True
        if estimated_lam is not None:
            lam = Fraction(estimated_lam).limit_denominator(max(1, int(lam.denominator)))
        edge = edge_of(core.trimmed(), first_lam=lam, goal=self.goal, most_cuts=self.params.probe_cuts, effort=self.effort)
        self.cuts += edge.cuts
        log.proven(core, edge)
        return edge.bound <= self.goal

    def _solved(
        self,
        core: KnapsackCore,
        first_lam: Fraction,
        log: Log,
        inherited: int | None = None,
        columns: tuple[ClosureColumn, ...] = (),
    ) -> OpenNode | None:
        """A node with the core's edge, after fixing; None if the core holds nothing better than the goal."""
        for fixing in (True, True, False):
            # the edge, at the best surrogate row found, and a bound
            core = core.trimmed()
            core, edge, columns = self._edge(core, first_lam, log, columns)
            bound = edge.bound if inherited is None else min(inherited, edge.bound)
            if bound <= self.goal:
                return None
            # prunings that the edge suggests
            between = edge.between
            self._fill(core, edge)
            if not (between.nodes.size or (core.uses is not None and core.nodes.size)):
                self._missed = max(self._missed, bound)  # nothing is left to branch on, and the bound is not reached
                return None
            if bound <= self.goal:
                return None
            # splits that reduced costs decide; where there are some, the edge of what is left
            if fixing and edge.lam > 0:
                after = Log(log.at)
                smaller = fixed(core, edge.lam, self.goal, self.effort, after.decided)
                self.cuts += 1
                log.fix(core, edge.lam, after)
                log = after
                if smaller is None:
                    return None
                if smaller.nodes.size < core.nodes.size:
                    core, first_lam = smaller, edge.lam
                    continue
            break
        self._number += 1
        return OpenNode(-bound, self._number, core, edge, log, columns)

    def _edge(
        self, core: KnapsackCore, first_lam: Fraction, log: Log, columns: tuple[ClosureColumn, ...]
    ) -> tuple[KnapsackCore, BudgetEdge, tuple[ClosureColumn, ...]]:
        """The edge of a core, at the best surrogate row that a few steps find; the core at that row, and the closures met."""
        edge = edge_of(core, first_lam=first_lam, goal=self.goal, effort=self.effort)
        self.cuts += edge.cuts
        log.proven(core, edge)
        if core.uses is None:
            return core, edge, ()
        columns = (*still_columns(core, columns), *columns_of(core, edge))
        # other multipliers, as long as they bring a better bound or new closures
        for _ in range(self.params.most_turns if self.nodes else self.params.first_turns):
            if edge.bound <= self.goal or self.effort.is_over:
                break
            direction = best_direction(core, columns, self.window.gain_unit)
            if direction is None:
                break
            turned = core.at_direction(direction, self.window.gain_unit)
            if turned is None:
                break
            found = edge_of(turned, first_lam=1 / turned.surrogate.unit, goal=self.goal, effort=self.effort)
            self.cuts += found.cuts
            more = columns_of(turned, found)
            new = [column for column in more if all(column != known for known in columns)]
            columns = (*columns, *new)
            if found.bound < edge.bound:
                core, edge = turned, found
                log.proven(core, edge)
            elif not new:
                break
        return core, edge, columns[-self.params.most_columns :]

    def _fill(self, core: KnapsackCore, edge: BudgetEdge) -> None:
        """Offer prunings: the edge's cheaper end filled; of several limits the closures met that keep to them, filled."""
        ends = [edge.between]
        if core.uses is not None:
            tried = [np.zeros(core.nodes.size, dtype=bool), *(np.isin(core.nodes, met) for met in edge.met[-2:])]
            ends = [core.take(keep) for keep in tried if core.fits(keep)]
        for end in ends:
            found = end.take(filled(end, self.params.filling_rounds))
            if found.gained > self.goal and not found.is_exceeded:
                self.best.offer_pruning(self.best.pruning_of(found))
                self.goal = max(self.goal, self.window.goal(self.best.gain))


def branch(core: KnapsackCore, place: int, *, keep: bool) -> KnapsackCore | None:
    """The core with a split kept or pruned; None if the split does not fit the room of a whole core."""
    mark = np.zeros(core.nodes.size, dtype=np.bool_)
    mark[place] = True
    if not keep:
        mark_below(core.parent, mark)
        return core.within(~mark)
    mark_above(core.parent, mark)
    return core.take(mark) if not core.is_whole or core.fits(mark) else None
