"""The figures of a study of growth: saved as JSON, printed as tables, drawn.

python -m benchmarks.growth_figures FOLDER [PICTURES]     the tables of FOLDER/growth-*.json, and their pictures in PICTURES
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from prunemodels.comparison.growth import INSTANCE, Growth, slope
from prunemodels.plots.growth import plot_growth
from prunemodels.plots.tradeoff import save_picture

LEAST = {"seconds": 0.02, "peak_memory_mb": 2.0}
"""Smaller figures are the call's, not the instance's; they do not count for slopes."""

LEAST_RANGE = 2
"""The largest instance must have so many times the usage arcs of the smallest for a slope against them to say anything."""

KEPT = ("solver", "status", "stopped", "usable", "seconds", "peak_memory_mb", "relative_gap", "iterations", "note")
"""Columns of an answer that are kept, beside those of the instance."""

ROUNDS = {
    "rounds": "rounds",
    "arcs shared in all rounds": "arc_rounds",
    "ns an arc and round, nothing fixed": "first_ns",
    "ns an arc and round, all": "ns",
    "usage arcs of the core": "core_usage_arcs",
    "start, s": "start",
    "rounds, s": "sharing",
    "checks, s": "checks",
    "cut, s": "cut",
}
"""Lines of the second table, and the fields of `benchmarks.rounds.Rounds`."""

COUNTS = ("rounds", "arc_rounds", "core_usage_arcs")
FITTED = ("arc_rounds",)
"""Lines with a slope: the work, which is the same on every machine."""

MATRIX = ("rows", "columns", "nonzeros")


@dataclass(frozen=True, eq=False)
class Figures:
    """What a study measured.

    Parameters
    ----------
    growth
        engines by size.
    rounds
        of price sharing, by size: `benchmarks.rounds.Rounds`.
    matrices
        IP3's matrix by size: its rows, columns and nonzeros. Empty where the study has no linear programs.
    """

    growth: Growth
    rounds: Mapping[int, Mapping[str, float]]
    matrices: Mapping[int, Mapping[str, int]]

    def with_later(self, later: Figures) -> Figures:
        """These, but for engines and sizes that were measured again later."""
        key = ["size", "solver"]
        table = pd.concat([self.growth.table, later.growth.table], ignore_index=True).drop_duplicates(key, keep="last")
        growth = replace(later.growth, table=table.sort_values("size", kind="stable", ignore_index=True))
        return Figures(growth, {**self.rounds, **later.rounds}, {**self.matrices, **later.matrices})


def write(figures: Figures, file: Path) -> None:
    """Keep figures as JSON, numbers to four digits."""
    growth = figures.growth
    content = {
        "by": growth.by,
        "machine": growth.machine,
        "time_limit": growth.time_limit,
        "rows": [_short(row) for row in growth.table[[*INSTANCE, *KEPT]].to_dict("records")],
        "rounds": {str(size): _short(of) for size, of in sorted(figures.rounds.items())},
        "matrices": {str(size): dict(of) for size, of in sorted(figures.matrices.items())},
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    unfinished = file.with_suffix(".part")
    unfinished.write_text(_json(content) + "\n")
    unfinished.replace(file)


def read(file: Path) -> Figures:
    """Figures as they were written."""
    content = json.loads(file.read_text())
    table = pd.DataFrame(content["rows"]).astype(INSTANCE | {"seconds": "float64", "peak_memory_mb": "float64"})
    growth = Growth(table, content["by"], 0.5, content["time_limit"], True, content["machine"])
    rounds, matrices = ({int(size): of for size, of in content[name].items()} for name in ("rounds", "matrices"))
    return Figures(growth, rounds, matrices)


def _short(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Numbers of four digits, counts as they are, and nothing for NaN."""
    return {str(name): _digits(figure) for name, figure in row.items()}


def _digits(figure: Any) -> Any:
    if isinstance(figure, float):
        return None if pd.isna(figure) else float(f"{figure:.4g}")
    return None if figure is pd.NA else figure


def _json(content: Mapping[str, Any]) -> str:
    """One line an answer: readable in a diff."""
    parts = []
    for name, part in content.items():
        if isinstance(part, list):
            body = "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in part) + "\n ]"
        elif isinstance(part, dict) and part:
            body = "{\n" + ",\n".join(f"  {json.dumps(key)}: {json.dumps(of)}" for key, of in part.items()) + "\n }"
        else:
            body = json.dumps(part)
        parts.append(f" {json.dumps(name)}: {body}")
    return "{\n" + ",\n".join(parts) + "\n}"


def table(figures: Figures) -> str:
    """Seconds and peak memory of every engine and size with the slopes; IP3's matrix, where it was counted."""
    growth = figures.growth
    arcs = growth.table.groupby("size")["usage_arcs"].first()
    lines = [f"| {growth.by} | " + " | ".join(f"{size:,}" for size in growth.sizes) + " | slope | against usage arcs |"]
    lines += ["| --- |" + " ---: |" * (len(growth.sizes) + 2)]
    lines += ["| usage arcs | " + " | ".join(f"{int(arcs[size]):,}" for size in growth.sizes) + f" | {_fit(arcs)} | |"]
    for name in MATRIX if figures.matrices else ():
        counted = pd.Series({size: of[name] for size, of in figures.matrices.items()}).reindex(growth.sizes)
        cells = ["" if pd.isna(n) else f"{int(n):,}" for n in counted]
        lines += [f"| IP3's {name} | " + " | ".join(cells) + f" | {_fit(counted)} | |"]
    for quantity, unit in (("seconds", "s"), ("peak_memory_mb", "MB")):
        wide = growth.wide(quantity)
        slopes = growth.slopes(quantity, least=LEAST[quantity])
        by_arcs = growth.slopes(quantity, against="usage_arcs", least=LEAST[quantity])
        for name in growth.engines:
            cells = [_cell(growth, name, size, wide.loc[name, size]) for size in growth.sizes]
            fits = f"{_slope(slopes, name)} | {_slope(by_arcs, name) if arcs.max() >= LEAST_RANGE * arcs.min() else ''}"
            lines += [f"| `{name.rpartition(':')[2]}`, {unit} | " + " | ".join(cells) + f" | {fits} |"]
    return "\n".join(lines)


def rounds_table(figures: Figures) -> str:
    """Where price sharing's seconds went; empty if that was not measured."""
    if not figures.rounds:
        return ""
    by_size = pd.DataFrame(figures.rounds).sort_index(axis="columns")
    lines = [f"| {figures.growth.by} | " + " | ".join(f"{size:,}" for size in by_size.columns) + " | slope |"]
    lines += ["| --- |" + " ---: |" * (len(by_size.columns) + 1)]
    for line, field in ROUNDS.items():
        form = ",.0f" if field in COUNTS else ".2g"
        cells = ["" if pd.isna(x) else format(x, form) for x in by_size.loc[field]]
        lines += [f"| {line} | " + " | ".join(cells) + f" | {_fit(by_size.loc[field]) if field in FITTED else ''} |"]
    return "\n".join(lines)


def draw(figures: Figures, name: str, folder: Path, suffix: str = ".svg") -> list[Path]:
    """A picture of each quantity that was more than nothing (small runs may take no more memory)."""
    growth, drawn = figures.growth, []
    folder.mkdir(parents=True, exist_ok=True)
    for quantity in LEAST:
        if (growth.table[quantity] > 0).any():
            picture = plot_growth(growth, quantity, least=LEAST[quantity])
            _linear(picture.axes[0], growth, quantity)
            drawn += save_picture(picture, folder / f"{name}-{quantity}{suffix}")
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


def _cell(growth: Growth, name: str, size: int, figure: Any) -> str:
    """A figure; in brackets where the engine was not usable."""
    if pd.isna(figure):
        return ""
    of = growth.table[(growth.table["solver"] == name) & (growth.table["size"] == size)]
    return f"{figure:.3g}" if bool(of["usable"].iloc[0]) else f"({figure:.3g})"


def _slope(slopes: pd.DataFrame, name: str) -> str:
    """A slope and its standard error; nothing below three points."""
    found, error = float(slopes["slope"][name]), float(slopes["se"][name])
    return "" if pd.isna(found) else f"{found:.2f} ± {error:.2f}"


def _fit(counted: pd.Series) -> str:
    """How a count grows with the size."""
    found, error, _ = slope(counted.index.to_series(), counted.astype(float), 0.0)
    return "" if pd.isna(found) else f"{found:.2f} ± {error:.2f}"


def main(folder: Path, pictures: Path | None = None) -> None:
    """Tell, and draw, all studies of a folder."""
    for file in sorted(folder.glob("growth-*.json")):
        figures = read(file)
        print(f"{file.stem}: {figures.growth.machine}\n\n{table(figures)}\n\n{rounds_table(figures)}\n")
        if pictures is not None:
            draw(figures, file.stem, pictures)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
