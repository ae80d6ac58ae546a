"""Which features predictions ask for, before and after pruning."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from formulations.arguments import Count, checked
from formulations.errors import InvalidInputError
from prunemodels.plots.picture import BLUE, axes_for, finished, frame, literal, per_cent, styled

BEFORE = "0.8"
"""Grey of the unpruned forest."""

COLUMNS = ("price", "before", "after")


@checked
@styled
def plot_purchases(purchases: pd.DataFrame, *, most: Count = 30, unit: str = "", ax: Axes | None = None) -> Figure:
    """Draw which share of the examples asks for each feature, before and after pruning, with the prices.

    Parameters
    ----------
    purchases
        from `PrunedForest.purchases`: a row for each feature, with its price and the two shares.
    most
        most features to draw: those on which the unpruned forest spends most.
    unit
        of the prices, such as "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        for a table without those columns, or without a row.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
    >>> figure = result.plot_purchases()
    """
    missing = [c for c in COLUMNS if c not in purchases.columns]
    if missing or purchases.empty:
        wrong = f"lacks the column {missing[0]!r}" if missing else "has no row"
        raise InvalidInputError(f"purchases {wrong}; give what PrunedForest.purchases() returns")
    table = purchases.iloc[:most]
    ax = axes_for(ax, (6.8, max(2.4, 1.1 + 0.27 * len(table))))
    place = np.arange(len(table))
    ax.barh(place, table["before"], height=0.8, color=BEFORE, label="unpruned")
    ax.barh(place, table["after"], height=0.44, color=BLUE, label="pruned")
    names = [f"{literal(str(name))}  ({price:g})" for name, price in zip(table.index, table["price"], strict=True)]
    frame(ax)
    ax.grid(visible=False, axis="y")
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set_xlim(0, 1)
    per_cent(ax.xaxis)
    left_out = len(purchases) - len(table)
    more = f"; {left_out} features on which less is spent are not shown" if left_out else ""
    ax.set_xlabel(f"examples that ask for the feature{more}")
    ax.set_ylabel(f"feature (price alone{f', {literal(unit)}' if unit else ''})")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    return finished(ax)
