"""What exits do, for one screen of a terminal or as JSON for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from formulations.errors import InvalidInputError
from prunemodels.command_line.report import align
from prunemodels.evaluation.mean_bounds import MeanInterval, mean_interval
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.evaluation import ExitPathEvaluation
from prunemodels.exits.stops import Stops
from prunemodels.report_page.wording import amount, error

CONFIDENCE = 0.95

SHARES = (0.1, 0.25, 0.5, 0.75, 1.0)
"""Budgets of the table, in parts of what the last stage costs."""

MOST_NAMES = 6
"""Items that a line names."""


@dataclass(frozen=True)
class Stop:
    """Rows that stop at one stage: their share, mean cost and error, and the items that more than half of them bought."""

    stage: int
    share: float
    cost: float
    error: float
    bought: tuple[str, ...]


@dataclass(frozen=True)
class Within:
    """The policy within a budget: its cost and error on the rows that are told of."""

    budget: float
    cost: float
    error: float


@dataclass(frozen=True)
class Told:
    """A cascade on labelled rows.

    Parameters
    ----------
    file, examples
        the rows.
    cost_before, error_before
        of the last stage for everyone: the unpruned forest, or the model that reads everything.
    cost, error
        of the cascade, with 95 % intervals.
    change
        interval of error less error before, row by row: the mean and its two ends.
    stops, budgets
        who stops where, and what other budgets give.
    """

    file: str
    examples: int
    cost_before: float
    error_before: float
    cost: tuple[float, float, float]
    error: tuple[float, float, float]
    change: tuple[float, float, float]
    stops: tuple[Stop, ...]
    budgets: tuple[Within, ...]

    @classmethod
    def of(cls, cascade: Cascade, stops: Stops, file: str) -> Told:
        """Measure a cascade on rows that it was not learned from; items paid once for all are in every cost."""
        seen = stops.evaluation
        last, once = seen.table.n_stages - 1, float(seen.table.once[cascade.policy_.last_stage])
        loss = seen.losses(cascade.policy_)
        more = loss - seen.loss[last]
        lowest = float(more.min(initial=0.0))
        change = _ends(_interval(more - lowest), lowest)
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


def _ends(interval: MeanInterval, more: float) -> tuple[float, float, float]:
    return interval.mean + more, interval.low + more, interval.high + more


def _stop_lines(stops: Stops) -> list[Stop]:
    return [
        Stop(int(row["stage"]), float(row["share"]), float(row["cost"]), float(row["error"]), tuple(row["bought"]))
        for row in stops.to_frame().to_dict("records")
    ]


def _budgets(cascade: Cascade, seen: ExitPathEvaluation) -> list[Within]:
    """Policies within parts of the last stage's cost; parts below the first stage's cost are left out."""
    whole = float(seen.table.cost[-1].mean() + seen.table.once[-1])
    found = []
    for part in SHARES:
        try:
            policy = cascade.exit_path_.within(part * whole).policy
        except InvalidInputError:  # cheaper than the first stage
            continue
        found.append(Within(part * whole, seen.mean_cost(policy), seen.mean_loss(policy)))
    return found


@dataclass(frozen=True)
class ExitSummary:
    """Result of ``prunemodels exits`` and ``prunemodels cascade``.

    Parameters
    ----------
    model
        what was given exits, in words.
    stages, policies, learned_from
        of the exit path, and the rows that taught it.
    learned_cost
        mean cost on these rows: at most the budget.
    cross_fitted_cost, cross_fitted_error
        of such policies on rows that they were not learned from, without a further file.
    held_out
        on ``--held-out``; None without.
    """

    model: str
    task: str
    stages: int
    policies: int
    learned_from: int
    budget: float | None
    learned_cost: float
    cross_fitted_cost: float
    cross_fitted_error: float
    held_out: Told | None
    seconds: float
    written: tuple[str, ...]

    @classmethod
    def of(
        cls, model: str, cascade: Cascade, budget: float | None, told: Told | None, seconds: float, written: Sequence[Any]
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
            cascade.cost_,
            cascade.held_out_cost_,
            cascade.held_out_error_,
            told,
            seconds,
            tuple(str(file) for file in written),
        )

    def json(self) -> str:
        """As one JSON object."""
        return json.dumps(asdict(self), indent=2, allow_nan=False)

    def text(self) -> str:
        """On one screen."""
        goal = "chosen by one_se" if self.budget is None else f"budget {self.budget:g}"
        lines = [
            f"model          {self.model}",
            f"exits          {self.stages} stages, {self.policies} optimal policies, learned from {self.learned_from:,} examples",
            f"policy         {goal}: cost {amount(self.learned_cost)} there; cross-fitted, on rows that it was not learned from, "
            f"cost {amount(self.cross_fitted_cost)}, error {self._error(self.cross_fitted_error)}",
        ]
        lines += [] if self.held_out is None else self._held_out_lines(self.held_out)
        lines += [f"time           {self.seconds:.1f} s", f"written        {', '.join(self.written)}"]
        return "\n".join(lines).replace("\u00a0", " ")

    def _held_out_lines(self, told: Told) -> list[str]:
        mean, low, high = told.cost
        wrong, least, most = told.error
        change = [f"{100 * x:+.2f}" if self.task == "classification" else f"{x:+.4g}" for x in told.change]
        points = " percentage points" if self.task == "classification" else ""
        header = ["stops at", "of the rows", "cost", "error", "most of them have bought"]
        rows = [
            [f"stage {s.stage}", f"{100 * s.share:.1f} %", amount(s.cost), self._error(s.error), _named(s.bought)]
            for s in told.stops
        ]
        budgets = [[amount(b.budget), amount(b.cost), self._error(b.error)] for b in told.budgets]
        return [
            f"held out       {told.file}, {told.examples:,} examples: cost {amount(told.cost_before)} -> {amount(mean)} "
            f"[{amount(low)}, {amount(high)}],",
            f"               error {self._error(told.error_before)} -> {self._error(wrong)} "
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
    shown = ", ".join(items[:MOST_NAMES])
    return (shown + f" and {len(items) - MOST_NAMES} more" if len(items) > MOST_NAMES else shown) or "nothing"
