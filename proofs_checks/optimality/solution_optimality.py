"""Is a pruning optimal? The value by routing the rows again, the bound from the certificate.

    bound  <=  optimum  <=  value  =  error + lambda cost                                                                (1)

`proofs_checks.optimality.recount` takes the instance from its trees, rows and prices; it shares no code with the solvers. What
duals prove is in `item_duals` beside it, what scores prove in `shared_prices`; paths are checked in `path_optimality`.
"""

from __future__ import annotations

import math
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import ItemDuals, SharedPrices, Solution, Status
from formulations.arguments import checked
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.item_duals import bound_of_duals
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.optimality.shared_prices import proven_by_scores
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, weak duality in exact integers"


@checked
def check_solution(problem: PruningProblem, solution: Solution, X: Any = None) -> Verdict:
    """Does the solution's pruning have its value, and does its certificate prove its bound?

    Exact, in time and memory about linear in the usage arcs: seconds for some millions. How good the bound is, the solution says
    itself: its status and gap follow from value, bound and tolerance.

    Parameters
    ----------
    problem
        the instance, not necessarily the one that the solution carries.
    solution
        with a certificate: `ItemDuals`, or `SharedPrices`.
    X
        the cost sample, if it is not the table that the problem refers to; weights and rows are the problem's.

    Returns
    -------
    Verdict
        certificate: value, bound and gap as floats, or what is wrong. None where the solution carries no certificate.

    Raises
    ------
    InvalidInputError
        for a lambda, a table, weights or prices that are invalid.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> verdict = pm.checks.check_solution(problem, pm.solve(problem, lam=0.01))
    >>> verdict.holds
    True
    >>> print(verdict.method)
    every example sent down the trees again, weak duality in exact integers
    """
    claim = f"the pruning is worth {solution.value!r} at lambda = {solution.lam!r}, and no pruning less than {solution.bound!r}"
    if solution.pruning is None or solution.certificate is None:
        return Verdict(claim, None, METHOD, "the solution carries no pruning, or no certificate")
    lam = exact(solution.lam, "lam")
    try:
        recount = Recount(problem, X)
        error, cost, bound = proven(recount, solution.certificate, lam, solution.pruning.kept)
        value = error + lam * cost
        _compare(recount, solution, value, bound)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    return Verdict(claim, True, METHOD, {"value": float(value), "bound": float(bound), "gap": float(value - bound)})


def proven(recount: Recount, certificate: object, lam: Fraction, kept: NDArray[np.bool_]) -> tuple[Fraction, Fraction, Fraction]:
    """Error and cost of a pruning, and the bound that the certificate of one closure proves, made for at most `lam`."""
    if not isinstance(certificate, ItemDuals | SharedPrices):
        raise Refuted(f"the certificate is {type(certificate).__name__}, neither duals nor scores")
    for name, number in (("lambda", certificate.lam), ("unit", certificate.unit)):
        if not isinstance(number, Rational):
            raise Refuted(f"the certificate's {name} is {number!r}, no fraction")
    if not 0 <= certificate.lam <= lam:
        raise Refuted(f"the certificate was made for lambda = {certificate.lam}, which is not between 0 and {lam}")
    error, cost = recount.objective(kept)
    if isinstance(certificate, ItemDuals):
        return error, cost, bound_of_duals(recount, certificate)
    return error, cost, proven_by_scores(recount, certificate, error + certificate.lam * cost)


def _compare(recount: Recount, solution: Solution, value: Fraction, bound: Fraction) -> None:
    """Check the value, bound, tolerance and status that the solution states."""
    if not _finite(solution.value) or abs(value - Fraction(solution.value)) > recount.float_error(value):
        raise Refuted(f"the pruning is worth {shown(value)}, not {solution.value!r}")
    if solution.bound != -math.inf and (
        not _finite(solution.bound) or Fraction(solution.bound) > bound + recount.float_error(bound)
    ):
        raise Refuted(f"the certificate proves the bound {shown(bound)}, not {solution.bound!r}")
    if not _finite(solution.tolerance) or solution.tolerance < 0:
        raise Refuted(f"the tolerance is {solution.tolerance!r}; no status can rest on it")
    if solution.status is Status.OPTIMAL and solution.bound != -math.inf:
        roots, stated = recount.roots_error() * recount.error_unit, Fraction(solution.bound)
        allowed = Fraction(solution.tolerance) * max(roots - stated, roots / 100) + recount.float_error(value)
        if value - stated > allowed:
            raise Refuted(f"the solution says optimal, but {shown(value - stated)} lie between its value and its bound")


def _finite(number: object) -> bool:
    """Whether it is a number at all, and a finite one."""
    return isinstance(number, Real) and math.isfinite(number)
