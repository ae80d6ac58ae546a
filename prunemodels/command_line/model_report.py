"""The results of ``compare`` and ``export``, for one screen of a terminal or as JSON for programs."""

from __future__ import annotations

import json
import math
import shlex
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import pandas as pd

from formulations.answers.solution import Status
from formulations.shown import align, error_name, is_rate
from prunemodels.command_line.budget_table import BudgetRow, ForestFigures, budget_table
from prunemodels.command_line.command_summary import CommandSummary, last_lines

WIDTH = 80
"""Characters of a line."""

Columns = dict[str, tuple[str, Callable[[Any], str]]]
"""Columns of a table on the screen: by the name in the data frame the header, and how a cell is written."""


def _six_digits(number: float) -> str:
    return f"{number:.6g}"


def _short(number: float) -> str:
    """Three significant digits below 1,000, thousands as a whole."""
    return f"{number:.3g}" if number < 999.5 else f"{number:,.0f}"


AT_LAM: Columns = {
    "status": ("status", str),
    "value": ("value", _six_digits),
    "relative_gap": ("gap", lambda x: f"{x:.1g}"),
    "seconds": ("seconds", _short),
    "peak_memory_mb": ("MB", _short),
}
"""What the screen shows of a comparison at a lambda; ``--out`` and ``--json`` have all columns."""

AT_BUDGET: Columns = {
    "budget": ("budget", lambda x: f"{x:.5g}"),
    "status": ("status", str),
    "error": ("error", _six_digits),
    "bound": ("bound", _six_digits),
    "seconds": ("seconds", _short),
    "peak_memory_mb": ("MB", _short),
}
"""What the screen shows of a comparison within budgets."""


def optimum(table: pd.DataFrame) -> ForestFigures | None:
    """The pruning that the table's engines proved optimal; the best one if there are several, None if there is none."""
    proven = [row for row in table.to_dict("records") if row["status"] == Status.OPTIMAL]
    if not proven:
        return None
    return _figures(min(proven, key=lambda row: float(row["value"])))


def best_within(table: pd.DataFrame, budget: float) -> ForestFigures | None:
    """The pruning of least error that the table's engines found within a budget; None if there is none."""
    found = [row for row in table.to_dict("records") if row["budget"] == budget and not pd.isna(row["error"])]
    return _figures(min(found, key=lambda row: float(row["error"]))) if found else None


def _figures(row: dict[Any, Any]) -> ForestFigures:
    """Cost, error and splits of the pruning of a row."""
    return ForestFigures(float(row["cost"]), float(row["error"]), None, int(row["splits"]))


@dataclass(frozen=True, eq=False)
class CompareSummary(CommandSummary):
    """Result of ``prunemodels compare``.

    Parameters
    ----------
    unpruned, optimum
        cost and error before pruning and at the optimum, which show what lambda means; None if no engine proved an optimum.
    lam, budgets
        the goal of the command: lambda, or None with the budgets.
    within
        for each budget the best pruning within it that an engine found; None if none did.
    table
        of `prunemodels.compare`.
    """

    forest: str
    model: str
    trees: int
    task: str
    measure: str
    data: str
    examples: int
    error_source: str
    lam: float | None
    seconds: float
    unpruned: ForestFigures
    optimum: ForestFigures | None
    table: pd.DataFrame
    budgets: tuple[float, ...] = ()
    within: tuple[ForestFigures | None, ...] = ()
    written: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def record(self) -> dict[str, Any]:
        """The fields, the table as ``solvers`` with None for what an engine does not have."""
        record: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "table"}
        record["unpruned"] = _sample_figures(self.unpruned)
        record["optimum"] = None if self.optimum is None else _sample_figures(self.optimum)
        record["within"] = [None if found is None else _sample_figures(found) for found in self.within]
        record["solvers"] = [{name: _plain(cell) for name, cell in row.items()} for row in self.table.to_dict("records")]
        return record

    def text(self) -> str:
        """The summary on one screen."""
        goal = f"lambda = {self.lam:g}" if self.lam is not None else f"cost at most {', '.join(f'{b:g}' for b in self.budgets)}"
        lines = [f"{self.forest}: {self.model} of {self.trees} trees, {goal}", "", self._meaning(), ""]
        lines += [comparison_text(self.table), ""]
        lines.append(f"cost sample    {self.examples:,} examples of {self.data}")
        lines.append(f"time           {self.seconds:.1f} s in all, {self._solving():.1f} s of them solving")
        return "\n".join(lines + last_lines(self.ignored, self.written))

    def _solving(self) -> float:
        return float(self.table["seconds"].sum())

    def _meaning(self) -> str:
        """A table that shows what lambda means, or what the budgets buy: the prunings found beside the unpruned forest."""
        shown = {"unpruned": self.unpruned} | ({} if self.optimum is None else {"optimum": self.optimum})
        found = zip(self.budgets, self.within, strict=True)
        shown |= {f"within {budget:g}": figures for budget, figures in found if figures is not None}
        text = budget_table(
            [BudgetRow(name, (figures,)) for name, figures in shown.items()], self.measure, source=self.error_source
        )
        if self.lam is None:
            return text
        in_per_cent = is_rate(self.measure)
        measure = "error" if in_per_cent else error_name(self.measure)
        worth = f"{100 * self.lam:.6g} %" if in_per_cent else f"{self.lam:.6g}"
        unit = f"lambda         one unit of cost is worth {worth} of {measure}"
        missing = [] if self.optimum is not None else ["optimum        not proven by any of these solvers"]
        return "\n".join([text, "", unit, *missing])


@dataclass(frozen=True)
class ExportSummary(CommandSummary):
    """Result of ``prunemodels export``.

    Parameters
    ----------
    lam, budget
        the goal of the command: one of them, or neither for IP0.
    relaxed, merged
        whether the program is the linear relaxation, and has one variable for purchases with the same usage.
    bytes
        size of the file.
    """

    forest: str
    model: str
    trees: int
    data: str
    examples: int
    formulation: str
    lam: float | None
    budget: float | None
    relaxed: bool
    merged: bool
    rows: int
    columns: int
    nonzeros: int
    bytes: int
    seconds: float
    written: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()

    def text(self) -> str:
        """The summary on one screen."""
        goal = f", lambda = {self.lam:g}" if self.lam is not None else ""
        goal = f", cost at most {self.budget:g}" if self.budget is not None else goal
        kind = "linear relaxation" if self.relaxed else "integer program"
        lines = [
            f"{self.forest}: {self.model} of {self.trees} trees as {self.formulation}{goal}",
            "",
            f"{kind:17s} {self.rows:,} rows, {self.columns:,} columns, {self.nonzeros:,} nonzeros"
            + (", purchases merged" if self.merged else ""),
            f"cost sample       {self.examples:,} examples of {self.data}",
            f"size              {self.bytes / 1e6:.3g} MB, {self.seconds:.1f} s in all",
            f"to solve it       {reading(self.written[0])}",
        ]
        return "\n".join(lines + last_lines(self.ignored, self.written, 18))


def reading(file: str) -> str:
    """A shell command that solves the file with HiGHS, which this package installs. HiGHS reads no compressed files."""
    unpack = f"gunzip --keep {shlex.quote(file)} && " if file.endswith(".gz") else ""
    name = json.dumps(file.removesuffix(".gz"))
    return unpack + "python -c " + shlex.quote(f"import highspy; h = highspy.Highs(); h.readModel({name}); h.run()")


def comparison_text(table: pd.DataFrame) -> str:
    """The table for terminals: rounded, without empty columns, with the notes below."""
    shown = {name: how for name, how in (AT_BUDGET if "budget" in table else AT_LAM).items() if table[name].notna().any()}
    records = table.to_dict("records")
    rows = [
        [row["solver"], *("" if pd.isna(row[name]) else show(row[name]) for name, (_, show) in shown.items())] for row in records
    ]
    notes = [textwrap.fill(f"{_whose(row)}: {_note(row)}", WIDTH, subsequent_indent="    ") for row in records if _note(row)]
    text = align(["solver", *(header for header, _ in shown.values())], rows, left=2, gap=2)
    return "\n".join([text, *([""] if notes else []), *notes])


def _whose(row: dict[Any, Any]) -> str:
    """The solver, with the budget if there is one."""
    return f"{row['solver']} within {row['budget']:g}" if "budget" in row else str(row["solver"])


def _note(row: dict[Any, Any]) -> str:
    """The reason why an engine stopped, unless it converged, and its note."""
    stopped = "" if row["stopped"] in ("", "converged") else f"stopped by {row['stopped']}"
    return "; ".join(part for part in (stopped, row["note"]) if part)


def _plain(cell: Any) -> Any:
    """A cell for JSON: null for what is absent or infinite."""
    if cell is None or cell is pd.NA or (isinstance(cell, float) and not math.isfinite(cell)):
        return None
    return cell.item() if hasattr(cell, "item") else cell


def _sample_figures(figures: ForestFigures) -> dict[str, float]:
    return {"cost": figures.cost, "sample_error": figures.sample_error, "splits": figures.splits}
