"""Boosted and averaged forests of XGBoost and LightGBM on MiniBooNE: loss, error and features, unpruned and pruned.

    python -m benchmarks.boosted                     100 trees of depth 6, 15,000 rows to prune on
    python -m benchmarks.boosted --rows 5000         fewer

Features cost 1 each. Each line has the budget, the figures of the pruned model on rows that were used neither for training nor
for pruning, and the seconds of the search, which all budgets share. The pruned model was exported to its own library and read
back.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

import prunemodels as pm
from benchmarks.measuring import command_line, line, markdown
from prunemodels.data_files import load_dataset
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.models.forests.error_samples import Given
from prunemodels.models.libraries.reading import prune_model
from prunemodels.other_libraries import boosted_path, problem_from_model

BUDGETS = [35.0, 24.9, 15.0, 10.0, 5.0]
HEAD = ("model", "budget", "features, held out", "log loss", "error", "splits", "seconds")


def models() -> Iterator[tuple[str, Any, bool]]:
    """Name, unfitted model, and whether it averages its trees."""
    import lightgbm
    import xgboost

    yield "XGBoost", xgboost.XGBClassifier(n_estimators=100, max_depth=6, random_state=0), False
    yield "LightGBM", lightgbm.LGBMClassifier(n_estimators=100, num_leaves=31, verbose=-1, random_state=0), False
    yield "XGBRF", xgboost.XGBRFClassifier(n_estimators=40, max_depth=12, random_state=0), True


def pruned_models(model: Any, averaged: bool, X: NDArray[Any], y: NDArray[Any], budgets: list[float]) -> list[Any]:
    """The exported pruned model for each budget."""
    if averaged:
        path = pm.pruning_path(problem_from_model(model, X, errors=Given(X, y), costs=1))
        return [prune_model(path.at_cost(budget), model) for budget in budgets]
    boosted = boosted_path(model, X, y, costs=1, budgets=budgets)
    return [boosted.at_cost(budget).to_model() for budget in budgets]


def lines(rows: int) -> Iterator[str]:
    data = load_dataset("miniboone")
    X, y = np.asarray(data.X, dtype=np.float32), np.asarray(data.y)
    order = np.random.default_rng(0).permutation(len(y))
    train, valid, test = order[:35_000], order[35_000 : 35_000 + rows], order[50_000:]
    yield markdown(HEAD, [])
    for name, model, averaged in models():
        model.fit(X[train], y[train])
        yield row(name, "none", model, X[test], y[test], 0.0)
        start = time.perf_counter()
        cheap = pruned_models(model, averaged, X[valid], y[valid], BUDGETS)
        seconds = time.perf_counter() - start
        for budget, pruned in zip(BUDGETS, cheap, strict=True):
            yield row(name, f"{budget:g}", pruned, X[test], y[test], seconds)


def row(name: str, budget: str, model: Any, X: NDArray[Any], y: NDArray[Any], seconds: float) -> str:
    seen = evaluate(model, X, y, costs=1)
    error = f"{100 * seen.error:.2f} %"
    return line(name, budget, f"{seen.features:.1f}", f"{seen.loss:.4f}", error, f"{seen.splits:,}", f"{seconds:.0f}")


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--rows", type=int, default=15_000)
    arguments = parser.parse_args()
    for text in lines(arguments.rows):
        print(text, flush=True)


if __name__ == "__main__":
    main()
