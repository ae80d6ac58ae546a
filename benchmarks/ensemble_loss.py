"""Pruning for the forest's own loss against pruning for the mean of its trees' errors, at equal cost, on held-out data.

    python -m benchmarks.ensemble_loss                        MiniBooNE: 40 entropy trees, 35,000 rows to train, 15,000 for costs
    python -m benchmarks.ensemble_loss --data covtype426k     the same on Covertype

For each lambda and each error sample three prunings are compared: that of the forest objective; the row of the exact per-tree
path (in-bag errors) of the same cost on the cost sample; and the cheapest such row whose error is not larger. All figures are
measured on rows that were used for nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import prunemodels as pm
from benchmarks.instances import parts
from benchmarks.measuring import command_line, line, markdown
from prunemodels.ensemble_loss.objective import solve_ensemble_path
from prunemodels.ensemble_loss.samples import ensemble_problem

HEAD = ("losses", "lambda", "features", "error", "trees' path: features", "error", "trees' cost for that error", "gap")


def lines(name: str, trees: int, rows: int | None, lams: int, seconds: float) -> Iterator[list[object]]:
    """The unpruned forest, then a line for each lambda and error sample."""
    data = parts(name, rows=rows)
    X, y, train, valid, test = data
    forest = data.forest(trees)
    samples: dict[str, pm.samples.OutOfBag | pm.samples.Given] = {
        "out of bag": pm.samples.OutOfBag(X[train], y[train]),
        "cost sample": pm.samples.Given(X[valid], y[valid]),
    }
    for sample, errors in samples.items():
        problem = ensemble_problem(forest, X[valid], costs=1, errors=errors, loss="brier")
        answers = solve_ensemble_path(problem, lams=lams, tolerance=2e-3, time_limit=seconds)
        curve = pm.evaluate_path(answers.tree_path, X[test], y[test])
        if sample == "out of bag":
            yield ["unpruned", "", f"{curve.cost[0]:.1f}", f"{100 * curve.error[0]:.2f} %", "", "", "", ""]
        for cost, found in zip(answers.cost, answers.solutions, strict=True):
            held_out = pm.evaluate(pm.apply_pruning(found.pruning, forest), X[test], y[test], costs=1)
            row = answers.tree_path.row_at_cost(float(cost) * (1 + 1e-12))
            needed = min(curve.cost[curve.error <= held_out.error], default=np.nan)
            pairs = ((held_out.cost, held_out.error), (curve.cost[row], curve.error[row]))
            told = [text for c, e in pairs for text in (f"{c:.1f}", f"{100 * e:.2f} %")]
            yield [sample, f"{found.lam:.3g}", *told, f"{needed:.1f}", f"{100 * found.relative_gap:.1f} %"]


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA")
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--rows", type=int, help="number of rows of the data to use")
    parser.add_argument("--lams", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=300.0, help="for each error sample")
    args = parser.parse_args()
    print(markdown(HEAD, []), flush=True)
    for cells in lines(args.data, args.trees, args.rows, args.lams, args.seconds):
        print(line(*cells), flush=True)


if __name__ == "__main__":
    main()
