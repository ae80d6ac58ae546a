"""The pictures of the README and of the site's first page: `python docs/pictures.py [FOLDER]`.

`same.svg` is drawn from the table of `python -m benchmarks.on_demand` in benchmarks/README.md, `rivals.svg` from the benchmark's
results. `tradeoff.svg` needs Heart's patients, see `fetch_heart`.
"""

from __future__ import annotations

import re
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
from benchmarks.frontier.data import budgets_of  # noqa: E402
from benchmarks.frontier.results import read_results  # noqa: E402
from benchmarks.frontier.tables import at_budgets  # noqa: E402
from prunemodels.plots.picture import save_picture  # noqa: E402

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


SAME = {
    "miniboone | none": "MiniBooNE, features",
    "covtype426k | none": "Covertype, features",
    **{name: f"{name}, dollars" for name in ("Hepatitis", "Thyroid", "Pima", "Heart (Cleveland)", "BUPA")},
}
"""Unpruned forests in the table of the benchmark, and what the picture calls them."""


def same() -> Figure:
    """What a prediction costs when features are asked for one at a time, against asking for all that the trees need."""
    section = re.split(r"^## ", (ROOT / "benchmarks" / "README.md").read_text(), flags=re.MULTILINE)
    (table,) = (part for part in section if part.startswith("On demand"))
    found = [re.search(rf"^\| {re.escape(name)} \| ([\d.]+) \| ([\d.]+) \|", table, re.MULTILINE) for name in SAME]
    before, after = np.array([[float(x) for x in row.groups()] for row in found if row]).T
    share = after / before
    assert len(share) == len(SAME)
    fig = Figure(figsize=(6.6, 2.9), layout="constrained")
    ax = fig.subplots()
    ax.barh(range(len(SAME)), share, color="#0072B2", height=0.62)
    for at, (part, was, now) in enumerate(zip(share, before, after, strict=True)):
        ax.text(part + 0.01, at, f"{100 * part:.0f} %: {now:.1f} in place of {was:.1f}", va="center", fontsize=9)
    ax.set_yticks(range(len(SAME)), list(SAME.values()))
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.5), xlabel="cost of a prediction, as a share of asking for all at once")
    ax.set_xticks(np.arange(0, 1.1, 0.25), [f"{x} %" for x in range(0, 101, 25)])
    ax.spines[["top", "right"]].set_visible(False)
    fig.suptitle(
        f"The same predictions for {100 * share.min():.0f} to {100 * share.max():.0f} % of the price",
        fontsize=11,
        x=0.01,
        ha="left",
    )
    return fig


def rivals() -> Figure:
    """Held-out error against cost: what this package offers beside what a user would do without it."""
    results = read_results(RESULTS)
    results = results[results["data"].isin(list(PANELS)) & results["method"].isin(list(LINES))]
    chosen = at_budgets(results, {name: budgets_of(name) for name in PANELS})
    fig = Figure(figsize=(8.4, 4.2), layout="constrained")
    for ax, (name, title) in zip(fig.subplots(1, 2), PANELS.items(), strict=True):
        _panel(ax, chosen[chosen["data"] == name])
        ax.set_title(title, fontsize=10, loc="left")
    fig.suptitle("New models err less: cascades least, at every budget short of all features", fontsize=11, x=0.01, ha="left")
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
    fig = result.plot(X_test, y_test, unit="dollars")
    fig.suptitle(
        f"{len(y_test)} test patients are too few to say whether half the dollars err more", fontsize=11, x=0.01, ha="left"
    )
    return fig


def main(folder: str | Path = STATIC) -> list[Path]:
    """Write the pictures."""
    pictures = {"same.svg": same, "rivals.svg": rivals, "tradeoff.svg": tradeoff}
    return [save_picture(draw(), Path(folder) / name)[0] for name, draw in pictures.items()]


if __name__ == "__main__":
    print(*main(*sys.argv[1:2]), sep="\n")
