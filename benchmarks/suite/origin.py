"""What figures belong to: the machine, the versions, the commit, and the code itself.

Two runs are the same where `Origin.same` says so: the same code, machine and versions. The code is told by a digest of every
Python file of the packages and of the benchmarks, so that a commit that adds results or documents changes nothing, and work in
progress counts as what it is.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from prunemodels.comparison.machine import VERSIONS

ROOT = Path(__file__).resolve().parents[2]
"""The checkout."""

CODE = ("benchmarks", "formulations", "proofs_checks", "prunemodels", "solvers")
"""Folders whose Python files are measured."""


@dataclass(frozen=True)
class Origin:
    """Where figures come from.

    Parameters
    ----------
    machine
        processor, cores that this process may use, memory in GiB, system.
    versions
        Python's and those of the packages that bear on the figures.
    code
        digest of all measured code.
    commit, dirty
        of the checkout; empty and False where it is none. Dirty: Python files differ from that commit.
    """

    machine: dict[str, str | float]
    versions: dict[str, str]
    code: str
    commit: str
    dirty: bool

    def same(self, other: Origin) -> bool:
        """Whether figures of the two belong together: see above."""
        return (self.machine, self.versions, self.code) == (other.machine, other.versions, other.code)

    def line(self) -> str:
        """All of it, to be read."""
        at = self.machine
        told = [str(at["processor"]), f"{at['cores']} cores", *([f"{at['GiB']:g} GiB"] if "GiB" in at else []), str(at["system"])]
        told += [f"{name} {self.versions[name]}" for name in sorted(self.versions, key=str.lower)]
        return ", ".join([*told, f"commit {self.commit[:10] or 'unknown'}{' with changes' * self.dirty}"])


def origin(root: Path = ROOT) -> Origin:
    """Of this process."""
    commit = _git(root, "rev-parse", "HEAD")
    dirty = bool(commit) and bool(_git(root, "status", "--porcelain", "--", *(f"{folder}/*.py" for folder in CODE)))
    return Origin(machine(), versions(), code_digest(root), commit, dirty)


def machine() -> dict[str, str | float]:
    """Processor, cores, memory, system."""
    found: dict[str, str | float] = {"processor": _processor(), "cores": _cores()}
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf, and others need not know these names
        # no more digits than a result keeps
        found["GiB"] = float(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.3g}")
    return found | {"system": f"{platform.system()} {platform.release()} {platform.machine()}"}


def versions() -> dict[str, str]:
    """Python's, and those of `prunemodels.comparison.machine.VERSIONS` that are installed."""
    found = {"Python": platform.python_version()}
    for name in VERSIONS:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def code_digest(root: Path) -> str:
    """Sixteen hexadecimal digits of names and contents."""
    digest = hashlib.sha256()
    for folder in CODE:
        for file in sorted((root / folder).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]


def _processor() -> str:
    """As Linux names it, else as Python does."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.split(":", 1)[1].split())
    return platform.processor() or platform.machine()


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(root: Path, *command: str) -> str:
    """What git answers; empty where there is none, or no checkout."""
    with suppress(OSError):
        # without optional locks a reader never stands in the way of somebody's commit
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *command], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""
