"""The program: help, greeting, styles, statuses, defects; and how little a small check loads."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import prunemodels as pm
from prunemodels.command_line import commands, parsing, process, prunings
from prunemodels.command_line.cli import main
from tests.prunemodels.command_line.conftest import House

ROOT = Path(__file__).resolve().parents[3]
PRUNE = "prune forest.skops --data valid.csv --costs costs.csv --budget 5 --method path --out out/p.skops --quiet"


@pytest.mark.slow
def test_the_module_runs_as_a_program(house: House) -> None:
    """`python -m prunemodels` prunes in a process of its own: JSON alone on stdout, the status as exit code."""
    command = [sys.executable, "-m", "prunemodels"]
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([*command, *PRUNE.split(), "--json"], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["written"] == ["out/p.skops"]
    refused = subprocess.run([*command, "prune"], capture_output=True, text=True, env=environment, check=False)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "required: FOREST" in refused.stderr


def test_help_and_version(capsys: pytest.CaptureFixture[str]) -> None:
    """Help lists the commands by task, each with an example that parses; --version shows the package's version."""
    assert main(["--help"]) == 0
    told = capsys.readouterr().out
    assert max(map(len, told.split("exit status:")[0].splitlines())) <= 88
    for task, listed in commands.TASKS.items():
        assert f"{task}:" in told
        for name, command in listed.items():
            assert parsing.example_text(name, " " * 13) in told
            words = parsing.example_text(name).replace("\\\n", " ").split()
            assert words == ["prunemodels", *command.example.split()]
            assert parsing.parser().parse_args(words[1:]).command == name
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"prunemodels {pm.__version__}\n"


def test_statuses_are_listed_alike(capsys: pytest.CaptureFixture[str]) -> None:
    """The page on the command line and --help have the same statuses as the code; each number is one of its constants."""
    page = (ROOT / "docs" / "command_line.md").read_text().split("## Exit status")[1].split("##")[0]
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    assert dict(rows[2:]) == process.MEANINGS
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(meaning in shown for meaning in process.MEANINGS.values())
    named = {process.DONE, process.REFUTED, process.REFUSED, process.UNDECIDED, process.DEFECT, process.NOT_SHOWN}
    signals = {process.BY_SIGNAL + number for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE)}
    assert {int(n) for key in process.MEANINGS for n in key.split(", ")} == named | signals | {process.INTERRUPTED}


def test_a_defect_is_one_line_and_a_traceback_on_demand(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An unexpected error has the status 70, not the 1 of a refuted claim; a solver's failure counts as one, too."""
    for error in (IndexError("list index\nout of range"), pm.errors.SolverFailedError("list index out of range")):
        monkeypatch.setattr(prunings, "read_instance", Mock(side_effect=error))
        monkeypatch.delenv("PRUNEMODELS_TRACEBACK", raising=False)
        assert main(PRUNE.split()) == 70
        told = capsys.readouterr().err
        assert told.startswith(
            f"prunemodels prune: {type(error).__name__}: list index out of range. This is a defect of prunemodels"
        )
        assert told.count("\n") == 1
        monkeypatch.setenv("PRUNEMODELS_TRACEBACK", "1")
        assert main(PRUNE.split()) == 70
        told = capsys.readouterr().err
        assert told.startswith("Traceback")
        assert type(error).__name__ in told
    assert not list(Path("out").iterdir())


@pytest.mark.parametrize(
    "error",
    [MemoryError("Unable to allocate 8 TiB"), RuntimeError("can't start new thread"), ImportError("x.so: failed to map segment")],
)
def test_too_little_memory_is_no_defect(
    house: House, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: Exception
) -> None:
    """Neither where numpy says so, nor where threads or the dynamic linker find no memory; nothing is written."""
    monkeypatch.setattr(prunings, "read_instance", Mock(side_effect=error))
    assert main(PRUNE.split()) == 2
    assert capsys.readouterr().err == (
        f"prunemodels prune: not enough memory ({error}); give fewer examples, a smaller forest, or a machine with more\n"
    )
    assert not list(Path("out").iterdir())


LOADED = """
import sys
from prunemodels.command_line.cli import main
status = main(sys.argv[1:])
ours = {m for m in sys.modules if m.split(".")[0] in ("formulations", "solvers", "proofs_checks", "prunemodels")}
print(status, len(ours), "numpy" in sys.modules)
"""


@pytest.mark.slow
def test_commands_load_what_they_need(tmp_path: Path) -> None:
    """Help loads neither NumPy nor much of ours; a check of a 3 x 3 matrix at most 60 files of ours."""
    (tmp_path / "m.csv").write_text("1,1,0\n0,1,1\n1,0,1\n")
    for words, status, most, numeric in ((["prune", "--help"], 0, 15, "False"), (["check", "tu", "m.csv"], 1, 60, "True")):
        command = [sys.executable, "-c", LOADED, *words]
        environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=True)
        ended, loaded, numpy = done.stdout.splitlines()[-1].split()
        assert (int(ended), numpy) == (status, numeric)
        assert int(loaded) <= most


def test_alone_it_greets(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command the program says what it is for and what to type, and succeeds; a wrong command is refused."""
    assert main([]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert max(map(len, told.out.splitlines())) <= 80
    for line in ("prunemodels demo", "prunemodels demo --data heart", "--budget 24", "prunemodels --help"):
        assert line in told.out
    assert main(["prun"]) == 2


def test_styles_are_for_terminals(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Colour on a terminal; plain text in a pipe, with NO_COLOR, and on a terminal that shows none."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    main([])
    assert "\x1b" not in capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    main([])
    assert "\x1b[1mprunemodels" in capsys.readouterr().out
    for name, value in (("NO_COLOR", "1"), ("TERM", "dumb")):
        with monkeypatch.context() as changed:
            changed.setenv(name, value)
            main([])
            assert "\x1b" not in capsys.readouterr().out
