"""Ranking files, one document a line: ``relevance qid:Q feature:value ...``; read in blocks, faults named by line.

scikit-learn parses the blocks. Where it refuses one, the lines are read again one by one to say which, and why.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from io import BytesIO
from itertools import islice, pairwise
from pathlib import Path
from typing import IO, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack
from sklearn.datasets import load_svmlight_file

from formulations.errors import BrokenFileError

BLOCK_LINES = 20_000

_NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rb"^\s*(\d+)\s+qid:(\d+)((?:\s+\d+:" + _NUMBER + rb")*)\s*(?:#.*)?$")


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents of many queries: sparse features by number - 1, graded relevance, query."""

    X: csr_array
    relevance: NDArray[np.int64]
    query: NDArray[np.int64]


def read_documents(file: Path, n_features: int) -> Documents:
    """Read a ranking file, also one ending in .gz, in blocks of `BLOCK_LINES`.

    Raises
    ------
    BrokenFileError
        if the file cannot be read, holds no document, or has a line of another form: says which line, and what was expected.
    """
    blocks, line = [], 0
    try:
        with cast("IO[bytes]", gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb")) as stream:
            while lines := list(islice(stream, BLOCK_LINES)):
                blocks.append(_parse(lines, line, file, n_features))
                line += len(lines)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise BrokenFileError(f"{file} is damaged after line {line} ({error}); get it again") from error
    blocks = [b for b in blocks if len(b.query)]
    if not blocks:
        raise BrokenFileError(f"{file} holds no document; expected lines of the form 'relevance qid:query feature:value ...'")
    return Documents(
        csr_array(vstack([b.X for b in blocks])),
        np.concatenate([b.relevance for b in blocks]),
        np.concatenate([b.query for b in blocks]),
    )


def _parse(lines: list[bytes], before: int, file: Path, n_features: int) -> Documents:
    """The documents of some lines; `before` so many lines of the file."""
    # the parser reads a relevance of '1.5' and a missing qid without complaint; both are looked for first, cheaply
    odd = next((k for k, text in enumerate(lines) if _is_odd(text)), None)
    if odd is None:
        try:
            X, relevance, query = load_svmlight_file(
                BytesIO(b"".join(lines)), n_features=n_features, dtype=np.float32, query_id=True, zero_based=False
            )
            return Documents(csr_array(X), relevance.astype(np.int64), query)
        except ValueError as error:
            found = ((k, _fault(text, n_features)) for k, text in enumerate(lines))
            odd, why = next(((k, w) for k, w in found if w), (0, f"from here on: {error}"))
    else:
        why = _fault(lines[odd], n_features)
    raise BrokenFileError(
        f"{file}, line {before + odd + 1}: {why}; it reads {lines[odd][:60].decode(errors='replace').strip()!r}"
    )


def _is_odd(text: bytes) -> bool:
    """Whether a line does not begin with a whole number and a query."""
    head = text.split(None, 2)
    if not head or head[0].startswith(b"#"):
        return False
    return len(head) < 2 or not head[0].isdigit() or not (head[1].startswith(b"qid:") and head[1][4:].isdigit())


def _fault(text: bytes, n_features: int) -> str:
    """What is wrong with a line; empty: nothing."""
    if not text.strip() or text.lstrip().startswith(b"#"):
        return ""
    match = _LINE.match(text)
    if match is None:
        return "expected 'relevance qid:query feature:value ...' with whole numbers for relevance, query and features"
    features = [int(pair.split(b":")[0]) for pair in match.group(3).split()]
    if any(b <= a for a, b in pairwise(features)):
        return "the features must rise from left to right, each at most once"
    if features and (features[0] < 1 or features[-1] > n_features):
        return f"features are numbered 1 to {n_features}"
    return ""
