"""The columns that a fitted step reads and writes, and from which of them each output column is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import UnsupportedModelError

Sources = list[frozenset[int]]
"""For each output column the input columns that it is made from, see (1) of `prunemodels.models.columns.tracing`."""

STATEMENT = "made_from_"
"""The attribute in which a fitted transformer says itself what its columns are made from."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What is known of the columns that a transformer reads and writes.

    Parameters
    ----------
    path
        names of the steps that lead to the transformer, for messages.
    count
        number of its input columns.
    names
        their names, or None.
    n_out
        number of its output columns, or None.
    """

    path: str
    count: int
    names: Sequence[str] | None
    n_out: int | None = None

    def of_step(self, name: str, count: int, names: Sequence[str] | None, n_out: int | None) -> Inputs:
        """Those of a step of the transformer."""
        return Inputs(f"{self.path}.{name}" if self.path else name, count, names, n_out)


def each_alone(columns: Iterable[int]) -> Sources:
    """Each output column is made from one input column."""
    return [frozenset([int(f)]) for f in columns]


def made_from_all(inputs: Inputs, n_out: int) -> Sources:
    """Each output column is made from all input columns."""
    return [frozenset(range(inputs.count))] * n_out


def names_out(transformer: Any) -> list[str] | None:
    """The names of the output columns, if the transformer knows them."""
    if not hasattr(transformer, "get_feature_names_out"):
        return None
    try:
        return [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError, TypeError, NotImplementedError):  # a step within it has no names
        return None


def n_outputs(transformer: Any, inputs: Inputs) -> int:
    """Number of output columns.

    Raises
    ------
    UnsupportedModelError
        if neither the step behind the transformer nor its own names tell.
    """
    if inputs.n_out is not None:
        return inputs.n_out
    names = names_out(transformer)
    if names is None:
        raise untraceable(transformer, inputs)
    return len(names)


def untraceable(transformer: Any, inputs: Inputs) -> UnsupportedModelError:
    """The error for a transformer whose columns cannot be traced."""
    example = '{"ratio": ["height", "weight"]}'
    return UnsupportedModelError(
        f"the step {inputs.path!r} is a {type(transformer).__name__}, of which it is not known what its columns are made from; "
        f"state that in an attribute of the fitted step, one entry for each column that it writes: step.{STATEMENT} = {example}"
    )


def dense(rows: Any) -> NDArray[Any]:
    """Rows of any form as an array."""
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
