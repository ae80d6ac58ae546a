"""The features of rows of which only some raw columns are known.

    feature f of row i is known  where all raw columns of sources(f) are known for row i                                   (1)

A transformer is run on the rows for which it writes something that is known. Cells of these rows that are not known hold a value
that the transformer accepts; by (1) they change nothing that is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from formulations.errors import InvalidInputError
from prunemodels.models.columns.steps import Inputs, dense
from prunemodels.models.columns.tracing import blocks_of, is_identity, sources_of, steps_of

Cells = tuple[NDArray[Any], NDArray[np.bool_]]
"""Values of any type, shape (n, columns), and whether each is known; values that are not known mean nothing."""


class PartialStep(Protocol):
    """Computes what it can of the output columns."""

    def run(self, cells: Cells) -> Cells:
        """The output columns, as far as they are known."""
        ...


def part_of(transformer: Any, inputs: Inputs, *, table: bool, single: bool = False) -> PartialStep:
    """Prepare a fitted transformer.

    Parameters
    ----------
    table
        whether it reads a pandas table, if it does not say so itself.
    single
        whether it reads its one column as a line of values.
    """
    if is_identity(transformer):
        return Chain([])
    if isinstance(transformer, Pipeline):
        first = True
        steps = []
        for step, known in steps_of(transformer, inputs):
            steps.append(part_of(step, known, table=table and first, single=single and first))
            first = False
        return Chain(steps)
    if isinstance(transformer, ColumnTransformer | FeatureUnion):
        blocks = blocks_of(transformer, inputs)
        parts = [(part_of(b.transformer, b.inputs, table=table, single=b.single), b.places, b.out) for b in blocks]
        return SideBySide(parts)
    sources = sources_of(transformer, inputs)[0]
    needs = np.zeros((len(sources), inputs.count), dtype=bool)
    for f, columns in enumerate(sources):
        needs[f, list(columns)] = True
    fitted = getattr(transformer, "feature_names_in_", None)
    names = [str(name) for name in fitted] if fitted is not None else list(inputs.names or []) if table else None
    return SingleStep(transformer, inputs.path, needs, names, single)


def writes_sparse(transformer: Any, inputs: Inputs, given_sparse: bool = False) -> bool:
    """Whether a fitted transformer writes a sparse matrix, given a table or, with `given_sparse`, a sparse matrix."""
    if is_identity(transformer):
        return given_sparse
    if isinstance(transformer, Pipeline):
        for step, known in steps_of(transformer, inputs):
            given_sparse = writes_sparse(step, known, given_sparse)
        return given_sparse
    if isinstance(transformer, ColumnTransformer):
        return bool(transformer.sparse_output_)
    if isinstance(transformer, FeatureUnion):
        return any(writes_sparse(block.transformer, block.inputs, given_sparse) for block in blocks_of(transformer, inputs))
    if given_sparse:
        return issparse(transformer.transform(csr_matrix((1, inputs.count))))
    return bool(getattr(transformer, "sparse_output", False)) or getattr(transformer, "encode", None) == "onehot"


def accepted_values(part: PartialStep, count: int) -> list[Any]:
    """For each of the input columns of a part a value that the first step that reads it accepts."""
    values: list[Any] = [1.0] * count
    if isinstance(part, Chain) and part.steps:
        return accepted_values(part.steps[0], count)
    if isinstance(part, SideBySide):
        for below, places, _ in part.parts:
            for f, value in zip(places, accepted_values(below, len(places)), strict=True):
                values[f] = value if values[f] == 1.0 else values[f]
    if isinstance(part, SingleStep):
        values = [part.accepted(j) for j in range(count)]
    return values


@dataclass(frozen=True, eq=False)
class Chain:
    """Steps one after the other."""

    steps: Sequence[PartialStep]

    def run(self, cells: Cells) -> Cells:
        """See `PartialStep`."""
        for step in self.steps:
            cells = step.run(cells)
        return cells


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Parts, each with the columns that it reads and the columns that it writes."""

    parts: Sequence[tuple[PartialStep, list[int], slice]]

    def run(self, cells: Cells) -> Cells:
        """See `PartialStep`."""
        shape = len(cells[0]), max((out.stop for _, _, out in self.parts), default=0)
        values, known = np.zeros(shape, dtype=object), np.zeros(shape, dtype=bool)
        for part, places, out in self.parts:
            values[:, out], known[:, out] = part.run((cells[0][:, places], cells[1][:, places]))
        return values, known


@dataclass(frozen=True, eq=False)
class SingleStep:
    """A transformer that does not consist of others.

    Parameters
    ----------
    transformer, path
        the transformer, and what messages call it.
    needs
        bool, shape (F, columns): the columns that each of its outputs is made from.
    names
        the columns' names, if it reads a table; else None.
    single
        see `part_of`.
    """

    transformer: Any
    path: str
    needs: NDArray[np.bool_]
    names: list[str] | None
    single: bool

    def run(self, cells: Cells) -> Cells:
        """See `PartialStep`."""
        values, known = cells
        out_known = ~(~known @ self.needs.T)  # no column that it needs is missing
        rows = np.flatnonzero(out_known.any(axis=1))
        out = np.zeros(out_known.shape, dtype=object)
        if rows.size and self.needs.size:
            given = self._input(self._filled(values[rows], known[rows], cells))
            try:
                with np.errstate(all="ignore"):
                    found = self.transformer.transform(given)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InvalidInputError(
                    f"the step {self.path!r} of the pipeline refuses rows ({error}); correct the value, or, if it stands for one "
                    "that is not known yet, give the step its columns one by one in a ColumnTransformer"
                ) from error
            out[rows] = dense(found)
        return out, out_known

    def _filled(self, values: NDArray[Any], known: NDArray[np.bool_], batch: Cells) -> NDArray[Any]:
        """The values, with one that the transformer accepts in each cell that is not known."""
        values = values.copy()
        for j in np.flatnonzero(~known.all(axis=0)).tolist():
            have = np.flatnonzero(batch[1][:, j])
            values[~known[:, j], j] = batch[0][have[0], j] if have.size else self.accepted(j)
        return values

    def accepted(self, j: int) -> Any:
        """A value of column j that the transformer was fitted with, or 1."""
        for attribute in ("categories_", "statistics_"):
            fitted = getattr(self.transformer, attribute, None)
            if fitted is not None:
                value = fitted[j][0] if attribute == "categories_" else fitted[j]
                return 1.0 if pd.isna(value) and attribute == "statistics_" else value
        return 1.0

    def _input(self, values: NDArray[Any]) -> Any:
        """The values in the form that the transformer was fitted on."""
        table = pd.DataFrame(values, columns=self.names).infer_objects()
        for j, categories in enumerate(getattr(self.transformer, "categories_", [])):
            if categories.dtype.kind in "OUS":  # missing values alone would be taken for numbers
                table.isetitem(j, table.iloc[:, j].to_numpy(dtype=object))
        if self.names is None:
            numeric = all(kind.kind in "biuf" for kind in table.dtypes)
            rows = table.to_numpy() if numeric else table.to_numpy(dtype=object)
            return rows[:, 0] if self.single else rows
        return table.iloc[:, 0] if self.single else table
