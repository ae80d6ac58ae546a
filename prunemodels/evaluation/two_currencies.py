"""The trade-off in two currencies: the least error over budgets, at several limits of something else.

    error(B, b)  =  least error      s.t.  cost <= B,   use <= b                                                           (1)

It falls with B and with b. A pruning that is found for one budget is an answer for all larger ones at the same b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.pruning import Pruning
from formulations.arguments import Count, Seconds, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.limit import Limit
from formulations.instance.problem import PruningProblem
from formulations.shown import Card, Shown, error_name
from prunemodels.statements.wording import amount, error
from solvers.budgets import solve_limits
from solvers.budgets.limits.solve import LimitMethod

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


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
    3    12.0  splits     30.0  11.813  26.0  0.068  0.066
    """

    budgets: tuple[float, ...]
    at: tuple[Limit, ...]
    solutions: tuple[tuple[LimitsSolution, ...], ...]

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

    @checked
    def plot(self, *, unit: str = "", ax: Any = None) -> Figure:
        """Draw error over the budget, a line for each of the other limits; see `prunemodels.plots.plot_limits`."""
        from prunemodels.plots import plot_limits

        return plot_limits(self, unit=unit, ax=ax)

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
    method: LimitMethod = "path",
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
        line = [solve_limits(problem, [Limit(b), limit], method=method, time_limit=time_limit) for b in values]
        for less, more in pairwise(range(len(line))):
            if line[less].error < line[more].error:
                kept = {name: getattr(line[less], name) for name in ("pruning", "error", "uses")}
                line[more] = replace(line[more], **kept)
        lines.append(tuple(line))
    return LimitsTradeoff(tuple(values), tuple(at), tuple(lines))
