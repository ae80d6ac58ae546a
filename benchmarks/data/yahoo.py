"""Yahoo! Learning to Rank Challenge, set 1, with the prices of Xu et al.

The folder ``yahoo`` holds the three files of the challenge (Webscope C14B, ``ltrc_yahoo.tgz``: on request from Yahoo! Webscope)
as they are, ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt`` (or with the ending ``.gz``), and the prices that Xu,
Weinberger and Chapelle distribute with their code, as `PRICE_FILE`: one price a line: 519, one for each feature used in set 1 in
rising order, or 700, one for each feature of the challenge.

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

from benchmarks.data.published import Part, PublishedData, find_file, split_rows
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems

N_FEATURES = 700
DENSE_ROWS = 50_000
PRICE_CLASSES = (1, 5, 10, 20, 50, 100, 150, 200)
PRICE_FILE = "feature_costs.txt"

_LINE = re.compile(rb"^\s*(#.*|\d+\s+qid:\d+(\s+\d+:[-+.\deE]+)*\s*(#.*)?)?$")
"""A document, a remark, or nothing."""

SIZES = (141_397, 146_769, 184_968)  # documents of BRF15's and BP16's parts

SOURCE = (
    "the challenge's files are given out by Yahoo! Webscope (C14B, ltrc_yahoo.tgz), the prices with the code of "
    f"Xu et al. (GreedyMiser, CSTC): write them to {PRICE_FILE}, one a line"
)


def load_yahoo(split: Literal["brf15", "challenge"] = "brf15") -> PublishedData:
    """Load set 1 of the challenge: y is 1 where the relevance is over 0, raw the relevance; 1 GB, about three while it is read.

    ``"brf15"``: ``set1.train.txt`` in BRF15's and BP16's proportions, cut between queries in the order of the file (ours: the
    papers do not say how); ``"challenge"``: the three files, as CEGB17.
    """
    wanted = ("train",) if split == "brf15" else ("train", "valid", "test")
    files = [find_file("yahoo", (f"set1.{w}.txt", f"set1.{w}.txt.gz"), SOURCE) for w in wanted]
    price_file = find_file("yahoo", (PRICE_FILE,), SOURCE)
    documents = [read_documents(file) for file in files]
    used = np.flatnonzero(sum(np.bincount(d.X.indices[d.X.data != 0], minlength=N_FEATURES) for d in documents))
    costs = CostItems.plain(read_prices(price_file, used), [f"f{f + 1}" for f in used])
    parts = [_part(d, used) for d in documents]
    if split == "brf15":
        parts = [parts[0].take(rows) for rows in whole_queries(documents[0].query)]
    return PublishedData(*parts, costs)


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of many queries: sparse features by number - 1, graded relevance, query."""

    X: csr_array
    relevance: NDArray[np.int64]
    query: NDArray[np.int64]


def read_documents(file: Path) -> Documents:
    """Read a ranking file, also one ending in .gz: ``relevance qid:Q feature:value ...``, one document a line."""
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
    except BrokenFileError:
        raise
    except (EOFError, gzip.BadGzipFile, zlib.error, ValueError) as error:
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


def whole_queries(query: NDArray[np.int64], sizes: tuple[int, int, int] = SIZES) -> tuple[slice, slice, slice]:
    """Consecutive parts of nearly the sizes given that divide no query."""
    starts = np.flatnonzero(np.diff(query, prepend=query[0] - 1))
    if len(np.unique(query)) != len(starts):
        queries, runs = np.unique(query[starts], return_counts=True)
        raise InvalidInputError(f"the documents of query {queries[runs.argmax()]} are not together; sort the file by query")
    cuts = [s.stop for s in split_rows(len(query), sizes)[:2]]
    ends = np.append(starts, len(query))
    near = [int(ends[np.abs(ends - cut).argmin()]) for cut in cuts]
    if not 0 < near[0] < near[1] < len(query):
        raise InvalidInputError(f"{len(starts)} queries are too few to be divided in three; give more")
    return slice(0, near[0]), slice(near[0], near[1]), slice(near[1], len(query))


def read_prices(file: Path, used: NDArray[np.int64]) -> list[float]:
    """One price for each used feature (numbers from 0)."""
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
