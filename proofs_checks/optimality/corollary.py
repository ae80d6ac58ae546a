"""Corollary 4.3 of NWS15: at which budgets does the linear relaxation of LP1 have an integral optimum?

    "The linear program relaxation of (IP3) produces an optimally pruned tree for a given budget B."

Its proof takes a lambda whose optimum costs exactly B; mostly there is none. LP1 is IP3's rows with the row  cost <= B. With the
rows of a proven path, (cost_k, error_k), costs falling:

    B >= cost_0:                LP1 = error_0, integral: the budget binds nothing                                        (1)
    B  = cost_k:                LP1 = error_k, integral                                                                   (2)
    cost_{k+1} < B < cost_k:    LP1 = mu error_k + (1 - mu) error_{k+1},     B = mu cost_k + (1 - mu) cost_{k+1}          (3)

In (3) the mixture of the two prunings is feasible and costs B. No point is better: with lambda* the breakpoint between the rows,
error + lambda* cost >= opt(lambda*) on all of IP3's relaxation, for that is what the path's duals prove, so where cost <= B

    error  >=  opt(lambda*) - lambda* B  =  mu error_k + (1 - mu) error_{k+1}                                             (4)

An integral point that is as good has equality in (4): it is an optimal pruning at lambda* that costs exactly B
(`proofs_checks.optimality.edges` looks for one), or, where lambda* = 0, one that costs less.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from proofs_checks.optimality.edges import LevelComponents, edges_of, prove_edges
from proofs_checks.optimality.path_optimality import PathProof
from proofs_checks.optimality.recount import Refuted
from proofs_checks.verdict import Verdict, aligned

CLAIM = "the linear relaxation of LP1 has an integral optimum at {} (Corollary 4.3 of NWS15)"

METHOD = "the proven path's breakpoints, mixtures of neighbours, weak duality"


@dataclass(frozen=True)
class Point:
    """Cost and error of a pruning, or of a mixture of two."""

    cost: Fraction
    error: Fraction


@dataclass(frozen=True)
class AtBudget:
    """The optimum of LP1's relaxation at one budget."""

    budget: Fraction
    lam: Fraction  # lambda*: what a unit of the budget is worth there
    # cheaper, dearer: the two prunings that it mixes; the same one where it is a breakpoint's.
    cheaper: Point
    dearer: Point
    weight: Fraction  # mu, the part of the dearer one
    value: Fraction  # of the relaxation
    integral: bool | None  # whether some pruning within the budget is as good; None: undecided
    components: int  # of the edge: 1 where nothing lies between its ends, 0 at a breakpoint

    @property
    def answer(self) -> str:
        """The answer in one word."""
        return {True: "integral", False: "fractional", None: "undecided"}[self.integral]

    def __str__(self) -> str:
        mix = f"{float(self.weight):.3g} of cost {float(self.dearer.cost):g}, the rest of cost {float(self.cheaper.cost):g}"
        return f"B = {float(self.budget):g}: {self.answer}, LP1 = {float(self.value):.9g}, {mix}"


@dataclass(frozen=True)
class Budgets:
    """The budgets that were asked for, and the breakpoints, where the answer is always yes.

    Parameters
    ----------
    rows
        one for each budget.
    breakpoints
        the path's prunings, dearest first: an integral optimum at each of their costs.
    lam
        the breakpoint between each two neighbours.
    components
        for each two neighbours, into how many parts what lies between them falls.
    """

    rows: tuple[AtBudget, ...]
    breakpoints: tuple[Point, ...]
    lam: tuple[Fraction, ...]
    components: tuple[int, ...]

    @property
    def counterexample(self) -> AtBudget | None:
        """The first budget without an integral optimum."""
        return next((row for row in self.rows if row.integral is False), None)

    def table(self, limit: int | None = None) -> str:
        """The budgets line by line, to be read; those on the longest edges where there are more than `limit`."""
        shown = list(self.rows)
        if limit is not None and len(shown) > limit:
            longest = sorted(shown, key=lambda row: row.cheaper.cost - row.dearer.cost)[:limit]
            shown = [row for row in shown if row in longest]
        heads = ["optimum", "budget", "lambda", "cheaper", "its error", "dearer", "its error", "weight", "LP1", "components"]
        cells = []
        for row in shown:
            ends = (row.cheaper.cost, row.cheaper.error, row.dearer.cost, row.dearer.error)
            numbers = (row.budget, row.lam, *ends, row.weight, row.value)
            cells.append([row.answer, *(f"{float(x):.6g}" for x in numbers), str(row.components)])
        omitted = len(self.rows) - len(shown)
        more = [f"and {omitted:,} more, on shorter edges"] if omitted else []
        return "\n".join([*aligned([heads, *cells]), *more, "", self._counts()])

    def _counts(self) -> str:
        """How many budgets have an integral optimum, a fractional one, or were not decided."""
        counts = [sum(row.integral is answer for row in self.rows) for answer in (True, False, None)]
        return "{:,} integral, {:,} fractional, {:,} undecided".format(*counts)

    def __str__(self) -> str:
        return self._counts() if self.counterexample is None else f"{self._counts()}; {self.counterexample}"


@checked
def check_corollary(path: PruningPath, budgets: Iterable[Price] | None = None, X: Any = None) -> Verdict:
    """At which budgets does LP1's relaxation have an integral optimum, and what does it mix elsewhere?

    Parameters
    ----------
    path
        with its certificate; it is proven first, see `proofs_checks.optimality.path_optimality`.
    budgets
        costs per example, >= 0. Default: the middle of every edge of the hull, where the corollary has most to prove.
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: `Budgets`, or what is wrong with the path. True where every budget has an integral optimum, False with a
        counterexample; None where neither is shown, as of real numbers, and where the path is not proven.

    Raises
    ------
    InvalidInputError
        for a budget that is negative or no number.

    Examples
    --------
    >>> import prunemodels as pm
    >>> verdict = pm.checks.check_corollary(pm.pruning_path(pm.datasets.two_trees()), [3, 2.5])
    >>> verdict.holds
    False
    >>> print(verdict.certificate.table())
    optimum     budget  lambda  cheaper  its error  dearer  its error  weight     LP1  components
    integral         3       0        3      0.125       3      0.125       1   0.125           0
    fractional     2.5   0.125        2       0.25       3      0.125     0.5  0.1875           1
    <BLANKLINE>
    1 integral, 1 fractional, 0 undecided
    """
    asked = None if budgets is None else [limit_of_mean_cost(path.problem, b, f"budgets[{k}]") for k, b in enumerate(budgets)]
    claim = CLAIM.format("the middle of every edge" if asked is None else f"{len(asked)} budgets")
    try:
        proof = prove_edges(path, X)
    except Refuted as why:
        return Verdict(claim, None, METHOD, str(why))
    found = at_budgets(proof, asked)
    holds: bool | None = all(row.integral for row in found.rows)
    if found.counterexample is None and not holds:
        holds = None
    return Verdict(claim, holds, METHOD, found)


def at_budgets(proof: PathProof, asked: list[Fraction] | None) -> Budgets:
    """All budgets, by default the middle of every edge.

    What lies on an edge is not decided where the path is exact only up to rounding.
    """
    path = proof.evidence.path
    points = tuple(Point(c, e) for c, e in zip(path.exact_cost, path.exact_error, strict=True))
    first = proof.evidence.first_level
    levels = range(first, first + len(points) - 1)
    edges = {} if proof.evidence.gaps else edges_of(proof)
    lam = tuple(path.breakpoints[at] for at in levels)
    between = [edges.get(at, LevelComponents((), ())) for at in levels]
    if asked is None:
        asked = [(a.cost + b.cost) / 2 for a, b in itertools.pairwise(points)]
    unit = None if proof.evidence.gaps else proof.evidence.recount.error_unit
    rows = tuple(_at_budget(b, points, lam, between, unit) for b in asked)
    return Budgets(rows, points, lam, tuple(len(e.gain) for e in between))


def _at_budget(
    budget: Fraction,
    points: tuple[Point, ...],
    lam: tuple[Fraction, ...],
    edges: list[LevelComponents],
    gain_unit: Fraction | None,
) -> AtBudget:
    """(1) to (4) at one budget."""
    k = next(k for k, p in enumerate(points) if p.cost <= budget)  # the last row costs nothing
    cheaper = points[k]
    if k == 0 or cheaper.cost == budget:
        rate = lam[k - 1] if k > 0 else Fraction(0)
        return AtBudget(budget, rate, cheaper, cheaper, Fraction(1), cheaper.error, True, 0)
    dearer, rate, edge = points[k - 1], lam[k - 1], edges[k - 1]
    weight = (budget - cheaper.cost) / (dearer.cost - cheaper.cost)
    value = weight * dearer.error + (1 - weight) * cheaper.error
    if value != cheaper.error + rate * (cheaper.cost - budget):
        raise AssertionError(f"(4) fails at the budget {budget}, on a path that was proven")
    if gain_unit is None:
        return AtBudget(budget, rate, cheaper, dearer, weight, value, None, 0)
    gain = rate * (budget - cheaper.cost) / gain_unit  # 0 where lambda* is 0: the cheaper one is as good
    integral = edge.reaches(gain.numerator) if gain.denominator == 1 else False
    return AtBudget(budget, rate, cheaper, dearer, weight, value, integral, len(edge.gain))
