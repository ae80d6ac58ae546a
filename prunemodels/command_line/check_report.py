"""The result of a check, for one screen of a terminal or as JSON for programs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from proofs_checks.matrices.network_matrix import NetworkMatrix
from proofs_checks.verdict import Verdict
from prunemodels.command_line.command_summary import CommandSummary, last_lines
from prunemodels.command_line.statuses import DONE, REFUTED, UNDECIDED

WIDTH = 118
"""Characters of a line."""

LINES = 20
"""Lines of a table that the text shows; ``--json`` has all of them."""

ANSWER = {True: "holds", False: "refuted", None: "undecided"}


@dataclass(frozen=True, eq=False)
class CheckSummary(CommandSummary):
    """Result of ``prunemodels check``.

    Parameters
    ----------
    subject
        what was checked, in one line.
    verdicts
        one or more claims.
    lines
        further lines of text, before the verdicts.
    written
        the files written.
    explanation
        of the last verdict, in sentences; after its evidence.
    """

    subject: str
    verdicts: tuple[Verdict, ...]
    seconds: float
    lines: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    explanation: str = ""

    @property
    def exit_status(self) -> int:
        """Whether all claims hold, one is refuted, or else one remains undecided; see `statuses`."""
        answers = [verdict.holds for verdict in self.verdicts]
        return REFUTED if False in answers else UNDECIDED if None in answers else DONE

    def record(self) -> dict[str, Any]:
        """All but the lines of text, with certificates as JSON holds them."""
        verdicts = [
            {"claim": v.claim, "holds": v.holds, "method": v.method, "certificate": plain(v.certificate)} for v in self.verdicts
        ]
        return {"subject": self.subject, "verdicts": verdicts, "seconds": self.seconds, "written": list(self.written)}

    def text(self) -> str:
        """The summary on one screen."""
        parts = [self.subject, *self.lines]
        for verdict in self.verdicts:
            evidence = _evidence(verdict.certificate)
            parts += ["", _line("claim", verdict.claim), _line("answer", ANSWER[verdict.holds]), _line("how", verdict.method)]
            parts += ["", evidence] if "\n" in evidence else [_line("evidence", evidence)] if evidence else []
        parts += ["", self.explanation] if self.explanation else []
        parts += ["", f"time      {self.seconds:.1f} s", *last_lines((), self.written, 10)]
        return "\n".join(parts)


def _line(label: str, text: str) -> str:
    """A label and its text, wrapped over as many lines as it needs."""
    return textwrap.fill(text, WIDTH, initial_indent=f"{label:10}", subsequent_indent=" " * 10)


def _evidence(certificate: Any) -> str:
    """A certificate as text."""
    if certificate is None:
        return ""
    if isinstance(certificate, Mapping):
        return ", ".join(f"{key} {value}" for key, value in certificate.items())
    return str(certificate.table(LINES) if hasattr(certificate, "table") else certificate)


def plain(value: Any) -> Any:
    """A certificate for JSON: fractions as strings, arrays as lists, dataclasses as objects.

    Of a tree with paths only the sizes are given; ``--out`` writes all of it.
    """
    if isinstance(value, NetworkMatrix):
        return {"arcs": len(value.tail), "paths": len(value.start), "transposed": value.transposed}
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple | set | frozenset):
        return [plain(entry) for entry in (value.tolist() if isinstance(value, np.ndarray) else value)]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value)
    if isinstance(value, Fraction):
        return int(value) if value.denominator == 1 else str(value)
    return str(value)
