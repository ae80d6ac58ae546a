"""Does an answer hold what it states? One question for all answers: at a lambda, within a budget, within limits."""

from __future__ import annotations

from typing import Any

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Solution
from formulations.arguments import checked
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.limited_solution import check_limited_solution
from proofs_checks.optimality.solution_optimality import check_lambda_solution
from proofs_checks.verdict import Verdict


@checked
def check_solution(problem: PruningProblem, solution: Solution | LimitedSolution, X: Any = None) -> Verdict:
    """Does the solution's pruning have its value, or keep to its limits, and does its certificate prove its bound?

    Exact. At a lambda in time and memory about linear in the usage arcs: seconds for some millions. Within a budget or limits
    every leaf of the search takes a pass over the splits that are open there. How good the bound is, the solution says itself:
    its status and gap follow from value or error and bound.

    Parameters
    ----------
    problem
        the instance, not necessarily the one that the solution carries.
    solution
        of `prunemodels.solve`, with a certificate or proof.
    X
        the cost sample, if it is not the table that the problem refers to; weights and rows are the problem's.

    Returns
    -------
    Verdict
        certificate: value or error, bound and gap as floats, or what is wrong. None where the solution carries no certificate.

    Raises
    ------
    InvalidInputError
        for a lambda, limits, a table, weights or prices that are invalid.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> verdict = pm.checks.check_solution(problem, pm.solve(problem, lam=0.01))
    >>> verdict.holds
    True
    >>> print(verdict.method)
    every example sent down the trees again, weak duality in exact integers
    >>> pm.checks.check_solution(problem, pm.solve(problem, budget=10)).holds
    True
    """
    if isinstance(solution, LimitedSolution):
        return check_limited_solution(problem, solution, X)
    return check_lambda_solution(problem, solution, X)
