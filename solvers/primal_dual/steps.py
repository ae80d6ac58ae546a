"""Step sizes along the subgradient.

    constant    gamma_k = c q                                                                       (1)
    sqrt        gamma_k = c q / sqrt(k)                                                             (2)
    polyak      gamma_k = theta (best value - L(beta_k)) / |d_k|^2,   0 < theta <= 2                (3)

q is the mean price lam p_j of a purchase, so that c has no unit; d_k is the direction, k = 1, 2, ... BP16 only speaks of a "step
size gamma". (3) is B. T. Polyak's (*Minimization of unsmooth functionals*, USSR Computational Mathematics and Mathematical
Physics 9, 1969), with the best known value in place of the unknown optimum. That value is too large. So theta is halved (this
rule is ours) whenever the best bound has risen by less than a ten-thousandth of the gap in each of `MOST_STALLED` iterations.
"""

from __future__ import annotations

import math
from typing import Literal

from formulations.errors import InvalidInputError

Rule = Literal["polyak", "constant", "sqrt"]

DEFAULT_SIZE: dict[Rule, float] = {"polyak": 0.6, "constant": 0.05, "sqrt": 1.0}
"""Default theta or c, chosen on the MiniBooNE instance. One theta was good for all lambdas there; no c was."""

MOST_STALLED = 20
"""Iterations without a better bound before theta is halved."""

LEAST_SIZE_SHARE = 1 / 64
"""theta never falls below this share of its first value, so that steps do not become too short to make progress."""


class Step:
    """One of the rules (1) to (3), with its state."""

    def __init__(self, rule: Rule, size: float | None, mean_price: float) -> None:
        size = DEFAULT_SIZE[rule] if size is None else size
        if not 0 < size < math.inf or (rule == "polyak" and size > 2):
            raise InvalidInputError(f"step_size is {size}; give a number > 0, for polyak at most 2")
        self.rule = rule
        self.size = size
        self.first_size = size
        self.mean_price = mean_price
        self._stalled = 0

    def record(self, rise: float, gap: float) -> None:
        """Record an iteration: by how much it raised the best bound, and the gap after it."""
        self._stalled = 0 if rise > 1e-4 * gap else self._stalled + 1
        if self.rule == "polyak" and self._stalled >= MOST_STALLED:
            self.size = max(self.size / 2, LEAST_SIZE_SHARE * self.first_size)
            self._stalled = 0

    def length(self, k: int, missing: float, norm: float) -> float:
        """gamma_k, where `missing` is the best value - L(beta_k) and `norm` is |d_k|^2; 0 if the direction is zero."""
        if norm == 0.0:
            return 0.0
        if self.rule == "polyak":
            return self.size * max(missing, 0.0) / norm
        return self.size * self.mean_price / (math.sqrt(k) if self.rule == "sqrt" else 1.0)
