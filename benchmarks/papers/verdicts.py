"""A verdict on every published number and sentence, from the rows that the repository keeps, and the pages that show them.

Ours is the mean over n repeats (seeds) with standard deviation s; the paper's is p, over n_p runs, with its standard deviation
s_p where it prints one, else 0. The interval is that of Welch, for the difference of two means at 95 %:

    h = t(0.975, df) * sqrt(s^2 / n + s_p^2 / n_p),     df by Welch and Satterthwaite                                     (1)

What each verdict means stands in ``README.md`` beside this file. Each number that is not reproduced has the reason that was
tested, or "open" and what was tried.

On MiniBooNE and Forest the papers' data are there in part only (`benchmarks.papers.published.SUBSETS`). They have verdicts all
the same, with that reservation. The errors at the levels of NWS15's Table 1 are matched to the paper's ratio: there its costs
are what is tested.

In docs/papers.md a table stands behind a mark that names it, and is replaced as a whole; all else in the file is written by hand:

    <!-- verdicts/NWS15, Table 1 -->      a printed table: one line a cell, the printed number, ours and the verdict's mark
    <!-- verdicts/Sentences -->           every sentence that was examined
    <!-- nws15_table1/paired -->          a table of an experiment, by its name
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import pandas as pd
from scipy import stats

from benchmarks.measuring import frame_markdown, spread_of
from benchmarks.papers.experiment import Comparison
from benchmarks.papers.published import NAMES, printed
from benchmarks.papers.running import FOLDER, experiment_named, experiments, kept_frame
from formulations.errors import InvalidInputError
from prunemodels.files.outputs import OutputFiles
from prunemodels.plots.picture import save_picture

LEVEL = 0.975
FEWEST, ENOUGH = 3, 10  # repeats that an interval needs, and that make it narrow enough for a verdict of "reproduced"
REPRODUCED, NOT_REPRODUCED, OTHER_DATA = "reproduced", "not reproduced", "other data"
UNDECIDED, TOO_FEW, NOT_RUN = "undecided", "too few repeats", "not run"
COLUMNS = ("source", "data", "method", "quantity", "published", "ours", "interval", "repeats", "verdict", "reason")


def half_width(values: Sequence[float], published_sd: float = math.nan, published_runs: int = 10) -> float:
    """(1); NaN with fewer than `FEWEST` values."""
    n = len(values)
    if n < FEWEST:
        return math.nan
    ours = spread_of(values) ** 2 / n
    theirs = 0.0 if math.isnan(published_sd) else published_sd**2 / published_runs
    if ours + theirs == 0:
        return 0.0
    df = (ours + theirs) ** 2 / (ours**2 / (n - 1) + theirs**2 / (published_runs - 1))
    return float(stats.t.ppf(LEVEL, df)) * math.sqrt(ours + theirs)


def interval_of(comparison: Comparison) -> float:
    """(1) of one published number; NaN of a sentence."""
    return half_width(comparison.values, comparison.published_sd, comparison.published_runs)


def verdict_on(comparison: Comparison) -> str:
    if comparison.other_data:
        return OTHER_DATA
    if comparison.holds is not None:
        return REPRODUCED if comparison.holds else NOT_REPRODUCED
    half = interval_of(comparison)
    if math.isnan(half):
        return TOO_FEW
    if abs(float(comparison.ours) - float(comparison.published)) > half:
        return NOT_REPRODUCED
    return REPRODUCED if len(comparison.values) >= ENOUGH else UNDECIDED


def parts_of(figure: str) -> tuple[str, str, str]:
    """Data set, method and quantity of a label ``DATA, METHOD: QUANTITY``; what a label lacks is empty."""
    subject, _, quantity = figure.rpartition(": ")
    known = [name for name in NAMES.values() if (subject or quantity).startswith(name)]
    if not known:
        return "", subject, quantity
    if not subject:
        return known[0], quantity.removeprefix(known[0]).lstrip(", "), ""
    return known[0], subject.removeprefix(known[0]).lstrip(", "), quantity


def verdict_table(folder: Path = FOLDER) -> pd.DataFrame:
    """One row for each published number and sentence."""
    answers: dict[tuple[str, str], Comparison] = {}
    for experiment in experiments().values():
        frame = kept_frame(experiment, folder)
        if len(frame):
            found = (replace(c, why=c.why or experiment.why) for c in experiment.compare(frame))
            answers |= {(experiment.source, c.figure): c for c in found}
    rows = []
    for source, figure, published, absent in printed():
        answer = answers.pop((source, figure), None)
        blank = (source, *parts_of(figure), published, "", math.nan, 0, OTHER_DATA if absent else NOT_RUN, "")
        rows.append(blank if answer is None else _row(source, answer))
    rows += [_row(source, answer) for (source, _), answer in answers.items()]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"published": object, "ours": object})


def _row(source: str, c: Comparison) -> tuple[str | float | int, ...]:
    values, verdict = (c.published, c.ours, interval_of(c), len(c.values)), verdict_on(c)
    return (source, *parts_of(c.figure), *values, verdict, c.why if verdict == NOT_REPRODUCED else "")


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """How many numbers and sentences of each source and data set have which verdict."""
    sizes = table.groupby(["source", "data", "verdict"], sort=False).size().unstack("verdict", fill_value=0)
    order = [v for v in (REPRODUCED, UNDECIDED, NOT_REPRODUCED, TOO_FEW, NOT_RUN, OTHER_DATA) if v in sizes]
    return sizes[order].reset_index().rename_axis(columns=None)


def rounded(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(
        **{c: [f"{v:.4g}" if isinstance(v, float) and not math.isnan(v) else v for v in table[c]] for c in ("published", "ours")},
        interval=["" if math.isnan(h) else f"{h:.2g}" for h in table["interval"]],
    )


PAGE = FOLDER.parents[2] / "docs" / "papers.md"
MARK = re.compile(r"<!-- (\w+)/(.+) -->\n\n(?:(?:\|.*\n)+\n?)*")
SIGNS = {REPRODUCED: " ✓", UNDECIDED: " (✓)", NOT_REPRODUCED: " ✗"}
KINDS = {"% of unpruned cost": "cost", "rise of the error": "error", "% of features": "cost", "test error": "error"}
"""The two columns of a table that its quantities belong to."""


PICTURE = PAGE.parent / "_static" / "papers.svg"


def write_pages() -> str:
    """Renew the tables of the page, and the picture of NWS15's curves; returns the files' names."""
    verdicts, nws15 = blocks(verdict_table()), experiment_named("nws15_table1")
    save_picture(nws15.present(kept_frame(nws15)).figures["curves"], PICTURE)
    with OutputFiles() as outputs:
        outputs.aside(PAGE).write_text(renewed(PAGE.read_text(), verdicts))
    return f"{PAGE}\n{PICTURE}"


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
    """The tables of an experiment from its kept rows; none without any."""
    experiment = experiment_named(name)
    frame = kept_frame(experiment)
    shown = {} if frame.empty else experiment.present(frame).tables
    return {title: frame_markdown(table) for title, table in shown.items()}


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
        found[str(source)] = frame_markdown(pd.DataFrame(lines.values()))
    sentences = shown.drop(index=numbers.index)
    about = (sentences["data"] + ", " + sentences["method"] + sentences["quantity"]).str.removeprefix(", ")
    here = sentences["ours"] + sentences["verdict"].map(SIGNS).fillna("")
    told = pd.DataFrame({"source": sentences["source"], "about": about, "the paper": sentences["published"], "here": here})
    return {**found, "Sentences": frame_markdown(told)}
