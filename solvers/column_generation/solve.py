"""Dantzig-Wolfe decomposition of IP3's relaxation (NWS15 section 5), from an instance to a proven pruning.

Columns are prunings of single trees, the coupling rows y_u <= w_j stay in the master (LP3, LP4). The relaxation is integral, so
at the end the best level set of the master's mixture of columns is an optimal pruning. The charges of the best bound, rounded to
integers, are the certificate.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Solution
from formulations.arguments import NotNegative, Seconds, checked
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.interruptions import interruption_as_error
from solvers.closures.duals import proven_bound
from solvers.closures.integer_objective import integer_objective, useful_rate
from solvers.closures.tree_pass import free_of_charge
from solvers.column_generation.bundle import BundleMaster
from solvers.column_generation.coupling import Coupling
from solvers.column_generation.full_master import FullMaster
from solvers.column_generation.history import Round
from solvers.column_generation.incumbent import Incumbent
from solvers.column_generation.loop import generate_columns
from solvers.column_generation.pricing import PricingMethod, TreePricing, columns_of
from solvers.column_generation.scheme import BUNDLE, Scheme
from solvers.column_generation.soft_prices import SoftPrices
from solvers.column_generation.start import Start, share_prices
from solvers.programs.rounding import is_integral

PROVEN = 1e-6
"""A solution counts as optimal up to this relative gap, or up to the requested gap if that is larger."""


@checked
def dantzig_wolfe(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    gap: NotNegative = 1e-9,
    rounds: NotNegative = math.inf,
    pricing: PricingMethod = "shortest paths",
    scheme: Scheme = BUNDLE,
    progress: Callable[[Round], None] | None = None,
) -> Solution:
    """The optimum by Dantzig-Wolfe decomposition of IP3's relaxation.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds, including the start. When they are over, the call returns the best pruning and the best bound so far.
    gap
        stop at this relative gap. The status is OPTIMAL if the final gap is at most the larger of it and 1e-6.
    rounds
        largest number of solves of the master.
    pricing
        "shortest paths": every tree's cheapest pruning as a shortest path, by OR-Tools' minimum cost flow. "tree pass": by
        our own pass over the trees, which is faster.
    scheme
        `BUNDLE`, `SMOOTHED`, `PLAIN`, `AFTER_PRICE_SHARING`, or any other `Scheme`.
    progress
        called after every round.

    Returns
    -------
    Solution
        with `ItemLoads` as certificate. Columns of ``history``, one number for each round, in (OBJ): the fields of
        `solvers.column_generation.history.Round`.

    Raises
    ------
    InvalidInputError
        for numbers out of range and arrays of the wrong size.
    SolverFailedError
        if HiGHS fails, or if pricing returns a column that the master already has.
    InterruptedSolveError
        if Ctrl-C arrived meanwhile.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01)
    >>> print(f"value {solution.value:.5f}, gap at most 1e-9: {solution.gap <= 1e-9}")
    value 0.18343, gap at most 1e-9: True
    """
    rate = exact(lam, "lam")
    with interruption_as_error("during Dantzig-Wolfe decomposition"):
        run = _DantzigWolfe(problem, float(useful_rate(problem, rate)), scheme, pricing)
        return run.solve(lam, time_limit, gap, rounds, progress)


class _DantzigWolfe:
    """One run of the decomposition."""

    def __init__(self, problem: PruningProblem, rate: float, scheme: Scheme, pricing: PricingMethod) -> None:
        self.started = time.perf_counter()
        self.problem, self.scheme = problem, scheme
        self.coupling = Coupling.build(problem, rate, merge=scheme.merge)
        self.incumbent = Incumbent(Pruning(problem, free_of_charge(problem, "smallest")), rate)
        self.pricing = TreePricing(self.coupling, pricing, self.incumbent if scheme.look else None)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.started

    def solve(
        self, lam: float, time_limit: float, gap: float, rounds: float, progress: Callable[[Round], None] | None
    ) -> Solution:
        """Find first columns, generate the others, and prove the bound."""
        start = self.start(gap, time_limit)
        start_seconds = self.seconds
        master = self.master(start)
        master.add(start.columns)
        found = generate_columns(
            master,
            self.pricing,
            reference=self.coupling.reference,
            gap=gap,
            tolerance=master.tolerance,
            time_limit=time_limit - start_seconds,
            rounds=rounds,
            smoothing=self.scheme.smoothing,
            best=(start.charge, start.bound) if isinstance(master, BundleMaster) else None,
            known=start.columns,
            judge=master.judge if isinstance(master, BundleMaster) else None,
            progress=progress,
        )
        if master.y is not None:
            self.incumbent.offer_levels(master.y)
        pruning, rate = self.incumbent.pruning, exact(lam, "lam")
        objective = integer_objective(self.problem, rate).refined()
        duals = self.coupling.duals(np.zeros(self.coupling.n_rows) if found.charge is None else found.charge, objective)
        bound = proven_bound(self.problem, objective, duals, pruning, rate)
        stats = {
            "seconds": self.seconds,
            "start_seconds": start_seconds,
            "start_rounds": float(start.rounds),
            **found.stats(),
            "columns": float(master.n_columns),
            "rows": float(master.n_rows),
            "coupling_rows": float(self.coupling.n_rows),
            "iterations": master.iterations,
        }
        if master.y is not None:
            stats["integral"] = float(is_integral(master.y))
        value = pruning.value(float(lam))
        tolerance, history = max(gap, PROVEN), found.history()
        return Solution(
            self.problem, lam, pruning, value, bound, found.stopped, tolerance, duals, stats, "dantzig_wolfe", history
        )

    def master(self, start: Start) -> BundleMaster | FullMaster:
        """The restricted master, still without columns."""
        if self.scheme.master == "bundle":
            return BundleMaster(self.coupling, self.incumbent, start.score, start.bound)
        return FullMaster(self.coupling, self.incumbent if self.scheme.look else None)

    def start(self, gap: float, time_limit: float) -> Start:
        """The first charges, their bound and the first columns."""
        soft = SoftPrices(self.coupling)
        if self.scheme.start:
            return share_prices(soft, self.incumbent, rounds=self.scheme.start, gap=gap, time_limit=time_limit)
        unpruned = self.problem.ensemble.is_split
        both = [*columns_of(self.coupling, np.zeros_like(unpruned)), *columns_of(self.coupling, unpruned)]
        score = np.zeros(unpruned.size)
        charge, bound = soft.shares(score)[0], -math.inf
        if self.scheme.master == "bundle":
            found = self.pricing.price(charge)
            charge, bound = found.charge, found.bound
            both += [*columns_of(self.coupling, self.incumbent.pruning.kept), *found.columns]
        return Start(score, charge, bound, list({c.key: c for c in both}.values()), 0)
