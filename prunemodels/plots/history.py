"""The convergence of an engine: value, bound and gap by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
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
    frame,
    legend_above,
    plain_numbers,
    styled,
)

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
    _check(history)
    fig = Picture(figsize=(6.4, 5.2), layout="constrained") if figure is None else figure
    above, below = cast("tuple[Axes, Axes]", tuple(fig.subplots(2, 1, sharex=True, height_ratios=(3, 2))))
    rounds = np.arange(1, len(history["gap"]) + 1)
    marker = "." if len(rounds) <= DRAWING.most_markers else ""
    shown = [name for name in LINES if name in history]
    for label, style, name in ((*LINES[name], name) for name in shown):
        above.plot(rounds, history[name], label=label, marker="" if "drawstyle" in style else marker, **style)
    above.set_ylabel(rf"error + {LAMBDA}$\,\cdot\,$cost")
    legend_above(above)
    above.set_ylim(_limits(history, shown))
    plain_numbers(above.yaxis)
    below.semilogy(rounds, np.maximum(history["gap"], DRAWING.smallest), color=BLACK, lw=1.4, marker=marker)
    below.set(xlabel="round", ylabel="relative gap")
    for ax in (above, below):
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        frame(ax)
    return fig


def _check(history: History) -> None:
    """Refuse a history that lacks a column, has no rounds, or has columns of different lengths."""
    n_rounds = len(next(iter(history.values()), ()))
    missing = [column for column in ("value", "bound", "gap") if column not in history]
    if missing or not n_rounds:
        raise InvalidInputError(
            f"history has {n_rounds} rounds and lacks {missing or 'none of its columns'}; "
            "give the history of a Solution whose engine proceeds in rounds"
        )
    for column, entries in history.items():
        if np.shape(entries) != (n_rounds,):
            raise InvalidInputError(
                f"history[{column!r}] has shape {np.shape(entries)}; give one number for each of {n_rounds} rounds"
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
