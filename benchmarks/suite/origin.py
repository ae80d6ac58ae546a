"""The origin of figures: machine, versions, commit, and a digest of the code.

`Origin.same` says whether figures of two runs are comparable: the same code, machine and versions. The code is identified by a
digest of every Python file of the packages and of the benchmarks, so a commit of results or documents does not change
it, and uncommitted changes of code do.
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
        versions of Python and of the packages that affect the figures.
    code
        digest of all measured code.
    commit, dirty
        commit of the checkout, and whether Python files differ from it; empty and False without a checkout.
    """

    machine: dict[str, str | float]
    versions: dict[str, str]
    code: str
    commit: str
    dirty: bool

    def same(self, other: Origin) -> bool:
        """Whether code, machine and versions are the same."""
        return (self.machine, self.versions, self.code) == (other.machine, other.versions, other.code)

    def line(self) -> str:
        """The origin as one line of text."""
        at = self.machine
        parts = [
            str(at["processor"]),
            f"{at['cores']} cores",
            *([f"{at['GiB']:g} GiB"] if "GiB" in at else []),
            str(at["system"]),
        ]
        parts += [f"{name} {self.versions[name]}" for name in sorted(self.versions, key=str.lower)]
        return ", ".join([*parts, f"commit {self.commit[:10] or 'unknown'}{' with changes' * self.dirty}"])


def origin(root: Path = ROOT) -> Origin:
    """The origin of this process."""
    commit = _git(root, "rev-parse", "HEAD")
    dirty = bool(commit) and bool(_git(root, "status", "--porcelain", "--", *(f"{folder}/*.py" for folder in CODE)))
    return Origin(machine(), versions(), code_digest(root), commit, dirty)


def machine() -> dict[str, str | float]:
    """Processor, cores, memory, system."""
    found: dict[str, str | float] = {"processor": _processor(), "cores": _cores()}
    with suppress(AttributeError, OSError, ValueError):  # Windows has no sysconf, and other systems may lack these names
        # rounded as in a result
        found["GiB"] = float(f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.3g}")
    return found | {"system": f"{platform.system()} {platform.release()} {platform.machine()}"}


def versions() -> dict[str, str]:
    """Versions of Python and of the packages in `prunemodels.comparison.machine.VERSIONS` that are installed."""
    found = {"Python": platform.python_version()}
    for name in VERSIONS:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


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


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _git(root: Path, *command: str) -> str:
    """The output of git; empty without git or a checkout."""
    with suppress(OSError):
        # without optional locks this never blocks a commit of another process
        done = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(root), *command], capture_output=True, text=True, check=False
        )
        return done.stdout.strip() if done.returncode == 0 else ""
    return ""
