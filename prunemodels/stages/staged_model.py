"""What predicts along stages: the stages, the policy that says when to stop, and the columns of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stacking import Stack
from prunemodels.stages.stages import Stages


@dataclass(frozen=True, eq=False)
class Chain:
    """A sequence of fitted stages; a cascade may have several, and its policy is one of one of them."""

    stages: Stages
    stack: Stack | None  # how stages use the outputs of earlier ones
    error: NDArray[np.float64]  # shape (S,): the held-out error of each stage, if all rows stop there


@dataclass(frozen=True, eq=False)
class StagedModel:
    """A fitted cascade, as walks on demand see it."""

    stages: Stages
    policy: ExitPolicy
    names: Sequence[Any] | None  # of the columns; None where the model was trained without
    types: Sequence[str] | None  # the types of the columns of a table that is not cast to numbers; None: rows are numbers
    numeric: bool  # whether rows are cast to float32
    chains: tuple[Chain, ...] = ()  # that of the policy, and the others; empty if nothing is known of held-out rows
    # shape (S,): what held-out rows that come to a stage pay on average by the policy; 0 where none comes.
    pays: NDArray[np.float64] | None = None


@runtime_checkable
class HasStages(Protocol):
    """A model that predicts along stages, such as a fitted cascade."""

    def staged_model(self) -> StagedModel:
        """Its stages with their policy; raises NotFittedError before it was fitted."""
        ...
