"""Who stops where, and what was bought by then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.cost_items import CostItems
from prunemodels.evaluation.stages import first_stages_of_items
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation, evaluate_exit_path
from prunemodels.exits.prices import priced_stages
from prunemodels.exits.set_stages import SetStages

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Stops:
    """The rows of a sample by the stage at which a cascade stops them.

    Parameters
    ----------
    evaluation
        of all policies of the cascade's path on these rows.
    stage
        int64, shape (N,): where each row stops.
    cost
        float64, shape (N,): what it pays.
    loss
        float64, shape (N,): what it loses; None without labels.
    items
        the prices.
    bought
        bool, shape (M, N): what it has bought by then, of priced items.
    """

    evaluation: ExitPathEvaluation
    stage: NDArray[np.int64]
    cost: Floats
    loss: Floats | None
    items: CostItems
    bought: NDArray[np.bool_]

    @property
    def used(self) -> NDArray[np.int64]:
        """The stages at which rows stop, rising."""
        return np.unique(self.stage)

    def share(self) -> Floats:
        """Share of the rows that stop at each used stage."""
        return np.array([np.mean(self.stage == s) for s in self.used])

    def mean_cost(self) -> Floats:
        """What the rows that stop there pay on average."""
        return np.array([self.cost[self.stage == s].mean() for s in self.used])

    def error(self) -> Floats | None:
        """Share of wrong predictions among them, or their mean squared error."""
        return None if self.loss is None else np.array([self.loss[self.stage == s].mean() for s in self.used])

    def bought_by_then(self) -> Floats:
        """Share of them that have bought each item, shape (used stages, M)."""
        return np.array([self.bought[:, self.stage == s].mean(axis=1) for s in self.used])

    def to_frame(self) -> pd.DataFrame:
        """One row a used stage: share, cost, error, and the items that more than half of these rows have bought."""
        import pandas as pd

        usual = [[self.items.names[m] for m in np.flatnonzero(row > 0.5)] for row in self.bought_by_then()]
        columns = {"stage": self.used, "share": self.share(), "cost": self.mean_cost(), "error": self.error(), "bought": usual}
        return pd.DataFrame({name: column for name, column in columns.items() if column is not None})


def stops_of(cascade: Cascade, X: Any, y: Any = None) -> Stops:
    """Send rows through a fitted cascade, and see where they stop.

    Raises
    ------
    InvalidInputError
        for labels and columns that do not fit, and for stages that do not say what they read.
    """
    stages = priced_stages(cascade.stages_)
    seen = evaluate_exit_path(cascade, X, y)
    stage = seen.stages(cascade.policy_)
    if isinstance(stages, SetStages):
        bought = stages.bought()[stage].T & (stages.items.price > 0)[:, None]
    else:
        rows = cascade._rows(X)
        bought = first_stages_of_items(stages.ensemble, rows, stages.items, stages.first_stage, stages.n_stages) <= stage
    loss = None if y is None else seen.losses(cascade.policy_)
    return Stops(seen, stage, seen.costs(cascade.policy_), loss, stages.items, bought)
