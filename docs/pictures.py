"""The pictures of the README and of the site's first page: `python docs/pictures.py [FOLDER]`.

`rivals.svg` is drawn from the benchmark's table of results in seconds. `tradeoff.svg` needs Heart's patients, see `fetch_heart`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import prunemodels as pm  # noqa: E402
from benchmarks.frontier.budgets import budgets_of  # noqa: E402
from benchmarks.frontier.comparing import at_budgets  # noqa: E402
from benchmarks.frontier.results import read_results  # noqa: E402
from prunemodels.plots.tradeoff import save_picture  # noqa: E402

STATIC = ROOT / "docs" / "_static"
RESULTS = ROOT / "benchmarks" / "results" / "frontier.csv"

PANELS = {"miniboone": "MiniBooNE, 50 features at 1 each", "covtype_two": "Covertype, 54 features at 1 each"}

LINES = {
    "optimal pruning path": ("the given forest, pruned", "#0072B2", "o", 2.4),
    "cascade of LightGBM models": ("new models: cascade", "#D55E00", "s", 2.4),
    "LightGBM, most important columns": ("boosting, most important features", "0.45", "v", 1.1),
    "LightGBM, backward elimination": ("boosting, backward elimination", "#009E73", "^", 1.1),
    "CEGB": ("boosting with prices (CEGB)", "#CC79A7", "D", 1.1),
}
"""Methods of the benchmark: what the picture calls them, colour, marker and width; ours are bold."""


def rivals() -> Figure:
    """Held-out error against cost: what this package offers beside what a user would do without it."""
    results = read_results(RESULTS)
    results = results[results["data"].isin(list(PANELS)) & results["method"].isin(list(LINES))]
    chosen = at_budgets(results, {name: budgets_of(name) for name in PANELS})
    fig = Figure(figsize=(8.4, 3.9), layout="constrained")
    for ax, (name, title) in zip(fig.subplots(1, 2), PANELS.items(), strict=True):
        _panel(ax, chosen[chosen["data"] == name])
        ax.set_title(title, fontsize=10, loc="left")
    handles, labels = fig.axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=9, frameon=False)
    return fig


def _panel(ax: Axes, some: pd.DataFrame) -> None:
    """One data set: the mean over splits at each budget."""
    for method, (label, colour, marker, width) in LINES.items():
        curve = some[some["method"] == method].groupby("budget")["error"].mean()
        ax.plot(curve.index, curve, color=colour, marker=marker, ms=2.5 + width, lw=width, label=label)
    ax.set_xscale("log")
    ticks = [b for b in (2, 3, 5, 10, 20, 50) if b <= some["budget"].max()]
    ax.set_xticks(ticks, [f"{b:g}" for b in ticks])
    ax.minorticks_off()
    ax.set(xlabel="features per prediction, at most (mean)", ylim=(0, 0.28))
    ax.set_yticks(np.arange(0, 0.26, 0.05), [f"{rate:.0f} %" for rate in range(0, 26, 5)])
    ax.set_ylabel("wrong predictions, held out")
    ax.grid(color="0.9", lw=0.8)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)


def tradeoff() -> Figure:
    """The README's result: what budgets below and above 150 dollars would cost and err on test patients."""
    X, y, costs = pm.datasets.fetch_heart()
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.6, random_state=0, stratify=y)
    X_valid, X_test, y_valid, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0, stratify=y_rest)
    forest = RandomForestClassifier(50, min_samples_leaf=3, random_state=0).fit(X_train, y_train)
    result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=150)
    return result.plot(X_test, y_test, unit="dollars")


def main(folder: str | Path = STATIC) -> list[Path]:
    """Write both pictures."""
    pictures = {"rivals.svg": rivals, "tradeoff.svg": tradeoff}
    return [save_picture(draw(), Path(folder) / name)[0] for name, draw in pictures.items()]


if __name__ == "__main__":
    print(*main(*sys.argv[1:2]), sep="\n")
