"""Is a pruning within its budget, and is what its solution says of LP1's relaxation true? And does a chain show how far it is?

    cost <= B,      error as stated,      bound <= LP1's relaxation  =  mixture of two rows of a proven path            (1)

The cost is added up from prices and rows, in fractions; the relaxation is recomputed by `proofs_checks.optimality.corollary`
from a path that is proven first. A bound above the relaxation's, from branch and bound, is beyond what a path proves.

How far above LP1 the best pruning within a budget can be, a chain of optimal prunings shows:

    K_0  in  K_1  in ... in  K_r        prunings, K_0 and K_r the two that LP1's relaxation mixes at B                       (2)
    error(K_i) + lambda* cost(K_i)  =  LP1 + lambda* B        for every i                                                    (3)
    cost(K_row) <= B < cost(K_{row+1})                                                                                       (4)

Then LP1 <= least error within B <= error(K_row) = LP1 + lambda* (B - cost(K_row)) < LP1 + lambda* (cost of the next component).
Errors and costs of the chain are added up in fractions, one component after the other: a purchase counts where it is first
needed. That the components are indivisible is checked against those that follow from the path's own duals
(`proofs_checks.optimality.edges`): a chain that joins two of them has fewer.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.budget_solution import BudgetSolution
from formulations.answers.lp1_solution import LP1Solution
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from proofs_checks.optimality.corollary import AtBudget, Budgets, Point, at_budgets, check_corollary
from proofs_checks.optimality.edges import prove_edges
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, the relaxation from a proven path, in fractions"

CHAIN_METHOD = "the chain recounted in fractions, the relaxation from a proven path"


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
        certificate: cost, error, relaxation, bound and gap; or what is wrong. None where the path proves nothing, or the bound
        is above the relaxation's.

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
    if Fraction(solution.bound) > row.value + recount.float_error(row.value):
        return Verdict(claim, None, METHOD, {**told, "undecided": "the bound is above what a path proves"})
    return Verdict(claim, True, METHOD, told)


def _check(recount: Recount, solution: BudgetSolution, row: AtBudget, error: Fraction, cost: Fraction) -> None:
    """(1)."""
    if cost > solution.budget:
        raise Refuted(f"the pruning costs {shown(cost)}, more than the budget {shown(solution.budget)}")
    check_error(recount, solution, error)
    mixture, spare = solution.relaxation, recount.float_error(row.value)
    ends = [recount.objective(end.kept) for end in (mixture.dearer, mixture.cheaper)]
    weights = mixture.weight, 1 - mixture.weight
    if min(weights) < 0:
        raise Refuted(f"the relaxation's weight is {shown(mixture.weight)}, not 0 to 1")
    value, spent = (sum((w * end[k] for w, end in zip(weights, ends, strict=True)), Fraction(0)) for k in (0, 1))
    if spent > solution.budget:
        raise Refuted(f"the relaxation's mixture costs {shown(spent)}, more than the budget {shown(solution.budget)}")
    for what, ours, theirs in (("value", mixture.value, value), ("value", value, row.value)):
        if abs(ours - theirs) > spare:
            raise Refuted(f"the relaxation's {what} is {shown(theirs)}, not {shown(ours)}")
    # next to a breakpoint the slope on its other side is as good, up to that
    if abs(mixture.lam - row.lam) * abs(solution.budget - row.cheaper.cost) > spare and not mixture.is_integral:
        raise Refuted(f"the relaxation's lambda* is {shown(row.lam)}, not {shown(mixture.lam)}")


def check_error(recount: Recount, solution: Any, error: Fraction) -> None:
    """The error that a solution states, and that its bound is not above it."""
    spare, stated, bound = recount.float_error(error), solution.error, solution.bound
    if not math.isfinite(stated) or abs(Fraction(stated) - error) > spare:
        raise Refuted(f"the pruning's error is {shown(error)}, not {stated!r}")
    if not math.isfinite(bound) or Fraction(bound) > error + spare:
        raise Refuted(f"the bound {bound!r} is above the pruning's own error {shown(error)}")


@checked
def check_lp1_solution(rounding: LP1Solution, path: PruningPath, X: Any = None) -> Verdict:
    """Is every set of the chain an optimal pruning at lambda*, and does the bound follow?

    Parameters
    ----------
    rounding
        of `prunemodels.budgets.solve_lp1`.
    path
        of the same problem, with its certificate.
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: LP1's value, lambda*, cost and error of the pruning, both bounds, and the number of components; or what is
        wrong. None where the path proves nothing.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> rounding = pm.budgets.solve_lp1(problem, 10, path=path)
    >>> pm.checks.check_lp1_solution(rounding, path).holds
    True
    """
    budget = shown(rounding.relaxation.budget)
    claim = f"a chain of optimal prunings shows how far above LP1 the least error within {budget} can be"
    try:
        proof = prove_edges(path, X)
    except Refuted as why:
        return Verdict(claim, None, CHAIN_METHOD, str(why))
    row = at_budgets(proof, [rounding.relaxation.budget]).rows[0]
    try:
        points = _chain(proof.evidence.recount, rounding)
        _check_chain(rounding, row, points)
    except Refuted as wrong:
        return Verdict(claim, False, CHAIN_METHOD, str(wrong))
    told = {
        "relaxation": float(row.value),
        "lambda": float(row.lam),
        "cost": float(points[rounding.row].cost),
        "error": float(points[rounding.row].error),
        "bound": float(rounding.bound),
        "largest bound": float(rounding.largest_bound),
        "components": rounding.n_components,
    }
    return Verdict(claim, True, CHAIN_METHOD, told)


def _check_chain(rounding: LP1Solution, row: AtBudget, points: list[Point]) -> None:
    """(2) to (4), and that the stated numbers are those of the chain."""
    relaxation, budget = rounding.relaxation, rounding.relaxation.budget
    for what, ours, theirs in (("value", relaxation.value, row.value), ("lambda*", relaxation.lam, row.lam)):
        if ours != theirs:
            raise Refuted(f"the relaxation's {what} is {shown(theirs)}, not {shown(ours)}")
    for what, end, expected in (("cheaper", points[0], row.cheaper), ("dearer", points[-1], row.dearer)):
        if end != expected:
            raise Refuted(
                f"the chain's {what} end costs {shown(end.cost)} and errs {shown(end.error)}; "
                f"LP1 mixes a pruning of cost {shown(expected.cost)} and error {shown(expected.error)}"
            )
    if len(rounding.cost) != len(points):
        raise Refuted(f"{len(rounding.cost)} costs are stated for a chain of {len(points)} prunings")
    for i, (point, stated) in enumerate(zip(points, rounding.cost, strict=True)):
        if point.cost != stated:
            raise Refuted(f"pruning {i} of the chain costs {shown(point.cost)}, not {shown(stated)}")
        if point.error + row.lam * point.cost != points[0].error + row.lam * points[0].cost:
            raise Refuted(f"pruning {i} of the chain is not optimal at lambda* = {shown(row.lam)}")
    if not 0 <= rounding.row < len(points):
        raise Refuted(f"there is no pruning {rounding.row} in a chain of {len(points)}")
    if points[rounding.row].cost > budget:
        raise Refuted(f"pruning {rounding.row} costs {shown(points[rounding.row].cost)}, more than the budget {shown(budget)}")
    if rounding.row + 1 < len(points) and points[rounding.row + 1].cost <= budget:
        raise Refuted(f"pruning {rounding.row + 1} of the chain fits the budget {shown(budget)} too")
    if row.integral is not None and rounding.n_components != row.components and row.lam > 0:
        raise Refuted(f"the edge has {row.components} components, the chain {rounding.n_components}")


def _chain(recount: Recount, rounding: LP1Solution) -> list[Point]:
    """Cost and error of every pruning of the chain."""
    step = rounding.step
    n = recount.ensemble.n_nodes
    if not isinstance(step, np.ndarray) or step.shape != (n,) or not np.issubdtype(step.dtype, np.integer):
        raise Refuted(f"the chain is no array of {n} whole numbers, one for each node")
    last = rounding.n_components
    steps: list[int] = step.tolist()
    members: list[list[int]] = [[] for _ in range(last + 1)]
    for h in range(n):
        if steps[h] > last:
            continue
        if recount.left[h] < 0:
            raise Refuted(f"node {h} is a leaf, the chain keeps it")
        above = recount.parent[h]
        if above >= 0 and steps[above] > steps[h]:
            raise Refuted(f"split {h} is in the chain before its parent {above}: some set of the chain is no pruning")
        members[max(0, steps[h])].append(h)
    bought: NDArray[np.bool_] = np.zeros(recount.n_purchases, dtype=bool)
    error, cost, points = recount.roots_error(), 0, []
    for i, splits in enumerate(members):
        if i and not splits:
            raise Refuted(f"step {i} of the chain adds nothing")
        error -= sum(recount.gain(h) for h in splits)
        cost += sum(recount.evaluation[h] for h in splits)
        cost += _added_price(recount, bought, splits)
        points.append(Point(cost * recount.cost_unit, error * recount.error_unit))
    return points


def _added_price(recount: Recount, bought: NDArray[np.bool_], splits: list[int]) -> int:
    """What purchases cost that some splits need and nothing before them did, in `cost_unit`; they are marked as bought."""
    new: dict[int, list[NDArray[np.int64]]] = {}
    for h in splits:
        for m in recount.charged_items[h]:
            new.setdefault(m, []).append(recount.purchases(h, m))
    total = 0
    for m, purchases in new.items():
        numbers = np.unique(np.concatenate(purchases))
        numbers = numbers[~bought[numbers]]
        bought[numbers] = True
        prices = recount.prices(m)[numbers - recount.by_item(m).start]
        total += int(sum(prices.tolist()))
    return total
