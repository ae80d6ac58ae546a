"""HEPMASS: collisions with and without a new particle (CEGB17 section 5), more than ten million of them.

The folder holds UCI's files as they are: ``V_train.csv.gz`` and ``V_test.csv.gz`` for the variant V (``1000``, ``not1000`` or
``all``), seven and three and a half million rows. The first column, ``# label``, is 1 for signal; 27 features follow, and the
particle's ``mass`` where it varies.

CEGB17 has 3.5 / 1.4 / 5.6 million training, validation and test instances of each variant: both files together, since the test
file alone is smaller. The paper does not say which rows; here they are consecutive, in the order of the files, which are
shuffled.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data.published import Part, PublishedData, find_file, folder_of, split_rows
from formulations.errors import BrokenFileError, InvalidInputError
from formulations.instance.cost_items import CostItems

SIZES = (3_500_000, 1_400_000, 5_600_000)
BLOCK_ROWS = 200_000
SOURCE = "get V_train.csv.gz and V_test.csv.gz of the data set HEPMASS from the UCI Machine Learning Repository"

Variant = Literal["1000", "not1000", "all"]


def load_hepmass(folder: str | Path | None = None, *, variant: Variant = "1000", rows: int | None = None) -> PublishedData:
    """Load a variant, in blocks, as float32: 4 bytes a number, 1.2 GB in all.

    Parameters
    ----------
    folder
        where the files are; default: ``hepmass`` in `prunemodels.data_files.data_folder`.
    variant
        ``"1000"`` (the particle has one mass), ``"not1000"`` or ``"all"``.
    rows
        only so many, divided in the same proportion; None: all.

    Returns
    -------
    PublishedData
        of two classes and uniform prices, as in CEGB17.

    Raises
    ------
    BrokenFileError
        for an absent or damaged file, another header, or a row with other than numbers; says which.
    """
    if variant not in ("1000", "not1000", "all"):
        raise InvalidInputError(f"variant is {variant!r}; give '1000', 'not1000' or 'all'")
    if rows is not None and rows < 1:
        raise InvalidInputError(f"rows is {rows}; give a number >= 1, or None for all")
    place = folder_of(folder, "hepmass")
    files = [find_file(place, (f"{variant}_{p}.csv.gz", f"{variant}_{p}.csv"), SOURCE) for p in ("train", "test")]
    names: tuple[str, ...] | None = None
    tables: list[NDArray[np.float32]] = []
    remaining = sum(SIZES) if rows is None else rows
    for file in files:
        if remaining > 0:
            names, blocks = _read(file, remaining, names)
            tables += blocks
            remaining -= sum(map(len, blocks))
    table = np.concatenate(tables)
    del tables
    y = table[:, 0].astype(np.int64)
    X = table[:, 1:]
    parts = [Part(X[r], y[r], y[r]) for r in split_rows(len(y), SIZES)]
    remark = "Rows are taken in the order of the files, V_train then V_test: CEGB17 gives numbers only."
    features = names or ()
    costs = CostItems.plain([1] * len(features), features)
    return PublishedData(f"hepmass_{variant}", parts[0], parts[1], parts[2], costs, features, (remark,))


def _read(file: Path, most: int, names: tuple[str, ...] | None) -> tuple[tuple[str, ...], list[NDArray[np.float32]]]:
    """Names of the features, and blocks of at most so many rows: label, features."""
    blocks, done = [], 0
    try:
        with pd.read_csv(file, dtype=np.float32, chunksize=BLOCK_ROWS, nrows=most) as reader:
            for table in reader:
                columns = tuple(str(c).strip().lstrip("# ") for c in table.columns)
                if columns[0] != "label" or len(columns) < 2 or (names is not None and columns[1:] != names):
                    raise BrokenFileError(
                        f"{file} has the columns {columns[:4]} ...; expected '# label', then "
                        + ("the features f0, f1, ..." if names is None else f"{names[:3]} ..., as in V_train")
                    )
                names = columns[1:]
                blocks.append(_checked(table.to_numpy(), file, done))
                done += len(table)
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error, pd.errors.ParserError) as error:
        if isinstance(error, BrokenFileError):
            raise
        raise BrokenFileError(
            f"{file} cannot be read after row {done} ({str(error).strip()}); expected a header, then numbers; get it again"
        ) from error
    if names is None or not done:
        raise BrokenFileError(f"{file} holds no rows; get it again")
    return names, blocks


def _checked(block: NDArray[np.float32], file: Path, before: int) -> NDArray[np.float32]:
    """Check a block: every label must be a class, and no number may be missing."""
    bad = np.flatnonzero(~np.isin(block[:, 0], [0, 1]) | ~np.isfinite(block).all(axis=1))
    if bad.size:
        raise BrokenFileError(
            f"{file}, line {before + bad[0] + 2}: expected a label of 0 or 1, then {block.shape[1] - 1} numbers, none empty"
        )
    return block
