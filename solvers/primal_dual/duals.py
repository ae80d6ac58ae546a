"""The dual values of the coupling rows, and the two passes over them in each iteration.

Each usage arc (u, j) has a row  y_u <= w_j  (the paper's w^t_{m,i} <= w_{m,i}, u = u_{t,m,i}) and a dual value >= 0, which the
paper calls beta_uj:

    L(beta) = error of the all-roots forest - sum over trees of (best closure, profits less charges) + sum_j min(0, mu_j)     (1)
    charge_u = sum over j of beta_uj,       mu_j = lam p_j - sum over u of beta_uj
    w_j = 0 if mu_j > 0,  1 if mu_j < 0;    if mu_j = 0, any number in [0, 1] is optimal: the mean of y_u over the users u    (2)
    subgradient of L at beta:  g_uj = y_u - w_j                                                                              (3)
    beta_uj <- [beta_uj + gamma d_uj]_+                                                                                      (4)

Ours: the direction is d_uj = ybar_u - wbar_j, where ybar and wbar are exponentially weighted means of y and w. So d is the same
mean of the subgradients (Camerini, Fratta and Maffioli 1975; Barahona and Anbil's volume algorithm, 2000), but takes one number
for each node and purchase instead of one for each arc. Without averaging d = g. Components that (4) would cut off, with beta_uj =
0 and d_uj < 0, do not count in |d|^2, because they would only shorten the step (Larsson, Patriksson and Strömberg 1996).

Arcs are sorted by purchase, so that one pass meets all users of a purchase together. Each thread adds charges in an array of its
own.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formulations.compiled import njit
from formulations.programs.linear_program import PurchaseColumns


@dataclass(frozen=True)
class PrimalDualParams:
    """What one may set beside the step; (5) to (7) are those of `solvers.primal_dual.algorithm`."""

    # polyak, constant, sqrt: theta of (7) and c of (5) and (6) where no size is given, chosen on the MiniBooNE instance. One
    # theta was good for all lambdas there; no c was.
    polyak: float = 0.6
    constant: float = 0.05
    sqrt: float = 1.0
    level_sets_every: int = 10  # iterations after which the level sets of the averaged iterates are valued again
    most_stalled: int = 20  # iterations without a better bound before theta is halved
    # theta never falls below this share of its first value, so that steps do not become too short to make progress
    least_size_share: float = 1 / 64
    parts: int = 4  # ranges of purchases, each for one thread. The number is fixed, so that sums do not depend on the machine.
    one_thread_arcs: int = 100_000  # usage arcs up to which one thread is faster than two
    price_tolerance: float = 1e-9  # mu_j counts as 0 if its absolute value is at most this share of the price


DEFAULTS = PrimalDualParams()
"""What is not set otherwise."""


StartRule = Literal["shares", "zeros"]


@dataclass
class PassSums:
    """The sums of one pass: sum_j min(0, mu_j), the price of all purchases that some tree needs, and |d|^2."""

    negative: float
    paid: float
    norm: float


class Duals:
    """The dual values (beta) of (1), the best ones so far, and the averages of w.

    `columns`: the purchases and their usage arcs. `price`: float64, shape (J,): lam p_j, in (OBJ). `n_nodes`: nodes of the
    forest. `start`: "zeros", as in the paper; or "shares", equal shares of each price, which are dual feasible and satisfy mu =
    0.
    """

    def __init__(
        self, columns: PurchaseColumns, price: NDArray[np.float64], n_nodes: int, start: StartRule, params: PrimalDualParams
    ) -> None:
        self._tolerance = params.price_tolerance
        self._order = np.argsort(columns.column, kind="stable")
        self.node = columns.node[self._order]
        users = np.bincount(columns.column, minlength=price.size)
        self.first = np.concatenate([[0], np.cumsum(users)]).astype(np.int64)
        self.price = price
        self.w_mean = np.zeros(price.size)
        shares = np.repeat(price / np.maximum(users, 1), users)
        self.dual = shares if start == "shares" else np.zeros(shares.size)
        self._best = self.dual
        self._other = np.empty_like(self.dual)
        self.total = price.copy() if start == "shares" else np.zeros(price.size)
        self.charge = np.bincount(self.node, weights=self.dual, minlength=n_nodes).astype(np.float64)
        parts = params.parts if self.node.size > params.one_thread_arcs else 1
        self._cuts = np.searchsorted(self.first, np.linspace(0, self.node.size, parts + 1)[1:-1]).tolist()
        self._cuts = [0, *self._cuts, price.size]
        self._charges = np.zeros((parts, n_nodes))
        self._pool = ThreadPoolExecutor(min(parts, os.cpu_count() or 1))

    def choose_purchases(self, keep: NDArray[np.bool_], y_mean: NDArray[np.float64], weight: float) -> PassSums:
        """Choose w by (2), add it to the average with the given weight, and compute the sums.

        `keep` is y, bool, shape (n,); `y_mean` is its average, which contains the new y already.
        """

        def part(k: int) -> tuple[float, float, float]:
            a, b = self._cuts[k : k + 2]
            found: tuple[float, float, float] = _choose_purchases(
                a, b, self.first, self.node, self.dual, self.price, self.total, keep, y_mean, self.w_mean, weight, self._tolerance
            )
            return found

        negative, paid, norm = (float(sum(x)) for x in zip(*self._pool.map(part, range(len(self._charges))), strict=True))
        return PassSums(negative, paid, norm)

    def remember(self) -> None:
        """Keep the present dual values as the best so far. Nothing is copied: the next step writes to another array."""
        self._best = self.dual

    def move(self, gamma: float, y_mean: NDArray[np.float64]) -> None:
        """Make the step (4), and compute the new charges."""
        target = self._other if self.dual is self._best else self.dual

        def part(k: int) -> None:
            a, b = self._cuts[k : k + 2]
            _move(a, b, self.first, self.node, self.dual, target, gamma, y_mean, self.w_mean, self.total, self._charges[k])

        list(self._pool.map(part, range(len(self._charges))))
        if target is not self.dual:
            self.dual, self._other = target, self.dual
        self._charges.sum(axis=0, out=self.charge)

    def best_within_prices(self) -> NDArray[np.float64]:
        """The best dual values, in the order of the columns' arcs, scaled down where their sum exceeds a purchase's price.

        This does not lower L: (1) deducts all of the excess, and the trees gain at most the excess when it is removed.
        """
        users = np.diff(self.first)
        total = np.bincount(np.repeat(np.arange(users.size), users), weights=self._best, minlength=users.size)
        factor = np.divide(self.price, total, out=np.ones(users.size), where=total > self.price)
        dual = np.empty_like(self._best)
        dual[self._order] = self._best * np.repeat(factor, users)
        return dual

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


@njit(cache=True, nogil=True)
def _choose_purchases(a, b, first, node, dual, price, total, keep, y_mean, w_mean, weight, tolerance):  # type: ignore[no-untyped-def]
    negative = 0.0
    paid = 0.0
    norm = 0.0
    for j in range(a, b):
        # mu_j, the users that are kept, and what (1) takes of them
        mu = price[j] - total[j]
        users = 0
        for k in range(first[j], first[j + 1]):
            users += keep[node[k]]
        if users:
            paid += price[j]
        if mu < 0.0:
            negative += mu
        # w_j by (2), and its average
        if mu > tolerance * price[j]:
            w = 0.0
        elif mu < -tolerance * price[j]:
            w = 1.0
        else:
            w = users / (first[j + 1] - first[j])
        w_mean[j] += weight * (w - w_mean[j])
        # |d|^2, without what (4) would cut off
        for k in range(first[j], first[j + 1]):
            d = y_mean[node[k]] - w_mean[j]
            if dual[k] > 0.0 or d > 0.0:
                norm += d * d
    return negative, paid, norm


@njit(cache=True, nogil=True)
def _move(a, b, first, node, dual, target, gamma, y_mean, w_mean, total, charge):  # type: ignore[no-untyped-def]
    charge[:] = 0.0
    for j in range(a, b):
        dual_sum = 0.0
        for k in range(first[j], first[j + 1]):
            x = dual[k] + gamma * (y_mean[node[k]] - w_mean[j])
            x = max(x, 0.0)
            target[k] = x
            dual_sum += x
            charge[node[k]] += x
        total[j] = dual_sum
