"""How the decomposition is run."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Scheme:
    """Options of the decomposition; the defaults are the fast ones.

    Parameters
    ----------
    smoothing
        alpha in [0, 1): how much of the best bound's charges is priced instead of the master's; 0 for none.
    start
        rounds of price sharing before the first master, for charges and columns to start from. With 0 the first columns are two a
        tree, unpruned and single leaf.
    start_duals
        charges to start from instead, >= 0, one a usage arc of ``usage_columns(problem, merge=merge)``, in (OBJ); they are cut to
        the prices, and the trees' best prunings at them are first columns too.
    aggregate
        rows that are the same row for the columns at hand are written once, see `solvers.column_generation.master`; else a row
        each, in a program that grows and keeps its basis. It pays with a good start, and loses without one.
    merge
        one purchase for those with the same users, and no row for those with a single one; else a row for each usage.
    look
        every round, value prunings of the forest: level sets of the master's mixture, and what pricing found. They end the
        generation as soon as the bound meets them. Else only the master's value counts, and a pruning is made at the end.

    Raises
    ------
    InvalidInputError
        for numbers out of range, and for an aggregated master without `look`, whose value alone is no upper bound.
    """

    smoothing: float = 0.5
    start: int = 400
    start_duals: NDArray[np.float64] | None = None
    aggregate: bool = True
    merge: bool = True
    look: bool = True

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise InvalidInputError(f"smoothing is {self.smoothing!r}; it must be at least 0 and below 1")
        if self.start < 0:
            raise InvalidInputError(f"start is {self.start!r} rounds; it must be 0 or more")
        if self.aggregate and not self.look:
            raise InvalidInputError("an aggregated master's value is no upper bound; set look=True, or aggregate=False")


STABILISED = Scheme()
"""Aggregated rows, smoothing, and a start by price sharing."""

PLAIN = Scheme(smoothing=0.0, start=0, aggregate=False, merge=False, look=False)
"""The textbook's: a row for each usage, two columns a tree to start from, the master's own duals."""
