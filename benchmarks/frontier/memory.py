"""Results that the methods of one data set share: JSON values by name, kept in a folder, or while the program runs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from formulations.errors import BrokenFileError
from prunemodels.files.outputs import OutputFiles


@dataclass(frozen=True)
class Memory:
    """Values that are computed once.

    Parameters
    ----------
    folder
        where they are kept, one file for each value; None: only in `values`.
    """

    folder: Path | None = None
    values: dict[str, Any] = field(default_factory=dict)

    def recall(self, name: str, compute: Callable[[], Any]) -> Any:
        """The value of that name, computed if it is not there yet; ``{"value": ..., "seconds": CPU seconds it took}``.

        Raises
        ------
        BrokenFileError
            if the file of the value is damaged.
        """
        if name in self.values:
            return self.values[name]
        place = None if self.folder is None else self.folder / f"{name}.json"
        if place is not None and place.is_file():
            try:
                self.values[name] = json.loads(place.read_text())
            except ValueError as error:
                raise BrokenFileError(f"{place} is damaged ({error}); delete it, and it is computed again") from error
            return self.values[name]
        start = time.process_time()
        value = compute()
        kept = {"value": value, "seconds": time.process_time() - start}
        if place is not None:
            place.parent.mkdir(parents=True, exist_ok=True)
            with OutputFiles() as outputs:
                outputs.aside(place).write_text(json.dumps(kept) + "\n")
        self.values[name] = kept
        return kept
