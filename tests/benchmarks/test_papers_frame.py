"""The frame of the papers' experiments: what is kept, what is done again, what is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.measuring import frame_markdown, plus_minus
from benchmarks.papers import __main__ as command
from benchmarks.papers import running
from benchmarks.papers.experiment import Comparison, Experiment, Presentation, Row, Scope, Unit
from benchmarks.papers.protocols import PROTOCOLS
from benchmarks.papers.running import experiments
from prunemodels.plots.picture import Picture


class Counter:
    """An experiment on nothing: one row a unit, and a record of which units were run."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.interrupt_at = self.fail_at = ""

    def units(self, scope: Scope) -> list[Unit]:
        return [
            Unit("counting", data, seed, method, {"power": 2}, scope.rows)
            for data, seed in scope.groups()
            for method in ("a", "b")
        ]

    def run(self, unit: Unit) -> Sequence[Row]:
        name = f"{unit.data}{unit.seed}{unit.method}"
        if name == self.interrupt_at:
            raise KeyboardInterrupt
        if name == self.fail_at:
            raise ImportError("no module of that learner")
        self.ran.append(name)
        return [{"value": np.float64(unit.seed + 0.5), "many": np.int64(3), "nothing": None}]

    def present(self, frame: pd.DataFrame) -> Presentation:
        means = frame.groupby("method", as_index=False)["value"].mean()
        picture = Picture()
        picture.add_subplot().plot([0, 1])
        return Presentation({"means": means}, {"line": picture}, ["a note"], {"all": frame})

    def compare(self, frame: pd.DataFrame) -> list[Comparison]:
        return [
            Comparison("mean value", 1.0, float(frame["value"].mean())),
            Comparison("who wins", "a wins", "b wins", why="luck"),
        ]

    def experiment(self) -> Experiment:
        return Experiment(
            "counting", "nws15", "NIL00, Table 0", "counts", "no time", ("x",), self.units, self.run, self.present,
            repeats=2, full_repeats=3, compare=self.compare, why="because",
        )  # fmt: skip


@pytest.fixture
def counter(monkeypatch: pytest.MonkeyPatch) -> Counter:
    made = Counter()
    known = {"counting": made.experiment()}
    for module in (running, command):
        monkeypatch.setattr(module, "experiments", lambda: known)
    return made


def call(out: Path, *arguments: str) -> int:
    return command.main([*arguments, "--out", str(out)])


def test_a_key_is_made_of_everything_that_decides_the_rows() -> None:
    """Another value of any field is another key; the order in which a setting was written is not."""
    unit = Unit("e", "d", 0, "m", {"a": 1, "b": None}, 10, 1)
    other = [("experiment", "f"), ("data", "c"), ("seed", 1), ("method", "n"), ("setting", {"a": 2, "b": None}), ("rows", None)]
    keys = {replace(unit, **{name: value}).key for name, value in [*other, ("version", 2)]}
    assert len(keys) == 7
    assert unit.key not in keys
    assert replace(unit, setting={"b": None, "a": 1}).key == unit.key
    assert unit.key == "b9e077bec03d612c5524"  # of this very content, in every process and version: results are found again


def test_the_short_and_the_full_version_and_what_the_caller_wants(counter: Counter) -> None:
    """Data and repeats are the version's unless they are named."""
    made = counter.experiment()
    assert made.scope() == Scope(("x",), 2)
    assert made.scope(full=True) == Scope(("x",), 3, True)
    assert made.scope(full=True, repeats=1, data=["z"], rows=5) == Scope(("z",), 1, True, 5)


def test_a_run_writes_tables_figures_and_the_rows_of_each_unit(
    counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Everything is in the experiment's folder; the screen shows tables and notes, but not the long files."""
    assert call(tmp_path, "counting") == 0
    folder = tmp_path / "counting"
    assert {p.name for p in folder.iterdir()} == {"units", "means.csv", "all.csv", "line.png", "line.svg"}
    assert pd.read_csv(folder / "means.csv")["value"].tolist() == [1.0, 1.0]
    kept = [json.loads(p.read_text()) for p in (folder / "units").iterdir()]
    assert len(kept) == 4
    assert all(k["rows"] == [{"value": k["unit"]["seed"] + 0.5, "many": 3, "nothing": None}] for k in kept)
    assert all("cores" in k["machine"] and k["seconds"] >= 0 for k in kept)
    told = capsys.readouterr().out
    assert "# counting: NIL00, Table 0" in told
    assert "protocol NWS15: trees 40, thresholds all" in told
    assert "| a | 1 |" in told
    assert "- a note" in told
    assert "## all" not in told
    frame = pd.read_csv(folder / "all.csv")
    assert set(frame.columns) >= {"data", "seed", "method", "power", "seconds", "machine", "value"}


@pytest.mark.slow
def test_what_is_done_is_not_done_again(counter: Counter, tmp_path: Path) -> None:
    """The same command runs nothing, a longer one only what is missing."""
    call(tmp_path, "counting")
    counter.ran.clear()
    assert call(tmp_path, "counting") == 0
    assert counter.ran == []
    assert call(tmp_path, "counting", "--repeats", "3") == 0
    assert counter.ran == ["x2a", "x2b"]


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(
    counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 130, finished units whole and nothing else; the next run begins at the unit that was stopped."""
    counter.interrupt_at = "x1a"
    assert call(tmp_path, "counting") == 130
    assert "the same command goes on" in capsys.readouterr().err
    files = list((tmp_path / "counting").rglob("*.*"))
    assert sum(f.suffix == ".json" and f.parent.name == "units" for f in files) == 2
    assert not any(f.name.startswith(".") for f in files)
    counter.interrupt_at = ""
    counter.ran.clear()
    assert call(tmp_path, "counting") == 0
    assert counter.ran == ["x1a", "x1b"]


def test_a_unit_that_fails_is_told_and_the_others_go_on(
    counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear line, status 1, the tables of what there is; it is tried again next time."""
    counter.fail_at = "x0b"
    assert call(tmp_path, "counting") == 1
    told = capsys.readouterr()
    assert "x, seed 0, b, power 2: ImportError: no module of that learner" in told.err
    assert "1 units failed" in told.err
    assert "Traceback" in told.err
    assert "| b | 1.5 |" in told.out
    assert counter.ran == ["x0a", "x1a", "x1b"]
    counter.fail_at = ""
    assert call(tmp_path, "counting") == 0
    assert counter.ran[-1] == "x0b"


def test_a_trial_neither_counts_nor_overwrites(counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With --rows the files carry the number, and `keep` leaves the trial out."""
    call(tmp_path, "counting", "--rows", "50")
    names = {p.name for p in (tmp_path / "counting").iterdir()}
    assert names == {"units", "means_rows50.csv", "all_rows50.csv", "line_rows50.png", "line_rows50.svg"}
    assert "a trial with 50 rows" in capsys.readouterr().out
    assert call(tmp_path, "keep") == 2
    assert "holds no finished units" in capsys.readouterr().err


def test_what_cannot_be_is_refused(counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Status 2, a sentence, and nothing written."""
    assert call(tmp_path / "out", "nothing") == 2
    assert "there is no experiment 'nothing'; give one of counting" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_every_experiment_is_listed_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    """The bare command lists them all, a line each; names are their modules' or begin as they do."""
    assert command.main([]) == 0
    lines = capsys.readouterr().out.splitlines()
    names = list(experiments())
    assert {"nws15_table1", "bp16_figure2", "bp16_table1", "bp16_prices", "bp16_criteria", "bp16_subsets"} <= set(names)
    assert all(e.protocol in PROTOCOLS for e in experiments().values())
    assert [line.split()[0] for line in lines] == names
    assert command.main(["protocols"]) == 0
    assert "| NWS15 | thresholds | all |" in capsys.readouterr().out
    assert all(experiments()[n].source in line and experiments()[n].takes in line for n, line in zip(names, lines, strict=True))


def test_units_of_real_experiments_have_keys_of_their_own() -> None:
    """No two units of an experiment share a key, and units of a group stand together."""
    for experiment in experiments().values():
        for full in (False, True):
            units = experiment.units(experiment.scope(full=full, repeats=2))
            assert len({u.key for u in units}) == len(units), experiment.name
            groups = [(u.data, u.seed) for u in units]
            changes = sum(a != b for a, b in pairwise(groups))
            assert changes == len(set(groups)) - 1, experiment.name
            assert all(json.loads(json.dumps(asdict(u))) == asdict(u) for u in units)


def test_all_runs_every_experiment_and_goes_on_after_a_failure(
    counter: Counter, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The status is 1 if a unit of any experiment failed."""
    known = {name: replace(counter.experiment(), name=name) for name in ("counting", "again")}
    for module in (running, command):
        monkeypatch.setattr(module, "experiments", lambda: known)
    counter.fail_at = "x0b"
    assert call(tmp_path, "all") == 1
    assert "2 units failed" in capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == {"counting", "again"}


def test_tables_are_markdown() -> None:
    """Floats have four digits, missing ones a dash, numbers stand right."""
    frame = pd.DataFrame({"name": ["a", None], "value": [1 / 3, np.nan], "n": [1, 2]})
    assert frame_markdown(frame).splitlines() == [
        "| name | value | n |",
        "| --- | ---: | ---: |",
        "| a | 0.3333 | 1 |",
        "| - | - | 2 |",
    ]
    assert plus_minus([1.0, 3.0], 2) == "2.00 ± 1.41"
    assert plus_minus([1.0]) == "1.0000"


def test_data_sets_with_other_columns_get_tables_of_their_own() -> None:
    """A budget that only one data set has is no column of dashes in the other's table; with none missing it is one table."""
    frame = pd.DataFrame({"data": ["a", "b", "b"], "method": ["m", "m", "n"], "5": ["1", None, None], "8": [None, "2", None]})
    first, second = frame_markdown(frame).split("\n\n")
    assert first.splitlines() == ["| data | method | 5 |", "| --- | --- | --- |", "| a | m | 1 |"]
    assert second.splitlines() == ["| data | method | 8 |", "| --- | --- | --- |", "| b | m | 2 |", "| b | n | - |"]
    assert frame_markdown(frame.drop(columns=["5", "8"])).count("\n\n") == 0
