"""Check the settings of boosting that both engines understand."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from formulations.errors import InvalidInputError

Growth = Literal["best", "breadth"]
Engine = Literal["lightgbm", "own"]

UPPER_LIMITS = {"num_leaves": 131_072, "max_bin": 65_000}
"""LightGBM's limit of leaves; bins are numbered with 16 bits."""


@dataclass(frozen=True)
class Settings:
    """How trees are grown; see `CEGBClassifier`. ``max_depth`` is None if depth is not limited."""

    lam: float
    n_estimators: int
    learning_rate: float
    num_leaves: int
    max_depth: int | None
    min_child_samples: int
    min_child_weight: float
    reg_lambda: float
    max_bin: int
    growth: Growth

    @classmethod
    def of(cls, estimator: Any) -> Settings:
        """The settings of an estimator.

        Raises
        ------
        InvalidInputError
            naming the first parameter that is out of its range.
        """
        lower_limits = {"n_estimators": 1, "num_leaves": 2, "min_child_samples": 1, "max_bin": 2}
        real = ("lam", "learning_rate", "min_child_weight", "reg_lambda")
        depth = estimator.max_depth if estimator.max_depth is None else _integer(estimator.max_depth, "max_depth", 1)
        counts: dict[str, Any] = {name: _integer(getattr(estimator, name), name, least) for name, least in lower_limits.items()}
        numbers: dict[str, Any] = {name: _real(getattr(estimator, name), name) for name in real}
        if estimator.growth not in ("best", "breadth"):
            raise InvalidInputError(f"growth is {estimator.growth!r}; give 'best' or 'breadth'")
        if estimator.learning_rate == 0:
            raise InvalidInputError("learning_rate is 0: no tree would change a prediction; give a number > 0")
        for name, most in UPPER_LIMITS.items():
            if counts[name] > most:
                raise InvalidInputError(f"{name} is {counts[name]}; give at most {most}")
        return cls(max_depth=depth, growth=estimator.growth, **counts, **numbers)

    @property
    def order_matters(self) -> bool:
        """Whether the limit on leaves can stop a tree, so that it matters which leaf is split first."""
        return self.max_depth is None or 2**self.max_depth > self.num_leaves

    @property
    def single_split(self) -> bool:
        """Whether trees have at most one split."""
        return self.num_leaves == 2 or self.max_depth == 1


def _integer(value: object, name: str, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InvalidInputError(f"{name} is {value!r}; give a whole number >= {least}")
    return int(value)


def _real(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 <= float(value) < math.inf:
        raise InvalidInputError(f"{name} is {value!r}; give a finite number >= 0")
    return float(value)
