"""What the summaries of commands have in common: their JSON, and the last lines of their text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

MOST_COLUMNS = 6
"""The largest number of unused columns that a line names."""


@dataclass(frozen=True)
class CommandSummary:
    """The result of a command; its JSON object holds the record: all fields, or what a subclass says."""

    def json(self) -> str:
        """The summary as one JSON object."""
        return json.dumps(self.record(), indent=2, allow_nan=False)

    def record(self) -> dict[str, Any]:
        """What the JSON object holds."""
        return asdict(self)


def last_lines(ignored: Sequence[str], written: Sequence[str], width: int = 15) -> list[str]:
    """The columns that were not used and the files written, after labels of `width` characters."""
    more = ", ..." if len(ignored) > MOST_COLUMNS else ""
    columns = [f"{'not used':{width}}columns {', '.join(ignored[:MOST_COLUMNS])}{more}"] if ignored else []
    return columns + [f"{'written':{width}}{file}" for file in written]
