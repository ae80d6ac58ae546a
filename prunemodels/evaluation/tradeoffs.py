"""Trade-offs: what a smaller budget would save and lose on held-out examples, and the least error in two currencies.

The breakpoints of a path can lie far apart, above all where few dear items make up most of the cost. Budgets between them are
met by prunings that are no breakpoints, see `prunemodels.solve`. With limits b of something else,

    error(B, b)  =  least error      s.t.  cost <= B,   use <= b                                                           (1)

falls with B and with b. A pruning that is found for one budget is an answer for all larger ones at the same b.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.pruning import Pruning
from formulations.answers.pruning_path import PruningPath
from formulations.arguments import Count, Seconds, Share, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, error_name
from prunemodels.evaluation.evaluate import PARAMS
from prunemodels.evaluation.held_out import held_out_changes, on_other_rows
from prunemodels.models.forests.reading import check_columns
from prunemodels.solving import solve
from prunemodels.statements.change import HeldOutChange
from prunemodels.statements.mean_bounds import MeanInterval
from prunemodels.statements.wording import amount, error
from solvers.within.call import Method

if TYPE_CHECKING:
    import pandas as pd

SHARES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.15, 0.1)
"""The budgets that are tried if none are given, as shares of what the unpruned forest costs."""


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
    0    12.0  11.763  0.077      0.042       0.128
    1     6.0   6.000  0.124      0.079       0.184
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

    def _card(self) -> Card:
        first = self.changes[0]
        measure = first.measure
        unpruned = Pruning.unpruned(self.prunings[0].problem)
        rows = [("none", amount(first.cost_before.mean), error(first.error_before.mean, measure), "", f"{unpruned.n_splits:,}")]
        for budget, pruning, seen in zip(self.budgets, self.prunings, self.changes, strict=True):
            rows.append(
                (
                    amount(budget),
                    amount(seen.cost_after.mean),
                    error(seen.error_after.mean, measure),
                    seen.increase_interval,
                    f"{pruning.n_splits:,}",
                )
            )
        heading = f"change of error ({100 * first.confidence:g} %)"
        header = ("budget", "cost", error_name(measure), heading, "splits")
        return Card(f"Budgets, on {first.n:,} held-out examples", tuple(rows), header, first.warnings)

    def __repr__(self) -> str:
        return self._card().text()


@checked
def budget_tradeoff(
    path: PruningPath,
    forest: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
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
    sample_weight
        shape (N,), >= 0: a row of X stands for that many, in cost as in error.
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
            found[budget] = _within(path, budget, work=PARAMS.tradeoff_work / len(wanted))
        else:
            seconds = math.inf if time_limit == math.inf else max(0.0, ends - time.perf_counter()) / left
            found[budget] = _within(path, budget, time_limit=seconds)
    falling = sorted(found, reverse=True)
    check_columns(X, problem.ensemble.names_to_check)
    prunings = tuple(found[b] for b in falling)
    held_out = on_other_rows(problem, X, sample_weight)
    changes = held_out_changes(held_out, [p.kept for p in prunings], forest, y, confidence)
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
    if breakpoint_.cost >= PARAMS.spent * min(budget, float(path.cost[0])):
        return breakpoint_
    return solve(path.problem, budget=budget, path=path, time_limit=time_limit, work=work).pruning


def _ends(name: str, interval: MeanInterval) -> dict[str, float]:
    return {name: interval.mean, f"{name}_low": interval.low, f"{name}_high": interval.high}


@dataclass(frozen=True, eq=False)
class LimitsTradeoff(Shown):
    """Prunings within pairs of a budget and another limit.

    Parameters
    ----------
    budgets
        B, ascending.
    at
        the other limits, as they were given.
    solutions
        for each of these the answers, by budget.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> at = [pm.Limit(10, "splits"), pm.Limit(30, "splits")]
    >>> found = pm.evaluation.limits_tradeoff(problem, [6, 12], at)
    >>> print(found.to_frame().round(3).to_string())
       budget   limit  at_most    cost   use  error  bound
    0     6.0  splits     10.0   6.000   6.0  0.243  0.243
    1    12.0  splits     10.0  11.000   9.0  0.100  0.094
    2     6.0  splits     30.0   6.000   6.0  0.243  0.243
    3    12.0  splits     30.0  11.813  26.0  0.068  0.065
    """

    budgets: tuple[float, ...]
    at: tuple[Limit, ...]
    solutions: tuple[tuple[LimitedSolution, ...], ...]

    def to_frame(self) -> pd.DataFrame:
        """One row for each pair: both limits, what is used of each, the trees' error, and the proven bound of the least error."""
        import pandas as pd

        rows = []
        for line in self.solutions:
            for budget, found in zip(self.budgets, line, strict=True):
                (_, cost, _), (title, use, most) = found.kept_to()
                row = {"budget": budget, "limit": title, "at_most": float(most), "cost": float(cost), "use": float(use)}
                rows.append(row | {"error": found.error, "bound": found.bound})
        return pd.DataFrame(rows)

    def _card(self) -> Card:
        problem = self.solutions[0][0].problem
        measure = problem.ensemble.measure
        rows = [
            (amount(budget), *(error(line[k].error, measure) for line in self.solutions)) for k, budget in enumerate(self.budgets)
        ]
        header = ("budget", *(f"{limit.title} {amount(float(exact(limit.at_most, 'at')))}" for limit in self.at))
        return Card(f"{error_name(measure)} of single trees", tuple(rows), header)

    def __repr__(self) -> str:
        return self._card().text()


@checked
def limits_tradeoff(
    problem: PruningProblem,
    budgets: Sequence[Price] | Count,
    at: Sequence[Limit],
    *,
    method: Method = "path",
    time_limit: Seconds | None = None,
) -> LimitsTradeoff:
    """The least error over budgets at several limits of something else, (1): dollars at 10, 20 and 30 minutes.

    Parameters
    ----------
    budgets
        the largest mean costs, or how many equal steps up to the unpruned forest's.
    at
        limits of one currency, or of anything else, such as ``[pm.Limit(b, "minutes") for b in (10, 20, 30)]``.
    method
        of `solve` for limits. ``"path"`` gives the relaxation and the best pruning met on the way; ``"best"`` searches on, for
        seconds at each pair.
    time_limit
        seconds for each pair.

    Raises
    ------
    InvalidInputError
        without budgets or limits, for a budget among the limits, and for what `solve` refuses.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> seen = pm.evaluation.limits_tradeoff(problem, [5, 10], [pm.Limit(b, "items") for b in (1, 3)], method="best")
    >>> print(seen.to_frame()[["budget", "at_most", "cost", "error"]].round(3).to_string(index=False))
     budget  at_most  cost  error
        5.0      1.0   5.0  0.286
       10.0      1.0   5.0  0.286
        5.0      3.0   5.0  0.286
       10.0      3.0  10.0  0.137
    """
    whole = Pruning.unpruned(problem).cost
    if isinstance(budgets, int | np.integer):
        budgets = [whole * k / int(budgets) for k in range(1, int(budgets) + 1)]
    values = sorted({float(exact(budget, "budgets")) for budget in budgets})
    if not values or not at:
        raise InvalidInputError(f"{'at' if values else 'budgets'} is empty; give at least one")
    for k, limit in enumerate(at):
        if limit.is_plain:
            raise InvalidInputError(f"at[{k}] is {limit!r}, a budget; give it among the budgets")
    lines = []
    for limit in at:
        line = [solve(problem, limits=[Limit(b), limit], method=method, time_limit=time_limit) for b in values]
        for less, more in pairwise(range(len(line))):
            if line[less].error < line[more].error:
                kept = {name: getattr(line[less], name) for name in ("pruning", "error", "uses")}
                line[more] = replace(line[more], **kept)
        lines.append(tuple(line))
    return LimitsTradeoff(tuple(values), tuple(at), tuple(lines))
