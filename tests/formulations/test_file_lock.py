"""One process at a time has a lock, and a process that was killed has none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from formulations import BrokenFileError
from formulations.file_lock import FileLock, hidden_name

ROOT = Path(__file__).resolve().parents[2]

HOLDER = """
import sys, time
from pathlib import Path
from formulations.file_lock import FileLock
with FileLock(Path(sys.argv[1])):
    print("locked", flush=True)
    time.sleep(600)
"""


def test_a_second_process_is_refused_until_the_first_was_killed(tmp_path: Path) -> None:
    """The error names the process; its lock file locks nothing after SIGKILL, and the next holder deletes it."""
    place = tmp_path / "path.csv"
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(place)], cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        with (
            pytest.raises(BrokenFileError, match=rf"another run, process {process.pid}, is writing .*path\.csv: wait"),
            FileLock(place),
        ):
            pass
        process.send_signal(signal.SIGKILL)
    assert os.listdir(tmp_path) == [".path.lock.csv"]
    with FileLock(place):
        assert (tmp_path / ".path.lock.csv").read_text() == f"{os.getpid()}\n"
    assert os.listdir(tmp_path) == []


def test_threads_take_turns(tmp_path: Path) -> None:
    """Of eight threads that wait for the lock, two never have it at once, although each deletes the lock file."""
    inside, most = [], []

    def work() -> None:
        with FileLock(tmp_path / "a", wait=60):
            inside.append(1)
            most.append(len(inside))
            time.sleep(0.001)
            inside.pop()

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 8
    assert os.listdir(tmp_path) == []


def test_a_place_that_takes_no_lock_is_named(tmp_path: Path) -> None:
    """A folder that is not there, and a folder in the place of the lock file."""
    with pytest.raises(BrokenFileError, match=r"cannot write .*absent/a: .*No such file"), FileLock(tmp_path / "absent" / "a"):
        pass
    (tmp_path / ".a.lock").mkdir()
    with pytest.raises(BrokenFileError, match=r"cannot write .*a: \.a\.lock: Is a directory"), FileLock(tmp_path / "a"):
        pass


def test_hidden_names_are_never_too_long(tmp_path: Path) -> None:
    """The longest names that a file may have, of one and of several bytes a character, with short and with long endings."""
    for name in ("a" * 251 + ".csv", "\u00e4" * 125 + ".csv", "b" * 255, "c." + "d" * 253):
        hidden = hidden_name(tmp_path / name, "partial")
        hidden.touch()
        (tmp_path / name).touch()
        assert len(os.fsencode(name)) <= 255
        assert hidden.suffix == (".csv" if name.endswith(".csv") else hidden.suffix)
    assert len(os.listdir(tmp_path)) == 8
    assert hidden_name(Path("path.csv"), "partial") == Path(".path.partial.csv")
