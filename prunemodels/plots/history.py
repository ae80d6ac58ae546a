"""The convergence of an engine: value, bound and gap by round."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from formulations.answers.solution import History
from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.plots.picture import Picture
from prunemodels.plots.tradeoff import BLACK, BLUE, VERMILION

SMALLEST = 1e-12
"""A gap of 0 is drawn here: the axis is logarithmic."""


LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "value": ("best solution", {"color": BLACK, "lw": 1.2, "ls": "--", "drawstyle": "steps-post"}),
    "bound": ("best bound", {"color": VERMILION, "lw": 1.6, "drawstyle": "steps-post"}),
    "master_value": ("restricted master", {"color": BLUE, "lw": 1.4}),
    "round_bound": ("bound of the round", {"color": VERMILION, "lw": 0.8, "ls": ":"}),
    "iterate_value": ("value of the iterate", {"color": BLUE, "lw": 1.4}),
    "iterate_bound": ("bound of the iterate", {"color": VERMILION, "lw": 0.8, "ls": ":"}),
}
"""What is drawn of a history, where it has it: the column, the label and the look."""

MOST_MARKERS = 60
"""Up to so many rounds each is marked."""


@checked
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
        save it with `prunemodels.plots.save_picture`.

    Raises
    ------
    InvalidInputError
        if there is no round, or ``value``, ``bound`` or ``gap`` is missing.
    """
    missing = [name for name in ("value", "bound", "gap") if name not in history]
    n_rounds = len(next(iter(history.values()), ()))
    if missing or not n_rounds:
        raise InvalidInputError(f"history has {n_rounds} rounds and lacks {missing or 'none of its columns'}; nothing to draw")
    fig = Picture(figsize=(6.4, 5.2), layout="constrained") if figure is None else figure
    above, below = cast("tuple[Axes, Axes]", tuple(fig.subplots(2, 1, sharex=True, height_ratios=[3, 2])))
    rounds = np.arange(1, n_rounds + 1)
    marker = "." if n_rounds <= MOST_MARKERS else ""
    for name, (label, look) in LINES.items():
        if name in history:
            own = "" if "drawstyle" in look else marker
            above.plot(rounds, history[name], label=label, marker=own, **look)
    above.set_ylabel("error + lambda * cost")
    above.legend(fontsize=9, framealpha=1, edgecolor="none")
    below.semilogy(rounds, np.maximum(history["gap"], SMALLEST), color=BLACK, lw=1.4, marker=marker)
    below.set_ylabel("relative gap")
    below.set_xlabel("round")
    for ax in (above, below):
        _frame(ax)
    return fig


def _frame(ax: Axes) -> None:
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
