"""The benchmark of big tables, on a small one: each way in memory and in chunks ends in the same answer."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import joblib
import pytest
from pyarrow import parquet

from benchmarks import big_tables, rounds_on_disk


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """700 rows in pieces of 300, and a forest of three trees; events are made a few at a time."""
    folder = tmp_path_factory.mktemp("big")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(big_tables, "events", partial(big_tables.events, block=1000))
        patch.setattr(big_tables, "PIECE", 300)
        patch.setattr(big_tables, "TRAINING_ROWS", 400)
        big_tables.write_table(folder / "events.parquet", 700)
        big_tables.grow(folder / "forest.joblib", 3)
        yield folder


def test_the_table_is_written_in_pieces(folder: Path) -> None:
    """All rows and labels; pieces have seeds of their own, so they differ."""
    table = parquet.read_table(folder / "events.parquet")
    assert (table.num_rows, table.column_names) == (700, [*big_tables.NAMES, "signal"])
    assert table.slice(0, 300) != table.slice(300, 300)


@pytest.mark.slow
def test_every_way_ends_where_memory_ends(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Digests, evaluations and prunings agree between the ways of a kind; rows of the table have a peak each."""
    ends: dict[str, set[str]] = {}
    for way in big_tables.WAYS:
        big_tables.measure(way, folder)
        cells = capsys.readouterr().out.split("|")
        assert cells[1].strip() == way
        assert all(cell.strip().split()[1] in ("s", "MB") for cell in cells[2:5])
        ends.setdefault(way.split(",")[0], set()).add(cells[5].split(", gap")[-1].strip())
    assert list(ends) == ["instance", "solve", "errors of the nodes", "evaluate", "evaluate_path"]
    assert all(len(found) == 1 for found in ends.values()), ends


def test_a_run_measures_every_way_in_a_process_of_its_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is there is not made again; the heading says how large it is."""
    commands = []
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append((command[-1], check)))
    monkeypatch.setattr(big_tables, "write_table", None)
    big_tables.run(folder, argparse.Namespace(rows=9, trees=9, ways=["evaluate, in chunks", "solve, on disk"]))
    assert commands == [("evaluate, in chunks", True), ("solve, on disk", True)]
    assert capsys.readouterr().out.startswith("700 rows x 28 features, 0 MB of Parquet; 0 MB of order")
    assert len(joblib.load(folder / "forest.joblib")) == 3


def test_rounds_are_measured_in_memory_and_on_disk(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As many as were asked for in both, and half as many where the system puts pages out; no file stays but what is kept."""
    (folder / "rounds").mkdir()
    rounds_on_disk.measure(folder / "rounds", 700, 3, 3)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(" 0 MB of blocks")
    assert [line.split("|")[1].strip() for line in lines[4:6]] == ["in memory", "on disk"]
    assert lines[6:] == [] or lines[6].startswith("| on disk, nothing in memory |")
    assert sorted(file.name for file in (folder / "rounds").iterdir()) == ["events-700.parquet", "forest-3.joblib"]
