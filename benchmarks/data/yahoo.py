"""Yahoo! Learning to Rank Challenge, set 1, with the prices of Xu et al.

The folder holds the three files of the challenge (Webscope C14B, ``ltrc_yahoo.tgz``: on request from Yahoo! Webscope) as they
are, ``set1.train.txt``, ``set1.valid.txt`` and ``set1.test.txt`` (or with the ending ``.gz``), and the prices that Xu, Weinberger
and Chapelle distribute with their code, as `PRICE_FILE`: one price a line, either 519, one for each feature used in set 1 in
rising order, or 700, one for each feature of the challenge; or lines ``feature price``.

What the papers say:

- 519 of 700 features are defined in set 1 (the challenge; the others are 0 throughout). They are numbered anew, in order; their
  names keep the challenge's number. A price is one of `PRICE_CLASSES` (CEGB17 section 5; BRF15 and BP16 list it without 10).
- Relevance 0 is unrelated, 1 to 4 is relevant (BRF15 section 3; CEGB17 section 5: y > 0).
- BRF15 and BP16 have 141,397 / 146,769 / 184,968 documents: their sum, 473,134, is all of ``set1.train.txt``, so they divide that
  file. The papers do not say how. CEGB17 has 473,134 / 71,083 / 165,660: the challenge's own three files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.data.published import Part, PublishedData, find_file, folder_of, split_rows
from benchmarks.data.svmlight import Documents, read_documents
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems

N_FEATURES = 700
DENSE_ROWS = 50_000
PRICE_CLASSES = (1, 5, 10, 20, 50, 100, 150, 200)
PRICE_FILE = "feature_costs.txt"
SIZES = (141_397, 146_769, 184_968)
"""Documents of BRF15's and BP16's parts."""

SOURCE = (
    "the challenge's files are given out by Yahoo! Webscope (C14B, ltrc_yahoo.tgz), the prices with the code of "
    f"Xu et al. (GreedyMiser, CSTC): write them to {PRICE_FILE}, one a line"
)

Split = Literal["brf15", "challenge"]


def load_yahoo(folder: str | Path | None = None, *, split: Split = "brf15") -> PublishedData:
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
        with queries; y is 1 where the relevance is over 0, raw the relevance. All of set 1 takes 1 GB, about
        three while it is read.

    Raises
    ------
    BrokenFileError
        for an absent file, or a line of another form; says which, and what was expected.
    InvalidInputError
        for another split, or a query whose documents are not together.
    """
    if split not in ("brf15", "challenge"):
        raise InvalidInputError(f"split is {split!r}; give 'brf15' or 'challenge'")
    place = folder_of(folder, "yahoo")
    wanted = ("train",) if split == "brf15" else ("train", "valid", "test")
    files = [find_file(place, (f"set1.{w}.txt", f"set1.{w}.txt.gz"), SOURCE) for w in wanted]
    price_file = find_file(place, (PRICE_FILE,), SOURCE)
    documents = [read_documents(file, N_FEATURES) for file in files]
    used = np.flatnonzero(sum(np.bincount(d.X.indices[d.X.data != 0], minlength=N_FEATURES) for d in documents))
    names = tuple(f"f{f + 1}" for f in used)
    costs = CostItems.plain([float(p) for p in read_prices(price_file, used)], names)
    if split == "challenge":
        train, validation, test = (_part(d, used) for d in documents)
        return PublishedData("yahoo", train, validation, test, costs, names)
    rows, remark = whole_queries(documents[0].query)
    all_documents = _part(documents[0], used)
    train, validation, test = (all_documents.take(r) for r in rows)
    return PublishedData("yahoo", train, validation, test, costs, names, (remark,))


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
        for a line of another form, a price of no class, or prices of other features.
    """
    rows = [(k, line.replace(",", " ").split()) for k, line in enumerate(file.read_text().splitlines(), 1)]
    rows = [(k, cells) for k, cells in rows if cells and not cells[0].startswith("#")]
    known = {str(p): float(p) for p in PRICE_CLASSES} | {f"{p}.0": float(p) for p in PRICE_CLASSES}
    for k, cells in rows:
        if len(cells) not in (1, 2) or len(cells) != len(rows[0][1]) or cells[-1] not in known:
            raise BrokenFileError(
                f"{file}, line {k}: {' '.join(cells)!r}; expected one price a line, of {PRICE_CLASSES}, or 'feature price'"
            )
    prices = [known[cells[-1]] for _, cells in rows]
    if rows and len(rows[0][1]) == 2:
        by_feature = {cells[0].lstrip("f"): p for (_, cells), p in zip(rows, prices, strict=True)}
        absent = [f + 1 for f in used if str(f + 1) not in by_feature]
        if absent:
            raise BrokenFileError(f"{file} has no price for feature {absent[0]} ({len(absent)} missing)")
        return [by_feature[str(f + 1)] for f in used]
    if len(prices) == N_FEATURES:
        return [prices[f] for f in used]
    if len(prices) != len(used):
        raise BrokenFileError(
            f"{file} has {len(prices)} prices, the documents use {len(used)} features; expected as many, or all {N_FEATURES}"
        )
    return prices
