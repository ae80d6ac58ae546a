"""Where the naive formulation IP1 loses against IP3: fractional optima, weak bounds, branch and bound.

    python -m benchmarks.naive             49 instances, up to five lambdas each; about ten minutes
    python -m benchmarks.naive --quick     a few tiny ones, in seconds

Both relaxations are solved by HiGHS' dual simplex, so their points are vertices. Which optimal vertex it finds depends on
the solver. But if the relaxation's value is below the optimum, which is known from the exact path, then *no* optimal point of
IP1's relaxation is integral. HiGHS solves the integer program IP1 with presolve and cuts, at the middle lambda of each instance.
Purchases with the same usage are merged in both formulations. Seconds are those of the native solves, without building, and of
the whole of min_cut, proof included; of IP3's relaxation and of min_cut the best of three.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.instances import SHARES, Instance, middles, random_instances, real_instances, shipped_instances
from benchmarks.measuring import best_of, command_line, markdown, warm_up
from prunemodels.comparison.processes import machine
from solvers import integer_program, solve_relaxation

BELOW = 1e-9  # a relaxation whose value is below the optimum by more than this part of it has no integral optimum
REPEATS = 3  # IP3's relaxation and the cut take milliseconds: the best of so many runs counts
Pair = dict[str, Any]
"""One instance at one lambda.

- ``ip1_fractional``, ``ip3_fractional``: whether the simplex ended in a fractional vertex,
- ``ip1_gap``, ``ip3_gap``: (optimum - value of the relaxation) / (all-roots value - optimum),
- ``no_integral_optimum``: whether IP1's relaxation has none,
- ``ip3_s``, ``cut_s``: seconds of IP3's relaxation and of the cut,
- ``mip_s``, ``mip_nodes``, ``mip_closed``: branch and bound on IP1; NaN where it was not run.
"""


def measure(instance: Instance, path: pm.PruningPath, lam: Fraction, limit: float | None) -> Pair:
    """Solve one instance at one lambda; `limit` is branch and bound's seconds, None for no branch and bound."""
    problem, rate = instance.problem, float(lam)
    optimum, roots = path.at_lam(lam).value(rate), pm.Pruning.all_roots(problem).error
    ip1 = solve_relaxation(problem, rate, formulation="IP1", merge=True)
    again = [solve_relaxation(problem, rate, formulation="IP3", merge=True) for _ in range(REPEATS)]
    ip3 = min(again, key=lambda relaxation: relaxation.answer.seconds)
    cut_seconds, cut = best_of(REPEATS, lambda: pm.engines.min_cut(problem, rate))
    assert math.isclose(cut.value, optimum, rel_tol=1e-12), f"{instance.name}: the cut and the path disagree"
    pair = {
        "instance": instance.name,
        "group": instance.group,
        "ip1_fractional": not ip1.integral,
        "no_integral_optimum": ip1.objective < optimum * (1 - BELOW),
        "ip1_gap": (optimum - ip1.objective) / (roots - optimum),
        "ip3_fractional": not ip3.integral,
        "ip3_gap": (optimum - ip3.objective) / (roots - optimum),
        "ip3_s": ip3.answer.seconds,
        "cut_s": cut_seconds,
    }
    if limit is None:
        return pair | dict.fromkeys(("mip_s", "mip_nodes", "mip_closed"), math.nan)
    mip = integer_program(problem, rate, formulation="IP1", time_limit=limit, merge=True)
    assert mip.bound <= optimum * (1 + 1e-12), f"{instance.name}: the bound is above the optimum"
    assert mip.value >= optimum * (1 - 1e-12), f"{instance.name}: the value is below the optimum"
    closed = float(mip.status == pm.engines.Status.OPTIMAL)
    return pair | {"mip_s": mip.stats["solve_seconds"], "mip_nodes": mip.stats["nodes"], "mip_closed": closed}


def pairs_of(instances: Iterable[Instance], limit: float) -> Iterator[Pair]:
    """Every instance at its lambdas; branch and bound at the middle one."""
    for instance in instances:
        path = pm.pruning_path(instance.problem, certificate=False)
        middle = middles(path, (0.5,))
        for lam in sorted(set(middles(path))):
            pair = measure(instance, path, lam, limit if lam in middle else None)
            print(f"{instance.name}: lambda {float(lam):.3g}, gap of IP1 {pair['ip1_gap']:.3g}", file=sys.stderr)
            yield pair


def two(figure: float) -> str:
    """Two significant digits, without an exponent."""
    return f"{float(f'{figure:.2g}'):,.12g}"


def spread(figures: pd.Series) -> str:
    """Median and maximum."""
    return f"{two(float(figures.median()))}; {two(float(figures.max()))}"


def share(figures: pd.Series | NDArray[np.bool_]) -> str:
    """Count of true figures, and of all."""
    return f"{int(np.sum(figures))} of {len(figures)}"


def column(pairs: pd.DataFrame, limit: float) -> dict[str, str]:
    """A column of the table; runs that did not close the gap count with the seconds of the limit."""
    mip = pairs.dropna(subset=["mip_s"])
    return {
        "instances; pairs with a lambda": f"{pairs['instance'].nunique()}; {len(pairs)}",
        "**IP1's relaxation has no integral optimum**": share(pairs["no_integral_optimum"]),
        "IP1's gap / attainable gain, median; max": spread(pairs["ip1_gap"]),
        "**IP3's relaxation has a fractional vertex**": share(pairs["ip3_fractional"]),
        f"IP1 as integer program: not closed in {limit:g} s": share(mip["mip_closed"] == 0),
        "- closed at the root node": share(mip["mip_nodes"][mip["mip_closed"] == 1] <= 1),
        "IP3's relaxation, s, median; max": spread(pairs["ip3_s"]),
        "min_cut, s, median; max": spread(pairs["cut_s"]),
        "**IP1 integer / IP3's relaxation, s, median; max**": spread(mip["mip_s"] / mip["ip3_s"]),
        "**IP1 integer / min_cut, s, median; max**": spread(mip["mip_s"] / mip["cut_s"]),
    }


def table(pairs: pd.DataFrame, limit: float) -> str:
    """Markdown: one column a group."""
    groups = {str(name): column(some, limit) for name, some in pairs.groupby("group", sort=False)}
    columns = list(groups.values())
    return markdown(["", *groups], [[name, *(found[name] for found in columns)] for name in columns[0]])


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--quick", action="store_true", help="a few tiny instances")
    args = parser.parse_args()
    limit = 5.0 if args.quick else 60.0  # seconds of branch and bound for each instance
    start, skipped = time.perf_counter(), ""
    pairs: list[Pair] = []
    warm_up()
    for source in (random_instances, shipped_instances, real_instances):
        try:
            pairs += pairs_of(source(quick=args.quick), limit)
        except pm.errors.BrokenFileError as error:
            skipped = f"Skipped: real data ({error})"
    seconds = time.perf_counter() - start
    print(f"{machine()}; {seconds:.0f} s; lambdas at {', '.join(f'{s:.0%}' for s in SHARES)} of the unpruned cost\n")
    print(table(pd.DataFrame(pairs), limit), skipped, sep="\n\n")


if __name__ == "__main__":
    main()
