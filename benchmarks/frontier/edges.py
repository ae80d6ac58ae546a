"""Whether validation chose the last value of a grid anywhere, although more values could be tried.

The grid of a hyperparameter consists of the values that were tried on any seed of the data set; it is widened on the first seed.
A chosen number that is the least or the largest of its grid is an *edge*, unless the candidate says that no value lies beyond:
then it is a natural end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from benchmarks.frontier.candidate import Candidate, Value

Side = Literal["least", "largest"]


@dataclass(frozen=True)
class Edge:
    """A chosen value that is the last of its grid; `end` is the reason if it is a natural end, or empty."""

    name: str
    side: Side
    value: float
    end: str


def grids(candidates: Sequence[Candidate]) -> dict[str, tuple[float, float]]:
    """The least and the largest value tried, for each hyperparameter that is a number."""
    tried: dict[str, list[float]] = defaultdict(list)
    for c in candidates:
        for name, value in c.params.items():
            if not isinstance(value, str):
                tried[name].append(float(value))
    return {name: (min(values), max(values)) for name, values in tried.items()}


def edges_of(chosen: Candidate, grid: Mapping[str, tuple[float, float]]) -> list[Edge]:
    """The hyperparameters of a candidate whose values are the last of their grids, if these have more than one value."""
    found: list[Edge] = []
    for name, value in chosen.params.items():
        if isinstance(value, str) or name not in grid or grid[name][0] == grid[name][1]:
            continue
        sides: tuple[Side, Side] = ("least", "largest")
        found += [
            Edge(name, side, float(value), chosen.ends.get(name, ""))
            for side, last in zip(sides, grid[name], strict=True)
            if float(value) == last
        ]
    return found


def written(edges: Sequence[Edge]) -> str:
    """Edges as a cell of the table of results: ``leaves>`` is a real edge at the largest value, ``(leaves>)`` a natural end."""
    marks = {"least": "<", "largest": ">"}
    return " ".join(f"({e.name}{marks[e.side]})" if e.end else f"{e.name}{marks[e.side]}" for e in edges)


def edge_table(results: pd.DataFrame) -> pd.DataFrame:
    """How often each hyperparameter was chosen at an end of its grid, by data set and method; real edges first."""
    rows: list[dict[str, Value]] = []
    for (data, method), some in results.groupby(["data", "method"], sort=False):
        cells = [mark for cell in some["edges"].fillna("") for mark in str(cell).split()]
        for mark in sorted(set(cells)):
            natural = mark.startswith("(")
            bare = mark.strip("()")
            side = "least" if bare.endswith("<") else "largest"
            what = "natural end" if natural else "EDGE"
            row = {"data": str(data), "method": str(method), "hyperparameter": bare[:-1], "side": side, "is": what}
            rows.append({**row, "chosen": cells.count(mark), "of": len(some)})
    columns = ["data", "method", "hyperparameter", "side", "is", "chosen", "of"]
    return pd.DataFrame(rows, columns=columns).sort_values("is", kind="stable", ignore_index=True)
