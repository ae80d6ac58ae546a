"""The command ``warm-up``: what a service is set up with, once."""

from __future__ import annotations

import argparse
import os
from typing import Any

import numpy as np

from formulations.errors import BrokenFileError
from prunemodels.command_line.summary import Summary


def warm_up_command(args: argparse.Namespace) -> Summary:
    """``prunemodels warm-up``: compile ahead what a service, or pruning, would compile at its first call."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    import formulations.compiled

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2] > 0).astype(np.int64)
    classifier = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
    _serve(classifier, X, y, {"early_stopping": True})
    _serve(RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, X[:, 0]), X, X[:, 0], {"tolerance": 0.5})
    if args.all:
        _prune(classifier, X, y)
    used = [kernel for kernel in formulations.compiled.KERNELS if kernel.signatures]
    new = [kernel for kernel in used if kernel.stats.cache_misses]
    if any(kernel.stats.cache_path is None for kernel in new):
        raise BrokenFileError(
            "compiled code can be stored nowhere: neither the package, nor the home, nor the temporary folder is writable; "
            "set NUMBA_CACHE_DIR to a folder that is, and run the command again"
        )
    compiled = sorted(f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}" for kernel in new)
    folder = os.path.commonpath([kernel.stats.cache_path for kernel in used if kernel.stats.cache_path is not None])
    done = f"Compiled {len(new)} kernels; {len(used) - len(new)} were there already. They are stored below {folder}"
    record = {"compiled": compiled, "found": len(used) - len(new), "folder": folder}
    return Summary(record, [*(f"  {name}" for name in compiled), done])


def _serve(forest: Any, X: Any, y: Any, stopping: dict[str, Any]) -> None:
    """What a service calls: predictions on demand, with and without early stopping, and their cost."""
    from prunemodels.evaluation.evaluate import evaluate
    from prunemodels.on_demand.predictor import OnDemandPredictor
    from prunemodels.on_demand.request import from_table

    for options in ({}, stopping):
        OnDemandPredictor(forest, 1, from_table(X), **options).run(range(len(X)))
    evaluate(forest, X, y, costs=1)


def _prune(forest: Any, X: Any, y: Any) -> None:
    """What pruning calls: the whole path, a budget, and price sharing."""
    from prunemodels.estimators.fitted_forest import prune_forest
    from prunemodels.evaluation.path import evaluate_path
    from solvers.path.pruning_path import pruning_path
    from solvers.price_sharing import price_sharing

    pruned = prune_forest(forest, X, y, costs=[1, 2.5, 3, 4, 5], budget=4)
    evaluate_path(pruning_path(pruned.problem), X, y)
    price_sharing(pruned.problem, 0.01)
