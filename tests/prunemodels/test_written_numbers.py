"""Numbers of tables are read as they are meant, or refused with both readings; what was taken is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from formulations import InvalidInputError
from prunemodels.data_files import read_and_tell, read_prices
from prunemodels.files import csv_tables
from prunemodels.files.csv_tables import csv_chunks
from prunemodels.number_columns import Marks
from prunemodels.written_numbers import written

N = float("nan")

READ: dict[str, tuple[str, dict[str, list[Any]], tuple[str, ...]]] = {
    "decimal comma decides thousands elsewhere": (
        "age;income;weight;ill\n30;3.477;57,9;no\n41;900;81,2;yes\n",
        {"age": [30, 41], "income": [3477, 900], "weight": [57.9, 81.2], "ill": ["no", "yes"]},
        ("points for thousands in income", "decimal comma in weight"),
    ),
    "decimal points decide, too": ("a;b\n1.5;3.477\n2;1.000\n", {"a": [1.5, 2], "b": [3.477, 1]}, ()),
    "a zero before the point": ("a;b\n0.125;3.477\n2;1.000\n", {"a": [0.125, 2], "b": [3.477, 1]}, ()),
    "points that come twice": ("a;b\n1.234.567;3.477\n", {"a": [1234567], "b": [3477]}, ("points for thousands in a, b",)),
    "quoted thousands beside decimals": ('a,b\n"1,234",5.5\n', {"a": [1234], "b": [5.5]}, ("commas for thousands in a",)),
    "quoted thousands and decimals": ('a,b\n"1,234.5",3.477\n', {"a": [1234.5], "b": [3.477]}, ("commas for thousands in a",)),
    "quoted decimal commas": ('a,b\n"57,9",3.477\n"1,5",900\n', {"a": [57.9, 1.5], "b": [3477, 900]}, ("decimal comma in a",)),
    "fields between commas": ("a,b\n3.477,1\n900,2\n", {"a": [3.477, 900], "b": [1, 2]}, ()),
    "text with commas decides nothing": ('a,b\n"Rome, IT",3.477\nx,2\n', {"a": ["Rome, IT", "x"], "b": [3.477, 2]}, ()),
    "each column as it can be": ("a;b\n1,5;2.5\n", {"a": [1.5], "b": [2.5]}, ("decimal comma in a",)),
    "spaces": (
        "a;b\n1 234,5;1\u00a0234\n2;1\u202f234\n",
        {"a": [1234.5, 2], "b": [1234, 1234]},
        ("spaces for thousands in a, b",),
    ),
    "apostrophes": ("a;b\n1'234.50;1\n2;1\n", {"a": [1234.5, 2], "b": [1, 1]}, ("apostrophes for thousands in a",)),
    "lakhs": ('a,b\n"1,23,456",1\n', {"a": [123456], "b": [1]}, ("commas for thousands in a",)),
    "exponents": ("a;b\n1,5e3;1e3\n2;3\n", {"a": [1500, 2], "b": [1000, 3]}, ("decimal comma in a",)),
    "accounts": ('a,b\n(5),5-\n3,"(1,234.50)"\n', {"a": [-5, 3], "b": [-5, -1234.5]}, ("(5) as -5 in a, b", "5- as -5 in b")),
    "another minus": ("a,b\n\u22125,1\n3,2\n", {"a": [-5, 3], "b": [1, 2]}, ()),
    "currency": (
        "a;b\n7,27 \u20ac;$1\n1.200 \u20ac;2\n",
        {"a": [7.27, 1200], "b": [1, 2]},
        ("\u20ac left out in a", "$ left out in b"),
    ),
    "per cent": ("a,b\n12%,1\n5 %,1\n", {"a": [12, 5], "b": [1, 1]}, ("% left out in a",)),
    "a unit of letters": (
        "a;b\n" + "".join(f"{k},5 mg/dl;1\n" for k in range(11)) + "?;1\n",
        {"a": [*(k + 0.5 for k in range(11)), N], "b": [1] * 12},
        ("decimal comma in a", "mg/dl left out in a"),
    ),
    "missing words": ("a,b\nNA,NA\n1,x\n-,?\n", {"a": [N, 1, N], "b": [N, "x", "?"]}, ("`-`, `NA` are missing in a: 2 of 3",)),
    "blanks and errors": (
        "a,b\n  ,x\n 5 ,y\n#DIV/0!,z\n",
        {"a": [N, 5, N], "b": ["x", "y", "z"]},
        ("`#DIV/0!` is missing in a",),
    ),
    "truth": ("a;b;c\nTrue;True;NA\nFalse;;true\n", {"a": [True, False], "b": [True, N], "c": [N, True]}, ()),
    "gaps among dates": ("a,b\n2024-01-31,1\n?,2\n", {"a": ["2024-01-31", N], "b": [1, 2]}, ("`?` is missing in a: 1 of 2",)),
    "words alone": ("a,b\n?,1\n?,2\n", {"a": ["?", "?"], "b": [1, 2]}, ()),
    "versions, dates, names": (
        "a;b\n1.2.3;31.12.2020\n1.10;01.02.2020\n",
        {"a": ["1.2.3", "1.10"], "b": ["31.12.2020", "01.02.2020"]},
        (),
    ),
    "long integers": ("a;b\n12345678901234567890123;007\n", {"a": [12345678901234567890123], "b": [7]}, ()),
    "gaps in all cells": ("a,b\nNA,1\n,2\n", {"a": [N, N], "b": [1, 2]}, ()),
}


@pytest.mark.parametrize("case", READ)
@pytest.mark.parametrize("way", ["whole", "chunks"])
def test_numbers_are_read_as_they_are_meant(tmp_path: Path, case: str, way: str) -> None:
    """Values by hand; columns of words stay as they are. Chunks of one row are as the whole table, but for types."""
    text, columns, taken = READ[case]
    file = tmp_path / "t.csv"
    file.write_text(text, encoding="utf-8")
    table, told = read_and_tell(file)
    if way == "chunks":
        table = pd.concat(list(csv_chunks(file, len(table), Marks())))
    found = {name: [None if pd.isna(cell) else cell for cell in column] for name, column in table.items()}
    assert found == {name: [None if cell is N else cell for cell in cells] for name, cells in columns.items()}
    assert all(what in "".join(told) for what in taken)
    assert bool(told) == bool(taken)


REFUSED = {
    "points alone": (
        "a;b\n30;3.477\n41;900\n",
        r"t.csv, row 1: .* 'b' holds '3.477', .* 3.477 with .* point and 3477 .* --decimal point",
    ),
    "quoted commas alone": (
        'a,b\n1,5\n2,"12,345"\n',
        r"t.csv, row 2: .* 'b' holds '12,345', .* 12345 with .* point and 12.345 with",
    ),
    "columns that disagree": ("a;b;c\n1,5;2.5;3.477\n", r"row 1: the column 'c' holds '3.477'"),
    "marks that disagree": (
        "a;b\n1,5;1\n7;2\n2.5;1\n",
        r"'a' has numbers with .* '1,5' in row 1 and '2.5' in row 3; write one of them",
    ),
    "per cent in some": (
        "a,b\n12%,1\n0.5,1\n",
        r"'a' holds numbers of different units, '0.5' in row 2 and '12%' in row 1|'12%' in row 1",
    ),
    "two currencies": ("a,b\n$5,1\n\u20ac5,1\n", r"'a' holds numbers of different units, '\$5' in row 1 and '\u20ac5' in row 2"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_can_be_read_in_two_ways_is_refused(tmp_path: Path, case: str) -> None:
    """The message has column, row, both readings and the way out; a column that is left out is not judged."""
    text, message = REFUSED[case]
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError, match=message):
        read_and_tell(tmp_path / "t.csv")
    with pytest.raises(InvalidInputError, match=message):
        list(csv_chunks(tmp_path / "t.csv", 1, Marks()))
    assert "a" in read_and_tell(tmp_path / "t.csv", skip=["a", "b", "c"])[0]


def test_what_the_user_says_decides_open_numbers_only(tmp_path: Path) -> None:
    """It never turns a number round that can be read in one way, nor one of a file between commas."""
    for text, comma, point in (
        ("a;b\n1;3.477\n", 3477, 3.477),
        ('a,b\n1,"12,345"\n', 12.345, 12345),
        ("a,b\n1,3.477\n", 3.477, 3.477),
        ("a;b\n1,5;3.477\n", 3477, 3477),
        ("a;b\n1;0.125\n", 0.125, 0.125),
    ):
        (tmp_path / "t.csv").write_text(text)
        for said, value in (("comma", comma), ("point", point)):
            marks = Marks(said=said)  # type: ignore[arg-type]
            assert read_and_tell(tmp_path / "t.csv", marks)[0]["b"].tolist() == [value]
            assert pd.concat(csv_chunks(tmp_path / "t.csv", 1, marks))["b"].tolist() == [value]


def test_later_chunks_are_held_to_the_marks_of_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A decimal comma behind the rows that decided for points is refused by its row, and not read as another number."""
    monkeypatch.setattr(csv_tables, "SAMPLE_ROWS", 2)
    for text, row in (("a;b\n1.5;1\n2.5;2\n3,5;3\n", 3), ("a;b\n1,5;1\n2,5;2\n3;3\n3.5;3\n", 4)):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(InvalidInputError, match=rf"'a' has numbers with .* in row {row}; write one"):
            list(csv_chunks(tmp_path / "t.csv", 1, Marks()))


def test_most_of_a_column_may_be_numbers(tmp_path: Path) -> None:
    """A word that is no known gap leaves the column as it is, and is told; so are units, but not codes among words."""
    for cells, message in (
        ([*map(str, range(20)), "abc"], r"b is read as words, .* because of 'abc' in row 21; empty such cells"),
        (
            [f"{k} {'kg' if k else 'g'}" for k in range(20)],
            r"b is read as words, .* because of '0 g' in row 1; write the numbers",
        ),
        ([f"{k}a" for k in range(10)], None),
        (
            [f"{k % 28 + 1}.{k % 12 + 1}.2024" for k in range(30)],
            r"b is read as words, though most cells hold dates, .* 2024-12-31",
        ),
        (["1", "2", "x"] * 7, None),
        ([f"A{k}" for k in range(20)], None),
    ):
        pd.DataFrame({"a": 1, "b": cells}).to_csv(tmp_path / "t.csv", index=False)
        table, told = read_and_tell(tmp_path / "t.csv")
        assert table["b"].tolist() == cells
        assert [len(told)] == [message is not None]
        if message is not None:
            assert pd.Series(told).str.contains(message).all()


def test_spreadsheets_hold_numbers_and_text(tmp_path: Path) -> None:
    """Cells that are numbers stay what they are; text beside them is read as in CSV files."""
    pytest.importorskip("openpyxl")
    table = pd.DataFrame({"a": [1.5, "?", "2,5"], "b": ["3.477", "1", 2], "c": ["x", "NA", 3], 2019: [1, 2, 3]})
    table.to_excel(tmp_path / "t.xlsx", index=False)
    found, told = read_and_tell(tmp_path / "t.xlsx")
    np.testing.assert_array_equal(found["a"], [1.5, N, 2.5])
    assert (found["b"].tolist(), found["2019"].tolist()) == ([3477, 1, 2], [1, 2, 3])
    assert found["c"].isna().tolist() == [False, True, False]
    assert told == [f"{tmp_path / 't.xlsx'}: decimal comma in a; points for thousands in b; `?` is missing in a: 1 of 3"]


def test_prices_are_decimals_of_the_whole_column(tmp_path: Path) -> None:
    """Thousands beside decimals; a price that may be two numbers, and a word, are refused."""
    for text, prices in (
        ("feature;cost\na;1.200\nb;7,27\n", ["1200", "7.27"]),
        ("feature;cost;item\na;1.200,50 \u20ac;1.5\nb;;x\n", ["1200.50", "None"]),
        ('feature,cost\na,"1,200.50"\nb,1e-400\n', ["1200.50", "1E-400"]),
        ("feature,cost\na,3.477\nb,NA\n", ["3.477", "None"]),
    ):
        (tmp_path / "p.csv").write_text(text, encoding="utf-8")
        assert [str(cost) for cost in read_prices(tmp_path / "p.csv")[0]["cost"]] == prices
    for text, message in (
        ("feature;cost\na;1.200\nb;7\n", r"row 1: the column 'cost' holds '1.200', .* 1200 with a decimal comma"),
        ("feature;cost\na;1,2\nb;?\n", r"row 2: the cost of 'b' is '\?'; give a number"),
    ):
        (tmp_path / "p.csv").write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInputError, match=message):
            read_prices(tmp_path / "p.csv")


def test_a_cell_by_itself() -> None:
    """Both readings, or none."""
    for cell, point, comma in (
        ("3.477", "3.477", "3477"),
        ("1,234.5", "1234.5", None),
        ("1.234,5", None, "1234.5"),
        ("1 234", "1234", "1234"),
        ("-.5", "-.5", None),
        ("inf", "inf", "inf"),
    ):
        found = written(cell)
        assert found is not None
        assert (found.text("point"), found.text("comma")) == (point, comma)
    for cell in (
        "1_0",
        "0x10",
        "1 2",
        "12 34",
        "(5",
        "5)",
        "--5",
        "-5-",
        "(-5)",
        "$5 EUR",
        "1,2,3",
        "\u0663",
        "5a",
        "",
        ".",
        "1 234.567.8",
    ):
        assert written(cell) is None, cell
