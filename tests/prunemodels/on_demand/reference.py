"""A slow walk, one row at a time in plain Python, that says what each row should be asked for, pay and be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations import CostItems, Ensemble

Bundle = tuple[tuple[int, ...], tuple[int, ...]]


@dataclass
class Row:
    """What one row went through."""

    orders: list[Bundle] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    fell_back: bool = False

    def cost(self, costs: CostItems, evaluation: list[Fraction]) -> Fraction:
        """What the row pays by itself."""
        items = sum((costs.prices[m] for m in self.paid if not costs.paid_once[m]), Fraction(0))
        return items + sum((evaluation[f] for f in self.steps), Fraction(0))


def walk_row(trees: Ensemble, costs: CostItems, x: NDArray[np.float32], had: NDArray[np.bool_], known: set[int]) -> Row:
    """Rounds of a single row without early stopping; `had` says which features can be had."""
    tested = {int(f) for f in trees.feature if f >= 0}
    row, lost, known = Row(), set[int](), known & tested
    row.nodes = [int(r) for r in trees.roots]
    while True:
        for t in range(trees.n_trees):
            h = row.nodes[t]
            while trees.left[h] >= 0 and int(trees.feature[h]) in known:
                f = int(trees.feature[h])
                left = trees.missing_left[h] if np.isnan(x[f]) else float(x[f]) <= trees.threshold[h]
                h = int(trees.left[h] if left else trees.right[h])
                row.steps.append(f)
            row.nodes[t] = h
        waiting = {int(trees.feature[h]) for h in row.nodes if trees.left[h] >= 0} - lost
        row.fell_back = any(trees.left[h] >= 0 and int(trees.feature[h]) in lost for h in row.nodes)
        if not waiting:
            return row
        orders, taken = [], set[int]()
        for f in sorted(waiting):
            buys = set(costs.needs[f]) - set(row.paid)
            if buys & taken:
                continue
            taken |= buys
            brings = {f}
            for g in tested - known - lost:
                if set(costs.needs[g]) & buys and set(costs.needs[g]) <= set(row.paid) | buys:
                    brings.add(g)
            orders.append((tuple(sorted(buys)), tuple(sorted(brings))))
        for buys, brings in orders:
            row.orders.append((buys, brings))
            delivered = [g for g in brings if had[g]]
            row.paid += [m for m in buys if any(m in costs.needs[g] for g in delivered)]
            known |= set(delivered)
            lost |= set(brings) - set(delivered)


def mean_of(trees: Ensemble, nodes: list[int]) -> NDArray[np.float64]:
    """The mean of the nodes' values, added up in the order of the trees."""
    total = np.zeros(trees.value.shape[1])
    for h in nodes:
        total += trees.value[h]
    mean: NDArray[np.float64] = total / trees.n_trees
    return mean


def possible_nodes(trees: Ensemble, h: int, x: NDArray[np.float32], known: set[int], lost: set[int]) -> list[int]:
    """Nodes where a walk from h can still end, given what is known, whatever else comes or fails to come."""
    if trees.left[h] < 0:
        return [h]
    f = int(trees.feature[h])
    if f in lost:
        return [h]
    if f in known:
        left = trees.missing_left[h] if np.isnan(x[f]) else float(x[f]) <= trees.threshold[h]
        return possible_nodes(trees, int(trees.left[h] if left else trees.right[h]), x, known, lost)
    both = [possible_nodes(trees, int(c), x, known, lost) for c in (trees.left[h], trees.right[h])]
    return [h, *both[0], *both[1]]


class Spy:
    """An `acquire` that serves from a table, and remembers what it was asked for.

    Cells where `had` is false are UNAVAILABLE; the k-th call raises if k is in `fails`.
    """

    def __init__(self, X: NDArray[Any], had: NDArray[np.bool_] | None = None, fails: frozenset[int] = frozenset()) -> None:
        self.X, self.fails = np.asarray(X), fails
        self.had = np.ones(self.X.shape, dtype=bool) if had is None else had
        self.requests: list[Any] = []
        self.calls = 0

    def __call__(self, request: Any) -> Any:
        """Serve from the table."""
        self.calls += 1
        if self.calls - 1 in self.fails:
            raise ConnectionError("the line is dead")
        self.requests.append(request)
        where = np.ix_(request.positions, request.columns)
        return np.ma.array(self.X[where], mask=~self.had[where])

    def asked(self) -> list[tuple[int, int]]:
        """Pairs of row and feature, as they were asked for."""
        return [(int(i), int(f)) for r in self.requests for i in r.positions for f in r.columns]

    def paid(self) -> list[tuple[int, str]]:
        """Pairs of row and item, as they were named in requests."""
        return [(int(i), m) for r in self.requests for i in r.positions for m in r.items]
