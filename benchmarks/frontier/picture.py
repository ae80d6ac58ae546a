"""All curves: test error against mean cost, one small picture for each data set; our methods bold, the others thin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.frontier.comparing import at_budgets
from benchmarks.frontier.tables import variance

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#7F7F7F")
"""Okabe and Ito's palette, safe for colour-blind readers."""

MARKERS = "os^vDPX<>*hd"
COLUMNS = 3


def frontier_picture(
    results: pd.DataFrame, budgets: Mapping[str, Sequence[float]], ours: Sequence[str], regressions: Sequence[str]
) -> Figure:
    """One panel for each data set; costs on a logarithmic axis, the legend below."""
    chosen = at_budgets(results, budgets)
    sets = list(dict.fromkeys(chosen["data"]))
    methods = sorted(dict.fromkeys(chosen["method"]), key=lambda m: m in ours)
    rows = -(-len(sets) // COLUMNS)
    figure = Figure(figsize=(4.2 * min(COLUMNS, len(sets)), 3.1 * rows + 1.6), layout="constrained")
    panels = np.atleast_1d(figure.subplots(rows, min(COLUMNS, len(sets)))).ravel()
    handles = {}
    for panel, data in zip(panels, sets, strict=False):
        some = chosen[chosen["data"] == data]
        scale = variance(some, data in regressions)
        for k, method in enumerate(methods):
            curve = some[some["method"] == method].groupby("budget")[["cost", "error"]].mean()
            if len(curve):
                handles[method] = panel.plot(
                    [float(b) for b in curve.index], 100 * curve["error"] / scale, **style(k, method in ours), label=method
                )[0]
        worst = 100 * some[some["method"].isin(list(ours))].groupby(["method", "budget"])["error"].mean().max() / scale
        if np.isfinite(worst):  # a curve with larger errors than all of ours would compress the others
            panel.set_ylim(top=min(panel.get_ylim()[1], 1.05 * worst))
        panel.set_title(data, fontsize=10)
        panel.set_xlabel("mean cost of a prediction, at most", fontsize=8)
        panel.set_xscale("log")
        panel.set_xticks(list(budgets[data])[::2], [f"{b:.3g}" for b in list(budgets[data])[::2]])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
        panel.tick_params(labelsize=8)
    for panel in panels[len(sets) :]:
        panel.set_visible(False)
    figure.supylabel("test error, % (squared error: of that of the mean)", fontsize=9)
    shown = [method for method in methods if method in handles]
    figure.legend([handles[method] for method in shown], shown, loc="outside lower center", ncols=3, fontsize=8)
    return figure


def style(k: int, is_ours: bool) -> dict[str, object]:
    """Line style of the k-th method; its pair of colour and marker is unique."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "marker": MARKERS[k % len(MARKERS)],
        "linestyle": "-" if is_ours or k < len(COLOURS) else "--",
        "linewidth": 2.6 if is_ours else 0.9,
        "markersize": 5 if is_ours else 3.5,
        "zorder": 3 if is_ours else 2,
    }
