"""Check the inputs from which exits are learned: the stages, and labels that they know."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from prunemodels.exits.stages import Stages, StageTable, table_of


def class_numbers(classes: NDArray[Any] | None, y: Any, n_rows: int, *, unknown: int | None = None) -> NDArray[Any]:
    """Labels as places among the classes, or targets as floats.

    Parameters
    ----------
    unknown
        the number for labels that no stage was trained on, provided that some labels are known; None: they are refused.

    Raises
    ------
    InvalidInputError
        for a label that no stage was trained on, a target that is not finite, or a wrong number of labels.
    """
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise InvalidInputError(f"y has shape {labels.shape}, there are {n_rows} rows: give one label each")
    if classes is None:
        numbers = labels.astype(np.float64)
        bad = np.flatnonzero(~np.isfinite(numbers))
        if bad.size:
            raise InvalidInputError(f"y[{bad[0]}] is {labels[bad[0]]}; give finite numbers")
        return numbers
    place = {label: k for k, label in enumerate(classes.tolist())}
    found = np.array([place.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    if (found < 0).all() or (unknown is None and (found < 0).any()):
        label = labels.tolist()[int(np.argmin(found))]
        raise InvalidInputError(f"y has the label {label!r}, the stages were trained on {list(place)}; leave such rows out")
    return found if unknown is None else np.where(found < 0, unknown, found)


def exit_table(stages: Stages, X: Any) -> StageTable:
    """`table_of`, after checking that the stages are stages.

    Raises
    ------
    InvalidInputError
        for an object that is no `Stages`, or has no stage.
    """
    if not isinstance(stages, Stages):
        raise InvalidInputError(
            f"stages is a {type(stages).__name__}; give an object with n_stages, costs and output, see `Stages`"
        )
    if stages.n_stages < 1:
        raise InvalidInputError("there is no stage; give at least one")
    return table_of(stages, X)
