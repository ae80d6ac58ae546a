"""Yahoo! Learning to Rank Challenge, set 1, with the prices of Xu et al.

The folder holds the three files of the challenge (Webscope C14B, ``ltrc_yahoo.tgz``: on request from Yahoo! Webscope) as they
are, ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt`` (or with the ending ``.gz``), and the prices that Xu, Weinberger
and Chapelle distribute with their code, as `PRICE_FILE`: one price a line: 519, one for each feature used in set 1 in rising
order, or 700, one for each feature of the challenge.

What the papers say:

- 519 of 700 features are defined in set 1 (the challenge; the others are 0 throughout). They are numbered anew, in order; their
  names keep the challenge's number. A price is one of `PRICE_CLASSES` (CEGB17 section 5; BRF15 and BP16 list it without 10).
- Relevance 0 is unrelated, 1 to 4 is relevant (BRF15 section 3; CEGB17 section 5: y > 0).
- BRF15 and BP16 have 141,397 / 146,769 / 184,968 documents: their sum, 473,134, is all of ``set1.train.txt``, so they divide that
  file. The papers do not say how. CEGB17 has 473,134 / 71,083 / 165,660: the challenge's own three files.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Literal, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from benchmarks.data.published import Part, PublishedData, find_file, folder_of, split_rows
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems

N_FEATURES = 700
DENSE_ROWS = 50_000
PRICE_CLASSES = (1, 5, 10, 20, 50, 100, 150, 200)
PRICE_FILE = "feature_costs.txt"

_LINE = re.compile(rb"^\s*(#.*|\d+\s+qid:\d+(\s+\d+:[-+.\deE]+)*\s*(#.*)?)?$")
"""A document, a remark, or nothing."""

SIZES = (141_397, 146_769, 184_968)
"""Documents of BRF15's and BP16's parts."""

SOURCE = (
    "the challenge's files are given out by Yahoo! Webscope (C14B, ltrc_yahoo.tgz), the prices with the code of "
    f"Xu et al. (GreedyMiser, CSTC): write them to {PRICE_FILE}, one a line"
)


def load_yahoo(folder: str | Path | None = None, *, split: Literal["brf15", "challenge"] = "brf15") -> PublishedData:
    """Load set 1 of the challenge.

    Parameters
    ----------
    folder
        where the files are; default: ``yahoo`` in `prunemodels.data_files.data_folder`.
    split
        ``"brf15"``: ``set1.train.txt`` in BRF15's and BP16's proportions, cut between queries in the order of the file (ours: the
        papers do not say how); ``"challenge"``: the three files, as CEGB17.

    Returns
    -------
    PublishedData
        with queries; y is 1 where the relevance is over 0, raw the relevance. It takes 1 GB, about three while it is read.

    Raises
    ------
    BrokenFileError
        for an absent file, or a line of another form; says which, and what was expected.
    InvalidInputError
        for a query whose documents are not together.
    """
    place = folder_of(folder, "yahoo")
    wanted = ("train",) if split == "brf15" else ("train", "valid", "test")
    files = [find_file(place, (f"set1.{w}.txt", f"set1.{w}.txt.gz"), SOURCE) for w in wanted]
    price_file = find_file(place, (PRICE_FILE,), SOURCE)
    documents = [read_documents(file) for file in files]
    used = np.flatnonzero(sum(np.bincount(d.X.indices[d.X.data != 0], minlength=N_FEATURES) for d in documents))
    names = tuple(f"f{f + 1}" for f in used)
    costs = CostItems.plain([float(p) for p in read_prices(price_file, used)], names)
    parts = [_part(d, used) for d in documents]
    if split == "challenge":
        return PublishedData("yahoo", parts[0], parts[1], parts[2], costs, names)
    rows, remark = whole_queries(documents[0].query)
    train, validation, test = (parts[0].take(r) for r in rows)
    return PublishedData("yahoo", train, validation, test, costs, names, (remark,))


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of many queries: sparse features by number - 1, graded relevance, query."""

    X: csr_array
    relevance: NDArray[np.int64]
    query: NDArray[np.int64]


def read_documents(file: Path) -> Documents:
    """Read a ranking file, also one ending in .gz: ``relevance qid:Q feature:value ...``, one document a line.

    Raises
    ------
    BrokenFileError
        if the file cannot be read, holds no document, or has a line of another form.
    """
    try:
        with cast("IO[bytes]", gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")) as stream:
            lines = stream.readlines()
        # the parser reads a relevance of '1.5' and a missing qid without complaint; both are looked for first
        odd = next((k for k, text in enumerate(lines, 1) if not _LINE.match(text)), None)
        if odd is not None:
            raise BrokenFileError(f"{file}, line {odd}: expected 'relevance qid:query feature:value ...' in whole numbers")
        X, relevance, query = load_svmlight_file(
            BytesIO(b"".join(lines)), n_features=N_FEATURES, dtype=np.float32, query_id=True, zero_based=False
        )
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
        if isinstance(error, BrokenFileError):
            raise
        raise BrokenFileError(f"{file} is damaged ({error}); features rise from 1 to {N_FEATURES}; get it again") from error
    if not len(query):
        raise BrokenFileError(f"{file} holds no document; expected lines of the form 'relevance qid:query feature:value ...'")
    return Documents(csr_array(X), relevance.astype(np.int64), query)


def _part(documents: Documents, used: NDArray[np.int64]) -> Part:
    """Dense, of the features that are used; two classes."""
    X = np.empty((len(documents.query), len(used)), dtype=np.float32)
    for first in range(0, len(X), DENSE_ROWS):  # the dense block of all 700 features stays small
        X[first : first + DENSE_ROWS] = documents.X[first : first + DENSE_ROWS].toarray()[:, used]
    return Part(X, (documents.relevance > 0).astype(np.int64), documents.relevance, documents.query)


def whole_queries(query: NDArray[np.int64], sizes: tuple[int, int, int] = SIZES) -> tuple[tuple[slice, slice, slice], str]:
    """Consecutive parts of nearly the sizes given that divide no query, and a sentence on how near.

    Raises
    ------
    InvalidInputError
        if the documents of a query are not together, or there are too few queries.
    """
    starts = np.flatnonzero(np.diff(query, prepend=query[0] - 1))
    if len(np.unique(query)) != len(starts):
        queries, runs = np.unique(query[starts], return_counts=True)
        raise InvalidInputError(f"the documents of query {queries[runs.argmax()]} are not together; sort the file by query")
    cuts = [s.stop for s in split_rows(len(query), sizes)[:2]]
    ends = np.append(starts, len(query))
    near = [int(ends[np.abs(ends - cut).argmin()]) for cut in cuts]
    if not 0 < near[0] < near[1] < len(query):
        raise InvalidInputError(f"{len(starts)} queries are too few to be divided in three; give more")
    moved = [n - c for n, c in zip(near, cuts, strict=True)]
    how = (
        "fall between queries"
        if moved == [0, 0]
        else f"were moved by {moved[0]} and {moved[1]} documents to fall between queries"
    )
    remark = f"set1.train.txt is divided in the order of the file: the papers do not say how; their two cuts {how}."
    return (slice(0, near[0]), slice(near[0], near[1]), slice(near[1], len(query))), remark


def read_prices(file: Path, used: NDArray[np.int64]) -> list[float]:
    """One price for each used feature (numbers from 0).

    Raises
    ------
    BrokenFileError
        for a price of no class, or prices of other features.
    """
    known = {str(p): float(p) for p in PRICE_CLASSES} | {f"{p}.0": float(p) for p in PRICE_CLASSES}
    lines = [line.strip() for line in file.read_text().splitlines() if line.strip()]
    odd = next((k for k, text in enumerate(lines, 1) if text not in known), None)
    if odd is not None:
        raise BrokenFileError(f"{file}, line {odd}: {lines[odd - 1]!r}; expected one price a line, of {PRICE_CLASSES}")
    if len(lines) == N_FEATURES:
        return [known[lines[f]] for f in used]
    if len(lines) != len(used):
        raise BrokenFileError(
            f"{file} has {len(lines)} prices, the documents use {len(used)} features; expected as many, or all {N_FEATURES}"
        )
    return [known[text] for text in lines]
