"""Each command under each fault: a status that says what happened, one line that a user understands, nothing half-written.

`fault_server` runs the commands. The quick tests run every fault on one command, and every command under one fault of a kind.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

from formulations.checkpoints import FileLock

ROOT = Path(__file__).resolve().parents[3]
INPUTS = "w\u00e4lder.skops --data valid.csv --label label --costs costs.csv"

COMMANDS = {
    "path": f"path {INPUTS} --out OUT/path.csv --picture OUT/picture",
    "prune": f"prune {INPUTS} --budget 2 --method path --proof OUT/proof.npz --path-csv OUT/path.csv --out OUT/pruned.skops",
    "train": "train --data valid.csv --label label --trees 2 --out OUT/model.skops --apart-csv OUT/apart.csv",
    "evaluate": f"evaluate {INPUTS}",
    "exits": f"exits {INPUTS} --stages 3 --out OUT/exits.skops --picture OUT/exits.png",
    "cascade": "cascade --data valid.csv --label label --costs 1 --stages 2 --out OUT/cascade.skops",
    "report": f"report {INPUTS} --budget 2 --method path --held-out test.csv --out OUT/page.html",
    "compare": f"compare {INPUTS} --lam 0.01 --solvers min_cut --out OUT/table.csv",
    "export": f"export {INPUTS} --lam 0.01 --out OUT/model.mps.gz",
    "check tu": f"check tu {INPUTS} --out OUT/certificate.npz",
    "check solution": f"check solution {INPUTS} --lam 0.01",
    "check path": f"check path {INPUTS}",
    "demo": "demo --data breast_cancer.csv --trees 2 --seeds 1 --out OUT/demo",
}

QUICK = ("prune", "export")  # commands that the quick tests run under every kind of fault


SLOW_ON_DISK = tuple(pytest.param(command, marks=pytest.mark.slow) for command in ("cascade", "report", "exits", "train"))


@dataclass
class Server:
    """The process of `fault_server`, and a folder with inputs."""

    process: subprocess.Popen[str]
    folder: Path
    _written: dict[str, list[str]] = field(default_factory=dict)

    def ask(self, **task: Any) -> Any:
        """Its answer to a task."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps({"folder": str(self.folder), **task}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def written(self, command: str) -> list[str]:
        """The files that a command writes without a fault; the first time it runs in the server, which then has what it needs."""
        if command not in self._written:
            place = self.folder / "well" / command.replace(" ", "-")
            place.mkdir(parents=True)
            status, said = self.ask(words=[*words(command, str(place)), "--quiet"], warm_up=True)
            assert status == 0, said
            self._written[command] = files(place)
        return self._written[command]


@dataclass
class Ended:
    """How a command ended: status, what it wrote to stdout and stderr."""

    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server, with the inputs of all commands."""
    folder = tmp_path_factory.mktemp("faults")
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:, :5].rename(columns=lambda c: c.replace(" ", "_")), data.target
    skops.io.dump(RandomForestClassifier(3, max_depth=4, random_state=0).fit(X[:200], y[:200]), folder / "w\u00e4lder.skops")
    for name, rows in (("valid", slice(200, 400)), ("test", slice(400, 569)), ("breast_cancer", slice(0, 569))):
        X[rows].assign(label=y[rows]).to_csv(folder / f"{name}.csv", index=False)
    pd.DataFrame({"feature": X.columns, "cost": np.arange(1, 6)}).to_csv(folder / "costs.csv", index=False)
    command = [sys.executable, "-m", "tests.prunemodels.command_line.fault_server"]
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        made = Server(process, folder)
        yield made
        assert process.stdin is not None
        process.stdin.close()


def words(command: str, out: str) -> list[str]:
    """The words of a command line whose outputs are in the folder `out`."""
    return COMMANDS[command].replace("OUT", out).split()


def run(
    server: Server,
    given: list[str],
    tmp_path: Path,
    stdout: str | None = None,
    stderr: str | None = None,
    folder: str | None = None,
    **fault: Any,
) -> Ended:
    """Run a command line under a fault."""
    told = [tmp_path / "stdout", tmp_path / "stderr"]
    for file in told:
        file.unlink(missing_ok=True)
        file.touch()
    more = {} if folder is None else {"folder": folder}
    status = server.ask(words=given, stdout=stdout or str(told[0]), stderr=stderr or str(told[1]), fault=fault, **more)
    return Ended(status, told[0].read_text(), told[1].read_text())


def files(folder: Path) -> list[str]:
    """All files and folders in a folder, hidden ones included."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


@dataclass(frozen=True)
class Fault:
    """A fault, and how a command ends under it.

    Parameters
    ----------
    do
        for `run`.
    status, said
        the exit status, and the line on stderr as a regular expression; empty: nothing.
    writes
        whether the output files are there afterwards.
    needs_files
        whether it can happen only to a command that writes files.
    """

    do: dict[str, Any]
    status: int
    said: str
    writes: bool = False
    needs_files: bool = False


def by_signals() -> Iterator[tuple[str, Fault]]:
    """Signals at three moments."""
    for name, status, how in (
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "ended by SIGTERM"),
        ("SIGHUP", 129, "ended by SIGHUP"),
        ("SIGKILL", -9, ""),
    ):
        for at, left in (("reading", "nothing was"), ("writing", "nothing was"), ("renaming", "the output files were")):
            said = how and f"{how}: {left} written"
            do = {"signal": int(getattr(signal, name)), "at": at}
            yield f"{name} while {at}", Fault(do, status, said, bool(how) and at == "renaming", at != "reading")


FAULTS = dict(by_signals()) | {
    "a defect": Fault({"defect": "oops"}, 70, r".*RuntimeError: oops\. This is a defect .* PRUNEMODELS_TRACEBACK=1 shows"),
    "stdout is closed": Fault({"close": [1]}, 74, "the summary could not be written to stdout: it is closed; .*", writes=True),
    "all streams are closed": Fault({"close": [0, 1, 2]}, 74, "", writes=True),
    "stdout is full": Fault({"stdout": "/dev/full"}, 74, "the summary could not .*: No space left on device; .*", writes=True),
    "stdout is not read": Fault({"pipe": True}, 141, "", writes=True),
    "stdout is ASCII": Fault({"encoding": "ascii"}, 0, "", writes=True),
    "stderr is full": Fault({"stderr": "/dev/full"}, 0, "", writes=True),
    "the disk is full": Fault({"file_size": 300}, 2, ".*: .*: File too large", needs_files=True),
}


def table() -> Iterator[Any]:
    """Every command under every fault; what takes long is marked."""
    for command in COMMANDS:
        for name, fault in FAULTS.items():
            if fault.needs_files and "OUT" not in COMMANDS[command]:
                continue
            is_quick = command in QUICK or name == "SIGTERM while reading"
            yield pytest.param(command, name, marks=() if is_quick else pytest.mark.slow, id=f"{command}, {name}")


@pytest.mark.parametrize(("command", "name"), list(table()))
def test_every_command_ends_well_under_every_fault(server: Server, tmp_path: Path, command: str, name: str) -> None:
    """Its status and its line say what happened; files are there in full or not at all; the next run finds no trace."""
    fault, out = FAULTS[name], tmp_path / "out"
    out.mkdir()
    if name != "SIGTERM while reading":  # which is over before there is much to load
        server.written(command)
    given = [*words(command, str(out)), "--quiet"]
    ended = run(server, given, tmp_path, **fault.do)
    assert ended.status == fault.status, ended.err
    assert re.fullmatch(f"{fault.said}\n" if fault.said else "", ended.err), ended.err
    if fault.writes:
        assert files(out) == server.written(command)
        return
    assert all(Path(file).name.startswith(".") or file == "demo" for file in files(out))
    if name.startswith("SIGKILL"):
        assert run(server, given, tmp_path).status == 0
        assert files(out) == server.written(command)
    else:
        assert files(out) == []


def test_killed_between_two_renames_the_next_run_completes_the_group(server: Server, tmp_path: Path) -> None:
    """Each file that is there is whole; --force writes all of them, and clears what was left behind."""
    given = [*words("prune", str(tmp_path / "out")), "--quiet"]
    (tmp_path / "out").mkdir()
    assert run(server, given, tmp_path, signal=int(signal.SIGKILL), at="renaming", count=3).status == -9
    visible = [file for file in files(tmp_path / "out") if not file.startswith(".")]
    assert 0 < len(visible) < len(server.written("prune"))
    ended = run(server, given, tmp_path)
    assert (ended.status, "exists; choose another name" in ended.err) == (2, True)
    assert run(server, [*given, "--force"], tmp_path).status == 0
    assert files(tmp_path / "out") == server.written("prune")


@pytest.mark.parametrize("command", [c for c in COMMANDS if "OUT" in COMMANDS[c]])
def test_one_run_at_a_time_writes_a_file(server: Server, tmp_path: Path, command: str) -> None:
    """A second run is refused at once, before it reads anything, by the number of the first; with --force, too."""
    given = words(command, str(tmp_path))
    out = Path(given[given.index("--out") + 1])
    if command == "demo":
        out.mkdir()
        out = out / "path.csv"
    with FileLock(out):
        for more in ([], ["--force"]):
            ended = run(server, [*given, *more], tmp_path, signal=int(signal.SIGKILL), at="reading")
            assert (ended.status, ended.err.count("\n")) == (2, 1)
            assert f"another run, process {os.getpid()}, is writing {out}" in ended.err


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (f"path {INPUTS} --out valid.csv", "--out: valid.csv is also the file of --data"),
        (f"path {INPUTS} --out hard.csv", "--out: hard.csv is also the file of --data"),
        (f"prune {INPUTS} --lam 1 --out w\u00e4lder.skops", "--out: w\u00e4lder.skops is also the file of FOREST"),
        (f"prune {INPUTS} --lam 1 --out p.skops --path-csv costs.csv", "--path-csv: costs.csv is also the file of --costs"),
        (f"prune {INPUTS} --lam 1 --out p.skops --held-out test.csv --path-csv ./test.csv", "is also the file of --held-out"),
        (f"exits {INPUTS} --out w\u00e4lder.skops", "also the file of FOREST"),
        (f"compare {INPUTS} --lam 1 --out costs.csv", "also the file of --costs"),
        ("check tu papers --certificate c.npz --out c.npz", "also the file of --certificate"),
        ("demo --data demo-data/table.csv --out demo-data", "also the file of --data"),
        (f"prune {INPUTS} --lam 1 --out p.skops --path-csv p.csv --picture ''", "--picture: '' names no file"),
        (f"prune {INPUTS} --lam 1 --out p.skops --path-csv p.svg --picture p", "--path-csv: p.svg has the ending '.svg'"),
        (f"path {INPUTS} --out {'n' * 252}.csv", r"cannot be a file (File name too long)"),
        (f"path {'n' * 300}.skops --data valid.csv --costs 1 --out p.csv", "n.skops"),
        (f"path {INPUTS.replace('valid', 'n' * 300)} --out p.csv", "n.csv"),
    ],
)
def test_outputs_that_cannot_be_are_refused(server: Server, tmp_path: Path, line: str, told: str) -> None:
    """An input is never overwritten, whatever its name; names that are none, or too long, are named."""
    for file in server.folder.iterdir():
        if file.suffix in (".csv", ".skops"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "valid.csv")
    (tmp_path / "demo-data").mkdir()
    (tmp_path / "demo-data" / "table.csv").write_bytes((tmp_path / "breast_cancer.csv").read_bytes())
    (tmp_path / "c.npz").touch()
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    ended = run(server, [*shlex.split(line), "--force"], tmp_path, folder=str(tmp_path))
    assert (ended.status, ended.err.count("\n"), told in ended.err) == (2, 1, True), ended
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file() and file.name[:3] != "std"} == before


@contextlib.contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own in a folder; skips where this is not permitted."""
    folder.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system as Linux does")
@pytest.mark.parametrize("command", ["path", "prune", "export", "demo", *SLOW_ON_DISK])
def test_a_full_disk(server: Server, tmp_path: Path, command: str) -> None:
    """On a file system of 8 kB the line names the file, and nothing stays, not even what would have fitted."""
    with mounted(tmp_path / "disk", "size=8k"):
        ended = run(server, [*words(command, str(tmp_path / "disk")), "--quiet"], tmp_path)
        assert ended.status == 2, ended
        assert re.fullmatch(f"prunemodels {command}: cannot write .*disk/.*: No space left on device\n", ended.err), ended.err
        assert files(tmp_path / "disk") == []


@pytest.mark.slow_cases("demo")
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a file system as Linux does")
@pytest.mark.parametrize("command", [c for c in COMMANDS if "OUT" in COMMANDS[c]])
def test_a_read_only_target(server: Server, tmp_path: Path, command: str) -> None:
    """It is refused before anything is read."""
    with mounted(tmp_path / "disk", "size=8k,ro"):
        ended = run(server, words(command, str(tmp_path / "disk")), tmp_path, signal=int(signal.SIGKILL), at="reading")
    assert (ended.status, ended.err.count("\n")) == (2, 1), ended
    assert re.search("no permission to write in the folder .*disk|Read-only file system", ended.err)
