"""The benchmark suite: what is kept, what is run again, what is told of a change."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suite import children, command, comparing, forests, origin, results, running, tables
from benchmarks.suite.origin import ROOT, Origin
from benchmarks.suite.results import Result, read_folder, read_result, write_result
from benchmarks.suite.running import Places
from benchmarks.suite.studies import STUDIES
from benchmarks.suite.study import Figure, Found, Row, Setting, Study
from formulations.errors import BrokenFileError, InterruptedSolveError, InvalidInputError, SolverFailedError

HERE = Origin(
    {"processor": "Z80", "cores": 2, "GiB": 23.5, "system": "CP/M"},
    {"Python": "3.11.7", "numpy": "2.4"},
    "c0de",
    "ab" * 20,
    False,
)
ROW = Row("forest", "min_cut", "raw cut", 1.234567, 2.0, 0.6172835, 0.5, 0.75, 3, "2.9-3.7 s a cut")
RESULT = Result(
    study="cuts",
    title="one lambda",
    quick=False,
    date="2026-11-22T00:00:00+00:00",
    command="python -m benchmarks --only cuts",
    origin=HERE,
    load=0.1,
    seconds=12.3456,
    rows=[ROW],
    figures=[
        Figure("forest", "usage arcs", 5151860.0, "5.1 million"),
        Figure("forest", "gap", 1.23456e-7),
        Figure("lp", "gap", None),
    ],
)


def test_a_result_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Measured numbers keep four digits, counts all of theirs, and what has no end stays so."""
    endless = Figure("path", "gap", float("inf"))
    file = write_result(replace(RESULT, figures=[*RESULT.figures, endless]), tmp_path / "new")
    assert file == tmp_path / "new" / "cuts.json"
    told = json.loads(file.read_text())
    assert told["schema"] == results.SCHEMA
    assert list(told) == sorted(told)
    assert told["rows"][0]["seconds_a"] == 1.235
    again = read_result(file)
    assert [figure.value for figure in again.figures] == [5151860, 1.235e-7, None, None]
    assert "Infinity" not in file.read_text()
    assert again.rows == [replace(ROW, seconds_a=1.235, ratio=0.6173)]
    assert again.origin == HERE
    assert again.as_json() == file.read_text()
    assert read_folder(tmp_path / "new") == {"cuts": again}
    assert read_folder(tmp_path / "nowhere") == {}
    for foreign in ("[1]", '{"by": "rows", "schema": 9}'):
        (tmp_path / "new" / "growth-rows.json").write_text(foreign)
        assert read_folder(tmp_path / "new") == {"cuts": again}
    (tmp_path / "new" / "lp.json").write_text('{"study": "lp", "schema": 9}')
    with pytest.raises(BrokenFileError, match=r"lp\.json has the schema 9"):
        read_folder(tmp_path / "new")


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while a result is written leaves the one before, and no other file."""
    file = write_result(RESULT, tmp_path)
    before = file.read_text()

    def interrupted(*_: Any, **__: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(Result, "as_json", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_result(replace(RESULT, seconds=1.0), tmp_path)
    assert file.read_text() == before
    assert list(tmp_path.iterdir()) == [file]
    (tmp_path / "a file").write_text("")
    with pytest.raises(BrokenFileError, match="name another with --out"):
        write_result(RESULT, tmp_path / "a file" / "below")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "cannot be read"),
        ("[]", "schema None"),
        ('{"schema": 0}', "schema 0, this suite reads 1"),
        ('{"schema": 1}', "no result of a study"),
        (RESULT.as_json().replace('"runs"', '"walks"'), "no result of a study"),
        (RESULT.as_json().replace('"load"', '"burden"'), "no result of a study"),
    ],
)
def test_a_file_that_is_no_result_is_refused(text: str, told: str, tmp_path: Path) -> None:
    """The message names the file and what to do."""
    file = tmp_path / "cuts.json"
    file.write_text(text)
    with pytest.raises(BrokenFileError, match=rf"cuts\.json.*{told}.*run the study again"):
        read_result(file)


def test_the_code_is_what_is_measured(tmp_path: Path) -> None:
    """Another name or content of a Python file of the packages is other code; tests, results and documents are not."""
    package = tmp_path / "solvers" / "inner"
    package.mkdir(parents=True)
    seen = {origin.code_digest(tmp_path)}

    def changed() -> bool:
        before = len(seen)
        seen.add(origin.code_digest(tmp_path))
        return len(seen) > before

    (package / "a.py").write_text("x = 1")
    assert changed()
    (package / "a.py").write_text("x = 2")
    assert changed()
    (package / "a.py").rename(package / "b.py")
    assert changed()
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "c.py").write_text("")
    assert changed()
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("")
    (package / "notes.md").write_text("")
    assert not changed()


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_origin_tells_machine_versions_and_commit(tmp_path: Path) -> None:
    """In a checkout the commit and whether measured code differs from it; elsewhere neither."""
    here = origin.origin(tmp_path)
    assert (here.commit, here.dirty) == ("", False)
    assert here.line().endswith("commit unknown")
    assert here.machine["cores"] >= 1  # type: ignore[operator]
    assert {"Python", "numpy", "ortools"} <= set(here.versions)

    def git(*given: str) -> None:
        quiet = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *quiet, *given], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "a.py").write_text("x = 1")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    clean = origin.origin(tmp_path)
    assert len(clean.commit) == 40
    assert not clean.dirty
    (tmp_path / "README.md").write_text("other things")
    assert not origin.origin(tmp_path).dirty
    (tmp_path / "solvers" / "a.py").write_text("x = 2")
    changed = origin.origin(tmp_path)
    assert changed.dirty
    assert changed.line().endswith(f"commit {clean.commit[:10]} with changes")
    assert clean.same(clean)
    assert not clean.same(changed)
    assert clean.same(replace(clean, commit="another", dirty=True))  # the same code all the same
    assert not clean.same(replace(clean, versions={"Python": "4"}))
    assert not clean.same(replace(clean, machine={"cores": 3}))


def test_large_memories_are_told_with_as_many_digits_as_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of 1,007.56 GiB is the same machine after its result was kept."""
    monkeypatch.setattr(origin.os, "sysconf", lambda name: 1007.56 * 2**30 if name == "SC_PHYS_PAGES" else 1)
    here = origin.origin()
    assert here.machine["GiB"] == 1010.0
    assert read_result(write_result(replace(RESULT, origin=here), tmp_path)).origin.same(here)


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The suite runs from an unpacked archive on a machine without git."""

    def absent(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("git")

    monkeypatch.setattr(origin.subprocess, "run", absent)
    assert origin.origin().commit == ""


def _study(name: str = "cuts", found: Callable[[Setting], Found] | None = None, **given: Any) -> Study:
    return Study(name, "a title", found or (lambda _: ([ROW], [])), **given)


@pytest.fixture
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Folders, and an origin that does not take time."""
    monkeypatch.setattr(running, "origin", lambda: HERE)
    return Places(tmp_path / "out", tmp_path / "work")


def test_a_complete_study_is_not_run_again(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Unless asked for, or with other code, quick against full, or where its file is broken."""
    ran: list[Setting] = []

    def found(setting: Setting) -> Found:
        ran.append(setting)
        return [ROW], []

    study = _study(found=found)

    def runs(**given: Any) -> int:
        before = len(ran)
        assert running.run([study], places, quick=True, **given) == []
        return len(ran) - before

    assert runs() == 1
    assert runs() == 0
    assert "cuts is complete" in capsys.readouterr().err
    assert runs(again=True) == 1
    monkeypatch.setattr(running, "origin", lambda: replace(HERE, code="other"))
    assert runs() == 1
    assert not running.complete(study, places.out, replace(HERE, code="other"), quick=False)
    (places.out / "cuts.json").write_text("{")
    assert runs() == 1
    assert "cannot be read" in capsys.readouterr().err
    assert ran[0] == Setting(places.work, True, *running.QUICK)
    kept = read_result(places.out / "cuts.json")
    assert (kept.study, kept.title, kept.quick) == ("cuts", "a title", True)
    assert kept.command == "python -m benchmarks --only cuts --quick"


def test_one_failure_leaves_the_others_alone(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told, nothing is written for it, and the next study runs; Ctrl-C stops all of them."""

    def wrong(_: Setting) -> Found:
        raise SolverFailedError("they disagree")

    def stopped(_: Setting) -> Found:
        raise InterruptedSolveError("interrupted during a minimum cut")

    told = running.run([_study("bad", wrong), _study("good")], places, quick=True)
    assert told == ["bad failed: they disagree"]
    assert set(read_folder(places.out)) == {"good"}
    with pytest.raises(KeyboardInterrupt):
        running.run([_study("long", stopped), _study("after")], places, quick=True)
    assert set(read_folder(places.out)) == {"good"}


def test_a_full_study_has_a_process_of_its_own(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Forests first, then the study; a failure is told."""
    done: list[Any] = []
    fails: list[int] = []

    def run(made: list[str]) -> None:
        done.append(made)
        if fails:
            raise subprocess.CalledProcessError(fails.pop(), made)

    monkeypatch.setattr(running, "run_child", run)
    monkeypatch.setattr(running, "grow_in_child", lambda data, folder: done.append((data, folder)))
    monkeypatch.setattr(running, "find_dataset", lambda _: None)
    study = _study(forests=("miniboone",), tables=("sonar",))
    assert running.run([study], places) == []
    here = ["-m", "benchmarks", "--here", "cuts", "--out", str(places.out), "--work", str(places.work)]
    assert done == [("miniboone", places.work), here]
    fails.append(1)
    assert running.run([study], places) == ["cuts failed with status 1; see above"]


def test_absent_data_are_named(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which, in which variable, and what needs none; studies that have their data run."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(places.work))
    lacking = _study("long", forests=("miniboone",), tables=("sonar",))
    (told,) = running.run([lacking], places)
    assert told.startswith("long is left out: there is no miniboone, sonar in the folder")
    assert "PRUNEMODELS_DATA" in told
    assert "--quick" in told
    assert running.run([lacking], places, quick=True) == []


def test_a_busy_machine_is_told(places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Other work falsifies seconds more than ratios; this process is none of it; a system that does not tell is no obstacle."""
    file = places.out / "loadavg"
    file.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.setattr(running, "RUNNING", file)
    for count, told in ((3, True), (1, False)):
        file.write_text(f"9.00 9.00 9.00 {count}/345 6789\n")
        running.measure(_study(), places)
        assert ("quote ratios" in capsys.readouterr().err) == told
        assert read_result(places.out / "cuts.json").load == count - 1
    for unknown in ("", "0.1 0.1 0.1 many/345 1"):
        file.write_text(unknown)
        assert running.busy() == -1.0
    file.unlink()
    assert running.busy() == -1.0


def test_a_child_ends_well_or_is_told() -> None:
    """Status 0 is silent, another one an error; a child that Ctrl-C reached first stops everything."""
    children.run_child(["-S", "-c", ""])
    with pytest.raises(subprocess.CalledProcessError):
        children.run_child(["-S", "-c", "raise SystemExit(3)"])
    for ending in ("raise SystemExit(130)", "import os; os.kill(os.getpid(), 2)"):
        with pytest.raises(KeyboardInterrupt):
            children.run_child(["-S", "-c", f"import signal; signal.signal(2, signal.SIG_DFL); {ending}"])


@pytest.mark.parametrize("heeds", [True, False])
def test_an_interrupted_child_puts_its_things_away(heeds: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that hears of Ctrl-C only from us has time to tidy up; one that does not heed it is killed. None is left running."""
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    code = f"""
import pathlib, signal, sys, time
signal.signal(signal.SIGINT, signal.{"default_int_handler" if heeds else "SIG_IGN"})
pathlib.Path(sys.argv[1]).touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    pathlib.Path(sys.argv[2]).touch()
    sys.exit(130)
"""
    made: list[subprocess.Popen[bytes]] = []

    class Child(subprocess.Popen):  # type: ignore[type-arg]
        def wait(self, timeout: float | None = None) -> int:
            if not made:
                made.append(self)
                while not begun.exists():
                    time.sleep(0.01)
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(children.subprocess, "Popen", Child)
    monkeypatch.setattr(children, "GRACE_SECONDS", 0.2)
    with pytest.raises(KeyboardInterrupt):
        children.run_child(["-S", "-c", code, str(begun), str(ended)])
    assert ended.exists() == heeds
    assert made[0].returncode == (130 if heeds else -9)


def test_a_forest_is_grown_once_and_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In another process, whole or not at all, named after scikit-learn's version."""
    ran: list[list[str]] = []
    monkeypatch.setattr(forests, "run_child", ran.append)
    forests.grow_in_child("miniboone", tmp_path)
    assert ran == [["-m", "benchmarks.suite.forests", "miniboone", str(tmp_path)]]
    monkeypatch.setattr(forests, "train", lambda name, seed, file: file.write_text(f"{name} {seed}"))
    assert forests.main("miniboone", str(tmp_path)) == 0
    file = forests.forest_file("miniboone", tmp_path)
    assert file.read_text() == "miniboone 0"
    assert list(tmp_path.iterdir()) == [file]
    forests.grow_in_child("miniboone", tmp_path)
    assert len(ran) == 1

    def stopped(name: str, seed: int, file: Path) -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    monkeypatch.setattr(forests, "train", stopped)
    assert forests.main("covtype426k", str(tmp_path)) == 130
    assert list(tmp_path.iterdir()) == [file]


def _changed(ratio: float, low: float, high: float) -> dict[str, Result]:
    return {"cuts": replace(RESULT, rows=[replace(ROW, ratio=ratio, low=low, high=high)])}


@pytest.mark.parametrize(
    ("ratio", "low", "high", "verdict"),
    [
        (1.0, 0.9, 1.1, "slower"),
        (1.0, 0.7, 1.1, "same"),  # spreads overlap: 0.5 to 0.75 before
        (0.77, 0.7501, 0.78, "same"),  # apart, but no quarter above 0.617
        (0.78, 0.7501, 0.79, "slower"),
        (0.4, 0.3, 0.49, "faster"),
        (0.4, 0.3, 0.51, "same"),
        (0.5, 0.4, 0.49, "same"),  # no quarter below
        (0.6172835, 0.5, 0.75, "same"),
    ],
)
def test_a_change_counts_beyond_the_noise_of_both(ratio: float, low: float, high: float, verdict: str) -> None:
    """Slower or faster only where spreads lie apart and the ratio moved by more than the margin; a single run says neither."""
    found = comparing.compare({"cuts": RESULT}, _changed(ratio, low, high))
    assert [change.verdict for change in found.changes] == [verdict]
    assert found.changes[0].factor == ratio / ROW.ratio
    for one in (replace(found.changes[0], **{side: replace(ROW, runs=1, low=99.0, high=99.0)}) for side in ("before", "now")):
        assert one.verdict == "one run"
    assert bool(found.slower) == (verdict == "slower")
    told = comparing.report({"cuts": RESULT}, _changed(ratio, low, high))
    assert f"1 {verdict}" in told
    assert "other work" not in told
    busy = {"cuts": replace(RESULT, load=3.2)}
    assert "beside other work (3.2 processes): cuts before" in comparing.report(busy, _changed(ratio, low, high))
    assert "beside other work (3.2 processes): cuts now" in comparing.report({"cuts": RESULT}, busy)


def test_what_only_one_set_has_is_named() -> None:
    """Pairs are matched by study, instance and names; the rest is told, and figures that moved."""
    other = replace(
        RESULT,
        rows=[replace(ROW, instance="another forest")],
        figures=[Figure("forest", "usage arcs", 3e6), Figure("forest", "gap", 1.3e-7), Figure("lp", "gap", 0.0)],
    )
    found = comparing.compare({"cuts": RESULT}, {"cuts": other})
    assert found.changes == ()
    assert found.gone == ("cuts: forest: min_cut / raw cut",)
    assert found.new == ("cuts: another forest: min_cut / raw cut",)
    told = comparing.report({"cuts": RESULT}, {"cuts": other})
    assert "only before: cuts: forest: min_cut / raw cut" in told
    assert "| cuts | forest | usage arcs | 5,151,860 | 3,000,000 |" in told
    assert "| cuts | lp | gap | no end | 0 |" in told
    assert told.count("| gap |") == 1  # 1.23e-7 to 1.3e-7 is no change
    assert "nothing to compare" in told


def test_tables_tell_ratios_and_figures() -> None:
    """A line each, what DESIGN says beside; a single run has no spread; machines are told once."""
    single = replace(RESULT, study="lp", rows=[replace(ROW, runs=1, design="")], figures=[])
    told = tables.report({"cuts": RESULT, "lp": single}).splitlines()
    assert told[0].startswith("cuts, lp: Z80, 2 cores, 23.5 GiB, CP/M, numpy 2.4, Python 3.11.7, commit ababababab")
    assert "| forest | min_cut / raw cut | 1.23 | 2 | **0.617** | 0.5 to 0.75 | 2.9-3.7 s a cut |" in told
    assert "| forest | min_cut / raw cut | 1.23 | 2 | **0.617** | one run | - |" in told
    assert "| forest | usage arcs | 5,151,860 | 5.1 million |" in told
    assert "| lp | gap | no end | - |" in told
    assert tables.report({}) == "no results"
    two = replace(RESULT, rows=[ROW, replace(ROW, instance="wood", ratio=0.3), replace(ROW, a="path", ratio=4.0)])
    told = tables.summary_table([two]).splitlines()
    assert told[2:] == [
        "| cuts | min_cut / raw cut | 2 | 1.23 | 2 | **0.3 to 0.617** | 2.9-3.7 s a cut |",
        "| cuts | path / raw cut | 1 | 1.23 | 2 | **4** | 2.9-3.7 s a cut |",
    ]
    nothing = replace(RESULT, rows=[], figures=[])
    assert "no ratios\n\nno ratios\n\nno figures" in tables.report({"cuts": nothing})
    assert [tables.number(x) for x in (0.0, 1234.5, 12.34, 1.5e-9)] == ["0", "1,234", "12.3", "1.5e-09"]


def test_studies_are_chosen_by_name_or_kind() -> None:
    """All but those of scale by default; an unknown name lists the known ones."""
    assert [study.name for study in command.chosen(None)] == [name for name, study in STUDIES.items() if not study.scale]
    assert [study.name for study in command.chosen(None, scale=True)] == list(STUDIES)
    assert not any(study.scale for study in command.chosen(None, scale=True, quick=True))
    assert [study.name for study in command.chosen(["lp", "lp-pdlp", "cuts-covertype"])] == [
        "lp-highs",
        "lp-pdlp",
        "cuts-covertype",
    ]
    assert [study.name for study in command.chosen(["scale"], scale=True)] == ["scale-hepmass", "scale-yahoo"]
    with pytest.raises(InvalidInputError, match="no study 'cut'; there are cuts-miniboone, "):
        command.chosen(["cut"])
    for given in ({}, {"scale": True, "quick": True}):
        with pytest.raises(InvalidInputError, match="add --scale, without --quick"):
            command.chosen(["scale-yahoo"], **given)


@pytest.fixture
def only_cuts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A suite of one study that takes no time, and a folder for its result."""
    monkeypatch.setattr(command, "STUDIES", {"cuts": _study(forests=("miniboone",))})
    monkeypatch.setattr(running, "origin", lambda: HERE)
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_the_command_shows_compares_and_lists(only_cuts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shown without running; compared with status 1 where something is slower, 2 where there is nothing."""
    write_result(RESULT, only_cuts)
    assert command.main(["--show"]) == 0
    assert "2.9-3.7 s a cut" in capsys.readouterr().out
    before = only_cuts.parent / "before"
    write_result(_changed(0.3, 0.2, 0.4)["cuts"], before)
    assert command.main(["--compare", str(before)]) == 1
    assert "| slower |" in capsys.readouterr().out
    assert command.main(["--compare", str(only_cuts), "--out", str(before)]) == 0
    assert "| faster |" in capsys.readouterr().out
    assert command.main(["--compare", str(only_cuts.parent / "nowhere")]) == 2
    assert "no results in" in capsys.readouterr().err
    assert command.main(["--list"]) == 0
    assert capsys.readouterr().out.startswith("cuts  ")
    new = only_cuts.parent / "new"
    assert command.main(["--quick", "--work", str(new / "work")]) == 0  # nothing is kept unless --out says where
    assert not new.joinpath("cuts.json").exists()
    assert read_result(only_cuts / "cuts.json").as_json() == RESULT.as_json()
    assert command.main(["--here", "cuts", "--out", str(new), "--work", str(new / "work")]) == 0
    kept = read_result(new / "cuts.json")
    assert (kept.quick, kept.command) == (False, "python -m benchmarks --only cuts")


def test_errors_and_interrupts_have_their_status(
    only_cuts: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """1 where a study is left out or failed, 2 for a wrong option, 130 for Ctrl-C; each says why."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    assert command.main([]) == 1
    assert "cuts is left out" in capsys.readouterr().err
    assert command.main(["--only", "nothing"]) == 2
    assert "there is no study 'nothing'" in capsys.readouterr().err
    (tmp_path / "a file").write_text("")
    assert command.main(["--quick", "--work", str(tmp_path / "a file" / "below")]) == 2
    assert "cannot be made" in capsys.readouterr().err

    def stopped(*_: Any, **__: Any) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", stopped)
    assert command.main([]) == 130
    assert "goes on from there" in capsys.readouterr().err


def test_kept_results_are_real_and_small() -> None:
    """What git keeps under benchmarks/results is of this schema, of full runs, below 50 kB, and of studies that there are."""
    for file in filter(results.names_study, sorted((ROOT / "benchmarks" / "results").glob("*.json"))):
        result = read_result(file)
        assert file.name == f"{result.study}.json"
        assert result.study in STUDIES
        assert not result.quick
        assert file.stat().st_size < 50_000
        assert result.as_json() == file.read_text()
