"""Check the stages that exits are learned from."""

from __future__ import annotations

from typing import Any

from formulations.errors import InvalidInputError
from prunemodels.exits.stages import Stages, StageTable, table_of


def exit_table(stages: Stages, X: Any) -> StageTable:
    """`table_of`, after checking that the stages are stages.

    Raises
    ------
    InvalidInputError
        for an object that is no `Stages`, or has no stage.
    """
    if not isinstance(stages, Stages):
        raise InvalidInputError(
            f"stages is a {type(stages).__name__}; give an object with n_stages, costs and output, see `Stages`"
        )
    if stages.n_stages < 1:
        raise InvalidInputError("there is no stage; give at least one")
    return table_of(stages, X)
