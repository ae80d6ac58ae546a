"""Damaged files against every reader: none may crash the process, hang, raise an error without a name, or answer wrongly.

Each case damages a sound file (`benchmarks.fuzzing.mutations`) and reads it in a child process (`benchmarks.fuzzing.child`).
A case is determined by the seed and its number, whatever came before it. Files that caused a finding are kept in a folder whose
name is printed.
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks.fuzzing import mutations
from benchmarks.fuzzing.child import run_in_child
from benchmarks.fuzzing.readers import COLD, READERS


@dataclass
class Report:
    """How many cases each reader had, how they ended, and by reader and defect the numbers of the cases that showed it."""

    cases: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    findings: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def __str__(self) -> str:
        found = [f"{len(of):6} x {name}: {what} (case {of[0]})" for (name, what), of in self.findings.items()]
        ends = ", ".join(f"{count:,} {kind}" for kind, count in self.outcomes.most_common())
        return "\n".join([f"{self.cases.total():,} damaged files: {ends}", *found, f"{len(found)} defects"])


def fuzz(seconds: float, seed: int, readers: Sequence[str] = tuple(READERS), cases: int | None = None) -> Report:
    """Run cases of the readers in turn, until the time is up or so many cases are done."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    report = Report()
    for name in readers:
        _load_compiled_code(name)
    deadline, number = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < deadline and (cases is None or number < cases):
            name = readers[number % len(readers)]
            what, kind = one_case(name, seed, number, Path(folder))
            report.cases[name] += 1
            report.outcomes[kind] += 1
            if what is not None:
                cases_of = report.findings.setdefault((name, what), [])
                cases_of.append(number)
                if len(cases_of) == 1:
                    print(f"{name}, case {number}: {what}; the file is {_kept(name, seed, number)}", flush=True)
            number += 1
    return report


def damaged(name: str, seed: int, number: int) -> bytes:
    rng = np.random.default_rng([seed, number])
    content: bytes = mutations.pick(rng, _sound(name))
    for _ in range(int(rng.integers(1, 3)) if rng.random() < 0.3 else 1):
        content = mutations.pick(rng, READERS[name].mutate)(rng, content)
    return content


def one_case(name: str, seed: int, number: int, folder: Path) -> tuple[str | None, str]:
    """What is wrong with the reader's behaviour in one case, or None; and how it ended."""
    reader, content = READERS[name], damaged(name, seed, number)
    with tempfile.TemporaryDirectory(dir=folder) as inside:
        place = Path(inside) / f"case{reader.ending}"
        place.write_bytes(content)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # HiGHS' own warnings of a program that it reads
            outcome = run_in_child(lambda: reader.read(place))
    if outcome.kind == "answer":
        return reader.wrong(content, outcome.answer), outcome.kind
    return (None if outcome.kind == "named" else f"{outcome.kind}: {outcome.text}"), outcome.kind


@cache
def _sound(name: str) -> tuple[bytes, ...]:
    return READERS[name].sound()


@cache
def _load_compiled_code(name: str) -> None:
    """Read a sound file, so that no child process has to compile."""
    reader = READERS[name]
    for content in _sound(name)[:1] if reader.ending not in COLD else ():
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            place = Path(folder) / f"sound{reader.ending}"
            place.write_bytes(content)
            reader.read(place)


def _kept(name: str, seed: int, number: int) -> Path:
    """Write the file of a finding where it can be looked at."""
    folder = Path(tempfile.gettempdir()) / "prunemodels-fuzzing"
    folder.mkdir(exist_ok=True)
    place = folder / f"{name.replace(' ', '-').replace('.', '')}-{seed}-{number}{READERS[name].ending}"
    place.write_bytes(damaged(name, seed, number))
    return place
