"""Published figures beside ours, over all experiments that were run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from benchmarks.papers.registry import experiments
from benchmarks.papers.store import Store
from benchmarks.papers.tables import markdown
from formulations.errors import InvalidInputError

COLUMNS = ("source", "figure", "published", "ours", "sd", "difference", "why")


def comparison_table(out: Path) -> pd.DataFrame:
    """One row a published figure; `difference` is ours less theirs.

    Raises
    ------
    InvalidInputError
        if no experiment with published figures was run on whole data yet.
    """
    rows = []
    for experiment in experiments().values():
        store = Store(out / experiment.name)
        scope = store.last_scope()
        if scope is None:
            continue
        frame = store.frame(experiment.units(scope))
        if frame.empty:
            continue
        rows += [
            (experiment.source, c.figure, c.published, c.ours, c.spread, c.difference, c.why or experiment.why)
            for c in experiment.compare(frame)
        ]
    if not rows:
        raise InvalidInputError(f"{out} holds no results that a paper's stand beside; run an experiment first")
    return pd.DataFrame(rows, columns=list(COLUMNS))


def with_notes(table: pd.DataFrame) -> str:
    """The table as Markdown; the reasons, which many rows share, once each below it."""
    reasons = list(dict.fromkeys(table["why"]))
    numbered = table.assign(why=[f"({reasons.index(reason) + 1})" for reason in table["why"]])
    return "\n\n".join([markdown(numbered), *(f"({k}) {reason}." for k, reason in enumerate(reasons, start=1))])
