"""All facts that a cascade's report shows, computed before the page is written.

Let stage(i) be the stage at which row i stops, w_i its weight (with sum 1), and last the last stage that any row may reach. Then

    reach_s        =  sum of w_i over rows with stage(i) >= s                                                              (1)
    cost up to s   =  sum over i of w_i cost_{min(stage(i), s), i}  +  once_{min(last, s)}                                 (2)

For the last stage, (2) is the mean cost of a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from formulations.errors import InvalidInputError, NotFittedForestError
from formulations.extras import package
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import n_examples
from formulations.instance.tree_loss import usual_loss
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation, Stops, shown_cascade, stops_of
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.policy import ExitPolicy
from prunemodels.report_page.by_class import Answers, ByClass, by_class, refuse_positive
from prunemodels.report_page.cascades.evidence import CascadeEvidence, evidence_of_cascade
from prunemodels.report_page.cascades.purchases import Purchase, purchases
from prunemodels.report_page.facts import Labels, half_width, table_or_array, versions
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import standard_error

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class StageFigures:
    """The figures of one stage on some rows.

    Parameters
    ----------
    reach, stop
        shares of the rows, by weight, that reach the stage (1), and that stop there.
    rows
        number of rows that stop there.
    paid
        mean of what a row that reaches the stage pays more than before; None where no row does.
    error
        share of wrong predictions among the rows that stop there, or their mean squared error; None where no row stops.
    cost_so_far
        the cost (2) up to this stage.
    """

    reach: float
    stop: float
    rows: int
    paid: float | None
    error: float | None
    cost_so_far: float


@dataclass(frozen=True, eq=False)
class OnRows:
    """A cascade on the labelled rows that the caller gave.

    Parameters
    ----------
    stops
        the stage at which each row stops, and all policies of the path.
    change
        from the last stage for every row to the cascade.
    stages
        the figures of every stage.
    classes
        errors of both kinds and payments, class by class; None for numbers.
    """

    stops: Stops
    change: HeldOutChange
    stages: tuple[StageFigures, ...]
    classes: ByClass | None

    @property
    def items_bought(self) -> float:
        """Mean number of the items with a price that a row has bought, without those paid once for all rows."""
        each = self.stops.bought[~self.stops.items.paid_once]
        return float((each @ self.stops.evaluation.share).sum())


@dataclass(frozen=True, eq=False)
class Tradeoff:
    """Cost and error of all policies, and of every stage if it answered every row.

    Parameters
    ----------
    cost, error
        float64, shape (K,): on the rows that were given, else cross-fitted.
    half
        half the widths of the errors' intervals; None for cross-fitted errors.
    single_cost, single_error
        float64, shape (S,): of a stage that answers every row.
    chosen
        cost and error of the chosen policy.
    """

    cost: Floats
    error: Floats
    half: Floats | None
    single_cost: Floats
    single_error: Floats
    chosen: tuple[float, float]


@dataclass(frozen=True, eq=False)
class CascadeFacts:
    """The facts that the sections of a cascade's report show.

    `on_rows` is None where no rows were given, `budget` where the policy was not chosen for one.
    """

    labels: Labels
    cascade: Cascade
    budget: Fraction | None
    purchases: tuple[Purchase, ...] | None
    on_rows: OnRows | None
    tradeoff: Tradeoff
    evidence: CascadeEvidence
    versions: Mapping[str, str]

    @property
    def path(self) -> ExitPath:
        """The path of all optimal policies."""
        return self.cascade.exit_path_

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.path.stages.task

    @property
    def n_stages(self) -> int:
        """The number of stages, S."""
        return self.path.stages.n_stages

    @property
    def before(self) -> tuple[float, float]:
        """Cost and error if the last stage answers every row: by itself, on rows that were given."""
        t, seen = self.tradeoff, self.on_rows
        return float(t.single_cost[-1]), float(t.single_error[-1]) if seen is None else seen.change.error_before.mean


def gather_cascade(
    source: Cascade | ExitPath,
    X: Any,
    y: Any,
    *,
    budget: Price | None,
    sample_weight: ArrayLike | None,
    confidence: float,
    labels: Labels,
) -> CascadeFacts:
    """Compute all facts; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    if isinstance(source, Cascade) and not hasattr(source, "exit_path_"):
        raise NotFittedForestError.of(source)
    given = _given(X, y, sample_weight)
    cascade = shown_cascade(source, budget)
    limit: Price | None = getattr(source, "budget", None) if budget is None else budget
    on_rows = None if given is None else judged_on(cascade, *given, confidence, labels.positive)
    return CascadeFacts(
        labels=labels,
        cascade=cascade,
        budget=None if limit is None else exact(limit, "budget"),
        purchases=purchases(cascade.stages_, getattr(cascade, "feature_names_in_", None)),
        on_rows=on_rows,
        tradeoff=_cross_fitted(cascade) if on_rows is None else _measured(on_rows, cascade, confidence),
        evidence=evidence_of_cascade(cascade),
        versions=versions(),
    )


def _given(X: Any, y: Any, sample_weight: ArrayLike | None) -> tuple[Any, NDArray[Any], Floats] | None:
    """The rows of positive weight, their labels and weights; None where no rows were given.

    Raises
    ------
    InvalidInputError
        for rows without labels, labels without rows, and fewer than two rows.
    """
    if X is None and y is None and sample_weight is None:
        return None
    if X is None or y is None:
        missing, given = ("X", "y" if y is not None else "sample_weight") if X is None else ("y", "X")
        raise InvalidInputError(f"{missing} is None, but {given} is given; give examples with their labels, or neither of them")
    rows = table_or_array(X)
    n, truth = n_examples(rows), np.asarray(y)
    if truth.shape != (n,):
        raise InvalidInputError(f"y has shape {truth.shape}, X has {n} rows: give one label each")
    weights = check_weights(sample_weight, n, "sample_weight")
    counted = np.flatnonzero(weights > 0)
    if counted.size < 2:
        raise InvalidInputError(f"X has {counted.size} examples of positive weight; give 2 or more, or no examples at all")
    if counted.size < n:
        rows = _safe_indexing(rows, counted)
    return rows, truth[counted], weights[counted]


def judged_on(cascade: Cascade, X: Any, y: NDArray[Any], weights: Floats, confidence: float, positive: Any) -> OnRows:
    """Evaluate the cascade on the rows."""
    stops = stops_of(cascade, X, y, sample_weight=weights, unpriced=True)
    seen, policy = stops.evaluation, cascade.policy_
    once = seen.table.once
    paid = SampleCost(seen.table.cost[-1], float(once[-1])), SampleCost(stops.cost, float(once[policy.last_stage]))
    losses = seen.last_loss, seen.losses(policy)
    change = change_of(paid, losses, weights, confidence, loss=usual_loss(seen.path.stages.task))
    return OnRows(stops, change, stage_figures(seen, policy), _by_class(stops, policy, confidence, positive))


def _by_class(stops: Stops, policy: ExitPolicy, confidence: float, positive: Any) -> ByClass | None:
    """The last stage for everybody, and the cascade, class by class."""
    seen = stops.evaluation
    if seen.path.stages.classes is None:
        refuse_positive(positive)
        return None
    assert seen.truth is not None
    said, rows = seen.table.value.argmax(axis=2), np.arange(seen.n)
    alone = seen.last.argmax(axis=1)
    known = stops.bought if stops.items.n_items else None
    last = Answers(alone, seen.table.cost[-1], None if known is None else stops.by_last)
    own = Answers(said[seen.stages(policy), rows], stops.cost, known)
    options: dict[str, Any] = {"confidence": confidence, "positive": positive}
    return by_class(seen.path.stages.classes, seen.truth, seen.weights, (last, own), stops.items, **options)


def _measured(on_rows: OnRows, cascade: Cascade, confidence: float) -> Tradeoff:
    seen = on_rows.stops.evaluation
    errors = np.array([standard_error(seen.losses(k), seen.weights) for k in range(len(seen.path))])
    return Tradeoff(
        seen.cost,
        seen.error,
        half_width(errors, seen.n, confidence),
        seen.table.cost @ seen.share + seen.table.once,
        seen.loss @ seen.share,
        (seen.mean_cost(cascade.policy_), seen.mean_loss(cascade.policy_)),
    )


def _cross_fitted(cascade: Cascade) -> Tradeoff:
    path = cascade.exit_path_
    chosen = (cascade.held_out_cost_, cascade.held_out_error_)
    return Tradeoff(path.held_out_cost, path.held_out_error, None, path.single_cost, path.single_error, chosen)


def stage_figures(seen: ExitPathEvaluation, policy: ExitPolicy) -> tuple[StageFigures, ...]:
    """The figures of every stage under a policy, on labelled rows."""
    table, weights, stage = seen.table, seen.weights, seen.stages(policy)
    increase = np.diff(table.cost, axis=0, prepend=0.0)
    total, found = weights.sum(), []
    for s in range(table.n_stages):
        reach, stop = stage >= s, stage == s
        by_then = table.cost[np.minimum(stage, s), np.arange(seen.n)]
        found.append(
            StageFigures(
                reach=float(weights[reach].sum() / total),
                stop=float(weights[stop].sum() / total),
                rows=int(stop.sum()),
                paid=_mean(increase[s], reach, weights),
                error=_mean(seen.loss[s], stop, weights),
                cost_so_far=float(by_then @ seen.share + table.once[min(policy.last_stage, s)]),
            )
        )
    return tuple(found)


def _mean(amounts: NDArray[np.float64], which: NDArray[np.bool_], weights: NDArray[np.float64]) -> float | None:
    return float(np.average(amounts[which], weights=weights[which])) if which.any() else None
