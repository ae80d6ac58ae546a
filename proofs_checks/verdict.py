"""What a check answers: does the claim hold, and what shows it; and the numbers that bound and tune the checkers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True, eq=False)
class Verdict:
    """The outcome of a check.

    Parameters
    ----------
    claim
        the sentence that was checked.
    holds
        True, False, or None where the method cannot decide.
    method
        how it was decided.
    certificate
        what shows it, for yes and for no: numbers, or the first thing that is wrong.

    Examples
    --------
    >>> import prunemodels as pm
    >>> verdict = pm.checks.check_total_unimodularity([[1, 1], [-1, 1]])
    >>> verdict.holds
    False
    >>> print(verdict.certificate)
        c0  c1
    r0   1   1
    r1  -1   1
    determinant 2
    """

    claim: str
    holds: bool | None
    method: str
    certificate: Any = None

    def __bool__(self) -> bool:
        """Whether the claim is known to hold."""
        return self.holds is True

    def __str__(self) -> str:
        word = {True: "holds", False: "is refuted", None: "is undecided"}[self.holds]
        evidence = str(self.certificate)
        if "\n" in evidence:
            return f"{self.claim}: {word} ({self.method})\n{evidence}"
        return f"{self.claim}: {word} ({self.method}; {evidence})"


def aligned(rows: Sequence[Sequence[object]], *, left: int = 1) -> list[str]:
    """Rows of cells as lines of text; the first `left` columns are aligned to the left, the others to the right."""
    cells = [[str(cell) for cell in row] for row in rows]
    columns = []
    for k, column in enumerate(zip(*cells, strict=True)):
        width = max(map(len, column))
        columns.append([cell.ljust(width) if k < left else cell.rjust(width) for cell in column])
    return ["  ".join(line).rstrip() for line in zip(*columns, strict=True)]


@dataclass(frozen=True)
class CheckParams:
    """Sizes up to which each method works, and what floating point may hide of a number that is stated.

    None of these numbers changes an answer: only whether, and how fast, there is one.
    """

    most_rays: int = 50_000  # default of the largest number of rays at any step of a double description: ten seconds
    # entries of all rows and bounds of a polyhedron, zeros included, up to which a double description begins: it writes them out
    # as integers, 20 million in some ten seconds. With more, there are more rays than `most_rays` nearly always.
    most_dense_entries: int = 20_000_000
    # elementary steps of the definition by determinants: 16 rows and columns, or 5 rows and 160 columns; half a gigabyte of
    # tables at most
    most_determinant_steps: int = 5 * 10**9
    largest_block: int = 10**8  # entries, zeros included, of the largest block that is decomposed: 10,000 x 10,000
    most_sets: int = 2**14  # closed sets of an edge's components that are listed one by one; an edge with more may stay undecided
    # integer gain of an edge up to which sums of independent components are tabulated, a bit each
    most_tabulated_gain: int = 10**7

    camion_lines: int = 14  # rows, or columns, up to which Camion's criterion looks for a violation: it takes all subsets of them
    large_matrix: int = 100_000  # nonzeros from which on a quick look at small parts of a matrix comes first
    # quick_parts, quick_lines, quick_neighbours: parts that the quick look takes, lines of each, and neighbours of a line that
    # are followed
    quick_parts: int = 32
    quick_lines: int = 300
    quick_neighbours: int = 12
    first_hard_part: int = 32  # lines of the first part that is searched for a minor; it doubles until there is one
    # largest denominators that are tried for a point near given floats, one after the other, until it fulfils all rows
    denominators: tuple[int, ...] = (16, 256, 4096, 10**6)
    values_in_memory: int = 2**22  # values of objectives at vertices that are computed at a time: 32 MiB
    written_lines: int = 24  # arcs and paths up to which a network matrix is written out
    text_width: int = 118  # characters of a line of an explanation

    int64_safe: int = 2**62  # integers are added up as int64 where no sum passes this, else as Python's
    # how far a float that is stated may be from the exact number, as a share of the largest error of a pruning
    precision: Fraction = Fraction(1, 10**12)
    # what floating point may add to that, as a share of the number itself: large values are sums of large costs
    float_rounding: Fraction = Fraction(1, 2**44)
    least_float: Fraction = Fraction(sys.float_info.min)  # a bound may be this far below 0 where all numbers are 0
    # by what share a mixture within several limits may exceed one: it comes from a linear program in floats
    mixture_tolerance: Fraction = Fraction(1, 10**6)
    # how far a float may be from the whole multiple of the unit that it stands for, in units
    multiple_tolerance: Fraction = Fraction(1, 1000)
    # charges are rounded down to multiples of one over this: it is always allowed to charge less than a price
    charge_units: int = 2**90
    # prices and rates above this are replaced by it, so that no sum of them leaves the range of a float
    largest_price: float = 1e290


DEFAULTS = CheckParams()
"""What all checkers take."""
