"""Every row of a CSV file has as many fields as the header, or the file is refused by its line."""

from __future__ import annotations

import csv
import gzip
import io
import random
from pathlib import Path

import pandas as pd
import pytest

from formulations import BrokenFileError, InvalidInputError
from prunemodels.data_files import read_prices, read_table
from prunemodels.files import csv_tables
from prunemodels.files.csv_tables import columns_of_csv, csv_chunks
from prunemodels.number_columns import Marks
from tests.loops import looped

LAYOUT = csv_tables.Layout(["a", "b"], ",")

REFUSED = {
    "one too many in every row": ("a,b\n1,2,3\n4,5,6\n", "line 2, has 3 fields, but the header names 2 columns: '1,2,3'"),
    "one too many in a later row": ("a,b\n1,2\n\n4,5,6\n", "line 4, has 3 fields"),
    "one too few": ("a,b\n1,2\n3\n", "line 3, has 1 field, but the header names 2 columns: '3'"),
    "one too few, without a line end": ("a,b\n1,2\n3", "line 3, has 1 field"),
    "a comma at the end": ("a,b\n1,2,\n", "line 2, has 3 fields"),
    "after a break within quotes": ('a,b\n"x\ny",3\n1\n', "line 4, has 1 field"),
    "beside a quote within a field": ('a,b\n5" x,3,\n6" y,4,\n', "line 2, has 3 fields"),
    "a quote that is never closed": ('a,b\n"1,2\n3,4\n', "line 3, has 1 field"),
    "a line of blanks": ("a,b\n1,2\n  \n", "line 3, has 1 field"),
    "an empty text alone": ('a,b\n""\n1,2\n', "line 2, has 1 field"),
    "one column": ("a\n1\n2,3\n", "line 3, has 2 fields, but the header names 1 column"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
def test_rows_that_do_not_fit_the_header_are_refused(tmp_path: Path, case: str, ending: str) -> None:
    """By itself pandas would shift columns, make an index, or fill cells; the error has file, line, finding and remedy."""
    text, message = REFUSED[case]
    file = tmp_path / f"t{ending}"
    file.write_bytes(gzip.compress(text.encode()) if ending == ".csv.gz" else text.encode())
    with pytest.raises(BrokenFileError, match=rf"t\.csv.*, {message}.*; write one field for each column"):
        read_table(file)
    with pytest.raises(BrokenFileError, match=message):
        list(csv_chunks(file, 1, Marks()))


@pytest.mark.parametrize(
    "text",
    ['a,b\n"1,5",2\n', 'a,b\n\n\n"1,5",2\n\n', 'a,b\r\n"1,5",2\r\n', 'a,b\r"1,5",2', '\ufeffa,b\n"1,5",2', '"a",b\n"1,5","2"\n'],
)
def test_quotes_empty_lines_and_line_ends_are_no_mistakes(tmp_path: Path, text: str) -> None:
    """Commas in quotes, empty lines, the line ends of three systems and a byte-order mark: all the same table."""
    (tmp_path / "t.csv").write_bytes(text.encode())
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv"), pd.DataFrame({"a": [1.5], "b": [2]}), check_dtype=False)
    assert columns_of_csv(tmp_path / "t.csv") == ["a", "b"]


@pytest.mark.parametrize(
    "content",
    [
        "a;b;c\n1,5;M\xfcnster;2\n;K\xf6ln, Deutz;3\n".encode("latin-1"),
        '\ufeffa;b;c\r\n1,5;M\xfcnster;2\r\n;"K\xf6ln, Deutz";3'.encode(),
        "a;b;c\n1.5;M\xfcnster;2\n;K\xf6ln, Deutz;3\n".encode(),
        "a\tb\tc\n1,5\tM\xfcnster\t2\n\tK\xf6ln, Deutz\t3\n".encode("cp1252"),
        'a,b,c\n1.5,M\xfcnster,2\n,"K\xf6ln, Deutz",3\n'.encode("latin-1"),
    ],
)
def test_files_of_other_countries(tmp_path: Path, content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Semicolons, tabs, decimal commas, Latin-1, a byte-order mark: the same table, whole and in chunks, in any blocks."""
    (tmp_path / "t.csv").write_bytes(content)
    table = pd.DataFrame({"a": [1.5, None], "b": ["M\xfcnster", "K\xf6ln, Deutz"], "c": [2, 3]})
    for block in (5, 17, 1 << 20):
        monkeypatch.setattr(csv_tables, "BLOCK", block)
        pd.testing.assert_frame_equal(read_table(tmp_path / "t.csv"), table, check_dtype=False)
        pd.testing.assert_frame_equal(pd.concat(csv_chunks(tmp_path / "t.csv", 2, Marks())), table, check_dtype=False)
    prices = "feature;cost\na;7,27\nb;1\n"
    (tmp_path / "p.csv").write_text(prices)
    assert [str(cost) for cost in read_prices(tmp_path / "p.csv")[0]["cost"]] == ["7.27", "1"]


def test_what_the_message_says_of_separators(tmp_path: Path) -> None:
    """Semicolons below a header with commas are called semicolons, and a decimal comma is named as one; UTF-16 as UTF-16."""
    for content, message in (
        (b"a,b\n1;2\n", "by semicolons, the header by commas"),
        (b"a;b\n1,2\n", "by commas, the header by semicolons"),
        (b"a,b\nx,7,27\n", "line 2, .*; or, if it has decimal commas, write decimal points, or separate all .* semicolons"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16; save it as CSV in UTF-8"),
    ):
        (tmp_path / "t.csv").write_bytes(content)
        with pytest.raises(BrokenFileError, match=message):
            read_table(tmp_path / "t.csv")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_two_columns_of_one_name_are_refused(tmp_path: Path, name: str) -> None:
    """By itself pandas would call the second cost.1 and nobody would read it."""
    if name == "t.csv":
        (tmp_path / name).write_text("feature,cost,cost\nx,1,2\n")
    else:
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.table([["x"], [1], [2]], names=["feature", "cost", "cost"]), tmp_path / name)
    with pytest.raises(InvalidInputError, match=r"t\.\w+ names the column 'cost' twice, in the places 2 and 3"):
        read_table(tmp_path / name)


def _accepted(file: Path, size: int) -> bool:
    """Whether the check accepts a file that is read in blocks of so many bytes."""
    with csv_tables._CheckedRows(file, LAYOUT) as rows:
        try:
            while rows.readinto(bytearray(size)):
                pass
        except BrokenFileError:
            return False
    return True


@looped("size", range(1, 15))
def test_blocks_may_end_anywhere(size: int, tmp_path: Path) -> None:
    """Between a letter and the quote that it makes a letter, too; between the two quotes that are one; within a row."""
    for text, fits in (
        ('a,b\nx",y",z\n', False),
        ('a,b\n"x"",y",z\n', True),
        ('a,b\n"x,\ny",z\n', True),
        ("a,b\r\n1,2\r\n3,4", True),
        ("a,b\n1,2\n3,4,5\n6,7\n", False),
        ("a,b\n1,2\n3", False),
        ('a,b\n1,2\n"3,4"', False),
    ):
        (tmp_path / "t.csv").write_bytes(text.encode())
        assert _accepted(tmp_path / "t.csv", size) == fits, text


@pytest.mark.slow
@looped("seed", range(40))
def test_the_fast_check_agrees_with_pythons_reader(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random texts of commas, quotes and line ends, cut into blocks of any size: refused when and only when a row differs."""
    draw = random.Random(seed)
    calls: list[object] = []
    every_row = csv_tables.check_every_row
    monkeypatch.setattr(csv_tables, "check_every_row", lambda *args: calls.append(args) or every_row(*args))
    file = tmp_path / "t.csv"
    verdicts = []
    for _ in range(25):
        rows = ["".join(draw.choices(('"', '""', '"x"', ",", "x", "\n", "\r\n", " ", '"x,\n"'), k=draw.randint(1, 4)))]
        rows += [draw.choice(("x,y", '"x",y', 'x,"y,y"', '"x\n",""', "")) for _ in range(draw.randint(0, 3))]
        draw.shuffle(rows)
        text = "a,b" + "".join("\n" + row for row in rows) + draw.choice(("", "\n"))
        file.write_bytes(text.encode())
        expected = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        fits = all(len(row) == 2 for row in expected)
        verdicts.append(fits)
        calls.clear()
        assert _accepted(file, draw.randint(1, 9)) == fits, text
        if fits and '"' not in text:
            assert not calls, text  # the fast check was enough
        with csv_tables._opened(file, LAYOUT) as checked:
            try:
                table = pd.read_csv(checked, dtype=str, keep_default_na=False, index_col=False)
            except BrokenFileError:
                assert not fits, text
            except pd.errors.ParserError:  # a quote that is never closed, which Python's reader does not mind
                continue
            else:
                assert table.to_numpy().tolist() == expected[1:], text
    assert {True, False} == set(verdicts)
