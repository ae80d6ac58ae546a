"""Where the naive formulation IP1 loses against IP3: fractional optima, weak bounds, branch and bound.

    python -m benchmarks.naive             49 instances, up to five lambdas each; about ten minutes
    python -m benchmarks.naive --quick     a few tiny ones, in seconds

Both relaxations are solved by HiGHS' dual simplex, so their points are vertices. Which optimal vertex it finds depends on
the solver. But if the relaxation's value is below the optimum, which is known from the exact path, then *no* optimal point of
IP1's relaxation is integral. HiGHS solves the integer program IP1 with presolve and cuts, at the middle lambda of each instance.
Purchases with the same usage are merged in both formulations (--unmerged: in neither). Seconds are those of the native solves,
without building, and of the whole of min_cut, proof included; of IP3's relaxation and of min_cut the best of three.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.instances import SHARES, Instance, middles, random_instances, real_instances, shipped, shipped_instances
from benchmarks.path import best_of, machine, warm_up
from solvers import integer_program, solve_relaxation

BELOW = 1e-9
"""A relaxation whose value is below the optimum by more than this part of it has no integral optimum."""

REPEATS = 3
"""IP3's relaxation and the cut take milliseconds: the best of so many runs counts."""


@dataclass(frozen=True)
class Pair:
    """One instance at one lambda. The gaps are relative to the attainable gain, the all-roots value less the optimum.

    Parameters
    ----------
    ip1_fractional, ip3_fractional
        whether the simplex ended in a fractional vertex.
    ip1_gap, ip3_gap
        (optimum - value of the relaxation) / (all-roots value - optimum).
    no_integral_optimum
        whether IP1's relaxation has none.
    mip_seconds, mip_iterations, mip_nodes, mip_closed, mip_gap
        branch and bound on IP1: its seconds, simplex iterations and nodes, whether it ended within the limit, and
        (value - bound) / (all-roots value - bound) then; NaN where it was not run.
    ip3_mip_seconds
        of branch and bound on IP3.
    """

    instance: str
    group: str
    usage_arcs: int
    ip1_rows: int
    ip3_rows: int
    lam: float
    ip1_fractional: bool
    no_integral_optimum: bool
    ip1_gap: float
    ip3_fractional: bool
    ip3_gap: float
    ip1_seconds: float
    ip3_seconds: float
    ip3_iterations: float
    cut_seconds: float
    mip_seconds: float = math.nan
    mip_iterations: float = math.nan
    mip_nodes: float = math.nan
    mip_closed: float = math.nan
    mip_gap: float = math.nan
    ip3_mip_seconds: float = math.nan


def measure(instance: Instance, path: pm.PruningPath, lam: Fraction, limit: float | None, *, merge: bool = True) -> Pair:
    """Solve one instance at one lambda; `limit` is branch and bound's seconds, None for no branch and bound."""
    problem = instance.problem
    rate = float(lam)
    optimum, roots = path.at_lam(lam).value(rate), pm.Pruning.all_roots(problem).error
    ip1 = solve_relaxation(problem, rate, formulation="IP1", merge=merge)
    again = [solve_relaxation(problem, rate, formulation="IP3", merge=merge) for _ in range(REPEATS)]
    ip3 = min(again, key=lambda relaxation: relaxation.answer.seconds)
    cut_seconds, cut = best_of(REPEATS, lambda: pm.engines.min_cut(problem, rate))
    assert math.isclose(cut.value, optimum, rel_tol=1e-12), f"{instance.name}: the cut and the path disagree"
    found: dict[str, float] = {}
    if limit is not None:
        mip = integer_program(problem, rate, formulation="IP1", time_limit=limit, merge=merge)
        same = integer_program(problem, rate, formulation="IP3", time_limit=limit, merge=merge)
        for answer in (mip, same):
            assert answer.bound <= optimum * (1 + 1e-12), f"{instance.name}: the bound is above the optimum"
            assert answer.value >= optimum * (1 - 1e-12), f"{instance.name}: the value is below the optimum"
        found = {
            "mip_seconds": mip.stats["solve_seconds"],
            "mip_iterations": mip.stats["iterations"],
            "mip_nodes": mip.stats["nodes"],
            "mip_closed": float(mip.status == pm.engines.Status.OPTIMAL),
            "mip_gap": mip.relative_gap,
            "ip3_mip_seconds": same.stats["solve_seconds"],
        }
    return Pair(
        instance.name,
        instance.group,
        problem.n_usage_arcs,
        ip1.program.shape[0],
        ip3.program.shape[0],
        rate,
        not ip1.integral,
        ip1.objective < optimum * (1 - BELOW),
        (optimum - ip1.objective) / (roots - optimum),
        not ip3.integral,
        (optimum - ip3.objective) / (roots - optimum),
        ip1.answer.seconds,
        ip3.answer.seconds,
        ip3.answer.iterations,
        cut_seconds,
        **found,
    )


def pairs_of(instances: Iterable[Instance], limit: float, *, merge: bool = True, only_middle: bool = False) -> Iterator[Pair]:
    """Every instance at its lambdas; branch and bound at the middle one."""
    for instance in instances:
        path = pm.pruning_path(instance.problem, certificate=False)
        middle = middles(path, (0.5,))
        for lam in middle if only_middle else sorted(set(middles(path))):
            pair = measure(instance, path, lam, limit if lam in middle else None, merge=merge)
            print(f"{pair.instance}: lambda {pair.lam:.3g}, gap of IP1 {pair.ip1_gap:.3g}", file=sys.stderr)
            yield pair


def growing(what: str, *, quick: bool = False) -> list[Instance]:
    """Forests on the breast cancer data, growing in `what`: trees or rows."""
    trees, rows = ([1, 2, 5, 10, 20, 40], [100]) if what == "trees" else ([10], [10, 30, 100, 284])
    if quick:
        trees, rows = trees[:2], rows[:2]
    return [
        Instance(f"T = {t}, {r} rows", f"more {what}", shipped("breast_cancer", trees=t, rows=r)) for t in trees for r in rows
    ]


def column(pairs: Sequence[Pair], name: str) -> NDArray[np.float64]:
    """One field of all pairs, without those where it is NaN."""
    figures = np.array([getattr(p, name) for p in pairs], dtype=np.float64)
    return figures[~np.isnan(figures)]


def two(figure: float) -> str:
    """Two significant digits, without an exponent."""
    return f"{float(f'{figure:.2g}'):,.12g}"


def spread(figures: NDArray[np.float64]) -> str:
    """Median and maximum."""
    return f"{two(float(np.median(figures)))} / {two(float(figures.max()))}" if figures.size else "-"


def share(figures: NDArray[Any]) -> str:
    """Count of true figures, and of all."""
    return f"{int(figures.sum())} of {figures.size}"


def _ratio(pairs: Sequence[Pair], above: str, below: str) -> NDArray[np.float64]:
    both = [p for p in pairs if not math.isnan(p.mip_seconds)]
    return column(both, above) / column(both, below)


LINES: dict[str, Callable[[Sequence[Pair]], str]] = {
    "instances": lambda p: str(len({x.instance for x in p})),
    "pairs of instance and lambda": lambda p: str(len(p)),
    "usage arcs": lambda p: f"{min(x.usage_arcs for x in p):,} to {max(x.usage_arcs for x in p):,}",
    "**IP1's relaxation: fractional vertex**": lambda p: share(column(p, "ip1_fractional")),
    "**IP1's relaxation: no integral optimum at all**": lambda p: share(column(p, "no_integral_optimum")),
    "IP1's bound gap / attainable gain, median / max": lambda p: spread(column(p, "ip1_gap")),
    "**IP3's relaxation: fractional vertex**": lambda p: share(column(p, "ip3_fractional")),
    "IP3's bound gap / attainable gain, max": lambda p: f"{np.abs(column(p, 'ip3_gap')).max():.0e}",
    "IP1 as integer program: not closed in {limit:g} s": lambda p: share(1 - column(p, "mip_closed")),
    "- gap left there, median / max": lambda p: spread(column([x for x in p if x.mip_closed == 0], "mip_gap")),
    "- closed at the root node": lambda p: share(column([x for x in p if x.mip_closed == 1], "mip_nodes") <= 1),
    "- nodes, max": lambda p: f"{column(p, 'mip_nodes').max():,.0f}",
    "- simplex iterations / IP3's, median / max": lambda p: spread(_ratio(p, "mip_iterations", "ip3_iterations")),
    "- s, median / max": lambda p: spread(column(p, "mip_seconds")),
    "IP1's relaxation, s, median / max": lambda p: spread(column(p, "ip1_seconds")),
    "IP3's relaxation, s, median / max": lambda p: spread(column(p, "ip3_seconds")),
    "IP3 as integer program, s, median / max": lambda p: spread(column(p, "ip3_mip_seconds")),
    "min_cut, s, median / max": lambda p: spread(column(p, "cut_seconds")),
    "IP1 integer / IP3 integer, s, median / max": lambda p: spread(_ratio(p, "mip_seconds", "ip3_mip_seconds")),
    "**IP1 integer / IP3's relaxation, s, median / max**": lambda p: spread(_ratio(p, "mip_seconds", "ip3_seconds")),
    "**IP1 integer / min_cut, s, median / max**": lambda p: spread(_ratio(p, "mip_seconds", "cut_seconds")),
}
"""The table's lines; runs that did not close the gap count with the seconds of the limit."""


def table(pairs: Sequence[Pair], limit: float) -> str:
    """Markdown: one column a group."""
    groups = {group: [p for p in pairs if p.group == group] for group in dict.fromkeys(p.group for p in pairs)}
    lines = [f"| | {' | '.join(groups)} |", "| --- |" + " ---: |" * len(groups)]
    lines += [f"| {name.format(limit=limit)} | {' | '.join(map(line, groups.values()))} |" for name, line in LINES.items()]
    return "\n".join(lines)


def growth_table(pairs: Sequence[Pair]) -> str:
    """Markdown: one line an instance, at its middle lambda."""
    heads = ["breast cancer", "usage arcs", "rows IP1", "rows IP3", "gap IP1", "IP1 integer, s", "closed", "nodes"]
    heads += ["IP3's relaxation, s", "min_cut, s", "IP1 integer / IP3's relaxation"]
    lines = [f"| {' | '.join(heads)} |", "| --- |" + " ---: |" * (len(heads) - 1)]
    for p in pairs:
        closed = "yes" if p.mip_closed else f"gap {p.mip_gap:.2g}"
        figures = [f"{p.usage_arcs:,}", f"{p.ip1_rows:,}", f"{p.ip3_rows:,}", two(p.ip1_gap), two(p.mip_seconds), closed]
        figures += [
            f"{p.mip_nodes:,.0f}",
            f"{p.ip3_seconds:.2g}",
            f"{p.cut_seconds:.2g}",
            two(p.mip_seconds / p.ip3_seconds),
        ]
        lines.append(f"| {p.instance} | {' | '.join(figures)} |")
    return "\n".join(lines)


def run(*, quick: bool, limit: float, merge: bool = True) -> tuple[list[Pair], list[Pair], str]:
    """All pairs, those of growing instances, and what was skipped."""
    warm_up()
    pairs: list[Pair] = []
    skipped = ""
    for source in (random_instances, shipped_instances, real_instances):
        try:
            pairs += pairs_of(source(quick=quick), limit, merge=merge)
        except pm.errors.BrokenFileError as error:
            skipped = f"Skipped: real data ({error})"
    larger = [instance for what in ("trees", "rows") for instance in growing(what, quick=quick)]
    return pairs, list(pairs_of(larger, limit, merge=merge, only_middle=True)), skipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few tiny instances")
    parser.add_argument("--time-limit", type=float, help="seconds of branch and bound for each instance (60; 5 with --quick)")
    parser.add_argument("--unmerged", action="store_true", help="no merging of purchases with the same usage")
    parser.add_argument("--json", type=Path, help="write all pairs there too")
    args = parser.parse_args()
    limit = args.time_limit or (5.0 if args.quick else 60.0)
    start = time.perf_counter()
    pairs, larger, skipped = run(quick=args.quick, limit=limit, merge=not args.unmerged)
    seconds = time.perf_counter() - start
    print(f"{machine()}; {seconds:.0f} s; lambdas at {', '.join(f'{s:.0%}' for s in SHARES)} of the unpruned cost\n")
    print(table(pairs, limit), growth_table(larger), skipped, sep="\n\n")
    if args.json:
        result = {"machine": machine(), "seconds": seconds, "time_limit": limit, "skipped": skipped}
        result |= {"pairs": [asdict(p) for p in pairs], "growing": [asdict(p) for p in larger]}
        args.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
