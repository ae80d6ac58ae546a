"""HEPMASS: collisions with and without a new particle (CEGB17 section 5), more than ten million of them.

The folder ``hepmass`` holds UCI's files as they are: ``V_train.csv.gz`` and ``V_test.csv.gz`` for the variant V (``1000``: the
particle has one mass; ``not1000``), seven and three and a half million rows. The first column, ``# label``, is 1 for signal; 27
features follow, and the particle's ``mass`` where it varies.

CEGB17 has 3.5 / 1.4 / 5.6 million training, validation and test instances of each variant: both files together, since the test
file alone is smaller. The paper does not say which rows; here they are consecutive, in the order of the files, which are
shuffled. Prices are uniform. All rows as float32 take 1.2 GB.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.data.published import Part, PublishedData, find_file, split_rows
from formulations.errors import BrokenFileError
from formulations.instance.cost_items import CostItems

SIZES = (3_500_000, 1_400_000, 5_600_000)
BLOCK_ROWS = 200_000
SOURCE = "get V_train.csv.gz and V_test.csv.gz of the data set HEPMASS from the UCI Machine Learning Repository"


def load_hepmass(variant: Literal["1000", "not1000"] = "1000") -> PublishedData:
    files = [find_file("hepmass", (f"{variant}_{p}.csv.gz", f"{variant}_{p}.csv"), SOURCE) for p in ("train", "test")]
    names: list[str] = []
    table = np.concatenate([block for file in files for block in _blocks(file, names)])
    X, y = table[:, 1:], table[:, 0].astype(np.int64)
    train, validation, test = (Part(X[rows], y[rows], y[rows]) for rows in split_rows(len(y), SIZES))
    return PublishedData(train, validation, test, CostItems.plain([1] * len(names), names))


def _blocks(file: Path, names: list[str]) -> Iterator[NDArray[np.float32]]:
    """Blocks of labels and features; `names` gets the features of the first file, and the second one must have the same."""
    done = 0
    try:
        with pd.read_csv(file, dtype=np.float32, chunksize=BLOCK_ROWS) as reader:
            for table in reader:
                label, *columns = (str(c).strip().lstrip("# ") for c in table.columns)
                if label != "label" or not columns or columns != (names or columns):
                    expected = f"{names[:3]} ..., as in V_train" if names else "the features f0, f1, ..."
                    raise BrokenFileError(
                        f"{file} has the columns {[label, *columns[:3]]} ...; expected '# label', then {expected}"
                    )
                names[:] = columns
                block = table.to_numpy()
                bad = np.flatnonzero(~np.isin(block[:, 0], [0, 1]) | ~np.isfinite(block).all(axis=1))
                if bad.size:
                    what = f"expected a label of 0 or 1, then {len(columns)} numbers, none empty"
                    raise BrokenFileError(f"{file}, line {done + bad[0] + 2}: {what}")
                done += len(table)
                yield block
    except BrokenFileError:
        raise
    except (ValueError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        what = f"cannot be read after row {done} ({str(error).strip()}); expected a header, then numbers; get it again"
        raise BrokenFileError(f"{file} {what}") from error
    if not done:
        raise BrokenFileError(f"{file} holds no rows; get it again")
