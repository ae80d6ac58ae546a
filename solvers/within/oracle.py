"""One closure at given multipliers, and the bound that it proves.

    D(mu)  =  min over prunings of  error + sum_r mu_r (use_r - B_r)   <=   the least error within the limits                (1)

for every mu >= 0. A purchase costs sum_r mu_r amount_{r,j} and a split sum_r mu_r amount_{r,h}, so (1) is a maximum closure like
(OBJ), whatever the limits are about. It is solved in integers, profits rounded up and prices rounded down, by a minimum cut or by
price sharing. So the bound holds in spite of floating-point errors, and the pruning is the best one up to this rounding.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from formulations.answers.solution import SharedPrices
from formulations.programs.limit_rows import LimitRows
from solvers.closures.integer_objective import Grid, IntegerObjective, on_grid
from solvers.closures.min_cut import closure_at
from solvers.closures.tree_pass import climb
from solvers.price_sharing.loop import StopRule, run_to_goal
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.rows import LocalRows, Scores
from solvers.price_sharing.solve import proof_for_forest
from solvers.within.by_path import rounded_down
from solvers.within.params import WithinParams


@dataclass(frozen=True, eq=False)
class OraclePruning:
    """A best pruning by (1), the value of (1) that is proven, and what proves it."""

    mu: NDArray[np.float64]  # float64, shape (R,): the multipliers
    kept: NDArray[np.bool_]  # bool, shape (n,), over the nodes of the user's forest
    bound: float  # (1), proven
    certificate: SharedPrices | None  # on the usage arcs of the metered instance; its lambda is 1; None: of a cut


class LagrangianOracle:
    """Solves (1) for any multipliers, and counts uses in floating point, for searches."""

    def __init__(self, rows: LimitRows, params: WithinParams) -> None:
        self.rows, self.user_problem, self.params = rows, rows.problem, params
        reduced = rows.metered.reduced("smallest")
        self.problem, self.groups = reduced.core, reduced.groups
        self.own = rows.of_splits()
        of, r = self.groups.of, self.groups.payer.size
        in_group = np.flatnonzero(of >= 0)
        into = sparse.csr_array((np.ones(in_group.size), (in_group, of[in_group])), shape=(of.size, r))
        self.own_of_groups = sparse.csr_array((self.own @ into).T)  # shape (r, R)
        ints = rows.problem.numbers
        self.gain = self.problem.numbers.gain * float(ints.gain_unit)
        largest_group = int(np.bincount(of[in_group], minlength=1).max(initial=1))
        self.lost = 2.0**-50 * np.abs(self.gain) if ints.exact else self.problem.gain_lost
        self.margin = (32 + len(rows.rows) + largest_group) * 2.0**-52
        self.roots = rows.problem.roots_error
        self._by_example = rows.counted[0].size
        cut, sharing = SharingParams().predicted_seconds(self.problem.n_usage_arcs, self.problem.ensemble.n_splits)
        self.shares_prices = cut > sharing and self.problem.n_usage_arcs > SharingParams.small_core
        self.work = max(params.per_closure, sharing if self.shares_prices else cut)  # of a closure, as `Effort` counts it
        self.scores: Scores | None = None
        self.calls = 0

    def objective(self, mu: NDArray[np.float64]) -> IntegerObjective:
        """The profits and prices of (1) in integers."""
        price, own = self.prices(mu), self.own_of_groups @ mu
        return on_grid(self.problem, Grid.of(self.gain, own, price, self.lost, self.margin), Fraction(1))

    def prices(self, mu: NDArray[np.float64]) -> NDArray[np.float64]:
        """What each purchase of the metered instance costs at the multipliers; float64, shape (M' (N + 1),)."""
        rows, k = self.rows, self._by_example
        price = np.zeros((rows.amounts.shape[1], rows.problem.usage.n_rows + 1))
        for q, amounts in enumerate(rows.amounts):
            mine = np.where(rows.limit_of_row == q, mu, 0.0)
            price[:k, :-1] += np.outer(amounts[:k], rows.share.T @ mine)
            price[k:, -1] += amounts[k:] * mine.sum()
        return np.concatenate([price[:, :-1].ravel(), price[:, -1]])

    def solve(self, mu: NDArray[np.float64], *, gap: float = 0.0, time_limit: float = math.inf) -> OraclePruning:
        """Solve (1), or up to a relative gap where that saves time."""
        self.calls += 1
        objective = self.objective(mu)
        if self.shares_prices:
            certificate: SharedPrices | None
            kept, best, certificate = self._shared(objective, gap, time_limit)
        else:
            kept, dual, _ = closure_at(objective, "smallest")
            charged = objective.profits()
            np.subtract.at(charged, self.problem.usage.arcs().tail, dual)
            best, certificate = int(climb(self.problem.ensemble.parent, charged, self.problem.ensemble.is_split)), None
        return OraclePruning(mu, self.groups.kept(kept), self.bound_of(best, objective.unit, mu), certificate)

    def bound_of(self, best: int, unit: Fraction, mu: NDArray[np.float64]) -> float:
        """(1) where no closure is worth more than `best`, rounded down."""
        spent = sum((Fraction(float(x)) * self.rows.room(r) for r, x in enumerate(mu) if x), Fraction(0))
        return rounded_down(self.roots - best * unit - spent)

    def _shared(self, objective: IntegerObjective, gap: float, time_limit: float) -> tuple[NDArray[np.bool_], int, SharedPrices]:
        """By price sharing, from the scores of the last multipliers."""
        goal = StopRule(time.perf_counter() + time_limit, gap, self.params.sharing_rounds, SharingParams.small_core)
        with ThreadPoolExecutor(1) as pool:
            rows = LocalRows(objective, pool, SharingParams())
            run, _, _ = run_to_goal(rows, goal, ties="smallest", start=self.scores, checkpoint=None, progress=False)
        self.scores = Scores(run.scores().score, SharingParams.warm_start_iteration)
        return run.best_kept, run.bound, proof_for_forest(run.certificate(), self.groups, self.rows.metered)

    def uses(self, kept: NDArray[np.bool_]) -> NDArray[np.float64]:
        """What a pruning uses of every row beyond what is used in any case, up to rounding errors; float64, shape (R,)."""
        rows, usage, k = self.rows, self.rows.metered.usage, self._by_example
        paid = usage.paid_by(kept)
        bought = paid[: -usage.costs.n_items].reshape(-1, rows.problem.usage.n_rows)[:k]
        needed = usage.once(kept)[k:]
        found: NDArray[np.float64] = self.own @ kept.astype(np.float64)
        for q, amounts in enumerate(rows.amounts):
            mine = rows.limit_of_row == q
            used = rows.share @ (amounts[:k] @ bought) + amounts[k:] @ needed
            found += np.where(mine, used, 0.0)
        return found
