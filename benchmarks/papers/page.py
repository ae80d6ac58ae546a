"""The tables of docs/papers.md and of this folder's README.md, written from the kept rows.

A table stands behind a mark that names it, and is replaced as a whole; all else in the files is written by hand:

    <!-- verdicts/NWS15, Table 1 -->      a printed table: one line a cell, the printed number, ours and the verdict's mark
    <!-- verdicts/Sentences -->           every sentence that was examined
    <!-- nws15_table1/paired -->          a table of an experiment, by its name
    <!-- hours/full -->                   what the full forms take
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import pandas as pd

from benchmarks.papers.experiment import Scope
from benchmarks.papers.kept_rows import FOLDER, kept_frame
from benchmarks.papers.registry import experiment_named
from benchmarks.papers.tables import markdown
from benchmarks.papers.verdicts import NOT_REPRODUCED, NOT_RUN, OTHER_DATA, REPRODUCED, UNDECIDED, hours, rounded, verdict_table
from formulations.errors import InvalidInputError
from prunemodels.files.outputs import OutputFiles
from prunemodels.plots.picture import save_picture

PAGES = tuple(FOLDER.parents[2] / name for name in ("docs/papers.md", "benchmarks/papers/README.md"))

MARK = re.compile(r"<!-- (\w+)/(.+) -->\n\n(?:(?:\|.*\n)+\n?)*")

SIGNS = {REPRODUCED: " ✓", UNDECIDED: " (✓)", NOT_REPRODUCED: " ✗"}

KINDS = {"% of unpruned cost": "cost", "rise of the error": "error", "% of features": "cost", "test error": "error"}
"""The two columns of a table that its quantities belong to."""


PICTURE = PAGES[0].parent / "_static" / "papers.svg"


def write_pages() -> str:
    """Renew the tables of all pages, and the picture of NWS15's curves; returns the files' names."""
    verdicts, nws15 = blocks(verdict_table()), experiment_named("nws15_table1")
    save_picture(nws15.present(kept_frame(nws15), Scope((), 0, full=True)).figures["curves"], PICTURE)
    with OutputFiles() as outputs:
        for place in PAGES:
            outputs.aside(place).write_text(renewed(place.read_text(), verdicts))
    return "\n".join(map(str, (*PAGES, PICTURE)))


def renewed(text: str, verdicts: Mapping[str, str]) -> str:
    """A page with the table behind each mark as the kept rows have it."""

    def table(mark: re.Match[str]) -> str:
        known = verdicts if mark[1] == "verdicts" else _tables(mark[1])
        if mark[2] not in known:
            raise InvalidInputError(f"{mark[0].splitlines()[0]} names no table; give one of {', '.join(known)}")
        return f"<!-- {mark[1]}/{mark[2]} -->\n\n{known[mark[2]]}\n\n"

    return MARK.sub(table, text)


@cache
def _tables(name: str) -> dict[str, str]:
    """The tables of an experiment from its kept rows, none without any; and what the full forms take."""
    if name == "hours":
        return {"full": markdown(hours())}
    experiment = experiment_named(name)
    frame = kept_frame(experiment)
    shown = {} if frame.empty else experiment.present(frame, Scope((), 0, full=True)).tables
    return {title: markdown(table) for title, table in shown.items()}


def blocks(table: pd.DataFrame) -> dict[str, str]:
    """The verdicts of each printed table by its source, and all sentences that were examined."""
    shown = rounded(table[~table["verdict"].isin((OTHER_DATA, NOT_RUN))])
    numbers = shown[~table.loc[shown.index, "ours"].map(lambda ours: isinstance(ours, str))]
    found = {}
    for source, at in numbers.groupby("source", sort=False):
        lines: dict[tuple[str, str], dict[str, str]] = {}
        for row in at.to_dict("records"):
            kind = KINDS.get(row["quantity"], row["quantity"])
            line = lines.setdefault((row["data"], row["method"]), {"data": row["data"], "of": row["method"]})
            line[f"{kind}, printed"] = row["published"]
            line[f"{kind}, here"] = f"{row['ours']} ± {row['interval'] or '?'}{SIGNS.get(row['verdict'], '')}"
        found[str(source)] = markdown(pd.DataFrame(lines.values()))
    sentences = shown.drop(index=numbers.index)
    about = (sentences["data"] + ", " + sentences["method"] + sentences["quantity"]).str.removeprefix(", ")
    here = sentences["ours"] + sentences["verdict"].map(SIGNS).fillna("")
    told = pd.DataFrame({"source": sentences["source"], "about": about, "the paper": sentences["published"], "here": here})
    return {**found, "Sentences": markdown(told)}
