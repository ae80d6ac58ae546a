"""The table that ``demo``, ``path`` and ``prune`` print: a row for each budget, what one looks for first.

The error on held-out examples comes first. The error that pruning minimises, that of single trees on their training data as a
rule, comes last and faint: it is 0 for fully grown trees, and says little about new examples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from formulations.shown import align, is_rate
from prunemodels.command_line.terminal import styled


@dataclass(frozen=True)
class ForestFigures:
    """Cost, errors and size of a forest.

    Parameters
    ----------
    cost
        mean cost of a prediction on the cost sample or on held-out examples, in the unit of the prices.
    sample_error
        the trees' mean error on the error sample: what pruning minimises beside the cost.
    data_error
        error of the forest's own predictions on labelled examples; None without labels.
    splits
        splits in all trees.
    """

    cost: float
    sample_error: float
    data_error: float | None
    splits: int


@dataclass(frozen=True)
class BudgetRow:
    """The forest within one budget: its figures, or those of one forest a seed. `chosen`: this is the forest that is saved."""

    budget: str
    figures: tuple[ForestFigures, ...]
    chosen: bool = False


def percent(rate: float, digits: int = 2) -> str:
    """0.0751 as ``7.51 %``."""
    return f"{100 * rate:.{digits}f} %"


def budget_table(rows: Sequence[BudgetRow], measure: str, *, source: str, error: str = "error", cost: str = "cost") -> str:
    """The table in plain text, with styles on terminals; means and standard deviations where rows have several forests.

    Parameters
    ----------
    measure
        what the errors are, see `Ensemble.measure`; error rates are shown in per cent.
    error, cost
        headers of these columns: which error, of which examples; cost in which unit.
    source
        the examples on which the trees' error was measured, such as "in-bag".
    """
    percent = is_rate(measure)
    header = ["budget", cost, error, "splits", f"single trees, {source}"]
    cells = [
        [
            row.budget,
            _cell([f.cost for f in row.figures], 1),
            _errors([f.data_error for f in row.figures], percent=percent),
            f"{np.mean([f.splits for f in row.figures]):,.0f}",
            _errors([f.sample_error for f in row.figures], percent=percent),
        ]
        for row in rows
    ]
    shown = [c for c in range(len(header)) if c != 2 or any(line[2] for line in cells)]
    lines = align(*_columns([header, *cells], shown)).split("\n")
    body = max(map(len, lines)) - max(len(line[-1]) for line in (header, *cells))
    weights = [True, *(row.chosen for row in rows)]
    return "\n".join(
        (styled(line[:body], "bold") if bold else line[:body]) + styled(line[body:], "faint")
        for line, bold in zip(lines, weights, strict=True)
    )


def _columns(lines: Sequence[Sequence[str]], shown: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows with these columns alone."""
    header, *rows = [[line[c] for c in shown] for line in lines]
    return header, rows


def _errors(errors: Sequence[float | None], *, percent: bool) -> str:
    known = [e for e in errors if e is not None]
    if not known:
        return ""
    return _cell([100 * e for e in known], 2) + " %" if percent else _cell(known, None)


def _cell(values: Sequence[float], digits: int | None) -> str:
    """A number; mean and standard deviation of several."""
    shown = [np.mean(values), np.std(values, ddof=1)] if len(values) > 1 else [values[0]]
    return " ± ".join(f"{x:.4g}" if digits is None else f"{x:.{digits}f}" for x in shown)
