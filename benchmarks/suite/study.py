"""Studies, and pieces of work that are measured in turns, A B A B ..., so that a slow phase of the machine affects all of them.

    a_k              least of A's runs in round k: one run, or up to `MOST` runs while they take less than `SHORT` s     (1)
    seconds of A     least of the a_k, since noise only adds                                                            (2)
    ratio A / B      least a_k / least b_k                                                                              (3)
    spread           least and largest a_k / b_k                                                                        (4)

(3) always lies within (4). The instances are BP16's forests, grown before and saved in a folder, or small ones on data of
scikit-learn.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.metadata import version
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import joblib

import prunemodels as pm
from benchmarks.instances import middles, shipped

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
SHORT, MOST = 0.1, 7  # limits of (1): a single run of milliseconds is not precise
Lam = Any
"""A `Fraction`. Engines use it exactly, though their signature says float."""


@dataclass(frozen=True)
class Row:
    """A pair measured in one run: (2) of `a` and of `b`, (3) with (4), and the number of rounds."""

    instance: str
    a: str
    b: str
    seconds_a: float
    seconds_b: float
    ratio: float
    low: float
    high: float
    runs: int

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

    @property
    def key(self) -> tuple[str, ...]:
        return self.instance, self.what


@dataclass(frozen=True, eq=False)
class Measured(Generic[T_co]):
    """(1) of every piece of work, and its last answer."""

    seconds: Mapping[str, tuple[float, ...]]
    answer: Mapping[str, T_co]

    def row(self, instance: str, a: str, b: str) -> Row:
        """How long `a` takes, in units of `b`."""
        ours, theirs = self.seconds[a], self.seconds[b]
        each = [x / y for x, y in zip(ours, theirs, strict=True)]
        return Row(instance, a, b, min(ours), min(theirs), min(ours) / min(theirs), min(each), max(each), len(each))


def alternate(
    works: Mapping[str, Callable[[], T]], *, repeats: int = 3, limit: float = 60.0, clock: Callable[[], float] = time.perf_counter
) -> Measured[T]:
    """Run all of `works` in turns, in so many rounds after one that loads compiled code and fills the caches. After `limit`
    seconds of work no further round begins. If there is only one round, it counts.
    """
    rounds: list[dict[str, float]] = []
    answer: dict[str, T] = {}
    spent = 0.0
    while not rounds or (len(rounds) <= repeats and spent < limit):
        rounds.append({})
        gc.collect()  # so that no collection falls into a measured run
        for name, work in works.items():
            runs: list[float] = []
            while not runs or (len(runs) < MOST and sum(runs) < SHORT):
                start = clock()
                found = work()
                runs.append(clock() - start)
                answer[name] = found  # the previous answer is freed after the clock was read
            rounds[-1][name] = min(runs)
            spent += sum(runs)
    counted = rounds[1:] or rounds
    return Measured({name: tuple(r[name] for r in counted) for name in works}, answer)


@dataclass(frozen=True)
class Setting:
    """The folder of the forests, or tiny instances on data that scikit-learn ships; repeats and seconds of `alternate`."""

    folder: Path
    quick: bool = False
    repeats: int = 3
    limit: float = 60.0


Found = tuple[Sequence[Row], Sequence[Figure]]


@dataclass(frozen=True)
class Study:
    """One JSON file. For ``--only`` the part of the name before the dash selects several studies. On MiniBooNE and Covertype
    BP16's forest is grown before.
    """

    name: str
    title: str
    measure: Callable[[Setting], Found]
    data: tuple[str, ...] = ()


class Forest(NamedTuple):
    """A data set's title, the one that replaces it in a quick run, and scaled lambdas: error counts per purchase of price 1."""

    title: str
    small: str
    lambdas: tuple[float, ...]


FORESTS = {
    "miniboone": Forest("MiniBooNE", "breast_cancer", (0.05, 0.2, 0.5, 1.0)),
    "covtype426k": Forest("Covertype", "digits", (0.3, 0.8, 1.2, 1.5, 2.0)),
}


def forest_file(data: str, folder: Path) -> Path:
    """The file of a data set's forest; its name has scikit-learn's version, since another version may grow another forest."""
    return folder / f"forest-{data}-sklearn-{version('scikit-learn')}.joblib"


def instance(data: str, setting: Setting, rows: int | None = None) -> tuple[str, pm.PruningProblem]:
    """Name and problem: the forest on `data` with unit prices and the first `rows` of its cost sample, None: all. With
    ``--quick`` a small forest on scikit-learn's data.
    """
    if setting.quick:
        small = FORESTS[data].small
        problem = shipped(small, trees=10, rows=100 if rows is None else rows)
        return f"{small.replace('_', ' ')}, {problem.usage.n_rows} rows", problem
    forest, X = joblib.load(forest_file(data, setting.folder))
    problem = pm.problem_from_forest(forest, X[:rows], costs=1)
    return f"{FORESTS[data].title}, {problem.usage.n_rows:,} rows", problem


def lambdas(data: str, problem: pm.PruningProblem, setting: Setting) -> list[tuple[str, Lam]]:
    """Labels and lambdas; quick: where shares of the cost are paid."""
    if setting.quick:
        path = pm.pruning_path(problem, certificate=False)
        return [(f"{share} % of the cost", lam) for share, lam in zip((70, 30), middles(path, (0.7, 0.3)), strict=True)]
    return [(f"lambda' = {scaled:g}", rate(problem, scaled)) for scaled in FORESTS[data].lambdas]


def rate(problem: pm.PruningProblem, scaled: float) -> Fraction:
    """Lambda from lambda', exactly: lambda' N / (T W_t)."""
    errors = sum(Fraction(float(component.weight.sum())) for component in problem.errors.components)
    return Fraction(str(scaled)) * Fraction(float(problem.usage.total_weight)) / errors
