"""The facts that a page shows of a cascade, computed before the page is written.

Let stage(i) be the stage at which row i stops, w_i its weight (with sum 1), and last the last stage that any row may reach. Then

    reach_s        =  sum of w_i over rows with stage(i) >= s                                                              (1)
    cost up to s   =  sum over i of w_i cost_{min(stage(i), s), i}  +  once_{min(last, s)}                                 (2)

For the last stage, (2) is the mean cost of a prediction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from formulations.arguments import checked
from formulations.errors import InvalidInputError, NotFittedForestError
from formulations.extras import package
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.routing import n_examples
from formulations.shown import is_rate
from prunemodels.cascades.cascade import Cascade
from prunemodels.cascades.evaluation import ExitPathEvaluation, Stops, stops_of
from prunemodels.cascades.exit_path import ExitPath
from prunemodels.models.labelled_samples import group_numbers
from prunemodels.report_page.evidence import Evidence, evidence_of_cascade
from prunemodels.report_page.facts import Mark, PageOptions, Tradeoff, table_or_array, told
from prunemodels.report_page.payers import PAGE, Answers, Payers, Purchase, payers, purchases
from prunemodels.stages.doubt import MarginDoubt
from prunemodels.stages.judging import predicted_classes
from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stages import PricedStages
from prunemodels.statements.by_class import ByClass, by_class
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import effective_rows, ends_along, over_groups, repeated, standard_error
from prunemodels.statements.wording import amount, count, error, share

Floats = NDArray[np.float64]

NONE = "\u2013"
"""The mean over the rows of a stage that no row reaches."""


@dataclass(frozen=True, eq=False)
class OnRows:
    """A cascade on the labelled rows that the caller gave.

    `stops` has the stage at which each row stops, and all policies of the path; `change` is from the last stage for every row to
    the cascade; `stages` are `stage_figures` of its policy; `payers` is None for numbers; `groups`: what intervals count.
    """

    stops: Stops
    change: HeldOutChange
    stages: pd.DataFrame
    payers: Payers | None
    groups: NDArray[np.int64] | None

    @property
    def items_bought(self) -> float:
        """Mean number of the items with a price that a row has bought, without those paid once for all rows."""
        each = self.stops.bought[~self.stops.items.paid_once]
        return float((each @ self.stops.evaluation.share).sum())

    @property
    def who_stops(self) -> str:
        """A sentence on how many rows stop at which stage."""
        used = self.stages[self.stages.rows > 0]
        few = used if len(used) <= PAGE.named_stages + 1 else used[: PAGE.named_stages]
        rest, shown = used[len(few) :], zip(few.index, few.rows, few.stop, strict=True)
        parts = [f"{rows:,} ({share(part, 0)}) {'' if k else 'stop '}at stage {s}" for k, (s, rows, part) in enumerate(shown)]
        if len(rest):
            later = f"{count(len(rest), 'later stage')}, of which stage {rest.index[-1]} is the last"
            parts.append(f"the other {rest.rows.sum():,} ({share(rest.stop.sum(), 0)}) at {later}")
        listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
        return f"Of {self.change.n:,} examples, {listed}. The first stage is stage 0."


@dataclass(frozen=True, eq=False)
class CascadeFacts:
    """The facts that the sections of a cascade's page show.

    `on_rows` is None where no rows were given; then `fitted` says whom the policy finds of the rows that it was learned from.
    `budget` is None where the policy was not chosen for one.
    """

    kind: ClassVar[str] = "cascade"
    heading: ClassVar[str] = "Cascade"

    options: PageOptions
    cascade: Cascade
    budget: Fraction | None
    purchases: tuple[Purchase, ...] | None
    on_rows: OnRows | None
    fitted: ByClass | None
    tradeoff: Tradeoff
    evidence: Evidence

    @property
    def held_out(self) -> HeldOutChange | None:
        """From the last stage for every row to the cascade, on the rows that were given."""
        return None if self.on_rows is None else self.on_rows.change

    @property
    def payers(self) -> Payers | None:
        """Who pays what on these rows."""
        return None if self.on_rows is None else self.on_rows.payers

    @property
    def path(self) -> ExitPath:
        """The path of all optimal policies."""
        return self.cascade.exit_path_

    @property
    def task(self) -> str:
        """``"classification"`` or ``"regression"``."""
        return self.path.stages.task

    @property
    def measure(self) -> str:
        """What the errors are."""
        return self.path.by.measure

    @property
    def n_stages(self) -> int:
        """The number of stages, S."""
        return self.path.stages.n_stages

    @property
    def before(self) -> tuple[float, float]:
        """Cost and error if the last stage answers every row: by itself, on rows that were given."""
        last, seen = self.singles[-1], self.on_rows
        return last.cost, last.error if seen is None else seen.change.error_before.mean

    @property
    def singles(self) -> Sequence[Mark]:
        """Each stage, if it answered every row."""
        return self.tradeoff.marks[:-1]

    @property
    def doubt(self) -> str:
        """How the cascade doubts, in words."""
        margin = isinstance(self.cascade.policy_.doubt, MarginDoubt)
        return "margin of the two largest probabilities" if margin else "learned"

    @property
    def stages_in_words(self) -> str:
        """A description of the stages."""
        stages, stack = self.cascade.stages_, self.cascade.policy_.stack
        number, stacked = count(self.n_stages, "stage"), 0 if stack is None else int(stack.stacked.sum())
        stacking = f"; {stacked} also weigh what earlier ones said" if stacked else ""
        if isinstance(stages, PricedStages):
            return f"{number}{'' if stages.models is None else ','} {stages.described}{stacking}"
        return f"{number}, {type(stages).__name__}{stacking}"

    @property
    def only_model(self) -> str | None:
        """The kind of all stages' own models, where there is one kind."""
        kinds = {p.model[0] for p in self.purchases or () if p.model is not None and p.model[0]}
        return kinds.pop() if len(kinds) == 1 else None

    @property
    def n_priced(self) -> int:
        """The number of items with a price that each example pays for itself."""
        return sum(not item.once for p in self.purchases or () for item in p.items)

    @property
    def best_single(self) -> int | Literal["none"] | None:
        """The best single stage of no higher cost than the policy's; "none" if the policy is itself a single stage."""
        policy, most = self.cascade.policy_, self.tradeoff.chosen.cost * (1 + 1e-9)
        going = policy.go[:, 1:]
        if policy.cut is None and (going.all(axis=1) | ~going.any(axis=1)).all():
            return "none"
        within = [s for s, single in enumerate(self.singles) if single.cost <= most]
        return min(within, key=lambda s: self.singles[s].error, default=None)

    def cells(self, s: int) -> list[str]:
        """The row of a stage in the table of stages, after its name: on the rows that were given, or where it was learned."""
        once = self.cascade.stages_.once
        for_all = float(once[s] - (once[s - 1] if s else 0.0))
        if self.on_rows is not None:
            f = self.on_rows.stages.iloc[s]
            wrong = NONE if np.isnan(f.error) else error(f.error, self.measure)
            stopped = f"{int(f.rows):,} ({share(f.stop)})"
            return [self._price(s, f.paid, for_all), share(f.reach), stopped, wrong, amount(f.cost_so_far)]
        cost, own = self.path.single_cost, self.path.sample.own_rows
        stop = np.minimum(self.cascade.policy_.stop_stages(own.doubt), s)
        so_far = own.cost[stop, np.arange(own.n_rows)] @ own.weights / own.weights.sum()
        so_far += own.once[min(s, self.cascade.policy_.last_stage)]
        increase = float(cost[s] - (cost[s - 1] if s else 0.0)) - for_all
        wrong = error(float(self.path.single_error[s]), self.measure)
        return [self._price(s, increase, for_all), amount(float(cost[s])), wrong, amount(float(so_far))]

    def _price(self, s: int, paid: float, for_all: float) -> str:
        """What a row pays at a stage, and what is paid once for all; where no row reaches it, what its own model's items cost."""
        if np.isnan(paid) and self.purchases is not None and self.purchases[s].splits is None:
            paid = self.purchases[s].price
        each = NONE if np.isnan(paid) else amount(round(paid, 12))
        return f"{each}, and {amount(for_all)} once for all" if for_all > 0 else each


@checked
def gather_cascade(source: Cascade, X: Any = None, y: Any = None, *, budget: Price | None = None, **options: Any) -> CascadeFacts:
    """Compute all facts; for the arguments see `report_page`."""
    package("matplotlib")  # where it is missing, say so before the work
    shown = PageOptions(**options)
    if not hasattr(source, "exit_path_"):
        raise NotFittedForestError.of(source)
    given = counted_rows(X, y, shown.sample_weight, shown.groups)
    cascade = source if budget is None else source.at_cost(budget)
    limit: Price | None = cascade.budget
    on_rows = None if given is None else judged_on(cascade, *given, shown.confidence, shown.positive)
    return CascadeFacts(
        options=shown,
        cascade=cascade,
        budget=None if limit is None else exact(limit, "budget"),
        purchases=purchases(cascade.stages_, getattr(cascade, "feature_names_in_", None)),
        on_rows=on_rows,
        fitted=found_in_fitting(cascade, shown.confidence, shown.positive) if given is None else None,
        tradeoff=_tradeoff(cascade, on_rows),
        evidence=evidence_of_cascade(cascade),
    )


def found_in_fitting(cascade: Cascade, confidence: float, positive: Any = None) -> ByClass | None:
    """Whom the last stage for everybody and the policy find, of the rows that the policy was learned from.

    None for numbers, and for a cascade of a file that does not hold the classes of these rows. Which answer a wrong one was is
    known where there are two classes.
    """
    classes, own = cascade.exit_path_.stages.classes, cascade.exit_path_.sample.own_rows
    truth = getattr(own, "truth", None)
    if classes is None or truth is None:
        return None
    stop = cascade.policy_.stop_stages(own.doubt)
    wrong = [loss > 0 for loss in (own.loss[-1], own.loss[stop, np.arange(own.n_rows)])]
    others = classes[1 - truth] if len(classes) == 2 else np.full(len(truth), None)
    said = [np.where(mistaken, others, classes[truth]) for mistaken in wrong]
    found = by_class(classes, classes[truth], said, own.weights, confidence, positive)
    return found if found is None or len(classes) == 2 else replace(found, only=(None, None))


def counted_rows(
    X: Any, y: Any, sample_weight: ArrayLike | None, groups: Any = None
) -> tuple[Any, NDArray[Any], Floats, NDArray[np.int64] | None] | None:
    """The rows of positive weight, their labels, weights and groups; None where no rows were given."""
    others = [name for name, value in (("y", y), ("sample_weight", sample_weight), ("groups", groups)) if value is not None]
    if X is None and not others:
        return None
    if X is None or y is None:
        missing, given = ("X", others[0]) if X is None else ("y", "X")
        raise InvalidInputError(f"{missing} is None, but {given} is given; give examples with their labels, or neither of them")
    rows = table_or_array(X)
    n, truth = n_examples(rows), np.asarray(y)
    if truth.shape != (n,):
        raise InvalidInputError(f"y has shape {truth.shape}, X has {n} rows: give one label each")
    weights = check_weights(sample_weight, n, "sample_weight", rows)
    counted = np.flatnonzero(weights > 0)
    if counted.size < 2:
        raise InvalidInputError(f"X has {counted.size} examples of positive weight; give 2 or more, or no examples at all")
    if counted.size < n:
        rows = _safe_indexing(rows, counted)
    numbers = group_numbers(groups, X)
    return rows, truth[counted], weights[counted], None if numbers is None else numbers[counted]


def judged_on(
    cascade: Cascade,
    X: Any,
    y: NDArray[Any],
    weights: Floats,
    groups: NDArray[np.int64] | None,
    confidence: float,
    positive: Any,
) -> OnRows:
    """Evaluate the cascade on the rows; with groups intervals count these."""
    stops = stops_of(cascade, X, y, sample_weight=weights, unpriced=True)
    seen, policy = stops.evaluation, cascade.policy_
    once, classes = seen.table.once, seen.path.stages.classes
    paid = SampleCost(seen.table.cost[-1], float(once[-1])), SampleCost(stops.cost, float(once[policy.last_stage]))
    losses = seen.last_loss, seen.losses(policy)
    answers = []
    if classes is not None:
        own = classes[predicted_classes(seen.table.value, policy.by)[seen.stages(policy), np.arange(seen.n)]]
        said, known = (classes[predicted_classes(seen.last, policy.by)], own), (stops.by_last, stops.bought)
        answers = [Answers(a, p.rows, k if stops.items.n_items else None) for a, p, k in zip(said, paid, known, strict=True)]
    judged = by_class(classes, y, [answer.said for answer in answers], weights, confidence, positive, groups=groups)
    change = change_of(paid, losses, weights, confidence, loss=seen.path.by, classes=judged, groups=groups)
    paying = payers(classes, y, weights, answers, stops.items, positive)
    return OnRows(stops, change, stage_figures(seen, policy), paying, repeated(groups))


def _tradeoff(cascade: Cascade, on_rows: OnRows | None) -> Tradeoff:
    """All policies, each stage for everybody, and the chosen policy: on the rows that were given; else cross-fitted."""
    path, policy, along, ends = cascade.exit_path_, cascade.policy_, None, None
    cost, error, single_cost, single_error = path.held_out_cost, path.held_out_error, path.single_cost, path.single_error
    own = cascade.held_out_cost_, cascade.held_out_error_
    if on_rows is not None:
        seen, ends = on_rows.stops.evaluation, told(on_rows.change.error_after)
        losses, weights = [seen.losses(k) for k in range(len(seen.path))], seen.weights
        if on_rows.groups is not None:
            losses, weights = over_groups(losses, weights, on_rows.groups)
        errors = np.array([standard_error(each, weights) for each in losses])
        cost, error, n, confidence = seen.cost, seen.error, effective_rows(weights), on_rows.change.confidence
        along = ends_along(error, errors, n, confidence, shares=is_rate(path.by.measure))
        single_cost, single_error = seen.table.cost @ seen.share + seen.table.once, seen.loss @ seen.share
        own = seen.mean_cost(policy), seen.mean_loss(policy)
    singles = enumerate(zip(single_cost.tolist(), single_error.tolist(), strict=True))
    marks = [Mark("single", f"stage {s} for everybody", *at) for s, at in singles]
    marks[-1] = replace(marks[-1], kind="unpruned", name="the last stage for everybody")
    return Tradeoff(cost, error, along, ("policy", "policies"), [*marks, Mark("chosen", "the chosen policy", *own, ends)])


def stage_figures(seen: ExitPathEvaluation, policy: ExitPolicy) -> pd.DataFrame:
    """A row for each stage under a policy, on labelled rows. Shares are by weight, and a mean over no rows is NaN.

    ``reach`` and ``stop``: the share that reaches it (1) and that stops there; ``rows``: the number that stops there; ``paid``:
    what a row that reaches it pays more than before, on average; ``error``: mean loss of those that stop; ``cost_so_far``: (2).
    """
    table, weights, stage = seen.table, seen.weights, seen.stages(policy)
    number, rows = np.arange(table.n_stages)[:, None], np.arange(seen.n)
    reach, stop = stage >= number, stage == number
    increase = np.diff(table.cost, axis=0, prepend=0.0)
    by_then = table.cost[np.minimum(stage, number), rows]
    once = table.once[np.minimum(policy.last_stage, number[:, 0])]
    with np.errstate(invalid="ignore"):  # 0 / 0 is the mean over no rows
        paid, error = (((v * at) @ weights) / (at @ weights) for v, at in ((increase, reach), (seen.loss, stop)))
    columns = {
        "reach": reach @ weights / weights.sum(),
        "stop": stop @ weights / weights.sum(),
        "rows": stop.sum(axis=1),
        "paid": paid,
        "error": error,
        "cost_so_far": by_then @ seen.share + once,
    }
    return pd.DataFrame(columns)
