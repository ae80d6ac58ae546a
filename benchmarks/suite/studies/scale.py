"""The largest instances: runs `benchmarks.scale` and reads its figures."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.suite.children import run_child
from benchmarks.suite.study import Figure, Found, Setting
from formulations.errors import BrokenFileError

POINTS = 20

TITLES = {"hepmass": "HEPMASS's shape", "yahoo": "Yahoo's shape"}

DESIGN: dict[str, Mapping[str, str]] = {
    "hepmass": {
        "gap": "1.6e-4 after 30 rounds, 141 s; 2.1e-5 after 60, 270 s",
        "seconds_to_gap": "asked for: 120",
        "peak_memory_at_gap_mb": "1,160; asked for: 1,500",
        "usage_arcs": "667 million",
    },
    "yahoo": {"seconds_to_gap": "asked for: 120", "peak_memory_at_gap_mb": "asked for: 1,500"},
}
"""Figures of the design document (section 5), and targets."""

FOR_BOTH: Mapping[str, str] = {"seconds_to_optimum": "asked for: 900", "seconds_of_all_points": "asked for: 1,800"}


def measure_scale(data: str, setting: Setting) -> Found:
    """No rows, since no other engine solves these. Figures: all numbers that `benchmarks.scale` wrote.

    Raises
    ------
    CalledProcessError
        if it fails.
    """
    command = ["--data", data, "--path", str(POINTS), "--out", str(setting.folder)]
    run_child(["-m", "benchmarks.scale", *command], stdout=sys.stderr)
    file = setting.folder / f"scale-{data}.json"
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BrokenFileError(f"{file}, which benchmarks.scale writes, cannot be read: {error}") from error
    return [], figures(data, content)


def figures(data: str, content: Mapping[str, Any]) -> list[Figure]:
    """The numbers among what it wrote; seconds to the optimum are those to the gap and those beyond."""
    numbers = {name: value for name, value in content.items() if isinstance(value, int | float)}
    if {"seconds_to_gap", "seconds_more_to_optimum"} <= numbers.keys():
        numbers["seconds_to_optimum"] = numbers["seconds_to_gap"] + numbers["seconds_more_to_optimum"]
    design = {**FOR_BOTH, **DESIGN[data]}
    return [Figure(TITLES[data], name.replace("_", " "), value, design.get(name, "")) for name, value in numbers.items()]
