"""The cost of a pruning on examples that played no part in choosing it.

A budget holds exactly on the cost sample, and a pruning is chosen because it holds there. On new examples the mean cost is a
different number, usually a little larger. The mean over rows that are drawn independently from the population, and were not used
to choose the pruning, is an unbiased estimate of the population's mean:

    cost = (items paid once: a constant)  +  mean over the rows of x_i,                                         (1)
    x_i  = sum of the prices of the items that row i buys  +  the evaluation of the splits that it meets,     0 <= x_i <= M

where M is the cost of a row that needs every item of the pruned forest and takes the dearest path in each tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.answers.pruning import Pruning
from formulations.arguments import Column, Share, checked
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, error_name, rate
from prunemodels.evaluation.evaluate import LabelledRows, each_block, joined_weights
from prunemodels.evaluation.vote import with_cut
from prunemodels.models.forests.problems import apply_pruning
from prunemodels.models.forests.reading import check_columns
from prunemodels.models.labelled_samples import forest_losses, losses_of
from prunemodels.statements.by_class import by_class
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of, error_interval
from prunemodels.statements.mean_bounds import MeanInterval, Method
from prunemodels.statements.wording import interval, limit_uses


@dataclass(frozen=True)
class HeldOutCost(MeanInterval):
    """The mean cost of a prediction on held-out examples, with its interval.

    Parameters
    ----------
    mean, standard_error, low, high, confidence, method, n, n_effective
        as in `MeanInterval`: the population's mean is beyond each end with probability (1 - confidence) / 2 at most.
    paid_once
        the part of `mean`, `low` and `high` that comes from items paid once for all examples. It is known, without error.
    largest
        the largest cost that one example can have, besides `paid_once`.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, problem
    >>> cost = pm.hold_out(pm.solve(problem, budget=10).pruning, None, X_test).cost
    >>> print(f"{cost.mean:.2f}, standard error {cost.standard_error:.2f}; the dearest example {cost.largest:.0f}")
    10.00, standard error 0.00; the dearest example 10
    """

    paid_once: float
    largest: float


@dataclass(frozen=True, eq=False)
class HeldOut(Shown):
    """A pruning on held-out examples: its cost, and its error if labels were given.

    Parameters
    ----------
    error
        of the pruned forest's predictions, in terms of ``pruning.problem.ensemble.measure``; None without labels.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, problem, y_test
    >>> seen = pm.hold_out(pm.solve(problem, budget=10).pruning, forest, X_test, y_test)
    >>> print(f"cost {seen.cost.low:.2f} to {seen.cost.high:.2f}, error {seen.error.low:.3f} to {seen.error.high:.3f}")
    cost 10.00 to 10.00, error 0.042 to 0.128
    """

    pruning: Pruning
    cost: HeldOutCost
    error: MeanInterval | None = None

    def _card(self) -> Card:
        cost, measure = self.cost, self.pruning.problem.ensemble.measure
        rows = [("cost per prediction", f"{cost.mean:.4g}", interval(cost, "{:.4g}".format))]
        if self.error is not None:
            ends = interval(self.error, lambda x: rate(x, measure, 2))
            rows.append((error_name(measure), rate(self.error.mean, measure, 2), ends))
        header = ("", "mean", f"{100 * cost.confidence:g} % interval")
        return Card(f"HeldOut: {cost.n:,} examples", tuple(rows), header, cost.warnings)


@checked
def hold_out(
    pruning: Pruning,
    forest: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Column = None,
    confidence: Share = 0.95,
    method: Method = "t",
) -> HeldOut:
    """Cost, (1), and with labels the error, of a pruning on held-out rows, at its problem's prices, with confidence intervals.

    Parameters
    ----------
    forest
        the forest before pruning; used only if `y` is given, else it may be None.
    X, y
        rows and labels drawn independently from the population: neither the forest's training data nor the cost sample. X may be
        a table that is larger than memory, a file or a `ChunkedTable`; then y and `sample_weight` are names of columns, or
        arrays.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error, with ``method="t"`` only.
    confidence, method
        of both intervals. ``"t"`` (default): Student's interval, which describes and does not guarantee. It has its confidence in
        the limit of many rows, and much less if a few rows are very dear: see `benchmarks.confidence`. It gives an error rate its
        exact interval, Clopper and Pearson's, and is the only one for errors of numbers, which are unbounded. ``"betting"``:
        holds for every number of rows and every distribution, and is longer; take it for promises.

    Raises
    ------
    InvalidInputError
        for rows and labels that do not fit the forest, fewer than two rows, and weights with another method than ``"t"``.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, problem, y_test
    >>> seen = pm.hold_out(pm.solve(problem, budget=10).pruning, forest, X_test, y_test)
    >>> print(f"cost {seen.cost.mean:.2f} ({seen.cost.low:.2f} to {seen.cost.high:.2f})")
    cost 10.00 (10.00 to 10.00)
    >>> print(f"error {seen.error.mean:.3f} ({seen.error.low:.3f} to {seen.error.high:.3f})")
    error 0.077 (0.042 to 0.128)
    """
    usage, kept = pruning.problem.usage, pruning.kept
    loss = usage.ensemble.loss
    pruned = None if y is None else apply_pruning(pruning, forest)
    paid, weights, losses = [], [], []

    def add(block: LabelledRows) -> None:
        check_columns(block.X, usage.ensemble.names_to_check)
        row_costs, weight = usage.on(block.X).row_costs(kept), block.weights
        paid.append(row_costs[weight > 0])
        weights.append(weight[weight > 0])
        if pruned is not None:
            losses.append(forest_losses(pruned, block.X, block.y, loss, block.entry)[weight > 0])

    each_block(usage.ensemble, X, y, add, "counting costs", sample_weight=sample_weight)
    largest = usage.largest_row_cost(kept)
    together = SampleCost(np.minimum(np.concatenate(paid), largest), usage.once_cost(kept), largest)
    every = joined_weights(weights, X)
    mean = together.mean(every, confidence, method)
    cost = HeldOutCost(**vars(mean), paid_once=together.once, largest=largest)
    error = error_interval(np.concatenate(losses), loss, confidence, method, every) if losses else None
    return HeldOut(pruning, cost, error)


def on_other_rows(problem: PruningProblem, X: Any, sample_weight: ArrayLike | None = None) -> PruningProblem:
    """The same forest, errors and prices with another cost sample."""
    check_columns(X, problem.ensemble.names_to_check)
    return PruningProblem.of(problem.usage.on(X, sample_weight), problem.errors)


def held_out_change(
    problem: PruningProblem,
    kept: NDArray[np.bool_],
    forest: Any,
    y: Any,
    confidence: float,
    limits: Sequence[Limit] = (),
    positive: Any = None,
    groups: NDArray[np.int64] | None = None,
    cut: float | None = None,
) -> HeldOutChange:
    """Measure a pruning on a problem whose cost sample are the held-out examples, y the labels of all rows of ``problem.X``.

    `forest` is the one before pruning, and the same examples judge both, so that differences are paired. `positive`: the class
    to be found, see `prunemodels.statements.by_class`. `groups`: of all rows; intervals count them. `cut`: of its vote, see
    `prunemodels.evaluation.vote`.
    """
    loss, usage, classes = problem.ensemble.loss, problem.usage, problem.ensemble.classes

    def seen(model: Any, kept: NDArray[np.bool_]) -> tuple[SampleCost, NDArray[np.float64], NDArray[Any]]:
        said = np.asarray(model.predict(problem.X))
        losses = losses_of(classes, said, y, loss=loss)
        return SampleCost.of(usage, kept), losses[usage.rows], said[usage.rows]

    pruned = with_cut(apply_pruning(Pruning(problem, kept), forest), cut)
    (paid_before, lost_before, said_before), (paid, lost, said) = seen(forest, problem.ensemble.is_split), seen(pruned, kept)
    truth, groups = np.asarray(y)[usage.rows], None if groups is None else groups[usage.rows]
    judged = by_class(classes, truth, (said_before, said), usage.weights, confidence, positive, groups=groups)
    pairs = (paid_before, paid), (lost_before, lost)
    found = change_of(*pairs, usage.weights, confidence, loss=loss, classes=judged, groups=groups)
    return replace(found, uses=limit_uses(problem.usage, kept, limits, confidence))
