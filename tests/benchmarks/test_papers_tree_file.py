"""Tree files of the papers' program, read as forests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from benchmarks.papers.tree_file import read_trees
from formulations.errors import BrokenFileError


def written(forest: Any, *, pruned_format: bool = False) -> str:
    """A forest as the program writes it, or without the field that the files of pruned trees lack."""
    lines = []
    for t, estimator in enumerate(forest.estimators_):
        tree = estimator.tree_
        lines.append(f"Tree {t} {tree.node_count} 0")
        parent = np.full(tree.node_count, -1)
        for h in np.flatnonzero(tree.children_left >= 0):
            parent[[tree.children_left[h], tree.children_right[h]]] = h
        for h in range(tree.node_count):
            leaf = tree.children_left[h] < 0
            counts = np.rint(tree.value[h, 0] * tree.weighted_n_node_samples[h]).astype(int)
            numbers = [h, parent[h], tree.children_left[h], tree.children_right[h], 0 if leaf else tree.feature[h] + 1]
            numbers += [repr(float(tree.threshold[h])), int(leaf), 0, counts.argmax(), *([] if pruned_format else [-0.5])]
            lines.append(" ".join(map(str, [*numbers, *counts, *np.zeros_like(counts)])))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("pruned_format", [False, True])
def test_a_forest_comes_back(tmp_path: Path, pruned_format: bool) -> None:
    """The same predictions and the same exact path, in-bag errors from the file's counts."""
    X, y = load_breast_cancer(return_X_y=True)
    grown = RandomForestClassifier(3, max_depth=4, random_state=0).fit(X, y)
    file = tmp_path / "train_0_3_0_trees"
    file.write_text(written(grown, pruned_format=pruned_format))
    read = read_trees(file, n_features=30)
    np.testing.assert_allclose(read.predict_proba(X), grown.predict_proba(X), atol=1e-12)
    paths = [pm.pruning_path(pm.problem_from_forest(forest, X, costs=1), certificate=False) for forest in (read, grown)]
    assert paths[0].breakpoints == paths[1].breakpoints
    assert paths[0].cost.tolist() == paths[1].cost.tolist()


@pytest.mark.parametrize(
    "text", ["Tree 0 3 0\n0 -1 -1 -1 0 0 1 0 0 0 5 5 0 0\n", "Branch 0 1 0\n", "Tree 0 1 0\n0 -1 -1 -1 0 0 1\n"]
)
def test_what_is_no_tree_file_is_named(tmp_path: Path, text: str) -> None:
    """A tree that ends too early, another first word, a line that lacks its counts."""
    (tmp_path / "trees").write_text(text)
    with pytest.raises(BrokenFileError, match="begins no tree of 2 classes"):
        read_trees(tmp_path / "trees", n_features=2)
