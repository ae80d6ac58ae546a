"""How long a default cascade takes to predict one row, beside LightGBM: CPU time in one thread, in one process.

    python -m benchmarks.one_row [--data NAME ...] [--rows N]

Each cascade has a budget of three tenths of its columns. Rows come as an array or as a table of pandas; in *words* two columns of
breast_cancer are words, which are categories to LightGBM. `--rows`: how many are predicted at once, beside one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from sklearn.datasets import load_breast_cancer
from threadpoolctl import threadpool_limits

import prunemodels as pm
from benchmarks.frontier.data import load_problem
from benchmarks.measuring import command_line, line, markdown

TABLES = ("breast_cancer", "miniboone", "covtype426k")
CALLS, MOST_ROWS = 300, 12_000


def tables(name: str) -> Iterator[tuple[str, Any, Any]]:
    """Name, rows and labels."""
    if name == "breast_cancer":
        X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    else:
        train = load_problem(name, 0).train
        X, y = pd.DataFrame(np.asarray(train.X[:MOST_ROWS], dtype=np.float64)).add_prefix("x"), train.y[:MOST_ROWS]
    yield f"{name}, array", X.to_numpy(), y
    yield f"{name}, table", X, y
    if name == "breast_cancer":
        size, texture = np.where(X.iloc[:, 0] > 14, "big", "small"), pd.cut(X.iloc[:, 1], 4, labels=list("abcd")).astype(object)
        yield "words, table", X.iloc[:, :12].assign(size=size, texture=texture), y


def milliseconds(predict: Callable[[Any], Any], parts: list[Any]) -> float:
    """Of one call, the mean over the parts, after a call for each of the first ones."""
    for rows in parts[:20]:
        predict(rows)
    start = time.process_time()
    for rows in parts:
        predict(rows)
    return (time.process_time() - start) / len(parts) * 1e3


def lines(data: str, n_rows: int) -> Iterator[tuple[Any, ...]]:
    """The lines of one table."""
    for name, X, y in tables(data):
        cascade = pm.BudgetCascadeClassifier(costs=1, budget=0.3 * X.shape[1], random_state=0).fit(X, y)
        typed = X.astype({c: "category" for c in X if not pd.api.types.is_numeric_dtype(X[c])}) if hasattr(X, "iloc") else X
        rival = LGBMClassifier(n_jobs=1, verbose=-1).fit(typed, y)
        many = np.arange(n_rows) % len(X)
        for count, places in ((1, [[i] for i in range(CALLS)]), (n_rows, [many] * 3)):
            parts = [[rows.iloc[k] if hasattr(rows, "iloc") else rows[k] for k in places] for rows in (X, typed)]
            own, other = milliseconds(cascade.predict, parts[0]), milliseconds(rival.predict, parts[1])
            yield name, len(cascade.classes_), f"{count:,}", f"{own:.2f}", f"{other:.2f}", f"{own / other:.1f}"


def main() -> None:
    parser = command_line(__doc__)
    parser.add_argument("--data", nargs="+", default=TABLES, metavar="NAME")
    parser.add_argument("--rows", type=int, default=10_000, metavar="N")
    given = parser.parse_args()
    print(markdown(("table", "classes", "rows", "cascade, ms", "LightGBM, ms", "ratio"), []))
    with threadpool_limits(1):
        for values in (values for name in given.data for values in lines(name, given.rows)):
            print(line(*values), flush=True)


if __name__ == "__main__":
    main()
