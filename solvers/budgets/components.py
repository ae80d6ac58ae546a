"""The components between two neighbouring prunings of the path: splits that are tied to each other at lambda*.

At lambda* all splits between the two, with the purchases that the cheaper one has not paid, are together worth 0, and no closure
of them is worth more. So a maximum flow fills every arc at the source and at the sink, and a closure is worth 0 exactly if no arc
of the residual network leaves it:

    h -> parent of h,       and parent of h -> h where the flow on it is positive                                          (1)
    u -> j for every usage arc (u, j),       and j -> u where the flow on it is positive                                     (2)

The flow on h -> parent of h is the sum, over h and all splits below it, of the profits less what they ship to purchases. The
components are the strongly connected components of (1) and (2). Each purchase has a price, hence receives flow, and is in the
component of one of its users. A component is worth 0 at lambda*, given those that it needs, so its gain tells its cost:

    cost of a component  =  gain of its splits / lambda*                                                                     (3)
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from formulations.errors import SolverFailedError
from solvers.closures.cut import best_closure
from solvers.closures.subproblem import ParametricSubproblem
from solvers.closures.tree_pass import subtree_sums


@dataclass(frozen=True, eq=False)
class Components:
    """The components of a part.

    Parameters
    ----------
    of_split
        int64, shape (k,): the component of each split of the part.
    cost
        integer cost (3) of each component.
    users
        for each component those that need it directly.
    n_needs
        for each component how many others it needs directly.
    """

    of_split: NDArray[np.int64]
    cost: tuple[int, ...]
    users: tuple[tuple[int, ...], ...]
    n_needs: tuple[int, ...]


def components_of(part: ParametricSubproblem) -> Components:
    """The components of the splits between two prunings that are both optimal at lambda* = gain / cost > 0.

    Raises
    ------
    CapacityOverflowError
        if the products of gains and prices do not fit 62 bits.
    SolverFailedError
        if some closure is worth more than 0 at lambda*: the two prunings are not both optimal there.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.
    """
    lam = Fraction(part.total_gain, part.total_cost)
    part, _, _ = part.merged()
    network = part.at(lam)
    closure = best_closure(network)
    if closure.value:
        raise SolverFailedError("a closure between two neighbours of the path gains at their breakpoint: they are not optimal")
    flow = closure.duals()
    shipped = np.zeros(part.nodes.size, dtype=np.int64)
    np.add.at(shipped, part.tail, flow)
    to_parent = subtree_sums(part.parent, network.profit - shipped)
    tail, head = _residual_arcs(part, to_parent, flow)
    size = part.nodes.size + part.price.size
    graph = sparse.csr_array((np.ones(tail.size, dtype=np.int8), (tail, head)), shape=(size, size))
    count, label = csgraph.connected_components(graph, directed=True, connection="strong")
    of_split = label[: part.nodes.size].astype(np.int64)
    gain = np.zeros(count, dtype=np.int64)
    np.add.at(gain, of_split, part.gain)
    cost = tuple(int(g) * lam.denominator // lam.numerator for g in gain)
    pairs = np.unique(np.stack([label[tail], label[head]])[:, label[tail] != label[head]], axis=1)
    users: list[list[int]] = [[] for _ in range(count)]
    for needs, needed in pairs.T.tolist():
        users[needed].append(needs)
    n_needs = np.bincount(pairs[0], minlength=count)
    return Components(of_split, cost, tuple(map(tuple, users)), tuple(n_needs.tolist()))


def _residual_arcs(
    part: ParametricSubproblem, to_parent: NDArray[np.int64], flow: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(1) and (2); purchase j is vertex k + j."""
    below = np.flatnonzero(part.parent >= 0)
    above = part.parent[below].astype(np.int64)
    back = to_parent[below] > 0
    split, purchase = part.tail.astype(np.int64), part.head.astype(np.int64) + part.nodes.size
    paid = flow > 0
    tail = np.concatenate([below, above[back], split, purchase[paid]])
    return tail, np.concatenate([above, below[back], purchase, split[paid]])
