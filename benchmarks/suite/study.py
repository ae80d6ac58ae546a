"""Studies, and the rows and figures that they produce."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.suite.alternating import Measured

Lam = Any
"""A `Fraction`. Engines use it exactly, though their signature says float."""


@dataclass(frozen=True)
class Row:
    """A pair measured in one run: seconds of `a`, of `b`, and a / b with its spread; see `benchmarks.suite.alternating`.

    `design` is the figure of the design document for it; empty if there is none.
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
        ratio = measured.ratio(a, b)
        return cls(instance, a, b, ratio.seconds_a, ratio.seconds_b, ratio.ratio, ratio.low, ratio.high, ratio.runs, design)

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies what is measured, the same in every run of the study."""
        return self.instance, self.a, self.b


@dataclass(frozen=True)
class Figure:
    """A single number, not a ratio: a gap, a count, bytes, seconds. None: no such number, or the engine did not finish."""

    instance: str
    what: str
    value: float | None
    design: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """Identifies what is measured, the same in every run of the study."""
        return self.instance, self.what


@dataclass(frozen=True)
class Setting:
    """Settings of a study.

    Parameters
    ----------
    folder
        the folder of the forests; see `benchmarks.suite.forests`.
    quick
        tiny instances on data that scikit-learn ships.
    repeats, limit
        as of `benchmarks.suite.alternating.alternate`.
    """

    folder: Path
    quick: bool = False
    repeats: int = 3
    limit: float = 60.0

    def design(self, design: str) -> str:
        """The design document's figure; empty for quick instances, which it does not have."""
        return "" if self.quick else design


Found = tuple[Sequence[Row], Sequence[Figure]]


@dataclass(frozen=True)
class Study:
    """One JSON file.

    Parameters
    ----------
    name
        name of the file and for ``--only``; the part before the dash selects several studies.
    title
        one line for the list of studies.
    measure
        returns the rows and the figures.
    forests
        data sets of the folder PRUNEMODELS_DATA on which BP16's forest is grown before the study.
    tables
        further data sets of that folder that the study reads.
    scale
        takes tens of minutes: it is only run with ``--scale``, never with ``--quick``.
    """

    name: str
    title: str
    measure: Callable[[Setting], Found]
    forests: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    scale: bool = False

    @property
    def data(self) -> tuple[str, ...]:
        """All data sets that the study needs."""
        return self.forests + self.tables
