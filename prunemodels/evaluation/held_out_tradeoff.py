"""Cost and error on held-out examples, budget by budget: what a smaller budget would save and lose.

The breakpoints of a path can lie far apart, above all where few dear items make up most of the cost. Budgets between them are
met by prunings that are no breakpoints, see `prunemodels.solve`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Count, Seconds, Share, checked
from formulations.instance.cost_items import Price, exact
from formulations.shown import Card, Shown, error_name
from prunemodels.evaluation.held_out import held_out_changes, on_other_rows
from prunemodels.models.forests.reading import check_columns
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.mean_bounds import MeanInterval
from prunemodels.statements.wording import amount, error, interval
from solvers.budgets.solve import solve_budget

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1)
"""The budgets that are tried if none are given, as shares of what the unpruned forest costs."""

WORK = 10.0
"""Limit of the work of all searches together, in seconds by formula, see `solve_budget`."""

SPENT = 0.98
"""A breakpoint that spends this share of a budget is taken without a search between the breakpoints."""


@dataclass(frozen=True, eq=False)
class BudgetTradeoff(Shown):
    """Prunings within several budgets, judged on the same examples; the largest budget first.

    Parameters
    ----------
    budgets
        in the unit of the prices.
    prunings
        the pruning found for each budget. Its cost on the cost sample is at most the budget.
    changes
        cost and error of each pruning on the examples, beside those of the unpruned forest.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, path, y_test
    >>> found = pm.evaluation.budget_tradeoff(path, forest, X_test, y_test, budgets=[6, 12], time_limit=2)
    >>> print(found.to_frame()[["budget", "cost", "error", "error_low", "error_high"]].round(3).to_string())
       budget    cost  error  error_low  error_high
    0    12.0  11.763  0.077      0.036       0.118
    1     6.0   6.000  0.124      0.074       0.175
    """

    budgets: tuple[float, ...]
    prunings: tuple[Pruning, ...]
    changes: tuple[HeldOutChange, ...]

    def __len__(self) -> int:
        return len(self.budgets)

    def to_frame(self) -> pd.DataFrame:
        """One row a budget: cost and error on the examples with their intervals, the error's increase, features, splits."""
        import pandas as pd

        rows = []
        for budget, pruning, seen in zip(self.budgets, self.prunings, self.changes, strict=True):
            rows.append(
                {
                    "budget": budget,
                    "cost_sample": pruning.cost,
                    **_ends("cost", seen.cost_after),
                    **_ends("error", seen.error_after),
                    "increase": seen.increase.mean,
                    "increase_low": seen.increase.low,
                    "increase_high": seen.increase.high,
                    "trees_error": pruning.error,
                    "splits": pruning.n_splits,
                }
            )
        return pd.DataFrame(rows)

    @checked
    def plot(self, *, unit: str = "", ax: Any = None) -> Figure:
        """Draw error against cost, see `prunemodels.plots.plot_held_out`."""
        from prunemodels.plots import plot_held_out

        return plot_held_out(self, unit=unit, ax=ax)

    def _card(self) -> Card:
        first = self.changes[0]
        measure = first.measure
        unpruned = Pruning.unpruned(self.prunings[0].problem)
        rows = [("none", amount(first.cost_before.mean), error(first.error_before.mean, measure), "", f"{unpruned.n_splits:,}")]
        for budget, pruning, seen in zip(self.budgets, self.prunings, self.changes, strict=True):
            d = seen.increase
            rows.append(
                (
                    amount(budget),
                    amount(seen.cost_after.mean),
                    error(seen.error_after.mean, measure),
                    interval(d.low, d.high, measure),
                    f"{pruning.n_splits:,}",
                )
            )
        heading = f"change of error ({100 * first.confidence:g} %)"
        return Card(
            f"Budgets, on {first.n:,} held-out examples", tuple(rows), ("budget", "cost", error_name(measure), heading, "splits")
        )

    def __repr__(self) -> str:
        return self._card().text()


@checked
def budget_tradeoff(
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    *,
    budgets: Sequence[Price] | Count | None = None,
    also: Sequence[tuple[Price, Pruning]] = (),
    time_limit: Seconds | None = None,
    confidence: Share = 0.95,
) -> BudgetTradeoff:
    """Prune within each of several budgets, and judge each pruning on held-out examples.

    Parameters
    ----------
    path
        the path of the forest's problem.
    forest
        the forest before pruning.
    X, y
        examples and labels that played no part in training, pruning or choosing.
    budgets
        the largest mean cost of an example of the cost sample, in the unit of the prices. Or their number: so many equal steps
        up to the unpruned forest's cost. Default: `SHARES` of the unpruned forest's cost.
    also
        pairs of a budget and a pruning that is already known.
    time_limit
        seconds of all searches between breakpoints together. Default: a limit of work, with which the answer does not depend on
        the clock.
    confidence
        of the intervals.

    Raises
    ------
    InvalidInputError
        for a negative budget, and for data that do not fit the forest.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, forest, path, y_test
    >>> found = pm.evaluation.budget_tradeoff(path, forest, X_test, y_test, budgets=[6, 12], time_limit=2)
    >>> found.budgets
    (12.0, 6.0)
    """
    problem, known = path.problem, {float(exact(b, "budget")): pruning for b, pruning in also}
    wanted = [b for b in _budgets(budgets, Pruning.unpruned(problem).cost) if b not in known]
    found = dict(known)
    ends = math.inf if time_limit is None else time.perf_counter() + time_limit
    for left, budget in zip(range(len(wanted), 0, -1), sorted(wanted), strict=True):
        if time_limit is None:
            found[budget] = _within(path, budget, work=WORK / len(wanted))
        else:
            seconds = math.inf if time_limit == math.inf else max(0.0, ends - time.perf_counter()) / left
            found[budget] = _within(path, budget, time_limit=seconds)
    falling = sorted(found, reverse=True)
    check_columns(X, problem.ensemble.names_to_check)
    prunings = tuple(found[b] for b in falling)
    changes = held_out_changes(on_other_rows(problem, X), [p.kept for p in prunings], forest, y, confidence)
    return BudgetTradeoff(tuple(falling), prunings, tuple(changes))


def _budgets(budgets: Sequence[Price] | int | None, unpruned: float) -> list[float]:
    """The budgets as numbers, each once."""
    if budgets is None:
        return [share * unpruned for share in SHARES]
    if isinstance(budgets, int | np.integer):
        return [unpruned * k / budgets for k in range(1, int(budgets))] or [unpruned]
    return list(dict.fromkeys(float(exact(b, "budgets")) for b in budgets))


def _within(path: PruningPath, budget: float, *, time_limit: float | None = None, work: float | None = None) -> Pruning:
    """The best breakpoint if it spends nearly all of the budget; else the best pruning that a search finds."""
    breakpoint_ = path[path.row_at_cost(budget)]
    if breakpoint_.cost >= SPENT * min(budget, float(path.cost[0])):
        return breakpoint_
    return solve_budget(path.problem, budget, path=path, time_limit=time_limit, work=work).pruning


def _ends(name: str, interval: MeanInterval) -> dict[str, float]:
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}
