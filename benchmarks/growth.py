"""How engines grow: seconds and bytes against rows, trees, depth and features, and how far each engine gets on MiniBooNE.

    python -m benchmarks.growth --against rows       also: trees, depth, features, programs, engines; prints tables with slopes
    python -m benchmarks.growth --against rows trees --out F     also adds the figures to F/growth-rows.json, F/growth-trees.json
    python -m benchmarks.growth --against engines --sizes 100 300 --limit 30

Instances are seeded: `benchmarks.hepmass_like`, against features `benchmarks.yahoo_like` (its first features), against engines
BP16's forest on MiniBooNE with so many cost rows. Each is solved at the lambda at which half of its unpruned cost is paid, found
on its exact path: neither all nor nothing is kept. Against rows it is the lambda of 8,000 rows for all, for the objective is a
mean over rows and the forest is the same.

Every engine has a process of its own; one that did not come to an end within the limit is not tried on larger instances, and one
that holds a network or a matrix of all usage arcs on none of more than `MOST_ARCS`. A slope b is that of log seconds, or log
bytes, on log size: 1 is linear.

BP16 (section 4) has O(T^3) for general LP solvers, T the trees. Against `programs`, small instances that such solvers end, HiGHS'
simplex, interior point and first-order method solve IP3 as the papers write it, without merging purchases, so that its nonzeros,
reported beside the seconds, grow linearly with T.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import hepmass_like, yahoo_like
from benchmarks.growth_figures import merged, read, table, write
from benchmarks.instances import bp16
from benchmarks.measuring import command_line
from prunemodels.comparison.growth import Growth, lam_at_share, measure_growth
from solvers import linear_program
from solvers.programs.stoppable import model_size

highs_simplex = partial(linear_program, formulation="IP3", engine="highs", merge=False)
highs_ipm = partial(linear_program, formulation="IP3", engine="highs_ipm", merge=False, tolerance=1e-6)
highs_pdlp = partial(linear_program, formulation="IP3", engine="highs_pdlp", merge=False, tolerance=1e-6)

ENGINES = ("price_sharing", "min_cut", "highs_ip3", "highs_closure")
PROGRAMS = ("price_sharing", "min_cut", *(f"benchmarks.growth:{name}" for name in ("highs_pdlp", "highs_ipm", "highs_simplex")))

MOST_ARCS = 100_000_000
"""Usage arcs beyond which only price sharing is tried: a network takes 60 to 84 bytes for each."""

Make = Callable[[], pm.PruningProblem]


def grown(
    rows: int = 4_000, trees: int = 20, depth: int | None = 10, features: int = 28, n_train: int = 4_000, wide: bool = False
) -> pm.PruningProblem:
    """A forest on HEPMASS-like events, `wide`: on Yahoo-like documents with their prices, and other rows that pay."""
    draw = yahoo_like.documents if wide else hepmass_like.events
    X, y = draw(n_train, 0)
    forest = RandomForestClassifier(trees, criterion="entropy", max_depth=depth, max_features="sqrt", random_state=0)
    prices = [float(c) for c in yahoo_like.prices()[:features]] if wide else 1.0
    return pm.problem_from_forest(forest.fit(X[:, :features], y), draw(rows, 1)[0][:, :features], costs=prices)


_miniboone = cache(partial(bp16, "miniboone"))


def miniboone(rows: int) -> pm.PruningProblem:
    """BP16's forest, with the first rows of its cost sample."""
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
    "depth": Study("depth", {d: partial(grown, depth=d) for d in (2, 4, 6, 8, 10, 12, 16)}),
    "features": Study("features", {f: partial(grown, features=f, wide=True) for f in (16, 32, 64, 128, 256, 512)}),
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
        growth = measure_growth(
            {size: problem}, able, by=what.by, lams={size: lam}, time_limit=limit, isolate=isolate, done=_tell
        )
        if what.programs:
            growth.table["nonzeros"] = model_size(problem, "IP3").nonzeros
        if keep is not None:
            keep(growth)
        found = growth if found is None else merged(found, growth)
        remaining = list(growth.table["solver"][growth.table["usable"]])
    if found is None:
        raise SystemExit(f"nothing to measure: {', '.join(remaining)} would hold more than {MOST_ARCS:,} usage arcs")
    return found


def _tell(answers: pd.DataFrame) -> None:
    """Finished rows, as they are."""
    columns = ["size", "usage_arcs", "solver", "status", "seconds", "peak_memory_mb", "note"]
    print(answers[columns].to_string(index=False, header=False), file=sys.stderr, flush=True)


def kept(file: Path, growth: Growth) -> None:
    """Add answers to those of a file."""
    write(merged(read(file), growth) if file.exists() else growth, file)


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--against", nargs="+", default=["rows"], choices=list(STUDIES))
    parser.add_argument("--engines", nargs="+", help="default: those of the study")
    parser.add_argument("--sizes", nargs="+", type=int, help="default: all of the study")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each engine and instance")
    parser.add_argument("--out", type=Path, help="adds each size to the figures of this folder as it is done")
    args = parser.parse_args()
    for against in args.against:
        unknown = sorted(set(args.sizes or ()) - set(STUDIES[against].instances))
        if unknown:
            parser.error(f"--sizes {unknown[0]}: no such instance of the study against {against}")
    for against in args.against:
        file = None if args.out is None else args.out / f"growth-{against}.json"
        growth = study(against, args.engines, args.limit, sizes=args.sizes, keep=None if file is None else partial(kept, file))
        shown = growth if file is None else read(file)
        print(f"{shown.machine}\n\n{table(shown)}\n\n{shown.reach().to_string()}\n", flush=True)


if __name__ == "__main__":
    main()
