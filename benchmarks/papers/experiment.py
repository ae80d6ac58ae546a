"""Experiments: their units of work, how a unit is run, and the tables and figures of its rows.

A unit is one method with one setting on one data set with one seed. Its rows are stored under the hash of all that defines it. So
an interrupted run continues where it stopped, and a longer run reuses what a shorter one has done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.measuring import mean_of

Value = str | int | float | bool | None
Row = Mapping[str, Value]


@dataclass(frozen=True)
class Scope:
    """What part of an experiment is run: data sets, seeds 0 to repeats - 1, the long version or the short one. `rows`: at most so
    many examples of each data set, for trials; None: all.
    """

    data: tuple[str, ...]
    repeats: int
    full: bool = False
    rows: int | None = None

    def groups(self) -> Iterator[tuple[str, int]]:
        return ((data, seed) for data in self.data for seed in range(self.repeats))


@dataclass(frozen=True)
class Unit:
    """The smallest piece of work whose rows are kept.

    `setting` is all else that decides the rows: JSON values by name; no name of the other fields, nor of a row. A new `version`
    of an experiment runs everything anew.
    """

    experiment: str
    data: str
    seed: int
    method: str
    setting: Mapping[str, Value] = field(default_factory=dict)
    rows: int | None = None
    version: int = 1

    @property
    def key(self) -> str:
        """A hash of everything above."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:20]

    def __str__(self) -> str:
        setting = ", ".join(f"{name} {value}" for name, value in self.setting.items())
        return f"{self.data}, seed {self.seed}, {self.method}{f', {setting}' if setting else ''}"


@dataclass(frozen=True)
class Comparison:
    """One published figure beside ours."""

    figure: str  # what it is: data set, method, quantity
    # The paper's number and our mean over repeats; or what its text says, and a sentence beside it.
    published: float | str
    ours: float | str
    why: str = ""  # why the two differ: the reason that was tested, or "open" and what was tried; empty: the experiment's
    values: tuple[float, ...] = ()  # our number in each repeat
    # The standard deviation that the paper prints (NaN: none), and the runs that it averages over.
    published_sd: float = float("nan")
    published_runs: int = 10
    holds: bool | None = None  # of a sentence: whether our numbers bear it out as the paper words it. None: of a number
    other_data: bool = False  # whether the paper's data are absent, so that ours cannot answer

    @classmethod
    def of(cls, figure: str, published: float, values: Iterable[float], **more: Any) -> Comparison:
        """Of a number that was measured in each repeat."""
        return cls(figure, published, mean_of(each := tuple(values)), values=each, **more)


@dataclass(frozen=True, eq=False)
class Presentation:
    """What is shown of an experiment's rows.

    Tables are printed and written as NAME.csv, figures as NAME.png and NAME.svg; `files` are tables that are too long to print.
    Notes stand below the tables: definitions that are ours, and what speaks against pruning.
    """

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    notes: Sequence[str] = ()
    files: Mapping[str, pd.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Experiment:
    """One table or figure of a paper."""

    name: str
    protocol: str  # by which it runs: a name of `benchmarks.papers.protocols.PROTOCOLS`
    source: str
    title: str
    takes: str  # time of the short version and of the full one, one process on a free machine, for the list of experiments
    data: tuple[str, ...]
    units: Callable[[Scope], Sequence[Unit]]  # the work of a scope, in the order in which it is done
    run: Callable[[Unit], Sequence[Row]]  # does one unit. What it needs beyond the frame (a learner, a library) it imports itself
    # tables and figures of the rows of a scope; columns: those of `Unit`, its setting's, the rows' own, ``seconds``.
    present: Callable[[pd.DataFrame], Presentation]
    repeats: int = 1
    full_repeats: int = 10
    compare: Callable[[pd.DataFrame], Sequence[Comparison]] = lambda _: ()  # published figures beside ours, from the same rows
    # the rows of a unit that the repository keeps, from all of them and the name of the data set.
    kept: Callable[[pd.DataFrame, str], pd.DataFrame] = lambda rows, _: rows
    why: str = ""  # why the two differ, for the table of all comparisons

    def scope(
        self, *, full: bool = False, repeats: int | None = None, data: Sequence[str] | None = None, rows: int | None = None
    ) -> Scope:
        """The short or the full version, with what the caller wants otherwise."""
        times = self.full_repeats if full else self.repeats
        return Scope(tuple(self.data if data is None else data), times if repeats is None else repeats, full, rows)
