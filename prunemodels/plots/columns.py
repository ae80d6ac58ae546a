"""The columns of a Dantzig-Wolfe decomposition by round: which tree got one, and what it was worth to the master."""

from __future__ import annotations

from typing import cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.plots.history import LINES
from prunemodels.plots.picture import LAMBDA, Picture, frame, legend_above, plain_numbers, styled
from solvers.column_generation.solution import DantzigWolfeSolution


@checked
@styled
def plot_columns(solution: DantzigWolfeSolution, *, figure: Figure | None = None) -> Figure:
    """Draw a decomposition: value and bound of each round above, the columns that entered below, at their trees.

    Parameters
    ----------
    solution
        of `dantzig_wolfe`.
    figure
        to draw on; default: a new one.

    Returns
    -------
    Figure
        a dark column has a reduced cost far below 0: it promised much to the master.

    Raises
    ------
    InvalidInputError
        if no column entered after the start.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> figure = pm.plots.plot_columns(pm.engines.dantzig_wolfe(problem, 0.01, scheme="plain"))
    >>> len(figure.axes)
    3
    """
    entered = [entry for entry in solution.entered if entry.round > 0]
    if not entered:
        raise InvalidInputError("solution has no column that entered after the start; give one with a longer history")
    fig = Picture(figsize=(6.4, 5.6), layout="constrained") if figure is None else figure
    above, below = cast("tuple[Axes, Axes]", tuple(fig.subplots(2, 1, sharex=True, height_ratios=[2, 3])))
    rounds = np.arange(1, len(solution.history["gap"]) + 1)
    for name in ("value", "bound", "master_value"):
        label, style = LINES[name]
        above.plot(rounds, solution.history[name], label=label, **style)
    above.set_ylabel(rf"error + {LAMBDA}$\,\cdot\,$cost")
    ends = [*solution.history["value"], *solution.history["bound"][np.isfinite(solution.history["bound"])]]
    margin = 0.1 * (max(ends) - min(ends)) or 1e-3 * abs(ends[0]) or 1.0
    above.set_ylim(min(ends) - margin, max(ends) + margin)
    plain_numbers(above.yaxis)
    legend_above(above, own=isinstance(fig, Picture))
    worth = np.array([-entry.reduced_cost for entry in entered])
    least, most = float(worth.min()), float(worth.max())
    shades = below.scatter(
        [entry.round for entry in entered],
        [entry.column.tree for entry in entered],
        c=worth,
        norm=LogNorm(least, most if most > least else 10 * least),
        cmap=mpl.colormaps["cividis_r"],
        marker="s",
        s=16,
    )
    below.set(xlabel="round", ylabel="tree of a column that entered")
    for axis in (below.xaxis, below.yaxis):
        axis.set_major_locator(MaxNLocator(integer=True))
    bar = fig.colorbar(shades, ax=below, orientation="horizontal", shrink=0.6, aspect=40, label="reduced cost")
    ticks = [least, most] if most > least else [least]
    bar.set_ticks(ticks, labels=[f"{-tick:.2g}" for tick in ticks], minor=False)
    bar.ax.minorticks_off()
    frame(above)
    frame(below)
    return fig
