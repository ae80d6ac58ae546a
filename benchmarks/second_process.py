"""Grow a forest in one process and measure it in another, so that training affects neither memory figures nor caches."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import joblib
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from prunemodels.data_files import load_dataset, part_sizes


def train(name: str, seed: int, file: Path) -> None:
    """Grow BP16's forest and save it with the rows of the cost sample."""
    data = load_dataset(name)
    order = np.random.default_rng(seed).permutation(len(data.y))
    n_train, n_cost, _ = part_sizes(data.name, len(data.y))
    train_rows, cost_rows = order[:n_train], order[n_train : n_train + n_cost]
    forest = RandomForestClassifier(40, criterion="entropy", max_features=None, n_jobs=-1, random_state=seed)
    X = np.asarray(data.X, dtype=np.float32)
    forest.fit(X[train_rows], data.y[train_rows])
    joblib.dump((forest, X[cost_rows]), file)


def run_in_second_process(parser: argparse.ArgumentParser, module: str, measure: Callable[[argparse.Namespace], None]) -> None:
    """A benchmark's command line: grow the forest of ``--data``, then run the same command again to measure it.

    Parameters
    ----------
    parser
        with ``--data``, and ``--seed`` where the forest's seed is an option (default 0).
    module
        the benchmark, as in ``python -m``.
    measure
        called in the second process; its argument ``measure`` is the file that `train` wrote.
    """
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure is not None:
        measure(args)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "forest.joblib"
        train(args.data, getattr(args, "seed", 0), file)
        subprocess.run([sys.executable, "-m", module, *sys.argv[1:], "--measure", str(file)], check=True)
