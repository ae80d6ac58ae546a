"""The figures of exits and cascades, for one screen of a terminal or as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from formulations.shown import align
from prunemodels.command_line.command_summary import CommandSummary
from prunemodels.evaluation.item_costs import item_label
from prunemodels.evaluation.mean_bounds import MeanInterval, mean_interval
from prunemodels.evaluation.wording import amount, error
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation
from prunemodels.exits.stops import Stops

CONFIDENCE = 0.95

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Budgets of the table, as shares of the cost of the last stage."""

MOST_NAMES = 6
"""The largest number of items that a line names."""


@dataclass(frozen=True)
class Stop:
    """Rows that stop at one stage: their share, mean cost and error, and the items that more than half of them bought."""

    stage: int
    share: float
    cost: float
    error: float
    bought: tuple[str, ...]


@dataclass(frozen=True)
class BudgetRow:
    """The best policy within a budget: its cost and error on the held-out rows."""

    budget: float
    cost: float
    error: float


@dataclass(frozen=True)
class CascadeFigures:
    """A cascade on labelled rows.

    Parameters
    ----------
    file, examples
        where the rows come from, and their number.
    cost_before, error_before
        of the last stage for every row: the unpruned forest, or the model that reads all features.
    cost, error
        of the cascade, with 95 % intervals.
    change
        mean of the rows' differences between error and error before, and the ends of its interval.
    stops, budgets
        which rows stop at which stage, and the cost and error of other budgets.
    """

    file: str
    examples: int
    cost_before: float
    error_before: float
    cost: tuple[float, float, float]
    error: tuple[float, float, float]
    change: tuple[float, float, float]
    stops: tuple[Stop, ...]
    budgets: tuple[BudgetRow, ...]

    @classmethod
    def of(cls, cascade: Cascade, stops: Stops, file: str) -> CascadeFigures:
        """Measure a cascade on rows that it was not learned from; items paid once for all are in every cost."""
        seen = stops.evaluation
        last, once = seen.table.n_stages - 1, float(seen.table.once[cascade.policy_.last_stage])
        loss = seen.losses(cascade.policy_)
        increase = loss - seen.loss[last]
        lowest = float(increase.min(initial=0.0))
        change = _ends(_interval(increase - lowest), lowest)
        return cls(
            file,
            seen.n,
            float(seen.table.cost[last].mean() + seen.table.once[last]),
            float(seen.loss[last].mean()),
            _ends(_interval(stops.cost), once),
            _ends(_interval(loss), 0.0),
            change,
            tuple(_stop_lines(stops)),
            tuple(_budgets(cascade, seen)),
        )


def _interval(x: Any) -> MeanInterval:
    return mean_interval(x, float("inf"), CONFIDENCE, "t")


def _ends(interval: MeanInterval, shift: float) -> tuple[float, float, float]:
    return interval.mean + shift, interval.low + shift, interval.high + shift


def _stop_lines(stops: Stops) -> list[Stop]:
    return [
        Stop(int(row["stage"]), float(row["share"]), float(row["cost"]), float(row["error"]), tuple(row["bought"]))
        for row in stops.to_frame().to_dict("records")
    ]


def _budgets(cascade: Cascade, seen: ExitPathEvaluation) -> list[BudgetRow]:
    """The best policies within shares of the last stage's cost. Budgets below the first stage's cost are left out."""
    last_stage_cost = float(seen.table.cost[-1].mean() + seen.table.once[-1])
    found = []
    for share in SHARES:
        try:
            policy = cascade.exit_path_.within(share * last_stage_cost).policy
        except InvalidInputError:  # cheaper than the first stage
            continue
        found.append(BudgetRow(share * last_stage_cost, seen.mean_cost(policy), seen.mean_loss(policy)))
    return found


@dataclass(frozen=True)
class ExitSummary(CommandSummary):
    """Result of ``prunemodels exits`` and ``prunemodels cascade``.

    Parameters
    ----------
    model
        a description of the model that has the exits.
    stages, policies, learned_from
        of the exit path; and the number of rows that it was learned from.
    spending
        how much of the budget is spent, and why not all of it; empty without a budget.
    learned_cost
        mean cost on those of these rows that the stages had not seen: at most the budget.
    cross_fitted_cost, cross_fitted_error
        of such policies on rows that they were not learned from; this needs no further file.
    held_out
        the cascade on ``--held-out``; None without that option.
    hints
        what a user may want to change in the data.
    """

    model: str
    task: str
    stages: int
    policies: int
    learned_from: int
    budget: float | None
    spending: str
    learned_cost: float
    cross_fitted_cost: float
    cross_fitted_error: float
    held_out: CascadeFigures | None
    seconds: float
    written: tuple[str, ...]
    hints: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        model: str,
        cascade: Cascade,
        budget: float | None,
        figures: CascadeFigures | None,
        seconds: float,
        written: Sequence[Any],
        hints: tuple[str, ...] = (),
    ) -> ExitSummary:
        """The summary of a fitted cascade."""
        path = cascade.exit_path_
        return cls(
            model,
            path.stages.task,
            path.stages.n_stages,
            len(path),
            path.n,
            budget,
            cascade.spending_,
            cascade.cost_,
            cascade.held_out_cost_,
            cascade.held_out_error_,
            figures,
            seconds,
            tuple(str(file) for file in written),
            hints,
        )

    def text(self) -> str:
        """On one screen."""
        goal = f"chosen by one_se, cost {amount(self.learned_cost)}" if self.budget is None else self.spending
        lines = [
            f"model          {self.model}",
            f"exits          {self.stages} stages, {self.policies} optimal policies, learned from {self.learned_from:,} examples",
            f"policy         {goal}",
            f"cross-fitted   on rows that it was not learned from: cost {amount(self.cross_fitted_cost)}, error "
            f"{self._error(self.cross_fitted_error)}",
        ]
        lines += [] if self.held_out is None else self._held_out_lines(self.held_out)
        lines += [f"hint           {hint}" for hint in self.hints]
        lines += [f"time           {self.seconds:.1f} s", f"written        {', '.join(self.written)}"]
        return "\n".join(lines).replace("\u00a0", " ")

    def _held_out_lines(self, figures: CascadeFigures) -> list[str]:
        mean, low, high = figures.cost
        wrong, least, most = figures.error
        change = [f"{100 * x:+.2f}" if self.task == "classification" else f"{x:+.4g}" for x in figures.change]
        points = " percentage points" if self.task == "classification" else ""
        header = ["stops at", "of the rows", "cost", "error", "most of them have bought"]
        rows = [
            [f"stage {s.stage}", f"{100 * s.share:.1f} %", amount(s.cost), self._error(s.error), _named(s.bought)]
            for s in figures.stops
        ]
        budgets = [[amount(b.budget), amount(b.cost), self._error(b.error)] for b in figures.budgets]
        return [
            f"held out       {figures.file}, {figures.examples:,} examples: cost {amount(figures.cost_before)} -> {amount(mean)} "
            f"[{amount(low)}, {amount(high)}],",
            f"               error {self._error(figures.error_before)} -> {self._error(wrong)} "
            f"[{self._error(least)}, {self._error(most)}]; paired change {change[0]} [{change[1]}, {change[2]}]{points}",
            "",
            align(header, rows),
            "",
            align(["budget", "held-out cost", "held-out error"], budgets),
            "",
        ]

    def _error(self, x: float) -> str:
        return error(x, self.task) if np.isfinite(x) else "?"


def _named(items: tuple[str, ...]) -> str:
    shown = ", ".join(item_label(item) for item in items[:MOST_NAMES])
    return (shown + f" and {len(items) - MOST_NAMES} more" if len(items) > MOST_NAMES else shown) or "nothing"
