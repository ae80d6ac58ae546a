"""How the columns of a table were read: what a user looks over before trusting what was learned from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from formulations.shown import align
from prunemodels.command_line.process import SETTINGS
from prunemodels.stages.table_preparation import as_floats, kind_of, level_words
from prunemodels.statements.wording import count, share
from prunemodels.written_numbers import TAKEN

YES_NO = (("no", "yes"), ("n", "y"), ("False", "True"), ("f", "t"), ("0", "1"), ("nein", "ja"), ("non", "oui"), ("no", "s\xed"))
"""Pairs of words, of which a column of two may be one."""


def columns_of(table: pd.DataFrame, roles: dict[str, str]) -> list[dict[str, Any]]:
    """A record for each column: what it holds, how many cells are missing, which values, and what was taken for numbers.

    `roles`: what columns are that are no features.
    """
    taken = table.attrs.get(TAKEN, {})
    return [
        {"column": name, "role": roles.get(name, "feature")} | _read(column, name) | {"taken": taken.get(name, [])}
        for name, column in ((str(name), column) for name, column in table.items())
    ]


def _read(column: pd.Series[Any], name: str) -> dict[str, Any]:
    """What one column holds."""
    present, kind = column.dropna(), kind_of(column, name)
    missing = len(column) - len(present)
    if not len(present):
        return {"read_as": "empty", "missing": missing, "values": ""}
    words = sorted({str(word) for word in level_words(present)}) if kind == "category" or present.nunique() == 2 else []
    if tuple(word.casefold() for word in words) in {tuple(word.casefold() for word in pair) for pair in YES_NO}:
        parts = [f"{word} {share(float((level_words(present) == word).mean()), 0)}" for word in words]
        return {"read_as": "yes/no", "missing": missing, "values": ", ".join(parts)}
    if kind == "number":
        numbers = as_floats(pd.Series(pd.to_numeric(present)))
        return {"read_as": "number", "missing": missing, "values": f"{numbers.min():g} to {numbers.max():g}"}
    if kind == "date":
        return {"read_as": "date", "missing": missing, "values": f"{str(present.min())[:10]} to {str(present.max())[:10]}"}
    few = [word if len(word) <= SETTINGS.word else f"{word[: SETTINGS.word]}..." for word in words[: SETTINGS.few_words]]
    more = f", ... ({len(words):,} words)" if len(words) > len(few) else ""
    return {"read_as": "words", "missing": missing, "values": ", ".join(few) + more}


def columns_table(found: Sequence[dict[str, Any]], n_rows: int) -> str:
    """The columns on one screen; many are grouped by what they hold."""
    header = ["column", "read as", "missing", "values", "from"]
    if len(found) <= SETTINGS.evidence_lines:
        rows = [
            [
                column["column"] + f" ({column['role']})" * (column["role"] != "feature"),
                column["read_as"],
                f"{column['missing']:,}" if column["missing"] else "",
                column["values"],
                ", ".join(column["taken"]),
            ]
            for column in found
        ]
        return _without_empty(header, rows)
    # one row for all columns that were read in the same way, from the same words
    groups: dict[tuple[str, str, bool, str], list[dict[str, Any]]] = {}
    for column in found:
        role = "" if column["role"] == "feature" else column["role"]
        key = role, column["read_as"], bool(column["missing"]), ", ".join(column["taken"])
        groups.setdefault(key, []).append(column)
    rows = []
    for (role, kind, gaps, taken), columns in groups.items():
        names = [column["column"] for column in columns]
        few = ", ".join(names[: SETTINGS.few_words]) + f" and {len(names) - SETTINGS.few_words:,} more" * (
            len(names) > SETTINGS.few_words
        )
        most = max(column["missing"] for column in columns)
        told = f"up to {share(most / n_rows)}" if gaps else ""
        rows.append([role or count(len(names), "column"), kind, told, few, taken])
    return _without_empty([header[0], header[1], header[2], "which", header[4]], rows)


def _without_empty(header: list[str], rows: list[list[str]]) -> str:
    """A table without the columns that are empty in every row."""
    kept = [k for k in range(len(header)) if any(row[k] for row in rows)]
    return align([header[k] for k in kept], [[row[k] for k in kept] for row in rows], left=len(kept))
