"""Stages that walk the same trees deeper, or more trees: prunings of one forest, its first trees, rounds of boosting.

    split h is kept from stage first_stage_h on,      first_stage_h >= first_stage of its parent                          (1)
    forest:    value_s(x) = mean over the trees that take part in stage s of the fractions (or the mean) at x's leaf
    boosting:  value_s(x) = link( base + sum over these trees of x's leaf values )                                          (2)

By (1) what a row buys for stage s is among what it buys for stage s + 1. The links are those of the boosted models, whose own
probabilities, or numbers, a stage gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from formulations.answers.nested_prunings import NestedPrunings
from formulations.arguments import checked
from formulations.errors import InvalidInputError, NotFittedForestError, UnsupportedModelError
from formulations.instance.cost_items import CostItems, EvaluationCost, Price
from formulations.instance.cost_sample import evaluation_prices
from formulations.instance.ensemble import Ensemble, Task
from formulations.instance.routing import features_of, leaves_of
from prunemodels.exits.stages import StageOutput
from prunemodels.models.costs import Costs, cost_items, staged_example_costs
from prunemodels.models.forests.reading import GRADIENT_BOOSTING, check_columns
from prunemodels.models.libraries.model_forest import ModelForest, pruned_ends
from prunemodels.models.libraries.sklearn_models import trees_of_any_loss
from prunemodels.models.losses import SQUARED_ERROR

Link = Literal["mean", "identity", "sigmoid", "softmax", "clipped"]


@dataclass(frozen=True, eq=False)
class TreeStages:
    """Trees with (1) and (2), as `Stages`."""

    ensemble: Ensemble
    # items, evaluation: prices, see `PruningProblem`.
    items: CostItems
    evaluation: tuple[Price, ...]
    # shape (n,): the first stage at which a split is kept; S for leaves and for splits that no stage keeps.
    first_stage: NDArray[np.int32]
    joins: NDArray[np.int32]  # shape (T,): the first stage in which a tree takes part
    n_stages: int
    # ``"mean"`` for forests; for boosting, how sums become numbers or probabilities; ``"clipped"``: limited to 0 and 1.
    link: Link = "mean"
    base: NDArray[np.float64] | None = None  # shape (outputs,): where sums start; for boosting only
    output_of: NDArray[np.int32] | None = None  # shape (T,): which output a tree adds to; for boosting only

    def __post_init__(self) -> None:
        e = self.ensemble
        early = np.flatnonzero(e.is_split & (e.parent >= 0) & (self.first_stage < self.first_stage[e.parent]))
        if early.size:
            h = int(early[0])
            raise InvalidInputError(
                f"stages are not nested: split {h} is kept from stage {self.first_stage[h]} on, its parent from stage "
                f"{self.first_stage[e.parent[h]]} on; a split needs its parent"
            )
        if self.link == "mean" and (self.joins > 0).all():
            raise InvalidInputError("no tree takes part in the first stage; give it at least one")

    def __repr__(self) -> str:
        return f"TreeStages({self.n_stages} stages, {self.ensemble.n_trees} trees)"

    @property
    def task(self) -> Task:
        """See `Stages`."""
        return self.ensemble.task

    @property
    def classes(self) -> NDArray[Any] | None:
        """See `Stages`."""
        return self.ensemble.classes

    @property
    def split_prices(self) -> tuple[Fraction, ...]:
        """The price of evaluating one split on each feature, exactly."""
        return evaluation_prices(list(self.evaluation), self.ensemble)

    @property
    def once(self) -> NDArray[np.float64]:
        """See `Stages`."""
        if not self.items.paid_once.any():
            return np.zeros(self.n_stages)
        price, split = np.where(self.items.paid_once, self.items.price, 0.0), self.ensemble.is_split
        tested = [np.unique(self.ensemble.feature[split & (self.first_stage <= s)]).tolist() for s in range(self.n_stages)]
        return np.array([price[self.items.needs_of(features).any(axis=0)].sum() for features in tested])

    def costs(self, X: Any) -> NDArray[np.float64]:
        """See `Stages`."""
        check_columns(X, self.ensemble.names_to_check)
        return staged_example_costs(
            self.ensemble, X, self.items, self.first_stage, self.n_stages, evaluation_cost=list(self.evaluation)
        )

    def output(self, s: int, X: Any) -> StageOutput:
        """See `Stages`."""
        e = self.ensemble
        check_columns(X, e.names_to_check)
        rows = features_of(e, X)
        return self.output_at(s, pruned_ends(e, self.first_stage <= s)[leaves_of(e, rows)])

    def output_at(self, s: int, leaves: NDArray[np.int32]) -> StageOutput:
        """The output of stage s for rows that end at these nodes, shape (T, rows)."""
        trees = np.flatnonzero(self.joins <= s)
        return self._mean(leaves, trees) if self.link == "mean" else self._sum(leaves, trees)

    def _mean(self, leaves: NDArray[np.int32], trees: NDArray[np.int64]) -> StageOutput:
        """A forest's mean, and the standard deviation of its trees: of the class that the mean favours, or of the number."""
        value = self.ensemble.value
        total = np.zeros((leaves.shape[1], value.shape[1]))
        squares = np.zeros_like(total)
        for t in trees:
            one = value[leaves[t]]
            total += one
            squares += one**2
        mean = total / trees.size
        favoured = mean.argmax(axis=1)[:, None]
        variance = np.take_along_axis(squares / trees.size - mean**2, favoured, axis=1)[:, 0]
        return StageOutput(mean, np.sqrt(np.maximum(variance, 0.0)))

    def _sum(self, leaves: NDArray[np.int32], trees: NDArray[np.int64]) -> StageOutput:
        assert self.base is not None
        assert self.output_of is not None
        margins = np.tile(self.base, (leaves.shape[1], 1))
        for t in trees:
            margins[:, self.output_of[t]] += self.ensemble.value[leaves[t], 0]
        return StageOutput(_linked(margins, self.link), np.zeros(len(margins)))


def _linked(margins: NDArray[np.float64], link: Link) -> NDArray[np.float64]:
    if link == "sigmoid":
        return np.column_stack([expit(-margins[:, 0]), expit(margins[:, 0])])
    if link == "clipped":
        return SQUARED_ERROR.probabilities(margins)
    return np.asarray(softmax(margins, axis=1)) if link == "softmax" else margins


def prunings_as_stages(prunings: NestedPrunings, kept_from: Sequence[NDArray[np.bool_]]) -> TreeStages:
    """Nested prunings of one forest, the cheapest first.

    `prunings`: whose instance has the trees and the prices. `kept_from`: the splits kept at each stage, each a superset of those
    of the stage before.
    """
    problem = prunings.problem
    e = problem.ensemble
    first = np.full(e.n_nodes, len(kept_from), dtype=np.int32)
    for s in range(len(kept_from) - 1, -1, -1):
        later = kept_from[s + 1] if s + 1 < len(kept_from) else e.is_split
        lost = np.flatnonzero(kept_from[s] & ~later)
        if lost.size:
            raise InvalidInputError(f"stages are not nested: split {lost[0]} is kept at stage {s} and not at stage {s + 1}")
        first[kept_from[s]] = s
    joins = np.zeros(e.n_trees, dtype=np.int32)
    return TreeStages(e, problem.costs, problem.evaluation, first, joins, len(kept_from))


@checked
def trees_as_stages(ensemble: Ensemble, costs: Costs, trees: Sequence[int], *, evaluation_cost: EvaluationCost = 0) -> TreeStages:
    """The trees of a forest, in their order, as stages: each stage averages the first trees, and later stages have more.

    Parameters
    ----------
    ensemble
        the trees, from `prunemodels.read_forest`.
    costs
        prices: one number, one a column, by name, a table, or `CostItems`, see `prunemodels.models.costs.cost_items`.
    trees
        the number of trees of each stage, rising.
    evaluation_cost
        price of evaluating one split, one for all features or one for each.

    Raises
    ------
    InvalidInputError
        if the numbers do not rise from 1 on, or exceed the number of trees.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, costs, forest, y_valid
    >>> stages = pm.exits.trees_as_stages(pm.read_forest(forest), costs, [2, 4, 8])
    >>> cascade = pm.CascadeClassifier(stages, budget=14, random_state=0).fit(X_valid, y_valid)
    >>> cascade.stop_stages(X_test[:6])
    array([0, 0, 0, 0, 0, 0])
    """
    joins, n_stages = _joins(trees, "trees", 1, np.arange(ensemble.n_trees))
    return _whole_trees(ensemble, costs, joins, n_stages, evaluation_cost)


def _joins(given: Sequence[int], name: str, least: int, part_of: NDArray[np.int64]) -> tuple[NDArray[np.int32], int]:
    """The stage in which each tree joins, if each stage has so many parts of the model; and the number of stages."""
    counts, last = np.asarray(given, dtype=np.int64), int(part_of.max(initial=-1)) + 1
    if not counts.size or counts[0] < least or (np.diff(counts) <= 0).any() or counts[-1] > last:
        raise InvalidInputError(f"{name} is {list(given)}; give rising numbers from {least} to {last}")
    return np.searchsorted(counts, part_of, side="right").astype(np.int32), counts.size


def _whole_trees(
    ensemble: Ensemble, costs: Costs, joins: NDArray[np.int32], n_stages: int, evaluation_cost: EvaluationCost, **more: Any
) -> TreeStages:
    """Unpruned trees, which are walked to their leaves from the stage on in which they join."""
    items = cost_items(costs, ensemble)
    first = np.where(ensemble.is_split, joins[ensemble.tree_of], n_stages).astype(np.int32)
    prices = tuple(evaluation_cost) if np.ndim(evaluation_cost) else (evaluation_cost,) * ensemble.n_features  # type: ignore[arg-type]
    return TreeStages(ensemble, items, prices, first, joins, n_stages, **more)  # type: ignore[arg-type]


SUPPORTED = "CEGBClassifier, CEGBRegressor, GreedyMiserClassifier, GreedyMiserRegressor, GradientBoostingClassifier/Regressor"


@checked
def staged_model(
    model: Any, rounds: Sequence[int], *, costs: Costs | None = None, evaluation_cost: EvaluationCost | None = None
) -> TreeStages:
    """The first rounds of a fitted boosted model as stages.

    Parameters
    ----------
    model
        CEGBClassifier, CEGBRegressor, GreedyMiserClassifier, GreedyMiserRegressor, or scikit-learn's GradientBoostingClassifier
        or GradientBoostingRegressor that starts from a constant.
    rounds
        how many rounds each stage has, rising; 0 is the constant that boosting starts from, and costs nothing.
    costs, evaluation_cost
        as in `problem_from_forest`. Default: those that the model was given; for scikit-learn's 1 for each feature, and 0.

    Returns
    -------
    TreeStages
        for `CascadeClassifier` or `CascadeRegressor`.

    Raises
    ------
    UnsupportedModelError
        for any other model, naming its class.
    NotFittedForestError
        if it was not fitted.
    InvalidInputError
        for rounds that do not rise or that the model does not have, and for prices that do not fit.

    Examples
    --------
    >>> from sklearn.ensemble import GradientBoostingClassifier
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_train, X_valid, costs, y_test, y_train, y_valid
    >>> model = GradientBoostingClassifier(n_estimators=20, max_depth=2, random_state=0).fit(X_train, y_train)
    >>> stages = pm.exits.staged_model(model, [2, 20], costs=costs)
    >>> cascade = pm.CascadeClassifier(stages, budget=8, random_state=0).fit(X_valid, y_valid)
    >>> print(f"cost {cascade.prediction_cost(X_test).mean():.2f}, error {1 - cascade.score(X_test, y_test):.3f}")
    cost 8.64, error 0.053
    """
    trees, round_of, sums = _rounds_of(model)
    classes = getattr(model, "classes_", None)
    trees = replace(trees, task=trees.task if classes is None else "classification", classes=classes)
    prices = getattr(model, "costs", None) if costs is None else costs
    a = getattr(model, "evaluation_cost", 0) if evaluation_cost is None else evaluation_cost
    joins, n_stages = _joins(rounds, "rounds", 0, round_of)
    return _whole_trees(trees, 1 if prices is None else prices, joins, n_stages, a, **sums)


Rounds = tuple[Ensemble, NDArray[np.int64], dict[str, Any]]
"""The trees of a boosted model, the round that grew each, from 0 on, and how their values become numbers: see `TreeStages`."""


def _rounds_of(model: Any) -> Rounds:
    from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor  # here, since few cascades need the rivals
    from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor

    kinds = {
        "forest_": ((CEGBClassifier, CEGBRegressor), lambda: _of_forest(model.forest_)),
        "ensemble_": ((GreedyMiserClassifier, GreedyMiserRegressor), lambda: _of_greedy_miser(model)),
        "estimators_": (GRADIENT_BOOSTING, lambda: _of_forest(trees_of_any_loss(model))),
    }
    for fitted, (classes, read) in kinds.items():
        if isinstance(model, classes):
            if not hasattr(model, fitted):
                raise NotFittedForestError.of(model)
            return read()
    raise UnsupportedModelError(f"{type(model).__name__} has no rounds that can be stages; what has: {SUPPORTED}")


def _of_forest(forest: ModelForest) -> Rounds:
    """Margins times their sharpness, so that links need none."""
    round_of = np.arange(forest.ensemble.n_trees) // forest.n_outputs
    trees = replace(forest.ensemble, value=forest.sharpness * forest.ensemble.value)
    return trees, round_of, {"output_of": forest.output, "base": forest.sharpness * forest.base, "link": forest.link}


def _of_greedy_miser(model: Any) -> Rounds:
    link: Link = "identity"
    if hasattr(model, "classes_"):
        link = "clipped" if model.loss == "squared_error" else "sigmoid" if len(model.baseline_) == 1 else "softmax"
    sums = {"output_of": model.output_of_tree_, "base": model.baseline_, "link": link}
    return model.ensemble_, model.stage_of_tree_.astype(np.int64), sums
