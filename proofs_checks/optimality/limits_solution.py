"""Is a pruning within its limits, and do the multipliers prove the bound of its error?

    use_r <= B_r  for every limit,     error as stated,     bound <= D(mu) = min of error + sum_r mu_r (use_r - B_r)          (1)

Uses are added up from what each example asks for, in fractions. For given multipliers a purchase costs sum_r mu_r amount_{r,j}.
D(mu), the least over all prunings, is bounded by the certificate of one closure with these prices, as
`proofs_checks.optimality.solution_optimality` does for a lambda. Errors of prunings are multiples of one number apart,
so D(mu) is raised to the next error that there can be. A bound above that, from branch and bound, is beyond what multipliers
prove.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.limits_solution import LimitProof, LimitsSolution
from formulations.arguments import checked
from formulations.instance.cost_items import CostItems
from formulations.instance.limit import Limit, meter_of
from formulations.instance.limit_members import members_of
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.budget_solution import check_error
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.optimality.solution_optimality import proven
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, uses in fractions, weak duality in exact integers"


@checked
def check_limits_solution(problem: PruningProblem, solution: LimitsSolution, X: Any = None) -> Verdict:
    """Is the pruning within its limits, and are its uses, its error and the bound what they are said to be?

    Parameters
    ----------
    problem
        the instance, not necessarily the one that the solution carries.
    solution
        of `prunemodels.solve` with limits.
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: uses, error, the bound that the multipliers prove, and gap; or what is wrong. None where the bound is above
        what they prove.

    Raises
    ------
    InvalidInputError
        for limits that the instance does not know.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.solve(problem, limits=[pm.Limit(10), pm.Limit(0.3, "texture")], method="path")
    >>> pm.checks.check_limits_solution(problem, solution).holds
    True
    """
    claim = (
        f"the pruning keeps to {len(solution.limits)} limits and errs {solution.error!r}, and no pruning within them less than "
        f"{solution.bound!r}"
    )
    try:
        meters = _Meters(problem, solution.limits, X)
        error, _ = meters.recount.objective(solution.pruning.kept)
        uses = meters.uses(solution.pruning.kept)
        _check(meters, solution, error, uses)
        bound = None
        if (proof := solution.proof) is not None:
            priced = _Priced(meters, proof, solution.at_most)
            bound = proven(priced, proof.certificate, Fraction(1), proof.kept)[2] - priced.spent  # D(mu), as far as it is proven
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    told: dict[str, Any] = {"uses": tuple(map(float, uses)), "error": float(error), "bound": solution.bound, "gap": solution.gap}
    if bound is None:
        return Verdict(claim, None, METHOD, {**told, "undecided": "the solution carries no multipliers"})
    told["proven"] = float(bound)
    spare = meters.recount.float_error(bound)
    if solution.proof is not None and Fraction(solution.proof.bound) > bound + spare:
        return Verdict(claim, False, METHOD, f"the multipliers prove the bound {shown(bound)}, not {solution.proof.bound!r}")
    if Fraction(solution.bound) > meters.raised(bound, spare) + spare:
        return Verdict(claim, None, METHOD, {**told, "undecided": "the bound is above what the multipliers prove"})
    return Verdict(claim, True, METHOD, told)


def _check(meters: _Meters, solution: LimitsSolution, error: Fraction, uses: list[Fraction]) -> None:
    """(1), but for the bound's proof."""
    if not len(solution.limits) == len(solution.at_most) == len(solution.uses):
        raise Refuted(
            f"{len(solution.at_most)} limits and {len(solution.uses)} uses are stated for {len(solution.limits)} limits"
        )
    for limit, most, stated, use in zip(solution.limits, solution.at_most, solution.uses, uses, strict=True):
        if not _is_limit(limit, most):
            raise Refuted(f"the limit of {limit.title} is {limit.at_most!r}, not {shown(most)}")
        if use != stated:
            raise Refuted(f"the pruning uses {shown(use)} of {limit.title}, not {shown(stated)}")
        if use > most:
            raise Refuted(f"the pruning uses {shown(use)} of {limit.title}, more than {shown(most)}")
    check_error(meters.recount, solution, error)


class _Meters:
    """What limits count, and of whom."""

    def __init__(self, problem: PruningProblem, limits: tuple[Limit, ...], X: Any) -> None:
        self.problem, self.limits = problem, limits
        trees, names = problem.ensemble.n_trees, [f"limits[{k}]" for k in range(len(limits))]
        self.meters = [
            meter_of(limit, problem.costs, problem.evaluation, trees, name) for limit, name in zip(limits, names, strict=True)
        ]
        self.members = [members_of(problem.usage, limit, name) for limit, name in zip(limits, names, strict=True)]
        # by example first, then once, as certificates number their arcs
        self.counted = [
            (m, once)
            for once in (False, True)
            for m in range(problem.costs.n_items)
            if any((meter.once if once else meter.item)[m] for meter in self.meters)
        ]
        place = {item: k for k, item in enumerate(self.counted)}
        needs = tuple(
            tuple(place[m, once] for once in (False, True) for m in items if (m, once) in place) for items in problem.costs.needs
        )
        costs = CostItems(
            tuple(problem.costs.names[m] for m, _ in self.counted),
            (Fraction(1),) * len(place),
            needs,
            tuple(o for _, o in self.counted),
        )
        self.problem = replace(problem, usage=replace(problem.usage, costs=costs))
        self.recount = Recount(self.problem, X)

    def amount(self, k: int, item: int) -> Fraction:
        """What limit k counts of a metered item."""
        m, once = self.counted[item]
        return (self.meters[k].once if once else self.meters[k].item)[m]

    def uses(self, kept: NDArray[np.bool_]) -> list[Fraction]:
        """What a pruning uses of every limit; the most of any example where it is about every one."""
        recount, bought = self.recount, np.zeros(self.recount.n_purchases, dtype=bool)
        splits = np.flatnonzero(kept).tolist()
        for h in splits:
            recount.buy(bought, h)
        return [self._use(k, splits, bought) for k in range(len(self.limits))]

    def _use(self, k: int, splits: list[int], bought: NDArray[np.bool_]) -> Fraction:
        recount, meter, members = self.recount, self.meters[k], self.members[k]
        used = np.array([Fraction(0)] * recount.n_rows, dtype=object)
        fixed = meter.constant + meter.split * len(splits)
        for item, (_, once) in enumerate(self.counted):
            amount, mine = self.amount(k, item), bought[recount.by_item(item)]
            if once:
                fixed += amount if mine[0] else 0
            elif amount:
                used[mine] += amount
        for h in splits if any(meter.evaluation) else []:
            used[recount.routes.rows(h)] += meter.evaluation[int(recount.ensemble.feature[h])]
        if self.limits[k].each:
            return fixed + Fraction(max(used[members]))
        weight = recount.weight[members].astype(object)
        return fixed + Fraction((used[members] * weight).sum()) / int(weight.sum())

    def raised(self, bound: Fraction, spare: Fraction) -> Fraction:
        """A bound raised to the next error that a pruning can have, where it is more than `spare` below it."""
        recount = self.recount
        step = math.gcd(*(recount.gain(h) for h in recount.splits)) * recount.error_unit
        if step <= 2 * spare:
            return bound
        roots = recount.roots_error() * recount.error_unit
        return roots - (roots - bound + spare) // step * step


class _Priced(Recount):
    """The metered instance at prices sum_r mu_r amount_{r,j}, all as integers in one unit."""

    def __init__(self, meters: _Meters, proof: LimitProof, at_most: tuple[Fraction, ...]) -> None:
        self.__dict__.update(meters.recount.__dict__)
        parts = _multipliers(meters, proof)
        weight = self.weight.astype(object)
        totals = [int(weight[members].sum()) for _, members, _ in parts]
        amounts = [a for meter in meters.meters for a in (*meter.item, *meter.once, *meter.evaluation, meter.split)]
        denominators = [(mu / total).denominator for (_, _, mu), total in zip(parts, totals, strict=True)]
        scale = math.lcm(*denominators) * math.lcm(*(a.denominator for a in amounts))
        self.cost_unit, self.spent = Fraction(1, scale), Fraction(0)
        self._prices = [np.zeros(1 if once else self.n_rows, dtype=object) for _, once in meters.counted]
        self.evaluation = [0] * self.ensemble.n_nodes
        for (k, members, mu), total in zip(parts, totals, strict=True):
            meter, share = meters.meters[k], np.zeros(self.n_rows, dtype=object)
            share[members] = weight[members]
            self.spent += mu * (at_most[k] - meter.constant)
            for item, (_, once) in enumerate(meters.counted):
                amount = meters.amount(k, item)
                if amount:
                    self._prices[item] += int(amount * mu * scale) if once else int(amount * mu / total * scale) * share
            for h in self.splits:
                a = meter.evaluation[int(self.ensemble.feature[h])]
                passed = int(a * mu / total * scale) * int(share[self.routes.rows(h)].sum()) if a else 0
                self.evaluation[h] += passed + int(meter.split * mu * scale)

    def prices(self, item: int) -> NDArray[np.object_]:
        """What the purchases of an item cost, in `cost_unit`."""
        return self._prices[item]

    def distinct_prices(self, item: int) -> tuple[list[int], NDArray[np.intp]]:
        """The different prices among them, and which of them each purchase has."""
        prices, place = np.unique(self._prices[item], return_inverse=True)
        return prices.tolist(), place

    def cost_of(self, bought: NDArray[np.bool_]) -> int:
        """Sum of the prices of some purchases."""
        return sum(int(self._prices[m][bought[self.by_item(m)]].sum()) for m in range(len(self._prices)))


def _multipliers(meters: _Meters, proof: LimitProof) -> list[tuple[int, NDArray[np.int64], Fraction]]:
    """The limit of each multiplier, the examples that it is about, and the multiplier, checked."""
    parts, seen = [], set()
    for k, row, mu in proof.multipliers:
        if not 0 <= k < len(meters.limits) or meters.limits[k].each != (row is not None):
            raise Refuted(f"a multiplier belongs to limit {k} and row {row}; there is no such row")
        if not isinstance(mu, Fraction) or mu < 0:
            raise Refuted(f"the multiplier of limits[{k}] is {mu!r}; it must be a fraction >= 0")
        if (k, row) in seen:
            raise Refuted(f"limits[{k}] has two multipliers")
        seen.add((k, row))
        members = meters.members[k]
        if row is not None:
            members = members[meters.problem.rows[members] == row]
            if members.size != 1:
                raise Refuted(f"limits[{k}] is not about row {row}, which has a multiplier")
        parts.append((k, members, mu))
    return parts


def _is_limit(limit: Limit, most: Fraction) -> bool:
    """Whether a number is what a limit allows: the number that was given, or one that rounds to it where that was a float."""
    if isinstance(limit.at_most, float):
        return float(most) == limit.at_most
    return most == Fraction(limit.at_most)
