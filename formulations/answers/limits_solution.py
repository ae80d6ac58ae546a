"""The answer for any number of limits: the best pruning found, what it uses, and how much better it could be.

    minimise error      s.t.  use_r <= B_r  for every row r of the limits        (`formulations.programs.limit_rows`)        (LP1)

For multipliers mu >= 0 no pruning within the limits errs less than

    D(mu)  =  min over all prunings of  error + sum_r mu_r (use_r - B_r)                                                     (1)

and the largest D(mu) is what the linear relaxation is worth: a mixture of at most one more pruning than there are tight limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import Bounded
from formulations.answers.pruning import Pruning, before_and_after
from formulations.answers.solution import Certificate, Status, StopReason, rounding_in_words
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, rate


@dataclass(frozen=True, eq=False)
class LimitProof:
    """What proves a bound by (1).

    Parameters
    ----------
    multipliers
        (k, i, mu): mu > 0 of ``limits[k]``; where that is about every example, of the one in row i of the cost sample, else i is
        None. All others are 0.
    certificate
        of the closure (1), at lambda 1, on the usage arcs of the metered instance.
    kept
        bool, shape (n,): the pruning on which the splits that a `SharedPrices` certificate decides rest.
    bound
        what it proves.
    """

    multipliers: tuple[tuple[int, int | None, Fraction], ...]
    certificate: Certificate
    kept: NDArray[np.bool_]
    bound: float


@dataclass(frozen=True, eq=False)
class LimitsSolution(Bounded, Shown):
    """The best pruning found within all limits, with a proven bound.

    Parameters
    ----------
    limits
        as they were given.
    at_most
        B by limit, exactly.
    uses
        what `pruning` uses by limit, exactly, at most B; where a limit is about every example, the most that one of them uses.
    pruning
        the best pruning.
    error
        its error.
    bound
        proven: no pruning within the limits has a smaller error.
    relaxation
        error of `mixture`: what LP1's relaxation is worth, up to rounding errors; inf where the search for it ended early.
    multipliers
        by limit: by how much the error falls for another unit of it at the relaxation's optimum, 0 where it is slack.
    mixture
        the relaxation's optimum: prunings with their weights, at most one more than there are tight limits.
    proof
        what proves the relaxation's bound. `bound` may be above it, raised to the next error that a pruning can have, or by
        branch and bound.
    stopped
        the reason why the search ended.
    stats
        seconds and counts: for reports only.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem, y_valid
    >>> malignant = (y_valid == 0).to_numpy()
    >>> groups = [pm.Limit(7, rows=malignant, name="malignant"), pm.Limit(4, rows=~malignant, name="benign")]
    >>> solution = pm.solve(problem, limits=groups)
    >>> [round(float(use), 2) for use in solution.uses]
    [4.16, 1.4]
    """

    problem: PruningProblem
    limits: tuple[Limit, ...]
    at_most: tuple[Fraction, ...]
    uses: tuple[Fraction, ...]
    pruning: Pruning
    error: float
    bound: float
    relaxation: float
    multipliers: tuple[float, ...]
    mixture: tuple[tuple[Pruning, float], ...]
    proof: LimitProof | None = None
    stopped: StopReason = StopReason.CONVERGED
    stats: Mapping[str, float] = field(default_factory=dict)
    method: str = ""

    @property
    def cost(self) -> float:
        """Cost of `pruning`."""
        return self.pruning.cost

    @property
    def budget(self) -> Fraction | None:
        """B of the limit of the mean cost; None where there is none."""
        return next((most for limit, most in zip(self.limits, self.at_most, strict=True) if limit.is_plain), None)

    def kept_to(self) -> list[tuple[str, Fraction, Fraction]]:
        """By limit its title, what `pruning` uses, and B."""
        return [(limit.title, use, b) for limit, use, b in zip(self.limits, self.uses, self.at_most, strict=True)]

    def in_words(self) -> str:
        """What is used of each limit, and what is proven of the error."""
        uses = ", ".join(f"{title} {float(use):.4g} of {float(most):.6g}" for title, use, most in self.kept_to())
        return f"Limits met: {uses}. {self._proven()}"

    def _proven(self) -> str:
        if self.status is Status.OPTIMAL:
            hidden = rounding_in_words(self.gap, self.error)
            return f"Proven{hidden}: no pruning within the limits has less error of single trees."
        measure = self.problem.ensemble.measure
        return (
            f"The least error of single trees within the limits is proven to lie between {rate(self.bound, measure, 2)} and "
            f"{rate(self.error, measure, 2)}."
        )

    def _card(self) -> Card:
        title = f"LimitsSolution: {self.status}" + (f" by {self.method}" if self.method else "")
        rows = tuple((title, f"at most {float(most):.4g}", f"{float(use):.4g}") for title, use, most in self.kept_to())
        return Card(title, (*before_and_after(self.pruning), *rows), ("", "unpruned", "pruned"), (self._proven(),))

    def __repr__(self) -> str:
        uses = ", ".join(f"{title} {float(use):.6g} of {float(most):.6g}" for title, use, most in self.kept_to())
        return f"LimitsSolution({self.status}, {uses}, error {self.error:.9g}, bound {self.bound:.9g})"
