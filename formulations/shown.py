"""How answers show themselves: a title, a small table and notes, as text in a terminal and as HTML in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from html import escape
from numbers import Real
from textwrap import fill
from typing import Any

import numpy as np

WIDTH = 100
"""Columns of a terminal that notes fill."""

CELL = "text-align:right;padding:.15em .8em .15em 0;white-space:nowrap"
LABEL = "text-align:left;font-weight:normal;padding:.15em 1.2em .15em 0"
NOTE = "margin:.3em 0;max-width:46em"
"""Styles without colours, so that a card suits light and dark pages."""


@dataclass(frozen=True)
class Card:
    """What an object says of itself."""

    title: str  # one line
    # a label and one cell or more each; every row has as many as `header`, where that is given.
    rows: tuple[tuple[str, ...], ...] = ()
    header: tuple[str, ...] = ()  # headings of the columns; empty: none
    notes: tuple[str, ...] = ()  # sentences below the table
    first: tuple[str, ...] = ()  # sentences above it: what must not be missed

    def text(self) -> str:
        """The card in plain text."""
        parts = [self.title, *(fill(line, WIDTH, break_on_hyphens=False) for line in self.first)]
        if self.rows:
            header = self.header or ("",) * len(self.rows[0])
            table = align(header, self.rows, left=1).splitlines()[0 if self.header else 1 :]
            parts += ["", *(f"  {line}".rstrip() for line in table)]
        notes = [fill(note, WIDTH, break_on_hyphens=False) for note in self.notes]
        return "\n".join([*parts, *([""] if notes else []), *notes])

    def html(self) -> str:
        """The card as HTML without scripts, colours or anything from elsewhere; all text is escaped."""
        styles = (LABEL, *(CELL for _ in self.header[1:]))
        head = "".join(
            f'<th scope="col" style="{how}">{escape(cell)}</th>' for how, cell in zip(styles, self.header, strict=False)
        )
        body = "".join(
            f'<tr><th scope="row" style="{LABEL}">{escape(row[0])}</th>'
            + "".join(f'<td style="{CELL}">{escape(cell)}</td>' for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        table = f"<table>{f'<thead><tr>{head}</tr></thead>' if head else ''}<tbody>{body}</tbody></table>" if body else ""
        above = "".join(f'<p style="{NOTE}"><strong>{escape(line)}</strong></p>' for line in (self.title, *self.first))
        notes = "".join(f'<p style="{NOTE}">{escape(note)}</p>' for note in self.notes)
        return f'<div style="overflow-x:auto">{above}{table}{notes}</div>'


class Shown(ABC):
    """An object with a card: Jupyter shows it as HTML."""

    @abstractmethod
    def _card(self) -> Card:
        """What the object says of itself."""

    def _repr_html_(self) -> str:
        """The card, for Jupyter."""
        return self._card().html()


class Brief:
    """A dataclass, declared with ``repr=False``, that prints arrays by their shapes, and long tuples by their lengths."""

    def __repr__(self) -> str:
        data: Any = self
        parts = (f"{field.name}={_in_short(getattr(data, field.name))}" for field in fields(data) if field.repr)
        return f"{type(self).__name__}({', '.join(parts)})"


def _in_short(value: object) -> str:
    """One field of a `Brief`."""
    if isinstance(value, np.ndarray):
        return f"<{' x '.join(f'{n:,}' for n in value.shape)} {value.dtype}>"
    if isinstance(value, tuple | list) and len(value) > 4:
        return f"<{len(value):,} members>"
    return str(value) if isinstance(value, Fraction) else repr(value)


def align(header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 0, gap: int = 3) -> str:
    """A table in plain text: the first `left` columns flush left, numbers flush right."""
    table = [header, *rows]
    widths = [max(len(row[c]) for row in table) for c in range(len(header))]
    return "\n".join(
        (" " * gap)
        .join(cell.ljust(w) if c < left else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths, strict=True)))
        .rstrip()
        for row in table
    )


def spread(n: int, most: int) -> list[int]:
    """At most `most` of the numbers below n, evenly spread, the first and the last among them."""
    if n <= most:
        return list(range(n))
    return sorted({round(k * (n - 1) / (most - 1)) for k in range(most)})


def row_of(source: str, i: int) -> str:
    """What messages call row i of a file or a table in chunks: its rows are counted from 1, without the header.

    Entries of arrays in memory are called ``y[i]`` and count from 0, as Python does.
    """
    return f"{source}, row {i + 1:,}"


def same_but_case(name: str) -> str:
    """A name without case, blanks, hyphens and underscores: names that are equal here were probably meant to be the same."""
    return "".join(letter for letter in name.casefold() if not letter.isspace() and letter not in "-_")


def probably_meant(absent: Sequence[str], there: Sequence[str]) -> str:
    """The end of a message on absent names, with the names that differ from them in case and blanks alone; empty without any."""
    alike = {same_but_case(name): name for name in there if name not in absent}
    pairs = [f"{alike[same_but_case(name)]!r} for {name!r}" for name in absent if same_but_case(name) in alike]
    return f"; perhaps it says {', '.join(pairs[:6])}{', ...' * (len(pairs) > 6)}" if pairs else ""


def cell(value: object) -> str:
    """A cell or the label of a row in a message: 7, not ``np.int64(7)``."""
    return repr(value.item() if hasattr(value, "dtype") and hasattr(value, "item") else value)


def rate(error: float, measure: str, digits: int = 1) -> str:
    """An error as text: an error rate in per cent, any other measure as a number; see `is_rate`."""
    return f"{100 * error:.{digits}f} %" if is_rate(measure) else f"{error:.4g}"


def is_rate(measure: str) -> bool:
    """Whether errors are shares of wrong predictions.

    `measure`: an `Ensemble.measure`; or a task, whose default measure it then is.
    """
    return measure in ("error rate", "classification")


def error_name(measure: str) -> str:
    """What a table calls errors: wrong predictions, or the measure's own name; `measure` as in `is_rate`."""
    return "wrong predictions" if is_rate(measure) else {"regression": "mean squared error"}.get(measure, measure)


def shown(value: Any) -> str:
    """A value for a message: short ones as they are written, of others the type."""
    empty = isinstance(value, (tuple, list, dict)) and not value
    if value is None or empty or isinstance(value, (bool, np.bool_, str, bytes, Real, Decimal)):
        try:
            text = repr(value)
        except ValueError:  # an integer of more digits than Python writes out
            return "a number of very many digits"
        return text if len(text) <= 60 else f"{text[:57]}..."
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return article(type(value).__name__)


def article(noun: str) -> str:
    """A noun with its article."""
    return f"{'an' if noun[0] in 'AEIOUaeio' else 'a'} {noun}"
