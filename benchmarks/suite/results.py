"""A study's result and its origin as a JSON file, with sorted names and four significant digits, so that diffs are readable.

Two results are comparable if code and machine are the same. The code is identified by a digest of every Python file of the
packages and of the benchmarks. So a commit of results or documents does not change it, and uncommitted changes of code do.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.measuring import write_text
from benchmarks.suite.study import Figure, Row
from prunemodels.comparison.processes import machine

ROOT = Path(__file__).resolve().parents[2]  # the checkout
CODE = ("benchmarks", "formulations", "proofs_checks", "prunemodels", "solvers")  # folders whose Python files are measured
DIGITS = 4
BUSY = 0.5  # a machine with a larger mean number of running processes counts as busy with other work


@dataclass(frozen=True)
class Origin:
    """Where figures come from: the machine with its versions, the digest of all measured code, and the checkout. `dirty` tells
    whether Python files differ from the commit, which is empty without a checkout.
    """

    machine: str
    code: str
    commit: str
    dirty: bool

    def same(self, other: Origin) -> bool:
        """Whether code, machine and versions are the same."""
        return (self.machine, self.code) == (other.machine, other.code)

    def line(self) -> str:
        return f"{self.machine}, commit {self.commit[:10] or 'unknown'}{' with changes' * self.dirty}"


def origin(root: Path = ROOT) -> Origin:
    commit = _git(root, "rev-parse", "HEAD")
    dirty = bool(commit) and bool(_git(root, "status", "--porcelain", "--", *(f"{folder}/*.py" for folder in CODE)))
    return Origin(f"{_processor()}, {machine()}", code_digest(root), commit, dirty)


def code_digest(root: Path) -> str:
    """A digest of names and contents of all measured files, sixteen hexadecimal digits."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """The processor's name from Linux, else from Python."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()


def _git(root: Path, *command: str) -> str:
    """The output of git; empty without git or a checkout."""
    with suppress(OSError):
        # without optional locks this never blocks a commit of another process
        whole = ["git", "--no-optional-locks", "-C", str(root), *command]
        done = subprocess.run(whole, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""


@dataclass(frozen=True)
class Result:
    """The result of a study, with the time of its end in UTC, to the second, and its duration.

    `load` is the mean number of other running processes in the half second before it began; above `BUSY` there was other work.
    -1: unknown.
    """

    study: str
    title: str
    quick: bool
    date: str
    command: str
    origin: Origin
    load: float
    seconds: float
    rows: Sequence[Row]
    figures: Sequence[Figure]

    def as_json(self) -> str:
        return json.dumps(_rounded(asdict(self)), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def write_result(result: Result, folder: Path) -> Path:
    """Write the result; on Ctrl-C or an error the previous file stays unchanged."""
    place = folder / f"{result.study}.json"
    write_text(place, result.as_json())
    return place


def read_result(file: Path) -> Result:
    content = json.loads(file.read_text(encoding="utf-8"))
    rows, figures = [Row(**row) for row in content["rows"]], [Figure(**figure) for figure in content["figures"]]
    return Result(**{**content, "origin": Origin(**content["origin"]), "rows": rows, "figures": figures})


def read_folder(folder: Path) -> dict[str, Result]:
    """All results of a folder by the names of their studies; none if the folder does not exist. Files of other benchmarks, which
    have no study, are skipped.
    """
    results = [read_result(file) for file in sorted(folder.glob("*.json")) if "study" in json.loads(file.read_text())]
    return {result.study: result for result in results}


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(inner) for inner in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):  # JSON has no such numbers
        return None
    return int(value) if value.is_integer() else float(f"{value:.{DIGITS}g}")  # counts are not rounded
