"""Accuracy against dollars, one panel a data set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter

from benchmarks.medical_runs import Summary
from prunemodels.plots.picture import BLACK, BLUE, VERMILION

GREY = "0.45"

TITLES = {
    "heart_cleveland": "Heart (Cleveland)",
    "heart_statlog": "Heart (Statlog)",
    "hepatitis": "Hepatitis",
    "pima": "Pima diabetes",
    "bupa": "BUPA liver",
    "ann_thyroid": "Thyroid",
}

STYLES = {
    "all prices": {
        "color": BLUE,
        "marker": "o",
        "ms": 4.5,
        "lw": 1.8,
        "label": "pruned, prices and discounts known",
        "zorder": 4,
    },
    "no discounts": {
        "color": VERMILION,
        "marker": "s",
        "ms": 3.5,
        "lw": 1.2,
        "ls": "--",
        "label": "discounts unknown",
        "zorder": 3,
    },
    "no prices": {"color": GREY, "marker": "^", "ms": 3.5, "lw": 1.2, "ls": ":", "label": "prices unknown", "zorder": 2},
}


def draw_panels(summaries: Sequence[Summary]) -> Figure:
    """Mean accuracy on the test parts against the dollars paid there; the band is one standard deviation over repeats."""
    columns = min(3, len(summaries))
    rows = -(-len(summaries) // columns)
    fig = Figure(figsize=(3.5 * columns + 0.4, 2.9 * rows + 0.9), layout="constrained")
    axes = fig.subplots(rows, columns, squeeze=False)
    for ax, summary in zip(axes.flat, summaries, strict=False):
        draw_panel(ax, summary)
    for ax in axes.flat[len(summaries) :]:
        ax.remove()
    fig.supxlabel("Canadian dollars a patient", fontsize=10)
    fig.supylabel("accuracy on patients not seen", fontsize=10)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=min(3, columns), frameon=False, fontsize=9)
    return fig


def draw_panel(ax: Axes, summary: Summary) -> None:
    """One data set."""
    for known, style in STYLES.items():
        accuracy = 1 - summary.errors(known)  # type: ignore[arg-type]
        dollars = summary.dollars(known)  # type: ignore[arg-type]
        mean = accuracy.mean(axis=0)
        if known == "all prices" and len(accuracy) > 1:
            spread = accuracy.std(axis=0, ddof=1)
            ax.fill_between(dollars, mean - spread, mean + spread, color=BLUE, alpha=0.15, lw=0)
        ax.plot(dollars, mean, clip_on=False, **style)
    ax.axvline(summary.data.price_of_all, color="0.7", lw=1, label="price of all tests", zorder=1)
    unpruned = [r.unpruned for r in summary.repeats]
    default = [r.default for r in summary.repeats]
    for measured, style in (
        (unpruned, {"mfc": BLACK, "label": "the same forest unpruned"}),
        (default, {"mfc": "white", "label": "scikit-learn's default forest"}),
    ):
        dollars, accuracy = np.mean([m.dollars for m in measured]), 1 - np.mean([m.error for m in measured])
        ax.plot(dollars, accuracy, ls="", marker="D", ms=6.5, mec=BLACK, zorder=5, clip_on=False, **style)
    ax.set_title(TITLES.get(summary.data.name, summary.data.name), fontsize=10.5, loc="left")
    ax.set_xlim(left=0)
    ax.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.xaxis.set_major_formatter("${x:g}")
    ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.tick_params(labelsize=9)
    ax.grid(color="0.92", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
