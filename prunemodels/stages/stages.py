"""Stages: models of which each buys more than the one before, and their outputs and costs row by row.

For every example i and every stage s,

    cost_{s,i} <= cost_{s+1,i}              what i has bought by stage s, it still has at stage s + 1                       (1)

so an example that goes on from s to s + 1 pays cost_{s+1,i} - cost_{s,i} >= 0 more, and nothing is paid twice.
Prunings along one forest's optimal path are such stages, and so are models trained for nested sets of items.

Prices that contradict those that stages were made with are refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from formulations.instance.ensemble import Task
from prunemodels.models.costs import Costs, column_prices

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class StageOutput:
    """The output of one stage for some rows."""

    value: NDArray[np.float64]  # shape (rows, K): probabilities of the K classes, or, with K = 1, the predicted number
    # shape (rows,): how far the stage's trees disagree, a standard deviation; 0 where a stage has no parts.
    spread: NDArray[np.float64]


@runtime_checkable
class Stages(Protocol):
    """Nested models. Rows are tables, arrays or CSR matrices with the columns that the models were trained on.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> stages = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0).stages_
    >>> stages.n_stages, stages.task
    (10, 'classification')
    """

    @property
    def n_stages(self) -> int:
        """S >= 1."""
        ...

    @property
    def task(self) -> Task:
        """Classification or regression."""
        ...

    @property
    def classes(self) -> NDArray[Any] | None:
        """The K labels in the order of the columns of `StageOutput.value`; None for regression."""
        ...

    @property
    def once(self) -> NDArray[np.float64]:
        """Shape (S,): the price of the items paid once for all examples that the stages up to s need together."""
        ...

    def costs(self, X: Any) -> NDArray[np.float64]:
        """What each row has bought by each stage, shape (S, N), obeying (1); items paid once for all are left out."""
        ...

    def output(self, s: int, X: Any) -> StageOutput:
        """The output of stage s for the rows of X."""
        ...


@runtime_checkable
class PricedStages(Stages, Protocol):
    """Stages that say what they read and what that costs: those of trees, and those of sets of columns."""

    @property
    def items(self) -> CostItems:
        """The prices of the items that features need."""
        ...

    @property
    def split_prices(self) -> tuple[Fraction, ...]:
        """The price of evaluating one split on each feature, exactly; 0 where stages are no trees."""
        ...

    @property
    def features(self) -> tuple[NDArray[np.int64], ...]:
        """For each stage the columns that its model reads; or the feature of each split that the stage is the first to keep."""
        ...

    @property
    def sources(self) -> Sequence[Sequence[int]]:
        """For each feature the columns of the rows that it is made from; itself where rows are read as they are."""
        ...

    @property
    def models(self) -> tuple[Any, ...] | None:
        """The model of each stage; None where all stages walk the same trees."""
        ...

    @property
    def n_columns(self) -> int:
        """Number of columns of the rows that the stages take."""
        ...

    @property
    def column_names(self) -> Sequence[str] | None:
        """Their names; None where the models were trained without."""
        ...

    @property
    def reads_raw_columns(self) -> bool:
        """Whether rows are those of a pipeline, which may hold more than numbers."""
        ...

    @property
    def described(self) -> str:
        """What the stages are, for a sentence that begins with their number."""
        ...

    def at_unit_prices(self) -> Self:
        """The same stages with a price of 1 for each feature, so that costs count features."""
        ...

    def first_bought(self, X: Any) -> NDArray[np.int64]:
        """Shape (M, N): the first stage by which a row has bought an item; S where it never does, and for items without price."""
        ...

    def n_splits(self, last: int) -> int:
        """Number of splits that the stages up to `last` keep; 0 where they are no trees."""
        ...


@dataclass(frozen=True, eq=False)
class StageTable:
    """Outputs and costs of all stages on the same N rows: the data from which policies are learned."""

    value: NDArray[np.float64]  # shape (S, N, K), see `StageOutput`
    spread: NDArray[np.float64]  # shape (S, N)
    cost: NDArray[np.float64]  # shape (S, N), see (1)
    once: NDArray[np.float64]  # shape (S,), see `Stages.once`

    def __post_init__(self) -> None:
        unpaid = np.argwhere(~(np.isfinite(self.cost) & (self.cost >= 0)))
        if unpaid.size:
            s, i = unpaid[0]
            raise InvalidInputError(f"row {i} has bought for {self.cost[s, i]:g} by stage {s}; give finite costs >= 0")
        remedy = "each stage must keep what the one before has bought"
        fallen = np.argwhere(np.diff(self.cost, axis=0) < -1e-9 * np.maximum(self.cost[1:], 1.0))
        if fallen.size:
            s, i = fallen[0]
            raise InvalidInputError(
                f"stages are not nested: row {i} has bought for {self.cost[s, i]:g} by stage {s} and for "
                f"{self.cost[s + 1, i]:g} by stage {s + 1}; {remedy}"
            )
        returned = np.flatnonzero(~(np.diff(self.once) >= 0))
        if returned.size:
            s = returned[0]
            raise InvalidInputError(
                f"stages are not nested: what is paid once is {self.once[s]:g} by stage {s} and {self.once[s + 1]:g} by stage "
                f"{s + 1}; {remedy}"
            )
        bad = np.argwhere(~np.isfinite(self.value))
        if bad.size:
            raise InvalidInputError(
                f"stage {bad[0, 0]} predicts {self.value[tuple(bad[0])]} for row {bad[0, 1]}; give finite numbers"
            )

    @property
    def n_stages(self) -> int:
        """S."""
        return int(self.value.shape[0])

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.value.shape[1])

    def take(self, rows: NDArray[np.int64]) -> StageTable:
        """Some of the rows."""
        return StageTable(self.value[:, rows], self.spread[:, rows], self.cost[:, rows], self.once)


def table_of(stages: Stages, X: Any) -> StageTable:
    """The outputs and costs of all stages on the rows of X."""
    if not isinstance(stages, Stages):
        raise InvalidInputError(
            f"stages is a {type(stages).__name__}; give an object with n_stages, costs and output, see `Stages`"
        )
    if stages.n_stages < 1:
        raise InvalidInputError("there is no stage; give at least one")
    outputs = [stages.output(s, X) for s in range(stages.n_stages)]
    value, spread = (np.stack([getattr(output, name) for output in outputs]) for name in ("value", "spread"))
    return StageTable(value, spread, stages.costs(X), stages.once)


def priced_stages(stages: Stages) -> PricedStages:
    """The stages, if they tell what they read and what that costs."""
    if not isinstance(stages, PricedStages):
        raise InvalidInputError(
            f"the stages are {type(stages).__name__}, which do not say what they read; give a cascade of named stages, or of "
            "prunings of one forest"
        )
    return stages


def check_same_prices(stages: Stages, names: Sequence[str] | None, costs: Costs | None, evaluation_cost: Any = None) -> None:
    """Refuse prices that contradict those that the stages and their policy were made with.

    `names`: of the columns that have prices. `costs`, `evaluation_cost`: as in `problem_from_forest`; None: not given.
    """
    own = priced_stages(stages)
    if costs is not None:
        items = by_column(own.items)
        given_items = by_column(costs) if isinstance(costs, CostItems) else costs
        _check_items(items, column_prices(given_items, items.n_features, names)[0], names)
    if evaluation_cost is None or (np.ndim(evaluation_cost) == 0 and evaluation_cost == 0):
        return
    names = names if own.items.columns is None else None  # splits are on features, which are made from these columns
    given = column_prices(1, own.items.n_features, names, evaluation_cost=evaluation_cost)[1]
    for f, (a, b) in enumerate(zip(given.tolist(), own.split_prices, strict=True)):
        if a != float(b):
            raise InvalidInputError(
                f"evaluation_cost is {a:g} for {_name(f, names)}, the cascade was made with {float(b):g}; leave it out: the "
                "cascade knows its prices"
            )


def by_column(items: CostItems) -> CostItems:
    """The prices of raw columns, for prices of features that are made from these; other prices as they are."""
    return items if items.columns is None else replace(items, needs=items.columns, columns=None)


def _check_items(own: CostItems, given: CostItems, names: Sequence[str] | None) -> None:
    for f in range(own.n_features):
        ours, theirs = (
            {(items.names[m], items.prices[m], bool(items.paid_once[m])) for m in items.needs[f] if items.prices[m]}
            for items in (own, given)
        )
        if ours != theirs:
            raise InvalidInputError(
                f"costs: {_name(f, names)} needs {_listed(theirs)}, the cascade was made with {_listed(ours)}; leave costs out: "
                "the cascade knows its prices. For other prices make another cascade"
            )


def _listed(items: set[tuple[str, Fraction, bool]]) -> str:
    return ", ".join(f"{name!r} at {float(price):g}{' once' * once}" for name, price, once in sorted(items)) or "nothing paid"


def _name(f: int, names: Sequence[str] | None) -> str:
    return repr(f"x{f}" if names is None else str(names[f]))
