"""How large and how fast a forest is before and after pruning.

Seconds depend on the machine and its load, so the figures are for reports only. Both forests are timed in one run, in turns,
after a warm-up, each with a single job, and the median of the repeats is reported. The *ratio* of the two is therefore the more
robust number.
"""

from __future__ import annotations

import copy
import statistics
import tempfile
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from formulations.arguments import Count, checked
from formulations.instance.routing import features_of, n_examples
from prunemodels.deployment.onnx_models import session, to_onnx
from prunemodels.files.forests import dump_forest
from prunemodels.models.forests.reading import read_trees
from prunemodels.models.tree_model import fitted_model

WARM_UP = 3
"""Calls of each forest that are not timed."""

Predict = Callable[[Any], object]


@dataclass(frozen=True)
class ForestSize:
    """The size of a forest.

    Parameters
    ----------
    splits, leaves
        number in all trees.
    deepest
        number of splits on the longest path from a root to a leaf.
    joblib_bytes, skops_bytes
        size of its files, compressed as `save_forest` writes them.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> size = pm.deployment.forest_size(forest)
    >>> size.trees, size.splits, size.leaves, size.deepest
    (8, 84, 92, 4)
    """

    trees: int
    splits: int
    leaves: int
    deepest: int
    joblib_bytes: int
    skops_bytes: int


@dataclass(frozen=True)
class Timing:
    """One way to predict: the medians of `repeats` calls.

    Parameters
    ----------
    engine
        ``"scikit-learn"`` or ``"onnxruntime"``.
    rows
        number of rows in a call.
    before, after
        seconds per call.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest
    >>> measured = pm.deployment.measure_deployment(forest, forest, X_test, batch_rows=100, repeats=3)
    >>> [(timing.engine, timing.rows) for timing in measured.timings]
    [('scikit-learn', 1), ('scikit-learn', 100)]
    """

    engine: str
    rows: int
    before: float
    after: float
    repeats: int


@dataclass(frozen=True)
class Deployment:
    """Size and latency before and after pruning: for reports only.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> cheap = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10).estimator
    >>> measured = pm.deployment.measure_deployment(forest, cheap, X_test, batch_rows=100, repeats=3)
    >>> measured.before.splits, measured.after.splits
    (84, 9)
    """

    before: ForestSize
    after: ForestSize
    timings: tuple[Timing, ...]

    def __str__(self) -> str:
        sizes = [f"{n.joblib_bytes:,} bytes in joblib, {n.skops_bytes:,} in skops" for n in (self.before, self.after)]
        lines = [f"before   {self.before.splits:,} splits, {sizes[0]}", f"after    {self.after.splits:,} splits, {sizes[1]}"]
        for t in self.timings:
            rows = "one row" if t.rows == 1 else f"{t.rows:,} rows"
            lines.append(f"{t.engine}, {rows}: {1e3 * t.before:.3g} ms before, {1e3 * t.after:.3g} ms after")
        return "\n".join(lines)


def forest_size(forest: Any) -> ForestSize:
    """Nodes, depth and the sizes of the files of a fitted forest.

    Raises
    ------
    UnsupportedModelError, NotFittedForestError
        as `read_forest`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import forest
    >>> size = pm.deployment.forest_size(forest)
    >>> print(f"{size.trees} trees, {size.splits} splits")
    8 trees, 84 splits
    """
    forest = fitted_model(forest)
    ensemble = read_trees(forest)
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"forest{ending}" for ending in (".joblib", ".skops")]
        for file in files:
            dump_forest(forest, file)
        joblib_bytes, skops_bytes = (file.stat().st_size for file in files)
    return ForestSize(
        ensemble.n_trees,
        ensemble.n_splits,
        ensemble.n_nodes - ensemble.n_splits,
        int(ensemble.depth.max()),
        joblib_bytes,
        skops_bytes,
    )


@checked
def measure_deployment(
    before: Any, after: Any, X: Any, *, batch_rows: Count = 1000, repeats: Count = 30, onnx: bool = False
) -> Deployment:
    """Sizes of two forests, and how long ``predict`` takes for one row and for a batch.

    Parameters
    ----------
    before, after
        fitted forests, or estimators or results of ours, to be compared.
    X
        rows to predict, preferably held-out ones. The calls take their batches from all of them, in turns.
    batch_rows
        rows in a batch; all of X where it has fewer.
    repeats
        timed calls of each forest, of which the median is reported.
    onnx
        also time ONNX models of both; this needs ``pip install "prunemodels[interop]"``.

    Raises
    ------
    InvalidInputError
        for no repeats, no rows in a batch, or rows that do not fit the forests.
    UnsupportedModelError, NotFittedForestError
        as `read_forest`; UnsupportedModelError also where the libraries for ONNX are missing.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> cheap = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10).estimator
    >>> measured = pm.deployment.measure_deployment(forest, cheap, X_test, batch_rows=100, repeats=3)
    >>> measured.after.splits < measured.before.splits, len(measured.timings)
    (True, 2)
    """
    before, after = fitted_model(before), fitted_model(after)
    X = X if hasattr(X, "shape") else np.asarray(X)
    X32 = features_of(read_trees(before), X)
    sizes = forest_size(before), forest_size(after)
    batch = min(batch_rows, n_examples(X))
    ways: list[tuple[str, Any, tuple[Predict, Predict]]] = [
        ("scikit-learn", X, (_single_job(before).predict, _single_job(after).predict))
    ]
    if onnx:
        running = [session(to_onnx(forest), threads=1) for forest in (before, after)]
        feeds = [(run, run.get_inputs()[0].name) for run in running]
        of_onnx = [lambda rows, run=run, name=name: run.run(None, {name: rows}) for run, name in feeds]
        ways.append(("onnxruntime", X32, (of_onnx[0], of_onnx[1])))
    timings = [
        Timing(engine, rows, *_medians(forests, _batches(data, rows), repeats), repeats)
        for engine, data, forests in ways
        for rows in sorted({1, batch})
    ]
    return Deployment(*sizes, tuple(timings))


def _single_job(forest: Any) -> Any:
    """The forest with one job, sharing its trees, so that starting threads is not measured."""
    single = copy.copy(forest)
    if isinstance(forest, Pipeline):
        name, model = forest.steps[-1]
        single.steps = [*forest.steps[:-1], (name, _single_job(model))]
    if "n_jobs" in forest.get_params(deep=False):
        single.n_jobs = 1
    return single


def _batches(X: Any, rows: int) -> list[Any]:
    """Slices of X with that many rows each, at most 100 of them."""
    starts = range(0, n_examples(X) - rows + 1, rows)[:100]
    return [X.iloc[k : k + rows] if hasattr(X, "iloc") else X[k : k + rows] for k in starts]


def _medians(forests: tuple[Predict, Predict], batches: list[Any], repeats: int) -> tuple[float, float]:
    """Median seconds per call of each forest. The forests take turns, and so does the one that goes first."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for turn in range(-WARM_UP, repeats):
        rows = batches[turn % len(batches)]
        for which in (0, 1) if turn % 2 else (1, 0):
            spent = timeit.timeit(lambda predict=forests[which], rows=rows: predict(rows), number=1)  # type: ignore[misc]
            if turn >= 0:
                seconds[which].append(spent)
    return statistics.median(seconds[0]), statistics.median(seconds[1])
