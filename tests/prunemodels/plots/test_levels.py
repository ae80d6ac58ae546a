"""A path in one picture: every split in the colour of its level."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection
from matplotlib.colors import to_hex
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.instance.papers import ERRORS, two_trees
from prunemodels.plots.levels import NEVER_KEPT, plot_levels
from tests.prunemodels.plots.reading import overlaps


@pytest.fixture(scope="module")
def path() -> pm.PruningPath:
    """A real path with forty levels."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(6, random_state=0).fit(X[:200], y[:200])
    return pm.pruning_path(pm.problem_from_forest(forest, X[200:240], costs=1))


def texts(ax: Axes) -> dict[str, str]:
    """The last line of each box, by the first."""
    lines = [text.get_text().split("\n") for text in ax.texts]
    return {line[0]: line[-1] for line in lines}


def inside(ax: Axes, name: str) -> str:
    """Colour of the box with that first line."""
    (text,) = [t for t in ax.texts if t.get_text().split("\n")[0] == name]
    box = text.get_bbox_patch()
    assert box is not None
    return to_hex(box.get_facecolor())


def light(colour: object) -> float:
    """How light a colour is, 0 to 1."""
    return float(np.dot(mpl.colors.to_rgb(colour), (0.299, 0.587, 0.114)))  # type: ignore[arg-type]


def test_the_papers_levels() -> None:
    """Chapter 1's levels: node 10 goes at 1/8, all others at 3/8; the longer kept the darker, leaves pale."""
    ax = plot_levels(pm.pruning_path(two_trees()), first=1).axes[0]
    found = texts(ax)
    assert {name: found[name] for name in ("1", "3", "6", "7", "10")} == {
        **dict.fromkeys(("1", "3", "6", "7"), "λ < 3/8"),
        "10": "λ < 1/8",
    }
    assert found["12"] == "12"
    assert inside(ax, "1") == inside(ax, "7")
    assert light(inside(ax, "1")) < 0.3 < light(inside(ax, "10"))
    by_name = {t.get_text().split("\n")[0]: to_hex(t.get_color()) for t in ax.texts}
    assert (by_name["1"], by_name["10"]) == ("#ffffff", "#000000")
    largest = texts(plot_levels(pm.pruning_path(two_trees(), ties="largest"), first=1).axes[0])
    assert (largest["1"], largest["10"]) == ("λ ≤ 3/8", "λ ≤ 1/8")


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_splits_without_gain_and_splits_for_free(ties: str) -> None:
    """A split that gains nothing, or less, is grey and never kept; one that costs nothing is black and always kept."""
    errors = {**ERRORS, 7: 0, 10: 0, 8: 1}  # 7 -> 8, 9 loses one, 10 -> 11, 12 loses one, so node 6 saves 4
    problem = two_trees(errors=errors, prices=(1, 0, 1))
    ax = plot_levels(pm.pruning_path(problem, ties=ties), first=1).axes[0]  # type: ignore[arg-type]
    found = texts(ax)
    assert (found["6"], found["7"], found["10"]) == ("always kept", "never kept", "never kept")
    assert inside(ax, "6") == "#000000"
    assert inside(ax, "7") == to_hex(NEVER_KEPT)
    sign = "<" if ties == "smallest" else "≤"
    assert found["1"] == f"λ {sign} 1/2"  # 2 of 8 at node 1, and 2 of 8 at node 3 for nothing more: the dearest level
    assert light(inside(ax, "1")) < 0.3


def test_what_is_kept_at_no_lambda_above_0_is_never_kept() -> None:
    """A tie at lambda = 0 keeps a split of gain 0 there alone: with the largest optima too it is grey."""
    problem = two_trees(errors={**ERRORS, 12: 2})
    for ties in ("smallest", "largest"):
        ax = plot_levels(pm.pruning_path(problem, ties=ties), first=1).axes[0]  # type: ignore[arg-type]
        assert texts(ax)["10"] == "never kept"
        assert inside(ax, "10") == to_hex(NEVER_KEPT)


def test_a_real_path_has_a_scale(path: pm.PruningPath) -> None:
    """Dots in the colours of a logarithmic scale, darker for higher levels, and a bar that says what they mean."""
    figure = plot_levels(path, trees=range(4))
    assert [text.get_text() for text in figure.axes[0].texts] == [f"tree {t}" for t in range(4)]
    bar = figure.axes[1]
    assert bar.get_xlabel() == r"level: the split is kept for $\lambda$ below it"
    shown = path.problem.splits[path.problem.ensemble.tree_of[path.problem.splits] < 4]
    table = np.array([float(b) for b in path.breakpoints])
    level = table[path.level[shown]]
    assert bar.get_xlim() == pytest.approx((level[level > 0].min(), level.max()))
    (drawn,) = [c for c in figure.axes[0].collections if isinstance(c, PathCollection)]
    lightness = np.array([light(c) for c in drawn.get_facecolor()])
    order = np.argsort(level[level > 0], kind="stable")
    assert (np.diff(lightness[level > 0][order]) <= 1e-9).all()
    ends = [to_hex(drawn.get_facecolor()[k]) for k in (np.flatnonzero(level > 0)[order[0]], np.argmax(level))]
    assert ends == [to_hex(mpl.colormaps["viridis_r"](x)) for x in (0.08, 0.95)]  # no yellow on white paper, no black


def test_a_forest_fits_a_page() -> None:
    """Forty trees of heart's size are at most 9.5 by 10 inches, numbered, and the numbers of the scale do not touch."""
    X, y = load_breast_cancer(return_X_y=True)
    noisy = np.where(np.random.default_rng(0).random(len(y)) < 0.3, 1 - y, y)  # noise grows large trees
    forest = RandomForestClassifier(40, max_samples=100, random_state=0).fit(X, noisy)
    figure = plot_levels(pm.pruning_path(pm.problem_from_forest(forest, X[:20], costs=1)))
    width, height = figure.get_size_inches()
    assert width <= 9.5
    assert height <= 10
    assert overlaps(figure) == []
    found = [text.get_text() for text in figure.axes[0].texts]
    assert found == [f"tree {t}" for t in range(len(found))]
    assert len(found) == 40 or f"the first {len(found)} of 40 trees" in figure.axes[0].get_title(loc="left")
