"""The benchmark suite: what is kept, what is run again, what is told of a change."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suite import command, tables
from benchmarks.suite.results import ROOT, Origin, Result, origin, read_folder, read_result, write_result
from benchmarks.suite.study import Figure, Found, Row, Setting, Study
from formulations.errors import InterruptedSolveError, InvalidInputError, SolverFailedError

HERE = Origin("Z80, CP/M, 2 cores, numpy 2.4", "c0de", "ab" * 20, False)
ROW = Row("forest", "min_cut", "raw cut", 1.234567, 2.0, 0.6172835, 0.5, 0.75, 3)
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
    figures=[Figure("forest", "usage arcs", 5151860.0), Figure("forest", "gap", 1.23456e-7), Figure("lp", "gap", None)],
)


def test_a_result_is_read_back_as_it_was(tmp_path: Path) -> None:
    """Measured numbers keep four digits, counts all of theirs, and what has no end stays so; other files are skipped."""
    endless = Figure("path", "gap", float("inf"))
    file = write_result(replace(RESULT, figures=[*RESULT.figures, endless]), tmp_path / "new")
    again = read_result(file)
    assert [figure.value for figure in again.figures] == [5151860, 1.235e-7, None, None]
    assert "Infinity" not in file.read_text()
    assert again.rows == [replace(ROW, seconds_a=1.235, ratio=0.6173)]
    assert again.origin == HERE
    assert again.as_json() == file.read_text()
    (tmp_path / "new" / "growth-rows.json").write_text('{"by": "rows", "schema": 9}')
    assert read_folder(tmp_path / "new") == {"cuts": again}
    assert read_folder(tmp_path / "nowhere") == {}


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
def test_the_code_is_what_is_measured(tmp_path: Path) -> None:
    """Another name or content of a Python file of the packages is other code; tests, results and documents are not."""
    here = origin(tmp_path)
    assert (here.commit, here.dirty) == ("", False)
    assert here.line().endswith("commit unknown")

    def git(*given: str) -> None:
        quiet = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(tmp_path), *quiet, *given], check=True, capture_output=True)

    git("init", "-q")
    (tmp_path / "solvers").mkdir()
    (tmp_path / "solvers" / "a.py").write_text("x = 1")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    clean = origin(tmp_path)
    assert (len(clean.commit), clean.dirty) == (40, False)
    (tmp_path / "README.md").write_text("other things")
    assert origin(tmp_path) == clean
    (tmp_path / "solvers" / "a.py").write_text("x = 2")
    changed = origin(tmp_path)
    assert changed.line().endswith(f"commit {clean.commit[:10]} with changes")
    assert not clean.same(changed)
    (tmp_path / "solvers" / "a.py").write_text("x = 1")
    (tmp_path / "solvers" / "a.py").rename(tmp_path / "solvers" / "b.py")
    assert not clean.same(origin(tmp_path))
    assert clean.same(replace(clean, commit="another", dirty=True))  # the same code all the same
    assert not clean.same(replace(clean, machine="Z81"))


def _study(name: str = "cuts", found: Callable[[Setting], Found] | None = None, **given: Any) -> Study:
    return Study(name, "a title", found or (lambda _: ([ROW], [])), **given)


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Runs some studies that take no time, quickly unless told otherwise, and returns what went wrong."""
    monkeypatch.setattr(command, "origin", lambda: HERE)
    monkeypatch.setattr(command, "apart", lambda work, *given: work(*given))
    monkeypatch.setattr(command, "RESULTS", tmp_path / "results")

    def run(*studies: Study, quick: bool = True, **given: Any) -> list[str]:
        monkeypatch.setattr(command, "STUDIES", {study.name: study for study in studies})
        return command.run(studies, tmp_path / "results", tmp_path / "work", quick=quick, **given)

    return run


def test_a_complete_study_is_not_run_again(
    suite: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Unless asked for, or with other code, or quick against full."""
    ran: list[Setting] = []
    study = _study(found=lambda setting: ran.append(setting) or ([ROW], []))  # type: ignore[func-returns-value]

    def runs(**given: Any) -> int:
        before = len(ran)
        assert suite(study, **given) == []
        return len(ran) - before

    assert [runs(), runs(), runs(again=True), runs(quick=False), runs(quick=False)] == [1, 0, 1, 1, 0]
    monkeypatch.setattr(command, "origin", lambda: replace(HERE, code="other"))
    assert runs(quick=False) == 1
    assert runs() == 1
    assert ran[0] == Setting(tmp_path / "work", True, *command.QUICK)
    kept = read_result(tmp_path / "results" / "cuts.json")
    assert (kept.study, kept.quick, kept.command) == ("cuts", True, "python -m benchmarks --only cuts --quick")


def test_one_failure_leaves_the_others_alone(suite: Callable[..., list[str]], tmp_path: Path) -> None:
    """It is told, nothing is written for it, and the next study runs; Ctrl-C stops all of them."""

    def wrong(_: Setting) -> Found:
        raise SolverFailedError("they disagree")

    def stopped(_: Setting) -> Found:
        raise InterruptedSolveError("interrupted during a minimum cut")

    assert suite(_study("bad", wrong), _study("good")) == ["bad failed: they disagree"]
    assert set(read_folder(tmp_path / "results")) == {"good"}
    with pytest.raises(KeyboardInterrupt):
        suite(_study("long", stopped), _study("after"))
    assert set(read_folder(tmp_path / "results")) == {"good"}


def test_a_forest_is_grown_once_and_whole(
    suite: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before the study, named after scikit-learn's version; what is stopped leaves no part of a file."""
    grown: list[str] = []

    def train(name: str, seed: int, file: Path) -> None:
        file.write_text("half")
        grown.append(name)
        if name == "covtype426k":
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "train", train)
    monkeypatch.setattr(command, "find_dataset", lambda _: None)
    (tmp_path / "work").mkdir()
    for _ in range(2):
        assert suite(_study(data=("miniboone", "sonar")), quick=False, again=True) == []
    assert grown == ["miniboone"]
    with pytest.raises(KeyboardInterrupt):
        suite(_study(data=("covtype426k",)), quick=False, again=True)
    (file,) = (tmp_path / "work").iterdir()
    assert file.name.startswith("forest-miniboone-sklearn-")


def test_absent_data_are_named(suite: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Which, in which variable, and what needs none."""
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    lacking = _study("long", data=("miniboone", "sonar"))
    (told,) = suite(lacking, quick=False)
    assert told.startswith("long is left out: there is no miniboone, sonar in the folder")
    assert "PRUNEMODELS_DATA" in told
    assert suite(lacking) == []


def test_a_busy_machine_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Other processes are counted without this one; a system that does not tell is no obstacle."""
    file = tmp_path / "loadavg"
    monkeypatch.setattr(command, "RUNNING", file)
    assert command.busy() == -1.0
    for text, load in (("9.00 9.00 9.00 3/345 6789\n", 2.0), ("", -1.0), ("0.1 0.1 0.1 many/345 1", -1.0)):
        file.write_text(text)
        assert command.busy() == load


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
    ],
)
def test_a_change_counts_beyond_the_noise_of_both(ratio: float, low: float, high: float, verdict: str) -> None:
    """Slower or faster only where spreads lie apart and the ratio moved by more than the margin; a single run says neither."""
    (found,) = tables.changes_of({"cuts": RESULT}, _changed(ratio, low, high))
    assert found.verdict == verdict
    for side in ("before", "now"):
        assert replace(found, **{side: replace(ROW, runs=1, low=99.0, high=99.0)}).verdict == "one run"
    assert f"1 {verdict}" in tables.comparison({"cuts": RESULT}, _changed(ratio, low, high))


def test_what_only_one_set_has_is_named() -> None:
    """Pairs are matched by study, instance and names; the rest is told, figures that moved, and other work."""
    figures = [Figure("forest", "usage arcs", 3e6), Figure("forest", "gap", 1.3e-7), Figure("lp", "gap", 0.0)]
    other = replace(RESULT, rows=[replace(ROW, instance="another forest")], figures=figures, load=3.2)
    assert tables.changes_of({"cuts": RESULT}, {"cuts": other}) == []
    told = tables.comparison({"cuts": RESULT}, {"cuts": other})
    assert "only before: cuts: forest: min_cut / raw cut" in told
    assert "only now: cuts: another forest: min_cut / raw cut" in told
    assert "| cuts | forest | usage arcs | 5,151,860 | 3,000,000 |" in told
    assert "| cuts | lp | gap | no end | 0 |" in told
    assert told.count("| gap |") == 1  # 1.23e-7 to 1.3e-7 is no change
    assert "beside other work (3.2 processes): cuts now" in told


def test_tables_tell_ratios_and_figures() -> None:
    """A line each; a single run has no spread; machines are told once; a pair's ratios from least to largest, with the median."""
    single = replace(RESULT, study="lp", rows=[replace(ROW, runs=1)], figures=[])
    told = tables.report({"cuts": RESULT, "lp": single}).splitlines()
    assert told[0] == "cuts, lp: Z80, CP/M, 2 cores, numpy 2.4, commit ababababab"
    assert "| forest | min_cut / raw cut | 1.23 | 2 | **0.617** | 0.5 to 0.75 |" in told
    assert "| forest | min_cut / raw cut | 1.23 | 2 | **0.617** | one run |" in told
    assert "| forest | usage arcs | 5,151,860 |" in told
    assert "| lp | gap | no end |" in told
    three = replace(RESULT, rows=[ROW, replace(ROW, ratio=0.3), replace(ROW, ratio=0.5), replace(ROW, a="path", ratio=4.0)])
    assert tables.summary_table({"cuts": three}).splitlines()[2:] == [
        "| cuts | min_cut / raw cut | 3 | 1.23 | 2 | **0.3 to 0.617** | 0.5 |",
        "| cuts | path / raw cut | 1 | 1.23 | 2 | **4** | 4 |",
    ]
    assert [tables.number(x) for x in (0.0, 1234.5, 12.34, 1.5e-9)] == ["0", "1,234", "12.3", "1.5e-09"]


def test_studies_are_chosen_by_name_or_kind() -> None:
    """All by default; an unknown name lists the known ones."""
    assert [study.name for study in command.chosen(None)] == list(command.STUDIES)
    assert [study.name for study in command.chosen(["path", "path-covertype", "cuts-covertype"])] == [
        "path-miniboone",
        "path-covertype",
        "cuts-covertype",
    ]
    with pytest.raises(InvalidInputError, match="no study 'cut'; there are cuts-miniboone, "):
        command.chosen(["cut"])


def test_the_command_shows_compares_and_ends_with_a_status(
    suite: Callable[..., list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 1 where something is slower or left out, 2 for what cannot be done, 130 for Ctrl-C; each says why."""
    suite(_study(data=("miniboone",)))
    write_result(RESULT, tmp_path / "results")
    assert command.main(["--show"]) == 0
    assert "0.5 to 0.75" in capsys.readouterr().out
    before = tmp_path / "before"
    write_result(_changed(0.3, 0.2, 0.4)["cuts"], before)
    assert command.main(["--compare", str(before)]) == 1
    assert "| slower |" in capsys.readouterr().out
    assert command.main(["--compare", str(tmp_path / "results"), "--out", str(before)]) == 0
    assert "| faster |" in capsys.readouterr().out
    assert command.main(["--quick"]) == 0  # nothing is kept unless --out says where
    assert read_result(tmp_path / "results" / "cuts.json").as_json() == RESULT.as_json()
    monkeypatch.setenv("PRUNEMODELS_DATA", str(tmp_path))
    assert command.main(["--again"]) == 1
    for words, told in (
        (["--compare", str(tmp_path / "nowhere")], "no results in"),
        (["--only", "nothing"], "there is no study 'nothing'"),
    ):
        assert command.main(words) == 2
        assert told in capsys.readouterr().err

    def stopped(*_: Any, **__: Any) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", stopped)
    assert command.main([]) == 130


def test_kept_results_are_real() -> None:
    """What git keeps under benchmarks/results is of this schema, of full runs, and of studies that there are."""
    for name, result in read_folder(ROOT / "benchmarks" / "results").items():
        assert name in command.STUDIES
        assert not result.quick
        assert result.as_json() == (ROOT / "benchmarks" / "results" / f"{name}.json").read_text()
