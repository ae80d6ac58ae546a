"""Cost against error, one point for each setting of a method, in the same form for all methods.

A curve holds all that one method offers: the rows of a path, the stages of a learner, or a model for each value of a parameter.
Points are chosen on one sample and reported on another: `undominated` says which points to keep. Learners count prices while they
grow a model, and report what their predictions cost; those with stages report it after each, so one fit gives a whole curve.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.nested_prunings import SHOWN_ROWS, NestedPrunings
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import leaves_of
from formulations.shown import Brief, Card, Shown, spread
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.evaluation.path import evaluate_path
from prunemodels.models.boosting.boosted_pruning import BoostedPath
from prunemodels.models.costs import Costs
from prunemodels.models.labelled_samples import losses_of, prediction_losses
from prunemodels.models.tree_model import tree_model_of
from prunemodels.models.trees import pruned_ends

if TYPE_CHECKING:
    import pandas as pd


@runtime_checkable
class Learner(Protocol):
    """A fitted estimator that knows what its predictions cost."""

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels or numbers, shape (N,)."""
        ...

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        """What each row of X pays, shape (N,), in the unit of the prices; evaluation of splits included."""
        ...


@runtime_checkable
class StagedLearner(Learner, Protocol):
    """A learner whose first stages are models of their own."""

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """Predictions after each stage."""
        ...

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        """Mean cost of a prediction after each stage, shape (stages,), in the unit of the prices; never falls."""
        ...


LossFunction = Callable[[NDArray[Any], NDArray[Any]], float]


@dataclass(frozen=True, eq=False, repr=False)
class TradeoffCurve(Brief, Shown):
    """Points of one method; arrays have one entry a point, in the order of the method's parameter.

    Parameters
    ----------
    method
        the method's name, for legends and tables.
    parameter_name, parameter
        what varies along the curve: lambda, a number of stages, a threshold, ...
    cost
        mean cost of a prediction, in the unit of the prices.
    error
        share of wrong predictions, mean squared error, or the value of another loss: less is better.
    n
        number of examples.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, y_test
    >>> curve = pm.tradeoff_curve(path, X_test, y_test)
    >>> point = curve.best_within(12)  # the least error at a mean cost of at most 12
    >>> print(f"cost {curve.cost[point]:.2f}, error {curve.error[point]:.3f}")
    cost 11.04, error 0.077
    """

    method: str
    parameter_name: str
    parameter: NDArray[np.float64]
    cost: NDArray[np.float64]
    error: NDArray[np.float64]
    n: int

    def __post_init__(self) -> None:
        lengths = {len(self.parameter), len(self.cost), len(self.error)}
        if len(lengths) != 1:
            raise InvalidInputError(
                f"the curve has {len(self.parameter)} parameters, {len(self.cost)} costs, {len(self.error)} errors; "
                "give one of each a point"
            )

    def __len__(self) -> int:
        return len(self.cost)

    def to_frame(self) -> pd.DataFrame:
        """One row a point."""
        import pandas as pd

        return pd.DataFrame({self.parameter_name: self.parameter, "cost": self.cost, "error": self.error})

    def _card(self) -> Card:
        best = self.undominated()
        rows = best[spread(len(best), SHOWN_ROWS)]
        return Card(
            f"TradeoffCurve of {self.method}: {len(self):,} points on {self.n:,} examples, {len(best):,} of them undominated",
            tuple((f"{self.parameter[k]:.4g}", f"{self.cost[k]:.4g}", f"{self.error[k]:.4g}") for k in rows),
            (self.parameter_name, "cost per prediction", "error"),
        )

    def undominated(self) -> NDArray[np.int64]:
        """The undominated points, cheapest first: each has a smaller error than all points that cost as much or less."""
        order = np.lexsort((self.error, self.cost))
        least = np.minimum.accumulate(np.concatenate([[np.inf], self.error[order][:-1]]))
        return np.asarray(order[self.error[order] < least], dtype=np.int64)

    @checked
    def best_within(self, cost: float) -> int:
        """The point of least error among those that cost at most `cost`; of several the cheapest.

        Raises
        ------
        InvalidInputError
            if every point costs more.
        """
        points = self.undominated()
        affordable = points[self.cost[points] <= cost]
        if not affordable.size:
            raise InvalidInputError(f"cost is {cost}, the cheapest point of {self.method} costs {self.cost.min():g}")
        return int(affordable[-1])


@checked
def tradeoff_curve(
    source: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs | None = None,
    evaluation_cost: EvaluationCost = 0,
    sample_weight: ArrayLike | None = None,
    method: str | None = None,
    parameter_name: str = "parameter",
    loss: LossFunction | None = None,
) -> TradeoffCurve:
    """Cost and error, on given examples, of everything that a method offers.

    Parameters
    ----------
    source
        nested prunings (a path, or a baseline's), a `BoostedPath`, an exit path or a fitted cascade (the curve then has all
        policies of its path, at the price of one pass over the stages), a fitted learner with stages, a fitted model, or a
        mapping from a parameter to fitted learners or models.
    X, y
        examples and labels, preferably ones that played no part in training, pruning or choosing.
    costs, evaluation_cost
        prices for fitted models that do not know any, as in `evaluate`; all others have their own.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error. Learners with stages and a `loss` take none.
    method
        name for legends; default: the prunings' own, or the name of the learner's class.
    parameter_name
        name of the mapping's keys.
    loss
        ``loss(y, predictions)``, less is better, for learners and models; default: share of wrong labels, or mean squared error.
        Exit paths allow the default only, because their policies are optimal for it.

    Raises
    ------
    InvalidInputError
        for an empty mapping, models without prices, and data that do not fit.
    UnsupportedModelError, NotFittedForestError
        for models that `evaluate` refuses.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, y_test
    >>> curve = pm.tradeoff_curve(path, X_test, y_test)
    >>> point = curve.best_within(12)
    >>> print(f"cost {curve.cost[point]:.2f}, error {curve.error[point]:.3f}")
    cost 11.04, error 0.077
    """
    # sources that measure all of their points in one pass
    if isinstance(source, NestedPrunings):
        seen = evaluate_path(source, X, y, sample_weight=sample_weight)
        return TradeoffCurve(method or source.method, source.parameter_name, source.parameter, seen.cost, seen.error, seen.n)
    if isinstance(source, Cascade):
        if loss is not None:
            raise InvalidInputError(
                "loss is for learners only; leave it out: an exit path has the share of wrong labels, or the mean squared error"
            )
        policies = evaluate_exit_path(source, X, y, sample_weight=sample_weight)
        return TradeoffCurve(method or "exits", "lam", policies.path.lam, policies.cost, policies.error, policies.n)
    truth = np.asarray(y)
    if sample_weight is not None and (loss is not None or isinstance(source, StagedLearner)):
        what = "a learner with stages" if loss is None else "a loss of your own"
        raise InvalidInputError(f"sample_weight is given for {what}, which knows no weights; leave it out")
    if isinstance(source, BoostedPath):
        return _boosted_curve(source, X, y, sample_weight, method or "prune_boosted", loss)
    if isinstance(source, StagedLearner):
        judge = loss or default_loss(source)
        errors = np.array([judge(truth, predicted) for predicted in source.staged_predict(X)])
        stages = np.arange(1, len(errors) + 1, dtype=np.float64)
        return TradeoffCurve(method or type(source).__name__, "stages", stages, source.staged_cost(X), errors, len(truth))
    # models one by one
    models = source if isinstance(source, Mapping) else {0.0: source}
    if not models:
        raise InvalidInputError("source is an empty mapping; give at least one learner")
    values = np.array(list(models), dtype=np.float64)
    points = [_point(model, X, y, costs, evaluation_cost, sample_weight, loss) for model in models.values()]
    name = method or type(next(iter(models.values()))).__name__
    cost, error = np.array(points, dtype=np.float64).T
    return TradeoffCurve(name, parameter_name, values, cost, error, len(truth))


def _point(
    model: Any,
    X: Any,
    y: Any,
    costs: Costs | None,
    evaluation_cost: EvaluationCost,
    sample_weight: ArrayLike | None,
    loss: LossFunction | None,
) -> tuple[float, float]:
    """Cost and error of a learner at its own prices, or of a fitted model at the prices given."""
    if isinstance(model, Learner):
        paid, predicted = model.prediction_cost(X), model.predict(X)
        weights = check_weights(sample_weight, len(paid), "sample_weight", X)
        judge = loss or default_loss(model, weights)
        return float(np.average(paid, weights=weights)), judge(np.asarray(y), predicted)
    seen = evaluate(model, X, y, costs=costs, evaluation_cost=evaluation_cost, sample_weight=sample_weight)
    return seen.cost, seen.error if loss is None else loss(np.asarray(y), tree_model_of(model).predict(X))


def _boosted_curve(
    path: BoostedPath, X: Any, y: Any, sample_weight: ArrayLike | None, method: str, loss: LossFunction | None
) -> TradeoffCurve:
    """The curve of the prunings of a boosted model, from the cheapest to the dearest."""
    rows = path.unpruned.forest.rows(X)
    weights = check_weights(sample_weight, len(rows), "sample_weight", X)
    usage, leaves = path.unpruned.usage.on(rows, weights), leaves_of(path.unpruned.forest.ensemble, rows).T
    points = []
    for pruning in reversed(path.prunings):
        response = pruning.forest.response()
        predicted = response.predictions(response.sums(pruned_ends(pruning.forest.ensemble, pruning.kept)[leaves]))
        losses = losses_of(response.classes, predicted, y)
        error = float(np.average(losses, weights=weights)) if loss is None else loss(np.asarray(y), predicted)
        points.append((pruning.lam, usage.cost(pruning.kept), error))
    lam, cost, found = np.array(points, dtype=np.float64).T
    return TradeoffCurve(method, "lam", lam, cost, found, len(rows))


def default_loss(learner: Learner, weights: NDArray[np.float64] | None = None) -> LossFunction:
    """Share of wrong labels for classifiers, mean squared error for all other learners."""
    return lambda truth, predicted: float(np.average(prediction_losses(learner, predicted, truth), weights=weights))
