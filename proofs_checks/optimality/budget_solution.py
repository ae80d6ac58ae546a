"""Is a pruning within its budget, and is what its solution says of LP1's relaxation true?

    cost <= B,      error as stated,      bound <= LP1's relaxation  =  mixture of two rows of a proven path            (1)

The cost is added up from prices and rows, in fractions; the relaxation is recomputed by `proofs_checks.optimality.corollary`
from a path that is proven first. A bound above the relaxation's, from branch and bound, is beyond what a path proves.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from proofs_checks.optimality.corollary import AtBudget, Budgets, check_corollary
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, the relaxation from a proven path, in fractions"


@checked
def check_budget_solution(solution: BudgetSolution, path: PruningPath, X: Any = None) -> Verdict:
    """Does the pruning cost at most the budget, and are its error, the relaxation and the bound what they are said to be?

    Parameters
    ----------
    solution
        of any budget engine.
    path
        of the same problem, with its certificate.
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: cost, error, relaxation, bound and gap; or what is wrong. None where the path proves nothing, the instance
        had to be rounded, or the bound is above the relaxation's.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> solution = pm.solve(problem, budget=10, method="path")
    >>> pm.checks.check_budget_solution(solution, path).holds
    True
    """
    claim = (
        f"the pruning costs at most {shown(solution.budget)} and errs {solution.error!r}, "
        f"and no pruning within the budget less than {solution.bound!r}"
    )
    table = check_corollary(path, [solution.budget], X)
    if not isinstance(table.certificate, Budgets):
        return Verdict(claim, None, METHOD, table.certificate)
    try:
        recount = Recount(path.problem, X)
        error, cost = recount.objective(solution.pruning.kept)
        row = table.certificate.rows[0]
        _check(recount, solution, row, error, cost)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    told = {
        "cost": float(cost),
        "error": float(error),
        "relaxation": float(row.value),
        "bound": solution.bound,
        "gap": solution.gap,
    }
    if not path.problem.integers.exact:
        return Verdict(claim, None, METHOD, {**told, "undecided": "the instance had to be rounded"})
    if Fraction(solution.bound) > row.value + recount.float_error(row.value):
        return Verdict(claim, None, METHOD, {**told, "undecided": "the bound is above what a path proves"})
    return Verdict(claim, True, METHOD, told)


def _check(recount: Recount, solution: BudgetSolution, row: AtBudget, error: Fraction, cost: Fraction) -> None:
    """(1)."""
    if cost > solution.budget:
        raise Refuted(f"the pruning costs {shown(cost)}, more than the budget {shown(solution.budget)}")
    rounding = Fraction(solution.problem.integers.error_rounding)
    stated = solution.error
    if not math.isfinite(stated) or abs(Fraction(stated) - error) > recount.float_error(error) + rounding:
        raise Refuted(f"the pruning's error is {shown(error)}, not {stated!r}")
    if not math.isfinite(solution.bound) or Fraction(solution.bound) > error + recount.float_error(error):
        raise Refuted(f"the bound {solution.bound!r} is above the pruning's own error {shown(error)}")
    relaxation = solution.relaxation
    for what, ours, theirs in (
        ("value", relaxation.value, row.value),
        ("weight", relaxation.weight, row.weight),
        ("lambda*", relaxation.lam, row.lam),
    ):
        if ours != theirs and not (what == "lambda*" and relaxation.is_integral):
            raise Refuted(f"the relaxation's {what} is {shown(theirs)}, not {shown(ours)}")
