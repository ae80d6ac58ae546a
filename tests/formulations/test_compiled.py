"""Compiled kernels where numba may write, where it may only read, and where it may do neither."""

from __future__ import annotations

import io
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from formulations import compiled

NOBODY = 65534
HOME = Path(__file__).parents[2]

KERNELS = """
from formulations.compiled import njit


@njit(cache=True)
def double(x):
    return 2 * x


@njit(cache=True, nogil=True)
def next_to(x):
    return x + 1
"""

USE = """
import os, sys
sys.path[:0] = [{home!r}, {package!r}]
if {user!r}:  # a root's Python may lie where nobody else reads: what the kernels need is imported first
    import formulations.compiled, numba
    numba.njit(lambda x: x - 1)(2)
    os.setgroups([])
    os.setgid({user!r})
    os.setuid({user!r})
import kernels
print(kernels.double(3), kernels.next_to(3))
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in (kernels.double, kernels.next_to)), "compiled")
print(kernels.double.stats.cache_path)
"""


NOWHERE = """
import tempfile
def nowhere():
    raise FileNotFoundError("No usable temporary directory found")
tempfile.gettempdir = nowhere
"""


@pytest.fixture
def package() -> Iterator[Path]:
    """A folder with two kernels, and places for whoever runs them; pytest's own folders are closed to other users."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        at.chmod(0o755)
        for name in ("package", "home", "temporary", "named"):
            (at / name).mkdir()
        (at / "package" / "kernels.py").write_text(KERNELS)
        yield at


def run(at: Path, *, reads_only: tuple[str, ...] = (), named: bool = False) -> tuple[list[str], str]:
    """What a new process prints and says that uses both kernels; some of its folders it may only read."""
    user = NOBODY if os.getuid() == 0 else None
    for name in ("package", "home", "temporary", "named"):
        for part in [at / name, *(at / name).rglob("*")]:
            if user:
                os.chown(part, 0 if name in reads_only else user, -1)
            if name != "temporary" or part == at / name:  # what is below has the modes that it was given
                part.chmod((0o555 if name in reads_only else 0o755) if part.is_dir() else 0o644)
    environment = {"HOME": str(at / "home"), "TMPDIR": str(at / "temporary"), "PATH": os.environ["PATH"]}
    if "temporary" in reads_only:
        # as in a container without /tmp
        (at / "site").mkdir(exist_ok=True)
        (at / "site" / "sitecustomize.py").write_text(NOWHERE)
        (at / "site").chmod(0o755)
        environment["PYTHONPATH"] = str(at / "site")
    if named:
        environment["NUMBA_CACHE_DIR"] = str(at / "named")
    code = USE.format(home=str(HOME), package=str(at / "package"), user=user)
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], env=environment, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr


pytestmark = pytest.mark.skipif(not hasattr(os, "getuid"), reason="users and modes of POSIX")


@pytest.mark.slow
def test_a_package_and_a_home_that_are_read_only(package: Path) -> None:
    """Kernels go to a folder below the temporary one that is the user's own, and the next process finds them there."""
    (numbers, compiled, folder), said = run(package, reads_only=("package", "home"))
    assert (numbers, compiled, said) == ("6 4", "2 compiled", "")
    own = next((package / "temporary").iterdir())
    assert folder.startswith(str(own))
    assert own.stat().st_mode & 0o077 == 0
    assert run(package, reads_only=("package", "home"))[0][:2] == ["6 4", "0 compiled"]


@pytest.mark.slow
def test_nowhere_to_write(package: Path) -> None:
    """Both kernels are compiled, and one line says that nothing can be stored and what to do."""
    (numbers, compiled, folder), said = run(package, reads_only=("package", "home", "temporary"))
    assert (numbers, compiled, folder) == ("6 4", "2 compiled", "None")
    assert len(said.splitlines()) == 1
    assert "Compiled code cannot be stored (no folder for it is writable)" in said
    assert "prunemodels warm-up" in said


def test_a_terminal_is_told_once_that_something_compiles(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever waits at a terminal reads one line; the log names every kernel; elsewhere nothing is written."""
    cache = compiled.KernelCache(run)
    for terminal, lines in ((False, 0), (True, 1)):
        told = io.StringIO()
        monkeypatch.setattr(told, "isatty", lambda terminal=terminal: terminal)
        monkeypatch.setattr(sys, "stderr", told)
        monkeypatch.setattr(compiled.KernelCache, "begun", False)
        with caplog.at_level(logging.INFO, logger="prunemodels.compiled"):
            cache._say()
            cache._say()
        assert told.getvalue().count(f"compiling up to {len(compiled.KERNELS)} kernels, once") == lines
    assert caplog.text.count("compiling tests.formulations.test_compiled.run") == 4


@pytest.mark.slow
@pytest.mark.parametrize("named", [False, True], ids=["beside the sources", "NUMBA_CACHE_DIR"])
def test_filled_before_it_became_read_only(package: Path, named: bool) -> None:
    """What was compiled while the folder was writable is used where nothing is, without a word."""
    first, _ = run(package, named=named)
    assert first[1] == "2 compiled"
    read_only = ("package", "home", "temporary", "named")
    (numbers, compiled, folder), said = run(package, reads_only=read_only, named=named)
    assert (numbers, compiled, folder, said) == ("6 4", "0 compiled", "None", "")


def test_a_temporary_folder_that_others_may_write_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not used: whoever writes to it decides what code runs."""
    monkeypatch.setattr(compiled.tempfile, "gettempdir", lambda: str(tmp_path))
    folder = Path(compiled._own_temporary_folder())
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o770)
    with pytest.raises(PermissionError, match="others may write to it"):
        compiled._own_temporary_folder()
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir()
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="belongs to another user"):
        compiled._own_temporary_folder()
