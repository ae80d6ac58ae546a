"""What rounds found about the large parts of a path, in a folder: one file for each part, and the state of the run at work.

A part is named by the fingerprint of its two ends, so the same divisions are found again whatever came before them. The folder,
its lock and the state of the run at work are those of `solvers.price_sharing.run_files`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from formulations.stored_arrays import stored_array, stored_fraction, whole_number
from solvers.price_sharing.checkpoint import MOST_ROUNDS, write_atomically
from solvers.price_sharing.run_files import RunFiles, errors_naming, stored_number


@dataclass(frozen=True, eq=False)
class FoundInPart:
    """The best pruning that rounds found between two ends, at the lambda at which these are worth the same.

    Parameters
    ----------
    kept
        bool, shape (n,): its splits.
    bound
        in integer gains: no pruning between the ends is worth more at `ratio`.
    ratio
        lambda in integer gains for one integer price, or the nearest below it that fits 61 bits.
    rounds, seconds
        what it took, earlier runs included.
    """

    kept: NDArray[np.bool_]
    bound: Fraction
    ratio: Fraction
    rounds: int
    seconds: float


@dataclass(frozen=True)
class PartFiles(RunFiles):
    """A folder of parts of one path."""

    def load_part(self, part_key: str, n_nodes: int) -> FoundInPart | None:
        """What was found in the part with this key; None where there is no such file.

        Raises
        ------
        BrokenFileError
            if the file holds nothing of the kind.
        InvalidInputError
            if it is of another instance, or was made with other options.
        """
        file = self._part_file(part_key)
        if not os.path.exists(file):
            return None
        arrays, figures = self._read(file)
        with errors_naming(file):
            kept = stored_array(arrays["kept"], "kept", "b", n_nodes)
            bound, ratio = (stored_fraction(figures[name], name) for name in ("bound", "ratio"))
            rounds = whole_number(figures["rounds"], "rounds", MOST_ROUNDS)
            return FoundInPart(kept, bound, ratio, rounds, stored_number(figures, "seconds"))

    def save_part(self, part_key: str, found: FoundInPart) -> None:
        """Write what was found in a part, and delete the state on the way to it.

        Raises
        ------
        BrokenFileError
            where it cannot be written.
        """
        figures = {"bound": str(found.bound), "ratio": str(found.ratio), "rounds": found.rounds, "seconds": found.seconds}
        arrays = {"instance": self.instance, "figures": json.dumps(figures), "kept": found.kept}
        write_atomically(self._part_file(part_key), arrays)
        self.state_file.unlink(missing_ok=True)

    def _part_file(self, part_key: str) -> Path:
        return self.folder / f"{part_key[:16]}.part"
