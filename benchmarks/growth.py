"""How price sharing grows: seconds and bytes against rows, trees, depth and features, beside a cut and general LP solvers.

    python -m benchmarks.growth --against rows       also: trees, depth, features, programs; prints the table with fitted slopes
    python -m benchmarks.growth --against rows trees --out F     also adds the figures to F/growth-rows.json, F/growth-trees.json
    python -m benchmarks.growth --engines price_sharing min_cut highs_ip3 highs_closure --limit 60

Instances are seeded: `benchmarks.hepmass_like`, and `benchmarks.yahoo_like` (its first features) against features. Each is solved
at the lambda at which half of its unpruned cost is paid, found on its exact path, which must be there: neither all nor nothing is
kept. Against rows it is the lambda of 8,000 rows for all, for the objective is a mean over rows and the forest is the same.

Every engine has a process of its own; one that did not come to an end within the limit is not tried on larger instances, and one
that holds a network or a matrix of all usage arcs on none of more than `MOST_ARCS`. A slope b is
that of log seconds, or log bytes, on log size: 1 is linear.

BP16 (section 4) has O(T^3) for general LP solvers, T the trees. Against `programs`, small instances that such solvers end, HiGHS'
simplex, interior point and first-order method solve IP3 as the papers write it, without merging purchases, so that its rows,
columns and nonzeros, reported beside the seconds, grow linearly with T.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import hepmass_like, yahoo_like
from benchmarks.growth_figures import Figures, read, rounds_table, table, write
from benchmarks.rounds import rounds_of
from formulations.instance.papers import two_trees
from formulations.programs.matrix import MATRICES
from prunemodels.comparison.growth import lam_at_share, measure_growth
from solvers import linear_program

ENGINES = ("price_sharing", "min_cut", "highs_ip3", "highs_closure")
PROGRAMS = ("price_sharing", "min_cut", *(f"benchmarks.growth:{name}" for name in ("highs_pdlp", "highs_ipm", "highs_simplex")))

highs_simplex = partial(linear_program, formulation="IP3", engine="highs", merge=False)
highs_ipm = partial(linear_program, formulation="IP3", engine="highs_ipm", merge=False, tolerance=1e-6)
highs_pdlp = partial(linear_program, formulation="IP3", engine="highs_pdlp", merge=False, tolerance=1e-6)

MOST_ARCS = 100_000_000
"""Usage arcs beyond which only price sharing is tried: a network takes 60 to 84 bytes for each."""


@dataclass(frozen=True)
class Sizes:
    """What an instance is made of; `depth` None: grown to the end."""

    rows: int = 4_000
    trees: int = 20
    depth: int | None = 10
    features: int = 28
    n_train: int = 4_000
    wide: bool = False

    def problem(self) -> pm.PruningProblem:
        """The instance, grown and routed."""
        rows = yahoo_like.documents if self.wide else hepmass_like.events
        X, y = rows(self.n_train, 0)
        forest = RandomForestClassifier(
            self.trees, criterion="entropy", max_depth=self.depth, max_features="sqrt", random_state=0
        ).fit(X[:, : self.features], y)
        prices = [float(c) for c in yahoo_like.prices()[: self.features]] if self.wide else 1.0
        return pm.problem_from_forest(forest, rows(self.rows, 1)[0][:, : self.features], costs=prices)


@dataclass(frozen=True)
class Study:
    """Instances that differ in one of their sizes; `common`: the one whose lambda all take, None: each its own."""

    size: str
    by: str
    instances: tuple[Sizes, ...]
    engines: tuple[str, ...] = ENGINES
    common: Sizes | None = None
    programs: bool = False


STUDIES: dict[str, Study] = {
    "rows": Study("rows", "cost rows", tuple(Sizes(rows=500 * 4**k) for k in range(7)), common=Sizes(rows=8_000)),
    "trees": Study("trees", "trees", tuple(Sizes(trees=t) for t in (5, 10, 20, 40, 80, 160, 320))),
    "depth": Study("depth", "depth", tuple(Sizes(depth=d) for d in (2, 4, 6, 8, 10, 12, 16))),
    "features": Study("features", "features", tuple(Sizes(features=f, wide=True) for f in (16, 32, 64, 128, 256, 512))),
    "programs": Study(
        "trees", "trees", tuple(Sizes(rows=200, trees=t, depth=6) for t in (4, 8, 16, 32, 64, 128, 256)), PROGRAMS, programs=True
    ),
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
    repeats: int = 1,
    keep: Callable[[Figures], object] | None = None,
) -> Figures:
    """Measure `engines`, None: those of the study, on `sizes`, None: all; `keep` is called with the figures of each size."""
    what = STUDIES[against]
    chosen = {getattr(of, what.size): of for of in what.instances}
    common = None if what.common is None else half_cost(what.common.problem())
    remaining = list(what.engines if engines is None else engines)
    pm.engines.price_sharing(two_trees(), 0.1, small_core=0)  # compiled, for `rounds_of`
    found = None
    for size in sorted(chosen if sizes is None else sizes):
        problem = chosen[size].problem()
        able = remaining if problem.n_usage_arcs <= MOST_ARCS else [name for name in remaining if name == "price_sharing"]
        if not able:
            break
        lam = half_cost(problem) if common is None else common
        growth = measure_growth(
            {size: problem}, able, by=what.by, lams={size: lam}, time_limit=limit, repeats=repeats, isolate=isolate, done=_tell
        )
        rounds = {size: rounds_of(problem, lam, repeats).as_dict()} if "price_sharing" in able else {}
        figures = Figures(growth, rounds, {size: matrix(problem, lam)} if what.programs else {})
        if keep is not None:
            keep(figures)
        found = figures if found is None else found.with_later(figures)
        remaining = list(growth.table["solver"][growth.table["usable"]])
    if found is None:
        raise SystemExit(
            f"nothing to measure: the engines {remaining} hold all usage arcs, and there are more than {MOST_ARCS:,}"
        )
    return found


def matrix(problem: pm.PruningProblem, lam: Fraction) -> dict[str, int]:
    """Size of IP3's relaxation as the papers write it."""
    program = MATRICES["IP3"](problem, lam=lam, relax=True)
    rows, columns = program.shape
    return {"rows": rows, "columns": columns, "nonzeros": int(program.matrix.nnz)}


def _tell(answers: pd.DataFrame) -> None:
    """Finished rows, as they are."""
    columns = ["size", "usage_arcs", "solver", "status", "seconds", "peak_memory_mb"]
    print(answers[columns].to_string(index=False, header=False), file=sys.stderr, flush=True)


def kept(figures: Figures, file: Path) -> Figures:
    """Add figures to those of a file; all of them."""
    together = read(file).with_later(figures) if file.exists() else figures
    write(together, file)
    return together


def main() -> None:
    parser = argparse.ArgumentParser(description="How price sharing grows.")
    parser.add_argument("--against", nargs="+", default=["rows"], choices=list(STUDIES))
    parser.add_argument("--engines", nargs="+", help="default: those of the study")
    parser.add_argument("--sizes", nargs="+", type=int, help="default: all of the study")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each engine and instance")
    parser.add_argument("--repeats", type=int, default=1, help="of each, kept is the quickest")
    parser.add_argument("--out", type=Path, help="adds each size to the figures of this folder as it is done")
    args = parser.parse_args()
    for against in args.against:
        what = STUDIES[against]
        unknown = sorted(set(args.sizes or ()) - {getattr(of, what.size) for of in what.instances})
        if unknown:
            parser.error(f"--sizes {unknown[0]}: no such instance of the study against {against}")
    for against in args.against:
        file = None if args.out is None else args.out / f"growth-{against}.json"
        keep = None if file is None else partial(kept, file=file)
        figures = study(against, args.engines, args.limit, sizes=args.sizes, repeats=args.repeats, keep=keep)
        shown = figures if file is None else read(file)
        print(f"{shown.growth.machine}\n\n{table(shown)}\n\n{rounds_table(shown)}\n", flush=True)
        print(shown.growth.reach().to_string(), file=sys.stderr)


if __name__ == "__main__":
    main()
