"""What each stage of a cascade needs of a row, and what it says once it has it.

Models on nested sets need the features of their set. Stages along one forest go down the same trees: at stage s a split is passed
if it is kept there, so a walk with all other splits made leaves goes on from where stage s - 1 ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from prunemodels.estimators.samples import named
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.prices import evaluation_of, priced_stages
from prunemodels.exits.set_stages import SetStages
from prunemodels.exits.stages import StageOutput
from prunemodels.exits.tree_stages import TreeStages
from prunemodels.on_demand.orders import Orders, StageOrders
from prunemodels.on_demand.plan import Plan, Purchases, plan_of, purchases_of
from prunemodels.on_demand.steps import _advance, _ask_for_all

Table = NDArray[Any]
Rows = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Place:
    """Where rows stand in the trees; `StageSteps.advance` moves them.

    Parameters
    ----------
    node
        int32, shape (rows, T).
    steps
        int64, shape (rows,): price of the splits evaluated, in units.
    """

    node: NDArray[np.int32]
    steps: NDArray[np.int64]


class StageSteps(Protocol):
    """One kind of stages on demand."""

    @property
    def plan(self) -> Purchases:
        """What can be bought."""
        ...

    @property
    def orders(self) -> Orders:
        """How wishes become requests."""
        ...

    @property
    def guesses(self) -> bool:
        """Whether the first stage can say something without all of its features."""
        ...

    def start(self, n: int) -> Place:
        """Rows before the first stage."""
        ...

    def advance(self, s: int, rows: Rows, place: Place, cells: Table, status: NDArray[np.uint8]) -> None:
        """Move rows at stage s as far as the known features lead; again, it changes nothing."""
        ...

    def needs(self, s: int, rows: Rows, place: Place) -> NDArray[np.bool_]:
        """Bool, shape (rows, F): the features that rows at stage s need next; known ones among them do not matter."""
        ...

    def output(self, s: int, place: Place, cells: Table) -> StageOutput:
        """What stage s says of these rows."""
        ...

    def n_trees(self, stage: NDArray[np.int64]) -> NDArray[np.int64]:
        """Trees that take part in each of the stages."""
        ...


@dataclass(frozen=True, eq=False)
class SetSteps:
    """Models of their own.

    Parameters
    ----------
    stages
        the models.
    cascade
        whose columns the models read.
    plan
        what they read, together.
    names
        of all columns, where the models were trained with names.
    """

    stages: SetStages
    cascade: Cascade
    plan: Purchases
    names: NDArray[Any] | None
    guesses = False

    @property
    def orders(self) -> Orders:
        """A request a stage."""
        return StageOrders(self.plan.needs)

    def start(self, n: int) -> Place:
        """No trees."""
        return Place(np.zeros((n, 0), dtype=np.int32), np.zeros(n, dtype=np.int64))

    def advance(self, s: int, rows: Rows, place: Place, cells: Table, status: NDArray[np.uint8]) -> None:
        """There is nowhere to go."""

    def needs(self, s: int, rows: Rows, place: Place) -> NDArray[np.bool_]:
        """All features of the stage."""
        return np.tile(np.isin(self.plan.features, self.stages.features[s]), (rows.size, 1))

    def output(self, s: int, place: Place, cells: Table) -> StageOutput:
        """The stage's model, on rows whose other columns are empty."""
        rows = np.full((len(cells), self.stages.items.n_features), np.nan, dtype=cells.dtype)
        rows[:, self.plan.features] = cells
        return self.stages.output(s, named(_Names(self.names), rows))

    def n_trees(self, stage: NDArray[np.int64]) -> NDArray[np.int64]:
        """None."""
        return np.zeros(stage.shape, dtype=np.int64)


@dataclass(frozen=True)
class _Names:
    feature_names_in_: NDArray[Any] | None


@dataclass(frozen=True, eq=False)
class TreeSteps:
    """Stages along the trees of one model.

    Parameters
    ----------
    stages
        the trees.
    plan
        what the splits test that some stage in use keeps.
    """

    stages: TreeStages
    plan: Plan

    @property
    def guesses(self) -> bool:
        """A forest's nodes have answers of their own; those of boosted trees need not."""
        return self.stages.link == "mean"

    @property
    def orders(self) -> Orders:
        """Feature by feature, as in forests."""
        return Orders(self.plan.needs)

    def start(self, n: int) -> Place:
        """At the roots."""
        return Place(np.tile(self.stages.ensemble.roots.astype(np.int32), (n, 1)), np.zeros(n, dtype=np.int64))

    def advance(self, s: int, rows: Rows, place: Place, cells: Table, status: NDArray[np.uint8]) -> None:
        """Down the splits that stage s keeps."""
        _advance(rows, place.node, self._trees(s), cells, status, self.plan.step_units, place.steps)

    def needs(self, s: int, rows: Rows, place: Place) -> NDArray[np.bool_]:
        """What the splits test at which the rows stand."""
        unknown = np.zeros((rows.size, len(self.plan.names)), dtype=np.uint8)
        found, nobody = np.zeros(unknown.shape, dtype=bool), np.zeros(rows.size, dtype=bool)
        _ask_for_all(np.arange(rows.size), place.node[rows], self._trees(s), unknown, found, nobody)
        return found

    def _trees(self, s: int) -> tuple[NDArray[Any], ...]:
        """The trees of stage s: a split that it does not keep is a leaf."""
        e = self.stages.ensemble
        left = np.where(self.stages.first_stage <= s, e.left, -1).astype(e.left.dtype)
        return left, e.right, self.plan.column, e.threshold, e.missing_left

    def output(self, s: int, place: Place, cells: Table) -> StageOutput:
        """By the nodes that the rows came to."""
        return self.stages.output_at(s, place.node.T)

    def n_trees(self, stage: NDArray[np.int64]) -> NDArray[np.int64]:
        """Trees that have joined."""
        return np.searchsorted(np.sort(self.stages.joins), stage, side="right")


def steps_of(cascade: Cascade) -> StageSteps:
    """How to buy for a fitted cascade, up to the last stage that its policy lets a row come to.

    Raises
    ------
    InvalidInputError
        for stages that do not say what they read.
    CapacityOverflowError
        if the prices have no common unit small and large enough for 64-bit integers.
    """
    stages, last = priced_stages(cascade.stages_), cascade.policy_.last_stage
    if isinstance(stages, TreeStages):
        e = stages.ensemble
        return TreeSteps(stages, plan_of(e, stages.items, evaluation_of(stages), e.is_split & (stages.first_stage <= last)))
    columns = [features for features in stages.features[: last + 1] if features.size]
    features = np.unique(np.concatenate(columns)) if columns else np.zeros(0, dtype=np.int64)
    names = getattr(cascade, "feature_names_in_", stages.feature_names)
    dtype = np.float32 if cascade.numeric_ else np.float64
    width, told = stages.items.n_features, None if names is None else [str(name) for name in names]
    return SetSteps(stages, cascade, purchases_of(features, stages.items, width, told, stages.classes, dtype=dtype), names)
