"""The size up to which each engine is usable: seconds, memory and gaps on growing instances.

    python -m benchmarks.engines                40 entropy trees on MiniBooNE, 100 to 15,000 cost rows; 15 minutes or more
    python -m benchmarks.engines --trees 10     the first ten of the trees
    python -m benchmarks.engines --quick        a few trees on the digits, in seconds

Without MiniBooNE in the folder PRUNEMODELS_DATA the forest is grown on the digits. Each instance is solved at one lambda, at
which the optimum costs half of the unpruned cost. Every engine runs in a process of its own (`pm.compare`; with --quick all run
in one), warmed up. Its seconds are those of the whole call: building, solving, rounding, proving. An engine that does not finish
within the time limit, or refuses an instance, is not run on larger ones.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.instances import middles
from benchmarks.path import machine
from benchmarks.second_process import train
from formulations.models import unimodular
from formulations.programs.matrix import MATRICES
from formulations.programs.sizes import model_size
from solvers import linear_program

ROWS = (100, 300, 1_000, 3_000, 15_000)
"""Cost rows of the instances."""

MOST_NONZEROS = 50_000_000
"""A matrix with more nonzeros, before merging, is not built; only its size is computed."""

highs_ipm_ip3 = partial(linear_program, formulation="IP3", engine="highs_ipm", tolerance=1e-6)
highs_pdlp_ip3 = partial(linear_program, formulation="IP3", engine="highs_pdlp", tolerance=1e-6)
highs_pdlp_closure = partial(linear_program, formulation="closure", engine="highs_pdlp", tolerance=1e-6)

HERE = "benchmarks.engines:"
"""The module in which processes find the engines that are in no registry."""

ENGINES = [*pm.SOLVERS, *(HERE + name for name in ("highs_ipm_ip3", "highs_pdlp_ip3", "highs_pdlp_closure"))]


def grown_forest(*, quick: bool, trees: int | None) -> tuple[str, Any, Any]:
    """A description, the forest, and the rows of its cost sample."""
    data = "MiniBooNE"
    try:
        if quick:
            raise pm.errors.BrokenFileError("quick")
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "forest.joblib"
            train("miniboone", 0, file)
            forest, X = joblib.load(file)
    except pm.errors.BrokenFileError as error:
        print(f"digits instead of MiniBooNE: {error}", file=sys.stderr)
        data, (X, y) = "digits", load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(y))
        forest = RandomForestClassifier(3 if quick else 40, criterion="entropy", max_depth=4 if quick else None, random_state=0)
        forest.fit(X[order[:800]], y[order[:800]])
        X = X[order[800:]]
    if trees is not None:
        forest.estimators_ = forest.estimators_[:trees]
        forest.n_estimators = len(forest.estimators_)
    return f"{len(forest.estimators_)} trees on {data}", forest, X


def build(problem: pm.PruningProblem, lam: Any, formulation: str, *, pyomo: bool) -> dict[str, float]:
    """Size of a merged relaxation and the seconds for building it as arrays; with `pyomo` also those for IP3 in Pyomo."""
    if model_size(problem, formulation).nonzeros > MOST_NONZEROS:
        return {}
    start = time.perf_counter()
    program = MATRICES[formulation](problem, lam=lam, relax=True, merge=True)
    size = {"seconds": time.perf_counter() - start, "nonzeros": program.matrix.nnz}
    size["rows"], size["columns"] = program.shape
    if pyomo:
        start = time.perf_counter()
        unimodular.build(problem, lam=lam, relax=True, merge=True)
        size["pyomo_seconds"] = time.perf_counter() - start
    return size


def measure(problem: pm.PruningProblem, engines: Sequence[str], limit: float, *, pyomo: bool, isolate: bool) -> dict[str, Any]:
    """Sizes of the programs of one instance, and the answer of each engine."""
    path = pm.pruning_path(problem, certificate=False)
    lam = middles(path, (0.5,))[0]
    optimum = path.at_lam(lam).value(float(lam))
    sizes = {name: build(problem, lam, name, pyomo=pyomo and name == "IP3") for name in ("IP1", "IP3", "closure")}
    answers = pm.compare(problem, lam, engines, time_limit=limit, isolate=isolate, progress=True)
    roots = pm.Pruning.all_roots(problem).error
    answers["above_optimum"] = (answers["value"] - optimum) / (roots - optimum)
    return {
        "rows": problem.n_rows,
        "usage_arcs": problem.n_usage_arcs,
        "lam": float(lam),
        "optimum": optimum,
        "sizes": sizes,
        "answers": answers.set_index("solver"),
    }


def run(
    forest: Any, X: Any, rows: Sequence[int], limit: float, *, engines: Sequence[str] = ENGINES, isolate: bool = True
) -> list[dict[str, Any]]:
    """All instances, each with the engines that were usable on the one before."""
    remaining, pyomo, results = list(engines), True, []
    for n in rows:
        if n > len(X) or not remaining:
            break
        print(f"{n:,} cost rows: {len(remaining)} engines", file=sys.stderr)
        problem = pm.problem_from_forest(forest, X[:n], costs=1)
        results.append(measure(problem, remaining, limit, pyomo=pyomo, isolate=isolate))
        answers = results[-1]["answers"]
        print(answers[["status", "stopped", "seconds", "relative_gap", "note"]].to_string(), file=sys.stderr)
        remaining = [name for name in remaining if usable(answers.loc[name], limit)]
        pyomo = results[-1]["sizes"]["IP3"].get("pyomo_seconds", math.inf) < limit / 4
    return results


def usable(answer: pd.Series, limit: float) -> bool:
    """Whether an engine finished by itself within the limit."""
    return answer["status"] in ("optimal", "feasible") and answer["stopped"] == "converged" and answer["seconds"] <= limit


def cell(answer: pd.Series | None) -> str:
    """Seconds and memory, and the gap if the answer is not proven optimal."""
    if answer is None:
        return ""
    if answer["status"] in ("refused", "crashed"):
        return str(answer["status"])
    text = f"{answer['seconds']:.2g} s"
    if not math.isnan(answer["peak_memory_mb"]):
        text += f", {answer['peak_memory_mb']:,.0f} MB"
    if answer["status"] == "time limit":
        return f"killed after {text}"
    if answer["stopped"] != "converged":
        text += f", {answer['stopped']}"
    return text if answer["status"] == "optimal" else f"{text}, gap {answer['relative_gap']:.1g}"


def table(results: Sequence[dict[str, Any]]) -> str:
    """Markdown: one column an instance; programs above, engines below."""
    lines = [f"| cost rows | {' | '.join(format(r['rows'], ',') for r in results)} |", "| --- |" + " ---: |" * len(results)]

    def line(name: str, cells: Sequence[str]) -> None:
        lines.append(f"| {name} | {' | '.join(cells)} |")

    line("usage arcs", [f"{r['usage_arcs']:,}" for r in results])
    for name in ("IP1", "IP3", "closure"):
        of = [r["sizes"][name] for r in results]
        line(f"{name}: rows, columns, nonzeros, thousands", [_thousands(s) for s in of])
        line(f"{name}: build as arrays, s", [f"{s['seconds']:.2g}" if s else "" for s in of])
    of = [r["sizes"]["IP3"] for r in results]
    line("IP3: build in Pyomo, s", [f"{s['pyomo_seconds']:.2g}" if "pyomo_seconds" in s else "" for s in of])
    for engine in results[0]["answers"].index:
        found = [r["answers"].loc[engine] if engine in r["answers"].index else None for r in results]
        line(f"`{engine.removeprefix(HERE)}`", [cell(a) for a in found])
    return "\n".join(lines)


def _thousands(size: dict[str, float]) -> str:
    return ", ".join(f"{size[name] / 1000:,.0f}" for name in ("rows", "columns", "nonzeros")) if size else ""


def notes(results: Sequence[dict[str, Any]]) -> list[str]:
    """Notes of the engines and of the comparison."""
    return [f"{name}, {r['rows']:,} rows: {note}" for r in results for name, note in r["answers"]["note"].items() if note]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few trees on the digits")
    parser.add_argument("--trees", type=int, help="the forest's first trees only")
    parser.add_argument("--rows", type=int, nargs="+", help="cost rows of the instances")
    parser.add_argument("--time-limit", type=float, default=30.0, help="seconds for each engine and instance")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    args = parser.parse_args()
    start = time.perf_counter()
    what, forest, X = grown_forest(quick=args.quick, trees=args.trees)
    rows = args.rows or ((20, 50) if args.quick else ROWS)
    results = run(forest, X, rows, args.time_limit, isolate=not args.quick)
    print(f"{what}; {machine()}; limit {args.time_limit:g} s; {time.perf_counter() - start:.0f} s in all\n")
    print(table(results), *notes(results), sep="\n\n")
    if args.json:
        instances = [r | {"answers": json.loads(r["answers"].to_json(orient="index"))} for r in results]
        args.json.write_text(json.dumps({"forest": what, "machine": machine(), "instances": instances}, indent=1) + "\n")


if __name__ == "__main__":
    main()
