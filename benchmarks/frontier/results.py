"""What is run and kept: the candidates of each finished unit, and a table of the models that validation chooses at the budgets.

Units are files FOLDER / DATA / METHOD-SEED.json, written completely or not at all. The table is a CSV file with the columns data,
seed, method, params (``name=value`` joined by ``;``), cost, error and loss on the validation and the test part, seconds to train
and to predict 1,000 rows, edges, and in the first row of a unit the seconds of the whole unit. Applied to these rows, the budgets
and the rule of choice give the same models.

The grid of a hyperparameter consists of the values that were tried on any seed of the data set; it is widened on the first seed.
A chosen number that is the least or the largest of its grid is an *edge*, unless the candidate says that no value lies beyond:
then it is a natural end.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from benchmarks.frontier.candidate import Candidate, Scouted, Value, nothing_bought, winners
from benchmarks.frontier.data import load_problem
from benchmarks.frontier.methods import method_named
from benchmarks.frontier.problem import Problem
from benchmarks.measuring import write_text
from formulations.errors import BrokenFileError

FIRST_SEED = 0  # the seed on which grids are widened; the others take the settings that were chosen there


@dataclass(frozen=True)
class Unit:
    """One method on one data set in the split of one seed."""

    data: str
    seed: int
    method: str

    def __str__(self) -> str:
        return f"{self.data}, seed {self.seed}, {self.method}"


def default_folder() -> Path:
    """Where units are kept by default: in a cache folder of the user, never in the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "prunemodels-frontier"


@dataclass(frozen=True)
class Store:
    folder: Path

    def place(self, unit: Unit) -> Path:
        word = re.sub(r"[^a-z0-9]+", "-", unit.method.lower()).strip("-")
        return self.folder / unit.data / f"{word}-{unit.seed}.json"

    def has(self, unit: Unit) -> bool:
        return self.place(unit).is_file()

    def keep(self, unit: Unit, candidates: Sequence[Candidate], seconds: float) -> None:
        content = {"unit": asdict(unit), "seconds": round(seconds, 3), "candidates": [asdict(c) for c in candidates]}
        write_text(self.place(unit), json.dumps(content) + "\n")

    def read(self, unit: Unit) -> tuple[list[Candidate], float]:
        """The candidates of a finished unit, and the CPU seconds of the whole unit."""
        content = json.loads(self.place(unit).read_text())
        return [Candidate(**c) for c in content["candidates"]], float(content["seconds"])


def grids(candidates: Sequence[Candidate]) -> dict[str, tuple[float, float]]:
    """The least and the largest value tried, for each hyperparameter that is a number."""
    tried: dict[str, list[float]] = defaultdict(list)
    for c in candidates:
        for name, value in c.params.items():
            if not isinstance(value, str):
                tried[name].append(float(value))
    return {name: (min(values), max(values)) for name, values in tried.items()}


def edges_of(chosen: Candidate, grid: Mapping[str, tuple[float, float]]) -> str:
    """The hyperparameters whose values are the last of their grids, if these have more than one value. ``leaves>`` is a real edge
    at the largest value, ``(leaves<)`` a natural end at the least.
    """
    marks = [
        f"({name}{mark})" if chosen.ends.get(name) else f"{name}{mark}"
        for name, value in chosen.params.items()
        if name in grid and grid[name][0] < grid[name][1]
        for mark, last in zip("<>", grid[name], strict=True)
        if float(value) == last
    ]
    return " ".join(marks)


def edge_table(results: pd.DataFrame) -> pd.DataFrame:
    """How often each hyperparameter was chosen at an end of its grid, by data set and method; real edges first."""
    rows: list[dict[str, Value]] = []
    for (data, method), some in results.groupby(["data", "method"], sort=False):
        cells = [mark for cell in some["edges"].fillna("") for mark in str(cell).split()]
        for mark in sorted(set(cells)):
            bare, what = mark.strip("()"), "natural end" if mark.startswith("(") else "EDGE"
            side = "least" if bare.endswith("<") else "largest"
            row = {"data": str(data), "method": str(method), "hyperparameter": bare[:-1], "side": side, "is": what}
            rows.append({**row, "chosen": cells.count(mark), "of": len(some)})
    columns = ["data", "method", "hyperparameter", "side", "is", "chosen", "of"]
    return pd.DataFrame(rows, columns=columns).sort_values("is", kind="stable", ignore_index=True)


PLACE = Path(__file__).parents[1] / "results" / "frontier.csv"
NUMBERS = ("valid_cost", "valid_error", "valid_loss", "test_cost", "test_error", "test_loss", "fit_s", "predict_s")
COLUMNS = ("data", "seed", "method", "params", *NUMBERS, "edges", "unit_s")
DIGITS = {"fit_s": 3, "predict_s": 2, "valid_loss": 5, "test_loss": 5}
"""Significant digits of seconds and losses; errors and costs keep theirs, 6."""


def collected(store: Store, units: Sequence[Unit], budgets: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    rows: list[dict[str, Value]] = []
    kinds = {(unit.data, unit.method): None for unit in units}
    for data, method in kinds:
        done = {u.seed: store.read(u) for u in units if (u.data, u.method) == (data, method) and store.has(u)}
        # without the first seed nobody knows the whole grid
        grid = grids([c for candidates, _ in done.values() for c in candidates]) if FIRST_SEED in done else {}
        for seed, (candidates, taken) in done.items():
            seconds = float(f"{taken:.3g}")
            for c in winners(candidates, budgets[data]):
                about: dict[str, Value] = {"data": data, "seed": seed, "method": method, "params": params_text(c)}
                numbers = {name: float(f"{getattr(c, name):.{DIGITS.get(name, 6)}g}") for name in NUMBERS}
                rows.append({**about, **numbers, "edges": edges_of(c, grid), "unit_s": seconds})
                seconds = float("nan")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def params_text(candidate: Candidate) -> str:
    """Hyperparameters as ``name=value;name=value``."""
    return ";".join(f"{name}={f'{v:g}' if isinstance(v, float) else v}" for name, v in candidate.params.items())


def chosen_settings(unit: Unit, place: Path) -> list[dict[str, Value]]:
    """The hyperparameters of a unit's models in the table; empty where it has none."""
    if not place.is_file():
        return []
    table = read_results(place)
    rows = table[(table["data"] == unit.data) & (table["seed"] == unit.seed) & (table["method"] == unit.method)]
    return [dict(_setting(part) for part in str(text).split(";")) for text in rows["params"].dropna() if text]


def _setting(text: str) -> tuple[str, Value]:
    name, value = text.split("=", 1)
    try:
        return name, float(value)
    except ValueError:
        return name, value


def write_results(results: pd.DataFrame, place: Path) -> None:
    """Write the CSV file, completely or not at all."""
    text = results.to_csv(index=False, lineterminator="\n", float_format=lambda x: str(int(x)) if x == int(x) else repr(float(x)))
    write_text(place, text)


def read_results(place: Path) -> pd.DataFrame:
    if not place.is_file():
        raise BrokenFileError(f"there is no file {place}; run `python -m benchmarks.frontier export` first")
    return pd.read_csv(place, keep_default_na=False, na_values={name: [""] for name in (*NUMBERS, "unit_s")})


def candidates_of(rows: pd.DataFrame) -> list[Candidate]:
    """The rows of one unit as candidates; hyperparameters as text."""
    return [
        Candidate(params={"text": params}, **dict(zip(NUMBERS, numbers, strict=True)))
        for params, numbers in zip(rows["params"], rows[list(NUMBERS)].to_numpy(np.float64).tolist(), strict=True)
    ]


def run_units(units: Sequence[Unit], store: Store, *, jobs: int = 1) -> list[str]:
    """Run the units that are not done. Returns a sentence for each failure; after a failure the other units still run."""
    todo = [unit for unit in units if not store.has(unit)]
    first, others = ([u for u in todo if (u.seed == FIRST_SEED) is is_first] for is_first in (True, False))
    groups = (todo,) if jobs == 1 else (first, others)
    told = [failure for group in groups for failure in Parallel(jobs)(delayed(do_unit)(unit, store) for unit in group)]
    return [failure for failure in told if failure]


def do_unit(unit: Unit, store: Store) -> str | None:
    """Run one unit and keep its candidates. Returns a sentence if it failed."""
    problem, method = load_problem(unit.data, unit.seed, store.folder / "memory"), method_named(unit.method)
    refusal = method.refusal(problem)
    if refusal is not None:
        if unit.seed == FIRST_SEED:
            _say(f"{unit}: left out, {refusal}")
        return None
    start = time.process_time()
    try:
        scouted = scouting(unit, store, problem)
        candidates = [nothing_bought(problem), *method.run(problem, scouted)]
    except Exception as error:  # a failure must not end the other units, which take hours
        _say(f"{unit}: failed\n{traceback.format_exc()}")
        return f"{unit}: {type(error).__name__}: {error}"
    seconds = time.process_time() - start
    store.keep(unit, candidates, seconds)
    _say(f"{unit}: {len(candidates)} candidates, {seconds:.1f} CPU s")
    return None


def scouting(unit: Unit, store: Store, problem: Problem) -> Scouted:
    """The settings that validation chose on the first seed, by its unit or else by the table of results; None on that seed, or if
    neither has it.
    """
    first = Unit(unit.data, FIRST_SEED, unit.method)
    if unit.seed == FIRST_SEED:
        return None
    if store.has(first):
        return [w.params for w in winners(store.read(first)[0], problem.budgets) if w.params]
    return chosen_settings(first, PLACE) or None


def _say(line: str) -> None:
    print(f"{datetime.now():%H:%M:%S} {line}", file=sys.stderr, flush=True)
