"""How to ask: the size of requests, and what to do with values that an answer leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Asking:
    """How a walk asks.

    Parameters
    ----------
    max_rows
        most rows of a request, or None.
    ask_again
        how often values that an answer left out are asked for again.
    absent
        what follows if they still do not come: the walk raises an error, or they count as unavailable.
    """

    max_rows: int | None = None
    ask_again: int = 0
    absent: Literal["error", "unavailable"] = "error"
