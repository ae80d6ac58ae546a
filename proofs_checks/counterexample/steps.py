"""An argument in steps, printed as a person would write it."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

WIDTH = 100
"""Width of printed lines, in characters."""


@dataclass(frozen=True, eq=False)
class Claim:
    """One sentence of an argument, and its evidence."""

    sentence: str  # what is found, as a sentence
    holds: bool | None  # True, False, or None where it was not decided
    lines: tuple[str, ...] = ()  # what to print below it: a computation or a table
    evidence: Mapping[str, Any] = field(default_factory=dict)  # the same as data: numbers and fractions by name


@dataclass(frozen=True, eq=False)
class Argument:
    """A title and its steps."""

    title: str  # what is argued
    steps: tuple[Claim, ...]  # in their order

    @property
    def holds(self) -> bool | None:
        """True where all steps hold, False where one does not, else None."""
        found = [step.holds for step in self.steps]
        return False if False in found else None if None in found else True

    def __str__(self) -> str:
        """The title, and the steps numbered; a step that fails or is open says so."""
        parts = [textwrap.fill(self.title, WIDTH)]
        for k, step in enumerate(self.steps, 1):
            number = f"{k}. "
            word = {True: "", False: "NOT SO: ", None: "NOT DECIDED: "}[step.holds]
            parts.append(
                textwrap.fill(
                    f"{number}{word}{step.sentence}", WIDTH, subsequent_indent=" " * len(number), break_long_words=False
                )
            )
            parts += [f"     {line}".rstrip() for line in step.lines]
        return "\n".join(parts)
