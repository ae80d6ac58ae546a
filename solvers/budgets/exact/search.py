"""Branch and bound on a core: best bound first. Every node computes a hull edge, fixes splits and fills a pruning greedily."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from solvers.budgets.effort import Effort
from solvers.budgets.exact.branching import Estimates, estimates, with_ancestors, without_below
from solvers.budgets.exact.core import KnapsackCore
from solvers.budgets.exact.edge import Edge, edge_of
from solvers.budgets.exact.filling import filled
from solvers.budgets.exact.fixing import fixed

MOST_OPEN = 3000
"""With more open nodes the search goes depth first, so that memory stays bounded."""

ONE_TRIAL_ARCS = 20_000
"""With more usage arcs only one split is tried, because cuts are then expensive."""

PROBE_CUTS = 2
"""Most cuts of a probe."""

MOST_FAILED_PROBES = 2
"""A node is branched on after this many probes without success."""

MOST_TRIALS = 4
"""Most splits whose two branches are solved before one of the splits is chosen."""


@dataclass(order=True, frozen=True)
class OpenNode:
    """A node of the search: a core with its edge. The heap returns the smallest `minus_bound` first, among equals the oldest."""

    minus_bound: int
    number: int
    core: KnapsackCore = field(compare=False)
    edge: Edge = field(compare=False)


Offer = Callable[[KnapsackCore], int]
"""Called with a core: takes note of its taken splits as a pruning, and returns the gain to beat."""


class Search:
    """The state of one branch and bound.

    Parameters
    ----------
    core
        the splits to decide.
    goal
        gain of the incumbent.
    offer
        called with every pruning found.
    effort
        what may be spent.
    first_lam
        the first lambda to try, gain per cost in integers.
    """

    def __init__(self, core: KnapsackCore, goal: int, offer: Offer, effort: Effort, first_lam: Fraction) -> None:
        self.goal = goal
        self.offer = offer
        self.effort = effort
        self.nodes = 0
        self.cuts = 0
        self.left_splits = core.nodes.size
        self.open: list[OpenNode] = []
        self._root: KnapsackCore | None = core
        self._first_lam = first_lam
        self._current: OpenNode | None = None
        self._missed = goal
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
            root = self._solved(self._root, self._first_lam)
            self._root = None
            self.left_splits = 0 if root is None else root.core.nodes.size
            if root is not None:
                heapq.heappush(self.open, root)
            yield
        while self.is_open and not self.effort.is_over:
            # a node that Ctrl-C leaves half branched still counts in the bound
            self._current = self._next()
            if -self._current.minus_bound > self.goal:
                for child in self._branches(self._current):
                    heapq.heappush(self.open, child)
                self.nodes += 1
            self._current = None
            yield

    def _next(self) -> OpenNode:
        """The node with the best bound; if too many are open, the last one of the heap, which is mostly the newest."""
        return heapq.heappop(self.open) if len(self.open) <= MOST_OPEN else self.open.pop()

    def _branches(self, node: OpenNode) -> list[OpenNode]:
        """The two children of the node for the best of some promising splits, or what probing leaves of the node."""
        between = node.edge.between
        estimate = estimates(between)
        smaller = self._probed(node, estimate)
        if smaller is None:
            return []
        if smaller.nodes.size < node.core.nodes.size:
            child = self._solved(smaller, node.edge.lam, -node.minus_bound)
            return [] if child is None else [child]
        chosen: list[OpenNode] = []
        least = None
        for h in estimate.order()[: MOST_TRIALS if between.tail.size <= ONE_TRIAL_ARCS else 1]:
            children = self._children(node, int(np.searchsorted(node.core.nodes, between.nodes[h])))
            if len(children) < 2:
                return children
            worst = (max(-c.minus_bound for c in children), sum(-c.minus_bound for c in children))
            if least is None or worst < least:
                chosen, least = children, worst
            if self.effort.is_over:
                break
        return chosen

    def _probed(self, node: OpenNode, estimate: Estimates) -> KnapsackCore | None:
        """The node's core without branches that probes prove to hold nothing better; None if no branch is left."""
        core, gap = node.core, -node.minus_bound - self.goal
        likely = np.maximum(estimate.kept, estimate.pruned)
        failures = 0
        for h in np.argsort(-likely, kind="stable"):
            if likely[h] < gap or failures == MOST_FAILED_PROBES or self.effort.is_over:
                break
            place = int(np.searchsorted(core.nodes, node.edge.between.nodes[h]))
            if place == core.nodes.size or core.nodes[place] != node.edge.between.nodes[h]:
                continue
            keeping = bool(estimate.kept[h] >= estimate.pruned[h])
            if self._is_empty(branch(core, place, keep=keeping), estimate.lam[h] if keeping else None, node.edge.lam):
                other = branch(core, place, keep=not keeping)
                if other is None or not other.nodes.size:
                    return other
                core = other
            else:
                failures += 1
        return core

    def _is_empty(self, core: KnapsackCore | None, estimated_lam: float | None, lam: Fraction) -> bool:
        """Whether a probe proves that a branch holds nothing better."""
        if core is None:
            return True
        if estimated_lam is not None:
            lam = Fraction(estimated_lam).limit_denominator(max(1, int(lam.denominator)))
        edge = edge_of(core.trimmed(), first_lam=lam, goal=self.goal, most_cuts=PROBE_CUTS, effort=self.effort)
        self.cuts += edge.cuts
        return edge.bound <= self.goal

    def _children(self, node: OpenNode, place: int) -> list[OpenNode]:
        """The branches of one split that may hold something better."""
        cores = [branch(node.core, place, keep=keep) for keep in (False, True)]
        children = [self._solved(c, node.edge.lam, -node.minus_bound) for c in cores if c is not None]
        return [c for c in children if c is not None]

    def _solved(self, core: KnapsackCore, first_lam: Fraction, inherited: int | None = None) -> OpenNode | None:
        """A node with the core's edge, after fixing; None if the core holds nothing better than the goal."""
        for fixing in (True, True, False):
            core = core.trimmed()
            edge = edge_of(core, first_lam=first_lam, goal=self.goal, effort=self.effort)
            self.cuts += edge.cuts
            bound = edge.bound if inherited is None else min(inherited, edge.bound)
            if bound <= self.goal:
                return None
            between = edge.between
            self.goal = max(self.goal, self.offer(between.take(filled(between))))
            if not between.nodes.size:
                self._missed = max(self._missed, bound)
                return None
            if bound <= self.goal:
                return None
            if fixing:
                smaller = fixed(core, edge.lam, self.goal, self.effort)
                self.cuts += 1
                if smaller is None:
                    return None
                if smaller.nodes.size < core.nodes.size:
                    core, first_lam = smaller, edge.lam
                    continue
            break
        self._number += 1
        return OpenNode(-bound, self._number, core, edge)


def branch(core: KnapsackCore, place: int, *, keep: bool) -> KnapsackCore | None:
    """The core with a split kept or pruned; None if the split does not fit the room of a whole core."""
    if not keep:
        return core.within(without_below(core.parent, place))
    chain = with_ancestors(core.parent, place)
    return core.take(chain) if not core.is_whole or core.cost_of(chain) <= core.room else None
