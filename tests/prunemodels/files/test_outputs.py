"""Files appear whole, together, or not at all."""

from __future__ import annotations

import errno
import os
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from formulations import BrokenFileError, InvalidInputError
from prunemodels.files.outputs import OutputFiles, check_output


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_files_appear_when_the_group_is_complete(tmp_path: Path) -> None:
    """Until the block ends only hidden files exist, afterwards only the named ones."""
    with OutputFiles() as outputs:
        for name in ("a.csv", "b.csv"):
            outputs.aside(tmp_path / name).write_text(name)
        assert all(name.startswith(".") for name in names(tmp_path))
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"a.csv": "a.csv", "b.csv": "b.csv"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_leaves_the_folder_as_it_was(tmp_path: Path, error: type[BaseException]) -> None:
    """After an error or Ctrl-C half way, no file is new and an old one keeps its content."""
    (tmp_path / "a.csv").write_text("old")

    def fail() -> None:
        with OutputFiles() as outputs:
            outputs.aside(tmp_path / "a.csv").write_text("half")
            outputs.aside(tmp_path / "b.csv").write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert names(tmp_path) == ["a.csv"]
    assert (tmp_path / "a.csv").read_text() == "old"


def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operating-system error while the files go to disk names the file, and none of the group appears."""

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BrokenFileError, match=r"cannot write .*b\.csv: No space left"), OutputFiles() as outputs:
        outputs.aside(tmp_path / "b.csv").write_text("half")
    assert names(tmp_path) == []


def test_ctrl_c_between_two_renames_waits_for_the_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt during the renames does not tear the group apart."""
    rename = os.replace

    def interrupted(source: Path, place: Path) -> None:
        rename(source, place)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(os, "replace", interrupted)
    with suppress(KeyboardInterrupt), OutputFiles() as outputs:
        outputs.aside(tmp_path / "a").write_text("a")
        outputs.aside(tmp_path / "b").write_text("b")
    assert names(tmp_path) == ["a", "b"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """Writing to a symbolic link replaces what it points to."""
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    with OutputFiles() as outputs:
        outputs.aside(tmp_path / "link").write_text("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_places_that_cannot_be_written_are_refused_early(tmp_path: Path) -> None:
    """Unknown endings, absent folders, folders and existing files are refused by argument and remedy."""
    (tmp_path / "old.csv").touch()
    (tmp_path / "folder.csv").mkdir()
    for place, message in [
        ("new.txt", r"--out: .*new\.txt has the ending '\.txt'; give one of \.csv"),
        ("absent/new.csv", r"--out: the folder .*absent .* does not exist"),
        ("folder.csv", "--out: .* is a folder"),
        ("old.csv", "--out: .* exists; .*--force"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            check_output(tmp_path / place, "--out", endings=(".csv",))
    assert check_output(tmp_path / "old.csv", "--out", endings=(".csv",), force=True) == tmp_path / "old.csv"


def test_two_groups_cannot_reserve_one_file(tmp_path: Path) -> None:
    """The second is refused at once, before its long work; when the first has ended the file is there, and is kept."""
    place = tmp_path / "path.csv"
    with OutputFiles(force=False) as first:
        first.reserve(place, "--out")
        with pytest.raises(BrokenFileError, match=r"another run, process \d+, is writing .*path\.csv"), OutputFiles() as second:
            second.reserve(place, "--out")
        first.aside(place).write_text("first")
    with pytest.raises(InvalidInputError, match="exists"), OutputFiles(force=False) as third:
        third.reserve(place, "--out")
    assert place.read_text() == "first"
    assert names(tmp_path) == ["path.csv"]


@pytest.mark.parametrize("linked", [True, False])
def test_a_file_that_appears_in_the_meantime_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, linked: bool) -> None:
    """Another program's file is not replaced without --force, and the rest of the group is not written either."""

    def write_both(outputs: OutputFiles) -> None:
        for name in ("a.csv", "b.csv"):
            outputs.aside(tmp_path / name).write_text("ours")
        (tmp_path / "b.csv").write_text("theirs")

    if not linked:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError(errno.EPERM, "no hard links")))
    with (
        pytest.raises(BrokenFileError, match=r"cannot write .*b\.csv: it did not exist .*--force"),
        OutputFiles(force=False) as outputs,
    ):
        write_both(outputs)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"b.csv": "theirs"}
    with OutputFiles(force=False) as outputs:
        outputs.aside(tmp_path / "a.csv").write_text("ours")
    assert (tmp_path / "a.csv").read_text() == "ours"


@pytest.mark.parametrize("how", ["the file", "a symbolic link", "a hard link", "another spelling"])
def test_inputs_are_never_overwritten(tmp_path: Path, how: str) -> None:
    """Not even with --force, and not through links."""
    data = tmp_path / "data.csv"
    data.write_text("precious")
    out = {"the file": data, "another spelling": tmp_path / "." / ".." / tmp_path.name / "data.csv"}.get(
        how, tmp_path / "out.csv"
    )
    if how == "a symbolic link":
        out.symlink_to(data)
    if how == "a hard link":
        out.hardlink_to(data)
    with pytest.raises(InvalidInputError, match=r"--out: .* is also the file of --data, and an input is never overwritten"):  # noqa: SIM117
        with OutputFiles(inputs={"--data": str(data), "--costs": "1"}) as outputs:
            outputs.reserve(out, "--out")
    assert data.read_text() == "precious"


def test_what_a_killed_process_left_is_taken_over(tmp_path: Path) -> None:
    """Its hidden file and its lock file go away with the next group that writes the same file."""
    (tmp_path / ".path.partial.csv").write_text("half")
    (tmp_path / ".path.lock.csv").write_text("1234567\n")
    with OutputFiles() as outputs:
        outputs.aside(tmp_path / "path.csv").write_text("whole")
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"path.csv": "whole"}


def test_the_longest_names_can_be_written(tmp_path: Path) -> None:
    """A hidden name that would be longer than the file system allows is shortened; a name that is too long itself is refused."""
    name = "a" * 251 + ".csv"
    with OutputFiles() as outputs:
        outputs.aside(outputs.reserve(tmp_path / name, "--out")).write_text("whole")
    assert names(tmp_path) == [name]
    with pytest.raises(InvalidInputError, match=r"--out: .*cannot be a file \(File name too long\); choose another name"):
        check_output(tmp_path / f"a{name}", "--out")


def test_the_error_that_comes_first_is_the_one_that_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a read-only target not even the hidden files can be deleted, which must not hide what happened."""

    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    def fail() -> None:
        with OutputFiles() as outputs:
            outputs.aside(tmp_path / "a.csv")
            monkeypatch.setattr(Path, "unlink", read_only)
            raise InvalidInputError("the reason")

    with pytest.raises(InvalidInputError, match="the reason"):
        fail()


def test_one_name_for_two_outputs_is_refused(tmp_path: Path) -> None:
    """The second output would overwrite the first."""
    with OutputFiles() as outputs:
        outputs.aside(tmp_path / "a")
        with pytest.raises(InvalidInputError, match="two outputs"):
            outputs.aside(tmp_path / "." / "a")
    assert names(tmp_path) == ["a"]


def test_a_new_folder_goes_away_with_its_files(tmp_path: Path) -> None:
    """It was made for the files alone; with a file of somebody else's in it, it stays."""
    for stranger in (False, True):
        with suppress(KeyboardInterrupt), OutputFiles() as outputs:
            outputs.folder(tmp_path / "new", "--out")
            outputs.reserve(tmp_path / "new" / "a.csv", "--out")
            if stranger:
                (tmp_path / "new" / "stranger").touch()
            raise KeyboardInterrupt
        assert [str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*")] == (["new", "new/stranger"] if stranger else [])
