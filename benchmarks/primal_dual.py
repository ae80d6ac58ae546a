"""BudgetPrune's step rules: the gap over iterations and over time.

    python -m benchmarks.primal_dual                        BP16's MiniBooNE setting, four lambdas; some minutes
    python -m benchmarks.primal_dual --data covtype426k     the same on Covertype
    python -m benchmarks.primal_dual --picture curves.png   with the curves
    python -m benchmarks.primal_dual --quick                a few trees on the digits, in seconds

Lambdas are given as lambda', error counts per unit-price purchase, as in the papers: lambda = lambda' N / (T W), with N cost
rows and T W the weight of all trees' error samples. The rules are three step rules with our defaults, and Algorithm 1 as in BP16,
which starts from zeros and follows the plain subgradient; the paper does not fix the step, and Polyak's is used. Compiled code is
warmed up first. No run stops before the last iteration unless the gap is 0.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.path import machine
from benchmarks.second_process import train
from solvers.primal_dual import primal_dual

RULES: dict[str, dict[str, Any]] = {
    "polyak": {"step": "polyak"},
    "constant": {"step": "constant"},
    "sqrt": {"step": "sqrt"},
    "polyak, from zeros, not averaged": {"step": "polyak", "start": "zeros", "averaging": 1.0, "step_size": 1.0},
}
"""The step rules and their options."""

AT = (10, 50, 100, 300, 1000)
"""Iterations at which gaps are reported."""

SCALED_LAMBDAS = {"miniboone": (0.05, 0.2, 0.5, 1.0), "covtype426k": (0.3, 0.8, 1.2, 2.0)}
"""lambda' of the instances; 1.2 lies in a long edge of Covertype's hull."""


def instance(name: str, *, quick: bool) -> pm.PruningProblem:
    """BP16's forest with its cost sample, uniform prices."""
    if quick:
        X, y = load_digits(return_X_y=True)
        small = RandomForestClassifier(5, criterion="entropy", random_state=0).fit(X[:900], y[:900])
        return pm.problem_from_forest(small, X[900:], costs=1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        train(name, 0, file)
        forest, X = joblib.load(file)
    return pm.problem_from_forest(forest, X, costs=1)


def rate(problem: pm.PruningProblem, scaled: float) -> float:
    """Error per unit of cost, from lambda'."""
    errors = sum(float(component.weight.sum()) for component in problem.errors.components)
    return scaled * problem.usage.total_weight / errors


def histories(problem: pm.PruningProblem, lam: float, iterations: int) -> dict[str, pd.DataFrame]:
    """The history of every rule."""
    primal_dual(problem, lam, iterations=2)
    found = {name: primal_dual(problem, lam, gap=0, iterations=iterations, **rule).history for name, rule in RULES.items()}
    return {name: pd.DataFrame(history, index=range(1, len(history["gap"]) + 1)) for name, history in found.items()}


def table(found: dict[float, dict[str, pd.DataFrame]], at: Sequence[int] = AT) -> str:
    """Markdown: relative gaps after so many iterations; a run that ended earlier keeps its last gap."""
    most = max(int(h.index[-1]) for runs in found.values() for h in runs.values())
    at = [k for k in at if k <= most] or [most]
    lines = [f"| lambda' | step | {' | '.join(f'after {k}' for k in at)} | ms an iteration |"]
    lines.append("| ---: | --- |" + " ---: |" * (len(at) + 1))
    for scaled, runs in found.items():
        for name, history in runs.items():
            gaps = [float(history["gap"].loc[:k].iloc[-1]) for k in at]
            spent = float(history["seconds"].diff().median()) * 1000 if len(history) > 1 else float("nan")
            lines.append(f"| {scaled:g} | {name} | {' | '.join(f'{g:.1e}' for g in gaps)} | {spent:.1f} |")
    return "\n".join(lines)


def picture(found: dict[float, dict[str, pd.DataFrame]], file: Path) -> None:
    """Gap over iterations above, over seconds below, one column a lambda."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4 * len(found), 7), layout="constrained")
    axes = figure.subplots(2, len(found), squeeze=False, sharey=True)
    for column, (scaled, runs) in enumerate(found.items()):
        for name, history in runs.items():
            gap = np.maximum(history["gap"], 1e-9)
            axes[0, column].loglog(history.index, gap, label=name)
            axes[1, column].loglog(history["seconds"], gap)
        axes[0, column].set(title=f"λ' = {scaled:g}", xlabel="iterations")
        axes[1, column].set(xlabel="seconds")
    for row in axes:
        row[0].set_ylabel("relative gap")
    axes[0, 0].legend()
    figure.savefig(file, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA, or a file")
    parser.add_argument("--quick", action="store_true", help="a few trees on the digits")
    parser.add_argument("--scaled-lam", type=float, nargs="+", help="lambda' of the runs")
    parser.add_argument("--iterations", type=int, default=AT[-1])
    parser.add_argument("--picture", type=Path, help="draw the curves there")
    parser.add_argument("--json", type=Path, help="write the histories there")
    args = parser.parse_args()
    problem = instance(args.data, quick=args.quick)
    lams = args.scaled_lam or SCALED_LAMBDAS.get(args.data, SCALED_LAMBDAS["miniboone"])
    found = {scaled: histories(problem, rate(problem, scaled), args.iterations) for scaled in lams}
    data = "digits" if args.quick else args.data
    print(f"{data}, {problem.n_usage_arcs:,} usage arcs; {machine()}\n\n{table(found)}")
    if args.picture:
        picture(found, args.picture)
    if args.json:
        histories_by_lambda = {f"{s:g}": {n: h.to_dict("list") for n, h in runs.items()} for s, runs in found.items()}
        args.json.write_text(json.dumps({"data": data, "machine": machine(), "histories": histories_by_lambda}) + "\n")


if __name__ == "__main__":
    main()
