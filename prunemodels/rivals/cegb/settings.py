"""Check the settings of boosting that both engines understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from formulations.arguments import Count, Finite, Positive, Range, check_arguments

Growth = Literal["best", "breadth"]
Engine = Literal["lightgbm", "own"]

NUMBERS = (Finite, Positive)

SETTINGS: dict[str, Any] = {
    "lam": Finite,
    "n_estimators": Count,
    "learning_rate": Positive,
    "num_leaves": Annotated[int, Range(2, 131_072)],
    "max_depth": Count | None,
    "min_child_samples": Count,
    "min_child_weight": Finite,
    "reg_lambda": Finite,
    "max_bin": Annotated[int, Range(2, 65_000)],
    "growth": Growth,
}
"""What each setting has to be. The largest number of leaves is LightGBM's; bins are numbered with 16 bits."""


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
        check_arguments(estimator, SETTINGS)
        given: dict[str, Any] = {name: getattr(estimator, name) for name in SETTINGS}
        numbers = {name: float(value) for name, value in given.items() if SETTINGS[name] in NUMBERS}
        return cls(**given | numbers)

    @property
    def order_matters(self) -> bool:
        """Whether the limit on leaves can stop a tree, so that it matters which leaf is split first."""
        return self.max_depth is None or 2**self.max_depth > self.num_leaves

    @property
    def single_split(self) -> bool:
        """Whether trees have at most one split."""
        return self.num_leaves == 2 or self.max_depth == 1
