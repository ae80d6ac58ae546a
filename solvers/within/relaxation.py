"""The relaxation of LP1 with any number of limits: multipliers by cutting planes, the optimum as a mixture of few prunings.

    minimise  sum_k alpha_k error_k                                                                                         (1)
    limits       sum_k alpha_k use_{r,k} <= B_r          for every row r                 dual -mu_r <= 0                    (2)
    convexity    sum_k alpha_k = 1                                                                                          (3)

A column k is a pruning of the whole forest. IP3's polytope has integral vertices, so each of its points is a mixture of prunings,
and an optimum of (1) to (3) mixes at most one more than there are tight limits. Columns come from two sources. A closure at
multipliers near the master's gives one, and the bound D(mu) of `solvers.within.prover`. And the mixture itself gives some: error
is modular and every use is submodular in the kept splits, so for prunings K and L

    error(K u L) + error(K n L) = error(K) + error(L),        use_r(K u L) + use_r(K n L) <= use_r(K) + use_r(L)            (4)

and the level sets of sum_k alpha_k y_k, which are nested, mix to the same error and use no more of anything. They cost no
closure.

A limit on every example has a row for each; the master gets those that its mixture breaks.

For a core the same master runs over the closures that were met. Its duals are the multipliers at which the next closure may lower
the bound; where it has found them all, its value is the bound, and its optimum mixes the closures of few prunings. Closures of a
core are closures of what branching leaves of it where they agree with what was decided.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from formulations.answers.nested_prunings import level_sets
from formulations.answers.pruning import Pruning
from formulations.answers.solution import StopReason
from formulations.errors import SolverFailedError
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.within.by_path import error_of
from solvers.within.core import KnapsackCore
from solvers.within.edge import BudgetEdge
from solvers.within.prover import LagrangianOracle, OraclePruning


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
    # rows of the master are in units of their limits, or of a share of the largest use of a column
    unit = np.maximum(room, 1e-9 * use.max(axis=0, initial=0.0))
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
    mu[size <= 1e-9 * size.max(initial=0.0)] = 0.0
    return mu * core.uses.scale * float(gain_unit) if mu.any() else None


def halved(core: KnapsackCore, columns: tuple[ClosureColumn, ...]) -> int:
    """The place of the split that the best mixture keeps nearest to one half; one of most gain where it keeps none in part."""
    mixture = _mixture(core, columns)
    y = np.zeros(core.nodes.size) if mixture is None else mixture.y
    part = np.round(np.minimum(y, 1.0 - y), 9)
    return int(np.lexsort((-core.gain, -part))[0])
