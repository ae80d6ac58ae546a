"""The linearised problem, solved exactly by one minimum cut in each call.

    minimise  -sum_h gain_h x_h + lam * cost(x)       over prunings x                                          (1)

Only the gains change from call to call. The usage arcs do not, so purchases with the same users are merged once.
The bound of (1) is computed from the cut's flow, tree by tree, as in `solvers.closures.duals`. It holds for the real numbers,
because prices are rounded down to the grid, and the largest effect of rounding the gains is subtracted.

The method is a cut and not price sharing: near the relaxation's optimum all prunings of the mixture are nearly equally good for
(1), and price sharing then needs hundreds of rounds.
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
from solvers.closures.integer_objective import BinaryGrid
from solvers.closures.numbering import compact
from solvers.closures.subproblem import subproblem
from solvers.closures.tree_pass import best_tree_closures


@dataclass(frozen=True, eq=False)
class OracleAnswer:
    """A pruning that solves (1), with a proven bound.

    Parameters
    ----------
    kept
        bool, shape (n,).
    bound
        a lower bound of (1) for all prunings.
    n_arcs
        the number of arcs of the network that was cut.
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
        # in any pruning's cost, the integer prices differ from the real ones by at most this
        self._cost_slack = float(lam) * ints.cost_rounding
        arcs, price = problem.usage_arcs(), problem.purchase_price()
        paid = price[arcs.head] > 0 if rate > 0 else np.zeros(arcs.head.size, dtype=bool)
        tail, head = arcs.tail[paid], arcs.head[paid]
        purchases, head = compact(head, problem.n_purchases)
        merged = merge_purchases(tail, head, price[purchases])
        occurring, self._head = compact(head[merged.arc], purchases.size)
        self._tail = tail[merged.arc]
        self._price = rate * merged.price[occurring]

    def best(self, slopes: NDArray[np.float64]) -> OracleAnswer:
        """Solve (1) for dL/dF, shape (R, C).

        Raises
        ------
        SolverFailedError
            if the cut's flow exceeds a price, which is a bug.
        InterruptedSolveError
            on Ctrl-C.
        """
        ensemble = self.problem.ensemble
        gain = self.ensemble_problem.gains(slopes)
        grid = BinaryGrid.of(gain, self._evaluation, self._price, float(np.abs(gain).sum()))
        profit = grid.profit
        wanted = best_tree_closures(ensemble, profit, ensemble.is_split, "smallest")[0]
        nodes = np.flatnonzero(wanted).astype(np.int32)
        arcs = np.flatnonzero(wanted[self._tail])
        instance = self._instance(nodes, arcs, profit, grid.price)
        closure = best_closure(instance)
        kept = np.zeros(ensemble.n_nodes, dtype=bool)
        kept[nodes] = closure.keep
        worth = self._proven(profit, instance, nodes, closure.duals())
        return OracleAnswer(kept, -math.ldexp(float(worth), -grid.exponent) - (grid.slack + self._cost_slack), closure.n_arcs)

    def _instance(
        self, nodes: NDArray[np.int32], arcs: NDArray[np.int64], profit: NDArray[np.int64], price: NDArray[np.int64]
    ) -> ClosureProblem:
        """The splits that would be kept at price 0, with their purchases merged again, because more now have the same users."""
        part = subproblem(self.problem.ensemble.parent, nodes, self._tail[arcs], self._head[arcs], price.size)
        merged = merge_purchases(part.tail, part.head, price[part.purchases])
        return ClosureProblem(profit[nodes], part.parent, part.tail[merged.arc], part.head[merged.arc], merged.price)

    def _proven(
        self, profit: NDArray[np.int64], instance: ClosureProblem, nodes: NDArray[np.int32], dual: NDArray[np.int64]
    ) -> int:
        """An upper bound of every closure's value: each purchase is paid by the duals of its users."""
        dual_sum = np.zeros(instance.price.size, dtype=np.int64)
        np.add.at(dual_sum, instance.head, dual)
        if (dual < 0).any() or (dual_sum > instance.price).any():
            raise SolverFailedError("a minimum cut's flow charges a purchase more than its price")
        charged = profit.copy()
        np.subtract.at(charged, nodes[instance.tail], dual)
        return int(best_tree_closures(self.problem.ensemble, charged, self.problem.ensemble.is_split, "smallest")[1])
