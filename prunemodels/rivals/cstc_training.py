"""A tree of linear classifiers, in which each example follows one path.

Classifier nodes are in heap order: the root is 0, the upper child of node k is 2k + 1, the lower one 2k + 2; a tree of depth D
has 2^D - 1. At node k an example goes to the upper child if a_k' (beta_k' phi(x) + b_k) > theta_k, else to the lower one (CSTC13
section 4; a_k = 1 for one output). If that child does not exist, the example leaves there with node k's prediction; CSTC13 calls
this a terminal element.

Training minimises the global loss, first top to bottom, then node by node in cycles, at rising sharpness, from several starts.

CSTC13 section 4.2. *Initialisation*: node k is fitted as if it were a leaf, without its descendants:

    minimise over beta, b:   sum_i p_i |y_i - f_i|^2 + (1/2) sum_t penalty_t |beta_t|^2                                     (T1)

alternates with the auxiliary variables of Lemma 1, in `penalty`; both steps have closed forms. *Cyclic optimisation*: the same
for the last classifiers, which have no descendants; for a node with descendants, L-BFGS lowers its majoriser (the paper:
conjugate gradients), in the variables L' (beta, b) with L L' the Cholesky factor of (T1)'s matrix, where its curvature is about
1.

Ours: a node branches along the first principal direction of its outputs, unchanged from then on. Its first threshold divides the
weight of its examples, between two of them: by halves, or by parts that are drawn from `PARTS`. Cycles are made at
each sharpness s of a rising schedule, each from the weights that the one before ended at: soft paths let examples change sides,
sharp ones are those that predictions take. There are several starts; the paper says that its result depends on the start.

Trained weights become the tree that predicts by zeros, fine-tuning and pruning.

*Zeros* (ours; the relaxed penalties shrink weights towards `CSTCParams.eps`, not to zero): beta_kt is set to 0 where |beta_kt|,
the norm over the outputs, times the standard deviation of h_t on the training examples is at most `zero_tol`, where y has
variance 1.
*Fine-tuning* (CSTC13 section 4.2): classifiers that predict are fitted again without the penalties, on the examples that leave
there; zero weights stay zero:

    minimise over the non-zero beta, and b:   sum_i w_i |y_i - beta' phi(x_i) - b|^2 + fine_ridge W sum_t var(h_t) |beta_t|^2 (F1)

The small ridge term is ours, and so is fitting the last nodes to the examples that leave by the hard path. *Tree pruning*
(ibid.): a node is removed with all below it, deepest first, if the validation error does not rise without it; each node is judged
with its own (F1) on all examples that reach it. The paper prunes first, but comparing shrunken classifiers would not be fair.
After pruning, the nodes that predict are fitted for the last time.

*Choice among starts* (ours): of the finished trees those count as equally good whose validation error exceeds the least one by no
more than the standard error of the difference; the cheapest of them is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.optimize import minimize

from prunemodels.rivals.cstc_loss import (
    PARAMS,
    GlobalLoss,
    LearnerPrices,
    Majoriser,
    Weights,
    path_to,
    reach,
    upper_chance,
)


@dataclass(frozen=True, eq=False)
class ClassifierTree(Weights):
    """Classifiers that route by their weights and predict, for the examples that leave there, by final ones.

    CSTC13's fine-tuned weights are such final ones; they are zero where beta is.
    """

    final_beta: NDArray[np.float64]
    final_intercept: NDArray[np.float64]
    kept: NDArray[np.bool_]  # bool, shape (V,): nodes that exist; the parent of each exists too

    @classmethod
    def of(cls, weights: Weights, kept: NDArray[np.bool_]) -> ClassifierTree:
        """The tree of trained weights, whose nodes predict with the weights by which they route."""
        return cls(**vars(weights), final_beta=weights.beta, final_intercept=weights.intercept, kept=kept)

    @property
    def n_nodes(self) -> int:
        """V, the number of places for nodes."""
        return len(self.intercept)

    def has(self, k: int) -> bool:
        """Whether there is a node k."""
        return k < self.n_nodes and bool(self.kept[k])

    def leaving(self, phi: NDArray[np.float64]) -> NDArray[np.int64]:
        """The node that each example leaves at, shape (N,)."""
        at = np.zeros(len(phi), dtype=np.int64)
        for k in range(self.n_nodes):
            if not self.has(k) or not (self.has(2 * k + 1) or self.has(2 * k + 2)):
                continue
            rows = np.flatnonzero(at == k)
            upper = (phi[rows] @ self.beta[k] + self.intercept[k]) @ self.direction[k] > self.threshold[k]
            for child, side in ((2 * k + 1, upper), (2 * k + 2, ~upper)):
                if self.has(child):
                    at[rows[side]] = child
        return at

    def predict(self, phi: NDArray[np.float64]) -> NDArray[np.float64]:
        """The prediction of the node that each example leaves at, shape (N, K)."""
        at = self.leaving(phi)
        predicted = np.empty((len(phi), self.intercept.shape[1]))
        for k in np.unique(at):
            rows = np.flatnonzero(at == k)
            predicted[rows] = phi[rows] @ self.final_beta[k] + self.final_intercept[k]
        return predicted

    def used(self, k: int) -> NDArray[np.bool_]:
        """The weak learners that an example needs that leaves at node k, shape (T,)."""
        return np.asarray((self.beta[path_to(k)] != 0).any(axis=(0, 2)))

    def bills(self, purchases: LearnerPrices) -> NDArray[np.float64]:
        """(2) of the path to each node, shape (V,)."""
        return np.array([purchases.bill(self.used(k)) for k in range(self.n_nodes)])


@dataclass(frozen=True, eq=False)
class LearnerOutputs:
    """Examples in the space of weak learners: phi (N, T), labels (N, K), weights (N,)."""

    phi: NDArray[np.float64]
    y: NDArray[np.float64]
    weights: NDArray[np.float64]

    def shares(self) -> NDArray[np.float64]:
        """The weights, scaled to sum to 1."""
        return np.asarray(self.weights / self.weights.sum())

    def spread(self) -> NDArray[np.float64]:
        """Variance of each weak learner, shape (T,)."""
        share = self.shares()
        return np.asarray(np.maximum(share @ self.phi**2 - (share @ self.phi) ** 2, 0.0))


def with_zeros(beta: NDArray[np.float64], variance: NDArray[np.float64], zero_tol: float) -> NDArray[np.float64]:
    """The weights with small ones set to exactly zero, shape (V, T, K)."""
    large = np.sqrt((beta**2).sum(axis=2) * variance) > zero_tol
    return np.asarray(np.where(large[:, :, None], beta, 0.0))


def fine_tuned(tree: ClassifierTree, train: LearnerOutputs, *, leaving: bool) -> ClassifierTree:
    """(F1) for every node: on the examples that leave there, or, with ``leaving=False``, on all that reach it.

    Nodes that no example leaves at, or reaches, keep their weights.
    """
    beta, intercept = tree.final_beta.copy(), tree.final_intercept.copy()
    at, ridge = tree.leaving(train.phi), PARAMS.fine_ridge * train.spread()
    for k in range(tree.n_nodes):
        members = at == k if leaving else np.isin(at, [j for j in range(tree.n_nodes) if k in path_to(j)])
        rows = np.flatnonzero(members)
        if not rows.size:
            continue
        active = np.flatnonzero((tree.beta[k] != 0).any(axis=1))
        share = train.weights[rows] / train.weights[rows].sum()
        phi, y = train.phi[np.ix_(rows, active)], train.y[rows]
        centre, mean = share @ phi, share @ y
        centred = phi - centre
        matrix = centred.T @ (share[:, None] * centred) + np.diag(ridge[active])
        beta[k] = 0.0
        beta[k, active] = np.linalg.solve(matrix, centred.T @ (share[:, None] * (y - mean)))
        intercept[k] = mean - centre @ beta[k, active]
    return replace(tree, final_beta=beta, final_intercept=intercept)


def pruned(tree: ClassifierTree, phi: NDArray[np.float64], error: Callable[[NDArray[np.float64]], float]) -> ClassifierTree:
    """The tree without the nodes that do not lower the `error` of its predictions, shape (N, K), for validation examples."""
    least = error(tree.predict(phi))
    for k in range(tree.n_nodes - 1, 0, -1):
        if not tree.has(k):
            continue
        kept = tree.kept.copy()
        kept[[j for j in range(tree.n_nodes) if k in path_to(j)]] = False
        without = replace(tree, kept=kept)
        new_error = error(without.predict(phi))
        if new_error <= least:
            tree, least = without, new_error
    return tree


def cheapest_of_best(
    errors: NDArray[np.float64], weights: NDArray[np.float64], costs: NDArray[np.float64], no_error: float
) -> int:
    """The number of the cheapest tree among the best on validation examples; of equally cheap ones the first.

    `errors` are those of each tree on each example, shape (trees, N); mean errors that differ by at most `no_error` are equal.
    """
    share = weights / weights.sum()
    means = errors @ share
    lead = errors - errors[int(means.argmin())]
    noise = np.sqrt((lead - (lead @ share)[:, None]) ** 2 @ share**2)
    good = np.flatnonzero(lead @ share <= noise + no_error)
    return int(good[costs[good].argmin()])


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
