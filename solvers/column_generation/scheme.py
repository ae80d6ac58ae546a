"""Options of the Dantzig-Wolfe decomposition."""

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
        alpha in [0, 1). Pricing uses alpha times the charges of the best bound plus 1 - alpha times the master's; 0 is no
        smoothing.
    start
        rounds of price sharing before the first master. They give the first charges and columns. With 0 each tree starts with two
        columns: the unpruned tree and its root as a single leaf.
    start_duals
        charges >= 0 to start from instead, one for each usage arc of ``usage_columns(problem, merge=merge)``, in the unit of
        (OBJ). They are reduced where their sum exceeds a price. The trees' best prunings at these charges are first columns too.
    aggregate
        True: write rows that are equal for the present columns only once, see `solvers.column_generation.master`. False: write
        every row, in a program that grows and keeps its basis. Aggregation is faster with a good start, slower without one.
    merge
        True: one purchase for all purchases with the same users, and no row for a purchase with a single user. False: a row for
        each usage arc.
    look
        True: in every round, value prunings of the forest (level sets of the master's mixture, and what pricing found), and stop
        as soon as the bound meets the best of them. False: only the master's value counts, and a pruning is made at the end.

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
"""The textbook version: a row for each usage arc, two first columns for each tree, and pricing at the master's own duals."""
