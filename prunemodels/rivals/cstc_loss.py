"""The loss by which all classifiers of a tree are trained jointly.

    L = sum_k [ sum_i (w_i / W) p_ik |y_i - f_ik|^2 + rho sum_t |beta_kt| ] + lambda sum_l p_l C_l                            (5)
    C_l = sum_t e_t sqrt( sum_{j in pi_l} |beta_jt|^2 ) + sum_m c_m sqrt( sum_{j in pi_l} sum_t F_{mt} |beta_jt|^2 )         (4)

k: classifier nodes; l: terminal elements, one below each classifier of the last level; p_ik as in (S1), and p_l is its weighted
mean. |.| is the Euclidean norm over the K outputs, and the absolute value for the paper's single one. So a weak learner that one
class uses is free for the others (ours: (3) with the classes among the places that use it). (5) is CSTC13's equation with squared
loss: the expected tree risk, which is the paper's equation 6, the l1 term, and the expected cost of its equation 2 after the
mixed-norm relaxation

    || sum_j |a_ij| ||_0  summed over i   ->   sum_i sqrt( sum_j a_ij^2 )                                                      (3)

The paper's equations 2 to 6 were lost in our copy's extraction, and are rebuilt from the text around them. Lemma 1,

    sqrt(g) = min over z > 0 of (g / z + z) / 2,   attained at z = sqrt(g),                                                 (L1)

turns every root into a quadratic. Ours: every g has eps^2 added, so that z > 0 where weights vanish; a `Majoriser` holds the
quadratics of one node. It lies on or above L and touches it at the weights that it was made at, so lowering it lowers L.

The cost of a path pi_l, from the root to the terminal element v_l (CSTC13 section 4.1; the equation was lost in our copy's
extraction; it is (2) with all classifiers of the path in place of one):

    c_l = sum_t e_t || sum_{j in pi_l} |beta_t^j| ||_0 + sum_m c_m || sum_{j in pi_l} sum_t F_{mt} |beta_t^j| ||_0           (2)

The paper's features are our cost items, so that features may share what they need: F_{mt} = 1 if a feature of weak learner t
needs item m.

During training the tree splits examples softly.

    p(v_j | x) = sigma(s (a_k' f_k(x) - theta_k)) p(v_k | x),   f_k(x) = beta_k' phi(x) + b_k,   v_j the upper child of v_k  (S1)
    p(v_l | x) = (1 - sigma(s (a_k' f_k(x) - theta_k))) p(v_k | x),                              v_l its lower child
    p(v_0 | x) = 1

CSTC13 section 4.1 (the formulas were lost in our copy's extraction; rebuilt from the text around them). The paper has one output,
so a_k = 1, and s = 1. Ours: `sharpness` s, with y scaled to unit variance; free intercepts b_k; and, for more than two classes, K
outputs f_k, one for each class, of which a unit vector a_k makes the number that an example branches by.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit


@dataclass(frozen=True)
class CSTCParams:
    """Iterations, ridges and tolerances of the training of CSTC."""

    fine_ridge: float = 1e-4  # weight of the ridge term of (F1)
    # a root mean squared difference up to this, of labels of variance 1, is no error: the ridge term alone makes some
    no_error: float = 1e-3
    eps: float = 1e-6  # smoothing of the square roots; weights of this size count as zero
    leaf_rounds: int = 200  # largest number of rounds of (T1) and auxiliary variables
    node_steps: int = 20  # largest number of L-BFGS steps on one majoriser
    ridge: float = 1e-9  # relative addition to the diagonal of (T1), so that constant and repeated columns are allowed


PARAMS = CSTCParams()


@dataclass(frozen=True, eq=False)
class LearnerPrices:
    """Items and prices of T weak learners."""

    needs: NDArray[np.bool_]  # bool, shape (T, M): F of (2), transposed.
    price: NDArray[np.float64]  # c_m, shape (M,), >= 0.
    evaluation: NDArray[np.float64]  # e_t, shape (T,), >= 0: the price of evaluating a weak learner.

    def bill(self, active: NDArray[np.bool_]) -> float:
        """(2) for the weak learners that a path uses: bool, shape (T,)."""
        return float(self.evaluation[active].sum() + self.price[self.needs[active].any(axis=0)].sum())


@dataclass(frozen=True, eq=False)
class Weights:
    """The trained weights of V nodes, T weak learners and K outputs."""

    # beta, intercept: beta and b, shapes (V, T, K) and (V, K).
    beta: NDArray[np.float64]
    intercept: NDArray[np.float64]
    # direction, threshold: a and theta, shapes (V, K) and (V,).
    direction: NDArray[np.float64]
    threshold: NDArray[np.float64]

    @classmethod
    def zero(cls, n_nodes: int, n_weak: int, n_outputs: int) -> Weights:
        """Classifiers that predict 0 and branch by their first output."""
        direction = np.zeros((n_nodes, n_outputs))
        direction[:, 0] = 1.0
        return cls(np.zeros((n_nodes, n_weak, n_outputs)), np.zeros((n_nodes, n_outputs)), direction, np.zeros(n_nodes))

    def with_node(
        self,
        k: int,
        beta: NDArray[np.float64],
        intercept: NDArray[np.float64],
        threshold: float,
        direction: NDArray[np.float64] | None = None,
    ) -> Weights:
        """A copy with another classifier in node k; its direction stays unless one is given."""
        new = replace(
            self,
            beta=self.beta.copy(),
            intercept=self.intercept.copy(),
            threshold=self.threshold.copy(),
            direction=self.direction.copy(),
        )
        new.beta[k], new.intercept[k], new.threshold[k] = beta, intercept, threshold
        if direction is not None:
            new.direction[k] = direction
        return new

    def branching(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """a_k' f_k, shape (N, V), from the outputs f of all nodes, shape (N, V, K)."""
        return np.asarray(np.einsum("nvk,vk->nv", scores, self.direction))


def path_to(k: int) -> list[int]:
    """The nodes from the root to node k, k included."""
    nodes = [k]
    while nodes[0]:
        nodes.insert(0, (nodes[0] - 1) // 2)
    return nodes


def upper_chance(scores: NDArray[np.float64], threshold: NDArray[np.float64] | float, sharpness: float) -> NDArray[np.float64]:
    """sigma(s (a'f - theta)): the chance of going to the upper child; at an infinite s 1 above the threshold, else 0."""
    if np.isinf(sharpness):
        return np.asarray(scores > threshold, dtype=np.float64)
    return np.asarray(expit(sharpness * (scores - threshold)))


def reach(up: NDArray[np.float64]) -> NDArray[np.float64]:
    """(S1): p(v_k | x) of every node, shape (N, V), from the chances (N, V) of going up."""
    p = np.ones_like(up)
    for k in range(1, up.shape[1]):
        parent = (k - 1) // 2
        p[:, k] = p[:, parent] * (up[:, parent] if k % 2 else 1 - up[:, parent])
    return p


def risk_below(k: int, up: NDArray[np.float64], risk: NDArray[np.float64]) -> NDArray[np.float64]:
    """Expected risk of an example in node k and all below, given that it is in node k, shape (N,)."""
    if 2 * k + 2 >= up.shape[1]:
        return risk[:, k]
    above, below = risk_below(2 * k + 1, up, risk), risk_below(2 * k + 2, up, risk)
    return np.asarray(risk[:, k] + up[:, k] * above + (1 - up[:, k]) * below)


def terminals_below(k: int, up: NDArray[np.float64]) -> tuple[list[int], NDArray[np.float64]]:
    """The last classifiers below node k, and the chance (N, leaves) to end there of an example that is in node k."""
    if 2 * k + 2 >= up.shape[1]:
        return [k], np.ones((len(up), 1))
    (first, p), (second, q) = terminals_below(2 * k + 1, up), terminals_below(2 * k + 2, up)
    return first + second, np.hstack([up[:, k, None] * p, (1 - up[:, k, None]) * q])


@dataclass(frozen=True, eq=False)
class GlobalLoss:
    """The loss (5) on given examples."""

    # phi, y, share: examples in the space of weak learners, shape (N, T); labels, shape (N, K); weights that sum to 1.
    phi: NDArray[np.float64]
    y: NDArray[np.float64]
    share: NDArray[np.float64]
    purchases: LearnerPrices  # prices of the weak learners.
    # lam, rho, sharpness: lambda and rho of (5), s of (S1); an infinite s: the paths that predictions take.
    lam: float
    rho: float
    sharpness: float

    def scores(self, weights: Weights) -> NDArray[np.float64]:
        """f_ik, shape (N, V, K)."""
        n_nodes, n_weak, n_outputs = weights.beta.shape
        side_by_side = weights.beta.transpose(1, 0, 2).reshape(n_weak, n_nodes * n_outputs)
        return np.asarray((self.phi @ side_by_side).reshape(-1, n_nodes, n_outputs) + weights.intercept)

    def chances_up(self, scores: NDArray[np.float64], weights: Weights) -> NDArray[np.float64]:
        """The chance of going up of each example at each node, shape (N, V)."""
        return upper_chance(weights.branching(scores), weights.threshold, self.sharpness)

    def risk(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """|y_i - f_ik|^2, shape (N, V)."""
        return np.asarray(((self.y[:, None, :] - scores) ** 2).sum(axis=2))

    def value(self, weights: Weights) -> float:
        """The loss (5), smoothed."""
        scores = self.scores(weights)
        p = self.share[:, None] * reach(self.chances_up(scores, weights))
        last = range(len(weights.intercept) // 2, len(weights.intercept))
        cost = sum(float(p[:, k].sum()) * self.path_cost(weights.beta[path_to(k)]) for k in last)
        risk = float((p * self.risk(scores)).sum())
        return risk + self.rho * float(np.sqrt((weights.beta**2).sum(axis=2) + PARAMS.eps**2).sum()) + self.lam * cost

    def path_cost(self, beta: NDArray[np.float64]) -> float:
        """The cost (4), smoothed, for the classifiers of a path, shape (nodes, T, K)."""
        z, z_item = self.roots(beta)
        return float(self.purchases.evaluation @ z + self.purchases.price @ z_item)

    def roots(self, beta: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The best z of (L1) for a path: for each weak learner, shape (T,), and for each item, shape (M,)."""
        squares = (beta**2).sum(axis=(0, 2))
        return np.sqrt(squares + PARAMS.eps**2), np.sqrt(squares @ self.purchases.needs + PARAMS.eps**2)

    def bend(self, beta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Slopes d, shape (T,): (4) is at most C + sum_t d_t (|new|^2 - |old|^2) / 2 where one node of the path changes."""
        z, z_item = self.roots(beta)
        return np.asarray(self.purchases.evaluation / z + self.purchases.needs @ (self.purchases.price / z_item))

    def majoriser(self, k: int, weights: Weights) -> Majoriser:
        """The upper bound of (5) for changes of node k, with all other nodes unchanged."""
        scores = self.scores(weights)
        up = self.chances_up(scores, weights)
        p = self.share * reach(up)[:, k]
        risk = self.risk(scores)
        leaves, chance = terminals_below(k, up)
        paths = [weights.beta[path_to(leaf)] for leaf in leaves]
        if len(leaves) == 1:
            difference, chance_low, risk_up, risk_low = np.zeros((len(p), 1)), chance, np.zeros(len(p)), np.zeros(len(p))
        else:
            (_, p_up), (_, p_low) = terminals_below(2 * k + 1, up), terminals_below(2 * k + 2, up)
            absent = np.zeros_like(p_up)
            chance_low, difference = np.hstack([absent, p_low]), np.hstack([p_up, -p_low])
            risk_up, risk_low = risk_below(2 * k + 1, up, risk), risk_below(2 * k + 2, up, risk)
        return Majoriser(
            self,
            p,
            risk_low,
            risk_up - risk_low,
            p @ chance_low,
            difference,
            np.array([self.path_cost(path) for path in paths]),
            np.array([self.bend(path) for path in paths]),
            weights.beta[k],
            weights.direction[k],
        )


@dataclass(frozen=True, eq=False)
class Majoriser:
    """(5) as a function of one node's beta, b and theta, without constant terms; the quadratics of (L1) replace the roots.

    With u_i = sigma(s (a'f_i - theta)), of the examples in the node p_i:

        M = sum_i p_i [ |y_i - f_i|^2 + low_i + u_i gain_i ] + lambda sum_l P_l Q_l + (rho / 2) sum_t (|beta_t|^2 / z_t + z_t) (M)
        P_l = base_l + sum_i p_i u_i difference_il,    Q_l = C_l + sum_t d_lt (|beta_t|^2 - |old_t|^2) / 2
    """

    loss: GlobalLoss  # the data.
    p: NDArray[np.float64]  # share of each example in the node, shape (N,).
    # low, gain: risk below the lower child, and how much larger it is below the upper one, shape (N,).
    low: NDArray[np.float64]
    gain: NDArray[np.float64]
    # base, difference: shapes (L,) and (N, L): the chance to end in each of the L last classifiers below the node.
    base: NDArray[np.float64]
    difference: NDArray[np.float64]
    # cost, bend: shapes (L,) and (L, T): C_l and d_l.
    cost: NDArray[np.float64]
    bend: NDArray[np.float64]
    old: NDArray[np.float64]  # the node's beta that the bound was made at, shape (T, K).
    direction: NDArray[np.float64]  # the node's a, shape (K,).

    def sizes(self) -> NDArray[np.float64]:
        """The best z of (L1) for the l1 term, shape (T,)."""
        return np.asarray(np.sqrt((self.old**2).sum(axis=1) + PARAMS.eps**2))

    def curvature(self, intercept: NDArray[np.float64], threshold: float) -> NDArray[np.float64]:
        """Second derivatives of the penalties by beta, shape (T,), the same for all outputs, with unchanged chances P_l."""
        u = upper_chance((self.loss.phi @ self.old + intercept) @ self.direction, threshold, self.loss.sharpness)
        chances = self.base + (self.p * u) @ self.difference
        return np.asarray(self.loss.lam * (chances @ self.bend) + self.loss.rho / self.sizes())

    def __call__(
        self, beta: NDArray[np.float64], intercept: NDArray[np.float64], threshold: float
    ) -> tuple[float, NDArray[np.float64], NDArray[np.float64], float]:
        """M, and its derivatives by beta, b and theta."""
        loss = self.loss
        scores = loss.phi @ beta + intercept
        u = upper_chance(scores @ self.direction, threshold, loss.sharpness)
        residual = loss.y - scores
        moved = self.p * u
        P = self.base + moved @ self.difference
        Q = self.cost + 0.5 * self.bend @ (beta**2 - self.old**2).sum(axis=1)
        z = self.sizes()
        value = self.p @ ((residual**2).sum(axis=1) + self.low) + moved @ self.gain
        value += loss.lam * (P @ Q) + 0.5 * loss.rho * float((((beta**2).sum(axis=1) + PARAMS.eps**2) / z + z).sum())
        by_chance = loss.sharpness * moved * (1 - u) * (self.gain + loss.lam * (self.difference @ Q))
        by_score = by_chance[:, None] * self.direction - 2 * self.p[:, None] * residual
        by_beta = loss.phi.T @ by_score + (loss.lam * (P @ self.bend) + loss.rho / z)[:, None] * beta
        return float(value), np.asarray(by_beta), np.asarray(by_score.sum(axis=0)), -float(by_chance.sum())
