"""The errors of the nodes on a labelled table larger than memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import ErrorComponent, NodeErrors, errors_on_sample
from formulations.instance.routing import route
from prunemodels.tables.reading import Column, Part, Reader, labels_of
from prunemodels.tables.table import Table, as_chunked


@dataclass(frozen=True, eq=False)
class GivenTable:
    """`Given` for a table that need not fit into memory: errors are counted chunk by chunk.

    Parameters
    ----------
    table
        examples, as in `problem_from_table`.
    y
        the name of the column of labels (classification: labels that the forest was trained on) or targets, or an array.
    sample_weight
        the name of the column of weights, or an array, >= 0. Default: 1 each.
    progress
        a bar on stderr.

    Notes
    -----
    Counts and whole weights are those of `Given` bit for bit; squared errors and sums of real weights agree up to rounding.
    """

    table: Table
    y: Column
    sample_weight: Column = None
    progress: bool = False

    def measure(self, forest: Any, ensemble: Ensemble) -> NodeErrors:
        """The errors, in the ensemble's numbering of nodes.

        Parameters
        ----------
        forest, ensemble
            a fitted forest, which is not looked at, and its trees.

        Raises
        ------
        InvalidInputError
            for a label that the forest was not trained on, a target that is not finite, and as `problem_from_table`.
        BrokenFileError, InterruptedSolveError
            as `problem_from_table`.
        """
        del forest
        table = as_chunked(self.table)
        reader = Reader(table, ensemble, y=self.y, weight=self.sample_weight, progress=self.progress)
        e, total = np.zeros(ensemble.n_nodes), np.zeros(ensemble.n_trees)

        def count(part: Part) -> None:
            truth = _truth(ensemble, labels_of(part), table.source.name, part.first)
            weight = np.ones(len(truth)) if part.weight is None else part.weight
            counted = errors_on_sample(ensemble, route(ensemble, part.rows), truth, weight)
            e[:] += counted.e
            total[:] += counted.weight

        reader.each("counting errors", count)
        return NodeErrors((ErrorComponent(e, total, source="given"),))


def _truth(ensemble: Ensemble, labels: NDArray[Any], source: str, first: int) -> NDArray[Any]:
    """Class indices, or targets; of rows that stand behind `first` others."""
    if ensemble.task == "regression" or ensemble.classes is None:
        try:
            targets = labels.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"errors: y of {source} is not numeric ({error}); the forest predicts numbers") from error
        bad = np.flatnonzero(~np.isfinite(targets))
        if bad.size:
            raise InvalidInputError(
                f"errors: {source}, row {first + bad[0] + 1:,}: y is {targets[bad[0]]}; targets must be finite"
            )
        return targets
    known = {label: k for k, label in enumerate(ensemble.classes.tolist())}
    code, found = pd.factorize(labels)
    place = np.array([known.get(label, -1) for label in found.tolist()], dtype=np.int64)
    truth = np.where(code < 0, -1, place[code])
    bad = np.flatnonzero(truth < 0)
    if bad.size:
        label = labels[bad[:1]].tolist()[0]
        raise InvalidInputError(
            f"errors: {source}, row {first + bad[0] + 1:,}: y is the label {label!r}, the forest was trained on {list(known)}"
        )
    return truth
