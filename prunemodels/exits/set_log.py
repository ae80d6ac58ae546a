"""The log of a search for item sets, so that it can go on where it was stopped.

The file holds the sets that were found, the largest first, and a fingerprint of all that they depend on: examples, labels,
weights, prices, divisions, estimator and seed. A file of another search is refused, not overwritten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import BrokenFileError, InvalidInputError
from formulations.file_lock import FileLock, hidden_name
from formulations.stored_arrays import stored_json
from prunemodels.files.outputs import OutputFiles


def _whole_numbers(items: Any) -> NDArray[np.int64]:
    """A list of whole numbers as an array; NumPy would cut fractions off."""
    if any(type(item) is not int for item in items):
        raise TypeError(f"{str(items)[:40]} are not whole numbers")
    return np.array(items, dtype=np.int64)


@dataclass(frozen=True)
class SetLog:
    """The file of one search.

    Parameters
    ----------
    place
        a JSON file; it need not exist yet.
    fingerprint
        of the search, by `formulations.stored_arrays`.
    """

    place: Path
    fingerprint: str

    def read(self, n_items: int) -> list[NDArray[np.bool_]]:
        """The sets that were found, bool of shape (n_items,) each; none where there is no file.

        Raises
        ------
        BrokenFileError
            if the file cannot be read, or does not hold nested sets of these items.
        InvalidInputError
            if it belongs to another search.
        """
        if not os.path.exists(self.place):
            return []
        try:
            held = stored_json(self.place.read_bytes(), str(self.place))
            whose, sets = held["fingerprint"], [_whole_numbers(items) for items in held["sets"]]
        except (OSError, ValueError, KeyError, TypeError, OverflowError) as error:
            raise BrokenFileError(f"checkpoint {self.place} cannot be read ({error}); remove it to begin again") from error
        if whose != self.fingerprint:
            raise InvalidInputError(
                f"checkpoint {self.place} belongs to a search with other examples, prices or settings; remove it, or name another"
            )
        return [self._mask(items, n_items) for items in sets]

    def _mask(self, items: NDArray[np.int64], n_items: int) -> NDArray[np.bool_]:
        if items.ndim != 1 or ((items < 0) | (items >= n_items)).any():
            raise BrokenFileError(f"checkpoint {self.place} names items that do not exist; remove it to begin again")
        mask = np.zeros(n_items, dtype=bool)
        mask[items] = True
        return mask

    def one_writer(self) -> FileLock:
        """A lock that keeps other searches from the file; `write` has one of its own."""
        return FileLock(self.place, hidden_name(self.place, "search"))

    def write(self, sets: Iterable[NDArray[np.bool_]]) -> None:
        """Write the sets, all of them or none."""
        held = {"fingerprint": self.fingerprint, "sets": [np.flatnonzero(mask).tolist() for mask in sets]}
        with OutputFiles() as outputs:
            outputs.aside(self.place).write_text(json.dumps(held), encoding="utf-8")
