"""How price sharing grows: seconds and bytes against rows, trees, depth and features, beside a cut and general LP solvers.

    python -m benchmarks.growth --against rows            also: trees, depth, features; prints the table and the fitted slopes
    python -m benchmarks.growth --against rows --out F    also writes F/growth-rows.json and pictures F/growth-rows-*.png
    python -m benchmarks.growth --engines price_sharing min_cut highs_ip3 highs_closure --limit 60

Instances are seeded: `benchmarks.hepmass_like`, and `benchmarks.yahoo_like` (its first features) against features. Each is solved
at the lambda at which half of the unpruned cost is paid. Every engine has a process of its own; one that did not come to an end
within the limit is not tried on larger instances. A slope b is that of log seconds, or log bytes, on log size: 1 is linear.
NWS15 and BP16 give O(T^3) for a general LP solver, T the trees.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks import hepmass_like, yahoo_like
from prunemodels.comparison.growth import Growth, measure_growth
from prunemodels.pictures.growth import plot_growth
from prunemodels.pictures.tradeoff import save_picture

ENGINES = ("price_sharing", "min_cut", "highs_ip3", "highs_closure")
LEAST = {"seconds": 0.02, "peak_memory_mb": 2.0}
"""Smaller figures are the call's, not the instance's."""


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


STUDIES: dict[str, tuple[str, list[Sizes]]] = {
    "rows": ("cost rows", [Sizes(rows=500 * 4**k) for k in range(7)]),
    "trees": ("trees", [Sizes(trees=t) for t in (5, 10, 20, 40, 80, 160)]),
    "depth": ("depth", [Sizes(depth=d) for d in (2, 4, 6, 8, 12, 16)]),
    "features": ("features", [Sizes(features=f, wide=True) for f in (16, 32, 64, 128, 256, 512)]),
}


def study(
    against: str, engines: Sequence[str], limit: float, *, most: int | None = None, isolate: bool = True, repeats: int = 1
) -> Growth:
    """Measure; `most`: only the first so many sizes."""
    by, instances = STUDIES[against]
    problems = {getattr(sizes, against): sizes.problem() for sizes in instances[:most]}
    return measure_growth(problems, engines, by=by, time_limit=limit, repeats=repeats, isolate=isolate, done=_tell)


def table(growth: Growth) -> str:
    """Seconds and peak memory of every engine and size, and the slopes."""
    arcs = growth.table.groupby("size")["usage_arcs"].first()
    lines = [f"| {growth.by} | " + " | ".join(f"{size:,}" for size in growth.sizes) + " | slope | against usage arcs |"]
    lines += ["| --- |" + " ---: |" * (len(growth.sizes) + 2)]
    lines += ["| usage arcs | " + " | ".join(f"{int(arcs[size]):,}" for size in growth.sizes) + " | | |"]
    for quantity, unit in (("seconds", "s"), ("peak_memory_mb", "MB")):
        wide = growth.wide(quantity)
        slopes = growth.slopes(quantity, least=LEAST[quantity])
        by_arcs = growth.slopes(quantity, against="usage_arcs", least=LEAST[quantity])
        for name in growth.engines:
            cells = [_cell(wide.loc[name, size]) for size in growth.sizes]
            lines += [f"| {name}, {unit} | " + " | ".join(cells) + f" | {_slope(slopes, name)} | {_slope(by_arcs, name)} |"]
    return "\n".join(lines)


def _tell(answers: pd.DataFrame) -> None:
    """Finished rows, as they are."""
    columns = ["size", "usage_arcs", "solver", "status", "seconds", "peak_memory_mb"]
    print(answers[columns].to_string(index=False, header=False), file=sys.stderr, flush=True)


def _cell(figure: Any) -> str:
    return "" if pd.isna(figure) else f"{figure:.3g}"


def _slope(slopes: pd.DataFrame, name: str) -> str:
    """A slope and its standard error; nothing below three points."""
    slope, error = float(slopes["slope"][name]), float(slopes["se"][name])
    return "" if pd.isna(slope) else f"{slope:.2f} ± {error:.2f}"


def write(growth: Growth, against: str, folder: Path) -> None:
    """The figures as JSON, and a picture of each quantity that was more than nothing (small runs may take no more memory)."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {"by": growth.by, "machine": growth.machine, "time_limit": growth.time_limit, "rows": growth.table.to_dict("records")}
    (folder / f"growth-{against}.json").write_text(json.dumps(told, indent=1, default=str) + "\n")
    for quantity in LEAST:
        if not (growth.table[quantity] > 0).any():
            continue
        picture = plot_growth(growth, quantity, least=LEAST[quantity])
        save_picture(picture, folder / f"growth-{against}-{quantity}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description="How price sharing grows.")
    parser.add_argument("--against", default="rows", choices=list(STUDIES))
    parser.add_argument("--engines", nargs="+", default=list(ENGINES))
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each engine and instance")
    parser.add_argument("--most", type=int, help="only the first so many sizes")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    growth = study(args.against, args.engines, args.limit, most=args.most, repeats=args.repeats)
    print(f"{growth.machine}\n\n{table(growth)}")
    print(growth.reach().to_string(), file=sys.stderr)
    if args.out is not None:
        write(growth, args.against, args.out)


if __name__ == "__main__":
    main()
