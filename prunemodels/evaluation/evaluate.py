"""Cost and error of a model of trees, pruned or not, or of a cascade, on labelled examples; and the mean cost of each item.

Examples come block by block: rows in memory are one block, a table in chunks has one for each chunk. What is counted adds up over
blocks, so error rates, and costs of rows of weight 1, do not depend on the blocks. For intervals and squared errors the loss and
the cost of each row stay in memory, 8 bytes each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from formulations.arguments import Column, checked
from formulations.errors import InvalidInputError, UnsupportedModelError
from formulations.instance.cost_items import EvaluationCost
from formulations.instance.cost_sample import check_largest, check_weights
from formulations.instance.ensemble import Ensemble
from formulations.instance.limit import Limit
from formulations.instance.routing import n_examples
from formulations.instance.tree_loss import ERROR_RATE
from formulations.instance.usage import Bill, Usage
from formulations.shown import Card, Shown, error_name, rate, row_of
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import evaluate_exit_path
from prunemodels.evaluation.pairs import check_prices_of, compared
from prunemodels.models.costs import Costs
from prunemodels.models.tree_model import tree_model_of
from prunemodels.stages.stages import PricedStages
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.mean_bounds import Effective, effective_rows
from prunemodels.statements.wording import LimitUse, limit_uses, use_in_words


@dataclass(frozen=True)
class EvaluationParams:
    """Limits of work and memory of evaluations."""

    promised_rows: int = 100  # largest number of rows of a path that are tested for an error that is promised
    block_bytes: int = 2**27  # approximate memory of a block of examples; blocks are processed one at a time
    tradeoff_work: float = 10.0  # limit of the work of all searches of a trade-off together, in seconds by formula
    spent: float = 0.98  # a breakpoint that spends this share of a budget is taken without a search between the breakpoints


PARAMS = EvaluationParams()


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Some labelled rows."""

    # X, y: the rows, and their labels; None if there are none.
    X: Any
    y: Any
    # the weights of the rows, None: 1 each; those of a chunk, which may all be 0, were checked when it was read.
    sample_weight: ArrayLike | None = None
    entry: Callable[[int], str] | None = None  # what messages call the label of row i; None: ``y[i]``.

    @property
    def weights(self) -> NDArray[np.float64]:
        """float64, shape (n,), >= 0."""
        if self.entry is not None:
            return np.asarray(self.sample_weight)
        return check_weights(self.sample_weight, n_examples(self.X), "sample_weight", self.X)

    @property
    def labels(self) -> Any:
        """The labels."""
        if self.y is None:
            raise InvalidInputError("y is None; give one label a row, or the name of the column of labels of a table in chunks")
        return self.y


def in_chunks(X: Any) -> bool:
    """Whether it is a table that is read in chunks: a file, a pyarrow dataset, or a `ChunkedTable`."""
    return isinstance(X, str | Path) or hasattr(X, "count_rows") or hasattr(X, "chunk_rows")


def each_block(
    ensemble: Ensemble, X: Any, y: Any, do: Callable[[LabelledRows], None], what: str, *, sample_weight: Column = None
) -> None:
    """Call `do` with each block; `what` names the activity in messages and in the progress bar."""
    if not in_chunks(X):
        do(LabelledRows(X, y, sample_weight))
        return
    from prunemodels.tables.reading import Reader, RowBlock
    from prunemodels.tables.table import as_chunked

    table, names = as_chunked(X), ensemble.feature_names

    def take(block: RowBlock) -> None:
        rows = block.rows if names is None else pd.DataFrame(block.rows, columns=list(names))
        do(LabelledRows(rows, block.y, block.weights, lambda i: f"{row_of(table.source.name, block.first + i)}: y"))

    Reader(table, ensemble, y=y, weight=sample_weight).each(what, take)


def joined_weights(weights: list[NDArray[np.float64]], X: Any) -> NDArray[np.float64]:
    """The weights of all blocks, checked as a whole."""
    together = np.concatenate(weights)
    check_largest(together, f"{X}: sample_weight" if in_chunks(X) else "sample_weight")
    return together


def rows_in_turn(ensemble: Ensemble, X: Any, y: Any, sample_weight: Column) -> tuple[Any, Any, Any]:
    """Rows in memory as they are; a table in chunks as rows that are read in their order, with its labels and weights.

    The table is read once for the labels and weights, about 40 bytes a row, and for each pass over the rows again.
    """
    if not in_chunks(X):
        return X, y, sample_weight
    from prunemodels.tables.reading import Reader, RowBlock, RowsInTurn, labels_of, weights_of
    from prunemodels.tables.table import as_chunked

    table = as_chunked(X)
    if not table.source.again:
        raise InvalidInputError(
            f"{table.source.name} can be read only once, but a path needs several passes; give a file, or a function "
            "that returns the chunks"
        )
    labels: list[NDArray[Any]] = []
    weights: list[NDArray[np.float64]] = []

    def keep(block: RowBlock) -> None:
        labels.append(labels_of(block))
        if block.weight is not None:
            weights.append(block.weight)

    reader = Reader(table, ensemble, y=y, weight=sample_weight)
    n = reader.without_features().each("reading labels", keep)
    w = weights_of(weights, table.source.name) if weights else None
    return RowsInTurn(reader.without_labels(quiet=False), n), np.concatenate(labels), w


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


@overload
def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs | None = None,
    evaluation_cost: EvaluationCost = 0,
    sample_weight: Column = None,
    limits: Sequence[Limit] = (),
    against: None = None,
    groups: None = None,
) -> Evaluation: ...


@overload
def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    costs: Costs | None = None,
    evaluation_cost: EvaluationCost = 0,
    sample_weight: Column = None,
    against: Any,
    groups: Any = None,
) -> HeldOutChange: ...


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
    against: Any = None,
    groups: Any = None,
) -> Evaluation | HeldOutChange:
    """Predict X with a model of trees or a cascade, and count the cost of the predictions; or compare it with another model.

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
    against
        another model or cascade of the same labels: the answer is then a `HeldOutChange` from that one to `model`, with intervals
        of the differences, example by example. Models made for different losses are judged by the costs of mistakes for which one
        of them was made, else by wrong predictions or squared errors.
    groups
        with `against`, shape (N,): the group of each example, such as the patient of a visit; intervals count groups.

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
    if against is not None:
        if limits or in_chunks(X):
            raise InvalidInputError("against is for rows in memory, without limits; evaluate each model alone")
        pair = [one if isinstance(one, Cascade) else tree_model_of(one) for one in (against, model)]
        counted = check_weights(sample_weight, n_examples(X), "sample_weight", X)
        return compared(pair, X, y, counted, costs, evaluation_cost, groups)
    if groups is not None:
        raise InvalidInputError("groups are of intervals, which a comparison has; give against, or leave groups out")
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
    # bills add up over blocks, so that a table in chunks is never in memory as a whole
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
    check_prices_of(cascade, costs, evaluation_cost)
    seen = evaluate_exit_path(cascade, X, y, sample_weight=sample_weight)
    stage, rows = seen.stages(policy), np.arange(seen.n)
    features, kept = np.nan, 0
    if isinstance(stages, PricedStages):
        counted = stages.at_unit_prices().costs(cascade._rows(X))[stage, rows]
        features, kept = float(np.average(counted, weights=seen.weights)), stages.n_splits(policy.last_stage)
    task = "classification" if is_classifier(cascade) else "regression"
    means = seen.mean_cost(policy), features, seen.mean_loss(policy)
    return Evaluation(*means, kept, int((seen.weights > 0).sum()), effective_rows(seen.weights), task, seen.path.by.measure)


SHARED = "shared:"
"""How `CostItems.discounted` begins the name of an item that a group of features shares."""


@dataclass(frozen=True)
class ItemCost:
    """One cost item, or the evaluation of splits."""

    name: str
    # names of the features, or of a pipeline's raw columns, that need it, other than the one of its own name.
    features: tuple[str, ...]
    price: float | None  # price of the item; None for the evaluation, whose price may differ by feature.
    once: bool  # whether it is paid once for all examples.
    # bought_before, bought_after: share of the examples that pay for it, by weight; None for the evaluation.
    bought_before: float | None
    bought_after: float | None
    # before, after: mean cost for an example.
    before: float
    after: float

    @property
    def label(self) -> str:
        """The name in words."""
        return item_label(self.name)


def item_label(name: str) -> str:
    """An item's name in words: what the features of a group share (`CostItems.discounted`), and the first of them pays."""
    return f"first of group {name.removeprefix(SHARED)}" if name.startswith(SHARED) else name


def item_costs(usage: Usage, kept: Sequence[NDArray[np.bool_]], columns: Sequence[str]) -> list[ItemCost]:
    """The costs of all items with a price, and of evaluating splits if that has one; the dearest before pruning first.

    `usage`: on the examples. `kept`: the splits that are kept before and after pruning. `columns`: the names of the columns that
    ask for the items, as in `CostItems.by_column`.
    """
    costs, bills, found = usage.costs, [usage.bill(k) for k in kept], []
    shares = [np.where(costs.paid_once, bill.once, bill.payers / bill.total) for bill in bills]
    for m in np.flatnonzero(costs.price > 0).tolist():
        price, (before, after) = float(costs.prices[m]), (float(share[m]) for share in shares)
        users = tuple(c for c, items in zip(columns, costs.by_column, strict=False) if m in items and c != costs.names[m])
        once = bool(costs.paid_once[m])
        found.append(ItemCost(costs.names[m], users, price, once, before, after, price * before, price * after))
    found.sort(key=lambda item: (-item.before, -item.after, item.name))
    spent = [bill.evaluation_cost for bill in bills]
    if spent[0] > 0:
        found.append(ItemCost("evaluation of splits", (), None, False, None, None, *spent))
    return found
