"""The result of predicting on demand: predictions, what was bought for them, and how final they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from prunemodels.on_demand.answers import Refused


@dataclass(frozen=True, eq=False)
class OnDemandResult:
    """Predictions of n rows by T trees, with their purchases.

    Parameters
    ----------
    rows
        the rows' labels.
    predictions
        shape (n,): labels (classification), or numbers.
    probabilities
        float64, shape (n, K), in the order of the forest's classes; None for regression. For rows that stopped early, or are not
        finished, an open tree counts with the value of the node that the row has reached.
    bought
        for each row the names of the items that it paid, in order. Items that are paid once for all rows are in `once`.
    once
        the items that were paid once for all rows, in order.
    units, unit
        what each row paid is ``units * unit``: int64 of shape (n,), and a fraction.
    once_cost
        the price of the items in `once`.
    finished
        bool, shape (n,): the row's prediction is final. All true, except in the result of a walk that was broken off, by a
        failure or by a limit on what all rows pay.
    stopped_early
        bool, shape (n,): the trees left open cannot change the predicted class (regression: by more than the tolerance).
    fell_back
        bool, shape (n,): a feature could not be had, and some tree answered with the node's own prediction.
    capped
        bool, shape (n,): the most that a row may pay kept some tree from being finished, and its answer is the value of the node
        that the row has reached.
    trees_finished
        int64, shape (n,): trees that were walked to a leaf, or to a feature that could not be had.
    rounds, requests
        rounds of requests, and requests in all; those that failed are counted too.
    refused
        the values that were delivered and that the model could not take, as (row, feature, why); they count as unavailable. Where
        the model of a cascade's stage refuses a row, ``"stage 2"`` stands in the place of the feature.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest
    >>> result = pm.OnDemandPredictor(forest, costs, pm.on_demand.from_table(X_test)).run(X_test.index[:3])
    >>> print(result.to_frame()[["prediction", "cost"]])
         prediction  cost
    400           0  17.0
    401           1  16.0
    402           1  16.0
    """

    rows: pd.Index[Any]
    predictions: NDArray[Any]
    probabilities: NDArray[np.float64] | None
    bought: tuple[tuple[str, ...], ...]
    once: tuple[str, ...]
    units: NDArray[np.int64]
    unit: Fraction
    once_cost: Fraction
    finished: NDArray[np.bool_]
    stopped_early: NDArray[np.bool_]
    fell_back: NDArray[np.bool_]
    capped: NDArray[np.bool_]
    trees_finished: NDArray[np.int64]
    rounds: int
    requests: int
    refused: tuple[Refused, ...] = field(default=(), kw_only=True)

    @cached_property
    def exact_cost(self) -> tuple[Fraction, ...]:
        """What each row paid, evaluation of splits included, as fractions."""
        return tuple(int(u) * self.unit for u in self.units)

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """float64, shape (n,): `exact_cost`, each correctly rounded."""
        amounts, place = np.unique(self.units, return_inverse=True)
        return np.array([float(int(u) * self.unit) for u in amounts], dtype=np.float64)[place]

    @cached_property
    def exact_mean_cost(self) -> Fraction:
        """Mean of the rows' costs, plus the full price of what is paid once for all.

        It is the cost that ``evaluate`` reports, except that ``evaluate`` also counts items paid once for all where no row
        reaches the splits that need them.
        """
        return sum(map(int, self.units)) * self.unit / len(self.units) + self.once_cost

    @property
    def mean_cost(self) -> float:
        """`exact_mean_cost` as a float."""
        return float(self.exact_mean_cost)

    def to_frame(self) -> pd.DataFrame:
        """One line for each row: prediction, cost, bought, and the flags."""
        columns = {
            "prediction": self.predictions,
            "cost": self.cost,
            "bought": list(self.bought),
            "finished": self.finished,
            "stopped_early": self.stopped_early,
            "fell_back": self.fell_back,
            "capped": self.capped,
            "trees_finished": self.trees_finished,
        }
        return pd.DataFrame(columns, index=self.rows)

    def __repr__(self) -> str:
        flags = {
            "stopped early": self.stopped_early,
            "fell back": self.fell_back,
            "capped": self.capped,
            "not finished": ~self.finished,
        }
        told = "".join(f", {int(flag.sum())} {name}" for name, flag in flags.items() if flag.any())
        told += f", {len(self.refused)} value{'s' * (len(self.refused) != 1)} refused" * bool(self.refused)
        return f"OnDemandResult({len(self.rows)} rows, mean cost {self.mean_cost:.6g}, {self.requests} requests{told})"


@dataclass(frozen=True, eq=False, repr=False)
class CascadeResult(OnDemandResult):
    """Predictions of n rows by a cascade, with their purchases; fields as `OnDemandResult`, where for a cascade

    * predictions are None (numbers: NaN), and probabilities NaN, where no stage has predicted: its features could not be had, or
      cost more than the cap, or the walk was broken off; `finished` is false there;
    * `stopped_early` says that the policy stopped the row before the last stage;
    * `fell_back` says that a feature of the next stage could not be had. Another fitted stage answered in its place
      (`substituted`), or the row stopped at the last stage that could predict; if there is none, a forest's trees answer by the
      nodes that the row came to;
    * `capped` says that the next stage would have cost more than the cap. What was bought on the way to it is paid;
    * `trees_finished` counts the trees of a row that some stage has predicted; 0 for models that are no trees.

    Parameters
    ----------
    stage
        int64, shape (n,): the stage whose answer is given, or in whose place another one answered; -1 where none has predicted.
    substituted
        bool, shape (n,): a feature of `stage` could not be had, and another fitted stage answered in its place.
    """

    stage: NDArray[np.int64]
    substituted: NDArray[np.bool_]

    def to_frame(self) -> pd.DataFrame:
        """One line for each row: prediction, cost, bought, stage, and the flags."""
        frame = super().to_frame().drop(columns="trees_finished")
        frame.insert(3, "stage", self.stage)
        return frame.assign(substituted=self.substituted)

    def __repr__(self) -> str:
        return super().__repr__().replace("OnDemandResult", "CascadeResult")
