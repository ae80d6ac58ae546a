"""The command line of `benchmarks.frontier`; the package's docstring has the protocol."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.frontier import results
from benchmarks.frontier.data import SOURCES, budgets_of, check_present, source
from benchmarks.frontier.methods import METHODS, method_named
from benchmarks.frontier.results import Store, Unit
from benchmarks.frontier.tables import all_tables
from formulations.errors import BrokenFileError, InvalidInputError

SEEDS = (0, 1, 2, 3, 4)


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    try:
        for name in given.data:
            source(name)
        for method in given.methods:
            method_named(method)
        return int(given.do(given))
    except (InvalidInputError, BrokenFileError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("stopped; what was finished is kept, and the same command goes on from there", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for name, do, text in (
        ("run", _run, "do the units that are not done yet"),
        ("export", _export, "write the chosen models of all finished units into the CSV file; its other units stay"),
        ("tables", _tables, "print Markdown tables"),
        ("edges", _edges, "tell where validation chose the last value of a grid"),
    ):
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(do=do)
        command.add_argument("--data", nargs="+", default=list(SOURCES), metavar="NAME", help="data sets; default: all")
        command.add_argument("--methods", nargs="+", default=list(METHODS), metavar="NAME", help="methods; default: all")
        command.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="N", help="splits; default: 0 to 4")
        command.add_argument("--csv", type=Path, default=results.PLACE, help="the table of results")
        if name in ("run", "export"):
            command.add_argument("--out", type=Path, default=results.default_folder(), help="folder of finished units")
        if name == "run":
            command.add_argument("--jobs", type=int, default=1, help="processes")
            command.add_argument("--export", action="store_true", help="write the table of results at the end")
    return parser


def units_of(given: argparse.Namespace) -> list[Unit]:
    """All units: by data set, then by seed, so that a process loads a split once."""
    return [Unit(name, seed, method) for name in given.data for seed in given.seeds for method in given.methods]


def _run(given: argparse.Namespace) -> int:
    warnings.filterwarnings("ignore", category=UserWarning)  # a library warns that column names are missing
    present = []
    for name in given.data:
        try:
            check_present(name)
            present.append(name)
        except BrokenFileError as error:
            print(f"{name}: skipped, {error}", file=sys.stderr)
    failures = results.run_units([u for u in units_of(given) if u.data in present], Store(given.out), jobs=given.jobs)
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    if given.export:
        _export(given)
    return 1 if failures else 0


def _export(given: argparse.Namespace) -> int:
    store = Store(given.out)
    units = [u for u in units_of(given) if store.has(u)]
    found = results.collected(store, units, {name: budgets_of(name) for name in dict.fromkeys(u.data for u in units)})
    if given.csv.is_file():  # other units stay
        kept = results.read_results(given.csv)
        new = set(zip(found["data"], found["seed"], found["method"], strict=True))
        named = [key in new for key in zip(kept["data"], kept["seed"], kept["method"], strict=True)]
        kept = kept[kept["method"].isin(METHODS) & ~np.array(named, dtype=bool)]
        order = {name: k for k, name in enumerate(SOURCES)}
        found = pd.concat([kept, found]).sort_values("data", key=lambda names: names.map(order), kind="stable")
    results.write_results(found, given.csv)
    print(f"{given.csv}: {len(found)} rows, {len(units)} units of them new, {given.csv.stat().st_size / 1000:.0f} kB")
    return 0


def _read(given: argparse.Namespace) -> pd.DataFrame:
    found = results.read_results(given.csv)
    return found[found["data"].isin(given.data) & found["method"].isin(given.methods) & found["seed"].isin(given.seeds)]


def _tables(given: argparse.Namespace) -> int:
    found = _read(given)
    budgets = {name: budgets_of(name) for name in dict.fromkeys(found["data"])}
    ours = [name for name, method in METHODS.items() if method.ours]
    print(all_tables(found, budgets, ours, [name for name, origin in SOURCES.items() if origin.task == "regression"]))
    return 0


def _edges(given: argparse.Namespace) -> int:
    table = results.edge_table(_read(given))
    print(table.to_string(index=False) if len(table) else "no hyperparameter was chosen at an end of its grid")
    return 0


if __name__ == "__main__":
    sys.exit(main())
