"""A restricted master that stays near the best charges so far: a proximal bundle step with an entropy term.

Prices are shared by scores. Each split u has a score s_u. The price p_c of purchase c is shared among its users as

    q_{u,c} = p_c exp(s_u) / sum over the users u' of c of exp(s_u')                                                        (1)

The shares (1) are the derivatives of

    F(s) = sum_c p_c log sum over the users u of c of exp(s_u)                                                              (2)

F(eta y) / eta tends to  sum_c p_c max over the users u of c of y_u  for eta to infinity                                    (3)

The columns so far give a model of the Lagrangian bound at charges q, the best column of each tree at q:

    model(q)  =  sum_t min over columns j of t of (c_j + sum over the splits u that j keeps of q_u)                         (4)

A linear program would maximise (4) alone and jump from vertex to vertex. Here charges far from the centre q^
pay for the distance:

    maximise  model(q) - (1 / eta) sum_c sum_u q_{u,c} log(q_{u,c} / q^_{u,c})    s.t.  sum_u q_{u,c} = p_c for every c      (5)

The dual of (5) chooses a mixture alpha of each tree's columns, which keeps the splits to the fractions y = sum_j alpha_j kept_j:

    minimise  sum_j alpha_j c_j + (1 / eta) F(s + eta y)      s.t.  sum over the columns j of t of alpha_j = 1, alpha >= 0   (6)

F is (2), and the centre has the scores s. At the optimum of (6) the charges of (5) are
the shares at the scores s + eta y, so that one number for each split is the whole state. For eta to infinity, (6) becomes the
linear program of NWS15's LP3: F(s + eta y) / eta tends to sum_c p_c max_u y_u. The multiplicative step of price sharing is (6)
with a single column for each tree.

If pricing at the new charges raises the bound by a tenth of what the model promised, they become the centre (*serious step*) and
eta grows. Otherwise the centre stays, and the new columns correct the model (*null step*). See Kiwiel, Proximal minimization
methods with generalized Bregman functions, SIAM J. Control Optim. 35 (1997); Frangioni, Standard bundle methods, 2020.

(6) is smooth. It is solved by exponentiated gradients, to a tenth of what the model promises:

    alpha_j <- alpha_j exp(-gamma g_j) / (sum over the columns of the tree)          g_j = c_j + sum over kept u of q_u      (7)

gamma falls until the step satisfies Armijo's rule. sum_j alpha_j g_j - sum_t min_j g_j bounds what (6) can still fall.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.compiled import njit
from solvers.column_generation.loop import MasterAnswer
from solvers.column_generation.params import ColumnParams
from solvers.column_generation.pricing import Coupling, Incumbent, TreePruning


class SoftPrices:
    """(1) to (3) for the rows and prices of a coupling."""

    def __init__(self, coupling: Coupling) -> None:
        self._order = np.argsort(coupling.purchase, kind="stable")
        self._node = coupling.node[self._order]
        purchases, first = np.unique(coupling.purchase[self._order], return_index=True)
        self._first = np.append(first, self._order.size)
        self._price = coupling.price[purchases]

    def shares(self, score: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(1) for every coupling row, and its sums over the rows of each split; shapes (k,) and (n,)."""
        charge, by_node = np.empty(self._order.size), np.zeros(score.size)
        _soft_prices(self._first, self._node, self._price, score, charge, by_node)
        by_row = np.empty_like(charge)
        by_row[self._order] = charge
        return by_row, by_node

    def value(self, score: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """(2), and its derivatives, shape (n,)."""
        charge, by_node = np.empty(self._order.size), np.zeros(score.size)
        value = _soft_prices(self._first, self._node, self._price, score, charge, by_node)
        return float(value), by_node

    def hard_value(self, y: NDArray[np.float64]) -> float:
        """(3)."""
        if not self._order.size:
            return 0.0
        return float(self._price @ np.maximum.reduceat(y[self._node], self._first[:-1]))


@njit(cache=True, nogil=True)
def _soft_prices(first, node, price, score, charge, by_node):  # type: ignore[no-untyped-def]
    """Rows of purchase j are first[j] .. first[j + 1] - 1. A largest score is taken off first, so that nothing overflows.

    It is the largest score of all splits, so that one exponential a split is enough; where that underflows, the purchase's own.
    """
    top = score.max() if score.shape[0] else 0.0
    weight = np.exp(score - top)
    value = 0.0
    for j in range(price.shape[0]):
        a, b = first[j], first[j + 1]
        largest = top
        total = 0.0
        for k in range(a, b):
            charge[k] = weight[node[k]]
            total += charge[k]
        # smaller sums may have lost digits by underflow: once more, with the purchase's own largest score
        if total < 1e-200:
            largest = score[node[a]]
            for k in range(a + 1, b):
                largest = max(largest, score[node[k]])
            total = 0.0
            for k in range(a, b):
                charge[k] = np.exp(score[node[k]] - largest)
                total += charge[k]
        value += price[j] * (largest + np.log(total))
        # each user bears the price in proportion to its weight
        rate = price[j] / total
        for k in range(a, b):
            charge[k] *= rate
            by_node[node[k]] += charge[k]
    return value


class Bundle:
    """The model (4), its centre, and the solver of (6). `score`, `bound`: of the first centre, as in `BundleMaster`."""

    def __init__(self, coupling: Coupling, score: NDArray[np.float64], bound: float, params: ColumnParams) -> None:
        problem, ensemble = coupling.problem, coupling.problem.ensemble
        self.score, self.bound, self.eta, self.soft = score, bound, params.first_eta, SoftPrices(coupling)
        self.params = params
        self.evaluations = 0
        self.columns: list[TreePruning] = []
        self.alpha = np.zeros(0)
        self._members = sparse.csr_array((ensemble.n_nodes, 0))
        self._trees = ensemble.n_trees
        self._root_error, self._split_cost = coupling.stop[ensemble.roots], coupling.own - problem.gain
        self._next: NDArray[np.float64] | None = None
        self._gamma = 0.0
        self._solved = False

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add columns; those of one tree are kept side by side."""
        both = [*self.columns, *columns]
        tree = np.array([c.tree for c in both])
        weight = np.append(self.alpha, np.full(len(columns), self.params.new_weight))
        order = np.argsort(tree, kind="stable")
        self.columns = [both[j] for j in order.tolist()]
        self._first = np.searchsorted(tree[order], np.arange(self._trees))
        self._count = np.diff(np.append(self._first, tree.size))
        self.alpha = self._per_tree(weight[order])
        kept = [c.kept for c in self.columns]
        ends = np.cumsum([0, *(k.size for k in kept)])
        shape = (self.score.size, len(kept))
        self._members = sparse.csc_array((np.ones(ends[-1]), np.concatenate(kept), ends), shape=shape).tocsr()
        self._kept = self._members.T.tocsr()
        # c_j: the tree's error as a single leaf, less the gains and plus the own prices of what the column keeps
        self.cost: NDArray[np.float64] = np.asarray(self._root_error[tree[order]] + self._kept @ self._split_cost)

    def step(self, least_gap: float, deadline: float) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Solve (6) and (5).

        Parameters
        ----------
        least_gap
            (6) counts as solved once it can fall by this at most, however little the model promises.
        deadline
            of `time.perf_counter`.

        Returns
        -------
        tuple
            y, shape (n,); the charges, one for each coupling row; and for each tree the least g_j.
        """
        soft, cost, params = self.soft, self.cost, self.params
        # start from the last mixture, in which every column has some weight, and from the last gamma
        alpha = self._per_tree(self.alpha + 1e-9)
        y: NDArray[np.float64] = np.asarray(self._members @ alpha)
        smooth, by_node = soft.value(self.score + self.eta * y)
        value = float(cost @ alpha) + smooth / self.eta
        gamma = self._gamma or self._trees / max(float(np.abs(cost).sum()) / cost.size * self._trees, 1e-300)
        for _ in range(params.inner_steps):
            # g of (7), what (6) can still fall, and what the model promises
            g = cost + self._kept @ by_node
            least = np.minimum.reduceat(g, self._first)
            left, promised = float(alpha @ g) - float(least.sum()), float(least.sum())
            if self.bound == -math.inf:
                enough = params.first_gap * float(alpha @ cost)
            else:
                enough = params.inner_gap * (promised - self.bound)
            self._solved = left <= max(least_gap, enough)
            if self._solved or time.perf_counter() > deadline:
                break
            # the step (7), and the value of (6) there
            moved = self._per_tree(np.maximum(alpha, 1e-12) * np.exp(np.clip(-gamma * (g - self._mean(alpha, g)), -50.0, 50.0)))
            new_y: NDArray[np.float64] = np.asarray(self._members @ moved)
            smooth, new_by_node = soft.value(self.score + self.eta * new_y)
            new_value = float(cost @ moved) + smooth / self.eta
            self.evaluations += 1
            # Armijo's rule: accept the step and lengthen the next one, or shorten it
            if new_value <= value - 1e-4 * float((alpha - moved) @ g) + self.params.rounding * abs(smooth) / self.eta:
                alpha, y, by_node, value = moved, new_y, new_by_node, new_value
                gamma = min(1.5 * gamma, self.params.largest_step)
            elif np.array_equal(moved, alpha):
                break
            else:
                gamma *= 0.5
        # the charges of (5) are the shares at the scores of the mixture
        self.alpha, self._gamma, self._next = alpha, gamma, self.score + self.eta * y
        charge, by_node = soft.shares(self._next)
        least = np.minimum.reduceat(cost + self._kept @ by_node, self._first)
        return y, charge, least

    def judge(self, bound: float, promised: float) -> None:
        """Take the charges of the last step as the centre, or stay.

        `bound`, `promised`: the Lagrangian bound at these charges, and (4) there.
        """
        assert self._next is not None, "a step comes first"
        if bound >= self.bound + self.params.serious * (promised - self.bound) or self.bound == -math.inf:
            self.score, self.bound = self._next - self._next.max(initial=0.0), bound
            if self._solved:
                self._rescale(self.params.growth)
        elif not self._solved or bound < self.bound - (promised - self.bound):
            self._rescale(self.params.shrinkage)

    def _rescale(self, factor: float) -> None:
        """Change eta. The curvature of (6) is in proportion to it, so gamma changes the other way."""
        self.eta *= factor
        self._gamma /= factor

    def _per_tree(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Weights that sum to 1 for each tree."""
        return np.asarray(weight / self._spread(np.add.reduceat(weight, self._first)))

    def _mean(self, alpha: NDArray[np.float64], amount: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean over each tree's mixture, at each of its columns."""
        return self._spread(np.add.reduceat(alpha * amount, self._first))

    def _spread(self, by_tree: NDArray[Any]) -> NDArray[Any]:
        return np.repeat(by_tree, self._count)


class BundleMaster:
    """The master at one lambda: a bundle, and serious or null steps.

    `score`, `bound`: of the first centre: s, shape (n,), and the Lagrangian bound at its charges.
    """

    def __init__(
        self, coupling: Coupling, incumbent: Incumbent, score: NDArray[np.float64], bound: float, params: ColumnParams
    ) -> None:
        self.bundle, self.incumbent, self.params = Bundle(coupling, score, bound, params), incumbent, params
        self.n_rows = coupling.problem.ensemble.n_trees  # of (6)
        self.y: NDArray[np.float64] | None = None
        self.tolerance = params.exactness * coupling.reference
        self._promised = math.inf
        self._best = bound
        self._idle = self._refined = 0

    @property
    def n_columns(self) -> int:
        """The number of columns, which are prunings of trees."""
        return len(self.bundle.columns)

    @property
    def iterations(self) -> float:
        """Evaluations of (6)."""
        return float(self.bundle.evaluations)

    def add(self, columns: Sequence[TreePruning]) -> None:
        """Add columns that the master does not have yet."""
        if columns:
            self.bundle.add(columns)

    def judge(self, bound: float, found_columns: bool) -> None:
        """Make a serious or a null step, given the bound at the last charges."""
        rises = bound > self._best + self.tolerance
        self._best = max(self._best, bound)
        self._idle = 0 if found_columns or rises else self._idle + 1
        self._refined = 0 if found_columns else self._refined + 1
        self.bundle.judge(bound, self._promised)

    def refine(self) -> bool:
        """Whether another step can raise the bound though no column prices out: the centre moves, and eta grows."""
        return self._idle < self.params.most_idle and self._refined < self.params.most_refined

    def solve(self, time_limit: float) -> MasterAnswer | None:
        """The charges of (5). The value is that of the linear program at the mixture of (6)."""
        bundle = self.bundle
        self.y, charge, least = bundle.step(self.tolerance, time.perf_counter() + time_limit)
        upper = self.incumbent.offer_levels(self.y)
        self._promised = float(least.sum())
        value = float(bundle.cost @ bundle.alpha) + bundle.soft.hard_value(self.y)
        return MasterAnswer(value, min(upper, value), charge, least)
