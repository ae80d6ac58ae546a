"""What pruning a boosted ensemble gives: one pruning, or a trade-off."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.problem import PruningProblem
from prunemodels.other_libraries.model_forest import ModelForest
from prunemodels.other_libraries.reading import write_model

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class BoostedPruning:
    """A pruning of an ensemble whose trees add up.

    Parameters
    ----------
    forest
        the model as it was read.
    problem
        its trees and prices on the sample; its errors are 0, the loss is not a sum over nodes.
    kept
        bool, shape (n,): the splits that stay.
    lam
        loss per unit of cost for which it was found.
    loss
        mean loss of the pruned ensemble on the sample, recomputed from its margins.
    cost
        mean cost of a prediction on the sample.
    stationary
        whether it was shown to be optimal for its own majoriser at `lam`; never that no pruning is better.
    stats
        seconds, pruning problems solved, prunings visited.
    """

    forest: ModelForest
    problem: PruningProblem
    kept: NDArray[np.bool_]
    lam: float
    loss: float
    cost: float
    stationary: bool
    stats: Mapping[str, float] = field(default_factory=dict)

    @property
    def n_splits(self) -> int:
        """Number of splits kept."""
        return int(self.kept.sum())

    def to_model(self) -> Any:
        """The pruned model, of the class of the one that was given: it predicts, saves and loads as any of its library."""
        return write_model(self.forest, self.kept)

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels, or numbers, without the library: those of `to_model`, up to the library's float32 sums."""
        return self.forest.predictions(self.forest.margins(self.forest.rows(X), self.kept))

    def __repr__(self) -> str:
        return f"BoostedPruning(cost={self.cost:.6g}, loss={self.loss:.6g}, {self.n_splits} splits)"


@dataclass(frozen=True, eq=False)
class BoostedPath:
    """A trade-off of loss and cost.

    Iterating gives the prunings by falling cost: for each lambda and budget the best that was found, but for those that another
    of them beats, or equals, in both loss and cost.

    Parameters
    ----------
    found
        the best pruning for each lambda, and within each budget that was asked for; lambda ascending.
    unpruned
        the model as it was.
    visited
        (cost, loss) of all prunings that the search went through.
    """

    found: tuple[BoostedPruning, ...]
    unpruned: BoostedPruning
    visited: tuple[tuple[float, float], ...]

    @cached_property
    def prunings(self) -> tuple[BoostedPruning, ...]:
        """Those that are not beaten, by falling cost and rising loss."""
        frontier: list[BoostedPruning] = []
        for pruning in sorted(self.found, key=lambda p: (p.cost, p.loss)):
            if not frontier or pruning.loss < frontier[-1].loss:
                frontier.append(pruning)
        return tuple(reversed(frontier))

    def __len__(self) -> int:
        return len(self.prunings)

    def __iter__(self) -> Iterator[BoostedPruning]:
        return iter(self.prunings)

    def __getitem__(self, k: int) -> BoostedPruning:
        return self.prunings[k]

    def at_cost(self, budget: float) -> BoostedPruning:
        """The lowest loss of these prunings at no more than the budget; `prune_boosted` with a budget looks for a better one.

        Raises
        ------
        InvalidInputError
            if the cheapest costs more.
        """
        affordable = [p for p in self.prunings if p.cost <= budget]
        if not affordable:
            raise InvalidInputError(
                f"the budget is {budget}, the cheapest pruning of this path costs {self.prunings[-1].cost:g}; "
                "raise it, or give boosted_path larger lams"
            )
        return affordable[0]

    def to_frame(self) -> pd.DataFrame:
        """One row a pruning: lam, cost, loss, splits, stationary."""
        import pandas as pd

        columns = ("lam", "cost", "loss", "n_splits", "stationary")
        frame = pd.DataFrame([[getattr(p, c) for c in columns] for p in self.prunings], columns=list(columns))
        return frame.rename(columns={"n_splits": "splits"})

    def __repr__(self) -> str:
        dearest, cheapest = self.prunings[0], self.prunings[-1]
        return f"BoostedPath({len(self)} prunings, cost {cheapest.cost:.6g} to {dearest.cost:.6g})"
