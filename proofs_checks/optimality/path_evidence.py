"""What a path's certificate says: the duals of every split, the level of every purchase.

With lambda_l the breakpoint of level l,

    every split h pays        duals_h min(1, lambda / lambda_l),        l its level                                         (1)
    the splits of level l, the highest among its users', pay together   lambda_l price_j  for purchase j, others nothing;
                                                                        of real numbers that much or less                   (2)

By (2) the duals (1) of a purchase are lambda times its price up to lambda_l, and stay what they are there beyond: never more than
its price, for any lambda, and exactly that for as long as it is bought. What is left unpaid of it counts as a gap. Shares
(`PathShares`) have (2) by what they are. Instead of (1) split h pays lambda times its shares: the duals of a purchase are lambda
times its price for any lambda.

Everything is counted in the numbers of `proofs_checks.optimality.recount`. At level k sums are integers in units of

    unit_k  =  gain_unit / (denominator_k times what makes the gains, lambda_k times the prices, and the duals whole)        (3)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PathCertificate, PathShares, PruningPath
from proofs_checks.optimality.item_duals import WideSums, whole_numbers, wide_sum
from proofs_checks.optimality.path_shares import Exact, Shares, highest_users, ranks
from proofs_checks.optimality.recount import Recount, Refuted, Segment, shown


@dataclass(frozen=True, eq=False)
class PathEvidence:
    """A path's certificate, after (2) and all that can be said of its levels, breakpoints and gaps alone."""

    path: PruningPath
    recount: Recount  # the instance.
    level: dict[int, int]  # of every split; -1 for what is never kept, whatever the path's ties, and `top` for what always is.
    purchase_level: NDArray[np.int32]  # int32: of every purchase, the highest among its users'; -1 where it is never bought.
    # the duals of a split, kept up to some breakpoint, at a breakpoint k, in units of k.
    payment: Callable[[int, int], Exact]
    units: list[LevelUnit]  # of every level below `top`.
    unpaid: list[Fraction]  # by level what is left of lambda_l times the prices of its purchases, in error.
    gaps: list[Fraction]  # that the path states, for every breakpoint; empty where it is exact.

    @property
    def top(self) -> int:
        """The level of what is kept for all lambda."""
        return len(self.units)

    @property
    def first_level(self) -> int:
        """The lowest level that stands for a breakpoint: 1, or 0 where a path of largest optima begins with it."""
        return 1 if self.path.ties == "smallest" else 0

    def duals(self, h: int) -> Exact:
        """The duals of split h at its own breakpoint, in its unit; 0 where never or always kept."""
        level = self.level[h]
        return self.payment(h, level) if 0 <= level < self.top else 0

    def profit(self, h: int, k: int) -> Exact:
        """Worth of split h at the breakpoint k, in units of k; its gain in the recount's unit where never or always kept."""
        gain = self.recount.gain(h)
        if not 0 <= self.level[h] < self.top:
            return gain
        return gain * self.units[k].gain - self.recount.evaluation[h] * self.units[k].cost - self.payment(h, k)

    def unit(self, k: int) -> Fraction:
        """What sums of profits at level k are worth, in error."""
        return self.units[k].unit if 0 <= k < self.top else self.recount.error_unit

    def segments(self) -> Iterator[tuple[Segment, NDArray[np.int64]]]:
        """The usage arcs with their duals, of a certificate that has them."""
        assert isinstance(self.path.certificate, PathCertificate)
        for segment in self.recount.segments():
            yield segment, self.path.certificate.dual[segment.first : segment.last]


@dataclass(frozen=True)
class LevelUnit:
    """(3): the unit of a level; and the recount's unit of gain, lambda times that of cost, and the duals' unit in it."""

    unit: Fraction
    gain: int
    cost: int
    dual: int

    @classmethod
    def of(cls, dual_unit: Fraction, point: Fraction, recount: Recount) -> LevelUnit:
        """For duals that are multiples of so much error."""
        gain, cost = recount.error_unit / dual_unit, point * recount.cost_unit / dual_unit
        finer = math.lcm(gain.denominator, cost.denominator)
        return cls(dual_unit / finer, int(gain * finer), int(cost * finer), finer)


def read_evidence(path: PruningPath, recount: Recount) -> PathEvidence:
    """Read a path's certificate."""
    certificate: object = path.certificate  # whatever it is
    if not isinstance(certificate, PathCertificate | PathShares):
        raise Refuted(f"the certificate is {type(certificate).__name__}, no duals of a path")
    level = _levels(path, recount)
    check_breakpoints(path.breakpoints)
    gaps = _gaps(path)
    if isinstance(certificate, PathShares):
        return _by_shares(path, certificate, recount, level, gaps)
    return _by_arcs(path, certificate, recount, level, gaps)


def _by_shares(
    path: PruningPath, certificate: PathShares, recount: Recount, level: dict[int, int], gaps: list[Fraction]
) -> PathEvidence:
    """From one number for each split."""
    numbers, points = path.problem.numbers, [Fraction(b) for b in path.breakpoints]
    check_whole_numbers(recount)
    ratios = [b / numbers.lam_unit for b in points]
    shares = Shares(certificate, recount, _of_nodes(level, recount), len(ratios))
    # lambda times a share: r = lambda / lam_unit integer gains for an integer price, of which shares are multiples of 2^-bits
    units = [
        LevelUnit.of(numbers.gain_unit / (r.denominator << shares.bits), b, recount) for r, b in zip(ratios, points, strict=True)
    ]

    def payment(h: int, k: int) -> Exact:
        paid = ratios[k].numerator * units[k].dual * shares.total[h]
        return paid.numerator if paid.denominator == 1 else paid  # sums of integers are much faster

    _check_forever(recount, shares.purchase_level, len(ratios))
    return PathEvidence(path, recount, level, shares.purchase_level, payment, units, [Fraction(0)] * len(points), gaps)


def _by_arcs(
    path: PruningPath, certificate: PathCertificate, recount: Recount, level: dict[int, int], gaps: list[Fraction]
) -> PathEvidence:
    """From one number for each usage arc."""
    # what one dual means at each level, and the level at which each purchase is paid
    points = [Fraction(b) for b in path.breakpoints]
    units = _units(certificate.denominator, points, path.problem.numbers.gain_unit, recount)
    purchase_level = _purchase_levels(level, recount)
    _check_forever(recount, purchase_level, len(points))
    # add up what each split and each purchase has, arc by arc
    duals = whole_numbers(certificate.dual)
    paid, end = WideSums(recount.n_purchases), 0
    per_split: dict[int, Exact] = dict.fromkeys(recount.splits, 0)
    for segment in recount.segments():
        end = segment.last
        part = duals[segment.first : segment.last]
        if part.size == segment.purchases.size and part.any():
            _check_segment(recount, segment, part, level[segment.split], purchase_level)
            per_split[segment.split] += wide_sum(part)
            paid.add(segment.purchases, part)
    if duals.shape != (end,):
        raise Refuted(f"{duals.size} duals for {end} usage arcs")

    def payment(h: int, k: int) -> Exact:
        """(1)."""
        own = level[h]
        real = per_split[h] * units[own].dual
        if k == own:
            return real
        lower = units[own].unit / units[k].unit
        return real * (lower * points[k] / points[own] if k < own else lower)

    # a price that is not paid in full is allowed to a path that states gaps only
    unpaid = _unpaid(recount, purchase_level, units, paid)
    if any(unpaid) and not gaps:
        raise Refuted(f"the duals leave {shown(sum(unpaid, Fraction(0)))} of the prices unpaid, and the path states no gap")
    return PathEvidence(path, recount, level, purchase_level, payment, units, unpaid, gaps)


def _units(given: Sequence[Any], points: Sequence[Fraction], gain_unit: Fraction, recount: Recount) -> list[LevelUnit]:
    """The units of the levels, after checking that the denominators are numbers, one for each breakpoint."""
    if len(given) != len(points):
        raise Refuted(f"{len(given)} denominators for {len(points)} breakpoints")
    for k, denominator in enumerate(given):
        if not isinstance(denominator, Rational) or denominator <= 0:
            raise Refuted(f"the denominator of breakpoint {k} is {denominator!r}; it must be a number above 0")
    return [LevelUnit.of(gain_unit / Fraction(d), b, recount) for d, b in zip(given, points, strict=True)]


def _levels(path: PruningPath, recount: Recount) -> dict[int, int]:
    """Levels of the splits, after checking that none rises downwards."""
    if path.ties not in ("smallest", "largest"):
        raise Refuted(f"the ties are {path.ties!r}, neither 'smallest' nor 'largest'")
    first = 1 if path.ties == "smallest" else 0
    ends = first - 1, len(path.breakpoints)
    given = read_levels(path.level, recount.ensemble.n_nodes, recount.splits, ends, "split", "is pruned")
    for h in recount.splits:
        above = recount.parent[h]
        if above >= 0 and given[h] > given[above]:
            raise Refuted(f"split {h} is kept longer than split {above} above it: the path is not nested")
    return {h: given[h] if given[h] >= first else -1 for h in recount.splits}


def read_levels(given: Any, n: int, nodes: Sequence[int], ends: tuple[int, int], what: str, goes: str) -> list[int]:
    """Levels, one for each of n nodes, after checking that those of some nodes are between two ends, and that all are used."""
    if not isinstance(given, np.ndarray) or given.shape != (n,) or given.dtype.kind != "i":
        raise Refuted(f"the levels are no array of {n} integers, one for each node")
    level: list[int] = given.tolist()
    for h in nodes:
        if not ends[0] <= level[h] <= ends[1]:
            raise Refuted(f"{what} {h} has level {level[h]}; there are {ends[0]} to {ends[1]}")
    unused = set(range(1, ends[1])) - {level[h] for h in nodes}
    if unused:
        raise Refuted(f"no {what} {goes} at breakpoint {min(unused)}: it is none")
    return level


def check_breakpoints(points: Sequence[Fraction]) -> None:
    """Refuse breakpoints that do not ascend from 0."""
    if not points or points[0] != 0 or not all(isinstance(b, Rational) for b in points):
        raise Refuted("the breakpoints are no fractions that begin with 0")
    for k in range(1, len(points)):
        if points[k] <= points[k - 1]:
            raise Refuted(f"breakpoint {k} is not above breakpoint {k - 1}")


def _gaps(path: PruningPath) -> list[Fraction]:
    """The gaps that a path states; none where all are 0."""
    gaps, n = path.gaps, len(path.breakpoints)
    if not isinstance(gaps, tuple) or len(gaps) not in (0, n) or not all(isinstance(s, Rational) and s >= 0 for s in gaps):
        raise Refuted(f"the gaps are no fractions >= 0, one for each of {n} breakpoints")
    return [Fraction(s) for s in gaps] if any(gaps) else []


def _of_nodes(level: dict[int, int], recount: Recount) -> NDArray[np.int64]:
    """The levels as an array, -1 at leaves."""
    levels = np.full(recount.ensemble.n_nodes, -1)
    levels[list(level)] = list(level.values())
    return levels


def _purchase_levels(level: dict[int, int], recount: Recount) -> NDArray[np.int32]:
    """The highest level of each purchase's users; -1 where there are none."""
    highest = np.full(recount.n_purchases, -1, dtype=np.int32)
    levels = _of_nodes(level, recount)
    rank = ranks(levels)
    for m in np.flatnonzero(recount.priced).tolist():
        users = highest_users(recount, m, rank)
        highest[recount.by_item(m)] = np.where(users < 0, -1, levels[users])
    return highest


def _check_segment(
    recount: Recount, segment: Segment, part: NDArray[np.int64], level: int, purchase_level: NDArray[np.int32]
) -> None:
    """Duals are not negative, and paid at the purchase's own level."""
    wrong = (part < 0) | ((part > 0) & (purchase_level[segment.purchases] != level))
    if wrong.any():
        k = int(np.argmax(wrong))
        bought = recount.name(int(segment.purchases[k]))
        if part[k] < 0:
            raise Refuted(f"the dual of split {segment.split} on {bought} is negative")
        raise Refuted(f"split {segment.split} pays a part of {bought}, which splits that are kept longer pay")


def _check_forever(recount: Recount, purchase_level: NDArray[np.int32], top: int) -> None:
    """What is always kept must be free."""
    always = purchase_level == top
    if always.any():
        raise Refuted(f"{recount.name(int(np.argmax(always)))} has a price, yet it is bought at any lambda")


def _unpaid(recount: Recount, purchase_level: NDArray[np.int32], units: Sequence[LevelUnit], paid: WideSums) -> list[Fraction]:
    """(2), item by item: what is left unpaid at each level, in error. What is never kept pays nothing."""
    rate = np.array([*(u.cost for u in units), 0, 0], dtype=object)
    each = np.array([*(u.dual for u in units), 1, 1], dtype=object)
    left = np.zeros(len(units) + 2, dtype=object)
    for m in range(recount.costs.n_items):
        if not recount.priced[m]:
            continue
        mine = recount.by_item(m)
        at = purchase_level[mine]
        sums, due = paid.of(mine) * each[at], rate[at] * recount.prices(m)  # rate[-1] = 0
        if (sums > due).any():
            k = int(np.argmax(sums > due))
            raise Refuted(f"the duals on {recount.name(mine.start + k)} are {sums[k]}, its price at its breakpoint is {due[k]}")
        np.add.at(left, at, due - sums)
    return [int(amount) * u.unit for amount, u in zip(left, units, strict=False)]


def check_whole_numbers(recount: Recount) -> None:
    """Are the instance's integers, with their units, the numbers that it was given?"""
    numbers = recount.problem.numbers
    if not numbers.exact or not (numbers.gain_unit > 0 and numbers.price_unit > 0):
        raise Refuted("the instance has no integers, with units above 0, that shares could be counted in")
    gain, cost = numbers.gain_unit / recount.error_unit, numbers.price_unit / recount.cost_unit
    for h in recount.splits:
        same = int(numbers.gain[h]) * gain.numerator == recount.gain(h) * gain.denominator
        if not same or int(numbers.evaluation[h]) * cost.numerator != recount.evaluation[h] * cost.denominator:
            raise Refuted(f"the instance's integers of split {h} are not its gain and its price of evaluation")
    pairs = set(zip(recount.weight.tolist(), numbers.weight.tolist(), strict=True)) | {
        (recount.total, int(numbers.weight.sum(dtype=object)))
    }
    for m, price in enumerate(recount.price):
        if any(int(numbers.price[m]) * theirs * cost != price * ours for ours, theirs in pairs):
            raise Refuted(f"the instance's integers of item {recount.costs.names[m]!r} are not its prices")
