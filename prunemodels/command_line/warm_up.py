"""``prunemodels warm-up``: compile ahead what a service, or pruning, would compile at its first call."""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import formulations.compiled
from formulations.errors import BrokenFileError
from prunemodels.estimators.fitted_forest import prune_forest
from prunemodels.evaluation.path import evaluate_path
from prunemodels.judging.evaluate import evaluate
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.request import from_table
from solvers.path.pruning_path import pruning_path
from solvers.price_sharing import price_sharing


@dataclass(frozen=True)
class WarmUp:
    """What was compiled.

    Parameters
    ----------
    compiled
        the kernels that were compiled now, each as module.function.
    found
        how many were there already.
    folder
        the folder below which they are stored.
    seconds
        what it took.
    """

    compiled: tuple[str, ...]
    found: int
    folder: str
    seconds: float

    def text(self) -> str:
        """For a terminal."""
        lines = [f"  {name}" for name in self.compiled]
        lines.append(f"Compiled {len(self.compiled)} kernels in {self.seconds:.1f} s; {self.found} were there already.")
        lines.append(f"They are stored below {self.folder}")
        return "\n".join(lines)

    def json(self) -> str:
        """As one JSON object."""
        return json.dumps(
            {"compiled": self.compiled, "found": self.found, "folder": self.folder, "seconds": round(self.seconds, 3)}
        )


def warm_up_command(args: argparse.Namespace) -> WarmUp:
    """``prunemodels warm-up``.

    Raises
    ------
    BrokenFileError
        if compiled code can be stored nowhere.
    """
    start = time.perf_counter()
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
    return WarmUp(
        tuple(sorted(f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}" for kernel in new)),
        len(used) - len(new),
        os.path.commonpath([kernel.stats.cache_path for kernel in used if kernel.stats.cache_path is not None]),
        time.perf_counter() - start,
    )


def _serve(forest: Any, X: Any, y: Any, stopping: dict[str, Any]) -> None:
    """What a service calls: predictions on demand, with and without early stopping, and their cost."""
    for options in ({}, stopping):
        OnDemandPredictor(forest, 1, from_table(X), **options).run(range(len(X)))
    evaluate(forest, X, y, costs=1)


def _prune(forest: Any, X: Any, y: Any) -> None:
    """What pruning calls: the whole path, a budget, and price sharing."""
    pruned = prune_forest(forest, X, y, costs=[1, 2.5, 3, 4, 5], budget=4)
    evaluate_path(pruning_path(pruned.problem), X, y)
    price_sharing(pruned.problem, 0.01)
