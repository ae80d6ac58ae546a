"""BudgetPrune, Algorithm 1 of BP16: subgradient ascent in the dual values beta of the coupling rows.

    1  beta <- start
    2  y <- best closure of every single tree at the charges of beta;  w_j = 0 or 1 by the sign of mu_j   (1), (2) of `duals`
    3  beta <- [beta + gamma d]_+,  d = y - w, the subgradient of L                                 (3), (4) of `duals`
    4  go to 2 until the duality gap is small enough

Every iterate gives a pruning y, whose value is at least the optimum, and a bound L(beta), which is at most the optimum. Level
sets of averaged iterates are prunings too. The best value and the best bound are kept.

The paper has steps 1 to 4 from beta = 0: ``primal_dual(..., start="zeros", averaging=1, step="constant", merge=False)``. It does
not say how to choose gamma, nor w where mu = 0. Ours are Polyak's step (7), averaged directions (`duals`), level sets, and
a start from equal shares of the prices, because at zeros, far from optimal, no tree is charged. Also ours: purchases with the
same users are merged, and prices are cut to the sum of all gains, above which nothing is ever bought. The step sizes are

    constant    gamma_k = c q                                                                       (5)
    sqrt        gamma_k = c q / sqrt(k)                                                             (6)
    polyak      gamma_k = theta (best value - L(beta_k)) / |d_k|^2,   0 < theta <= 2                (7)

q is the mean price lam p_j of a purchase, so that c has no unit; d_k is the direction, k = 1, 2, ... BP16 only speaks of a "step
size gamma". (7) is B. T. Polyak's (*Minimization of unsmooth functionals*, USSR Computational Mathematics and Mathematical
Physics 9, 1969), with the best known value in place of the unknown optimum. That value is too large. So theta is halved (this
rule is ours) whenever the best bound has risen by less than a ten-thousandth of the gap in each of 20 iterations.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from formulations.answers.pruning import Pruning
from formulations.answers.solution import History, Solution, StopReason
from formulations.arguments import Natural, NotNegative, Range, Seconds, checking
from formulations.errors import InterruptedSolveError, InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from formulations.programs.linear_program import usage_columns
from solvers.closures.integer_objective import integer_objective, useful_rate
from solvers.closures.min_cut import integer_duals, proven_bound
from solvers.closures.tree_pass import best_level_set, best_tree_closures, free_of_charge
from solvers.primal_dual.duals import DEFAULTS, Duals, PrimalDualParams, StartRule

Rule = Literal["polyak", "constant", "sqrt"]


@checking
def primal_dual(
    problem: PruningProblem,
    lam: float,
    *,
    time_limit: Seconds = math.inf,
    gap: NotNegative = 1e-3,
    iterations: Natural = 1000,
    step: Rule = "polyak",
    step_size: float | None = None,
    start: StartRule = "shares",
    averaging: Annotated[float, Range(0, 1, open_below=True)] = 0.3,
    merge: bool = True,
    progress: bool = False,
    params: PrimalDualParams = DEFAULTS,
) -> Solution:
    """A pruning and a bound that approach each other by subgradient steps: BudgetPrune of BP16.

    Parameters
    ----------
    lam
        error per unit of cost, >= 0.
    time_limit
        seconds, checked before every iteration.
    gap
        relative gap, see `Solution.relative_gap`, at which to stop, and up to which the solution counts as optimal.
    iterations
        largest number of iterations.
    step
        ``polyak``, ``constant`` or ``sqrt``: (7), (5) or (6) of `solvers.primal_dual.algorithm`.
    step_size
        theta or c of the rule; default that of `solvers.primal_dual.duals`.
    start
        ``shares``: every price in equal shares to its users; ``zeros``: as in the paper.
    averaging
        weight of the newest subgradient in the direction; 1 is the subgradient itself, as in the paper.
    merge
        one dual value for purchases with the same users: the same optimum with half of the arcs.
    progress
        show a progress bar on stderr.
    params
        other numbers than those that the algorithm is tuned by.

    Returns
    -------
    Solution
        the bound is computed again and proven in integers, from the best dual values. Certificate: `ItemDuals`. Columns of
        ``history``, one number for each iteration: ``value`` and ``bound``, best so far; their relative ``gap``;
        ``iterate_value`` and ``iterate_bound``, of this iteration's y and beta alone; ``step``, gamma, 0 if no step was made;
        ``step_size``, theta or c; ``seconds`` since the call. The history's bounds are those of floating point. If lambda is so
        large that a smaller one has the same optima, all numbers are for the smaller one
        (`solvers.closures.integer_objective.useful_rate`).

    Raises
    ------
    InvalidInputError
        for a negative lambda and impossible options.
    InterruptedSolveError
        on Ctrl-C.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.primal_dual(problem, 0.01, gap=0.01)
    >>> solution.relative_gap <= 0.01
    True
    """
    started = time.perf_counter()
    exact_rate = exact(lam, "lam")
    rate = float(useful_rate(problem, exact_rate))
    columns = usage_columns(problem, merge=merge)
    # a purchase that costs more than all gains together is never made
    price = np.minimum(rate * columns.price, float(np.maximum(problem.gain, 0.0).sum()))
    rule = Step(step, step_size, float(price.mean()) if price.size else 0.0, params)
    duals = Duals(columns, price, problem.ensemble.n_nodes, start, params)
    ascent = _Ascent(problem, rate, duals, rule, gap, averaging, started)
    try:
        stopped = _iterate(ascent, started + time_limit, iterations, progress=progress)
    except KeyboardInterrupt as stop:
        raise InterruptedSolveError(f"interrupted in iteration {len(ascent.rows) + 1}; nothing was changed") from stop
    finally:
        duals.close()
    # compare at the requested lambda: at a very large one, only splits that are free of charge can be kept
    free = Pruning(problem, free_of_charge(problem, "smallest"))
    pruning = min(Pruning(problem, ascent.best), free, key=lambda p: p.value(float(lam)))
    objective = integer_objective(problem, exact_rate).refined()
    certificate = integer_duals(problem, objective, columns, duals.best_within_prices())
    bound = proven_bound(problem, objective, certificate, pruning, exact_rate)
    stats = {
        "seconds": time.perf_counter() - started,
        "iterations": float(len(ascent.rows)),
        "arcs": float(duals.node.size),
        "usage_arcs": float(problem.n_usage_arcs),
        "purchases": float(price.size),
    }
    value = pruning.value(float(lam))
    history = ascent.history()
    return Solution(problem, lam, pruning, value, bound, stopped, certificate, stats, "primal_dual", history)


class Step:
    """One of the rules (5) to (7), with its state."""

    def __init__(self, rule: Rule, size: float | None, mean_price: float, params: PrimalDualParams) -> None:
        size = {"polyak": params.polyak, "constant": params.constant, "sqrt": params.sqrt}[rule] if size is None else size
        if not 0 < size < math.inf or (rule == "polyak" and size > 2):
            raise InvalidInputError(f"step_size is {size}; give a number > 0, for polyak at most 2")
        self.rule, self.params = rule, params
        self.size = self.first_size = size
        self.mean_price = mean_price
        self._stalled = 0

    def record(self, rise: float, gap: float) -> None:
        """Record an iteration: by how much it raised the best bound, and the gap after it."""
        self._stalled = 0 if rise > 1e-4 * gap else self._stalled + 1
        if self.rule == "polyak" and self._stalled >= self.params.most_stalled:
            self.size = max(self.size / 2, self.params.least_size_share * self.first_size)
            self._stalled = 0

    def length(self, k: int, missing: float, norm: float) -> float:
        """gamma_k, where `missing` is the best value - L(beta_k) and `norm` is |d_k|^2; 0 if the direction is zero."""
        if norm == 0.0:
            return 0.0
        if self.rule == "polyak":
            return self.size * max(missing, 0.0) / norm
        return self.size * self.mean_price / (math.sqrt(k) if self.rule == "sqrt" else 1.0)


class _Ascent:
    """The state of one run: the dual values, the averages, the best value and the best bound."""

    def __init__(
        self, problem: PruningProblem, rate: float, duals: Duals, step: Step, gap: float, averaging: float, started: float
    ) -> None:
        self.problem, self.rate, self.duals, self.step = problem, rate, duals, step
        self.gap, self.averaging, self.started = gap, averaging, started
        self.profit = problem.gain - rate * problem.usage.evaluation_price
        self.roots = Pruning.all_roots(problem).error
        n = problem.ensemble.n_nodes
        self.keep = np.zeros(n, dtype=np.bool_)
        self.y_mean = np.zeros(n)  # a mean that favours recent iterates, for the direction
        self.y_sum = np.zeros(n)  # the sum of all iterates, weighted by k
        self.best = free_of_charge(problem, "smallest")
        self.value = Pruning(problem, self.best).value(rate)
        self.bound = -math.inf
        self.rows: list[tuple[float, ...]] = []

    @property
    def relative_gap(self) -> float:
        """As in `Solution.relative_gap`."""
        if self.value - self.bound <= 1e-12 * self.roots:
            return 0.0
        return (self.value - self.bound) / (self.roots - self.bound) if self.bound > -math.inf else math.inf

    @property
    def converged(self) -> bool:
        """Whether the requested gap is reached, with a small margin because the bound proven in integers is slightly lower."""
        return self.relative_gap <= self.gap * (1 - 1e-6)

    def iterate(self, k: int) -> None:
        """Make the steps 2 and 3."""
        ensemble, duals = self.problem.ensemble, self.duals
        # step 2: y, by the paper's shortest paths, all trees in one pass; w; and the averages of both
        self.keep, best = best_tree_closures(ensemble.parent, self.profit - duals.charge, ensemble.is_split)
        weight = 1.0 if k == 1 else self.averaging
        self.y_mean += weight * (self.keep - self.y_mean)
        self.y_sum += k * self.keep
        sums = duals.choose_purchases(self.keep, self.y_mean, weight)
        # the bound (1) of `duals`, and the value of y
        bound = self.roots - best + sums.negative
        value = self.roots - float(self.profit[self.keep].sum()) + sums.paid
        self._take_value(self.keep, value)
        if k % self.step.params.level_sets_every == 0:
            self.round(k)
        rise = bound - self.bound
        if rise > 0:
            self.bound = bound
            duals.remember()
        # step 3, unless the gap is small enough
        self.step.record(rise, self.value - self.bound)
        gamma = 0.0 if self.converged else self.step.length(k, self.value - bound, sums.norm)
        seconds = time.perf_counter() - self.started
        self.rows.append((self.value, self.bound, self.relative_gap, value, bound, gamma, self.step.size, seconds))
        if gamma > 0:
            duals.move(gamma, self.y_mean)

    def round(self, k: int) -> None:
        """Value the best level sets of both averages."""
        for y in (self.y_mean, self.y_sum * (2.0 / (k * (k + 1)))):
            pruning = best_level_set(self.problem, y, self.rate)
            self._take_value(pruning.kept, pruning.value(self.rate))

    def _take_value(self, kept: NDArray[np.bool_], value: float) -> None:
        if value < self.value:
            self.best, self.value = kept.copy(), value

    def history(self) -> History:
        """By name, one number for each iteration."""
        names = ["value", "bound", "gap", "iterate_value", "iterate_bound", "step", "step_size", "seconds"]
        table = np.array(self.rows, dtype=np.float64).reshape(-1, len(names))
        return dict(zip(names, table.T, strict=True))


def _iterate(ascent: _Ascent, deadline: float, total: int, *, progress: bool) -> StopReason:
    """Iterate until the gap, the time limit or the number of iterations is reached."""
    form = "{desc}: iteration {n:,} of {total:,}, {elapsed}{postfix}"
    hidden = not progress
    with tqdm(desc="primal-dual", total=total, bar_format=form, file=sys.stderr, leave=False, disable=hidden, delay=1) as bar:
        for k in range(1, total + 1):
            if time.perf_counter() >= deadline:
                return StopReason.TIME_LIMIT
            ascent.iterate(k)
            bar.update()
            bar.set_postfix_str(f"gap {ascent.relative_gap:.1e}", refresh=False)
            if ascent.converged:
                return StopReason.CONVERGED
    return StopReason.ITERATION_LIMIT
