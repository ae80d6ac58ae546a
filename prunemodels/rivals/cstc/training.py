"""Minimise the global loss: first top to bottom, then node by node in cycles, at rising sharpness, from several starts.

CSTC13 section 4.2. *Initialisation*: node k is fitted as if it were a leaf, without its descendants:

    minimise over beta, b:   sum_i p_i |y_i - f_i|^2 + (1/2) sum_t penalty_t |beta_t|^2                                     (T1)

alternates with the auxiliary variables of Lemma 1, in `penalty`; both steps have closed forms. *Cyclic optimisation*: the same
for the last classifiers, which have no descendants; for a node with descendants, L-BFGS lowers its majoriser (the paper:
conjugate gradients), in the variables L' (beta, b) with L L' the Cholesky factor of (T1)'s matrix, where its curvature is about
1.

Ours: a node branches along the first principal direction of its outputs, unchanged from then on. Its first threshold divides the
weight of its examples, between two of them: by halves, as in ASTC, or by parts that are drawn from `PARTS`. Cycles are made at
each sharpness s of a rising schedule, each from the weights that the one before ended at: soft paths let examples change sides,
sharp ones are those that predictions take. There are several starts; the paper says that its result depends on the start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from prunemodels.rivals.cstc.global_loss import GlobalLoss, Majoriser, Weights, path_to, reach, upper_chance
from prunemodels.rivals.cstc.params import PARAMS

PARTS = (0.2, 0.8)
"""Least and largest part of a node's weight below its first threshold, where it is drawn."""


def train(
    loss: GlobalLoss, schedule: Sequence[float], parts: NDArray[np.float64], max_cycles: int, tol: float
) -> tuple[Weights, list[float]]:
    """The weights of a tree from one start, and the loss (5) at the last sharpness before and after each cycle: it never rises.

    Parameters
    ----------
    schedule
        the sharpness of each stage; that of `loss` does not matter.
    parts
        the part of each node's weight below its first threshold, shape (V,).
    max_cycles, tol
        largest number of cycles over the nodes in a stage; it ends earlier when one lowers the loss by less than the fraction
        `tol`.
    """
    weights, losses = initial(replace(loss, sharpness=schedule[0]), parts), list[float]()
    for sharpness in schedule:
        stage = replace(loss, sharpness=sharpness)
        losses = [stage.value(weights)]
        for _ in range(max_cycles if len(parts) > 1 else 0):
            for k in range(len(parts)):
                weights = improved(stage, k, weights)
            losses.append(stage.value(weights))
            if losses[-2] - losses[-1] <= tol * losses[-2]:
                break
    return weights, losses


def starting_parts(n_nodes: int, n_starts: int, n_halves: int, rng: np.random.RandomState) -> NDArray[np.float64]:
    """The parts of `train` for each start, shape (starts, V): halves in the first `n_halves`, then random ones."""
    parts = np.asarray(rng.uniform(*PARTS, size=(n_starts, n_nodes)))
    parts[:n_halves] = 0.5
    return parts


def initial(loss: GlobalLoss, parts: NDArray[np.float64]) -> Weights:
    """Fit each node as a leaf, top to bottom."""
    (n, n_weak), n_nodes = loss.phi.shape, len(parts)
    weights = Weights.zero(n_nodes, n_weak, loss.y.shape[1])
    p = np.ones((n, n_nodes))
    for k in range(n_nodes):
        if k:
            parent = (k - 1) // 2
            branching = (loss.phi @ weights.beta[parent] + weights.intercept[parent]) @ weights.direction[parent]
            up = upper_chance(branching, weights.threshold[parent], loss.sharpness)
            p[:, k] = p[:, parent] * (up if k % 2 else 1 - up)
        share = loss.share * p[:, k]
        normal = NormalEquations.of(loss, share)
        start = normal.solve(np.zeros(n_weak))
        beta, intercept = _fit_leaf(loss, normal, weights.beta[path_to(k)[:-1]], start[:-1])
        scores = loss.phi @ beta + intercept
        direction = principal_direction(scores, share)
        weights = weights.with_node(k, beta, intercept, dividing_threshold(scores @ direction, share, parts[k]), direction)
    return weights


def improved(loss: GlobalLoss, k: int, weights: Weights) -> Weights:
    """Change node k so that the loss does not rise."""
    if 2 * k + 2 < len(weights.intercept):
        return _descend(loss.majoriser(k, weights), k, weights)
    share = loss.share * reach(loss.chances_up(loss.scores(weights), weights))[:, k]
    normal = NormalEquations.of(loss, share)
    beta, intercept = _fit_leaf(loss, normal, weights.beta[path_to(k)[:-1]], weights.beta[k])
    return weights.with_node(k, beta, intercept, weights.threshold[k])


def principal_direction(scores: NDArray[np.float64], share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The unit vector a, shape (K,), along which the scores, shape (N, K), vary most; its largest component is positive.

    It is (1,) for one output, and the first unit vector where nothing varies.
    """
    first: NDArray[np.float64] = np.eye(1, scores.shape[1])[0]
    if scores.shape[1] == 1 or not share.sum() > 0:
        return first
    centred = scores - share @ scores / share.sum()
    variances, vectors = np.linalg.eigh(centred.T @ (share[:, None] * centred))
    if not variances[-1] > 0:
        return first
    direction: NDArray[np.float64] = vectors[:, -1]
    # of components equal up to rounding, the first
    largest = int(np.flatnonzero(np.abs(direction) >= (1 - 1e-9) * np.abs(direction).max())[0])
    return np.asarray(direction * np.sign(direction[largest]))


def dividing_threshold(scores: NDArray[np.float64], share: NDArray[np.float64], part: float = 0.5) -> float:
    """The cut between two scores that has most nearly this part of the weight below; the score itself if there is only one."""
    order = np.argsort(scores, kind="stable")
    values = scores[order]
    # an exact least-squares fit leaves scores that differ only by rounding: these count as one
    ends = np.flatnonzero(np.diff(values) > 1e-9 * max(values[-1] - values[0], np.abs(values).max()))
    if not ends.size:
        return float(values[-1])
    below = np.cumsum(share[order])[ends]
    uneven = np.abs(below - part * share.sum())
    cut = ends[np.flatnonzero(uneven <= uneven.min() + 1e-9 * share.sum())[0]]  # of cuts equal up to rounding, the first
    return float((values[cut] + values[cut + 1]) / 2)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """(T1) without penalty: matrix, shape (T + 1, T + 1), and right sides, shape (T + 1, K).

    The intercept is last and has no penalty.
    """

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
        return cls(matrix, np.vstack([weighted.T @ loss.y, share @ loss.y]))

    def penalised(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """The matrix of (T1) for a penalty, shape (T,)."""
        matrix = self.matrix.copy()
        matrix[np.diag_indices_from(matrix)] += PARAMS.ridge * (self.matrix.diagonal() + self.matrix[-1, -1] + PARAMS.ridge)
        matrix[np.diag_indices(len(penalty))] += penalty / 2
        return matrix

    def solve(self, penalty: NDArray[np.float64]) -> NDArray[np.float64]:
        """(beta, b), shape (T + 1, K)."""
        return np.asarray(cho_solve(cho_factor(self.penalised(penalty), lower=True, check_finite=False), self.right))


def _fit_leaf(
    loss: GlobalLoss, normal: NormalEquations, before: NDArray[np.float64], beta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Alternate (T1) and auxiliary variables; `before`: the weights of the nodes above, shape (nodes, T, K)."""
    reached = normal.matrix[-1, -1]
    solution = np.zeros_like(normal.right)
    for _ in range(PARAMS.leaf_rounds):
        z = loss.roots(beta[None])[0]
        penalty = loss.lam * reached * loss.bend(np.concatenate([before, beta[None]])) + loss.rho / z
        solution = normal.solve(penalty)
        moved, beta = np.abs(solution[:-1] - beta).max(initial=0.0), solution[:-1]
        size = max(1e-12, float(np.abs(beta).max(initial=0.0)))
        if moved <= 1e-5 * size:
            break
    return beta, solution[-1]


def _descend(bound: Majoriser, k: int, weights: Weights) -> Weights:
    """Improve a node with descendants: L-BFGS on its majoriser, in preconditioned variables."""
    normal = NormalEquations.of(bound.loss, bound.p)
    shape = normal.right.shape
    penalty = bound.curvature(weights.intercept[k], weights.threshold[k])
    factor = np.linalg.cholesky(2 * normal.penalised(penalty))

    def solution(point: NDArray[np.float64]) -> NDArray[np.float64]:
        z = point[:-1].reshape(shape)
        return np.asarray(solve_triangular(factor, z, trans="T", lower=True, check_finite=False))

    def value(point: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        at = solution(point)
        m, by_beta, by_intercept, by_threshold = bound(at[:-1], at[-1], point[-1])
        by_point = solve_triangular(factor, np.vstack([by_beta, by_intercept]), lower=True, check_finite=False)
        return m, np.append(by_point, by_threshold)

    start = np.append(factor.T @ np.vstack([bound.old, weights.intercept[k]]), weights.threshold[k])
    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": PARAMS.node_steps})
    if not found.fun < value(start)[0]:
        return weights
    best = solution(found.x)
    return weights.with_node(k, best[:-1], best[-1], float(found.x[-1]))
