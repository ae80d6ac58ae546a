"""How engines grow: seconds, memory and gaps on growing instances, the slopes on log-log axes, and where each engine stops.

    log10 y = a + b log10 x        b by least squares                                                                     (1)

A slope b = 1 is linear growth: ten times the x, ten times the y. Slopes are over the sizes at which an engine was usable.
An engine is *usable* at a size if it finished by itself within the time limit: it was not refused, did not crash, and was not
stopped by a limit. An engine that was not usable is not tried on larger instances.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import linregress

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import exact
from formulations.instance.problem import PruningProblem
from prunemodels.comparison.compare import check_solvers, compare
from prunemodels.comparison.machine import machine
from solvers import pruning_path

INSTANCE: dict[str, str] = {
    "size": "int64",
    "rows": "int64",
    "trees": "int64",
    "splits_unpruned": "int64",
    "usage_arcs": "int64",
    "lam": "float64",
    "optimum": "float64",
}
"""The columns that say what was solved; those of `compare` follow, then `above_optimum` and `usable`."""

LEAST_POINTS = 3
"""A line through fewer points says nothing."""


@dataclass(frozen=True, eq=False)
class Growth:
    """Engines measured on growing instances.

    Parameters
    ----------
    table
        one row an engine and size: the columns of `INSTANCE`, those of `compare`, ``above_optimum``, the share of the attainable
        gain (`Solution.relative_gap`) by which the engine's pruning misses the optimum, and ``usable``.
    by
        what `size` counts: "cost rows", "trees" ...
    share
        see `measure_growth`.
    time_limit
        seconds for each engine and instance.
    isolated
        whether every engine had a process of its own; if not, memory that was freed earlier and used again is not counted.
    machine
        the machine and the versions that the seconds were measured with.
    """

    table: pd.DataFrame
    by: str
    share: float
    time_limit: float
    isolated: bool
    machine: str

    @property
    def engines(self) -> list[str]:
        """The engines' names, in the order asked for."""
        return list(dict.fromkeys(self.table["solver"]))

    @property
    def sizes(self) -> list[int]:
        """The sizes, ascending."""
        return sorted(set(self.table["size"]))

    def wide(self, quantity: str = "seconds") -> pd.DataFrame:
        """One row an engine, one column a size; NaN where the engine was not tried or gave no figure."""
        if quantity not in self.table:
            raise InvalidInputError(f"there is no quantity {quantity!r}; there are {', '.join(map(str, self.table))}")
        wide = self.table.set_index(["solver", "size"])[quantity].unstack("size")
        return wide.reindex(index=pd.Index(self.engines, name="solver"), columns=pd.Index(self.sizes, name=self.by))

    def slopes(self, quantity: str = "seconds", *, against: str = "size", least: float = 0.0) -> pd.DataFrame:
        """How y grows with the size, for every engine; see (1).

        Parameters
        ----------
        quantity
            y: "seconds", "peak_memory_mb" or another column of numbers.
        against
            "size", or another column that grows with it: "usage_arcs", say.
        least
            smaller y are left out, because below some milliseconds the overhead of the call is measured.

        Returns
        -------
        DataFrame
            One row an engine: ``slope`` b, ``se`` its standard error, ``points``. Below three points slope and se are NaN.
        """
        for column in (quantity, against):
            if column not in self.table or self.table[column].dtype.kind not in "iuf":
                numbers = ", ".join(self.table.select_dtypes("number").columns)
                raise InvalidInputError(f"there are no numbers {column!r}; there are {numbers}")
        usable = {name: self.table[(self.table["solver"] == name) & self.table["usable"]] for name in self.engines}
        return pd.DataFrame(
            [slope(usable[name][against], usable[name][quantity], least) for name in self.engines],
            columns=["slope", "se", "points"],
            index=pd.Index(self.engines, name="solver"),
        ).astype({"points": "int64"})

    def reach(self) -> pd.DataFrame:
        """Where each engine stops being usable.

        Returns
        -------
        DataFrame
            One row an engine: ``usable_to`` and ``proven_to``, the largest size at which it was usable, and proved optimality to
            its own tolerance; ``stops_at``, the size at which it was not usable any more, and ``why``. NaN for never.
        """
        rows = []
        for name in self.engines:
            own = self.table[self.table["solver"] == name]
            failed = own[~own["usable"]]
            rows.append(
                {
                    "usable_to": own["size"][own["usable"]].max(),
                    "proven_to": own["size"][own["usable"] & (own["status"] == "optimal")].max(),
                    "stops_at": failed["size"].min(),
                    "why": "" if failed.empty else _why(failed.iloc[0], self.time_limit),
                }
            )
        return pd.DataFrame(rows, index=pd.Index(self.engines, name="solver"))


@checked
def measure_growth(
    problems: Mapping[int, PruningProblem],
    solvers: Sequence[str] | None = None,
    *,
    by: str = "cost rows",
    share: float = 0.5,
    lams: Mapping[int, Fraction] | None = None,
    time_limit: Seconds = 30.0,
    isolate: bool = True,
    progress: bool = False,
    done: Callable[[pd.DataFrame], object] | None = None,
) -> Growth:
    """Measure engines on growing instances.

    Parameters
    ----------
    problems
        an instance for every size; they are taken in ascending order.
    solvers
        as `compare` takes them. Default: all of `SOLVERS`.
    by
        what the sizes count, for tables and pictures.
    share
        every instance is solved at one lambda, `lam_at_share` of its own path.
    lams
        a lambda >= 0 for every size, instead of `share`: for instances that are too large for a path, which needs a network in
        memory. ``optimum`` is then the least value that any engine found.
    time_limit
        seconds for each engine and instance.
    isolate, progress
        as in `compare`.
    done
        called with the finished rows of every instance, so that they can be kept if the rest is interrupted.

    Raises
    ------
    InvalidInputError
        for no instances, unknown engines, numbers out of range, sizes without a lambda, and an instance of which nothing can be
        pruned.
    InterruptedSolveError
        on Ctrl-C.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest
    >>> problems = {n: pm.problem_from_forest(forest, X_valid[:n], costs=costs) for n in (30, 60, 120)}
    >>> growth = pm.engines.measure_growth(problems, ["min_cut", "price_sharing"], isolate=False)
    >>> growth.engines, growth.sizes
    (['min_cut', 'price_sharing'], [30, 60, 120])
    """
    if not problems:
        raise InvalidInputError("problems is empty; give an instance for every size")
    sizes, missing = sorted(problems), [] if lams is None else sorted(set(problems) - set(lams))
    if not sizes[0] > 0:
        raise InvalidInputError(f"problems has the size {sizes[0]!r}; sizes must be above 0")
    if missing:
        raise InvalidInputError(f"lams has no lambda for the size {missing[0]!r}; give one for every size, or leave lams out")
    engines, rows = check_solvers(solvers), []
    for size in sizes:
        if not engines:
            break
        problem = problems[size]
        lam, optimum = _lam_and_optimum(problem, size, share) if lams is None else (exact(lams[size], f"lams[{size}]"), math.nan)
        found = compare(problem, lam, engines, time_limit=time_limit, isolate=isolate, progress=progress)
        answers = _with_instance(found, size, problem, lam, optimum)
        answers["usable"] = [_usable(row, time_limit) for row in found.to_dict("records")]
        rows.append(answers)
        if done is not None:
            done(answers)
        engines = list(answers["solver"][answers["usable"]])
    return Growth(pd.concat(rows, ignore_index=True), by, share, time_limit, isolate, machine())


def slope(x: pd.Series, y: pd.Series, least: float) -> tuple[float, float, int]:
    """The slope b of (1), its standard error, and the number of points: those with x > 0, y > 0, y >= `least`, and finite.

    The first two are NaN with fewer than `LEAST_POINTS` points, and where all x are the same.
    """
    used = (y > 0) & (y >= least) & (x > 0) & np.isfinite(y)
    a, b = (np.log10(z[used].to_numpy(dtype=float)) for z in (x, y))
    if a.size < LEAST_POINTS or np.ptp(a) == 0:
        return math.nan, math.nan, int(a.size)
    if np.ptp(b) == 0:  # whose correlation, which `linregress` goes by, is 0 / 0
        return 0.0, 0.0, int(a.size)
    line = linregress(a, b)
    return float(line.slope), float(line.stderr), int(a.size)


def lam_at_share(path: PruningPath, share: float) -> Fraction:
    """A lambda at which the optimum costs at most a share of what it costs at lambda = 0.

    It is the middle between two breakpoints, so that the same pruning is optimal in a neighbourhood of lambda. Where the path
    jumps from above the share to a pruning that costs nothing, the last interval between breakpoints is taken.
    """
    if not 0 <= share <= 1:
        raise InvalidInputError(f"share is {share!r}; give a part of the cost at lambda = 0, from 0 to 1")
    if len(path.breakpoints) < 2:
        raise InvalidInputError("the path has one breakpoint: nothing changes with lambda; give an instance that can be pruned")
    first = 0 if path.ties == "smallest" else 1  # the row that is optimal between the first two breakpoints
    cost = path.cost[first : first + len(path.breakpoints) - 1]
    cheap = np.flatnonzero(cost <= share * path.cost[0])
    k = int(cheap[0]) if cheap.size else len(cost) - 1
    return (path.breakpoints[k] + path.breakpoints[k + 1]) / 2


def _lam_and_optimum(problem: PruningProblem, size: int, share: float) -> tuple[Fraction, float]:
    """`lam_at_share` of an instance, and the value of its optimum there."""
    path = pruning_path(problem, certificate=False)
    if len(path) < 2:
        raise InvalidInputError(f"problems[{size}] has one optimum for all lambda; give an instance that can be pruned")
    lam = lam_at_share(path, share)
    return lam, path.at_lam(lam).value(float(lam))


def _usable(row: Mapping[Any, Any], time_limit: float) -> bool:
    """Whether an engine finished by itself within the time limit, with a pruning."""
    return row["status"] in ("optimal", "feasible") and row["stopped"] == "converged" and row["seconds"] <= time_limit


def _with_instance(answers: pd.DataFrame, size: int, problem: PruningProblem, lam: Fraction, optimum: float) -> pd.DataFrame:
    """Add to the answers what was solved, and by how much they miss the optimum; NaN: the best answer stands for it."""
    if math.isnan(optimum):
        optimum = float(answers["value"].min())
    ensemble = problem.ensemble
    facts = [size, problem.n_rows, ensemble.n_trees, ensemble.n_splits, problem.n_usage_arcs, float(lam), optimum]
    table = pd.concat([pd.DataFrame([facts] * len(answers), columns=list(INSTANCE)).astype(INSTANCE), answers], axis=1)
    # between two breakpoints the optimum keeps splits that gain more than they cost, so that the divisor is positive; else 0 / 0
    table["above_optimum"] = (table["value"] - optimum) / (Pruning.all_roots(problem).error - optimum)
    return table


def _why(row: Mapping[Any, Any] | pd.Series, time_limit: float) -> str:
    """Why an engine was not usable."""
    if row["status"] in ("refused", "crashed", "time limit"):
        return str(row["status"])
    return str(row["stopped"]) if row["stopped"] != "converged" else f"{row['seconds']:.3g} s of {time_limit:g}"
