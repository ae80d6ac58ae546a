"""BP16's forests, grown once in a process of their own and saved in a folder, and their instances."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import joblib

import prunemodels as pm
from benchmarks.instances import shipped
from benchmarks.second_process import train
from benchmarks.suite.children import run_child
from benchmarks.suite.study import Setting
from prunemodels.files.outputs import OutputFiles

TITLES = {"miniboone": "MiniBooNE", "covtype426k": "Covertype"}

SMALL = {"miniboone": "breast_cancer", "covtype426k": "digits"}
"""Data sets that replace them in a quick run."""


def forest_file(data: str, folder: Path) -> Path:
    """The file of a data set's forest; its name has scikit-learn's version, since another version may grow another forest."""
    return folder / f"forest-{data}-sklearn-{version('scikit-learn')}.joblib"


def grow(data: str, folder: Path) -> None:
    """Grow a forest and save it; after a failure no partial file remains."""
    with OutputFiles() as outputs:
        train(data, 0, outputs.aside(forest_file(data, folder)))


def grow_in_child(data: str, folder: Path) -> None:
    """`grow` in another process, unless it was done before.

    Raises
    ------
    CalledProcessError
        if it fails.
    """
    if forest_file(data, folder).exists():
        return
    print(f"growing the forest on {TITLES[data]}", file=sys.stderr, flush=True)
    run_child(["-m", "benchmarks.suite.forests", data, str(folder)])


def main(data: str, folder: str) -> int:
    """Main function of the child process; returns its status."""
    try:
        grow(data, Path(folder))
    except KeyboardInterrupt:
        return 130
    return 0


def instance(data: str, setting: Setting, rows: int | None = None) -> tuple[str, pm.PruningProblem]:
    """Name and problem: the forest on `data` with unit prices, or a small one of scikit-learn's data with ``--quick``.

    Parameters
    ----------
    rows
        cost rows, the first of the cost sample; None: all.
    """
    if setting.quick:
        problem = shipped(SMALL[data], trees=10, rows=100 if rows is None else rows)
        return f"{SMALL[data].replace('_', ' ')}, {problem.n_rows} rows", problem
    forest, X = joblib.load(forest_file(data, setting.folder))
    problem = pm.problem_from_forest(forest, X[:rows], costs=1)
    return f"{TITLES[data]}, {problem.n_rows:,} rows", problem


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
