r"""Numbers as people write them in cells: decimal commas, thousands, currencies, and words that stand for a missing value.

Spaces and apostrophes may stand for thousands, too; there may be the sign of a currency or of per cent; (5) and 5- are -5, as in
accounts. What a cell means that may be read in two ways, its column says: `prunemodels.number_columns`.
"""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

Mark = Literal["point", "comma"]

EMPTY = frozenset(
    {"#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN"}
    | {"None", "n/a", "nan", "null"}
)
"""What pandas takes for an empty cell in all columns, beside nothing at all."""

_WORDS = """
?|??|???|-|--|---|\u2013|\u2014|.|..|...|*|/|na|n/a|n.a.|n.a|n. a.|#n/a|(null)|none|nil|missing|unknown|unk|not known|nd|n.d.|n/d
|not available|not applicable|undefined|no data|tbd|keine|keiner|keine angabe|k.a.|k. a.|unbekannt|nicht bekannt|fehlt|fehlend
|leer|inconnu|inconnue|manquant|desconocido|sconosciuto|onbekend|ok\u00e4nd|ukendt|ukjent|#value!|#div/0!|#num!|#ref!|#name?|#null!"""

MISSING = frozenset({"", *_WORDS.replace("\n", "").split("|"), *(word.casefold() for word in EMPTY)})
"""Words for a missing value, in small letters, in columns whose other cells are numbers; the last are what spreadsheets write."""

_UNIT = r"(?:[$\u20ac\u00a3\u00a5\u20b9]|EUR|USD|GBP|CHF|JPY)"
_GAPS = " \u00a0\u2009\u202f'\u2019"
_CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+\u2212]?)\s*(?P<before>{_UNIT}?)\s*(?P<minus>[-\u2212]?)"
    rf"(?P<body>[0-9.,][0-9.,{_GAPS}]*(?<![{_GAPS}])|inf(?:inity)?)(?P<exponent>(?:e[+-]?[0-9]+)?)"
    rf"\s*(?P<after>(?:{_UNIT}|%)?)\s*(?P<behind>[-\u2212]?)\s*(?P<close>\))?",
    re.IGNORECASE,
)
_GROUPED = r"[1-9][0-9]{{0,2}}(?P<group>[{}" + _GAPS + r"])[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*"
_INDIAN = r"[1-9][0-9]?(?:,[0-9]{2})+(?P<lakh>,)[0-9]{3}"
_BODY = {
    "point": re.compile(rf"(?:[0-9]+|{_GROUPED.format(',')}|{_INDIAN})(?:\.[0-9]*)?|\.[0-9]+|inf(?:inity)?", re.IGNORECASE),
    "comma": re.compile(rf"(?:[0-9]+|{_GROUPED.format('.')})(?:,[0-9]*)?|,[0-9]+|inf(?:inity)?", re.IGNORECASE),
}
_SIMPLE = re.compile(r"([+-]?)([0-9]+)(?:([.,])([0-9]+))?")
_THOUSANDS = {",": "commas", ".": "points", "'": "apostrophes", "\u2019": "apostrophes"}

ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?")


class Number(NamedTuple):
    """One reading of a cell: the number in Python's spelling, and what was taken, for the user."""

    text: str
    taken: tuple[str, ...]


class Written(NamedTuple):
    """What the text of a cell may mean: its readings, None where it has none, and the sign of its unit."""

    point: Number | None
    comma: Number | None
    unit: str

    @property
    def marks(self) -> set[Mark]:
        """The mark that the cell must have, if it can have only one; (1) of `prunemodels.number_columns`."""
        if self.point is None or self.comma is None:
            return {"comma" if self.point is None else "point"}
        return set()

    def text(self, mark: Mark) -> str | None:
        """The number with a decimal mark, in Python's spelling; None where it has none."""
        number = self.point if mark == "point" else self.comma
        return None if number is None else number.text

    @property
    def is_open(self) -> bool:
        """Whether the cell is another number with each mark."""
        return not self.marks and self.text("point") != self.text("comma")


def written(cell: str) -> Written | None:
    """The readings of a cell; None if it is no number."""
    simple = _SIMPLE.fullmatch(cell)
    if simple is not None:  # nearly all cells of large tables: digits, and perhaps a mark that cannot be for thousands
        sign, whole, mark, decimals = simple.groups()
        if mark is None:
            number = Number(f"{sign.replace('+', '')}{whole}", ())
            return Written(number, number, "")
        if len(decimals) != 3 or len(whole) > 3 or whole[0] == "0":
            number = Number(f"{sign.replace('+', '')}{whole}.{decimals}", ("decimal comma",) if mark == "," else ())
            return Written(number, None, "") if mark == "." else Written(None, number, "")
    found = _CELL.fullmatch(cell.strip())
    if found is None or bool(found["open"]) != bool(found["close"]):
        return None
    signs = [found["open"] or "", found["sign"].replace("+", ""), found["minus"], found["behind"]]
    negative, units = [sign for sign in signs if sign], [unit for unit in (found["before"], found["after"]) if unit]
    if len(negative) > 1 or len(units) > 1 or (found["minus"] and found["sign"]):
        return None
    taken = [f"{units[0]} left out"] if units else []
    if found["open"] or found["behind"]:
        taken.append("5- as -5" if found["behind"] else "(5) as -5")
    point, comma = (_number(found, "-" if negative else "", mark, taken) for mark in ("point", "comma"))
    return None if point is None and comma is None else Written(point, comma, units[0] if units else "")


def _number(found: re.Match[str], sign: str, mark: str, taken: list[str]) -> Number | None:
    """One reading; an exponent stands behind digits without groups only."""
    body = _BODY[mark].fullmatch(found["body"])
    group = body and (body["group"] or body.groupdict().get("lakh"))
    if body is None or (group and found["exponent"]):
        return None
    decimal = "." if mark == "point" else ","
    digits = re.sub(rf"[^0-9a-z{decimal}]", "", body[0], flags=re.IGNORECASE).replace(",", ".")
    more = ["decimal comma"] if mark == "comma" and "," in body[0] else []
    more += [f"{_THOUSANDS.get(group, 'spaces')} for thousands"] if group else []
    return Number(f"{sign}{digits}{found['exponent']}", (*more, *taken))


def stands_for_missing(cell: Any) -> bool:
    """Whether a cell of a column of numbers is empty, or a word for a missing value."""
    return cell.strip().casefold() in MISSING if isinstance(cell, str) else bool(pd.isna(cell))


def without_missing_words(column: pd.Series[Any]) -> pd.Series[Any]:
    """The column with empty cells in the place of words for a missing value, for a model that has numbers there."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column
    return column.astype(object).mask(column.map(stands_for_missing).astype(bool), np.nan)
