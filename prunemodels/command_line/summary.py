"""What a command says when it is done: one renderer for all commands.

A summary is a record, which ``--json`` prints, and lines for a terminal. Both are made of the answers of the Python functions:
`plain` turns an answer into JSON, its ``repr`` is what the terminal shows. A line with a label is wrapped behind it; plain text,
such as a table, stays as it is.
"""

from __future__ import annotations

import json
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from formulations.shown import Shown
from prunemodels.command_line.process import DONE, SETTINGS, styled

HIDDEN = {"problem", "proof"}
"""Fields of answers that JSON leaves out: the instance, and certificates, which may be as large as it."""

OF_NETWORK = ("tail", "head", "start", "end", "transposed")
"""The fields of a tree with paths, of which JSON has the sizes; ``--out`` writes all of it."""


PYTHON = re.compile(r" \((?:pm)?\.\w+\*?(?:\([^()]*\))?\)")
"""The name of a function of Python in brackets, which terminals leave out."""


class Line(NamedTuple):
    """A label and its text, perhaps in a style of `prunemodels.command_line.process`."""

    label: str
    text: str
    style: str = ""


@dataclass(frozen=True)
class Summary:
    """The result of a command: the `record` that ``--json`` prints, by `plain`, and what a terminal shows.

    That are `warnings`, which are to be read before any saving, `lines`, the seconds, what was taken for numbers in
    tables that were `read`, hints on what a user may want to know or to change, columns of the data that were not used
    (`ignored`), the files `written`, and the command to type `next`, if any.
    """

    record: Mapping[str, Any]
    lines: Sequence[str | Line]
    written: Sequence[Any] = ()
    ignored: Sequence[str] = ()
    hints: Sequence[str] = ()
    _: KW_ONLY
    read: Sequence[str] = ()
    next: str = ""
    exit_status: int = DONE
    warnings: Sequence[str] = ()

    def json(self, seconds: float) -> str:
        """One JSON object, for programs; `seconds` is how long the command took."""
        more = {
            "warnings": self.warnings,
            "written": self.written,
            "ignored": self.ignored,
            "read": self.read,
            "hints": self.hints,
            "seconds": seconds,
        }
        return json.dumps(plain(more | dict(self.record)), indent=2, allow_nan=False)

    def text(self, seconds: float) -> str:
        """The text that a terminal shows; `seconds` as in `json`."""
        unused = ", ".join(self.ignored[: SETTINGS.most_names]) + (", ..." if len(self.ignored) > SETTINGS.most_names else "")
        lines: list[str | Line] = [*(Line("read first", warning, "warning") for warning in self.warnings)]
        lines += [*([""] if lines else []), *self.lines, Line("time", f"{seconds:.1f} s")]
        lines += [*(Line("read", sentence) for sentence in self.read), *(Line("hint", hint) for hint in self.hints)]
        lines += [Line("not used", f"columns {unused}")] if self.ignored else []
        lines += [f"{'written':{SETTINGS.label}}{file}" for file in self.written]
        lines += [f"{'next':{SETTINGS.label}}{self.next}"] if self.next else []
        return "\n".join(line if isinstance(line, str) else self._wrapped(line) for line in lines).replace("\u00a0", " ")

    def _wrapped(self, line: Line) -> str:
        rows = textwrap.wrap(line.text, SETTINGS.width - SETTINGS.label, break_on_hyphens=False, break_long_words=False) or [""]
        shown = [styled(row, line.style) if line.style else row for row in rows]
        return "\n".join(f"{line.label if k == 0 else '':{SETTINGS.label}}{row}" for k, row in enumerate(shown))


def plain(value: Any) -> Any:
    """An answer for JSON: fractions as text, dataclasses as objects, arrays as lists, null for NaN and infinity.

    Of a pruning there are cost, splits, and the trees' mean error, which pruning minimises beside the cost.
    """
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return _object(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return [plain(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value if value is None or type(value) in (bool, int, str) else str(value)


def _object(value: Any) -> Any:
    """A dataclass for JSON."""
    if hasattr(value, "kept") and hasattr(value, "n_splits"):
        return plain({"cost": value.cost, "error": value.error, "splits": value.n_splits})
    names = [field.name for field in fields(value) if field.name not in HIDDEN]
    if {*OF_NETWORK} <= {*names}:
        return {"arcs": len(value.tail), "paths": len(value.start), "transposed": value.transposed}
    return {name: plain(getattr(value, name)) for name in names}


def card_of(answer: Shown, title: str = "") -> str:
    """How an answer shows itself, perhaps under another title, without the Python that it proposes to type next.

    What is to be read before it stands above all lines, see `Summary`.
    """
    card = answer._card()
    notes = tuple(PYTHON.sub("", note) for note in card.notes if not note.startswith("Next: "))
    return replace(card, title=title or card.title, notes=notes, first=()).text()


def model_name(model: Any) -> str:
    """What a model is; of one that `prunemodels train` prepared, its last step."""
    kind = type(model).__name__
    return f"prepared {type(model[-1]).__name__}" if kind == "PreparedModel" else kind
