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
((5) to (7) look for one), or, where lambda* = 0, one that costs less.

On the edges of the hull lie the optimal prunings at a breakpoint.

At the breakpoint of level l the optima lie between the two neighbouring rows of the path (others have the cost and the error of
one that does). By complementary slackness with the path's duals a set X of splits of level l, added to the cheaper row, is an
optimum exactly if it is closed under

    h -> parent of h,  of level l                                     prunings                                            (5)
    h -> child c of h, of level l,  where the surplus of c is > 0     best closures of the trees under the duals           (6)
    h -> purchase j of level l that h needs,   j -> every split with a dual on j         what is bought is paid in full     (7)

Strongly connected components of (5) to (7) stay together. If there is only one, nothing lies between the ends. All X are worth 0
at the breakpoint, so adding a component adds gain / lambda_l to the cost, in any order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from formulations.answers.pruning_path import PathShares, PruningPath
from formulations.answers.solution import Status
from formulations.arguments import checked
from formulations.instance.cost_items import Price
from formulations.instance.limit import limit_of_mean_cost
from proofs_checks.optimality.path_optimality import PathProof, prove_path
from proofs_checks.optimality.recount import Refuted
from proofs_checks.verdict import DEFAULTS, Verdict, aligned


@dataclass(frozen=True, eq=False)
class LevelComponents:
    """The components of one level."""

    gain: tuple[int, ...]  # integer gain of each component, >= 0.
    needs: tuple[frozenset[int], ...]  # for each component the others that it cannot be without.

    def reaches(self, gain: int) -> bool | None:
        """Whether some closed set of components has exactly this integer gain; None: not decided."""
        if gain in (0, sum(self.gain)):
            return True
        if len(self.gain) == 1:
            return False
        if sum(self.gain) <= DEFAULTS.most_tabulated_gain:
            sums = 1
            for g in self.gain:
                sums |= sums << g
            if not sums >> gain & 1 or not any(self.needs):
                return bool(sums >> gain & 1)
        return self._listed(gain)

    def _listed(self, gain: int) -> bool | None:
        """The same by listing closed sets, those that a component needs before it."""
        sets = {frozenset[int](): 0}
        for c in self._in_order():
            grown = {s | {c}: total + self.gain[c] for s, total in sets.items() if self.needs[c] <= s}
            if gain in grown.values():
                return True
            sets |= grown
            if len(sets) > DEFAULTS.most_sets:
                return None
        return False

    def _in_order(self) -> Iterator[int]:
        """Components, each after all that it needs."""
        done: set[int] = set()
        todo = list(range(len(self.gain)))
        while todo:
            ready = [c for c in todo if self.needs[c] <= done]
            yield from ready
            done.update(ready)
            todo = [c for c in todo if c not in done]


def prove_edges(path: PruningPath, X: Any = None) -> PathProof:
    """The proof of a path that is exact, or exact up to rounding, and has a dual for each usage arc, as (7) needs it."""
    if path.certificate is None:
        raise Refuted("the path carries no certificate")
    if isinstance(path.certificate, PathShares):
        raise Refuted("the path's certificate has no dual for each usage arc")
    try:
        proof = prove_path(path, X)
    except Refuted as wrong:
        raise Refuted(f"the path is not proven: {wrong}") from None
    if path.status is not Status.OPTIMAL:
        raise Refuted(f"the path is optimal only up to a relative gap of {proof.relative_gap:.2g}")
    return proof


def edges_of(proof: PathProof) -> dict[int, LevelComponents]:
    """The components of every level, all levels at once: (5) to (7) never leave one."""
    evidence = proof.evidence
    n, level = evidence.recount.ensemble.n_nodes, evidence.level
    tail, head = _arcs(proof)
    size = n + evidence.recount.n_purchases
    graph = sparse.csr_array((np.ones(tail.size, dtype=np.int8), (tail, head)), shape=(size, size))
    _, label = csgraph.connected_components(graph, directed=True, connection="strong")
    members: dict[int, dict[int, int]] = {}  # level -> label -> gain
    for h, at in level.items():
        if 0 <= at < evidence.top:
            found = members.setdefault(at, {})
            found[int(label[h])] = found.get(int(label[h]), 0) + evidence.recount.gain(h)
    needs = _needs(label, tail, head, {c for found in members.values() for c in found})
    components = {}
    for at, found in members.items():
        place = {c: k for k, c in enumerate(found)}
        components[at] = LevelComponents(tuple(found.values()), tuple(frozenset(place[d] for d in needs[c]) for c in found))
    return components


def _needs(label: NDArray[Any], tail: NDArray[Any], head: NDArray[Any], of_splits: set[int]) -> dict[int, set[int]]:
    """The components that each one needs directly, or through a purchase that is a component by itself."""
    apart = label[tail] != label[head]
    pairs = np.unique(np.stack([label[tail[apart]], label[head[apart]]]), axis=1)
    direct: dict[int, set[int]] = {}
    for a, b in pairs.T.tolist():
        direct.setdefault(a, set()).add(b)
    found: dict[int, set[int]] = {}
    for c in of_splits:
        through = direct.get(c, set())
        found[c] = {e for d in through for e in ({d} if d in of_splits else direct.get(d, set())) if e != c}
    return found


def _arcs(proof: PathProof) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """(5) to (7); purchase j is vertex n + j."""
    evidence = proof.evidence
    recount, level, n = evidence.recount, evidence.level, evidence.recount.ensemble.n_nodes
    tails: list[NDArray[np.int64]] = []
    heads: list[NDArray[np.int64]] = []
    between = [(h, recount.parent[h]) for h in level if level.get(recount.parent[h]) == level[h]]
    between += [(above, h) for h, above in between if proof.surplus[h] > 0]
    pairs = np.array(between, dtype=np.int64).reshape(-1, 2)
    tails.append(pairs[:, 0])
    heads.append(pairs[:, 1])
    for segment, dual in evidence.segments():
        at = level[segment.split]
        if not 0 <= at < evidence.top:
            continue
        mine = segment.purchases[evidence.purchase_level[segment.purchases] == at] + n
        with_dual = segment.purchases[dual > 0] + n
        tails += [np.full(mine.size, segment.split), with_dual]
        heads += [mine, np.full(with_dual.size, segment.split)]
    return np.concatenate(tails), np.concatenate(heads)


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
    """The budgets that were asked for, and the breakpoints, where the answer is always yes."""

    rows: tuple[AtBudget, ...]  # one for each budget
    breakpoints: tuple[Point, ...]  # the path's prunings, dearest first: an integral optimum at each of their costs
    lam: tuple[Fraction, ...]  # the breakpoint between each two neighbours
    components: tuple[int, ...]  # for each two neighbours, into how many parts what lies between them falls

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
