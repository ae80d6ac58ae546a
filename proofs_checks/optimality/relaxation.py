"""Is what is said of LP1's relaxation within a budget true? And does a chain show how far from it the best pruning is?

    LP1's relaxation  =  mixture of two rows of a proven path that costs B                                                    (1)

It is recomputed by `proofs_checks.optimality.corollary` from a path that is proven first.

How far above LP1 the best pruning within a budget can be, a chain of optimal prunings shows:

    K_0  in  K_1  in ... in  K_r        prunings, K_0 and K_r the two that LP1's relaxation mixes at B                       (2)
    error(K_i) + lambda* cost(K_i)  =  LP1 + lambda* B        for every i                                                    (3)
    cost(K_row) <= B < cost(K_{row+1})                                                                                       (4)

Then LP1 <= least error within B <= error(K_row) = LP1 + lambda* (B - cost(K_row)) < LP1 + lambda* (cost of the next component).
Errors and costs of the chain are added up in fractions, one component after the other: a purchase counts where it is first
needed. That the components are indivisible is checked against those that follow from the path's own duals
(`proofs_checks.optimality.corollary`): a chain that joins two of them has fewer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limited_solution import Chain, LP1Relaxation
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from proofs_checks.optimality.corollary import AtBudget, Point, at_budgets, prove_edges
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.verdict import Verdict

METHOD = "mixture and chain recounted in fractions, the relaxation from a proven path"


@checked
def check_relaxation(relaxation: LP1Relaxation, path: PruningPath, X: Any = None) -> Verdict:
    """Is the mixture LP1's optimum, every set of its chain an optimal pruning at lambda*, and does the bound follow?

    Parameters
    ----------
    relaxation
        of a budget: that of a `LimitedSolution`, or of `prunemodels.budgets.solve_lp1`, which has a chain.
    path
        of the same problem, with its certificate.
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: LP1's value and lambda*; with a chain cost and error of the pruning, both bounds, and the number of
        components; or what is wrong. None where the path proves nothing.

    Raises
    ------
    InvalidInputError
        for a relaxation of several limits.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path, problem
    >>> lp1 = pm.budgets.solve_lp1(problem, 10, path=path)
    >>> pm.checks.check_relaxation(lp1, path).holds
    True
    """
    if relaxation.budget is None:
        raise InvalidInputError("the relaxation is not that of a budget; give that of pm.solve(problem, budget=...)")
    claim = f"LP1's relaxation at {shown(relaxation.budget)} is worth {shown(Fraction(relaxation.value))}"
    claim += ", and a chain of optimal prunings shows how far above it the least error can be" if relaxation.chain else ""
    # the path first: its duals prove LP1's value
    try:
        proof = prove_edges(path, X)
    except Refuted as why:
        return Verdict(claim, None, METHOD, str(why))
    row = at_budgets(proof, [relaxation.budget]).rows[0]
    told: dict[str, object] = {"relaxation": float(row.value), "lambda": float(row.lam)}
    try:
        _check_mixture(proof.evidence.recount, relaxation, row)
        if relaxation.chain is not None:
            points = _chain(proof.evidence.recount, relaxation.chain)
            _check_chain(relaxation, relaxation.chain, row, points)
            told |= {
                "cost": float(points[relaxation.chain.row].cost),
                "error": float(points[relaxation.chain.row].error),
                "bound": float(relaxation.bound),
                "largest bound": float(relaxation.largest_bound),
                "components": relaxation.chain.n_components,
            }
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    return Verdict(claim, True, METHOD, told)


def _check_mixture(recount: Recount, relaxation: LP1Relaxation, row: AtBudget) -> None:
    """(1)."""
    spare, budget = recount.float_error(row.value), relaxation.budget
    assert budget is not None
    ends = [(recount.objective(end.kept), Fraction(weight)) for end, weight in relaxation.mixture]
    if not ends or min(weight for _, weight in ends) < 0 or sum(weight for _, weight in ends) != 1:
        raise Refuted("the weights of the relaxation's mixture are not >= 0 or do not sum to 1")
    value, spent = (sum((weight * end[k] for end, weight in ends), Fraction(0)) for k in (0, 1))
    if spent > budget:
        raise Refuted(f"the relaxation's mixture costs {shown(spent)}, more than the budget {shown(budget)}")
    for what, ours, theirs in (("value", Fraction(relaxation.value), value), ("value", value, row.value)):
        if abs(ours - theirs) > spare:
            raise Refuted(f"the relaxation's {what} is {shown(theirs)}, not {shown(ours)}")
    # next to a breakpoint the slope on its other side is as good, up to that
    if abs(Fraction(relaxation.lam) - row.lam) * abs(budget - row.cheaper.cost) > spare and not relaxation.is_integral:
        raise Refuted(f"the relaxation's lambda* is {shown(row.lam)}, not {shown(Fraction(relaxation.lam))}")


def _check_chain(relaxation: LP1Relaxation, rounding: Chain, row: AtBudget, points: list[Point]) -> None:
    """(2) to (4), and that the stated numbers are those of the chain."""
    budget = relaxation.budget
    assert budget is not None
    told = Fraction(relaxation.value), Fraction(relaxation.lam)
    for what, ours, theirs in (("value", told[0], row.value), ("lambda*", told[1], row.lam)):
        if ours != theirs:
            raise Refuted(f"the relaxation's {what} is {shown(theirs)}, not {shown(ours)}")
    # (2): its ends are what LP1 mixes
    for what, end, expected in (("cheaper", points[0], row.cheaper), ("dearer", points[-1], row.dearer)):
        if end != expected:
            raise Refuted(
                f"the chain's {what} end costs {shown(end.cost)} and errs {shown(end.error)}; "
                f"LP1 mixes a pruning of cost {shown(expected.cost)} and error {shown(expected.error)}"
            )
    # (3): every pruning of it is optimal at lambda*, and costs what is stated
    if len(rounding.cost) != len(points):
        raise Refuted(f"{len(rounding.cost)} costs are stated for a chain of {len(points)} prunings")
    for i, (point, stated) in enumerate(zip(points, rounding.cost, strict=True)):
        if point.cost != stated:
            raise Refuted(f"pruning {i} of the chain costs {shown(point.cost)}, not {shown(stated)}")
        if point.error + row.lam * point.cost != points[0].error + row.lam * points[0].cost:
            raise Refuted(f"pruning {i} of the chain is not optimal at lambda* = {shown(row.lam)}")
    # (4): the pruning that is taken is the dearest within the budget
    if not 0 <= rounding.row < len(points):
        raise Refuted(f"there is no pruning {rounding.row} in a chain of {len(points)}")
    if points[rounding.row].cost > budget:
        raise Refuted(f"pruning {rounding.row} costs {shown(points[rounding.row].cost)}, more than the budget {shown(budget)}")
    if rounding.row + 1 < len(points) and points[rounding.row + 1].cost <= budget:
        raise Refuted(f"pruning {rounding.row + 1} of the chain fits the budget {shown(budget)} too")
    # no step of it can be divided
    if row.integral is not None and rounding.n_components != row.components and row.lam > 0:
        raise Refuted(f"the edge has {row.components} components, the chain {rounding.n_components}")


def _chain(recount: Recount, rounding: Chain) -> list[Point]:
    """Cost and error of every pruning of the chain."""
    step = rounding.step
    n = recount.ensemble.n_nodes
    if not isinstance(step, np.ndarray) or step.shape != (n,) or not np.issubdtype(step.dtype, np.integer):
        raise Refuted(f"the chain is no array of {n} whole numbers, one for each node")
    # what each step adds, after checking that every set of the chain is a pruning
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
    # costs and errors, step by step
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
