"""The figures of a study of growth: saved as JSON, printed as tables, drawn.

python -m benchmarks.growth_figures FOLDER [PICTURES]     the tables of FOLDER/growth-*.json, and their pictures in PICTURES
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from benchmarks.measuring import markdown, write_text
from prunemodels.comparison.growth import INSTANCE, Growth, slope
from prunemodels.plots.curves import plot_growth
from prunemodels.plots.picture import save_picture

LEAST = {"seconds": 0.02, "peak_memory_mb": 2.0}
"""Smaller figures are the call's, not the instance's; they do not count for slopes."""

KEPT = ("solver", "status", "stopped", "usable", "seconds", "peak_memory_mb", "relative_gap", "iterations", "nonzeros", "note")
"""Columns of an answer that are kept, beside those of the instance; `nonzeros` of IP3 where the study has linear programs."""


def merged(growth: Growth, later: Growth) -> Growth:
    """The answers of both, but for engines and sizes that were measured again later."""
    table = pd.concat([growth.table, later.table], ignore_index=True).drop_duplicates(["size", "solver"], keep="last")
    return replace(later, table=table.sort_values("size", kind="stable", ignore_index=True))


def write(growth: Growth, file: Path) -> None:
    """Keep answers as JSON, numbers to four digits."""
    rows = growth.table[[name for name in (*INSTANCE, *KEPT) if name in growth.table]].to_dict("records")
    content = {
        "by": growth.by,
        "machine": growth.machine,
        "time_limit": growth.time_limit,
        "rows": [{str(name): _digits(figure) for name, figure in row.items()} for row in rows],
    }
    write_text(file, json.dumps(content, indent=1) + "\n")


def read(file: Path) -> Growth:
    """Answers as they were written."""
    content = json.loads(file.read_text())
    table = pd.DataFrame(content["rows"]).astype(INSTANCE | {"seconds": "float64", "peak_memory_mb": "float64"})
    return Growth(table, content["by"], 0.5, content["time_limit"], True, content["machine"])


def _digits(figure: Any) -> Any:
    if isinstance(figure, float):
        return None if pd.isna(figure) else float(f"{figure:.4g}")
    return None if figure is pd.NA else figure


def table(growth: Growth) -> str:
    """Seconds and peak memory of every engine and size with the slopes, rounds of price sharing; in brackets: not usable."""
    sizes, by_size = growth.sizes, growth.table.groupby("size").first()
    lines = []
    for name, column in (("usage arcs", "usage_arcs"), ("IP3's nonzeros", "nonzeros")):
        if column in by_size:
            found, error, _ = slope(by_size.index.to_series(), by_size[column].astype(float), 0.0)
            lines.append([name, *(f"{int(n):,}" for n in by_size[column]), _fit(found, error)])
    for quantity, unit in (("seconds", "s"), ("peak_memory_mb", "MB")):
        slopes = growth.slopes(quantity, least=LEAST[quantity])
        for name in growth.engines:
            cells = [_cell(growth, name, size, quantity) for size in sizes]
            fit = _fit(slopes["slope"][name], slopes["se"][name])
            lines.append([f"`{name.rpartition(':')[2]}`, {unit}", *cells, fit])
    if "price_sharing" in growth.engines:
        lines.append(["rounds", *(_cell(growth, "price_sharing", size, "iterations") for size in sizes), ""])
    return markdown([growth.by, *(f"{size:,}" for size in sizes), "slope"], lines)


def _cell(growth: Growth, name: str, size: int, quantity: str) -> str:
    """A figure; in brackets where the engine was not usable, empty where it was not tried."""
    of = growth.table[(growth.table["solver"] == name) & (growth.table["size"] == size)]
    if of.empty or pd.isna(of[quantity].iloc[0]):
        return ""
    return f"{of[quantity].iloc[0]:.3g}" if bool(of["usable"].iloc[0]) else f"({of[quantity].iloc[0]:.3g})"


def _fit(found: float, error: float) -> str:
    """A slope and its standard error; nothing below three points."""
    return "" if pd.isna(found) else f"{found:.2f} ± {error:.2f}"


def draw(growth: Growth, name: str, folder: Path) -> list[Path]:
    """A picture of each quantity that was more than nothing (small runs may take no more memory)."""
    drawn: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for quantity in LEAST:
        if (growth.table[quantity] > 0).any():
            picture = plot_growth(growth, quantity, least=LEAST[quantity])
            _linear(picture.axes[0], growth, quantity)
            drawn += save_picture(picture, folder / f"{name}-{quantity}.svg")
    return drawn


def _linear(ax: Axes, growth: Growth, quantity: str) -> None:
    """A dotted line of slope 1 through the last point of price sharing, or of the first engine, for the eye."""
    name = "price_sharing" if "price_sharing" in growth.engines else growth.engines[0]
    first = growth.table[(growth.table["solver"] == name) & (growth.table[quantity] > 0)]
    if first.empty:
        return
    sizes, limits = np.array([growth.sizes[0], growth.sizes[-1]], dtype=float), ax.get_ylim()
    last = first.sort_values("size").iloc[-1]
    ax.plot(sizes, sizes * float(last[quantity]) / float(last["size"]), color="0.6", lw=1, ls=":", zorder=1)
    ax.set_ylim(limits)


def main(folder: Path, pictures: Path | None = None) -> None:
    """Tell, and draw, all studies of a folder."""
    for file in sorted(folder.glob("growth-*.json")):
        growth = read(file)
        print(f"{file.stem}: {growth.machine}\n\n{table(growth)}\n")
        if pictures is not None:
            draw(growth, file.stem, pictures)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
