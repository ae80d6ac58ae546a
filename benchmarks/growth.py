"""How engines grow: seconds and bytes against rows and trees, and how far each engine gets on MiniBooNE.

    python -m benchmarks.growth --against rows       also: trees, programs, engines; prints tables with slopes
    python -m benchmarks.growth --against rows trees --out F     also adds the figures to F/growth-rows.json, F/growth-trees.json
    python -m benchmarks.growth --against engines --sizes 100 300 --limit 30
    python -m benchmarks.growth --show FOLDER        the tables of FOLDER/growth-*.json

Instances are seeded: `benchmarks.hepmass_like`, against engines BP16's forest on MiniBooNE with so many cost rows. Each is solved
at the lambda at which half of its unpruned cost is paid, found on its exact path: neither all nor nothing is kept. Against rows
it is the lambda of 8,000 rows for all, for the objective is a mean over rows and the forest is the same.

Every engine has a process of its own. It is *usable* at a size if it ended by itself within the limit, with a pruning; one that
was not is not tried on larger instances, and one that holds a network or a matrix of all usage arcs on none of more than
`MOST_ARCS`. A slope b is that of seconds, or bytes, over the sizes at which the engine was usable: 1 is linear.

    log10 y = a + b log10 x        b by least squares                                                                     (1)

BP16 (section 4) has O(T^3) for general LP solvers, T the trees. Against `programs`, small instances that such solvers end, HiGHS'
simplex, interior point and first-order method solve IP3 as the papers write it, without merging purchases, so that its nonzeros,
reported beside the seconds, grow linearly with T.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.stats import linregress
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import hepmass_like
from benchmarks.instances import bp16, lam_at_share
from benchmarks.measuring import command_line, markdown, write_text
from formulations.programs.matrix import model_size
from prunemodels.comparison.processes import machine
from prunemodels.plots.picture import GREY, frame, look, save_picture
from solvers import linear_program

INSTANCE = dict.fromkeys(("size", "rows", "trees", "splits_unpruned", "usage_arcs"), "int64")
INSTANCE |= dict.fromkeys(("lam", "optimum"), "float64")
"""The columns that say what was solved, by the least value found; those of `pm.compare` follow, then `usable`."""

LEAST = {"seconds": 0.02, "peak_memory_mb": 2.0}
"""Smaller figures are the call's, not the instance's; they do not count for slopes."""

KEPT = ("solver", "status", "stopped", "usable", "seconds", "peak_memory_mb", "relative_gap", "iterations", "nonzeros", "note")
"""Columns of an answer that are kept, beside those of the instance; `nonzeros` of IP3 where the study has linear programs."""


TOLD = ["size", "usage_arcs", "solver", "status", "seconds", "peak_memory_mb", "note"]  # of each answer while a study runs
LEAST_POINTS = 3  # a line through fewer points says nothing


@dataclass(frozen=True, eq=False)
class Growth:
    """Engines on growing instances: a row an engine and size; `by` is what sizes count, the limit in seconds."""

    table: pd.DataFrame
    by: str
    time_limit: float
    machine: str

    @property
    def engines(self) -> list[str]:
        """The engines' names, in the order asked for."""
        return list(dict.fromkeys(self.table["solver"]))

    @property
    def sizes(self) -> list[int]:
        """The sizes, ascending."""
        return sorted(set(self.table["size"]))

    def slopes(self, quantity: str) -> pd.DataFrame:
        """``slope`` b of (1) and ``se``, its standard error, of every engine; figures below `LEAST` do not count."""
        usable = {name: self.table[(self.table["solver"] == name) & self.table["usable"]] for name in self.engines}
        found = [slope(own["size"], own[quantity], LEAST[quantity]) for own in usable.values()]
        return pd.DataFrame(found, columns=["slope", "se"], index=pd.Index(self.engines, name="solver"))


def slope(x: pd.Series, y: pd.Series, least: float = 0.0) -> tuple[float, float]:
    """The slope b of (1) and its standard error, over points with x > 0, y > 0 and y >= `least`; NaN below three sizes."""
    used = (y > 0) & (y >= least) & (x > 0) & np.isfinite(y)
    a, b = (np.log10(z[used].to_numpy(dtype=float)) for z in (x, y))
    if a.size < LEAST_POINTS or np.ptp(a) == 0:
        return np.nan, np.nan
    if np.ptp(b) == 0:  # whose correlation, which `linregress` goes by, is 0 / 0
        return 0.0, 0.0
    line = linregress(a, b)
    return float(line.slope), float(line.stderr)


def answers(
    problem: pm.PruningProblem, size: int, lam: Fraction, engines: Sequence[str], limit: float, isolate: bool = True
) -> pd.DataFrame:
    """Solve an instance with every engine: the columns of `INSTANCE`, those of `pm.compare`, and ``usable``."""
    found = pm.compare(problem, lam, engines, time_limit=limit, isolate=isolate)
    ensemble, optimum = problem.ensemble, float(found["value"].min())
    facts = [size, problem.usage.n_rows, ensemble.n_trees, ensemble.n_splits, problem.n_usage_arcs, float(lam), optimum]
    what = pd.DataFrame([facts] * len(found), columns=list(INSTANCE)).astype(INSTANCE)
    ended = found["status"].isin(["optimal", "feasible"]) & (found["stopped"] == "converged") & (found["seconds"] <= limit)
    return pd.concat([what, found.assign(usable=ended)], axis=1)


def merged(growth: Growth, later: Growth) -> Growth:
    """The answers of both, but for engines and sizes that were measured again later."""
    table = pd.concat([growth.table, later.table], ignore_index=True).drop_duplicates(["size", "solver"], keep="last")
    return replace(later, table=table.sort_values("size", kind="stable", ignore_index=True))


def write(growth: Growth, file: Path) -> None:
    """Keep answers as JSON, numbers to four digits."""
    rows = growth.table[[name for name in (*INSTANCE, *KEPT) if name in growth.table]].to_dict("records")
    content: dict[str, Any] = {name: getattr(growth, name) for name in ("by", "machine", "time_limit")}
    content["rows"] = [{str(name): _digits(figure) for name, figure in row.items()} for row in rows]
    write_text(file, json.dumps(content, indent=1) + "\n")


def read(file: Path) -> Growth:
    content = json.loads(file.read_text())
    table = pd.DataFrame(content["rows"]).astype(INSTANCE | {"seconds": "float64", "peak_memory_mb": "float64"})
    return Growth(table, content["by"], content["time_limit"], content["machine"])


def _digits(figure: Any) -> Any:
    if isinstance(figure, float):
        return None if pd.isna(figure) else float(f"{figure:.4g}")
    return None if figure is pd.NA else figure


def table(growth: Growth) -> str:
    """Seconds and peak memory of every engine and size with the slopes, rounds of price sharing; in brackets: not usable."""
    sizes, by_size = growth.sizes, growth.table.groupby("size").first()
    lines = []
    for name, column in (("usage arcs", "usage_arcs"), ("IP3's nonzeros", "nonzeros")):
        if column in by_size:
            found, error = slope(by_size.index.to_series(), by_size[column].astype(float))
            lines.append([name, *(f"{int(n):,}" for n in by_size[column]), _fit(found, error)])
    for quantity, unit in (("seconds", "s"), ("peak_memory_mb", "MB")):
        slopes = growth.slopes(quantity)
        for name in growth.engines:
            cells = [_cell(growth, name, size, quantity) for size in sizes]
            fit = _fit(slopes["slope"][name], slopes["se"][name])
            lines.append([f"`{name.rpartition(':')[2]}`, {unit}", *cells, fit])
    if "price_sharing" in growth.engines:
        lines.append(["rounds", *(_cell(growth, "price_sharing", size, "iterations") for size in sizes), ""])
    return markdown([growth.by, *(f"{size:,}" for size in sizes), "slope"], lines)


def _cell(growth: Growth, name: str, size: int, quantity: str) -> str:
    """A figure; in brackets where the engine was not usable, empty where it was not tried."""
    of = growth.table[(growth.table["solver"] == name) & (growth.table["size"] == size)]
    if of.empty or pd.isna(of[quantity].iloc[0]):
        return ""
    return f"{of[quantity].iloc[0]:.3g}" if bool(of["usable"].iloc[0]) else f"({of[quantity].iloc[0]:.3g})"


def _fit(found: float, error: float) -> str:
    """A slope and its standard error; nothing below three points."""
    return "" if pd.isna(found) else f"{found:.2f} ± {error:.2f}"


def draw(growth: Growth, name: str, folder: Path) -> list[Path]:
    """A picture of the seconds."""
    folder.mkdir(parents=True, exist_ok=True)
    return save_picture(picture(growth), folder / f"{name}-seconds.svg")


def picture(growth: Growth) -> Figure:
    """A line an engine, its slope in the legend; a cross where it was not usable any more; dotted: slope 1, for the eye."""
    figure = Figure(figsize=(8.0, 4.8), layout="constrained")
    ax, slopes = figure.add_subplot(), growth.slopes("seconds")["slope"]
    for k, name in enumerate(growth.engines):
        own = growth.table[growth.table["solver"] == name]
        fit = "" if np.isnan(slopes[name]) else f"   {slopes[name]:.2f}"
        ax.plot(own["size"], own["seconds"].astype(float), lw=1.5, ms=5.5, label=f"{name.rpartition(':')[2]}{fit}", **look(k))
        failed = own[~own["usable"]]
        ax.plot(failed["size"], failed["seconds"].astype(float), ls="", marker="x", ms=9, mew=2, color=look(k)["color"])
    ax.set(xscale="log", yscale="log", xlabel=growth.by, ylabel="seconds")
    limits = ax.get_ylim()
    name = "price_sharing" if "price_sharing" in growth.engines else growth.engines[0]
    reached = growth.table[(growth.table["solver"] == name) & (growth.table["seconds"] > 0)].sort_values("size")
    if len(reached):
        sizes, last = np.array([growth.sizes[0], growth.sizes[-1]], dtype=float), reached.iloc[-1]
        ax.plot(sizes, sizes * float(last["seconds"]) / float(last["size"]), color="0.6", lw=1, ls=":", zorder=1)
    if np.isfinite(growth.time_limit):
        ax.axhline(growth.time_limit, color=GREY, lw=3, alpha=0.5, zorder=1, label=f"time limit, {growth.time_limit:g} s")
    ax.set_ylim(limits)
    ax.set_xticks(growth.sizes, [f"{size:,}" for size in growth.sizes])
    ax.set_xticks([], minor=True)
    frame(ax)
    ax.legend(title="engine   slope; x: not usable", loc="upper left", bbox_to_anchor=(1.01, 1.0), alignment="left")
    return figure


def show(folder: Path) -> None:
    for file in sorted(folder.glob("growth-*.json")):
        growth = read(file)
        print(f"{file.stem}: {growth.machine}\n\n{table(growth)}\n")


highs_simplex = partial(linear_program, formulation="IP3", engine="highs", merge=False)
highs_ipm = partial(linear_program, formulation="IP3", engine="highs_ipm", merge=False)
highs_pdlp = partial(linear_program, formulation="IP3", engine="highs_pdlp", merge=False)
ENGINES = ("price_sharing", "min_cut", "highs_ip3", "highs_closure")
PROGRAMS = ("price_sharing", "min_cut", *(f"benchmarks.growth:{name}" for name in ("highs_pdlp", "highs_ipm", "highs_simplex")))
MOST_ARCS = 100_000_000  # usage arcs beyond which only price sharing is tried: a network takes 60 to 84 bytes for each
Make = Callable[[], pm.PruningProblem]


def grown(rows: int = 4_000, trees: int = 20, depth: int = 10, n_train: int = 4_000) -> pm.PruningProblem:
    """A forest on HEPMASS-like events, and other rows that pay."""
    forest = RandomForestClassifier(trees, criterion="entropy", max_depth=depth, max_features="sqrt", random_state=0)
    forest.fit(*hepmass_like.events(n_train, 0))
    return pm.problem_from_forest(forest, hepmass_like.events(rows, 1)[0], costs=1)


_miniboone = cache(partial(bp16, "miniboone"))


def miniboone(rows: int | None) -> pm.PruningProblem:
    """BP16's forest, with the first rows of its cost sample; None: all."""
    forest, X = _miniboone()
    return pm.problem_from_forest(forest, X[:rows], costs=1)


@dataclass(frozen=True)
class Study:
    """Instances by size; `common`: the one whose lambda all take, None: each its own."""

    by: str
    instances: Mapping[int, Make]
    engines: tuple[str, ...] = ENGINES
    common: Make | None = None
    programs: bool = False


STUDIES: dict[str, Study] = {
    "rows": Study("cost rows", {n: partial(grown, n) for n in (500 * 4**k for k in range(7))}, common=partial(grown, 8_000)),
    "trees": Study("trees", {t: partial(grown, trees=t) for t in (5, 10, 20, 40, 80, 160, 320)}),
    "programs": Study("trees", {t: partial(grown, 200, t, 6) for t in (4, 8, 16, 32, 64, 128, 256)}, PROGRAMS, programs=True),
    "engines": Study("cost rows", {n: partial(miniboone, n) for n in (100, 300, 1_000, 3_000, 15_000)}, tuple(pm.SOLVERS)),
}


def half_cost(problem: pm.PruningProblem) -> Fraction:
    """The lambda at which half of the unpruned cost is paid."""
    return lam_at_share(pm.pruning_path(problem, certificate=False), 0.5)


def study(
    against: str,
    engines: Sequence[str] | None = None,
    limit: float = 60.0,
    *,
    sizes: Sequence[int] | None = None,
    isolate: bool = True,
    keep: Callable[[Growth], object] | None = None,
) -> Growth:
    """Measure `engines`, None: those of the study, on `sizes`, None: all; `keep` is called with the answers of each size."""
    what = STUDIES[against]
    common = None if what.common is None else half_cost(what.common())
    remaining, found = list(what.engines if engines is None else engines), None
    for size in sorted(what.instances if sizes is None else sizes):
        problem = what.instances[size]()
        able = remaining if problem.n_usage_arcs <= MOST_ARCS else [name for name in remaining if name == "price_sharing"]
        if not able:
            break
        lam = half_cost(problem) if common is None else common
        growth = Growth(answers(problem, size, lam, able, limit, isolate), what.by, limit, machine())
        print(growth.table[TOLD].to_string(index=False, header=False), file=sys.stderr, flush=True)
        if what.programs:
            growth.table["nonzeros"] = model_size(problem, "IP3").nonzeros
        if keep is not None:
            keep(growth)
        found = growth if found is None else merged(found, growth)
        remaining = list(growth.table["solver"][growth.table["usable"]])
    if found is None:
        raise SystemExit(f"nothing to measure: {', '.join(remaining)} would hold more than {MOST_ARCS:,} usage arcs")
    return found


def kept(file: Path, growth: Growth) -> None:
    write(merged(read(file), growth) if file.exists() else growth, file)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--against", nargs="+", default=["rows"], choices=list(STUDIES))
    parser.add_argument("--engines", nargs="+", help="default: those of the study")
    parser.add_argument("--sizes", nargs="+", type=int, help="default: all of the study")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each engine and instance")
    parser.add_argument("--out", type=Path, help="adds each size to the figures of this folder as it is done")
    parser.add_argument("--show", type=Path, metavar="FOLDER", help="print the tables of kept figures")
    args = parser.parse_args()
    if args.show:
        show(args.show)
        return
    for against in args.against:
        unknown = sorted(set(args.sizes or ()) - set(STUDIES[against].instances))
        if unknown:
            parser.error(f"--sizes {unknown[0]}: no such instance of the study against {against}")
    for against in args.against:
        file = None if args.out is None else args.out / f"growth-{against}.json"
        growth = study(against, args.engines, args.limit, sizes=args.sizes, keep=None if file is None else partial(kept, file))
        shown = growth if file is None else read(file)
        print(f"{shown.machine}\n\n{table(shown)}\n", flush=True)


if __name__ == "__main__":
    main()
