"""What a path's certificate says: the duals of every split, the level of every purchase.

With lambda_l the breakpoint of level l, and (all in the instance's integers) q_l = lambda_l times the denominator of l,

    every split h bears       loads_h min(1, lambda / lambda_l),        l its level                                         (1)
    every purchase j of level l, the highest among its users', bears  q_l price_j  in all, from splits of level l alone     (2)

By (2) the duals (1) of a purchase are lambda times its price up to lambda_l, and stay what they are there beyond: never more than
its price, for any lambda, and exactly that for as long as it is bought.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Rational
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.answers.pruning_path import PruningPath
from proofs_checks.optimality.item_duals import whole_numbers
from proofs_checks.optimality.recount import Recount, Refuted, Segment
from proofs_checks.optimality.wide_sums import WideSums, wide_sum


@dataclass(frozen=True, eq=False)
class PathEvidence:
    """A path's certificate, after (2) and all that can be said of its levels and breakpoints alone.

    Parameters
    ----------
    recount
        the instance.
    level
        of every split; -1 for what is never kept, whatever the path's ties, and `top` for what always is.
    purchase_level
        int64: of every purchase, the highest among its users'; -1 where it is never bought.
    duals
        of every split, in integer gains over the denominator of its level.
    rate
        q_l of every level below `top`.
    """

    path: PruningPath
    recount: Recount
    level: dict[int, int]
    purchase_level: NDArray[np.int64]
    duals: dict[int, int]
    rate: list[int]

    @property
    def top(self) -> int:
        """The level of what is kept for all lambda."""
        return len(self.rate)

    @property
    def first_level(self) -> int:
        """The lowest level that stands for a breakpoint: 1, or 0 where a path of largest optima begins with it."""
        return 1 if self.path.ties == "smallest" else 0

    def profit(self, h: int) -> int:
        """Worth of split h at its own breakpoint, in integer gains over its denominator; its gain where never or always kept."""
        ints, level = self.path.problem.integers, self.level[h]
        gain = int(ints.gain[h])
        if not 0 <= level < self.top:
            return gain
        assert self.path.certificate is not None
        return gain * self.path.certificate.denominator[level] - int(ints.evaluation[h]) * self.rate[level] - self.duals[h]

    def segments(self) -> Iterator[tuple[Segment, NDArray[np.int64]]]:
        """The usage arcs with their duals."""
        assert self.path.certificate is not None
        for segment in self.recount.segments():
            yield segment, self.path.certificate.dual[segment.first : segment.last]


def read_evidence(path: PruningPath, recount: Recount) -> PathEvidence:
    """Read a path's certificate, which must be there.

    Raises
    ------
    Refuted
        where levels, breakpoints or duals cannot be right.
    """
    level = _levels(path, recount)
    rate = _rates(path)
    purchase_level = _purchase_levels(level, recount)
    assert path.certificate is not None
    duals = whole_numbers(path.certificate.dual)
    borne, per_split, end = WideSums(recount.n_purchases), dict.fromkeys(recount.splits, 0), 0
    for segment in recount.segments():
        end = segment.last
        part = duals[segment.first : segment.last]
        if part.size == segment.purchases.size and part.any():
            _check_segment(recount, segment, part, level[segment.split], purchase_level)
            per_split[segment.split] += wide_sum(part)
            borne.add(segment.purchases, part)
    if duals.shape != (end,):
        raise Refuted(f"{duals.size} duals for {end} usage arcs")
    evidence = PathEvidence(path, recount, level, purchase_level, per_split, rate)
    _check_prices(evidence, borne)
    return evidence


def _levels(path: PruningPath, recount: Recount) -> dict[int, int]:
    """Levels of the splits, after checking that they are levels, all of them used, and that none rises downwards."""
    n, top = recount.ensemble.n_nodes, len(path.breakpoints)
    if path.ties not in ("smallest", "largest"):
        raise Refuted(f"the ties are {path.ties!r}, neither 'smallest' nor 'largest'")
    if not isinstance(path.level, np.ndarray) or path.level.shape != (n,) or path.level.dtype.kind != "i":
        raise Refuted(f"the levels are no array of {n} integers, one for each node")
    lowest = 0 if path.ties == "smallest" else -1
    given = path.level.tolist()
    for h in recount.splits:
        if not lowest <= given[h] <= top:
            raise Refuted(f"split {h} has level {given[h]}; there are {lowest} to {top}")
        above = recount.parent[h]
        if above >= 0 and given[h] > given[above]:
            raise Refuted(f"split {h} is kept longer than split {above} above it: the path is not nested")
    unused = set(range(1, top)) - {given[h] for h in recount.splits}
    if unused:
        raise Refuted(f"no split is pruned at breakpoint {min(unused)}: it is none")
    first = 1 if path.ties == "smallest" else 0
    return {h: given[h] if given[h] >= first else -1 for h in recount.splits}


def _rates(path: PruningPath) -> list[int]:
    """q_l, after checking that breakpoints ascend from 0 and that their denominators fit them."""
    certificate, points = path.certificate, path.breakpoints
    assert certificate is not None
    if not points or points[0] != 0 or not all(isinstance(b, Rational) for b in points):
        raise Refuted("the breakpoints are no fractions that begin with 0")
    for k in range(1, len(points)):
        if points[k] <= points[k - 1]:
            raise Refuted(f"breakpoint {k} is not above breakpoint {k - 1}")
    if len(certificate.denominator) != len(points):
        raise Refuted(f"{len(certificate.denominator)} denominators for {len(points)} breakpoints")
    rates = []
    for k, (b, denominator) in enumerate(zip(points, certificate.denominator, strict=True)):
        integer = _integer(denominator)
        rate = Fraction(b) / path.problem.integers.lam_unit * integer
        if integer < 1 or rate.denominator != 1:
            raise Refuted(f"the denominator of breakpoint {k} is {denominator}; times the breakpoint it is no whole number")
        rates.append(rate.numerator)
    return rates


def _integer(number: Any) -> int:
    """A denominator; 0 where it is no integer."""
    return int(number) if isinstance(number, Integral) else 0


def _purchase_levels(level: dict[int, int], recount: Recount) -> NDArray[np.int64]:
    """The highest level of each purchase's users: written in ascending order, the last to write is the highest."""
    highest = np.full(recount.n_purchases, -1, dtype=np.int64)
    for h in sorted(level, key=level.__getitem__):
        for m in recount.charged_items[h]:
            highest[recount.purchases(h, m)] = level[h]
    return highest


def _check_segment(
    recount: Recount, segment: Segment, part: NDArray[np.int64], level: int, purchase_level: NDArray[np.int64]
) -> None:
    """Duals are not negative, and borne at the purchase's own level."""
    wrong = (part < 0) | ((part > 0) & (purchase_level[segment.purchases] != level))
    if wrong.any():
        k = int(np.argmax(wrong))
        bought = recount.name(int(segment.purchases[k]))
        if part[k] < 0:
            raise Refuted(f"the dual of split {segment.split} on {bought} is negative")
        raise Refuted(f"split {segment.split} bears a part of {bought}, which splits that are kept longer pay")


def _check_prices(evidence: PathEvidence, borne: WideSums) -> None:
    """(2), item by item; what is always kept must be free, what is never kept bears nothing."""
    recount, ints = evidence.recount, evidence.path.problem.integers
    price, weight, rate = ints.price.tolist(), ints.weight.astype(object), np.array([*evidence.rate, 0, 0], dtype=object)
    for m in range(recount.costs.n_items):
        if not recount.priced[m]:
            continue
        mine = recount.by_item(m)
        level = evidence.purchase_level[mine]
        if (level == evidence.top).any():
            where = recount.name(mine.start + int(np.argmax(level == evidence.top)))
            raise Refuted(f"{where} has a price, yet it is bought at any lambda")
        prices = np.array([price[m] * int(ints.weight.sum(dtype=object))], dtype=object) if recount.once[m] else weight * price[m]
        sums, due = borne.of(mine), rate[level] * prices  # rate[-1] = 0
        if (sums != due).any():
            k = int(np.argmax(sums != due))
            raise Refuted(f"the duals on {recount.name(mine.start + k)} are {sums[k]}, its price at its breakpoint is {due[k]}")
