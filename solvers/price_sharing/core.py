"""The core, the splits that fixing leaves undecided: one minimum cut solves it exactly, and its flow gives the duals.

The lists of `solvers.price_sharing.merged_usage` have every class with all of its users, so they are the usage arcs of a closure
problem, however many arcs were merged. The flow on each class is then divided among the purchases of the class: user by user,
each purchase taking what it can, up to its price. All users of a class need all of its purchases, so that succeeds. Which
purchases these are is found again, item by item, so that nothing is kept for each purchase.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.instance.routing import Reached
from formulations.instance.usage_arcs import starts_by_tail
from solvers.closures.cut import Closure, ClosureProblem, Ties, merged_cut, subproblem
from solvers.closures.preflow import preflow_closure, shared_flow
from solvers.price_sharing.merged_usage import (
    BlockClasses,
    MergedUsage,
    each_row_by_itself,
    find_classes,
    keys_of,
    number_classes,
)
from solvers.price_sharing.remaining import Remaining, first_arcs, price_for_row
from solvers.price_sharing.shares import group_weights


@dataclass(frozen=True, eq=False)
class SolvedCore:
    """A best closure of the open splits."""

    keep: NDArray[np.bool_]  # bool, shape (k,)
    value: int  # its integer value, without `Remaining.base`
    duals: Callable[[], NDArray[np.int64]]  # call it for the flow on every usage arc of the open splits, int64, canonical order
    n_arcs: int  # arcs of the network that was cut


def solve_core(
    remaining: Remaining, merged: tuple[MergedUsage, ...] | None, score: NDArray[np.float32], ties: Ties
) -> SolvedCore:
    """Cut the network of the open splits and the purchases that are not paid, made from the merged lists if there are any.

    `score`: float32, shape (k,): the shares that they make are the flow to start from.
    """
    cut = partial(cut_from_shares, score)
    if merged is None:
        return _from_arcs(remaining, cut, ties)
    problem = merged_problem(remaining, merged)
    tail, head = problem.tail, problem.head
    if remaining.objective.usage.row_blocks.n_blocks > 1:  # classes of different blocks have the same users now and then
        closure, flow = merged_cut(problem, ties, cut)
    else:
        closure = cut(problem, ties=ties)
        flow = closure.duals()
    return SolvedCore(closure.keep, closure.value, partial(flow_on_arcs, remaining, merged, tail, head, flow), closure.n_arcs)


def cut_from_shares(score: NDArray[np.float32], problem: ClosureProblem, *, ties: Ties) -> Closure:
    """A best closure by push-relabel from the shares (1) of `shares`; its duals of a purchase are at most the price."""
    start = shared_flow(problem, group_weights(score, score.max(initial=0.0)))
    closure, flow = preflow_closure(problem, ties=ties, start=start)
    _give_back(problem.head, problem.price, flow.usage_flow)
    return closure


@njit(cache=True, nogil=True)
def _give_back(head, price, flow):  # type: ignore[no-untyped-def]
    """Flow beyond a price returns to the splits that it came from, those in the closure, where it is left over as well."""
    over = -price
    for a in range(head.shape[0]):
        over[head[a]] += flow[a]
    for a in range(head.shape[0]):
        back = min(max(over[head[a]], 0), flow[a])
        flow[a] -= back
        over[head[a]] -= back


def _from_arcs(remaining: Remaining, cut: Callable[..., Closure], ties: Ties) -> SolvedCore:
    """The same from a list of all usage arcs."""
    usage = remaining.objective.usage
    arcs = usage.arcs(remaining.nodes)
    tail, head = arcs.tail, arcs.head
    del arcs  # its arrays go when others take their places: they would add a tenth to the peak
    unpaid = None if remaining.paid is None else ~remaining.paid[head]
    if unpaid is not None:
        tail, head = tail[unpaid], head[unpaid]
    # if there are few arcs, a table of all purchases would take too much memory
    n_purchases = usage.n_purchases if 2 * head.size >= usage.n_purchases else None
    part = subproblem(usage.ensemble.parent, remaining.nodes, tail, head, n_purchases)
    del tail, head
    closure, flow = merged_cut(part.closure_problem(remaining.profit, remaining.objective.prices(part.purchases)), ties, cut)
    dual = flow
    if unpaid is not None:
        dual = np.zeros(unpaid.size, dtype=np.int64)
        dual[unpaid] = flow
    return SolvedCore(closure.keep, closure.value, lambda: dual, closure.n_arcs)


def merged_problem(remaining: Remaining, parts: tuple[MergedUsage, ...]) -> ClosureProblem:
    """The open splits with a purchase for each class, numbered through all parts; usage arcs sorted by tail, then by head."""
    tails, heads, n_classes = [], [], 0
    for part in parts:
        arcs = np.diff(part.stop)
        first_class = np.repeat(part.classes[:-1] + n_classes, np.diff(part.entries)).astype(np.int32)
        tails.append(np.repeat(part.split, arcs))
        heads.append(np.repeat(first_class, arcs) + part.place)
        n_classes += part.price.size
    tail, head = np.concatenate(tails), np.concatenate(heads)
    del tails, heads
    order = np.argsort(tail, kind="stable")
    price = np.concatenate([part.price for part in parts])
    return ClosureProblem(remaining.profit, remaining.parent, tail[order], head[order], price)


class ClassFlow(NamedTuple):
    """The flow on the arcs of `merged_problem`: `flow` leads to the classes `head`; those of split u are read up to `stop[u]`.

    `unread[u]` is the next one.
    """

    head: NDArray[np.int32]
    flow: NDArray[np.int64]
    unread: NDArray[np.int64]
    stop: NDArray[np.int64]


class UsageRows(NamedTuple):
    """Which rows need an item, and the first usage arc of each slice."""

    reached: Reached
    first: NDArray[np.int64]


def flow_on_arcs(
    remaining: Remaining,
    parts: tuple[MergedUsage, ...],
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    flow: NDArray[np.int64],
) -> NDArray[np.int64]:
    """The flow on every usage arc of the open splits in canonical order, from that on the arcs of `merged_problem`."""
    usage, prices, everything = remaining.blocked_usage, remaining.prices, remaining.objective.usage
    keys, found = keys_of(usage.item.size), BlockClasses.of(usage)
    rows = UsageRows(everything.reached, first_arcs(everything, remaining.nodes))
    ends = starts_by_tail(tail, remaining.nodes.size)
    of_classes = ClassFlow(head, flow, ends[:-1].copy(), ends[1:])
    class_of, unpaid = np.empty(everything.n_rows, dtype=np.int64), np.empty(everything.n_rows, dtype=np.int64)
    divided, n_classes = np.zeros(remaining.slices.n_arcs, dtype=np.int64), 0
    for part in parts:
        left = np.zeros(np.diff(part.classes[:: len(usage.start)]).max(initial=0), dtype=np.int64)
        _divide(usage, prices, keys, found, part, n_classes, of_classes, rows, left, class_of, unpaid, divided)
        n_classes += part.price.size
    return divided


@njit(cache=True, nogil=True)
def _divide(usage, prices, keys, found, lists, n_before, flow, rows, left, class_of, unpaid, divided):  # type: ignore[no-untyped-def]
    """Divide the flow on the classes of some items, which are numbered from `n_before` on.

    Of the flow of one split, `left` is not divided yet, for each class of an item; `unpaid` is what is not paid yet of each row's
    price, and `class_of` its class.
    """
    tree_of, order, start, stop = rows.reached
    n_blocks = usage.start.shape[0]
    for g in range(lists.begins.shape[0] - 1):
        begin, end = lists.begins[g], lists.begins[g + 1]
        # the item, and its classes, numbered through all blocks
        m, first_class, last_class = usage.item[begin], lists.classes[g * n_blocks], lists.classes[(g + 1) * n_blocks]
        if first_class == last_class:
            continue
        # find the class of each row and its price again, block by block
        if not usage.once[m]:
            for b in range(n_blocks):
                s = g * n_blocks + b
                find_classes(usage, b, begin, end, keys, found)
                if lists.by_row[s]:
                    each_row_by_itself(found)
                number_classes(usage, prices, b, begin, found)
                block_rows = usage.rows[b * usage.size : (b + 1) * usage.size]
                for i in range(block_rows.shape[0]):
                    if found.code[i] > 0:
                        place = found.place[found.first_row[i]]
                        class_of[block_rows[i]] = lists.classes[s] - first_class + place if place >= 0 else -1
                        unpaid[block_rows[i]] = price_for_row(prices, m, block_rows[i])
        # user by user: read its flow to each class, and let each purchase take what it can, up to its price
        for k in range(begin, end):
            u, q = usage.split[k], rows.first[k]
            while flow.unread[u] < flow.stop[u] and flow.head[flow.unread[u]] < n_before + last_class:
                left[flow.head[flow.unread[u]] - n_before - first_class] = flow.flow[flow.unread[u]]
                flow.unread[u] += 1
            if usage.once[m]:
                divided[q] = left[0]
                continue
            h = usage.node[u]
            for i in order[tree_of[h], start[h] : stop[h]]:
                if class_of[i] >= 0:
                    divided[q] = min(left[class_of[i]], unpaid[i])
                    left[class_of[i]] -= divided[q]
                    unpaid[i] -= divided[q]
                q += 1
