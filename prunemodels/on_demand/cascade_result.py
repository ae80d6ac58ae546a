"""The result of predicting with a cascade on demand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.result import OnDemandResult


@dataclass(frozen=True, eq=False, repr=False)
class CascadeResult(OnDemandResult):
    """Predictions of n rows by a cascade, with their purchases; fields as `OnDemandResult`, where for a cascade

    * predictions are None (numbers: NaN), and probabilities NaN, where no stage has predicted: its features could not be had, or
      cost more than the cap, or the walk was broken off; `finished` is false there;
    * `stopped_early` says that the policy stopped the row before the last stage;
    * `fell_back` says that a feature of the next stage could not be had. The row stopped at the last stage that could predict;
      if there is none, a forest's trees answer by the nodes that the row came to;
    * `capped` says that the next stage would have cost more than the cap. What was bought on the way to it is paid;
    * `trees_finished` counts the trees that take part in the stage at which the row stopped; 0 for models that are no trees.

    Parameters
    ----------
    stage
        int64, shape (n,): the stage whose answer is given, -1 where none has predicted.
    """

    stage: NDArray[np.int64]

    def to_frame(self) -> pd.DataFrame:
        """One line for each row: prediction, cost, bought, stage, and the flags."""
        frame = super().to_frame().drop(columns="trees_finished")
        frame.insert(3, "stage", self.stage)
        return frame

    def __repr__(self) -> str:
        return super().__repr__().replace("OnDemandResult", "CascadeResult")
