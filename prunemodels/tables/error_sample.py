"""The errors of the nodes on a labelled table larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.arguments import Column, checked
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.routing import route
from prunemodels.models.forests.labels import class_numbers
from prunemodels.tables.reading import Reader, RowBlock, labels_of
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
        the name of the column of weights, or an array, >= 0. Default: 1 each.

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
    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """The errors, in the ensemble's numbering of nodes.

        Parameters
        ----------
        forest, ensemble
            a fitted forest, which is not used, and its trees.

        Raises
        ------
        InvalidInputError
            for a label that the forest was not trained on, a target that is not finite, and as `problem_from_table`.
        BrokenFileError, InterruptedSolveError
            as `problem_from_table`.
        UnsupportedModelError
            for trees with several outputs, and survival trees.
        """
        del forest
        ensemble.check_one_output("GivenTable")
        ensemble.check_no_curves("GivenTable")
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
                entry=lambda i: f"errors: {source}, row {block.first + i + 1:,}: y",
            )
            weight = block.weights
            counted = errors_on_sample(ensemble, route(ensemble, block.rows), truth, weight)
            e[:] += counted.e
            total[:] += counted.weight

        reader.each("counting errors", count)
        return NodeErrors((ErrorComponent(e, total, source="given"),))
