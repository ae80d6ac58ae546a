"""What a check answers: does the claim hold, and what shows it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
