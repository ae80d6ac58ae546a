"""Are several prunings optimal, each by scores that take over what other lambdas decided?

Best closures are nested: for lambda <= lambda' let C be a best closure at lambda and C' one at lambda'. Prices are >= 0 and what
two closures buy is submodular, so

    C + C' is a best closure at lambda,      C * C' (what both keep) is one at lambda'                                       (1)

A point *rests on* a point of larger lambda whose splits `kept` it keeps, and on one of smaller lambda whose splits `pruned` it
prunes; its own proof is about what they leave open. Nothing else is needed, and nothing of it is believed: take the points in an
order in which each comes after those that it rests on. Then there are always closures O_p, one for each point p so far, with

    O_p best at lambda_p,     kept_p inside O_p,     pruned_p outside O_p,     lambda_p <= lambda_q  =>  O_q inside O_p       (2)

For a new point p between neighbours a and b, let C be any best closure. (C + O_b) * O_a is one as well, by (1), and by (2) it
keeps and prunes what p takes over. So a bound that holds for all closures that do so is a bound for all, and what every best one
of them keeps or prunes, this one does too: it is O_p. A point may hand on more: of its pruning P, where bound and value are the
same, anything. Then P is O_p, and the others become

    O_q + P  for lambda_q <= lambda_p,      O_q * P  for lambda_q > lambda_p                                                (3)

which are best by (1), and still as (2) has it because every such P is checked to prune all `pruned` of smaller lambdas and to
keep all `kept` of larger ones. (Where proofs have the same lambda, the smaller is the one asked for at a smaller lambda.)

What each point's scores prove is worked out by `proofs_checks.optimality.shared_prices`: sums in floats that are rounded to the
safe side, all else in integers of any length. A point whose core was cut has duals on that core, which are checked arc by arc;
then value and bound are the same fraction, at any size.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from formulations.answers.solution import SharedPrices, Solution, StopReason
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.optimality.shared_prices import Decided, proven_by_scores
from proofs_checks.optimality.solution_optimality import check_rates, compare
from proofs_checks.verdict import Verdict

METHOD = "every example sent down the trees again, nested closures, weak duality in exact integers"


class SharedPathPoint(Protocol):
    """What is read of a point; `solvers.price_sharing.PathPoint` has it."""

    @property
    def solution(self) -> Solution:
        """Lambda as it was asked for, pruning, value and bound."""
        ...

    @property
    def proof(self) -> SharedPrices:
        """Of the bound, on what is not taken over."""
        ...

    @property
    def smaller(self) -> Fraction | None:
        """The lambda that was asked for of the point whose `pruned` is taken over."""
        ...

    @property
    def larger(self) -> Fraction | None:
        """The lambda that was asked for of the point whose `kept` is taken over."""
        ...

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Nodes that a best closure keeps: what others may take over."""
        ...

    @property
    def pruned(self) -> NDArray[np.bool_]:
        """Nodes that it does not keep."""
        ...


@dataclass(frozen=True, eq=False)
class _Proven:
    """A point after its proof was checked; value and bound at the lambda that was asked for.

    `place` orders the points: the lambda of the proof, then the lambda that was asked for.
    """

    place: tuple[Fraction, Fraction]
    point: SharedPathPoint
    value: Fraction
    bound: Fraction
    chosen: bool
    """Whether it hands on more than it decided, so that its pruning is O_p."""


@checked
def check_shared_path(problem: PruningProblem, points: Sequence[SharedPathPoint], X: Any = None) -> Verdict:
    """Has the pruning of every point its value, and do the points together prove every bound?

    The checks are those of `check_solution`, about as fast for each point: for each stage, a pass over the usage arcs that the
    point itself had to decide. A point's solution says how good its bound is: without a tolerance, there must be no gap.

    Parameters
    ----------
    problem
        the instance, not necessarily the one that the solutions carry.
    points
        of `price_sharing_path`, all of them, in any order.
    X
        the cost sample, if it is not the table that the problem refers to; weights and rows are the problem's.

    Returns
    -------
    Verdict
        certificate: how many points there are, how many rest on others, how many have no gap at all, and the largest gap; or
        which point is wrong, and why. None where a point carries no pruning.

    Raises
    ------
    InvalidInputError
        for an empty sequence, and for a lambda, a table, weights or prices that are invalid.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> points = pm.engines.price_sharing_path(problem, [0.01, 0.02])
    >>> pm.checks.check_shared_path(problem, points).holds
    True
    """
    if not points:
        raise InvalidInputError("there are no points; give those of price_sharing_path")
    claim = f"all {len(points)} prunings are worth what their points say, and no pruning is worth less than its point's bound"
    lams = [exact(point.solution.lam, f"points[{k}].solution.lam") for k, point in enumerate(points)]
    without = [lam for lam, point in zip(lams, points, strict=True) if point.solution.pruning is None]
    if without:
        return Verdict(claim, None, METHOD, f"the point at lambda = {shown(without[0])} carries no pruning")
    try:
        recount = Recount(problem, X)
        for lam, point in zip(lams, points, strict=True):
            _at_lambda(lam, _check_form, point, problem)
        proven: dict[Fraction, _Proven] = {}
        for lam, point in _in_order_of_proof(lams, points):
            proven[lam] = _at_lambda(lam, _prove, recount, lam, point, proven)
        _check_nested(proven)
    except Refuted as wrong:
        return Verdict(claim, False, METHOD, str(wrong))
    gaps = [p.value - p.bound for p in proven.values()]
    told = {"points": len(points), "resting on others": sum(map(_rests, points)), "without a gap": gaps.count(Fraction(0))}
    return Verdict(claim, True, METHOD, told | {"largest gap": float(max(gaps))})


def _at_lambda(lam: Fraction, check: Any, *arguments: Any) -> Any:
    """Run a check; if it refutes, put the point's lambda before its message."""
    try:
        return check(*arguments)
    except Refuted as wrong:
        raise Refuted(f"the point at lambda = {shown(lam)}: {wrong}") from None


def _rests(point: SharedPathPoint) -> bool:
    """Whether it takes anything over."""
    return point.smaller is not None or point.larger is not None


def _check_form(point: SharedPathPoint, problem: PruningProblem) -> None:
    """Check the types and shapes of a point's parts."""
    n = problem.ensemble.n_nodes
    for name, nodes in (("kept", point.kept), ("pruned", point.pruned)):
        if not isinstance(nodes, np.ndarray) or nodes.shape != (n,) or nodes.dtype != np.bool_:
            raise Refuted(f"{name} is no array of {n} times yes or no, one for each node")
    for name, other in (("smaller", point.smaller), ("larger", point.larger)):
        if other is not None and not isinstance(other, Rational):
            raise Refuted(f"{name} is {other!r}, no fraction")
    if not isinstance(point.proof, SharedPrices):
        raise Refuted(f"its proof is {type(point.proof).__name__}, no scores")
    given = point.solution.certificate
    if given is not None and (given is not point.proof or _rests(point)):
        raise Refuted("its solution carries a certificate of its own, which is not this point's proof, or does not stand alone")


def _in_order_of_proof(lams: Iterable[Fraction], points: Iterable[SharedPathPoint]) -> list[tuple[Fraction, SharedPathPoint]]:
    """The points, each after those that it rests on."""
    unproven: dict[Fraction, SharedPathPoint] = {}
    for lam, point in zip(lams, points, strict=True):
        if lam in unproven:
            raise Refuted(f"there are two points at lambda = {shown(lam)}: what rests on one of them cannot be told")
        unproven[lam] = point
    for lam, point in unproven.items():
        for other in (point.smaller, point.larger):
            if other is not None and other not in unproven:
                raise Refuted(f"the point at lambda = {shown(lam)} rests on one at {shown(Fraction(other))}, which is not there")
    found: list[tuple[Fraction, SharedPathPoint]] = []
    while unproven:
        ready = [lam for lam, p in unproven.items() if p.smaller not in unproven and p.larger not in unproven]
        if not ready:
            raise Refuted(f"the point at lambda = {shown(_in_a_circle(unproven))} rests, by way of others or not, on itself")
        found += [(lam, unproven.pop(lam)) for lam in ready]
    return found


def _in_a_circle(unproven: Mapping[Fraction, SharedPathPoint]) -> Fraction:
    """Of some points, each of which rests on another of them: one that rests, by way of others or not, on itself."""
    seen: set[Fraction] = set()
    lam = next(iter(unproven))
    while lam not in seen:
        seen.add(lam)
        below, above = unproven[lam].smaller, unproven[lam].larger
        lam = Fraction(below if below is not None and below in unproven else above or 0)
    return lam


def _prove(recount: Recount, lam: Fraction, point: SharedPathPoint, others: Mapping[Fraction, _Proven]) -> _Proven:
    """One point, from those that it rests on."""
    proof, solution = point.proof, point.solution
    assert solution.pruning is not None
    check_rates(proof, lam)
    splits = recount.ensemble.is_split
    kept, pruned = np.zeros_like(splits), np.zeros_like(splits)
    place = (Fraction(proof.lam), lam)
    if point.larger is not None:
        other = others[Fraction(point.larger)]
        _check_order(place, other.place, "kept")
        kept = other.point.kept
    if point.smaller is not None:
        other = others[Fraction(point.smaller)]
        _check_order(other.place, place, "pruned")
        pruned = other.point.pruned & splits
    error, cost = recount.objective(solution.pruning.kept)
    here = error + proof.lam * cost
    found = proven_by_scores(recount, proof, here, np.flatnonzero(kept).tolist(), np.flatnonzero(pruned).tolist())
    value = error + lam * cost
    compare(recount, solution, value, found.bound)
    if solution.tolerance == 0 and solution.stopped is StopReason.CONVERGED and found.bound != value:
        raise Refuted(f"it says that there is no gap, but there may be one of {shown(value - found.bound)}")
    return _Proven(place, point, value, found.bound, _hands_on_more(recount, point, found, found.bound == here))


def _check_order(smaller: tuple[Fraction, Fraction], larger: tuple[Fraction, Fraction], what: str) -> None:
    """Check that decisions are taken over in the direction in which they hold."""
    if smaller >= larger:
        side = "larger" if what == "kept" else "smaller"
        raise Refuted(f"it takes over what is {what} at a lambda that is not {side}")


def _hands_on_more(recount: Recount, point: SharedPathPoint, found: Decided, is_best: bool) -> bool:
    """Whether `kept` and `pruned` say more than was decided, so that they follow from the pruning, which must be best."""
    assert point.solution.pruning is not None
    mine = point.solution.pruning.kept
    undecided = [h for h in np.flatnonzero(point.kept).tolist() if h not in found.kept]
    stays = found.kept | found.open
    not_pruned = [h for h in np.flatnonzero(point.pruned & recount.ensemble.is_split).tolist() if h in stays]
    for what, nodes, follows in (("kept", undecided, mine), ("pruned", not_pruned, ~mine)):
        for h in nodes:
            if not (is_best and follows[h]):
                raise Refuted(f"node {h} is handed on as {what}, but nothing proves it")
    return bool(undecided or not_pruned)


def _check_nested(proven: Mapping[Fraction, _Proven]) -> None:
    """Check what (3) demands of the points that rest on others, or that others rest on."""
    used = {other for p in proven.values() for other in (p.point.smaller, p.point.larger) if other is not None}
    linked = sorted((p for lam, p in proven.items() if lam in used or _rests(p.point)), key=lambda p: p.place)
    for p in linked:
        if p.chosen:
            _check_between(p, linked)


def _check_between(best: _Proven, linked: Iterable[_Proven]) -> None:
    """Check that a best pruning keeps what is kept at larger lambdas, and prunes what is pruned at smaller ones."""
    assert best.point.solution.pruning is not None
    mine = best.point.solution.pruning.kept
    for other in linked:
        is_smaller = other.place < best.place
        wrong = other.point.pruned & mine if is_smaller else other.point.kept & ~mine
        if wrong.any():
            here, there, h = shown(best.place[1]), shown(other.place[1]), int(np.argmax(wrong))
            told = f"keeps split {h}, which is pruned" if is_smaller else f"prunes split {h}, which is kept"
            raise Refuted(f"the point at lambda = {here}: it {told} at lambda = {there}")
