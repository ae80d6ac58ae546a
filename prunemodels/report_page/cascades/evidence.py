"""What is proven about a cascade's policy, checked again, and its figures on the rows that it was learned from.

A node of the closures is a pair of a stage s and a level l (`prunemodels.exits.learning`), or an item that is paid once for all
examples. Errors are the expected ones that policies are learned from (`prunemodels.exits.sample.judged_losses`).

    least error at cost c  >=  error_k + lambda_k (cost_k - c)         for every row k of the path, lambda_k its breakpoint (1)

(1) holds for all policies that treat the rows of a level alike, because row k has the least error + lambda_k * cost. It is
sharpest for the first row that costs at most c. A policy that spends a budget may divide one level, and err less than (1).
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
from prunemodels.exits.policy import ExitPolicy


@dataclass(frozen=True, eq=False)
class CascadeEvidence:
    """The checks of a cascade's report.

    Parameters
    ----------
    of_path
        whether every policy of the path is optimal.
    of_policy
        whether the chosen policy satisfies the requirements of all policies with these levels.
    row
        the row of the path that equals the policy; None where no row does.
    lam_from, lam_to
        the lambdas for which the row is optimal, both included; None without a row. ``lam_to`` is also None where the
        interval has no end.
    cost, error
        mean cost and expected error of the policy on the rows that it was learned from; exact fractions unless the policy
        divides a level.
    bound
        (1) at this cost: no policy that treats the rows of a level alike errs less.
    cost_by_stage
        float64, shape (S,): mean cost on the own rows of the path if everybody stopped by stage s; the last is the policy's.
    rounded
        whether the instance had to be rounded to integers.
    """

    of_path: Verdict
    of_policy: Verdict
    row: int | None
    lam_from: Fraction | None
    lam_to: Fraction | None
    cost: Fraction | float
    error: Fraction | float
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
    path, sample, policy = cascade.exit_path_.closures, cascade.exit_path_.sample, cascade.policy_
    ints, kept = path.problem.integers, _nodes(path, policy)
    rows = [k for k in range(len(path)) if policy.cut is None and np.array_equal(path.kept(k), kept)]
    row = rows[0] if rows else None
    cost: Fraction | float = ints.base_cost + int(ints.price[kept].sum()) * ints.price_unit
    error: Fraction | float = ints.base_error - int(ints.gain[kept].sum()) * ints.gain_unit
    if policy.cut is not None:
        cost, error = sample.mean_cost(policy), sample.mean_loss(policy, sample.judged)
    own = sample.own_rows
    stop, place = own.stop_stages(policy), np.arange(own.n_rows)
    by_stage = [
        float(own.cost[np.minimum(stop, s), place] @ own.weights / own.weights.sum() + own.once[min(s, policy.last_stage)])
        for s in range(own.n_stages)
    ]
    return CascadeEvidence(
        of_path=check_closure_path(path),
        of_policy=_check_requirements(path, kept, policy.theta.shape),
        row=row,
        lam_from=None if row is None else path.breakpoints[row],
        lam_to=None if row is None or row + 1 == len(path) else path.breakpoints[row + 1],
        cost=cost,
        error=error,
        bound=least_error(path, Fraction(cost)),
        cost_by_stage=np.array(by_stage),
        rounded=not ints.exact,
    )


def _nodes(path: ClosurePath, policy: ExitPolicy) -> NDArray[np.bool_]:
    """The nodes that a policy keeps, apart from its cut, and the items paid once that they need."""
    problem, decisions = path.problem, policy.go[:, 1:].ravel()
    kept = np.zeros(problem.n, dtype=bool)
    kept[: decisions.size] = decisions
    licences = problem.head >= decisions.size
    kept[problem.head[licences & kept[problem.tail]]] = True
    return kept


def least_error(path: ClosurePath, cost: Fraction) -> Fraction:
    """The bound (1) of the first row that costs at most that much; of the last row where none does."""
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
