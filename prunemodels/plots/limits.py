"""The trade-off in two currencies: error over the budget, a line for each limit of the other one."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arguments import checked
from formulations.instance.cost_items import exact
from formulations.shown import is_rate
from prunemodels.evaluation.two_currencies import LimitsTradeoff
from prunemodels.plots.picture import (
    COLOURS,
    axes_for,
    cost_label,
    figure_of,
    frame,
    legend_above,
    literal,
    per_cent,
    plain_numbers,
    styled,
)
from prunemodels.plots.tradeoff import trees_error
from prunemodels.statements.wording import amount


@checked
@styled
def plot_limits(tradeoff: LimitsTradeoff, *, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw the trees' error over the budget, a line for each of the other limits, and faintly what is proven to be the least.

    Parameters
    ----------
    tradeoff
        of `prunemodels.evaluation.limits_tradeoff`.
    unit
        of the prices, such as "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> at = [pm.Limit(10, "splits"), pm.Limit(30, "splits")]
    >>> figure = pm.plots.plot_limits(pm.evaluation.limits_tradeoff(problem, [6, 9, 12], at))
    """
    own, ax = ax is None, axes_for(ax, (6.8, 4.4))
    problem = tradeoff.solutions[0][0].problem
    for k, (limit, line) in enumerate(zip(tradeoff.at, tradeoff.solutions, strict=True)):
        color, name = COLOURS[k % len(COLOURS)], f"{limit.title} at most {amount(float(exact(limit.at_most, 'at')))}"
        ax.plot(tradeoff.budgets, [found.error for found in line], color=color, lw=1.8, marker=".", label=literal(name))
        ax.plot(tradeoff.budgets, [found.bound for found in line], color=color, lw=0.9, ls=":")
    ax.set(xlabel=cost_label(unit), ylabel=trees_error(problem))
    ax.set_ylim(bottom=0)
    (per_cent if is_rate(problem.ensemble.measure) else plain_numbers)(ax.yaxis)
    legend_above(ax, own=own)
    frame(ax)
    return figure_of(ax)
