"""From a fitted forest and a table larger than memory to the instance, and the errors of the nodes on such a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from formulations.arguments import Column, checked
from formulations.instance.chunked_routing import ChunkedRouting
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_size, evaluation_prices
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.problem import PruningProblem
from formulations.instance.routing import route
from formulations.instance.usage import Usage
from formulations.instance.usage_arcs import charges_of
from formulations.shown import row_of
from prunemodels.models.costs import Costs, cost_items
from prunemodels.models.forests.error_samples import Errors, InBag
from prunemodels.models.forests.labels import class_numbers
from prunemodels.models.forests.reading import ReadForest
from prunemodels.tables.reading import Reader, RowBlock, RowsInTurn, labels_of, weights_of
from prunemodels.tables.table import Table, as_chunked


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
