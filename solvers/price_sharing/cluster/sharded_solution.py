"""The answer of a run whose rows are at workers; it becomes an ordinary `Solution` where the whole instance is at hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning import Pruning
from formulations.answers.solution import SharedPrices, Solution, Status, StopReason
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from solvers.closures.duals import bound_of_closure
from solvers.closures.integer_objective import IntegerObjective
from solvers.price_sharing.cluster.sharded_problem import ShardedProblem


@dataclass(frozen=True, eq=False)
class ShardedSolution:
    """A pruning, its value, and its proof; error, cost and bound are exact in the integers of the instance.

    Parameters
    ----------
    kept
        bool, shape (n,): the splits kept.
    error, cost
        of that pruning; the cost is what all rows pay.
    bound
        proven lower bound of the optimum.
    roots
        error of the all-roots forest.
    objective
        (OBJ) in the integers of the run.
    best
        no closure is worth more in these integers.
    tolerance, certificate, stopped, stats
        as of `formulations.Solution`.
    """

    problem: ShardedProblem
    lam: float | Fraction
    kept: NDArray[np.bool_]
    error: Fraction
    cost: Fraction
    bound: Fraction
    roots: Fraction
    objective: IntegerObjective
    best: int
    stopped: StopReason
    tolerance: float
    certificate: SharedPrices
    stats: Mapping[str, float]

    @property
    def value(self) -> Fraction:
        """(OBJ): error + lambda * cost."""
        return self.error + exact(self.lam, "lam") * self.cost

    @property
    def relative_gap(self) -> float:
        """Gap / (value of the all-roots forest - bound): the share of the attainable gain that is not yet proven; 0 for gap 0."""
        return 0.0 if self.value <= self.bound else float((self.value - self.bound) / (self.roots - self.bound))

    @property
    def status(self) -> Status:
        """OPTIMAL where the relative gap is at most `tolerance`."""
        return Status.OPTIMAL if self.relative_gap <= self.tolerance else Status.FEASIBLE

    def on(self, problem: PruningProblem) -> Solution:
        """The answer as one to the whole instance, which `proofs_checks.check_solution` can check.

        Parameters
        ----------
        problem
            the same forest, errors, costs and rows, these in the order of the parts.

        Raises
        ------
        InvalidInputError
            for an instance of another size or other integers.
        """
        ours, theirs = self.problem.driver, problem
        rows = int(self.problem.n_rows.sum())
        same = ours.ensemble.n_nodes == theirs.ensemble.n_nodes and rows == theirs.n_rows
        if not (
            same
            and np.array_equal(ours.integers.gain, theirs.integers.gain)
            and np.array_equal(ours.integers.price, theirs.integers.price)
            and np.array_equal(self.problem.start, theirs.routing.start)
            and ours.integers.price_unit == theirs.integers.price_unit
        ):
            raise InvalidInputError(
                f"problem has {theirs.ensemble.n_nodes:,} nodes and {theirs.n_rows:,} cost rows, the solution is about "
                f"{ours.ensemble.n_nodes:,} and {rows:,}; give the instance of all parts, in their order"
            )
        pruning = Pruning(problem, self.kept)
        bound = bound_of_closure(problem, self.objective, self.best, pruning, exact(self.lam, "lam"))
        value = pruning.value(float(self.lam))
        stats = dict(self.stats)
        return Solution(
            problem, self.lam, pruning, value, bound, self.stopped, self.tolerance, self.certificate, stats, "price_sharing"
        )

    def __repr__(self) -> str:
        return f"ShardedSolution({self.status}, value={float(self.value):.9g}, bound={float(self.bound):.9g})"
