"""What a user states of a step: the input columns that each of its output columns is made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.models.columns.step_columns import STATEMENT, Inputs, Sources, names_out


def stated_sources(transformer: Any, inputs: Inputs) -> Sources:
    """What the attribute ``made_from_`` states: by the names of output columns, or one entry for each in their order.

    Raises
    ------
    InvalidInputError
        for columns that the transformer does not read or write.
    """
    stated, out = getattr(transformer, STATEMENT), names_out(transformer)
    if isinstance(stated, Mapping):
        by_name = {str(name): columns for name, columns in stated.items()}
        if out is not None and set(by_name) != set(out):
            wrong = sorted(set(by_name) ^ set(out))[0]
            what = "misses" if wrong in out else "names"
            known = ", ".join(out[:6])
            raise InvalidInputError(f"{inputs.path}: {STATEMENT} {what} the column {wrong!r}; the step writes {known}")
        entries = [by_name[name] for name in (out or by_name)]
    else:
        entries = list(stated)
    if inputs.n_out is not None and len(entries) != inputs.n_out:
        raise InvalidInputError(
            f"{inputs.path}: {STATEMENT} has {len(entries)} entries, the step writes {inputs.n_out} columns; give one for each"
        )
    return [frozenset(_stated_places(entry, inputs)) for entry in entries]


def _stated_places(entry: Any, inputs: Inputs) -> Iterable[int]:
    """The places of the input columns that one entry names, by name or position."""
    names = [] if inputs.names is None else [str(name) for name in inputs.names]
    for column in [entry] if isinstance(entry, str | int | np.integer) else entry:
        if isinstance(column, str) and column in names:
            yield names.index(column)
        elif not isinstance(column, str) and 0 <= int(column) < inputs.count:
            yield int(column)
        else:
            reads = ", ".join(names[:6]) or f"the columns 0 to {inputs.count - 1}"
            raise InvalidInputError(f"{inputs.path}: {STATEMENT} names {column!r}; the step reads {reads}")
