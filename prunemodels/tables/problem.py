"""From a fitted forest and a table larger than memory to the instance, and the errors of the nodes on such a table.

Rows that come in chunks are routed with the result of `route`, without all rows in memory at once. Of each chunk we keep the
position of each row's leaf in each tree, and nothing else. After the last chunk each tree's rows are sorted by these positions,
as `route` does. If the number of rows is known beforehand, the positions are stored in the array of the order itself:

    memory  =  4 T N bytes (the order)  +  4 N bytes a thread that sorts a tree  +  the chunk                               (1)

Otherwise the positions have arrays of their own until the end. These take 2 T N bytes more (4 T N where a tree has over 65,536
leaves). With a scratch folder, positions and order are files in it, see `formulations.memory`.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from formulations.arguments import Column, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_size, evaluation_prices
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import Routing, leaf_positions, read_only, route, sort_by_leaf, walk_tree
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import charges_of
from formulations.memory import scratch_array
from formulations.shown import row_of
from prunemodels.models.costs import Costs, cost_items
from prunemodels.models.forests.error_samples import Errors, InBag
from prunemodels.models.forests.reading import ReadForest
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.tables.reading import Reader, RowBlock, RowsInTurn, labels_of, weights_of
from prunemodels.tables.table import Table, as_chunked


class ChunkedRouting:
    """Takes rows chunk by chunk and gives their routing at the end.

    >>> routing = ChunkedRouting(ensemble, n_rows=5_000_000)      # doctest: +SKIP
    >>> for rows in chunks:                                       # doctest: +SKIP
    ...     routing.add(rows)
    >>> routing.finish()                                          # doctest: +SKIP

    Parameters
    ----------
    ensemble
        the trees.
    n_rows
        the largest number of rows that may come; None: unknown.
    scratch
        a folder for files that hold the order, 4 bytes for each row and tree, and arrays derived from it; None: memory. Where
        the system allows it the files have no names, and they vanish with the routing or at the end of the process.

    Raises
    ------
    BrokenFileError
        if the folder does not exist or has too little free space.
    """

    def __init__(self, ensemble: Ensemble, n_rows: int | None = None, *, scratch: str | Path | None = None) -> None:
        self.n_rows = 0
        self._ensemble = ensemble
        self._leaf_first = leaf_positions(ensemble)
        self._scratch = None if scratch is None else Path(scratch)
        most_leaves = int(np.diff(ensemble.tree_start).max(initial=1) + 1) // 2
        self._places: _PlacesInOrder | _PlacesByChunk = (
            _PlacesByChunk(ensemble.n_trees, most_leaves, self._scratch)
            if n_rows is None
            else _PlacesInOrder(ensemble.n_trees, n_rows, self._scratch)
        )

    def add(self, rows: NDArray[np.float32]) -> None:
        """Send a chunk through every tree; float32, shape (rows, n_features), see `formulations.instance.routing.as_rows`."""
        places = self._places.take(self.n_rows, len(rows))
        rows = read_only(rows)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda t: self._walk(t, rows, places), range(self._ensemble.n_trees)))
        self.n_rows += len(rows)

    def _walk(self, t: int, rows: NDArray[np.float32], places: NDArray[Any]) -> None:
        place = np.empty(len(rows), dtype=np.int32)
        walk_tree(self._ensemble, t, rows, self._leaf_first, place)
        places[t] = place

    def finish(self) -> Routing:
        """The routing of all rows that were added, numbered in that order."""
        if not self.n_rows:
            raise InvalidInputError("X is empty: at least one example is needed")
        start, stop = (np.zeros(self._ensemble.n_nodes, dtype=np.int32) for _ in range(2))
        order = self._places.order(self.n_rows)

        def sort(t: int) -> None:
            place = self._places.of_tree(t, self.n_rows)
            sort_by_leaf(self._ensemble, t, place, self._leaf_first, order[t], start, stop)

        # four trees at a time at most: sorting one takes 4 bytes a row
        threads = min(4, os.cpu_count() or 1) if self._places.any_sequence(self.n_rows) else 1
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(sort, range(self._ensemble.n_trees)))
        return Routing(order, start, stop, self._scratch)


class _PlacesInOrder:
    """Positions in the array that will hold the order.

    The positions of tree t start at t N. If only n < N rows came, the order of tree t starts at t n, before its positions.
    """

    def __init__(self, n_trees: int, n_rows: int, scratch: Path | None) -> None:
        self._n_trees, self._n_rows = n_trees, n_rows
        self._array = scratch_array(n_trees * n_rows, np.int32, scratch)

    def take(self, first: int, n_rows: int) -> NDArray[np.int32]:
        """An array for the positions of the next rows, shape (T, n_rows); the caller fills it."""
        if first + n_rows > self._n_rows:
            raise InvalidInputError(f"{first + n_rows:,} rows have come, {self._n_rows:,} were announced; announce them all")
        return self._array.reshape(self._n_trees, self._n_rows)[:, first : first + n_rows]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        """The positions of all rows in tree t, a copy."""
        return self._array[t * self._n_rows :][:n_rows].copy()

    def order(self, n_rows: int) -> NDArray[np.int32]:
        """An array for the order, shape (T, n_rows); the caller fills it."""
        return self._array[: self._n_trees * n_rows].reshape(self._n_trees, n_rows)

    def any_sequence(self, n_rows: int) -> bool:
        """Whether trees may be sorted in any sequence; if not, they must be sorted from the first to the last."""
        return n_rows == self._n_rows  # with fewer rows, the order of a tree overwrites positions of trees before it


class _PlacesByChunk:
    """Positions chunk by chunk, in the smallest type that the trees allow.

    On disk one file holds many chunks, so that few files are open.
    """

    def __init__(self, n_trees: int, most_leaves: int, scratch: Path | None) -> None:
        self._n_trees, self._scratch = n_trees, scratch
        self._type: DTypeLike = np.uint16 if most_leaves <= 2**16 else np.int32
        self._chunks: list[NDArray[Any]] = []
        self._buffer = np.empty((n_trees, 0), dtype=self._type)
        self._used = 0

    def take(self, first: int, n_rows: int) -> NDArray[Any]:
        del first
        if self._used + n_rows > self._buffer.shape[1]:
            size = n_rows if self._scratch is None else max(n_rows, 2 * self._buffer.shape[1])
            self._buffer, self._used = scratch_array((self._n_trees, size), self._type, self._scratch), 0
        self._chunks.append(self._buffer[:, self._used : self._used + n_rows])
        self._used += n_rows
        return self._chunks[-1]

    def of_tree(self, t: int, n_rows: int) -> NDArray[np.int32]:
        places = np.empty(n_rows, dtype=np.int32)
        np.concatenate([chunk[t] for chunk in self._chunks], out=places)
        return places

    def order(self, n_rows: int) -> NDArray[np.int32]:
        return scratch_array((self._n_trees, n_rows), np.int32, self._scratch)

    def any_sequence(self, n_rows: int) -> bool:
        del n_rows
        return True


@checked
@dataclass(frozen=True, eq=False)
class GivenTable:
    """`Given` for a table that may be larger than memory: errors are counted chunk by chunk.

    Parameters
    ----------
    table
        examples, as in `problem_from_table`.
    y
        the name of the column of labels (classification: labels that the forest was trained on) or targets, or an array.
    sample_weight
        the name of the column of weights, or an array, >= 0: a row stands for that many. Default: those of the cost sample,
        where that is the same table; else 1 each.

    Notes
    -----
    Counts and sums of whole weights equal those of `Given` bit for bit; squared errors and sums of other weights agree up to
    rounding.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> table = pm.tables.ChunkedTable(X_valid.assign(label=y_valid), columns=list(X_valid.columns), chunk_rows=50)
    >>> pm.tables.problem_from_table(forest, table, costs=costs, errors=pm.tables.GivenTable(table, "label"))
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """

    table: Table
    y: Column
    sample_weight: Column = None

    @checked
    def measure(self, forest: ReadForest) -> NodeErrors:
        """The errors, in the ensemble's numbering of nodes.

        Parameters
        ----------
        forest
            whose trees are judged.

        Raises
        ------
        InvalidInputError
            for a label that the forest was not trained on, a target that is not finite, and as `problem_from_table`.
        BrokenFileError, InterruptedSolveError
            as `problem_from_table`.
        """
        ensemble = forest.ensemble
        table = as_chunked(self.table)
        reader = Reader(table, ensemble, y=self.y, weight=self.sample_weight)
        e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)

        def count(block: RowBlock) -> None:
            labels, source = labels_of(block), table.source.name
            truth = class_numbers(
                ensemble.classes,
                labels,
                len(labels),
                f"errors: y of {source}",
                entry=lambda i: f"errors: {row_of(source, block.first + i)}: y",
            )
            weight = block.weights
            counted = errors_on_sample(ensemble, route(ensemble, block.rows), truth, weight)
            e[:] += counted.e
            total[:] += counted.weight

        reader.each("counting errors", count)
        return NodeErrors((ErrorComponent(e, total, source="given"),))


def _is_same(one: Any, other: Any) -> bool:
    """Whether two tables are the same object or file."""
    return one is other or (isinstance(one, str | Path) and isinstance(other, str | Path) and Path(one) == Path(other))


@checked
def problem_from_table(
    forest: Any,
    table: Table,
    *,
    costs: Costs,
    errors: Errors | Literal["in-bag"] = "in-bag",
    sample_weight: Column = None,
    evaluation_cost: EvaluationCost = 0,
    misclassification_costs: ArrayLike | None = None,
    scratch: str | Path | None = None,
) -> PruningProblem:
    """`problem_from_forest` for a cost sample that may be larger than memory: the same instance, bit for bit.

    The table is read once, in chunks. The problem keeps what engines need: 4 bytes for each row and tree, and 24 bytes a row.
    With a scratch folder, the 4 bytes for each row and tree are kept in files, and so are the arrays that `price_sharing` derives
    from them.

    Parameters
    ----------
    forest, costs, errors, evaluation_cost, misclassification_costs
        as in `problem_from_forest`; errors also `GivenTable`.
    table
        the cost sample: a file (Parquet, Arrow, CSV), a pyarrow Dataset, an array or memmap, an iterable of chunks; or a
        `ChunkedTable`, which also says which columns are the features and how many rows to read at a time. By default
        columns are found by the forest's feature names, in any order; other columns are not read.
    sample_weight
        the name of the column of weights, or an array with one entry a row, >= 0: a row stands for that many, in cost as in
        error. Default: 1 each.
    scratch
        a folder on a disk (on some systems ``/tmp`` is itself in memory) for the 4 bytes for each row and tree, and for 2 more
        bytes when `price_sharing` asks for its blocks; None (default): memory. The files disappear with the problem or the
        process; where the system allows it they have no names.

    Returns
    -------
    PruningProblem
        its ``X`` refers to the table, and reads it again if an engine asks for rows, which few engines do.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError, CapacityOverflowError
        as `problem_from_forest`; the message names the file, the column and the row, counted from 1.
    BrokenFileError
        for a file that is absent, damaged, or changes while it is read, and for a scratch folder without enough space.
    InterruptedSolveError
        on Ctrl-C.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest
    >>> table = pm.tables.ChunkedTable(X_valid, chunk_rows=50)  # a file, a Dataset or pieces of one work the same way
    >>> pm.tables.problem_from_table(forest, table, costs=costs)
    PruningProblem(Ensemble(8 trees, 84 splits, 10 features, classification), 150 cost rows, 3,800 usage arcs)
    """
    read = ReadForest.of(forest).under_costs(misclassification_costs)
    ensemble = read.ensemble
    items = cost_items(costs, ensemble)
    evaluation = evaluation_prices(evaluation_cost, ensemble.n_features)
    if isinstance(errors, str):
        errors = InBag()
    reader = Reader(as_chunked(table), ensemble, weight=sample_weight)
    check_size(items, reader.n_rows or 0, reader.table.source.name)
    if isinstance(errors, GivenTable) and errors.sample_weight is None and _is_same(errors.table, table):
        errors = replace(errors, sample_weight=sample_weight)
    node_errors = errors.measure(read)
    # rows pass by in chunks, and only where they go in the trees is kept; rows without weight are left out at once
    chunked, given = ChunkedRouting(ensemble, reader.n_rows, scratch=scratch), list[Any]()

    def take(block: RowBlock) -> None:
        if block.weight is not None:
            given.append(block.weight)
        chunked.add(block.rows if block.weight is None or block.weight.all() else block.rows[block.weight > 0])

    n_rows = reader.each("routing", take)
    weights = weights_of(given, reader.table.source.name) if given else np.ones(n_rows)
    routing = chunked.finish()
    rows = np.flatnonzero(weights > 0)
    check_size(items, rows.size, reader.table.source.name)
    weights = weights if rows.size == n_rows else weights[rows]
    X = RowsInTurn(reader.without_labels(quiet=True), n_rows)
    usage = Usage(ensemble, items, evaluation, charges_of(ensemble, items), weights, routing, X=X, rows=rows)
    return PruningProblem.of(usage, node_errors)
