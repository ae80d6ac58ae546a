"""Labelled examples block by block: rows in memory are one block, a table in chunks has one for each chunk.

What is counted adds up over blocks, so error rates, and costs of rows of weight 1, do not depend on the blocks. For intervals and
squared errors the loss and the cost of each row stay in memory, 8 bytes each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import Column
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_largest, check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.routing import n_examples
from formulations.shown import row_of


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Some labelled rows."""

    # X, y: the rows, and their labels; None if there are none.
    X: Any
    y: Any
    # the weights of the rows, None: 1 each; those of a chunk, which may all be 0, were checked when it was read.
    sample_weight: ArrayLike | None = None
    entry: Callable[[int], str] | None = None  # what messages call the label of row i; None: ``y[i]``.

    @property
    def weights(self) -> NDArray[np.float64]:
        """float64, shape (n,), >= 0."""
        if self.entry is not None:
            return np.asarray(self.sample_weight)
        return check_weights(self.sample_weight, n_examples(self.X), "sample_weight", self.X)

    @property
    def labels(self) -> Any:
        """The labels."""
        if self.y is None:
            raise InvalidInputError("y is None; give one label a row, or the name of the column of labels of a table in chunks")
        return self.y


def in_chunks(X: Any) -> bool:
    """Whether it is a table that is read in chunks: a file, a pyarrow dataset, or a `ChunkedTable`."""
    return isinstance(X, str | Path) or hasattr(X, "count_rows") or hasattr(X, "chunk_rows")


def each_block(
    ensemble: Ensemble, X: Any, y: Any, do: Callable[[LabelledRows], None], what: str, *, sample_weight: Column = None
) -> None:
    """Call `do` with each block; `what` names the activity in messages and in the progress bar."""
    if not in_chunks(X):
        do(LabelledRows(X, y, sample_weight))
        return
    from prunemodels.tables.reading import Reader, RowBlock
    from prunemodels.tables.table import as_chunked

    table, names = as_chunked(X), ensemble.feature_names

    def take(block: RowBlock) -> None:
        rows = block.rows if names is None else pd.DataFrame(block.rows, columns=list(names))
        do(LabelledRows(rows, block.y, block.weights, lambda i: f"{row_of(table.source.name, block.first + i)}: y"))

    Reader(table, ensemble, y=y, weight=sample_weight).each(what, take)


def joined_weights(weights: list[NDArray[np.float64]], X: Any) -> NDArray[np.float64]:
    """The weights of all blocks, checked as a whole."""
    together = np.concatenate(weights)
    check_largest(together, f"{X}: sample_weight" if in_chunks(X) else "sample_weight")
    return together


def rows_in_turn(ensemble: Ensemble, X: Any, y: Any, sample_weight: Column) -> tuple[Any, Any, Any]:
    """Rows in memory as they are; a table in chunks as rows that are read in their order, with its labels and weights.

    The table is read once for the labels and weights, about 40 bytes a row, and for each pass over the rows again.
    """
    if not in_chunks(X):
        return X, y, sample_weight
    from prunemodels.tables.reading import Reader, RowBlock, RowsInTurn, labels_of, weights_of
    from prunemodels.tables.table import as_chunked

    table = as_chunked(X)
    if not table.source.again:
        raise InvalidInputError(
            f"{table.source.name} can be read only once, but a path needs several passes; give a file, or a function "
            "that returns the chunks"
        )
    labels: list[NDArray[Any]] = []
    weights: list[NDArray[np.float64]] = []

    def keep(block: RowBlock) -> None:
        labels.append(labels_of(block))
        if block.weight is not None:
            weights.append(block.weight)

    reader = Reader(table, ensemble, y=y, weight=sample_weight)
    n = reader.without_features().each("reading labels", keep)
    w = weights_of(weights, table.source.name) if weights else None
    return RowsInTurn(reader.without_labels(quiet=False), n), np.concatenate(labels), w
