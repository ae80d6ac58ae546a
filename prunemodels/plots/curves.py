"""Several methods in one picture: cost of a prediction against its error.

A method's line is the least error that it offers for a cost: a staircase through its undominated points, because whoever may
spend c takes the best point that costs at most c. Its other points are faint dots.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from prunemodels.evaluation.curve import TradeoffCurve
from prunemodels.plots.picture import DRAWING, axes_for, finished, label_axes, literal, look, styled


@checked
@styled
def plot_curves(
    curves: Sequence[TradeoffCurve],
    *,
    choose_on: Sequence[TradeoffCurve] | None = None,
    spread: Mapping[str, NDArray[np.float64]] | None = None,
    error_label: str = "error rate",
    unit: str = "",
    ax: Axes | None = None,
) -> Figure:
    """Draw cost against error, one staircase for each method.

    Parameters
    ----------
    curves
        the curves of the methods, on the same examples.
    choose_on
        the same curves on another sample: the staircase goes through the points that are undominated *there*, as a user would
        choose them. On `curves` it may rise. None: through those undominated on `curves` itself, which
        flatters methods with many points.
    spread
        standard deviation of the error at each point of a method's curve, by the method's name, drawn as a band.
    error_label
        label of the ordinate; rates are shown in per cent.
    unit
        the unit of the prices, for the axis: "dollars".
    ax
        axes to draw on; default: a figure of its own.

    Returns
    -------
    Figure
        save it with `save_picture`.

    Raises
    ------
    InvalidInputError
        if there is no curve, or one without points; for other curves in `choose_on`; for a spread that fits no curve.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, path, problem, y_test
    >>> whole_features = pm.rivals.greedy_feature_path(problem)
    >>> figure = pm.plots.plot_curves([pm.tradeoff_curve(family, X_test, y_test) for family in (path, whole_features)])
    """
    _check(curves, choose_on, spread)
    ax = axes_for(ax, (7.2, 4.8))
    for k, curve in enumerate(curves):
        chosen = (curve if choose_on is None else choose_on[k]).undominated()
        points = chosen[np.argsort(curve.cost[chosen], kind="stable")]
        style = look(k)
        cost, error = curve.cost[points], curve.error[points]
        others = np.setdiff1d(np.arange(len(curve)), points)
        ax.plot(curve.cost[others], curve.error[others], color=style["color"], ls="", marker=".", ms=3, alpha=0.35, zorder=1.5)
        if len(points) > DRAWING.most_markers:
            style["marker"] = ""
        ax.plot(cost, error, drawstyle="steps-post", ms=4.5, lw=1.6, label=literal(curve.method), **style)
        if spread is not None and curve.method in spread:
            width = spread[curve.method][points]
            ax.fill_between(cost, error - width, error + width, step="post", color=style["color"], alpha=0.15, lw=0)
    label_axes(ax, error_label, unit, whole=False)
    return finished(ax)


def _check(curves: Sequence[TradeoffCurve], choose_on: Sequence[TradeoffCurve] | None, spread: Mapping[str, Any] | None) -> None:
    """Refuse what cannot be drawn, by name."""
    if not len(curves):
        raise InvalidInputError("curves is empty; give at least one curve")
    for k, curve in enumerate(curves):
        if not len(curve):
            raise InvalidInputError(f"curves[{k}], {curve.method!r}, has no points; leave it out")
    if choose_on is not None and [len(c) for c in choose_on] != [len(c) for c in curves]:
        raise InvalidInputError("choose_on has other curves, or other points, than curves; give the same, on another sample")
    lengths = {curve.method: len(curve) for curve in curves}
    for name, width in ({} if spread is None else spread).items():
        if name not in lengths:
            raise InvalidInputError(f"spread has {name!r}, which is no curve; there are {', '.join(lengths)}")
        if np.shape(width) != (lengths[name],):
            raise InvalidInputError(
                f"spread[{name!r}] has shape {np.shape(width)}; give one number for each of the curve's {lengths[name]} points"
            )
