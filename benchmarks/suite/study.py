"""What a study is, and what comes out of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.alternating import Measured

Lam = Any
"""A `Fraction`: engines take one exactly as it is, though their signature says float."""


@dataclass(frozen=True)
class Row:
    """A pair measured in one run: seconds of `a`, of `b`, and a / b with its spread; see `benchmarks.suite.alternating`.

    `design` is what DESIGN.md says of it; empty: nothing.
    """

    instance: str
    a: str
    b: str
    seconds_a: float
    seconds_b: float
    ratio: float
    low: float
    high: float
    runs: int
    design: str = ""

    @classmethod
    def of(cls, instance: str, measured: Measured[object], a: str, b: str, design: str = "") -> Row:
        """The pair of two pieces of work that were measured in turns."""
        told = measured.ratio(a, b)
        return cls(instance, a, b, told.seconds_a, told.seconds_b, told.ratio, told.low, told.high, told.runs, design)

    @property
    def key(self) -> tuple[str, ...]:
        """What is measured: the same in every run of the study."""
        return self.instance, self.a, self.b


@dataclass(frozen=True)
class Figure:
    """A number that stands alone: a gap, a count, bytes, seconds that nothing is set against. None: there is none, or no end."""

    instance: str
    what: str
    value: float | None
    design: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """What is measured: the same in every run of the study."""
        return self.instance, self.what


@dataclass(frozen=True)
class Setting:
    """How a study is run.

    Parameters
    ----------
    folder
        holds the forests; see `benchmarks.suite.forests`.
    quick
        tiny instances on data that scikit-learn ships.
    repeats, limit
        as of `benchmarks.suite.alternating.alternate`.
    """

    folder: Path
    quick: bool = False
    repeats: int = 3
    limit: float = 60.0

    def said(self, design: str) -> str:
        """What DESIGN.md says; nothing of quick instances, which it does not know."""
        return "" if self.quick else design


Found = tuple[Sequence[Row], Sequence[Figure]]


@dataclass(frozen=True)
class Study:
    """One JSON file.

    Parameters
    ----------
    name
        of the file, and of ``--only``; what stands before a dash names several.
    title
        a line for the table.
    measure
        gives the rows and the figures.
    forests
        data sets of the folder PRUNEMODELS_DATA on which BP16's forest is grown beforehand.
    tables
        further data sets of that folder that it reads.
    scale
        takes tens of minutes: only run with ``--scale``, never with ``--quick``.
    """

    name: str
    title: str
    measure: Callable[[Setting], Found]
    forests: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    scale: bool = False

    @property
    def data(self) -> tuple[str, ...]:
        """All data sets that must be there."""
        return self.forests + self.tables
