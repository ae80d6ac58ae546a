"""Pruning for the forest's own loss against pruning for the mean of its trees' errors, at equal cost, on held-out data.

    python -m benchmarks.ensemble_loss                        MiniBooNE: 40 entropy trees, 35,000 rows to train, 15,000 for costs
    python -m benchmarks.ensemble_loss --data covtype426k     the same on Covertype

For each lambda and each error sample three prunings are compared: that of the forest objective; the row of the exact per-tree
path (in-bag errors) of the same cost on the cost sample; and the cheapest such row whose error is not larger. All figures are
measured on rows that were used for nothing else.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.instance.ensemble_loss import EnsembleProblem
from prunemodels.data_files import load_dataset, part_sizes
from prunemodels.ensemble_loss.objective import solve_ensemble_path
from prunemodels.ensemble_loss.samples import ensemble_problem


@dataclass(frozen=True, eq=False)
class Parts:
    """A forest with the data that it was grown on, data to prune on, and data to judge on."""

    forest: RandomForestClassifier
    X: NDArray[np.float32]
    y: NDArray[Any]
    train: NDArray[np.int64]
    valid: NDArray[np.int64]
    test: NDArray[np.int64]


def grown(name: str, trees: int, rows: int | None = None) -> Parts:
    """Grow BP16's forest; with `rows`, on a small part of the data."""
    data = load_dataset(name)
    order = np.random.default_rng(0).permutation(len(data.y))[:rows]
    n_train, n_valid, n_test = part_sizes(data.name if rows is None else "part", len(order))
    train, valid, test = np.split(order, [n_train, n_train + n_valid])
    X = np.asarray(data.X, dtype=np.float32)
    forest = RandomForestClassifier(trees, criterion="entropy", max_features=None, n_jobs=-1, random_state=0)
    return Parts(forest.fit(X[train], data.y[train]), X, data.y, train, valid, test[:n_test])


@dataclass(frozen=True, eq=False)
class Judge:
    """Cost and error of prunings on held-out rows."""

    trees: pm.PruningProblem
    problem: EnsembleProblem
    truth: NDArray[np.int64]

    @classmethod
    def of(cls, parts: Parts) -> Judge:
        X, y = parts.X[parts.test], parts.y[parts.test]
        problem = ensemble_problem(parts.forest, X, costs=1, errors=pm.samples.Given(X, y))
        return cls(problem.problem, problem, np.searchsorted(parts.forest.classes_, y))

    def __call__(self, pruning: pm.Pruning) -> tuple[float, float]:
        """Cost, and error in per cent."""
        held_out = pm.Pruning(self.trees, pruning.kept)
        F = self.problem.of_pruning(held_out)
        predicted = F[:, 0] > 0.5 if F.shape[1] == 1 else F.argmax(axis=1)
        return held_out.cost, 100 * float((predicted != self.truth).mean())


def run(parts: Parts, lams: int, seconds: float) -> Iterator[dict[str, Any]]:
    """One row for each lambda and error sample: both objectives on held-out rows, at equal cost on the cost sample."""
    X, y, judge = parts.X, parts.y, Judge.of(parts)
    print("unpruned: cost {:.2f}, error {:.2f} %".format(*judge(pm.Pruning.unpruned(judge.trees))), flush=True)
    samples = {
        "out-of-bag": pm.samples.OutOfBag(X[parts.train], y[parts.train]),
        "cost sample": pm.samples.Given(X[parts.valid], y[parts.valid]),
    }
    curve: list[tuple[float, float]] = []
    for name, sample in samples.items():
        problem = ensemble_problem(parts.forest, X[parts.valid], costs=1, errors=sample, loss="brier")
        answers = solve_ensemble_path(problem, lams=lams, tolerance=2e-3, time_limit=seconds)
        if not curve:
            rows = answers.tree_path
            curve = [judge(rows[k]) for k in range(0, len(rows), max(1, len(rows) // 60))]
        for k, found in enumerate(answers.solutions):
            cost, error = judge(found.pruning)
            tree_cost, tree_error = judge(answers.tree_path.at_cost(answers.cost[k] * (1 + 1e-12)))
            needed = min((c for c, e in curve if e <= error), default=np.nan)
            figures = (found.lam, cost, error, tree_cost, tree_error, needed)
            names = ("lambda", "cost", "error", "trees: cost", "trees: error", "trees: cost for that error")
            yield {"sample": name, **dict(zip(names, figures, strict=True)), "relative gap": found.relative_gap}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="miniboone", help="data set in the folder PRUNEMODELS_DATA")
    parser.add_argument("--trees", type=int, default=40)
    parser.add_argument("--rows", type=int, help="number of rows of the data to use")
    parser.add_argument("--lams", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=300.0, help="for each error sample")
    args = parser.parse_args()
    rows = pd.DataFrame(run(grown(args.data, args.trees, args.rows), args.lams, args.seconds))
    print(rows.to_string(index=False, float_format="{:.4g}".format))


if __name__ == "__main__":
    main()
