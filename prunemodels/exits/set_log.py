"""The log of a search for item sets, a checkpoint: the sets that were found, the largest first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from formulations.checkpoints import Checkpoint
from formulations.stored_arrays import stored_array, whole_number


def logged_sets(log: Checkpoint, n_items: int) -> list[NDArray[np.bool_]]:
    """The sets that were found, bool of shape (n_items,) each; none where there is no file.

    Raises
    ------
    BrokenFileError
        if the file cannot be read, or does not hold sets of these items.
    InvalidInputError
        if it belongs to another search.
    """
    with log.stored() as stored:
        if stored is None:
            return []
        count = whole_number(stored.figures["sets"], "sets", n_items + 1)
        return list(stored_array(stored.arrays["items"], "items", "b", count * n_items).reshape(count, n_items))


def log_sets(log: Checkpoint, sets: Sequence[NDArray[np.bool_]]) -> None:
    """Write the sets, all of them or none."""
    log.save({"items": np.concatenate(sets)}, sets=len(sets))
