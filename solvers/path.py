"""All optimal prunings by divide and conquer over lambda.

Between two nested optima (an inner one, of a larger lambda, and an outer one) lies a part D of splits, with total
gain G and total price P of what the inner one has not paid yet, evaluation included. Try

    lambda* = G / P                                                                                        (1)

where all of D is worth as much as nothing. If the best closure of D at lambda* is worth nothing either, then lambda*
is a breakpoint, and all of D goes there; else the closure cuts D in two, inner and outer part, which share no arc.
Started from the optimum at lambda = 0 and the best closure that is free of charge, G and P are positive for
"smallest" ties, P for "largest", whatever the signs of single gains.

Gallo, Grigoriadis and Tarjan (1989) for nested parametric cuts; Eisner and Severance (1976) for (1).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.errors import CapacityOverflowError, InterruptedSolveError
from formulations.merging import merge_purchases, split_loads, starts_by_tail
from formulations.problem import PruningProblem
from formulations.pruning_path import NEVER, PathCertificate, PruningPath
from solvers.closure_cut import ClosureProblem, Ties, best_closure
from solvers.numbering import compact, local_forest
from solvers.progress import Progress
from solvers.tree_closure import free_of_charge, without_prices


@dataclass(frozen=True, eq=False)
class Part:
    """Splits whose level is still open, with their usage arcs to purchases that the inner optimum has not paid."""

    nodes: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]


class _Decomposition:
    """The state of one divide and conquer: the breakpoints found so far."""

    def __init__(self, problem: PruningProblem, ties: Ties, certificate: bool, merge: bool) -> None:
        self.problem = problem
        self.ties: Ties = ties
        self.merge = merge
        self.price = problem.purchase_price()
        self.found: list[tuple[Fraction, NDArray[np.int32]]] = []
        self.loads: list[tuple[Part, NDArray[np.int64]]] | None = [] if certificate else None
        self.merged_into = np.arange(problem.n_purchases, dtype=np.int32) if certificate else None
        self.cuts = 0
        self.arcs_cut = 0
        self._place = np.full(problem.ensemble.n_nodes, -1, dtype=np.int32)
        self._scratch = np.empty(problem.n_purchases, dtype=np.int32)

    def first_part(self, outer: NDArray[np.bool_], inner: NDArray[np.bool_]) -> Part:
        """Everything between the two extreme optima; the inner one is free of charge, so it has paid nothing."""
        nodes = np.flatnonzero(outer & ~inner).astype(np.int32)
        arcs = self.problem.usage_arcs(nodes)
        priced = self.price[arcs.head] > 0
        if priced.all():
            return Part(nodes, arcs.tail, arcs.head)
        return Part(nodes, arcs.tail[priced], arcs.head[priced])

    def split(self, part: Part) -> list[Part]:
        """Decide a part's breakpoint, or cut it in two."""
        part, purchases, head = self._merge(part)
        instance, ratio = self._instance(part, purchases, head)
        closure = best_closure(instance, ties=self.ties)
        self.cuts += 1
        self.arcs_cut += closure.n_arcs
        if closure.value > 0:
            return self._halves(part, closure.keep, closure.keep[instance.tail])
        self.found.append((ratio, part.nodes))
        if self.loads is not None:
            self.loads.append((part, closure.loads()))
        return []

    def _merge(self, part: Part) -> tuple[Part, NDArray[np.int32], NDArray[np.int32]]:
        """The part after merging purchases; its purchases, and the arcs' heads as places among them."""
        purchases, head = compact(part.head, self._scratch)
        if not self.merge:
            return part, purchases, head
        merged = merge_purchases(part.tail, head, self.price[purchases])
        if merged.arc.size == part.tail.size:
            return part, purchases, head
        self.price[purchases] = merged.price
        if self.merged_into is not None:
            self.merged_into[purchases] = purchases[merged.representative]
        stays = Part(part.nodes, part.tail[merged.arc], part.head[merged.arc])
        return stays, *compact(stays.head, self._scratch)

    def _instance(self, part: Part, purchases: NDArray[np.int32], head: NDArray[np.int32]) -> tuple[ClosureProblem, Fraction]:
        """The part at lambda* (1), in integers: gains times the denominator, prices times the numerator."""
        parent, tail = local_forest(self.problem.ensemble.parent, part.nodes, part.tail, self._place)
        ints = self.problem.integers
        price, evaluation, gain = self.price[purchases], ints.evaluation[part.nodes], ints.gain[part.nodes]
        ratio = Fraction(int(gain.sum()), int(price.sum()) + int(evaluation.sum()))
        _check_products(gain, price, evaluation, ratio)
        profit = gain * ratio.denominator - evaluation * ratio.numerator
        return ClosureProblem(profit, parent, tail, head, price * ratio.numerator), ratio

    def _halves(self, part: Part, keep: NDArray[np.bool_], kept: NDArray[np.bool_]) -> list[Part]:
        """The inner part, and the outer one without the purchases that the inner one pays."""
        self._scratch[part.head] = 0
        self._scratch[part.head[kept]] = 1
        left = self._scratch[part.head] == 0
        return [Part(part.nodes[mine], part.tail[arcs], part.head[arcs]) for mine, arcs in ((keep, kept), (~keep, left))]

    def certificate(self, ratios: list[Fraction]) -> PathCertificate | None:
        """The flows of the breakpoints' cuts, one after the other, shared out among merged purchases."""
        if self.loads is None or self.merged_into is None:
            return None
        representative = self.merged_into
        while (representative[representative] != representative).any():
            representative = representative[representative]
        tail, head, flow = (
            np.concatenate([np.zeros(0, dtype=np.int32), *arrays])
            for arrays in (
                [p.tail for p, _ in self.loads],
                [p.head for p, _ in self.loads],
                [f for _, f in self.loads],
            )
        )
        order = np.argsort(tail, kind="stable")
        start = starts_by_tail(tail, self.problem.ensemble.n_nodes)
        arcs = self.problem.usage_arcs()
        load = np.zeros(arcs.tail.size, dtype=np.int64)
        room = self._room(representative)
        split_loads(arcs.tail, load, representative, start, head[order], flow[order].astype(np.int64), room, arcs.head)
        return PathCertificate(load, tuple(r.denominator for r in ratios))

    def _room(self, representative: NDArray[np.int32]) -> NDArray[np.int64]:
        """What each purchase can bear: its own price at the breakpoint where it is first paid."""
        room = self.problem.purchase_price()
        numerator = np.zeros(self.problem.ensemble.n_nodes, dtype=np.int64)
        for ratio, nodes in self.found:
            numerator[nodes] = ratio.numerator
        at = np.zeros(room.size, dtype=np.int64)
        for part, _ in self.loads or []:
            at[part.head] = numerator[part.tail]
        return room * at[representative]


def pruning_path(
    problem: PruningProblem,
    *,
    ties: Ties = "smallest",
    certificate: bool = True,
    merge: bool = True,
    progress: bool = False,
) -> PruningPath:
    """Every optimal pruning for every lambda >= 0, exactly.

    Parameters
    ----------
    ties
        which optimum to hold where there are several: the smallest (fewest splits) or the largest.
    certificate
        keep a dual state that proves all of it: 8 bytes a usage arc, and about a tenth of the time.
    merge
        merge purchases that the same splits need, see `formulations.merging`; False for comparison only.
    progress
        show a progress bar on stderr.

    Returns
    -------
    PruningPath
        exact for the integer instance ``problem.integers``; where ``problem.integers.exact`` is False its rounding bounds say how
        far the real instance can differ.

    Raises
    ------
    InterruptedSolveError
        on Ctrl-C; nothing was changed.
    CapacityOverflowError
        if products of gains and prices do not fit 62 bits.
    """
    start = time.perf_counter()
    work = _Decomposition(problem, ties, certificate, merge)
    outer, inner = without_prices(problem, ties), free_of_charge(problem, ties)
    todo = [work.first_part(outer, inner)]
    try:
        with Progress("path", todo[0].nodes.size, shown=progress) as bar:
            while todo:
                part = todo.pop()
                if part.nodes.size:
                    halves = work.split(part)
                    todo += halves
                    if not halves:
                        bar.advance(part.nodes.size)
    except InterruptedSolveError:
        raise
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError("interrupted while computing the path; nothing was changed") from stop
    return _assemble(work, outer, inner, time.perf_counter() - start)


def _assemble(work: _Decomposition, outer: NDArray[np.bool_], inner: NDArray[np.bool_], seconds: float) -> PruningPath:
    """Breakpoints in ascending order, and each split's index among them."""
    unit = work.problem.integers.lam_unit
    ratios = sorted({Fraction(0), *(r for r, _ in work.found)})
    index = {r: k for k, r in enumerate(ratios)}
    level = np.full(work.problem.ensemble.n_nodes, 0 if work.ties == "smallest" else NEVER, dtype=np.int32)
    for ratio, nodes in work.found:
        level[nodes] = index[ratio]
    level[inner] = len(ratios)
    stats = {"seconds": seconds, "cuts": float(work.cuts), "arcs_cut": float(work.arcs_cut)}
    return PruningPath(work.problem, level, tuple(r * unit for r in ratios), work.ties, work.certificate(ratios), stats)


def _check_products(gain: NDArray[np.int64], price: NDArray[np.int64], evaluation: NDArray[np.int64], ratio: Fraction) -> None:
    """Refuse before int64 products wrap."""
    largest = max(
        float(np.abs(gain).sum()) * ratio.denominator,
        (float(price.sum()) + float(evaluation.sum())) * ratio.numerator,
    )
    if largest >= 2.0**62:
        raise CapacityOverflowError(
            f"gains and prices multiply to {largest:.3g}, 62 bits hold {2.0**62:.3g}; use prices with fewer digits"
        )
