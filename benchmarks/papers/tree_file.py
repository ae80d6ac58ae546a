"""Reads the tree files of BRF15's and BP16's program (BudgetTree.cpp, writeTree and writePrunedTree) as a scikit-learn forest.

    Tree T NODES PRUNED                                                         a tree's first line; its nodes follow in pre-order
    ID PARENT YES NO FEATURE VALUE LEAF STOP CLASS [REAL] C_1 ... C_K O_1 ... O_K

YES is taken where feature FEATURE, counted from 1, is at most VALUE; C_k and O_k count the in-bag and the out-of-bag examples of
class k. The program writes VALUE with six digits, so an example next to a threshold may take the other side.

    forest = read_trees("train_0_40_0_trees", n_features=50)
    path = pm.pruning_path(pm.problem_from_forest(forest, X_valid, costs=1))
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from formulations.errors import BrokenFileError
from prunemodels.rivals.sklearn_trees import ClassificationTree, fill_forest, forest_to_fill


def read_trees(file: str | Path, *, n_features: int, n_classes: int = 2) -> RandomForestClassifier:
    """The forest; classes are 0, 1, ..., and its trees store their in-bag errors."""
    with open(file) as lines:
        trees = list(_trees(lines, str(file), n_classes))
    labels = np.arange(n_classes)
    blank = RandomForestClassifier(len(trees), bootstrap=False)
    return fill_forest(forest_to_fill(blank, np.eye(n_classes, n_features), labels), trees, n_features)


def _trees(lines: Iterator[str], file: str, n_classes: int) -> Iterator[ClassificationTree]:
    for head in lines:
        fields = head.split()
        rows = [line.split() for line in islice(lines, int(fields[2]))] if len(fields) == 4 and fields[0] == "Tree" else []
        if len(rows) != int(fields[2] if rows else 1) or {len(row) - 2 * n_classes for row in rows} - {9, 10}:
            raise BrokenFileError(f"{file}: {head.strip()!r} begins no tree of {n_classes} classes; give the program's tree file")
        counts = np.array([row[-2 * n_classes : -n_classes] for row in rows], dtype=np.float64)
        split = np.array([row[6] == "0" for row in rows])
        yes, no, feature = (np.array([int(row[k]) for row in rows], dtype=np.int32) for k in (2, 3, 4))
        value = np.array([float(row[5]) for row in rows])
        sizes = counts.sum(axis=1).astype(np.int64)
        yield ClassificationTree(np.where(split, yes, -1), np.where(split, no, -1), feature - 1, value, counts, sizes)
