"""The settings of boosting that both engines understand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from formulations.arguments import Count, Finite, Positive, Range

Growth = Literal["best", "breadth"]
Engine = Literal["lightgbm", "own"]


@dataclass(frozen=True)
class Settings:
    """How trees are grown, and what each setting has to be; see `CEGBClassifier`.

    The largest number of leaves is LightGBM's; bins are numbered with 16 bits.
    """

    lam: Finite
    n_estimators: Count
    learning_rate: Positive
    num_leaves: Annotated[int, Range(2, 131_072)]
    max_depth: Count | None
    min_child_samples: Count
    min_child_weight: Finite
    reg_lambda: Finite
    max_bin: Annotated[int, Range(2, 65_000)]
    growth: Growth
    engine: Engine

    @property
    def order_matters(self) -> bool:
        """Whether the limit on leaves can stop a tree, so that it matters which leaf is split first."""
        return self.max_depth is None or 2**self.max_depth > self.num_leaves

    @property
    def single_split(self) -> bool:
        """Whether trees have at most one split."""
        return self.num_leaves == 2 or self.max_depth == 1
