"""Yahoo! Learning to Rank: small files in the form of the challenge's."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from benchmarks.data import load_yahoo, svmlight, yahoo
from benchmarks.data.yahoo import PRICE_CLASSES, PRICE_FILE, SIZES, whole_queries
from formulations.errors import BrokenFileError, InvalidInputError
from prunemodels.data_files import FOLDER_VARIABLE

USED = (3, 10, 11, 700)
"""Features that some document has."""


def document(k: int, query: int) -> str:
    """A line: a feature whose value says which document it is, feature 700, and feature 5, 0 throughout."""
    pairs = sorted([(USED[k % 3], f"{k / 100 + 0.01:.2f}"), (5, "0"), (700, "1e-3")])
    return f"{k % 5} qid:{query} " + " ".join(f"{f}:{v}" for f, v in pairs) + "\n"


def write_documents(file: Path, n: int, per_query: int = 4) -> None:
    file.write_text("".join(document(k, 100 + k // per_query) for k in range(n)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The challenge's three files and prices of the used features, in order."""
    write_documents(tmp_path / "set1.train.txt", 120)
    write_documents(tmp_path / "set1.valid.txt", 8)
    write_documents(tmp_path / "set1.test.txt", 20)
    (tmp_path / PRICE_FILE).write_text("1\n5\n200\n50\n")
    return tmp_path


def test_the_three_files_are_the_three_parts(folder: Path) -> None:
    """The challenge's split keeps files, order, queries and graded labels; relevance over 0 is relevant."""
    data = load_yahoo(folder, split="challenge")
    assert [len(p) for p in (data.train, data.validation, data.test)] == [120, 8, 20]
    assert data.validation.raw.tolist() == [0, 1, 2, 3, 4, 0, 1, 2]
    assert data.validation.y.tolist() == [0, 1, 1, 1, 1, 0, 1, 1]
    assert data.validation.query is not None
    assert data.validation.query.tolist() == [100] * 4 + [101] * 4
    assert data.remarks == ()


def test_features_that_no_document_has_are_left_out(folder: Path) -> None:
    """Used features keep their order and the challenge's numbers as names; explicit zeros are no use."""
    data = load_yahoo(folder, split="challenge")
    assert data.feature_names == ("f3", "f10", "f11", "f700")
    assert data.train.X.dtype == np.float32
    expected = np.zeros((3, 4), dtype=np.float32)
    expected[:, 3] = 0.001
    expected[[0, 1, 2], [0, 1, 2]] = [0.01, 0.02, 0.03]
    np.testing.assert_array_equal(data.train.X[:3], expected)
    assert data.costs.price.tolist() == [1, 5, 200, 50]
    assert "4 features" in repr(data)
    assert "120/8/20" in repr(data)


def test_brf15_divides_the_training_file_between_queries(folder: Path) -> None:
    """BRF15's 141,397 / 146,769 / 184,968 are set1.train.txt: parts in that proportion, no query in two of them."""
    assert sum(SIZES) == 473_134  # documents of set1.train.txt in the challenge's own table
    data = load_yahoo(folder)
    # 120 rows in proportion: cuts at 35 and 35 + 37 = 72; whole queries of 4: 36 (35 is nearer 36 than 32) and 72
    assert [len(p) for p in (data.train, data.validation, data.test)] == [36, 36, 48]
    queries = [set(np.asarray(p.query).tolist()) for p in (data.train, data.validation, data.test)]
    assert not queries[0] & queries[1]
    assert not queries[1] & queries[2]
    assert "moved by 1 and 0 documents" in data.remarks[0]


def test_published_cuts_that_fall_between_queries_are_kept() -> None:
    """Where the published sizes fit the queries nothing is moved, and the remark says so."""
    rows, remark = whole_queries(np.repeat([5, 3, 9], [4, 4, 8]), (4, 4, 8))
    assert [(r.start, r.stop) for r in rows] == [(0, 4), (4, 8), (8, 16)]
    assert "fall between queries" in remark
    assert "moved" not in remark


def test_cuts_go_to_the_nearest_end_of_a_query() -> None:
    """A cut moves down where that is nearer, as well as up."""
    # cuts at 5 and 11; queries end at 4, 8, 12, 16
    rows, remark = whole_queries(np.repeat([1, 2, 3, 4], 4), (5, 6, 5))
    assert [(r.start, r.stop) for r in rows] == [(0, 4), (4, 12), (12, 16)]
    assert "moved by -1 and 1 documents" in remark


def test_queries_in_pieces_are_refused() -> None:
    """A query whose documents are apart could stand in two parts; it is named."""
    with pytest.raises(InvalidInputError, match="query 7 are not together"):
        whole_queries(np.array([7, 7, 8, 8, 7, 9]), (2, 2, 2))


def test_too_few_queries_are_refused() -> None:
    """Two queries cannot be three parts."""
    with pytest.raises(InvalidInputError, match="too few"):
        whole_queries(np.array([1, 1, 1, 2, 2, 2]), (2, 2, 2))


def test_blocks_do_not_show(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in blocks of seven lines, or from a .gz, the documents are the same."""
    whole = load_yahoo(folder)
    monkeypatch.setattr(svmlight, "BLOCK_LINES", 7)
    monkeypatch.setattr(yahoo, "DENSE_ROWS", 11)
    text = (folder / "set1.train.txt").read_bytes()
    (folder / "set1.train.txt").unlink()
    (folder / "set1.train.txt.gz").write_bytes(gzip.compress(text))
    pieces = load_yahoo(folder)
    for name in ("train", "validation", "test"):
        a, b = getattr(whole, name), getattr(pieces, name)
        np.testing.assert_array_equal(a.X, b.X)
        np.testing.assert_array_equal(a.raw, b.raw)
        np.testing.assert_array_equal(a.query, b.query)


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("1 qid:3 4:0.5 4:0.6", "rise"),
        ("1 qid:3 9:0.5 4:0.6", "rise"),
        ("1 qid:3 701:0.5", "numbered 1 to 700"),
        ("1 qid:3 0:0.5", "numbered 1 to 700"),
        ("1 3:0.5", "expected 'relevance qid:query"),
        ("1.5 qid:3 3:0.5", "expected 'relevance qid:query"),
        ("1 qid:x 3:0.5", "expected 'relevance qid:query"),
        ("1 qid:3 three:0.5", "expected 'relevance qid:query"),
        ("1 qid:3 3:nothing", "expected 'relevance qid:query"),
        ("1", "expected 'relevance qid:query"),
    ],
)
def test_a_line_of_another_form_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch, bad: str, why: str) -> None:
    """The file, the number of the line, what was expected and how the line begins are said, also behind the first block."""
    monkeypatch.setattr(svmlight, "BLOCK_LINES", 4)
    lines = (folder / "set1.train.txt").read_text().splitlines()
    (folder / "set1.train.txt").write_text("\n".join([*lines[:9], bad, *lines[9:]]) + "\n")
    with pytest.raises(BrokenFileError, match=rf"set1\.train\.txt, line 10: .*{why}.*{bad.split()[0]}"):
        load_yahoo(folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n5\n200\n", "3 prices, the documents use 4 features"),
        ("1\n5\n7\n50\n", "line 3: '7'; expected one price a line, of"),
        ("3 1\n10 5\n11 200\n", "no price for feature 700"),
        ("3 1\n10 5\n11\n", "line 3"),
        ("", "0 prices"),
    ],
)
def test_prices_that_do_not_fit_are_refused(folder: Path, text: str, message: str) -> None:
    """Prices of other features, or of no class, are refused."""
    (folder / PRICE_FILE).write_text(text)
    with pytest.raises(BrokenFileError, match=message):
        load_yahoo(folder)


@pytest.mark.parametrize("form", ["in order", "all 700", "by feature"])
def test_prices_are_read_in_three_forms(folder: Path, form: str) -> None:
    """One for each used feature, one for each of the challenge's, or by the challenge's number in any order: the same prices."""
    of_all = [PRICE_CLASSES[f % 8] for f in range(700)]
    wanted = [of_all[f - 1] for f in USED]
    texts = {
        "in order": "\n".join(f"{p}.0" for p in wanted),
        "all 700": "\n".join(map(str, of_all)),
        "by feature": "# feature,price\n" + "\n".join(f"{f},{of_all[f - 1]}" for f in reversed(range(1, 701))),
    }
    (folder / PRICE_FILE).write_text(texts[form])
    assert load_yahoo(folder).costs.price.tolist() == wanted


def test_an_absent_file_is_named_with_its_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing, where it was looked for and who hands it out are said; the default folder is in the data folder."""
    (folder / PRICE_FILE).unlink()
    with pytest.raises(BrokenFileError, match=r"feature_costs\.txt.*Webscope"):
        load_yahoo(folder)
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder / "nowhere"))
    with pytest.raises(BrokenFileError, match=r"set1\.train\.txt.*nowhere/yahoo"):
        load_yahoo()


def test_damaged_and_empty_files_are_refused(folder: Path) -> None:
    """A cut-off .gz and a file without documents say so."""
    text = (folder / "set1.train.txt").read_bytes()
    (folder / "set1.train.txt").write_text("# nothing\n")
    with pytest.raises(BrokenFileError, match="no document"):
        load_yahoo(folder)
    (folder / "set1.train.txt").unlink()
    (folder / "set1.train.txt.gz").write_bytes(gzip.compress(text)[:-20])
    with pytest.raises(BrokenFileError, match="damaged"):
        load_yahoo(folder)


def test_another_split_is_refused(folder: Path) -> None:
    """Only the two published splits are known."""
    with pytest.raises(InvalidInputError, match="'brf15' or 'challenge'"):
        load_yahoo(folder, split="random")  # type: ignore[arg-type]
