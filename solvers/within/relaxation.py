"""The relaxation of LP1 with any number of limits: multipliers by cutting planes, the optimum as a mixture of few prunings.

    minimise  sum_k alpha_k error_k                                                                                         (1)
    limits       sum_k alpha_k use_{r,k} <= B_r          for every row r                 dual -mu_r <= 0                    (2)
    convexity    sum_k alpha_k = 1                                                                                          (3)

A column k is a pruning of the whole forest. IP3's polytope has integral vertices, so each of its points is a mixture of prunings,
and an optimum of (1) to (3) mixes at most one more than there are tight limits. Columns come from two sources. A closure at
multipliers near the master's gives one, and the bound D(mu) of (5). And the mixture itself gives some: error
is modular and every use is submodular in the kept splits, so for prunings K and L

    error(K u L) + error(K n L) = error(K) + error(L),        use_r(K u L) + use_r(K n L) <= use_r(K) + use_r(L)            (4)

and the level sets of sum_k alpha_k y_k, which are nested, mix to the same error and use no more of anything. They cost no
closure.

A limit on every example has a row for each; the master gets those that its mixture breaks.

For a core the same master runs over the closures that were met. Its duals are the multipliers at which the next closure may lower
the bound; where it has found them all, its value is the bound, and its optimum mixes the closures of few prunings. Closures of a
core are closures of what branching leaves of it where they agree with what was decided.

One closure at given multipliers proves a bound,

    D(mu)  =  min over prunings of  error + sum_r mu_r (use_r - B_r)   <=   the least error within the limits                (5)

for every mu >= 0. A purchase costs sum_r mu_r amount_{r,j} and a split sum_r mu_r amount_{r,h}, so (5) is a maximum closure like
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
from scipy import optimize, sparse

from formulations.answers.nested_prunings import level_sets
from formulations.answers.pruning import Pruning
from formulations.answers.solution import SharedPrices, StopReason
from formulations.errors import SolverFailedError
from formulations.programs.limit_rows import LimitRows
from solvers.closures.integer_objective import Grid, IntegerObjective, on_grid
from solvers.closures.min_cut import closure_at
from solvers.closures.tree_pass import climb, free_of_charge, without_prices
from solvers.price_sharing.loop import StopRule, run_to_goal
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.rows import LocalRows, Scores
from solvers.price_sharing.solve import proof_for_forest
from solvers.within.by_path import error_of, rounded_down
from solvers.within.core import KnapsackCore
from solvers.within.edge import BudgetEdge
from solvers.within.params import WithinParams


@dataclass(frozen=True, eq=False)
class OraclePruning:
    """A best pruning by (5), the value of (5) that is proven, and what proves it."""

    mu: NDArray[np.float64]  # float64, shape (R,): the multipliers
    kept: NDArray[np.bool_]  # bool, shape (n,), over the nodes of the user's forest
    bound: float  # (5), proven
    certificate: SharedPrices | None  # on the usage arcs of the metered instance; its lambda is 1; None: of a cut


class LagrangianOracle:
    """Solves (5) for any multipliers, and counts uses in floating point, for searches."""

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
        """The profits and prices of (5) in integers."""
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
        """Solve (5), or up to a relative gap where that saves time."""
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
        """(5) where no closure is worth more than `best`, rounded down."""
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


LEAST_UNIT = 1e-9
"""Rows of the master are in units of their limits, or of this share of the largest use of a column."""


@dataclass(frozen=True, eq=False)
class Column:
    """A pruning, its error, and what it uses of every row; float64, shape (R,)."""

    kept: NDArray[np.bool_]
    error: float
    use: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class LimitsRelaxation:
    """The relaxation's optimum."""

    value: float  # error of the mixture, up to rounding errors; inf where the mixture breaks a row
    proof: OraclePruning  # the closure of the best bound
    # float64, shape (R,): by how much the error falls for another unit of each limit, at the master's optimum.
    mu: NDArray[np.float64]
    mixture: tuple[tuple[Column, float], ...]  # prunings with their weights, which sum to 1
    columns: tuple[Column, ...]  # all that were found on the way
    rounds: int  # closures
    stopped: StopReason

    @property
    def bound(self) -> float:
        """Proven."""
        return self.proof.bound


def best_mixture(
    error: NDArray[np.float64], use: NDArray[np.float64], room: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """(1) to (3): the weights of the columns, float64, shape (c,), and the multipliers of the limits, shape (R,).

    None where no mixture fits.

    `error`, `use`, `room`: float64, shape (c,), (c, R) and (R,).
    """
    unit = np.maximum(room, LEAST_UNIT * use.max(axis=0, initial=0.0))
    unit[unit == 0.0] = 1.0
    scale = float(error.max() - error.min()) or 1.0
    found = optimize.linprog(
        (error - error.min()) / scale,
        A_ub=(use / unit).T if room.size else None,
        b_ub=room / unit if room.size else None,
        A_eq=np.ones((1, error.size)),
        b_eq=np.ones(1),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if found.status == 2:  # infeasible
        return None
    if found.x is None:
        raise SolverFailedError(f"HiGHS ended a master over prunings with the status {found.status}: {found.message}")
    weights = np.maximum(found.x, 0.0)
    mu = np.maximum(-found.ineqlin.marginals, 0.0) * scale / unit if room.size else np.zeros(0)
    return weights / max(float(weights.sum()), 1e-300), mu


class LimitsMaster:
    """(1) to (3) on some rows."""

    def __init__(self, oracle: LagrangianOracle) -> None:
        self.oracle = oracle
        self.columns: list[Column] = []
        self._known: set[bytes] = set()
        self.at_most = oracle.rows.at_most
        self.active = np.flatnonzero(~oracle.rows.made_when_broken)
        self.alpha, self.mu, self.value = np.zeros(0), np.zeros(self.at_most.size), math.inf

    def add(self, kept: NDArray[np.bool_]) -> bool:
        """Add a pruning; whether it is new."""
        key = np.packbits(kept).tobytes()
        if key in self._known:
            return False
        self._known.add(key)
        error = error_of(Pruning(self.oracle.user_problem, kept))
        self.columns.append(Column(kept, error, self.oracle.uses(kept)))
        return True

    def solve(self) -> None:
        """The optimum of (1) to (3) over the columns, and its duals."""
        error = np.array([c.error for c in self.columns])
        use = np.array([c.use[self.active] for c in self.columns]).reshape(error.size, self.active.size)
        found = best_mixture(error, use, self.at_most[self.active])
        assert found is not None, "the pruning that is free of charge fits"
        self.alpha, mu = found
        self.value = float(self.alpha @ error)
        self.mu = np.zeros(self.at_most.size)
        self.mu[self.active] = mu

    def enrich(self) -> None:
        """(4), until it finds nothing new."""
        for _ in range(self.oracle.params.most_enriched):
            parts = [a * c.kept for c, a in zip(self.columns, self.alpha, strict=True) if a > 1e-12]
            sets = list(level_sets(self.oracle.user_problem, np.round(sum(parts, np.zeros(parts[0].size)), 9)))[:-1]
            if sum(self.add(pruning.kept) for pruning in reversed(sets)) == 0:
                return
            self.solve()

    def broken(self) -> NDArray[np.int64]:
        """The rows that the mixture breaks and that are not active, the most broken ones."""
        used = np.array([c.use for c in self.columns]).T @ self.alpha
        size = np.maximum(self.at_most, 1e-12 * used)
        over = (used - self.at_most) / np.where(size > 0, size, 1.0)
        over[self.active] = 0.0
        worst = np.argsort(-over, kind="stable")[: self.oracle.params.most_new_rows]
        return worst[over[worst] > 1e-7]

    def mixture(self) -> tuple[tuple[Column, float], ...]:
        """The columns with a weight."""
        return tuple((c, float(a)) for c, a in zip(self.columns, self.alpha, strict=True) if a > 0)


def relax(oracle: LagrangianOracle, *, deadline: float = math.inf) -> LimitsRelaxation:
    """Solve (1) to (3) up to a gap relative to the error of the all-roots forest less the bound.

    Multipliers are tried between the master's and those of the best bound, and at the master's own where that brings nothing.

    `deadline`: of `time.perf_counter`.
    """
    params, problem, master = oracle.params, oracle.rows.metered, LimitsMaster(oracle)
    for kept in (free_of_charge(problem, "smallest"), without_prices(problem, "smallest")):
        master.add(kept)
    best, roots = oracle.solve(np.zeros(master.at_most.size)), float(oracle.roots)
    rounds, stopped, exact = 0, StopReason.CONVERGED, True
    while True:
        # the best mixture of the columns so far; where it is good enough, rows that it breaks
        master.solve()
        master.enrich()
        span = max(roots - best.bound, 1e-300)
        open_gap = (master.value - best.bound) / span
        if open_gap <= params.relaxation_gap or master.value - best.bound <= params.relaxation_rounding * roots:
            new = master.broken()
            if new.size == 0:
                break
            master.active, exact = np.union1d(master.active, new), True
            continue
        late = rounds >= params.relaxation_rounds
        if late or time.perf_counter() >= deadline:
            stopped = StopReason.ITERATION_LIMIT if late else StopReason.TIME_LIMIT
            break
        # a closure at multipliers between the master's and the best ones, and its bound
        mu = master.mu if exact else params.smoothing * best.mu + (1 - params.smoothing) * master.mu
        found = oracle.solve(mu, gap=min(1e-3, params.inexact * open_gap), time_limit=max(0.0, deadline - time.perf_counter()))
        rounds += 1
        # where that brings nothing, the master's own multipliers are tried next
        if not master.add(found.kept) and found.bound <= best.bound:
            if exact:
                stopped = StopReason.STALLED
                break
            exact = True
        else:
            exact = False
        best = max(best, found, key=lambda priced: priced.bound)
    value = master.value if master.broken().size == 0 else math.inf
    return LimitsRelaxation(value, best, master.mu, master.mixture(), tuple(master.columns), rounds, stopped)


LEAST_MULTIPLIER = 1e-9
"""Multipliers below this share of the largest, each times its limit's room, count as 0."""


@dataclass(frozen=True)
class ClosureColumn:
    """A closure by its splits in the reduced forest, as bytes of int32, ascending, with those that a core has taken."""

    splits: bytes

    @property
    def nodes(self) -> NDArray[np.int32]:
        """The splits."""
        return np.frombuffer(self.splits, dtype=np.int32)


def columns_of(core: KnapsackCore, edge: BudgetEdge) -> list[ClosureColumn]:
    """The closures that an edge met."""
    taken = np.concatenate([core.nodes[:0], *core.taken])
    return [ClosureColumn(np.sort(np.concatenate([taken, met])).astype(np.int32).tobytes()) for met in edge.met]


def still_columns(core: KnapsackCore, columns: tuple[ClosureColumn, ...]) -> list[ClosureColumn]:
    """Those that agree with what a core has taken and pruned."""
    taken = np.concatenate([core.nodes[:0], *core.taken])
    allowed = np.union1d(taken, core.nodes)
    found = []
    for column in columns:
        nodes = column.nodes
        if np.isin(taken, nodes, assume_unique=True).all() and np.isin(nodes, allowed, assume_unique=True).all():
            found.append(column)
    return found


@dataclass(frozen=True, eq=False)
class CoreMixture:
    """The best mixture of closures of a core, the empty one among them."""

    y: NDArray[np.float64]  # float64, shape (k,): how far each split is kept
    mu: NDArray[np.float64]  # float64, shape (R,): the limits' multipliers, in integer gain per unit of use in the core


def _mixture(core: KnapsackCore, columns: tuple[ClosureColumn, ...]) -> CoreMixture | None:
    """None where no mixture keeps to the limits: in a window what is taken may exceed one."""
    assert core.uses is not None
    keep = np.array([np.isin(core.nodes, column.nodes, assume_unique=True) for column in columns])
    keep = np.vstack([keep.reshape(len(columns), core.nodes.size), np.zeros((1, core.nodes.size), dtype=bool)])
    use = np.array([core.uses.by(k, core.used(k)) for k in keep])
    found = best_mixture(-(keep @ core.gain.astype(np.float64)), use, core.uses.room + core.uses.same)
    return None if found is None else CoreMixture(found[0] @ keep.astype(np.float64), found[1])


def best_direction(core: KnapsackCore, columns: tuple[ClosureColumn, ...], gain_unit: Fraction) -> NDArray[np.float64] | None:
    """Multipliers in error per unit of each limit, float64, shape (R,); None where no limit has one."""
    assert core.uses is not None
    mixture = _mixture(core, columns)
    if mixture is None:
        return None
    mu = mixture.mu
    size = mu * np.abs(core.uses.room)
    mu[size <= LEAST_MULTIPLIER * size.max(initial=0.0)] = 0.0
    return mu * core.uses.scale * float(gain_unit) if mu.any() else None


def halved(core: KnapsackCore, columns: tuple[ClosureColumn, ...]) -> int:
    """The place of the split that the best mixture keeps nearest to one half; one of most gain where it keeps none in part."""
    mixture = _mixture(core, columns)
    y = np.zeros(core.nodes.size) if mixture is None else mixture.y
    part = np.round(np.minimum(y, 1.0 - y), 9)
    return int(np.lexsort((-core.gain, -part))[0])
