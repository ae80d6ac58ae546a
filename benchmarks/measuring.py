"""What all benchmarks share: the best of some runs, work in a process of its own, tables in Markdown, means and their spread."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.files.outputs import OutputFiles

T = TypeVar("T")


def command_line(text: str | None) -> argparse.ArgumentParser:
    """A parser whose help is a module's docstring as it stands."""
    return argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)


def best_of(repeats: int, work: Callable[[], T], clock: Callable[[], float] = time.perf_counter) -> tuple[float, T]:
    """Least seconds of several runs, and the last answer."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        answer = work()
        seconds.append(clock() - start)
    return min(seconds), answer


def apart(work: Callable[..., T], *given: Any) -> T:
    """What `work` returns in a new process, so that neither memory nor caches of one piece of work affect another."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def write_text(place: Path, text: str) -> None:
    """Write a file, which appears when it is complete, in a folder that is made if necessary."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with OutputFiles() as outputs:
        outputs.aside(place).write_text(text, encoding="utf-8")


def warm_up() -> None:
    """Compile everything once."""
    X, y = load_iris(return_X_y=True)
    problem = pm.problem_from_forest(RandomForestClassifier(3, random_state=0).fit(X, y), X, costs=1)
    pm.pruning_path(problem).to_frame()
    for engine in (pm.engines.min_cut, pm.engines.price_sharing):
        engine(problem, 0.01)


def markdown(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table whose columns but the first are aligned to the right."""
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
    return "\n".join(line(*cells) for cells in lines)


def line(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


Numbers = Sequence[float] | NDArray[np.float64] | Any  # also a column of a table


def frame_markdown(frame: pd.DataFrame) -> str:
    """A table as Markdown: floats with four significant digits, missing ones as a dash.

    Columns without any entry are left out; where a data set has nothing in some column (other budgets, say), each data set gets
    a table of its own.
    """
    frame = frame.dropna(axis=1, how="all") if len(frame) else frame
    if "data" in frame and any(of_one.isna().all().any() for _, of_one in frame.groupby("data", sort=False)):
        return "\n\n".join(frame_markdown(of_one.dropna(axis=1, how="all")) for _, of_one in frame.groupby("data", sort=False))
    sides = ["---:" if pd.api.types.is_numeric_dtype(kind) else "---" for kind in frame.dtypes]
    rows = [map(cell, row) for row in frame.itertuples(index=False)]
    return "\n".join(line(*cells) for cells in [frame.columns, sides, *rows])


def cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return "-" if math.isnan(value) else f"{value:.4g}"
    return "-" if value is None else str(value)


def mean_of(values: Numbers) -> float:
    return float(np.mean(np.asarray(values, dtype=np.float64)))


def spread_of(values: Numbers) -> float:
    """Standard deviation over repeats; NaN for one."""
    numbers = np.asarray(values, dtype=np.float64)
    return float(numbers.std(ddof=1)) if numbers.size > 1 else math.nan


def plus_minus(values: Numbers, digits: int = 4) -> str:
    mean, spread = mean_of(values), spread_of(values)
    return f"{mean:.{digits}f}" + ("" if math.isnan(spread) else f" ± {spread:.{digits}f}")
