"""Is every pruning of a path optimal, for every lambda at once?

One dual state serves every lambda, see `proofs_checks.optimality.path_evidence`. A *block* is a maximal connected set of splits
of one tree and one level l; its splits' profits are

    profit_h  =  gain_h  -  lambda_l evaluation_h  -  duals_h,      at its own breakpoint lambda_l                            (1)

and all that optimality asks of the trees is

    sum of the profits of the splits of h's block at and below h  >=  0                 for every split h that is ever kept   (2)
    best closure of the block  <=  0                             for every block that is pruned at some lambda, or never kept  (3)
    splits that are kept for all lambda cost nothing                                                                        (4)

That is sufficient. Let lambda be on the interval of a row. Profits, as functions of lambda, fall. So by (3) no closure of a block
that is pruned there is worth anything, nor of the blocks below it, which were pruned no later; and by (2) no kept split gains by
going with what is kept below it, its own block's part or others'. So the row's pruning is a best closure of every tree under the
duals; what it buys is paid in full, by splits that it keeps, which pay nothing else. Value and bound are the same number,
exactly. That holds on the whole of the row's interval, both ends included; the intervals cover every lambda >= 0, and the last
row, which is free by (4), stays optimal for ever. So no breakpoint is missing.

A path with gaps does without (2) and (3), see (7) to (9), and what follows is not asked of it.

The path also says *which* optimum it holds. A split with its block's part below it could go without loss just before its
breakpoint if these have neither profit nor duals nor evaluation costs; a closure of its block could stay without loss beyond it
if it is worth nothing, buys nothing new (so pays no duals) and has no evaluation costs. So

    smallest:  (2) with > 0, or one of them has duals or an evaluation cost                                                  (5)
    largest:   (3) with < 0 for closures that buy nothing new and have no evaluation cost                                   (6)

Everything is counted in the numbers of `proofs_checks.optimality.recount`, which are those that the user gave.

How much better than the prunings of a path with gaps a pruning could be: let K be a row of the path, at a lambda of its interval.
All that it buys is paid in full, by splits of K that pay nothing else, by (2) of `proofs_checks.optimality.path_evidence`. So the
value of K and the bound that the duals prove differ by what trees have better closures than K's. A closure of a tree has in each
block B a closure of B, where K has all of B or nothing. With

    over_B   =  worth of the best closure of B, at least 0,      under_B  =  over_B  -  worth of all of B                     (7)

the gap is therefore at most the sum of under_B of the blocks that K keeps and of over_B of those that it prunes. Profits fall as
lambda rises, so under_B rises and over_B falls. To under_B belongs what is left unpaid of the
purchases of its level, which only a row that buys them is short of; lambda falls, and so does that. With over_l(k) and
under_l(k) the sums over the blocks of level l at the breakpoint k, the gap at the breakpoint k is at most

    sum over l > k of under_l(l - 1)  +  sum over l < k of over_l(l + 1)  +  over_k(k)                                        (8)

for both rows that meet there, since what goes there must be worth nothing in all:  over_k(k) = under_k(k)                    (9)

To (8) belong under_B of what is always kept, which pays nothing, and over_B of what is never kept, at lambda = 0. Between two
breakpoints and beyond the last, (3) of `formulations.answers.pruning_path` holds.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PruningPath
from formulations.arguments import checked
from proofs_checks.optimality.path_evidence import PathEvidence, read_evidence
from proofs_checks.optimality.path_shares import Exact
from proofs_checks.optimality.recount import Recount, Refuted, shown
from proofs_checks.verdict import DEFAULTS, Verdict

LARGEST_FLOAT = Fraction(sys.float_info.max)

METHOD = "every example sent down the trees again, one dual solution for all lambda, in exact integers"


@dataclass(frozen=True, eq=False)
class PathProof:
    """A path that was checked."""

    evidence: PathEvidence
    surplus: dict[int, Exact]  # the left side of (2) for every split, in the unit of its level.
    relative_gap: float  # that of the path.


@checked
def check_path(path: PruningPath, X: Any = None) -> Verdict:
    """Is every row of the path optimal on all of its interval, the smallest or largest optimum as it says, and are they nested?

    Of a path with gaps: is every row within them, and are they nested? See (7) to (9).

    Exact, by passes over the usage arcs and the trees, as few for a thousand rows as for one: seconds for some millions of arcs.
    Cost and error, the columns that it reports, are recomputed. Rounded instances are checked in their integers, and how far
    these can be from the instance is recomputed: twice that bounds the gap of a row.

    Parameters
    ----------
    X
        the cost sample, if it is not the table that the problem refers to.

    Returns
    -------
    Verdict
        certificate: rows, and what bounds the gap of each at its breakpoint, as a float; or what is wrong. None where the path
        carries no certificate.

    Raises
    ------
    InvalidInputError
        for a table, weights or prices that are invalid.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import path
    >>> verdict = pm.checks.check_path(path)
    >>> print(verdict.claim)
    all 14 prunings of the path are optimal, each the smallest optimum, and nested
    >>> verdict.holds
    True
    """
    exact = f"all {len(path)} prunings of the path are optimal, each the {path.ties} optimum, and nested"
    if path.certificate is None:
        why = f": it is optimal only up to a relative gap of {path.relative_gap:.2g}" if any(path.gaps) else ""
        return Verdict(exact, None, METHOD, f"the path carries no certificate{why}")
    try:
        proof = prove_path(path, X)
    except Refuted as wrong:
        without = isinstance(path.gaps, tuple) and not path.gaps
        return Verdict(exact if without else _claim(path, "the relative gap that it states"), False, METHOD, str(wrong))
    gap = max(proof.evidence.gaps, default=0)
    claim = _claim(path, f"a relative gap of {proof.relative_gap:.2g}") if proof.evidence.gaps else exact
    return Verdict(claim, True, METHOD, {"rows": len(path), "largest gap": float(gap) if gap < LARGEST_FLOAT else math.inf})


def _claim(path: PruningPath, gap: str) -> str:
    """What is claimed of a path with gaps."""
    return f"all {len(path)} prunings of the path are worth the optimum up to {gap}, and nested"


def prove_path(path: PruningPath, X: Any = None) -> PathProof:
    """The proof of a path with a certificate."""
    recount = Recount(path.problem, X)
    evidence = read_evidence(path, recount)
    worths = block_worths(evidence)
    _check_forever(evidence)
    if evidence.gaps:
        check_gaps(evidence)
    else:
        _check_exact(evidence, worths)
        if path.ties == "smallest":
            _check_smallest(evidence, worths)
        else:
            _check_largest(evidence, worths)
    _check_columns(evidence)
    return PathProof(evidence, worths.whole, relative_gap(evidence) if evidence.gaps else 0.0)


def _check_exact(evidence: PathEvidence, worths: BlockWorths) -> None:
    """(2) and (3)."""
    for h, level in evidence.level.items():
        if worths.whole[h] < 0 and level >= 0:
            raise Refuted(f"split {h} and what is below it are kept up to breakpoint {level}, which does not pay")
        if worths.best[h] > 0 and level < evidence.top and is_top(evidence, h):
            raise Refuted(f"split {h} is pruned from breakpoint {max(0, level)} on, where keeping it still pays")


def _check_forever(evidence: PathEvidence) -> None:
    """(4) for evaluation prices; priced purchases are refused earlier."""
    evaluation = evidence.recount.evaluation
    for h, level in evidence.level.items():
        if level == evidence.top and evaluation[h] > 0:
            raise Refuted(f"split {h} is kept for all lambda, yet its evaluation has a price")


def _check_smallest(evidence: PathEvidence, worths: BlockWorths) -> None:
    """(5)."""
    evaluation, level = evidence.recount.evaluation, evidence.level
    charged: dict[int, bool] = {}
    for h in reversed(evidence.recount.splits):
        charged[h] = evidence.duals(h) > 0 or evaluation[h] > 0 or any(charged[c] for c in below(evidence, h))
        if worths.whole[h] == 0 and level[h] >= 0 and not charged[h]:
            when = "" if level[h] == evidence.top else f" before breakpoint {level[h]}"
            raise Refuted(f"split {h} could go{when} for nothing: not the smallest optimum")


def _check_largest(evidence: PathEvidence, worths: BlockWorths) -> None:
    """(6): closures of splits that buy nothing new and whose evaluation is free; at lambda = 0, where all is free, any."""
    recount, level = evidence.recount, evidence.level
    evaluation = recount.evaluation
    worth: dict[int, int] = {}
    for h in reversed(recount.splits):
        if level[h] < 0 and worths.best[h] == 0 and is_top(evidence, h):
            raise Refuted(f"split {h} is never kept, though it costs nothing at lambda = 0: not the largest optimum")
        if not 0 <= level[h] < evidence.top or evaluation[h] > 0:
            continue
        if any((evidence.purchase_level[recount.purchases(h, m)] == level[h]).any() for m in recount.charged_items[h]):
            continue
        worth[h] = recount.gain(h) + sum(max(0, worth.get(c, 0)) for c in below(evidence, h))
        if is_top(evidence, h) and worth[h] >= 0:
            raise Refuted(f"split {h} could stay beyond breakpoint {level[h]} for nothing: not the largest optimum")


def _check_columns(evidence: PathEvidence) -> None:
    """The columns of the path must be the errors and costs of its rows."""
    path, recount = evidence.path, evidence.recount
    first, rows = evidence.first_level, len(path)
    gain, cost = ([0] * (evidence.top + 1) for _ in range(2))
    for h, level in evidence.level.items():
        if level >= 0:
            gain[level] += recount.gain(h)
            cost[level] += recount.evaluation[h]
    for m in np.flatnonzero(recount.priced).tolist():
        levels = evidence.purchase_level[recount.by_item(m)]
        _add_by_level(cost, levels, recount.price[m], [recount.total] if recount.once[m] else recount.weight)
    kept = [suffixes(amounts)[first : first + rows] for amounts in (gain, cost)]
    error = [(recount.roots_error() - g) * recount.error_unit for g in kept[0]]
    costs = [c * recount.cost_unit for c in kept[1]]
    check_column("error", path.error, error, recount.largest_error)
    check_column("cost", path.cost, costs)
    for name, given, mine in (("exact_error", path.exact_error, error), ("exact_cost", path.exact_cost, costs)):
        if list(given) != mine:
            raise Refuted(f"the path's {name} is not that of its prunings")


def suffixes(by_level: Sequence[Any]) -> list[Any]:
    """Sums from each place on, 0 from the end on."""
    return [*itertools.accumulate(reversed(by_level), initial=0)][::-1]


def _add_by_level(sums: list[int], level: NDArray[np.int32], price: int, weight: NDArray[Any] | list[int]) -> None:
    """Add a price times the weights of the purchases of each level to the sums of the levels."""
    weight, bought = np.asarray(weight), level >= 0
    by_level = np.zeros(len(sums), dtype=weight.dtype)
    np.add.at(by_level, level[bought], weight[bought])
    for at, amount in enumerate(by_level.tolist()):
        sums[at] += price * amount


def check_column(name: str, given: NDArray[np.float64], mine: list[Fraction], scale: Fraction = Fraction(0)) -> None:
    """Compare floats with exact numbers, up to `precision` of the largest or of `scale`, of which the floats may be differences.

    NaN fails, since no comparison with it is true.
    """
    if not isinstance(given, np.ndarray) or given.shape != (len(mine),):
        raise Refuted(f"the path's column {name} has not one number for each of {len(mine)} rows")
    precision = DEFAULTS.precision * max(scale, *map(abs, mine))
    for k, (number, true) in enumerate(zip(given.tolist(), mine, strict=True)):
        if not abs(number) < float("inf") or abs(Fraction(number) - true) > precision:
            raise Refuted(f"row {k} has the {name} {shown(true)}, not {number!r}")


@dataclass(frozen=True, eq=False)
class BlockWorths:
    """For every split, in the unit of the breakpoint."""

    whole: dict[int, Exact]  # profit of the split and of all that is below it in its block.
    best: dict[int, Exact]  # worth of the best closure that has the split and only what is below it in its block.


def below(evidence: PathEvidence, h: int) -> list[int]:
    """The children of a split that belong to its block."""
    recount, level = evidence.recount, evidence.level
    return [c for c in (recount.left[h], recount.right[h]) if level.get(c) == level[h]]


def is_top(evidence: PathEvidence, h: int) -> bool:
    """Whether h is the top of its block."""
    return evidence.level.get(evidence.recount.parent[h]) != evidence.level[h]


def block_worths(evidence: PathEvidence, beside: int = 0) -> BlockWorths:
    """Worths at the block's own breakpoint, or at that of a level beside its own, for the blocks that have such a breakpoint."""
    whole: dict[int, Exact] = {}
    best: dict[int, Exact] = {}
    for h in reversed(evidence.recount.splits):
        at = evidence.level[h] + beside
        if beside == 0 or (0 <= evidence.level[h] < evidence.top and 0 <= at < evidence.top):
            profit, same = evidence.profit(h, at), below(evidence, h)
            whole[h] = profit + sum(whole[c] for c in same)
            best[h] = profit + sum(max(0, best[c]) for c in same)
    return BlockWorths(whole, best)


def check_gaps(evidence: PathEvidence) -> None:
    """(8) and (9) for the gaps that a path states."""
    top = evidence.top
    over, under = _sums(evidence)
    for k in range(top):
        if over[k] != under[k]:
            raise Refuted(f"the rows before and after breakpoint {k} are not worth the same there")
    _, before = _sums(evidence, -1)
    after, _ = _sums(evidence, 1)
    elsewhere = over[-1] + under[top] + sum((before[k] for k in range(top)), Fraction(0))
    for k, stated in enumerate(evidence.gaps):
        elsewhere -= before[k]
        if elsewhere + over[k] > stated:
            proven = shown(elsewhere + over[k])
            raise Refuted(f"the gap at breakpoint {k} is stated as {shown(stated)}, the certificate proves {proven}")
        elsewhere += after[k]


def _sums(evidence: PathEvidence, beside: int = 0) -> tuple[dict[int, Fraction], dict[int, Fraction]]:
    """The sums of (7) by level, -1 and top included, at their own breakpoints or those beside, in error."""
    worths, level, top = block_worths(evidence, beside), evidence.level, evidence.top
    over: dict[int, Exact] = dict.fromkeys(range(-1, top + 1), 0)
    under = dict(over)
    for h, best in worths.best.items():
        if is_top(evidence, h):
            over[level[h]] += max(0, best)
            under[level[h]] += max(0, best) - worths.whole[h]
    of_over, of_under = (
        {at: x * (evidence.unit(at + beside) if 0 <= at < top else evidence.unit(at)) for at, x in sums.items()}
        for sums in (over, under)
    )
    points = evidence.path.breakpoints
    for at, unpaid in enumerate(evidence.unpaid):
        if unpaid and 0 <= at + beside < top:
            of_under[at] += unpaid * min(Fraction(1), Fraction(points[at + beside]) / points[at])
    return of_over, of_under


def relative_gap(evidence: PathEvidence) -> float:
    """`PruningPath.relative_gap`, from errors and costs of the rows that were checked."""
    path = evidence.path
    roots = evidence.recount.roots_error() * evidence.recount.error_unit
    shares: list[list[Fraction | float]] = [[], []]
    for s, error, cost, b in zip(evidence.gaps, path.exact_error, path.exact_cost, path.breakpoints, strict=False):
        attainable = roots - error - b * cost + s
        for of, whole in zip(shares, (attainable, evidence.recount.largest_error / 100), strict=True):
            of.append(s / whole if whole > 0 else math.inf if s else 0)
    most = ([max(pair) for pair in pairwise([*of, 0])] for of in shares)
    mine = float(max(map(min, *most)))
    if not math.isclose(path.relative_gap, mine, rel_tol=1e-9):
        raise Refuted(f"the path's relative gap is {mine!r}, not {path.relative_gap!r}")
    return mine
