"""A solver's answer: a pruning, its value, and what was proven.

Everything is a minimisation of (OBJ), see `formulations.instance.problem`:  bound <= optimum <= value,  gap = value - bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning, before_and_after
from formulations.instance.numbers import float_rounding, is_rounding
from formulations.instance.problem import PruningProblem
from formulations.memory import readable
from formulations.shown import Brief, Card, Shown


class Status(StrEnum):
    """What is known of the pruning.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.solve(problem, lam=0.01)
    >>> solution.status is pm.engines.Status.OPTIMAL
    True
    """

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    UNKNOWN = "unknown"


def open_share(problem: PruningProblem, gap: float, bound: float) -> float:
    """The gap as a share of what can be gained beyond the all-roots forest: 0 where floats hide it.

    inf where nothing can be gained, or where nothing is proven.
    """
    if bound == -math.inf:
        return math.inf
    if gap <= float_rounding(problem.largest_error):
        return 0.0
    attainable = float(problem.roots_error) - bound
    return gap / attainable if attainable > 0 else math.inf


def rounding_in_words(gap: float, value: float) -> str:
    """What an optimal answer says of the rounding, empty where that is nothing."""
    return f" up to a rounding of {gap / abs(value) if value else gap:.1g} of it" if gap > 0 else ""


class StopReason(StrEnum):
    """Why the solver stopped.

    STALLED: floating point hides further progress, and the gap is above the one that was asked for.
    MEMORY_LIMIT: what is left to decide takes a minimum cut, which does not fit into the memory that is free.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01, rounds=2)
    >>> solution.stopped is pm.engines.StopReason.ITERATION_LIMIT
    True
    """

    CONVERGED = "converged"
    STALLED = "stalled"
    TIME_LIMIT = "time limit"
    ITERATION_LIMIT = "iteration limit"
    MEMORY_LIMIT = "memory limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, eq=False, repr=False)
class ItemDuals(Brief):
    """Dual values of the coupling rows: how the price of every purchase is shared out among the splits that need it.

    ``dual[k] * unit`` is the part of the purchase `head[k]` that the split `tail[k]` pays, in (OBJ), arcs in the
    canonical order of `formulations.instance.usage_arcs`. Where no more than lam times its price is paid for any purchase,

        OPT >= error of the all-roots forest - sum over trees of (best closure of the tree, each split's profit less its duals)
    """

    dual: NDArray[np.int64]
    unit: Fraction
    lam: Fraction


@dataclass(frozen=True, eq=False, repr=False)
class FixingStage(Brief):
    """Splits that were decided by reduced costs.

    The price of every purchase that no split fixed in before has paid is shared among the open splits that need it in proportion
    to exp(score). Under these shares the best closure with one of `fixed_in` forced out, or one of `fixed_out` forced in, is
    worse than the solution's pruning.
    """

    # nodes, score: int32 and float32, shape (k,): the splits that pay prices, and their scores
    nodes: NDArray[np.int32]
    score: NDArray[np.float32]
    # fixed_in, fixed_out: int32: the splits that are decided here
    fixed_in: NDArray[np.int32]
    fixed_out: NDArray[np.int32]
    iteration: int = 0  # at which they were decided; for warm starts


@dataclass(frozen=True, eq=False, repr=False)
class SharedPrices(Brief):
    """Scores, the splits that they decide, and a flow on the splits that stay open."""

    stages: tuple[FixingStage, ...]  # in their order
    # nodes, score: int32 and float32, shape (k,): the splits that stay open, and their scores: they prove the bound of a run that
    # stopped before its core was cut
    nodes: NDArray[np.int32]
    score: NDArray[np.float32]
    # int64: the flow on the usage arcs of `nodes`, canonical order, in `unit`; None where the core was not cut
    dual: NDArray[np.int64] | None
    # unit, lam: as in `ItemDuals`
    unit: Fraction
    lam: Fraction
    iteration: int = 0  # number of iterations; for warm starts


Certificate = ItemDuals | SharedPrices

History = Mapping[str, NDArray[np.float64]]
"""What happened round by round: columns by name."""


@dataclass(frozen=True, eq=False)
class Solution(Shown):
    """The answer of an engine to one problem and one lambda.

    Parameters
    ----------
    lam
        as it was asked for.
    pruning
        the best pruning found, or None.
    value
        error + lam * cost of `pruning`, computed from the problem; inf without one.
    bound
        proven lower bound of the optimum; minus infinity of an engine that proves nothing.
    certificate
        what proves the bound.
    stats
        seconds, iterations, arcs ...: for reports only.
    method
        the engine that gave the answer, as in `solvers.SOLVERS` where it is there; "" if it does not say.
    history
        by name one number for each round, float64 arrays of the same length: a table as ``pandas.DataFrame(history)``. Engines
        that proceed in rounds say which columns; each has ``gap``, relative, and ``seconds`` since the start. Empty for others.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.solve(problem, lam=0.01)
    >>> solution
    Solution(optimal, value=0.183433333, bound=0.183433333, Pruning(cost=13.4933, error=0.0485, 43 splits))
    >>> print(solution.status, solution.value == solution.bound)
    optimal True
    """

    problem: PruningProblem
    lam: float | Fraction
    pruning: Pruning | None
    value: float
    bound: float
    stopped: StopReason = StopReason.CONVERGED
    certificate: Certificate | None = None
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""
    history: History = field(default_factory=dict)

    @property
    def gap(self) -> float:
        """Value - bound, >= 0; inf without a pruning or a bound."""
        return self.value - self.bound

    @property
    def relative_gap(self) -> float:
        """Gap / (value of the all-roots forest - bound): the share of the attainable gain that is still open; 0 for gap 0.

        A gap below 1e-12 of the largest error of a pruning is within the rounding of `value` and `bound` and counts as 0. inf
        where nothing can be gained beyond the all-roots forest, and the pruning is worse than that.
        """
        if self.pruning is None:
            return math.inf
        return open_share(self.problem, self.gap, self.bound)

    @property
    def status(self) -> Status:
        """OPTIMAL where no more is open than rounding can hide, see `is_rounding`; else FEASIBLE, UNKNOWN without a pruning."""
        if self.pruning is None:
            return Status.UNKNOWN
        return Status.OPTIMAL if is_rounding(self.gap, self.value, self.problem.largest_error) else Status.FEASIBLE

    def _card(self) -> Card:
        rows = () if self.pruning is None else before_and_after(self.pruning)
        proven = f"error + lambda * cost: {self.value:.9g}; "
        proven += "nothing is proven" if self.bound == -math.inf else f"proven: no pruning has less than {self.bound:.9g}"
        if self.status is Status.OPTIMAL:
            proven += rounding_in_words(self.gap, self.value)
        found: tuple[str, ...] = (f"{proven}.",)
        if self.stopped is StopReason.MEMORY_LIMIT and "core_cut_bytes" in self.stats:
            found += (what_memory_left_open(self.stats, self.gap, self.relative_gap),)
        by = f" by {self.method}" if self.method else ""
        return Card(
            f"Solution at lambda = {float(self.lam):.6g}: {self.status}{by}",
            rows,
            ("", "unpruned", "pruned") if rows else (),
            found if rows else ("No pruning was found.",),
        )

    def __repr__(self) -> str:
        bound = "unproven" if self.bound == -math.inf else f"bound={self.bound:.9g}"
        return f"Solution({self.status}, value={self.value:.9g}, {bound}, {self.pruning!r})"


def what_memory_left_open(stats: Mapping[str, float], gap: float, relative_gap: float) -> str:
    """What `StopReason.MEMORY_LIMIT` left undecided, and what helps, in a few sentences.

    `stats`: of the engine, with ``core_splits``, ``core_usage_arcs`` and ``core_cut_bytes``. `gap`, `relative_gap`: of the
    solution.
    """
    core = (
        f"{int(stats['core_splits']):,} splits are undecided. There is not enough memory to cut their "
        f"{int(stats['core_usage_arcs']):,} usage arcs, which takes some {readable(int(stats['core_cut_bytes']))}."
    )
    if relative_gap == 0.0:
        return f"{core} The value is optimal; whether a pruning of the same value has fewer or more splits is not known."
    return (
        f"{core} It is proven that no pruning is better by more than {gap:.2g} (relative gap {relative_gap:.2g}); more rounds "
        "hardly help. For the optimum give fewer cost rows, or a machine with more memory. With a gap that is good enough, "
        "gap=1e-6, say, a run ends as soon as that is proven."
    )


class Solver(Protocol):
    """The one signature of all engines that minimise (OBJ) for one lambda."""

    def __call__(self, problem: PruningProblem, lam: float, *, time_limit: float = math.inf) -> Solution:
        """Minimise error + lam * cost; lam >= 0 in the units of (OBJ), time_limit in seconds."""
        ...
