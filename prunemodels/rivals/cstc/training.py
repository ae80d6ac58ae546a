"""Minimise the global loss: first top to bottom, then node by node in cycles.

CSTC13 section 4.2. *Initialisation*: node k is fitted as if it were a leaf, without its descendants:

    minimise over beta, b:   sum_i p_i (y_i - f_i)^2 + (1/2) sum_t penalty_t beta_t^2                                       (T1)

alternates with the auxiliary variables of Lemma 1, in `penalty`; both steps have closed forms. *Cyclic optimisation*: the same
for the last classifiers, which have no descendants; for a node with descendants, L-BFGS lowers its majoriser (the paper:
conjugate gradients), in the variables L' (beta, b) with L L' the Cholesky factor of (T1)'s matrix, where its curvature is about
1. Ours: the first threshold of a node is the weighted median of its scores, moved between two of them; ASTC does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from prunemodels.rivals.cstc.classifier_tree import path_to
from prunemodels.rivals.cstc.global_loss import GlobalLoss, Majoriser
from prunemodels.rivals.cstc.soft_tree import Weights, reach, upper_chance

LEAF_ROUNDS = 200
"""Largest number of rounds of (T1) and auxiliary variables."""

NODE_STEPS = 20
"""Largest number of L-BFGS steps on one majoriser."""

RIDGE = 1e-9
"""Relative addition to the diagonal of (T1), so that constant and repeated columns are allowed."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights, and the loss (5) after the initialisation and after each cycle: it never rises."""

    weights: Weights
    losses: list[float]


def train(loss: GlobalLoss, depth: int, max_cycles: int, tol: float, tick: Callable[[float], object]) -> Trained:
    """Train the weights of a tree with `depth` levels.

    Parameters
    ----------
    max_cycles, tol
        largest number of cycles over the nodes; they end earlier when one lowers the loss by less than the fraction `tol`.
    tick
        called with the loss after the initialisation and each cycle.
    """
    weights = initial(loss, 2**depth - 1)
    losses = [loss.value(weights)]
    tick(losses[0])
    for _ in range(max_cycles if depth > 1 else 0):
        for k in range(len(weights.intercept)):
            weights = improved(loss, k, weights)
        losses.append(loss.value(weights))
        tick(losses[-1])
        if losses[-2] - losses[-1] <= tol * losses[-2]:
            break
    return Trained(weights, losses)


def initial(loss: GlobalLoss, n_nodes: int) -> Weights:
    """Fit each node as a leaf, top to bottom."""
    n, n_weak = loss.phi.shape
    weights = Weights(np.zeros((n_nodes, n_weak)), np.zeros(n_nodes), np.zeros(n_nodes))
    p = np.ones((n, n_nodes))
    for k in range(n_nodes):
        if k:
            parent = (k - 1) // 2
            up = upper_chance(_scores(loss, weights, parent), weights.threshold[parent], loss.sharpness)
            p[:, k] = p[:, parent] * (up if k % 2 else 1 - up)
        share = loss.share * p[:, k]
        normal = NormalEquations.of(loss, share)
        start = normal.solve(np.zeros(n_weak))
        beta, intercept = _fit_leaf(loss, normal, weights.beta[path_to(k)[:-1]], start[:-1])
        weights = weights.with_node(k, beta, intercept, 0.0)
        weights = weights.with_node(k, beta, intercept, halving_threshold(_scores(loss, weights, k), share))
    return weights


def improved(loss: GlobalLoss, k: int, weights: Weights) -> Weights:
    """Change node k so that the loss does not rise."""
    if 2 * k + 2 < len(weights.intercept):
        return _descend(loss.majoriser(k, weights), k, weights)
    scores = loss.scores(weights)
    share = loss.share * reach(upper_chance(scores, weights.threshold, loss.sharpness))[:, k]
    normal = NormalEquations.of(loss, share)
    beta, intercept = _fit_leaf(loss, normal, weights.beta[path_to(k)[:-1]], weights.beta[k])
    return weights.with_node(k, beta, intercept, weights.threshold[k])


def halving_threshold(scores: NDArray[np.float64], share: NDArray[np.float64]) -> float:
    """The cut between two scores that divides the weight most evenly; the score itself if there is only one."""
    order = np.argsort(scores, kind="stable")
    values = scores[order]
    # an exact least-squares fit leaves scores that differ only by rounding: these count as one
    ends = np.flatnonzero(np.diff(values) > 1e-9 * max(values[-1] - values[0], np.abs(values).max()))
    if not ends.size:
        return float(values[-1])
    below = np.cumsum(share[order])[ends]
    uneven = np.abs(below - share.sum() / 2)
    cut = ends[np.flatnonzero(uneven <= uneven.min() + 1e-9 * share.sum())[0]]  # of cuts equal up to rounding, the first
    return float((values[cut] + values[cut + 1]) / 2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(T1) without penalty: matrix, shape (T + 1, T + 1), and right side; the intercept is last and has no penalty."""

    matrix: NDArray[np.float64]
    right: NDArray[np.float64]

    @classmethod
    def of(cls, loss: GlobalLoss, share: NDArray[np.float64]) -> NormalEquations:
        """The equations for examples with these weights, both sides divided by 2."""
        T = loss.phi.shape[1]
        weighted = loss.phi * share[:, None]
        matrix = np.empty((T + 1, T + 1))
        matrix[:T, :T] = loss.phi.T @ weighted
        matrix[T, :T] = matrix[:T, T] = weighted.sum(axis=0)
        matrix[T, T] = share.sum()
        return cls(matrix, np.append(weighted.T @ loss.y, share @ loss.y))

    def penalised(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """The matrix of (T1) for a penalty, shape (T,)."""
        matrix = self.matrix.copy()
        matrix[np.diag_indices_from(matrix)] += RIDGE * (self.matrix.diagonal() + self.matrix[-1, -1] + RIDGE)
        matrix[np.diag_indices(len(penalty))] += penalty / 2
        return matrix

    def solve(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """(beta, b), shape (T + 1,)."""
        return np.asarray(cho_solve(cho_factor(self.penalised(penalty), lower=True, check_finite=False), self.right))


def _fit_leaf(
    loss: GlobalLoss, normal: NormalEquations, before: NDArray[np.float64], beta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Alternate (T1) and auxiliary variables; `before`: the weights of the nodes above, shape (nodes, T)."""
    reached = normal.matrix[-1, -1]
    for _ in range(LEAF_ROUNDS):
        z = loss.roots(beta[None])[0]
        penalty = loss.lam * reached * loss.bend(np.vstack([before, beta])) + loss.rho / z
        solution = normal.solve(penalty)
        moved, beta = np.abs(solution[:-1] - beta).max(initial=0.0), solution[:-1]
        size = max(1e-12, float(np.abs(beta).max(initial=0.0)))
        if moved <= 1e-5 * size:
            break
    return beta, float(solution[-1])


def _scores(loss: GlobalLoss, weights: Weights, k: int) -> NDArray[np.float64]:
    return np.asarray(loss.phi @ weights.beta[k] + weights.intercept[k])


def _descend(bound: Majoriser, k: int, weights: Weights) -> Weights:
    """Improve a node with descendants: L-BFGS on its majoriser, in preconditioned variables."""
    normal = NormalEquations.of(bound.loss, bound.p)
    T = len(bound.old)
    penalty = bound.curvature(weights.intercept[k], weights.threshold[k])
    factor = np.linalg.cholesky(2 * normal.penalised(penalty))

    def value(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        solution = solve_triangular(factor, point[:-1], trans="T", lower=True, check_finite=False)
        m, by_beta, by_intercept, by_threshold = bound(solution[:T], solution[T], point[-1])
        by_point = solve_triangular(factor, np.append(by_beta, by_intercept), lower=True, check_finite=False)
        return m, np.append(by_point, by_threshold)

    start = np.append(factor.T @ np.append(bound.old, weights.intercept[k]), weights.threshold[k])
    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": NODE_STEPS})
    if not found.fun < value(start)[0]:
        return weights
    solution = solve_triangular(factor, found.x[:-1], trans="T", lower=True)
    return weights.with_node(k, solution[:T], float(solution[T]), float(found.x[-1]))
