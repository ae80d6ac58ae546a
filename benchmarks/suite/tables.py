"""Results as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from benchmarks.papers.tables import markdown
from benchmarks.suite.results import Result
from benchmarks.suite.study import Row


def report(results: Mapping[str, Result]) -> str:
    """Machines, a summary, ratios and figures of all studies."""
    if not results:
        return "no results"
    tables = [make(results.values()) for make in (summary_table, ratio_table, figure_table)]
    return "\n\n".join(["\n".join(origins(results.values())), *tables])


def origins(results: Iterable[Result]) -> list[str]:
    """One line for each machine, versions and commit, with the studies that were run there."""
    at: dict[str, list[str]] = {}
    for result in results:
        at.setdefault(result.origin.line(), []).append(result.study)
    return [f"{', '.join(studies)}: {line}" for line, studies in at.items()]


def summary_table(results: Iterable[Result]) -> str:
    """A line for every pair of a study: from the least to the largest of its instances."""
    lines = []
    for result in results:
        pairs: dict[tuple[str, str], list[Row]] = {}
        for row in result.rows:
            pairs.setdefault((row.a, row.b), []).append(row)
        for (a, b), rows in pairs.items():
            lines.append(
                {
                    "study": result.study,
                    "A / B": f"{a} / {b}",
                    "instances": len(rows),
                    "A, s": between([row.seconds_a for row in rows]),
                    "B, s": between([row.seconds_b for row in rows]),
                    "ratio": f"**{between([row.ratio for row in rows])}**",
                    "DESIGN": rows[0].design or "-",
                }
            )
    return markdown(pd.DataFrame(lines)) if lines else "no ratios"


def ratio_table(results: Iterable[Result]) -> str:
    """Every pair: seconds of both, A / B with its spread, and the design document's figure. Below 1, A is faster."""
    lines = [
        {
            "instance": row.instance,
            "A / B": f"{row.a} / {row.b}",
            "A, s": number(row.seconds_a),
            "B, s": number(row.seconds_b),
            "ratio": f"**{number(row.ratio)}**",
            "spread": spread(row.low, row.high, row.runs),
            "DESIGN": row.design or "-",
        }
        for result in results
        for row in result.rows
    ]
    return markdown(pd.DataFrame(lines)) if lines else "no ratios"


def figure_table(results: Iterable[Result]) -> str:
    """Every single number."""
    lines = [
        {"instance": figure.instance, "what": figure.what, "found": number(figure.value), "DESIGN": figure.design or "-"}
        for result in results
        for figure in result.figures
    ]
    return markdown(pd.DataFrame(lines)) if lines else "no figures"


def spread(low: float, high: float, runs: int) -> str:
    """From least to largest ratio of a round; a single run has none."""
    return "one run" if runs == 1 else f"{number(low)} to {number(high)}"


def between(values: Sequence[float]) -> str:
    """From the least to the largest; one number if both print alike."""
    return " to ".join(dict.fromkeys(number(value) for value in (min(values), max(values))))


def number(value: float | None) -> str:
    """Three significant digits, whole numbers in full."""
    if value is None:
        return "no end"
    if value == int(value) and abs(value) < 1e12:
        return f"{int(value):,}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
