"""The picture of the README and of the site's first page: `python docs/pictures.py [FOLDER]`, in seconds, from seeded data."""

from __future__ import annotations

import sys
from pathlib import Path

from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import prunemodels as pm
from formulations.answers.pruning_path import PruningPath
from prunemodels.evaluation.path import PathEvaluation, evaluate_path
from prunemodels.plots.tradeoff import BLUE, VERMILION, save_picture

STATIC = Path(__file__).resolve().parent / "_static"
BUDGET = 20.0


def measured() -> tuple[PruningPath, PathEvaluation]:
    """The README's ten lines: the path, and what each row costs and errs on the test rows."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X_train, X_rest, y_train, y_rest = train_test_split(X, y, test_size=0.5, random_state=0)
    X_valid, X_test, _, y_test = train_test_split(X_rest, y_rest, test_size=0.5, random_state=0)
    forest = RandomForestClassifier(40, criterion="entropy", random_state=0).fit(X_train, y_train)
    costs = {name: 2.5 if "worst" in name else 1.0 for name in X.columns}
    path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=costs))
    return path, evaluate_path(path, X_test, y_test)


def tradeoff(path: PruningPath, seen: PathEvaluation) -> Figure:
    """Every optimal pruning: what is minimised, and what the forest errs on rows that played no part."""
    fig = Figure(figsize=(7.2, 3.6), layout="constrained")
    ax = fig.add_subplot()
    ax.plot(path.cost, path.error, ".-", color=BLUE, lw=1.4, ms=5)
    ax.plot(seen.cost, seen.error, "s-", color=VERMILION, lw=1.0, ms=3.5)
    ax.fill_between(seen.cost, seen.error - seen.error_se, seen.error + seen.error_se, color=VERMILION, alpha=0.15, lw=0)
    row = path.row_at_cost(BUDGET)
    cost, error = float(seen.cost[row]), float(seen.error[row])
    ax.plot(cost, error, "o", ms=11, mfc="none", mec="black", mew=1.5)
    ax.annotate(
        f"half the money: {cost:.0f} instead of {seen.unpruned_cost:.0f},\n"
        f"{100 * error:.1f} % errors instead of {100 * seen.unpruned_error:.1f} %",
        (cost, error), (cost + 0.5, 0.135), fontsize=10, arrowprops={"arrowstyle": "-", "color": "0.4"},
    )  # fmt: skip
    ax.text(7.4, 0.185, "trees' mean error (minimised)", color=BLUE, fontsize=10)
    ax.text(24.5, 0.09, "forest's error, test rows (± 1 s.e.)", color=VERMILION, fontsize=10)
    ax.set(xlabel="cost of a prediction", ylabel="error", xlim=(0, None), ylim=(0, 0.4))
    ax.yaxis.set_major_formatter(lambda rate, _: f"{100 * rate:g} %")
    ax.grid(color="0.9", lw=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    return fig


def main(folder: str | Path = STATIC) -> Path:
    """Write `tradeoff.svg`."""
    return save_picture(tradeoff(*measured()), Path(folder) / "tradeoff.svg")[0]


if __name__ == "__main__":
    print(main(*sys.argv[1:2]))
