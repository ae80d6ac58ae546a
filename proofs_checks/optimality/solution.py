"""Does an answer hold what it states? One question for all answers: at a lambda, within a budget, within limits.

Of a budget or limits: is the pruning within them, and does the tree of the search prove the bound of its error?

    use_r <= B_r  for every limit,     error as stated,     bound <= error of every pruning within the limits               (1)

Uses are added up from what each example asks for, in fractions. The bound is what the leaves of the search prove
(`proofs_checks.optimality.search_tree`). The relaxation's mixture is recounted, too: that it is within the limits, and its value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.solution import Solution, Status
from formulations.arguments import checked
from formulations.instance.numbers import ROUNDING
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.meters import Meters, is_limit
from proofs_checks.optimality.recount import Refuted, shown
from proofs_checks.optimality.search_tree import SearchTree
from proofs_checks.optimality.solution_optimality import check_lambda_solution
from proofs_checks.verdict import DEFAULTS, Verdict

METHOD = "every example sent down the trees again, uses in fractions, every leaf of the search by weak duality in exact integers"


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
        return _check_limited(problem, solution, X)
    return check_lambda_solution(problem, solution, X)


def _check_limited(problem: PruningProblem, solution: LimitedSolution, X: Any) -> Verdict:
    """`check_solution` for a budget and for limits."""
    limits = ", ".join(f"{limit.title} <= {shown(most)}" for limit, most in zip(solution.limits, solution.at_most, strict=False))
    claim = f"the pruning keeps to {limits} and errs {solution.error!r}"
    claim += "" if solution.bound == -math.inf else f", and no pruning within that less than {solution.bound!r}"
    try:
        meters = Meters(problem, solution.limits, X)
        error, _ = meters.recount.objective(solution.pruning.kept)
        uses = meters.uses(solution.pruning.kept)
        _check(meters, solution, error, uses)
        told: dict[str, Any] = {"uses": tuple(map(float, uses)), "error": float(error)}
        if solution.bound == -math.inf:
            return Verdict(claim, None, METHOD, {**told, "undecided": "the solution states no bound"})
        told |= {"bound": solution.bound, "gap": solution.gap}
        if solution.proof is None:
            return Verdict(claim, None, METHOD, {**told, "undecided": "the solution carries no proof of its bound"})
        stated = Fraction(solution.bound)
        spare = meters.recount.float_error(stated)
        tree = SearchTree(meters, solution.at_most)
        bound = tree.least(solution.proof, stated, spare)
        if bound < stated - spare:
            raise Refuted(f"the proof's leaves prove the bound {shown(bound)}, not {solution.bound!r}")
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    told |= {"proven": float(bound), "leaves": solution.proof.n_leaves}
    return Verdict(claim, True, METHOD, told)


def _check(meters: Meters, solution: LimitedSolution, error: Fraction, uses: list[Fraction]) -> None:
    """(1), but for the bound's proof."""
    if not len(solution.limits) == len(solution.at_most) == len(solution.uses):
        raise Refuted(
            f"{len(solution.at_most)} limits and {len(solution.uses)} uses are stated for {len(solution.limits)} limits"
        )
    for limit, most, stated, use in zip(solution.limits, solution.at_most, solution.uses, uses, strict=True):
        if not is_limit(limit, most):
            raise Refuted(f"the limit of {limit.title} is {limit.at_most!r}, not {shown(most)}")
        if use != stated:
            raise Refuted(f"the pruning uses {shown(use)} of {limit.title}, not {shown(stated)}")
        if use > most:
            raise Refuted(f"the pruning uses {shown(use)} of {limit.title}, more than {shown(most)}")
    spare, bound = meters.recount.float_error(error), solution.bound
    if not math.isfinite(solution.error) or abs(Fraction(solution.error) - error) > spare:
        raise Refuted(f"the pruning's error is {shown(error)}, not {solution.error!r}")
    if bound != -math.inf and (not math.isfinite(bound) or Fraction(bound) > error + spare):
        raise Refuted(f"the bound {bound!r} is above the pruning's own error {shown(error)}")
    if solution.status is Status.OPTIMAL and error - Fraction(bound) > Fraction(ROUNDING) * abs(error) + 2 * spare:
        raise Refuted(f"the solution says optimal, but {shown(error - Fraction(bound))} lie between error and bound")
    _check_mixture(meters, solution)


def _check_mixture(meters: Meters, solution: LimitedSolution) -> None:
    """The relaxation's mixture: its value, and that it is within the limits."""
    relaxation = solution.relaxation
    if not math.isfinite(relaxation.value):
        return
    weights: list[Fraction] = [Fraction(weight) for _, weight in relaxation.mixture]
    whole = all(isinstance(weight, Fraction) for _, weight in relaxation.mixture)
    off = Fraction(0) if whole else DEFAULTS.mixture_tolerance
    if not weights or min(weights) < Fraction(0) or abs(sum(weights, Fraction(0)) - 1) > off:
        raise Refuted("the weights of the relaxation's mixture are not >= 0 or do not sum to 1")
    value, uses = Fraction(0), [Fraction(0)] * len(solution.limits)
    for (pruning, _), weight in zip(relaxation.mixture, weights, strict=True):
        error, _ = meters.recount.objective(pruning.kept)
        value += weight * error
        if not any(limit.each for limit in solution.limits):
            uses = [u + weight * more for u, more in zip(uses, meters.uses(pruning.kept), strict=True)]
    for use, most, limit in zip(uses, solution.at_most, solution.limits, strict=True):
        if use > most + off * (1 + most):
            raise Refuted(f"the relaxation's mixture uses {shown(use)} of {limit.title}, more than {shown(most)}")
    if abs(value - Fraction(relaxation.value)) > meters.recount.float_error(value) + off * abs(value):
        raise Refuted(f"the relaxation's value is {shown(value)}, not {shown(Fraction(relaxation.value))}")
