"""Yahoo! Learning to Rank: small files in the form of the challenge's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import load_yahoo, yahoo
from benchmarks.data.yahoo import PRICE_CLASSES, PRICE_FILE, SIZES, whole_queries
from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.data_files import FOLDER_VARIABLE

USED = (3, 10, 11, 700)
"""Features that some document has."""


def document(k: int, query: int) -> str:
    """A line: a feature whose value says which document it is, feature 700, and feature 5, 0 throughout."""
    pairs = sorted([(USED[k % 3], f"{k / 100 + 0.01:.2f}"), (5, "0"), (700, "1e-3")])
    return f"{k % 5} qid:{query} " + " ".join(f"{f}:{v}" for f, v in pairs) + "\n"


def write(folder: Path, **sizes: int) -> None:
    """The challenge's three files and prices of the used features, in order."""
    for part, n in sizes.items():
        (folder / f"set1.{part}.txt").write_text("".join(document(k, 100 + k // 4) for k in range(n)))
    (folder / PRICE_FILE).write_text("1\n5\n200\n50\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data set's, in the data folder."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    (tmp_path / "yahoo").mkdir()
    write(tmp_path / "yahoo", train=120, valid=8, test=20)
    return tmp_path / "yahoo"


def test_features_that_no_document_has_are_left_out(folder: Path) -> None:
    """Used features keep their order and the challenge's numbers as names; explicit zeros are no use; relevance over 0 counts."""
    data = load_yahoo()
    assert data.costs.names == ("f3", "f10", "f11", "f700")
    expected = np.zeros((3, 4), dtype=np.float32)
    expected[:, 3] = 0.001
    expected[[0, 1, 2], [0, 1, 2]] = [0.01, 0.02, 0.03]
    np.testing.assert_array_equal(data.train.X[:3], expected)
    assert data.costs.price.tolist() == [1, 5, 200, 50]
    assert data.train.raw[:6].tolist() == [0, 1, 2, 3, 4, 0]
    assert data.train.y[:6].tolist() == [0, 1, 1, 1, 1, 0]
    assert data.train.query is not None
    assert data.train.query[:8].tolist() == [100] * 4 + [101] * 4
    three = load_yahoo("challenge")
    assert [len(p) for p in three.parts] == [120, 8, 20]


def test_brf15_divides_the_training_file_between_queries(folder: Path) -> None:
    """BRF15's 141,397 / 146,769 / 184,968 are set1.train.txt: parts in that proportion, no query in two of them."""
    assert sum(SIZES) == 473_134  # documents of set1.train.txt in the challenge's own table
    data = load_yahoo()
    # 120 rows in proportion: cuts at 35 and 35 + 37 = 72; whole queries of 4: 36 (35 is nearer 36 than 32) and 72
    assert [len(p) for p in data.parts] == [36, 36, 48]
    queries = [set(np.asarray(p.query).tolist()) for p in data.parts]
    assert not queries[0] & queries[1]
    assert not queries[1] & queries[2]


def test_cuts_go_to_the_nearest_end_of_a_query() -> None:
    """Cuts that fall between queries stay; others move down where that is nearer, as well as up."""
    rows = whole_queries(np.repeat([5, 3, 9], [4, 4, 8]), (4, 4, 8))
    assert [(r.start, r.stop) for r in rows] == [(0, 4), (4, 8), (8, 16)]
    # cuts at 5 and 11; queries end at 4, 8, 12, 16
    rows = whole_queries(np.repeat([1, 2, 3, 4], 4), (5, 6, 5))
    assert [(r.start, r.stop) for r in rows] == [(0, 4), (4, 12), (12, 16)]


def test_queries_that_cannot_be_divided_are_refused() -> None:
    """A query whose documents are apart could stand in two parts; it is named. Two queries cannot be three parts."""
    with pytest.raises(InvalidInputError, match="query 7 are not together"):
        whole_queries(np.array([7, 7, 8, 8, 7, 9]), (2, 2, 2))
    with pytest.raises(InvalidInputError, match="too few"):
        whole_queries(np.array([1, 1, 1, 2, 2, 2]), (2, 2, 2))


def test_a_compressed_file_says_the_same(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read from a .gz, and made dense in blocks of eleven rows, the documents are the same."""
    whole = load_yahoo()
    monkeypatch.setattr(yahoo, "DENSE_ROWS", 11)
    text = (folder / "set1.train.txt").read_bytes()
    (folder / "set1.train.txt").unlink()
    (folder / "set1.train.txt.gz").write_bytes(gzip.compress(text))
    again = load_yahoo()
    for name in ("train", "validation", "test"):
        np.testing.assert_array_equal(getattr(whole, name).X, getattr(again, name).X)
        np.testing.assert_array_equal(getattr(whole, name).raw, getattr(again, name).raw)


@pytest.mark.parametrize("bad", ["1 qid:3 9:0.5 4:0.6", "1 qid:3 701:0.5", "1 qid:3 0:0.5"])
def test_features_that_do_not_rise_are_refused(folder: Path, bad: str) -> None:
    """From 1 to 700, each at most once."""
    with (folder / "set1.train.txt").open("a") as file:
        file.write(bad + "\n")
    with pytest.raises(BrokenFileError, match=r"set1\.train\.txt is damaged .*features rise from 1 to 700"):
        load_yahoo()


@pytest.mark.parametrize("bad", ["1 3:0.5", "1.5 qid:3 3:0.5", "1 qid:x 3:0.5", "1 qid:3 three:0.5", "1 qid:3 3:nothing", "1"])
def test_a_line_of_another_form_is_named(folder: Path, bad: str) -> None:
    """The file, the number of the line, and what was expected are said."""
    lines = (folder / "set1.train.txt").read_text().splitlines()
    (folder / "set1.train.txt").write_text("\n".join([*lines[:9], bad, *lines[9:]]) + "\n")
    with pytest.raises(BrokenFileError, match=r"set1\.train\.txt, line 10: expected 'relevance qid:query"):
        load_yahoo()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n5\n200\n", "3 prices, the documents use 4 features"),
        ("1\n5\n7\n50\n", "line 3: '7'; expected one price a line, of"),
        ("", "0 prices"),
    ],
)
def test_prices_that_do_not_fit_are_refused(folder: Path, text: str, message: str) -> None:
    """Prices of other features, or of no class, are refused."""
    (folder / PRICE_FILE).write_text(text)
    with pytest.raises(BrokenFileError, match=message):
        load_yahoo()


def test_prices_are_read_in_two_forms(folder: Path) -> None:
    """One for each used feature, or one for each of the challenge's: the same prices."""
    of_all = [PRICE_CLASSES[f % 8] for f in range(700)]
    wanted = [of_all[f - 1] for f in USED]
    for text in ("\n".join(f"{p}.0" for p in wanted), "\n".join(map(str, of_all))):
        (folder / PRICE_FILE).write_text(text)
        assert load_yahoo().costs.price.tolist() == wanted


def test_an_absent_file_is_named_with_its_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, where it was looked for and who hands it out are said; the default folder is in the data folder."""
    (folder / PRICE_FILE).unlink()
    with pytest.raises(BrokenFileError, match=r"feature_costs\.txt.*Webscope"):
        load_yahoo()
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder / "nowhere"))
    with pytest.raises(BrokenFileError, match=r"set1\.train\.txt.*nowhere/yahoo"):
        load_yahoo()


def test_damaged_and_empty_files_are_refused(folder: Path) -> None:
    """A cut-off .gz and a file without documents say so."""
    text = (folder / "set1.train.txt").read_bytes()
    (folder / "set1.train.txt").write_text("# nothing\n")
    with pytest.raises(BrokenFileError, match="no document"):
        load_yahoo()
    (folder / "set1.train.txt").unlink()
    (folder / "set1.train.txt.gz").write_bytes(gzip.compress(text)[:-20])
    with pytest.raises(BrokenFileError, match="damaged"):
        load_yahoo()
