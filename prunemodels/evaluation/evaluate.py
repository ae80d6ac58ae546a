"""Cost and error of a model of trees, pruned or not, or of a cascade, on labelled examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from formulations.arguments import Column, checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.bill import Bill
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.limit import Limit
from formulations.instance.tree_loss import ERROR_RATE, usual_loss
from formulations.shown import Card, Shown, error_name, rate
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.evaluation.blocks import LabelledRows, each_block, in_chunks, joined_weights
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import tree_model_of
from prunemodels.stages.prices import check_same_prices
from prunemodels.stages.stages import PricedStages
from prunemodels.statements.limit_uses import LimitUse, limit_uses, use_in_words
from prunemodels.statements.mean_bounds import Effective, effective_rows

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evaluation(Shown, Effective):
    """Cost and accuracy of a forest or a cascade on labelled examples.

    Parameters
    ----------
    cost
        mean cost of a prediction per example, in the unit of the prices; the evaluation of splits is included.
    features
        mean number of distinct features that a prediction needs; NaN for stages that do not say which features they read.
    error
        of the model's own ``predict``, in terms of `measure`.
    splits
        number of splits in all trees. For a cascade: of splits that a stage in use keeps; 0 if its stages are not trees.
    n, n_effective
        number of examples of positive weight, and how many of equal weight they are worth; see `MeanInterval`.
    task
        ``"classification"`` or ``"regression"``.
    measure
        what `error` is: the share of wrong predictions (``"error rate"``); of numbers the ``"mean squared error"``, or for a
        forest grown by another criterion the ``"mean absolute error"`` or ``"mean Poisson deviance"``.
    loss
        of models whose trees add up: the mean loss of their margins, log loss or squared error; NaN for all others.
    uses
        what predictions use of each limit that was asked about, with intervals.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest, y_test
    >>> seen = pm.evaluate(forest, X_test, y_test, costs=costs)
    >>> print(f"cost {seen.cost:.2f}, error {seen.error:.3f}, {seen.splits} splits, {seen.n} examples")
    cost 16.45, error 0.053, 84 splits, 169 examples
    """

    cost: float
    features: float
    error: float
    splits: int
    n: int
    n_effective: float = field(repr=False)
    task: str = field(default="classification", repr=False)
    measure: str = field(default=ERROR_RATE, repr=False)
    loss: float = field(default=np.nan, repr=False)
    uses: tuple[LimitUse, ...] = field(default=(), repr=False)

    def _card(self) -> Card:
        rows = (
            ("cost per prediction", f"{self.cost:.4g}"),
            ("features per prediction", "unknown" if np.isnan(self.features) else f"{self.features:.3g}"),
            (error_name(self.measure), rate(self.error, self.measure, 2)),
            *(() if np.isnan(self.loss) or self.task == "regression" else (("log loss", f"{self.loss:.3g}"),)),
            ("splits", f"{self.splits:,}"),
        )
        notes = (*(use_in_words(use) for use in self.uses), *self.warnings)
        return Card(f"Evaluation on {self.n:,} examples", rows, notes=notes)


@checked
def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs | None = None,
    evaluation_cost: EvaluationCost = 0,
    sample_weight: Column = None,
    limits: Sequence[Limit] = (),
) -> Evaluation:
    """Predict X with a model of trees or a cascade, and count the cost of the predictions.

    Parameters
    ----------
    model
        a fitted forest, e.g. one that `apply_pruning` returned; one of our own estimators; a boosted model or one of another
        library, see `read_model`; one of these in scikit-learn's calibrated or thresholded classifiers; or a fitted cascade.
    X, y
        examples and labels, preferably ones that played no part in training or pruning. Each label must be one that the model was
        trained on; targets of a regression must be finite. For a forest of scikit-learn X may be a table that is larger than
        memory, a file or a `ChunkedTable`; then y and `sample_weight` are names of columns, or arrays with one entry a row.
    costs, evaluation_cost
        as in `problem_from_forest`. Default: those that the forest was pruned with. A cascade knows its own prices: different
        ones are refused.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error.
    limits
        `Limit` objects: the answer says what predictions use of each, with a 95 % interval. A limit's rows are rows of X.

    Raises
    ------
    InvalidInputError, UnsupportedModelError, NotFittedForestError
        as `problem_from_forest`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, costs, forest, y_test
    >>> seen = pm.evaluate(forest, X_test, y_test, costs=costs)
    >>> print(f"cost {seen.cost:.2f}, {seen.features:.1f} features, error {seen.error:.3f}")
    cost 16.45, 8.4 features, error 0.053
    """
    if isinstance(model, Cascade):
        if limits:
            raise InvalidInputError(
                "limits are about items that splits ask for; a cascade's stages may be any models: take its exits' figures, or "
                "evaluate the models of its stages one by one"
            )
        return evaluate_cascade(model, X, y, costs, evaluation_cost, sample_weight)
    trees = tree_model_of(model)
    if trees.forest is not None and in_chunks(X):
        raise UnsupportedModelError(
            "tables in chunks are read for forests of scikit-learn; give other models their rows in memory"
        )
    if limits and in_chunks(X):
        raise UnsupportedModelError("what a table in chunks uses of limits is not counted; give rows in memory, or no limits")
    uses: list[LimitUse] = []
    splits, bills, losses, weights = trees.ensemble.is_split, list[Bill](), list[Floats](), list[Floats]()

    def add(block: LabelledRows) -> None:
        weights.append(block.weights)
        if weights[-1].any() or not in_chunks(X):
            usage = trees.usage(block.X, costs, weights[-1], evaluation_cost)
            more = [u.bill(splits) for u in (usage, trees.counting_features(usage))]
            bills[:] = [a + b for a, b in zip(bills, more, strict=True)] if bills else more
            uses.extend(limit_uses(usage, splits, limits))
        losses.append(trees.losses(block.X, block.labels, block.entry))

    each_block(trees.ensemble, X, y, add, "evaluating", sample_weight=sample_weight)
    every = joined_weights(weights, X)
    cost, features = (bill.cost for bill in bills)
    return Evaluation(
        cost,
        features,
        error=float(np.average(np.concatenate(losses), weights=every)),
        splits=trees.ensemble.n_splits,
        n=int((every > 0).sum()),
        n_effective=effective_rows(every),
        task=trees.task,
        measure=trees.measure,
        loss=trees.loss(X, y, every),
        uses=tuple(uses),
    )


def evaluate_cascade(
    cascade: Cascade, X: Any, y: Any, costs: Costs | None, evaluation_cost: Any, sample_weight: Any
) -> Evaluation:
    """`evaluate` for a fitted cascade; prices that contradict its own are refused."""
    stages, policy = cascade.stages_, cascade.policy_
    if costs is not None or np.any(evaluation_cost):
        check_same_prices(stages, getattr(cascade, "feature_names_in_", None), costs, evaluation_cost)
    seen = evaluate_exit_path(cascade, X, y, sample_weight=sample_weight)
    stage, rows = seen.stages(policy), np.arange(seen.n)
    features, kept = np.nan, 0
    if isinstance(stages, PricedStages):
        counted = stages.at_unit_prices().costs(cascade._rows(X))[stage, rows]
        features, kept = float(np.average(counted, weights=seen.weights)), stages.n_splits(policy.last_stage)
    task = "classification" if is_classifier(cascade) else "regression"
    means = seen.mean_cost(policy), features, seen.mean_loss(policy)
    return Evaluation(*means, kept, int((seen.weights > 0).sum()), effective_rows(seen.weights), task, usual_loss(task).measure)
