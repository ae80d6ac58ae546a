"""The convergence of engines: value, bound and gap of one by round, the columns that entered, and the gaps of several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, NullFormatter
from numpy.typing import NDArray

from formulations.answers.solution import History
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.plots.picture import (
    BLACK,
    BLUE,
    DRAWING,
    LAMBDA,
    VERMILION,
    Picture,
    axes_for,
    colour_scale,
    figure_of,
    frame,
    legend_above,
    literal,
    look,
    plain_numbers,
    styled,
)
from solvers.column_generation.solve import DantzigWolfeSolution

LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "value": ("best solution", {"color": BLACK, "lw": 1.2, "ls": "--", "drawstyle": "steps-post", "zorder": 3}),
    "bound": ("best bound", {"color": VERMILION, "lw": 2.2, "drawstyle": "steps-post"}),
    "master_value": ("restricted master", {"color": BLUE, "lw": 1.4}),
    "round_bound": ("bound of the round", {"color": VERMILION, "lw": 0.8, "ls": ":"}),
    "iterate_value": ("value of the iterate", {"color": BLUE, "lw": 1.4}),
    "iterate_bound": ("bound of the iterate", {"color": VERMILION, "lw": 0.8, "ls": ":"}),
}
"""What is drawn of a history, where it has it: the column, the label and the look."""


@checked
@styled
def plot_history(history: History, *, figure: Figure | None = None) -> Figure:
    """Draw the rounds of an engine: values and bounds above, the relative gap below.

    Parameters
    ----------
    history
        of a `Solution` whose engine proceeds in rounds: ``solution.history`` of `dantzig_wolfe` or `primal_dual`.
    figure
        to draw on; default: a new one.

    Returns
    -------
    Figure
        save it with `prunemodels.plots.save_picture`. The axis of values follows the best solution and the best bound; iterates
        far away from both leave the picture.

    Raises
    ------
    InvalidInputError
        if there is no round, if ``value``, ``bound`` or ``gap`` is missing, or if columns have different lengths.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01)
    >>> figure = pm.plots.plot_history(solution.history)
    """
    check_history(history, ("value", "bound", "gap"), "history")
    fig = Picture(figsize=(6.4, 5.2), layout="constrained") if figure is None else figure
    below, rounds, marker = _values_by_round(fig, history, tuple(LINES), (3, 2))
    below.semilogy(rounds, np.maximum(history["gap"], DRAWING.smallest), color=BLACK, lw=1.4, marker=marker)
    below.set_ylabel("relative gap")
    return fig


def _values_by_round(
    fig: Figure, history: History, names: Sequence[str], heights: tuple[int, int]
) -> tuple[Axes, NDArray[np.int64], str]:
    """Values and bounds in the upper part of a figure; the axes below, the rounds, and the mark of a round there."""
    above, below = cast("tuple[Axes, Axes]", tuple(fig.subplots(2, 1, sharex=True, height_ratios=heights)))
    rounds = np.arange(1, len(history["gap"]) + 1)
    marker = "." if len(rounds) <= DRAWING.most_markers else ""
    shown = [name for name in names if name in history]
    for label, style, name in ((*LINES[name], name) for name in shown):
        above.plot(rounds, history[name], label=label, marker="" if "drawstyle" in style else marker, **style)
    above.set_ylabel(rf"error + {LAMBDA}$\,\cdot\,$cost")
    legend_above(above)
    above.set_ylim(_limits(history, shown))
    plain_numbers(above.yaxis)
    below.set_xlabel("round")
    for ax in (above, below):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        frame(ax)
    return below, rounds, marker


def check_history(history: History, columns: Sequence[str], name: str) -> None:
    """Refuse a history that lacks a column, has no rounds, or has columns of different lengths."""
    n_rounds = len(next(iter(history.values()), ()))
    missing = [column for column in columns if column not in history]
    if missing or not n_rounds:
        raise InvalidInputError(
            f"{name} has {n_rounds} rounds and lacks {missing or 'none of its columns'}; "
            "give the history of a Solution whose engine proceeds in rounds"
        )
    for column, entries in history.items():
        if np.shape(entries) != (n_rounds,):
            raise InvalidInputError(
                f"{name}[{column!r}] has shape {np.shape(entries)}; give one number for each of {n_rounds} rounds"
            )


def _limits(history: History, shown: Sequence[str]) -> tuple[float, float]:
    """The least and the largest value shown: best solutions and bounds, and what is near them."""
    main = _finite(np.concatenate([history["value"], history["bound"]]))
    if not main.size:
        return 0.0, 1.0
    low, high = float(main.min()), float(main.max())
    every = _finite(np.concatenate([history[name] for name in shown]))
    near = every[np.abs(every - (low + high) / 2) <= DRAWING.near * (high - low)]
    low, high = min(low, *near.tolist()), max(high, *near.tolist())
    room = max(1.1 * (high - low), DRAWING.least_share * max(abs(low), abs(high))) or 1.0
    return (low + high - room) / 2, (low + high + room) / 2


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


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
    below, _, _ = _values_by_round(fig, solution.history, ("value", "bound", "master_value"), (2, 3))
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
    below.set_ylabel("tree of a column that entered")
    below.yaxis.set_major_locator(MaxNLocator(integer=True))
    colour_scale(fig, shades, below, {tick: f"{-tick:.2g}" for tick in (least, most)}, "reduced cost")
    return fig


@checked
@styled
def plot_gaps(
    histories: Mapping[str, History], *, against: Literal["round", "seconds"] = "round", ax: Axes | None = None
) -> Figure:
    """Draw the relative gap of every run, best value against best bound so far, on logarithmic axes.

    Parameters
    ----------
    histories
        a name, and the ``history`` of a `Solution` whose engine proceeds in rounds.
    against
        rounds, counted from 1, or seconds since the call.
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        A gap of 0 is drawn at the bottom, 1e-12. Save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        if there is nothing to draw, or a history has no gaps.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> kinds = ("shortest paths", "tree pass")
    >>> histories = {kind: pm.engines.dantzig_wolfe(problem, 0.01, pricing=kind).history for kind in kinds}
    >>> figure = pm.plots.plot_gaps(histories)
    """
    if not histories:
        raise InvalidInputError("histories is empty; give at least one run")
    for name, history in histories.items():
        check_history(history, ("gap", "seconds"), f"histories[{name!r}]")
    ax = axes_for(ax, (7.2, 4.2))
    for k, (name, history) in enumerate(histories.items()):
        n_rounds, gap = len(history["gap"]), history["gap"]
        x = np.arange(1, n_rounds + 1) if against == "round" else history["seconds"]
        # without a bound the gap is infinite: nothing to draw yet
        y = np.where(np.isfinite(gap), np.maximum(gap, DRAWING.smallest), math.nan)
        style = look(k) | {"marker": "." if n_rounds <= DRAWING.fewer_markers else ""}
        ax.plot(x, y, lw=1.6, label=literal(name), **style)
    ax.set(xscale="log", yscale="log", xlabel=against if against == "seconds" else "rounds", ylabel="relative gap")
    ax.xaxis.set_minor_formatter(NullFormatter())
    plain_numbers(ax.xaxis)
    frame(ax)
    ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
    return figure_of(ax)
