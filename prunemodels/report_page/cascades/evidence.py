"""What is proven about a cascade's policy, checked again, and its exact figures on the rows that it was learned from.

A node of the closures is a pair of a stage s and a level l (`prunemodels.exits.learning`), or an item that is paid once for all
examples. For the nodes that the policy keeps,

    cost up to stage s   =  base cost  +  sum of the prices of kept nodes of stages before s                               (1)
    least error at cost c  >=  error_k + lambda_k (cost_k - c)         for every row k of the path, lambda_k its breakpoint (2)

For the last stage, (1) is the policy's cost. (2) holds for all policies with these levels, because row k has the least
error + lambda_k * cost. It is sharpest for the first row that costs at most c.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.instance.parametric_closure import ClosurePath
from proofs_checks import check_closure_path
from proofs_checks.verdict import Verdict
from prunemodels.exits.cascade import Cascade


@dataclass(frozen=True, eq=False)
class CascadeEvidence:
    """The checks of a cascade's report.

    Parameters
    ----------
    of_path
        whether every policy of the path is optimal.
    of_policy
        whether the chosen policy satisfies the requirements of all policies with these levels, so that (2) holds for it.
    row
        the row of the path that equals the policy; None where no row does.
    lam_from, lam_to
        the lambdas for which the row is optimal, both included; None without a row. ``lam_to`` is also None where the
        interval has no end.
    cost, error
        exact cost and error of the policy on the rows that it was learned from.
    bound
        (2) at this cost: no policy with these levels errs less.
    cost_by_stage
        (1), float64, shape (S,).
    rounded
        whether the instance had to be rounded to integers.
    """

    of_path: Verdict
    of_policy: Verdict
    row: int | None
    lam_from: Fraction | None
    lam_to: Fraction | None
    cost: Fraction
    error: Fraction
    bound: Fraction
    cost_by_stage: NDArray[np.float64]
    rounded: bool

    @property
    def holds(self) -> bool | None:
        """True where all checks hold, False where one is refuted, else None."""
        answers = [self.of_path.holds, self.of_policy.holds]
        return False if False in answers else None if None in answers else True


def evidence_of_cascade(cascade: Cascade) -> CascadeEvidence:
    """Check the path, and compare the policy with it."""
    path = cascade.exit_path_.closures
    problem, ints, policy = path.problem, path.problem.integers, cascade.policy_
    n_decisions, n_levels = policy.theta.shape
    n_pairs = n_decisions * n_levels
    kept = np.zeros(problem.n, dtype=bool)
    kept[:n_pairs] = policy.go[:, 1:].ravel()
    stage = np.zeros(problem.n, dtype=np.int64)
    stage[:n_pairs] = np.repeat(np.arange(n_decisions), n_levels)
    licences = problem.head >= n_pairs  # an item that is paid once is bought at the first stage that needs it
    stage[problem.head[licences]] = stage[problem.tail[licences]]
    kept[problem.head[licences & kept[problem.tail]]] = True
    rows = [k for k in range(len(path)) if np.array_equal(path.kept(k), kept)]
    row = rows[0] if rows else None
    paid = np.bincount(stage[kept], problem.price[kept], n_decisions)
    cost = ints.base_cost + int(ints.price[kept].sum()) * ints.price_unit
    last = None if row is None or row + 1 == len(path) else path.breakpoints[row + 1]
    return CascadeEvidence(
        of_path=check_closure_path(path),
        of_policy=_check_requirements(path, kept, policy.theta.shape),
        row=row,
        lam_from=None if row is None else path.breakpoints[row],
        lam_to=last,
        cost=cost,
        error=ints.base_error - int(ints.gain[kept].sum()) * ints.gain_unit,
        bound=least_error(path, cost),
        cost_by_stage=float(problem.base_cost) + np.concatenate([[0.0], np.cumsum(paid)]),
        rounded=not ints.exact,
    )


def least_error(path: ClosurePath, cost: Fraction) -> Fraction:
    """The bound (2) of the first row that costs at most that much; of the last row where none does."""
    k = next((k for k, c in enumerate(path.exact_cost) if c <= cost), len(path) - 1)
    return path.exact_error[k] + path.breakpoints[k] * (path.exact_cost[k] - cost)


def _check_requirements(path: ClosurePath, kept: NDArray[np.bool_], shape: tuple[int, ...]) -> Verdict:
    """Whether the policy keeps all nodes that its kept nodes require; `shape`: stages but the last, levels."""
    claim = (
        "the chosen policy is among those compared: where rows of a level go on, so do rows with more doubt, "
        "and a level goes on only from a stage that it reaches"
    )
    method = "requirement by requirement"
    broken = np.flatnonzero(kept[path.problem.tail] & ~kept[path.problem.head])
    if broken.size:
        s, level = divmod(int(path.problem.tail[broken[0]]), shape[1])
        return Verdict(
            claim, False, method, f"rows of level {level + 1} go on from stage {s}, but what that requires does not hold"
        )
    return Verdict(claim, True, method, {"stages": shape[0] + 1, "levels": shape[1]})
