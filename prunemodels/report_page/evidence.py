"""What is proven about a pruning or about a cascade's policy: the verdicts of `proofs_checks`, and the figures that they are on.

Every page first checks its path again, whoever computed it. A pruning is then one of three: a row of the path, which is optimal
for an interval of lambda; the answer to a budget, which has a bound; or another pruning, which is compared with LP1's relaxation
at its own cost.

A policy is a closure over pairs of a stage and a level (`prunemodels.cascades.learning`), and over items that are paid once for
all examples. Its errors are the expected ones that policies are learned from (`prunemodels.cascades.learning.judged_losses`).

    least error at cost c  >=  error_k + lambda_k (cost_k - c)         for every row k of the path, lambda_k its breakpoint (1)

(1) holds for all policies that treat the rows of a level alike, because row k has the least error + lambda_k * cost. It is
sharpest for the first row that costs at most c. A policy that spends a budget may divide one level, and err less than (1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.nested_rows import ClosurePath
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from proofs_checks import check_closure_path
from proofs_checks.optimality.path_optimality import check_path
from proofs_checks.optimality.relaxation import check_relaxation
from proofs_checks.optimality.solution import check_solution
from proofs_checks.verdict import Verdict
from prunemodels.cascades.cascade import Cascade
from prunemodels.solving import solve
from prunemodels.stages.policy import ExitPolicy


@dataclass(frozen=True, eq=False)
class Evidence:
    """The checks of a page."""

    verdicts: tuple[Verdict, ...]  # that of the path first
    row: int | None  # of the path, that equals the pruning or policy
    lams: tuple[Fraction, Fraction | None] | None  # for which the row is optimal; None for no end
    cost: Fraction | float  # on the samples, or where the policy was learned; exact unless it divides a level
    error: Fraction | float
    hidden: float  # the relative gap that rounding leaves of the path; 0 where nothing was rounded
    bound: Fraction | None = None  # of a policy: (1) at its cost
    solution: LimitedSolution | None = None  # the answer to the budget, or to a pruning's own cost where it is no row

    @property
    def holds(self) -> bool | None:
        """True where all checks hold, False where one is refuted, else None."""
        answers = [verdict.holds for verdict in self.verdicts]
        return False if False in answers else None if None in answers else True


def evidence_of(path: PruningPath, pruning: Pruning, solution: LimitedSolution | None) -> Evidence:
    """Check the path, compare the pruning with it, and check the answer to the budget or limits."""
    row, verdicts = row_of(path, pruning), [check_path(path)]
    if solution is None and row is None:
        at_own_cost = solve(path.problem, budget=pruning.exact_cost, method="path", path=path)
        solution = replace(at_own_cost, pruning=pruning, error=pruning.error, uses=(pruning.exact_cost,))
    if solution is not None:
        verdicts.append(check_solution(solution.problem, solution))
        if solution.is_budget:
            verdicts.append(check_relaxation(solution.relaxation, path))
    lams = None if row is None else lam_interval(path, row)
    cost, error = pruning.exact_cost, pruning.exact_error
    return Evidence(tuple(verdicts), row, lams, cost, error, path.relative_gap, solution=solution)


def row_of(path: PruningPath, pruning: Pruning) -> int | None:
    """The row of the path that keeps the same splits; None where no row does."""
    rows = [k for k in range(len(path)) if path.n_splits[k] == pruning.n_splits]
    return next((k for k in rows if np.array_equal(path[k].kept, pruning.kept)), None)


def lam_interval(path: PruningPath, row: int) -> tuple[Fraction, Fraction | None]:
    """The lambdas for which a row is optimal."""
    first = row if path.ties == "smallest" else row - 1
    b = path.breakpoints
    return b[max(first, 0)], b[first + 1] if first + 1 < len(b) else None


def evidence_of_cascade(cascade: Cascade) -> Evidence:
    """Check the path, and compare the policy with it."""
    path, sample, policy = cascade.exit_path_.closures, cascade.exit_path_.sample, cascade.policy_
    ints, kept = path.problem.integers, _nodes(path, policy)
    rows = [k for k in range(len(path)) if policy.cut is None and np.array_equal(path.kept(k), kept)]
    row, ends = rows[0] if rows else None, (*path.breakpoints, None)
    cost: Fraction | float = ints.base_cost + int(ints.price[kept].sum()) * ints.price_unit
    error: Fraction | float = ints.base_error - int(ints.gain[kept].sum()) * ints.gain_unit
    if policy.cut is not None:
        cost, error = sample.mean_cost(policy), sample.mean_loss(policy, sample.judged)
    return Evidence(
        (check_closure_path(path), _check_requirements(path, kept, policy.theta.shape)),
        row,
        None if row is None else (path.breakpoints[row], ends[row + 1]),
        cost,
        error,
        path.gap / float(ints.base_error or 1),
        bound=least_error(path, Fraction(cost)),
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
    broken = np.flatnonzero(kept[path.problem.tail] & ~kept[path.problem.head])
    told: object = {"stages": shape[0] + 1, "levels": shape[1]}
    if broken.size:
        s, level = divmod(int(path.problem.tail[broken[0]]), shape[1])
        told = f"rows of level {level + 1} go on from stage {s}, but what that requires does not hold"
    return Verdict(claim, not broken.size, "requirement by requirement", told)


def figures_of(verdict: Verdict) -> str:
    """The certificate of a verdict, in one line; floats with six digits."""
    if isinstance(verdict.certificate, Mapping):
        return ", ".join(f"{key} {f'{x:.6g}' if isinstance(x, float) else x}" for key, x in verdict.certificate.items())
    return "" if verdict.certificate is None else str(verdict.certificate)
