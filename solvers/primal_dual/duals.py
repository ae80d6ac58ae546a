"""The dual values of the coupling rows, and the two passes over them that an iteration takes.

One dual value beta_uj >= 0 for each usage arc (u, j), the row  y_u <= w_j  (the paper's w^t_{m,i} <= w_{m,i}, u = u_{t,m,i}):

    L(beta) = error of the all-roots forest - sum over trees of (best closure, profits less charges) + sum_j min(0, mu_j)     (1)
    charge_u = sum over j of beta_uj,       mu_j = lam p_j - sum over u of beta_uj
    w_j = 0 if mu_j > 0,  1 if mu_j < 0;    where mu_j = 0 any number in [0, 1] will do: the mean of y_u over the users u     (2)
    subgradient of L at beta:  g_uj = y_u - w_j                                                                              (3)
    beta_uj <- [beta_uj + gamma d_uj]_+                                                                                      (4)

Ours: the direction d_uj = ybar_u - wbar_j belongs to averages of y and w that forget, so it is the same average of the
subgradients (Camerini, Fratta and Maffioli 1975; Barahona and Anbil's volume algorithm, 2000) and takes one number a node
and purchase instead of one an arc; without averaging d = g. Components that (4) would cut off, beta_uj = 0 and d_uj < 0, do not
count in |d|^2: the step would only get shorter by them (Larsson, Patriksson and Strömberg 1996).

Arcs are sorted by purchase, so one pass sees all users of a purchase together; charges are sums over threads' own arrays.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numba import njit
from numpy.typing import NDArray

from formulations.programs.columns import PurchaseColumns

Start = Literal["shares", "zeros"]

PARTS = 4
"""Ranges of purchases that threads may take; fixed, so that sums do not depend on the machine."""

ONE_THREAD_ARCS = 100_000
"""Usage arcs below which one thread is faster than two."""

PRICE_TOLERANCE = 1e-9
"""mu_j counts as 0 up to this part of the price."""


@dataclass
class Look:
    """What one pass sees: sum_j min(0, mu_j), the price of what the trees' union buys, and |d|^2."""

    negative: float
    paid: float
    norm: float


class Duals:
    """beta of (1), the best one so far, and the averages of w.

    Parameters
    ----------
    columns
        the purchases and their usage arcs.
    price
        float64, shape (J,): lam p_j, in (OBJ).
    n_nodes
        nodes of the forest.
    start
        zeros, as in the paper; or each purchase's price in equal shares, which is dual feasible and satisfies mu = 0.
    """

    def __init__(self, columns: PurchaseColumns, price: NDArray[np.float64], n_nodes: int, start: Start) -> None:
        self._order = np.argsort(columns.column, kind="stable")
        self.node = columns.node[self._order]
        users = np.bincount(columns.column, minlength=price.size)
        self.first = np.concatenate([[0], np.cumsum(users)]).astype(np.int64)
        self.price = price
        self.w_mean = np.zeros(price.size)
        shares = np.repeat(price / np.maximum(users, 1), users)
        self.beta = shares if start == "shares" else np.zeros(shares.size)
        self._best = self.beta
        self._other = np.empty_like(self.beta)
        self.total = price.copy() if start == "shares" else np.zeros(price.size)
        self.charge = np.bincount(self.node, weights=self.beta, minlength=n_nodes).astype(np.float64)
        parts = PARTS if self.node.size > ONE_THREAD_ARCS else 1
        self._cuts = np.searchsorted(self.first, np.linspace(0, self.node.size, parts + 1)[1:-1]).tolist()
        self._cuts = [0, *self._cuts, price.size]
        self._charges = np.zeros((parts, n_nodes))
        self._pool = ThreadPoolExecutor(min(parts, os.cpu_count() or 1))

    def look(self, keep: NDArray[np.bool_], y_mean: NDArray[np.float64], weight: float) -> Look:
        """Choose w by (2), average it with the given weight of the new one, and sum up.

        `keep` is y, bool, shape (n,); `y_mean` its average with the new one already in it.
        """

        def part(k: int) -> tuple[float, float, float]:
            a, b = self._cuts[k : k + 2]
            found: tuple[float, float, float] = _look(
                a, b, self.first, self.node, self.beta, self.price, self.total, keep, y_mean, self.w_mean, weight
            )
            return found

        negative, paid, norm = (float(sum(x)) for x in zip(*self._pool.map(part, range(len(self._charges))), strict=True))
        return Look(negative, paid, norm)

    def remember(self) -> None:
        """The present beta is the best so far. Nothing is copied: the next step is written elsewhere."""
        self._best = self.beta

    def move(self, gamma: float, y_mean: NDArray[np.float64]) -> None:
        """(4), and the charges that follow."""
        target = self._other if self.beta is self._best else self.beta

        def part(k: int) -> None:
            a, b = self._cuts[k : k + 2]
            _move(a, b, self.first, self.node, self.beta, target, gamma, y_mean, self.w_mean, self.total, self._charges[k])

        list(self._pool.map(part, range(len(self._charges))))
        if target is not self.beta:
            self.beta, self._other = target, self.beta
        self._charges.sum(axis=0, out=self.charge)

    def best_within_prices(self) -> NDArray[np.float64]:
        """The best beta, scaled down where a purchase bears more than its price, in the order of the columns' arcs.

        L is no smaller there: a purchase's surplus is deducted in (1) in full, and the trees win back at most that by its loss.
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
def _look(a, b, first, node, beta, price, total, keep, y_mean, w_mean, weight):  # type: ignore[no-untyped-def]
    negative = 0.0
    paid = 0.0
    norm = 0.0
    for j in range(a, b):
        mu = price[j] - total[j]
        users = 0
        for k in range(first[j], first[j + 1]):
            users += keep[node[k]]
        if users:
            paid += price[j]
        if mu < 0.0:
            negative += mu
        if mu > PRICE_TOLERANCE * price[j]:
            w = 0.0
        elif mu < -PRICE_TOLERANCE * price[j]:
            w = 1.0
        else:
            w = users / (first[j + 1] - first[j])
        w_mean[j] += weight * (w - w_mean[j])
        for k in range(first[j], first[j + 1]):
            d = y_mean[node[k]] - w_mean[j]
            if beta[k] > 0.0 or d > 0.0:
                norm += d * d
    return negative, paid, norm


@njit(cache=True, nogil=True)
def _move(a, b, first, node, beta, target, gamma, y_mean, w_mean, total, charge):  # type: ignore[no-untyped-def]
    charge[:] = 0.0
    for j in range(a, b):
        borne = 0.0
        for k in range(first[j], first[j + 1]):
            x = beta[k] + gamma * (y_mean[node[k]] - w_mean[j])
            x = max(x, 0.0)
            target[k] = x
            borne += x
            charge[node[k]] += x
        total[j] = borne
