"""One data set in one split, with its prices, and what the methods of a data set share: all that a method is given."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.measuring import write_text
from formulations.instance.cost_items import CostItems


@dataclass(frozen=True)
class Memory:
    """Values that are computed once; kept in a folder, if there is one, a file for each."""

    folder: Path | None = None
    values: dict[str, Any] = field(default_factory=dict)

    def recall(self, name: str, compute: Callable[[], Any]) -> Any:
        """The value of that name, computed if it is not there yet; ``{"value": ..., "seconds": CPU seconds it took}``."""
        if name in self.values:
            return self.values[name]
        place = None if self.folder is None else self.folder / f"{name}.json"
        if place is not None and place.is_file():
            self.values[name] = json.loads(place.read_text())
            return self.values[name]
        start = time.process_time()
        value = compute()
        kept = {"value": value, "seconds": time.process_time() - start}
        if place is not None:
            write_text(place, json.dumps(kept) + "\n")
        self.values[name] = kept
        return kept


Task = Literal["classification", "regression"]


class Part(NamedTuple):
    X: NDArray[np.float32]
    y: NDArray[Any]

    @property
    def table(self) -> pd.DataFrame:
        """The rows with names for their columns: x0, x1, ..."""
        return pd.DataFrame(self.X).add_prefix("x")


@dataclass(frozen=True, eq=False)
class Problem:
    """A learning problem with prices: a data set in the split of a seed. Results on the test part are reported.

    Labels are 0, ..., n_classes - 1, or float64 and n_classes is 0. Budgets are mean costs of a prediction, rising. The memory
    keeps what several methods need: the settings found on the first seed, the order of elimination.
    """

    data: str
    seed: int
    task: Task
    n_classes: int
    train: Part
    valid: Part
    test: Part
    costs: CostItems
    budgets: tuple[float, ...]
    memory: Memory = field(default_factory=Memory)

    @property
    def n_features(self) -> int:
        return int(self.train.X.shape[1])

    @property
    def is_small(self) -> bool:
        """Whether there are fewer than 5,000 training rows, so that exact costs and dense grids are cheap."""
        return len(self.train.X) < 5000

    @cached_property
    def full_price(self) -> float:
        """What all features cost together."""
        return self.price_of(range(self.n_features))

    def price_of(self, features: Any) -> float:
        """What an example pays for these features, each item once."""
        items = sorted({m for f in features for m in self.costs.needs[int(f)]})
        return float(sum(self.costs.prices[m] for m in items))

    @cached_property
    def alone(self) -> NDArray[np.float64]:
        """What each feature costs if nothing else is bought, shape (n_features,)."""
        return np.array([self.price_of([f]) for f in range(self.n_features)])

    @cached_property
    def imputed(self) -> Problem:
        """The same problem with missing values replaced by medians of the training part."""
        if not any(np.isnan(part.X).any() for part in (self.train, self.valid, self.test)):
            return self
        middle = np.nan_to_num(np.nanmedian(self.train.X, axis=0))
        filled = [Part(np.where(np.isnan(X), middle, X).astype(np.float32), y) for X, y in (self.train, self.valid, self.test)]
        return replace(self, train=filled[0], valid=filled[1], test=filled[2])
