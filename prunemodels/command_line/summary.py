"""What a command says when it is done: one renderer for all commands, and the tables that they share.

A summary is a record, which ``--json`` prints, and lines for a terminal. A line with a label is wrapped behind it; a line of
plain text, such as one of a table, stays as it is.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from formulations.shown import align, error_name, is_rate
from prunemodels.command_line.process import DONE
from prunemodels.command_line.terminal import styled
from prunemodels.evaluation.limit_uses import LimitUse, use_in_words

WIDTH = 118
"""Characters of a line."""

LABEL = 15
"""Characters of the labels."""

MOST_COLUMNS = 6
"""The largest number of unused columns that a line names."""

Figures = Mapping[str, Any]
"""Cost, errors and splits of a forest: ``cost``, ``sample_error``, ``data_error`` (None without labels), ``splits``."""


def limit_figures(uses: Sequence[LimitUse]) -> list[dict[str, Any]]:
    """What held-out examples use of limits, for ``--json``; an interval's ends are None where it has none."""
    figures = []
    for seen in uses:
        low, high = (None if math.isnan(end) else end for end in (seen.low, seen.high))
        figures.append({"limit": seen.limit.title, "at_most": seen.at_most, "use": seen.use, "low": low, "high": high})
        figures[-1] |= {"over": seen.is_over, "told": use_in_words(seen)}
    return figures


def limit_lines(figures: Sequence[Mapping[str, Any]]) -> list[Line]:
    """A line a limit, as a warning where it is exceeded."""
    return [Line("" if k else "limits", f["told"], "warning" if f["over"] else "") for k, f in enumerate(figures)]


class Line(NamedTuple):
    """A label and its text, perhaps in a style of `prunemodels.command_line.terminal`."""

    label: str
    text: str
    style: str = ""


@dataclass(frozen=True)
class Summary:
    """The result of a command.

    Parameters
    ----------
    record
        what ``--json`` prints.
    lines
        what a terminal shows, beside the columns that were not used and the files written.
    written, ignored
        the files written, and the columns of the data that were not used; the record holds both.
    hints
        what a user may want to know or to change.
    next
        the command to type next; empty: none.
    exit_status
        see `prunemodels.command_line.process`.
    """

    record: Mapping[str, Any]
    lines: Sequence[str | Line]
    written: Sequence[Any] = ()
    ignored: Sequence[str] = ()
    hints: Sequence[str] = ()
    next: str = ""
    exit_status: int = DONE

    def json(self) -> str:
        """One JSON object, for programs."""
        more = {"written": [str(file) for file in self.written], "hints": list(self.hints)}
        return json.dumps(more | dict(self.record), indent=2, allow_nan=False)

    def text(self) -> str:
        """The text that a terminal shows."""
        unused = ", ".join(self.ignored[:MOST_COLUMNS]) + (", ..." if len(self.ignored) > MOST_COLUMNS else "")
        lines: list[str | Line] = [*self.lines, *(Line("hint", hint) for hint in self.hints)]
        lines += [Line("not used", f"columns {unused}")] if self.ignored else []
        lines += [f"{'written':{LABEL}}{file}" for file in self.written]
        lines += [f"{'next':{LABEL}}{self.next}"] if self.next else []
        return "\n".join(line if isinstance(line, str) else _wrapped(line) for line in lines).replace("\u00a0", " ")


def _wrapped(line: Line) -> str:
    rows = textwrap.wrap(line.text, WIDTH - LABEL, break_on_hyphens=False, break_long_words=False) or [""]
    shown = [styled(row, line.style) if line.style else row for row in rows]
    return "\n".join(f"{line.label if k == 0 else '':{LABEL}}{row}" for k, row in enumerate(shown))


def figures(cost: float, sample_error: float, data_error: float | None, splits: int) -> dict[str, Any]:
    """Figures of a forest.

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
    return {"cost": cost, "sample_error": sample_error, "data_error": data_error, "splits": splits}


def row(budget: str, *some: Figures, chosen: bool = False) -> dict[str, Any]:
    """A row of `budget_table`: a forest within a budget, or one forest a seed; `chosen`: this is the forest that is saved."""
    return {"budget": budget, "figures": list(some), "chosen": chosen}


def percent(rate: float, digits: int = 2) -> str:
    """0.0751 as ``7.51 %``."""
    return f"{100 * rate:.{digits}f} %"


def shown_error(error: float, measure: str) -> str:
    """An error rate in per cent, any other measure as a number."""
    return percent(error) if is_rate(measure) else f"{error:.4g}"


def model_name(model: Any) -> str:
    """What a model is; of one that `prunemodels train` prepared, its last step."""
    kind = type(model).__name__
    return f"prepared {type(model[-1]).__name__}" if kind == "PreparedModel" else kind


def measure_name(measure: str) -> str:
    """The header of a column of errors."""
    return "error rate" if is_rate(measure) else error_name(measure)


def budget_table(
    rows: Sequence[Mapping[str, Any]], measure: str, *, source: str, error: str = "error", cost: str = "cost"
) -> str:
    """The table of ``demo``, ``path``, ``prune`` and ``compare``, with styles on terminals; means and deviations of seeds.

    The error that pruning minimises, that of single trees on their training data as a rule, comes last and faint: it is 0 for
    fully grown trees, and says little about new examples.

    Parameters
    ----------
    measure
        what the errors are, see `Ensemble.measure`; error rates are shown in per cent.
    error, cost
        headers of these columns: which error, of which examples; cost in which unit.
    source
        the examples on which the trees' error was measured, such as "in-bag".
    """
    header = ["budget", cost, error, "splits", f"single trees, {source}"]
    cells = [
        [
            entry["budget"],
            _cell([f["cost"] for f in entry["figures"]], 1),
            _errors([f["data_error"] for f in entry["figures"]], measure),
            f"{sum(f['splits'] for f in entry['figures']) / len(entry['figures']):,.0f}",
            _errors([f["sample_error"] for f in entry["figures"]], measure),
        ]
        for entry in rows
    ]
    shown = [c for c in range(len(header)) if c != 2 or any(line[2] for line in cells)]
    last = max(len(line[-1]) for line in (header, *cells))
    lines = align([header[c] for c in shown], [[line[c] for c in shown] for line in cells]).split("\n")
    body = max(map(len, lines)) - last
    bold = [True, *(entry["chosen"] for entry in rows)]
    return "\n".join(
        (styled(line[:body], "bold") if strong else line[:body]) + styled(line[body:], "faint")
        for line, strong in zip(lines, bold, strict=True)
    )


def _errors(errors: Sequence[float | None], measure: str) -> str:
    known = [e for e in errors if e is not None]
    if not known:
        return ""
    return _cell([100 * e for e in known], 2) + " %" if is_rate(measure) else _cell(known, None)


def _cell(values: Sequence[float], digits: int | None) -> str:
    """A number; mean and standard deviation of several."""
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((x - mean) ** 2 for x in values) / max(1, len(values) - 1))
    return " ± ".join(f"{x:.4g}" if digits is None else f"{x:.{digits}f}" for x in (mean, deviation)[: min(2, len(values))])
