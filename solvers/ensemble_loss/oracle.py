"""The linearised problem, exactly: one minimum cut a call.

    minimise  -sum_h gain_h x_h + lam * cost(x)       over prunings x                                          (1)

Only the gains change from call to call; who needs which purchase does not, so purchases with the same users are merged once.
The bound of (1) is computed from the cut's flow, tree by tree, as in `solvers.closures.duals`; prices are rounded down to the
grid and what rounding the gains can hide is taken off, so that it holds for the real numbers.

A cut and not price sharing: near the relaxation's optimum all prunings of the mixture are nearly equally good for (1), and there
price sharing needs hundreds of rounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.errors import SolverFailedError
from formulations.instance.ensemble_loss import EnsembleProblem
from formulations.instance.merging import merge_purchases
from solvers.closures.cut import ClosureProblem, best_closure
from solvers.closures.integer_objective import TOTAL_BITS
from solvers.closures.numbering import compact
from solvers.closures.subproblem import subproblem
from solvers.closures.tree_pass import best_tree_closures


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """A pruning that solves (1), and what was proven.

    Parameters
    ----------
    kept
        bool, shape (n,).
    bound
        no pruning's (1) is below it.
    n_arcs
        arcs of the network that was cut.
    """

    kept: NDArray[np.bool_]
    bound: float
    n_arcs: int


class Oracle:
    """(1) for one lambda and the gains of any dL/dF.

    Parameters
    ----------
    lam
        >= 0.
    """

    def __init__(self, ensemble_problem: EnsembleProblem, lam: Fraction) -> None:
        self.ensemble_problem = ensemble_problem
        self.problem = problem = ensemble_problem.problem
        ints = problem.integers
        rate = float(lam * ints.price_unit)
        self._evaluation = rate * ints.evaluation
        # the integer prices differ from the real ones by no more than this in any pruning's cost
        self._cost_slack = float(lam) * ints.cost_rounding
        arcs, price = problem.usage_arcs(), problem.purchase_price()
        paid = price[arcs.head] > 0 if rate > 0 else np.zeros(arcs.head.size, dtype=bool)
        tail, head = arcs.tail[paid], arcs.head[paid]
        purchases, head = compact(head, problem.n_purchases)
        merged = merge_purchases(tail, head, price[purchases])
        left, self._head = compact(head[merged.arc], purchases.size)
        self._tail = tail[merged.arc]
        self._price = rate * merged.price[left]

    def best(self, slopes: NDArray[np.float64]) -> OracleAnswer:
        """Solve (1) for dL/dF, shape (R, C).

        Raises
        ------
        SolverFailedError
            if the cut's flow does not respect the prices: a defect.
        InterruptedSolveError
            on Ctrl-C.
        """
        ensemble = self.problem.ensemble
        profit, price, exponent, slack = self._on_grid(self.ensemble_problem.gains(slopes))
        wanted = best_tree_closures(ensemble, profit, ensemble.is_split, "smallest")[0]
        nodes = np.flatnonzero(wanted).astype(np.int32)
        mine = np.flatnonzero(wanted[self._tail])
        instance = self._instance(nodes, mine, profit, price)
        closure = best_closure(instance)
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[nodes] = closure.keep
        worth = self._proven(profit, instance, nodes, closure.duals())
        return OracleAnswer(kept, -math.ldexp(float(worth), -exponent) - slack, closure.n_arcs)

    def _on_grid(self, gain: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64], int, float]:
        """Profits to the nearest point of a binary grid, prices down; the exponent of the grid, and what it can hide."""
        total = float(np.abs(gain).sum()) or 1.0
        profit = np.maximum(gain - self._evaluation, -2.0 * total)
        price = np.minimum(self._price, 2.0 * total)  # dearer than all gains together is never bought
        exponent = TOTAL_BITS - 1 - math.frexp(max(float(np.abs(profit).sum()), float(price.sum()), total))[1]
        scaled = np.ldexp(profit, exponent)
        rounded = np.rint(scaled)
        # a relative 2^-48 below: what floating point may have added to the product
        whole = np.floor(np.ldexp(price, exponent) * (1 - 2.0**-48)).astype(np.int64)
        lost = float(np.abs(gain).sum()) + float(
            self._evaluation[profit > -2.0 * total].sum()
        )  # of splits that can be kept at all
        hidden = float(np.abs(scaled - rounded).sum()) + math.ldexp(lost, exponent) * 2.0**-50
        return rounded.astype(np.int64), whole, exponent, math.ldexp(hidden, -exponent) + self._cost_slack

    def _instance(
        self, nodes: NDArray[np.int32], mine: NDArray[np.int64], profit: NDArray[np.int64], price: NDArray[np.int64]
    ) -> ClosureProblem:
        """The splits that are wanted for free items, with their purchases merged again: fewer users, more of them alike."""
        part = subproblem(self.problem.ensemble.parent, nodes, self._tail[mine], self._head[mine], price.size)
        merged = merge_purchases(part.tail, part.head, price[part.purchases])
        return ClosureProblem(profit[nodes], part.parent, part.tail[merged.arc], part.head[merged.arc], merged.price)

    def _proven(
        self, profit: NDArray[np.int64], instance: ClosureProblem, nodes: NDArray[np.int32], dual: NDArray[np.int64]
    ) -> int:
        """The most that any closure can be worth when every purchase is paid by its users' duals."""
        borne = np.zeros(instance.price.size, dtype=np.int64)
        np.add.at(borne, instance.head, dual)
        if (dual < 0).any() or (borne > instance.price).any():
            raise SolverFailedError("a minimum cut's flow charges a purchase more than its price")
        charged = profit.copy()
        np.subtract.at(charged, nodes[instance.tail], dual)
        return int(best_tree_closures(self.problem.ensemble, charged, self.problem.ensemble.is_split, "smallest")[1])
