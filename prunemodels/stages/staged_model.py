"""What predicts along stages: the stages, the policy that says when to stop, and the columns of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stages import Stages


@dataclass(frozen=True, eq=False)
class StagedModel:
    """A fitted cascade, as walks on demand see it."""

    stages: Stages
    policy: ExitPolicy
    names: Sequence[Any] | None  # of the columns; None where the model was trained without
    types: Sequence[str] | None  # the types of the columns of a table that is not cast to numbers; None: rows are numbers
    numeric: bool  # whether rows are cast to float32


@runtime_checkable
class HasStages(Protocol):
    """A model that predicts along stages, such as a fitted cascade."""

    def staged_model(self) -> StagedModel:
        """Its stages with their policy; raises NotFittedError before it was fitted."""
        ...
