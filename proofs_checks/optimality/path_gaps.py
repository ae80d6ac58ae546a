"""The blocks of a path and what their closures are worth; and how much better than its prunings a pruning could be.

A *block* is a maximal connected set of splits of one tree and one level.

Let K be a row of the path, at a lambda of its interval. All that it buys is paid in full, by splits of K that pay nothing else,
by (2) of `proofs_checks.optimality.path_evidence`. So the value of K and the bound that the duals prove differ by what trees have
better closures than K's. A closure of a tree has in each block B a closure of B, where K has all of B or nothing. With

    over_B   =  worth of the best closure of B, at least 0,      under_B  =  over_B  -  worth of all of B                     (1)

the gap is therefore at most the sum of under_B of the blocks that K keeps and of over_B of those that it prunes. Profits fall as
lambda rises, so under_B rises and over_B falls. To under_B belongs what is left unpaid of the
purchases of its level, which only a row that buys them is short of; lambda falls, and so does that. With over_l(k) and
under_l(k) the sums over the blocks of level l at the breakpoint k, the gap at the breakpoint k is at most

    sum over l > k of under_l(l - 1)  +  sum over l < k of over_l(l + 1)  +  over_k(k)                                        (2)

for both rows that meet there, since what goes there must be worth nothing in all:  over_k(k) = under_k(k)                    (3)

To (2) belong under_B of what is always kept, which pays nothing, and over_B of what is never kept, at lambda = 0. Between two
breakpoints and beyond the last, (3) of `formulations.answers.pruning_path` holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from proofs_checks.optimality.path_evidence import PathEvidence
from proofs_checks.optimality.path_shares import Exact
from proofs_checks.optimality.recount import Refuted, shown


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
    """(2) and (3) for the gaps that a path states."""
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
    """The sums of (1) by level, -1 and top included, at their own breakpoints or those beside, in error."""
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
