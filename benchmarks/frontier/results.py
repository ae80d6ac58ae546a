"""The table of results: one row for each model that validation chooses at one of the budgets, as a small CSV file.

Columns: data, seed, method, params (``name=value`` joined by ``;``), cost, error and loss on the validation and the test part,
seconds to train and to predict 1,000 rows, edges (see `edges.written`), and in the first row of a unit the seconds of the whole
unit. Applied to these rows, the budgets and the rule of choice (`choice`) give the same models.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.frontier.candidate import Candidate, Value
from benchmarks.frontier.choice import winners
from benchmarks.frontier.edges import edges_of, grids, written
from benchmarks.frontier.store import FIRST_SEED, Store, Unit
from formulations.errors import BrokenFileError
from prunemodels.files.outputs import OutputFiles

PLACE = Path(__file__).parents[1] / "results" / "frontier.csv"

NUMBERS = ("valid_cost", "valid_error", "valid_loss", "test_cost", "test_error", "test_loss", "fit_s", "predict_s")
COLUMNS = ("data", "seed", "method", "params", *NUMBERS, "edges", "unit_s")
SECONDS_DIGITS = {"fit_s": 3, "predict_s": 2}
"""Significant digits of the seconds; errors and costs keep theirs, losses get 5."""


def collected(store: Store, units: Sequence[Unit], budgets: dict[str, tuple[float, ...]]) -> pd.DataFrame:
    """The rows of all units that are done."""
    rows: list[dict[str, Value]] = []
    kinds = {(unit.data, unit.method): None for unit in units}
    for data, method in kinds:
        done = [store.read(u) for u in units if (u.data, u.method) == (data, method) and store.has(u)]
        scouted = any(finished.unit.seed == FIRST_SEED for finished in done)  # without the first seed nobody knows the whole grid
        grid = grids([c for unit in done for c in unit.candidates]) if scouted else {}
        for finished in done:
            seconds = float(f"{finished.seconds:.3g}")
            for c in winners(finished.candidates, budgets[data]):
                about: dict[str, Value] = {"data": data, "seed": finished.unit.seed, "method": method, "params": params_text(c)}
                numbers = {name: _short(name, getattr(c, name)) for name in NUMBERS}
                rows.append({**about, **numbers, "edges": written(edges_of(c, grid)), "unit_s": seconds})
                seconds = float("nan")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _short(name: str, value: float) -> float:
    digits = SECONDS_DIGITS.get(name, 5 if name.endswith("loss") else 6)
    return float(f"{value:.{digits}g}")


def params_text(candidate: Candidate) -> str:
    """Hyperparameters as ``name=value;name=value``."""
    return ";".join(f"{name}={_plain(value)}" for name, value in candidate.params.items())


def _plain(value: Value) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


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
    place.parent.mkdir(parents=True, exist_ok=True)
    with OutputFiles() as outputs:
        results.to_csv(outputs.aside(place), index=False, lineterminator="\n", float_format=_written)


def _written(number: object) -> str:
    assert isinstance(number, float)
    return str(int(number)) if number == int(number) else repr(float(number))


def read_results(place: Path) -> pd.DataFrame:
    """Read the CSV file.

    Raises
    ------
    BrokenFileError
        if there is no such file, or it has other columns.
    """
    if not place.is_file():
        raise BrokenFileError(f"there is no file {place}; run `python -m benchmarks.frontier export` first")
    results = pd.read_csv(place, keep_default_na=False, na_values={name: [""] for name in (*NUMBERS, "unit_s")})
    if list(results.columns) != list(COLUMNS):
        raise BrokenFileError(f"{place} has the columns {list(results.columns)}; expected {list(COLUMNS)}")
    return results


def candidates_of(rows: pd.DataFrame) -> list[Candidate]:
    """The rows of one unit as candidates; hyperparameters as text."""
    return [
        Candidate(params={"text": params}, **dict(zip(NUMBERS, numbers, strict=True)))
        for params, numbers in zip(rows["params"], rows[list(NUMBERS)].to_numpy(np.float64).tolist(), strict=True)
    ]
