"""BP16's Algorithm 1 as its authors ran it (pruneDW.cpp of their program), to see how far from the optimum its prunings are.

    beta <- 0;  for k = 1 ... 50:
        y <- best closure of every single tree at the charges of beta;  w_j = 1 where mu_j < 0                               (1)
        keep y if its value is the least so far                                                                             (2)
        beta <- [beta + gamma d]_+,  d = y - w,  gamma = (1 + m) / (k + m) (least value - L(beta)) / |d|^2,  m = 500         (3)

There is one beta for each usage arc, and the answer is the best y: no averaging, no level sets. The package's own
`solvers.primal_dual` starts from shares of the prices, averages directions and values level sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from formulations.compiled import njit
from formulations.programs.linear_program import usage_columns
from solvers.closures.tree_pass import best_tree_closures

ITERATIONS, BASE = 50, 500  # pruneDW.cpp; args.h (-b)


@dataclass(frozen=True, eq=False)
class BestPrimal:
    """The best pruning of a run, its value at lambda, and the best bound."""

    kept: NDArray[np.bool_]
    value: float
    bound: float


def algorithm1(problem: pm.PruningProblem, lam: float, *, iterations: int = ITERATIONS) -> BestPrimal:
    """(1) to (3) at one lambda, error per unit of cost."""
    ensemble, columns = problem.ensemble, usage_columns(problem)
    order = np.argsort(columns.column, kind="stable")
    first = np.searchsorted(columns.column[order], np.arange(columns.n_columns + 1))
    node, price, beta = columns.node[order], lam * columns.price, np.zeros(len(order))
    roots, charge = pm.Pruning.all_roots(problem).error, np.zeros(ensemble.n_nodes)
    best, w = BestPrimal(np.zeros(ensemble.n_nodes, dtype=np.bool_), math.inf, -math.inf), np.zeros(price.size, dtype=np.bool_)
    for k in range(1, iterations + 1):
        kept, gained = best_tree_closures(ensemble.parent, problem.gain - charge, ensemble.is_split)
        negative, paid, norm = _choose(first, node, beta, price, kept, w)
        bound, value = roots - gained + negative, roots - float(problem.gain[kept].sum()) + paid
        least = value < best.value
        best = BestPrimal(kept.copy() if least else best.kept, min(value, best.value), max(bound, best.bound))
        if norm == 0.0 or best.value - bound <= 1e-12 * roots:
            break
        _step(first, node, beta, kept, w, (1 + BASE) / (k + BASE) * (best.value - bound) / norm, charge)
    return best


@njit(cache=True)
def _choose(first, node, beta, price, kept, w):  # type: ignore[no-untyped-def]
    """Set w by (1); returns the sum of negative mu, the price of what y buys, and |d|^2."""
    negative, paid, norm = 0.0, 0.0, 0.0
    for j in range(price.size):
        mu, users = price[j], 0
        for k in range(first[j], first[j + 1]):
            mu -= beta[k]
            users += kept[node[k]]
        w[j] = mu < 0.0
        if w[j]:
            negative += mu
        if users:
            paid += price[j]
        norm += first[j + 1] - first[j] - users if w[j] else users
    return negative, paid, norm


@njit(cache=True)
def _step(first, node, beta, kept, w, gamma, charge):  # type: ignore[no-untyped-def]
    """(3), and the charges of the nodes."""
    charge[:] = 0.0
    for j in range(w.size):
        for k in range(first[j], first[j + 1]):
            beta[k] = max(beta[k] + gamma * (np.float64(kept[node[k]]) - np.float64(w[j])), 0.0)
            charge[node[k]] += beta[k]
