"""LightGBM's boosters: reading them, and writing them back pruned.

The model text has a head, one block of ``key=value`` lines for each tree, and a tail. Splits are numbered 0, 1, ..., leaves -1,
-2, ...; a split's ``decision_type`` has bits: 1 categorical, 2 missing values go left, and in the third and fourth what is
missing. Data and thresholds are doubles, ``x <= t``. A NaN goes:

    if nothing counts as missing, a NaN counts as 0: left if 0 <= t;
    if zeros count as missing, zeros and NaNs go by the split's default;                              (1)
    if NaNs count as missing, they go by the default, and zeros by the comparison.

In models that LightGBM trains, (1) is the same at all splits of a feature, and its zeros then become NaN when data are read. Text
in which the splits of a feature differ is refused.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formulations.errors import NotFittedForestError, UnsupportedModelError
from prunemodels.models.libraries.model_forest import ModelForest, forest_from_trees, link_of
from prunemodels.models.response import Link
from prunemodels.models.trees import CategorySet, Trees, counterparts, joined, level_by_level, one_tree, remaining
from prunemodels.models.user_columns import UserColumns

CATEGORICAL, DEFAULT_LEFT = 1, 2
NONE_MISSING, ZEROS_MISSING, NANS_MISSING = 0, 1, 2
"""Which values a split takes for missing: ``(decision_type >> 2) & 3``."""

SPLIT_KEYS = ("split_feature", "split_gain", "threshold", "decision_type", "internal_value", "internal_weight", "internal_count")
LEAF_KEYS = ("leaf_value", "leaf_weight", "leaf_count")


@dataclass(frozen=True)
class ModelText:
    """The three parts of the text; each tree's block as its lines, in order."""

    head: tuple[str, ...]
    trees: tuple[dict[str, str], ...]
    tail: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> ModelText:
        """Split the text into its parts."""
        lines = text.split("\n")
        end = lines.index("end of trees")  # behind it are names of features, which may begin with "Tree=" too
        starts = [k for k, line in enumerate(lines[:end]) if line.startswith("Tree=")]
        blocks = [lines[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
        trees = tuple(dict(line.split("=", 1) for line in block if line) for block in blocks)
        return cls(tuple(lines[: starts[0]] if starts else lines[:end]), trees, tuple(lines[end:]))

    def refuse_linear_leaves(self) -> None:
        """Refuse trees whose leaves are no numbers."""
        for t, tree in enumerate(self.trees):
            if tree.get("is_linear", "0") != "0":
                raise UnsupportedModelError(f"tree {t} has linear models in its leaves; train with linear_tree=False")

    def write(self) -> str:
        """Join the parts; the sizes of the blocks, by which LightGBM finds them, are recomputed."""
        blocks = ["".join(f"{key}={value}\n" for key, value in tree.items()) + "\n\n" for tree in self.trees]
        sizes = "tree_sizes=" + " ".join(str(len(block.encode())) for block in blocks)
        head = [sizes if line.startswith("tree_sizes=") else line for line in self.head]
        return "\n".join(head) + "\n" + "".join(blocks) + "\n".join(self.tail)

    def of(self, key: str, missing: str = "") -> str:
        """A value of the head."""
        return next((line.removeprefix(f"{key}=") for line in self.head if line.startswith(f"{key}=")), missing)


def numbers(tree: dict[str, str], key: str) -> NDArray[np.float64]:
    """One of the block's arrays; empty if it is absent."""
    return np.array([float(word) for word in tree.get(key, "").split()])


def children(tree: dict[str, str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Left and right child of each split."""
    left, right = (numbers(tree, f"{side}_child").astype(np.int64) for side in ("left", "right"))
    return left, right


PANDAS, INFOS = "pandas_categorical:", "feature_infos="
"""How the lines begin that hold the categories of a table's columns, and the range or the categories of each feature."""


NUMBERS = ("regression", "regression_l1", "huber", "fair", "quantile", "mape")
LINKS: dict[str, Link] = {
    "binary": "sigmoid",
    "cross_entropy": "sigmoid",
    "multiclass": "softmax",
    "multiclassova": "one_vs_rest",
    **dict.fromkeys(NUMBERS, "identity"),
}
"""How margins become predictions, by the objective; a model of a user's own objective names none, and predicts numbers."""


def read_lightgbm(model: Any) -> ModelForest:
    """Read a ``Booster`` or any of the scikit-learn estimators of LightGBM, up to its best iteration."""
    booster = lightgbm_booster(model)
    text = ModelText.parse(booster.model_to_string())
    text.refuse_linear_leaves()
    names, (objective, *more) = tuple(booster.feature_name()), text.of("objective", "regression").split()
    link = link_of(f"{objective} sqrt" if "sqrt" in more else objective, LINKS)
    n_outputs, trees = int(text.of("num_class")), _trees(text)
    output, mean = np.arange(len(text.trees), dtype=np.int32) % n_outputs, "average_output" in text.head
    share = 1.0 / np.bincount(output, minlength=n_outputs) if mean else np.ones(n_outputs)
    # the trees; averaged ones have their share of the sum
    forest = forest_from_trees(
        trees,
        n_features=int(text.of("max_feature_idx")) + 1,
        feature_names=None if names == tuple(f"Column_{f}" for f in range(len(names))) else names,
        classes=None if link == "identity" else getattr(model, "classes_", np.arange(max(2, n_outputs))),
        output=output,
        scale=share[output],
        base=np.zeros(n_outputs),
        link=link,
        source=model,
        sharpness=next((float(word.removeprefix("sigmoid:")) for word in more if word.startswith("sigmoid:")), 1.0),
        averaged=mean,
    )
    # where missing values and zeros go is written node by node in the file's order
    files = [counterparts(forest.ensemble, t, *children(tree)) for t, tree in enumerate(text.trees)]
    missing_left, zero_missing = _missing(forest, text, files)
    ensemble = replace(forest.ensemble, missing_left=missing_left)
    zero_missing = zero_missing[: forest.n_columns]
    return replace(forest, ensemble=ensemble, zero_missing=zero_missing, zero_near=True, codes=_codes(text))


def _trees(text: ModelText) -> Trees:
    """The trees of the text; splits stand before leaves in the order that `level_by_level` reads."""
    return joined([_tree(tree) for tree in text.trees])


def _tree(tree: dict[str, str]) -> Trees:
    left_child, right_child = children(tree)
    n_splits, value = left_child.size, numbers(tree, "leaf_value")
    below = [np.concatenate([np.where(c >= 0, c, n_splits + ~c), np.full(value.size, -1)]) for c in (left_child, right_child)]
    order, left, right = level_by_level(*below)
    split = left >= 0
    place, at = np.where(split, order, 0), np.where(split, 0, order - n_splits)  # in the arrays of splits, in those of leaves

    def of(key: str) -> NDArray[np.float64]:
        return np.where(split, numbers(tree, key)[place], 0) if n_splits else np.zeros(order.size)

    feature, threshold = of("split_feature").astype(np.int64), of("threshold")
    categorical = split & (of("decision_type").astype(np.int64) & CATEGORICAL > 0)
    stored = next((found for key in ("leaf_weight", "leaf_count") if (found := numbers(tree, key)).size), np.zeros(value.size))
    return one_tree(
        left,
        right,
        feature,
        np.where(categorical, 0.0, threshold),
        np.zeros(order.size, dtype=bool),
        np.where(split, 0.0, value[at])[:, None],
        cover=np.where(split, 0.0, stored[at]),
        categories={
            h: CategorySet(int(feature[h]), _listed(tree, int(threshold[h])), True, None, False)
            for h in np.flatnonzero(categorical).tolist()
        },
    )


def _listed(tree: dict[str, str], k: int) -> frozenset[int]:
    """The categories that go left at the k-th categorical split: bits of words of 32."""
    ends, words = (numbers(tree, key).astype(np.int64).tolist() for key in ("cat_boundaries", "cat_threshold"))
    own = words[ends[k] : ends[k + 1]]
    return frozenset(32 * j + bit for j, word in enumerate(own) for bit in range(32) if word >> bit & 1)


def _codes(text: ModelText) -> UserColumns:
    """The categories of the table's columns that LightGBM was trained on; a category that it does not know counts as missing."""
    stored = json.loads(next((line for line in text.tail if line.startswith(PANDAS)), f"{PANDAS}null").removeprefix(PANDAS))
    if not stored:  # of a table without categories, or, null, of an array
        return UserColumns({}, own_codes=stored is None)
    return UserColumns(_columns_of_categories(text, stored), in_order=stored)


def _columns_of_categories(text: ModelText, stored: Sequence[Sequence[Any]]) -> dict[int, Sequence[Any]] | None:
    """The column of each list of categories, if only one choice of columns, in their order, fits what the model tells of them.

    It tells the range of a column's numbers, "[0:2]", or the codes on which it splits, "-1:1:0:2", or "none" for a column
    without use. Ordered categories are numbers to LightGBM: their codes have a range. A choice in which every column has its last
    category comes before all others.
    """
    infos = next(line for line in text.head if line.startswith(INFOS)).removeprefix(INFOS).split()
    last = [_last_code(info) for info in infos]
    tested = {int(f) for tree in text.trees for f in tree.get("split_feature", "").split()}

    for fits in (lambda code, n: code in (n - 1, np.inf), lambda code, n: code < n or code == np.inf):
        found = _possible_columns(last, [len(categories) for categories in stored], fits)
        if found is not None:
            break
    else:
        raise UnsupportedModelError(
            f"the model was trained on {len(stored)} columns of categories, and none of its columns can be these; it is damaged"
        )
    if any(len(columns) > 1 and not tested.isdisjoint(columns) for columns in found):
        return None
    return {columns[0]: categories for columns, categories in zip(found, stored, strict=True) if len(columns) == 1}


def _possible_columns(last: list[float], sizes: list[int], fits: Callable[[float, int], bool]) -> list[list[int]] | None:
    """The columns that each list of categories may belong to, by the lists' sizes and the columns' last codes; None: it has none.

    Lists keep their order, so a list's columns lie between those that it gets if all lists go as far left or right as they can.
    """
    left, right = list[int](), list[int]()
    for size in sizes:
        start = left[-1] + 1 if left else 0
        left.append(next((f for f in range(start, len(last)) if fits(last[f], size)), len(last)))
    if left[-1] == len(last):
        return None
    for size in reversed(sizes):
        stop = right[-1] if right else len(last)
        right.append(next(f for f in range(stop - 1, -1, -1) if fits(last[f], size)))
    ends = zip(left, reversed(right), sizes, strict=True)
    return [[f for f in range(a, b + 1) if fits(last[f], size)] for a, b, size in ends]


def _last_code(info: str) -> float:
    """The largest number of a column if all can be codes; infinity for a column without use, NaN if some are no codes."""
    if info == "none":
        return np.inf
    ends = [float(word) for word in info.strip("[]").split(":")]
    lowest = ends[0] if info.startswith("[") else 0.0
    return max(ends) if lowest >= 0 and all(end.is_integer() for end in ends) else np.nan


def lightgbm_booster(model: Any) -> Any:
    """The booster of an estimator, which is checked to be fitted; or the booster itself."""
    if not hasattr(model, "booster_") and not hasattr(model, "fit"):
        return model
    if not model.__sklearn_is_fitted__():
        raise NotFittedForestError.of(model)
    return model.booster_


def _missing(forest: ModelForest, text: ModelText, files: list[NDArray[np.int64]]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Where NaN goes at each node, and the features whose zeros are missing: (1)."""
    ensemble = forest.ensemble
    kind, default_left, zero_left = (np.zeros(ensemble.n_nodes, dtype=np.int64) for _ in range(3))
    for t, (tree, all_nodes) in enumerate(zip(text.trees, files, strict=True)):
        own = np.arange(ensemble.tree_start[t], ensemble.tree_start[t + 1])
        split = ensemble.is_split[own]
        if not split.any():
            continue
        file = all_nodes[split]
        decision = numbers(tree, "decision_type").astype(np.int64)[file]
        numeric = decision & CATEGORICAL == 0
        kind[own[split]] = np.where(numeric, (decision >> 2) & 3, NONE_MISSING)
        default_left[own[split]] = (decision & DEFAULT_LEFT) > 0
        zero_left[own[split]] = (numbers(tree, "threshold")[file] >= 0) & numeric
    split = ensemble.is_split
    zero_missing = np.zeros(ensemble.n_features, dtype=bool)
    zero_missing[ensemble.feature[split & (kind == ZEROS_MISSING) & (default_left != zero_left)]] = True
    clash = split & (kind == NANS_MISSING) & zero_missing[ensemble.feature] & (default_left != zero_left)
    if clash.any():
        h = int(np.flatnonzero(clash)[0])
        t = int(ensemble.tree_of[h])
        raise UnsupportedModelError(
            f"tree {t}, node {h - int(ensemble.tree_start[t])}: feature {ensemble.feature[h]} has its zeros taken for missing "
            "at other splits and not at this one; train with one setting of zero_as_missing"
        )
    # at a feature whose zeros are missing, NaN and 0 are the same; where nothing is missing, both go where 0 belongs
    by_default = (kind == NANS_MISSING) | (kind == ZEROS_MISSING)
    return np.where(by_default, default_left, zero_left).astype(bool) & split, zero_missing


def write_lightgbm(forest: ModelForest, kept: NDArray[np.bool_]) -> Any:
    """A copy of the model that keeps these splits; the library predicts with it and saves it like any other."""
    booster = lightgbm_booster(forest.source)
    text = ModelText.parse(booster.model_to_string())
    stay = remaining(forest.ensemble, kept)
    trees = tuple(_pruned_tree(tree, forest, t, kept, stay) for t, tree in enumerate(text.trees))
    names = booster.feature_name()
    pruned = copy.deepcopy(forest.source)
    tail = _with_importances(text.tail, np.bincount(forest.ensemble.feature[kept], minlength=len(names)), names)
    lightgbm_booster(pruned).model_from_string(ModelText(text.head, trees, tail).write())
    return pruned


def _pruned_tree(
    tree: dict[str, str], forest: ModelForest, t: int, kept: NDArray[np.bool_], stay: NDArray[np.bool_]
) -> dict[str, str]:
    """The block of a tree with some splits made leaves; splits and leaves numbered in the ensemble's order."""
    ensemble, nodes = forest.ensemble, forest.ensemble.nodes_of(t)
    if not ensemble.is_split[nodes.start]:
        return {**tree, "leaf_value": repr(float(forest.leaf_value[nodes.start, 0]))} if forest.revalued else tree
    left, right = children(tree)
    file = counterparts(ensemble, t, left, right)
    stays = np.flatnonzero(stay[nodes]) + nodes.start
    splits, leaves = stays[kept[stays]], stays[~kept[stays]]
    number = np.zeros(ensemble.n_nodes, dtype=np.int64)
    number[splits], number[leaves] = np.arange(splits.size), ~np.arange(leaves.size)
    changed = {"num_leaves": str(leaves.size)}
    for key in SPLIT_KEYS:
        words = tree.get(key, "").split()
        changed[key] = " ".join(words[file[h - nodes.start]] for h in splits) if words else ""
    changed["left_child"] = " ".join(str(k) for k in number[ensemble.left[splits]])
    changed["right_child"] = " ".join(str(k) for k in number[ensemble.right[splits]])
    for key in LEAF_KEYS:
        own, inner = tree.get(key, "").split(), tree.get(key.replace("leaf", "internal"), "").split()
        words = [inner[j] if j >= 0 else own[~j] for j in file.tolist()] if own and inner else []
        if (
            key == "leaf_value"
        ):  # the shortest decimals for the doubles; where no value was changed, leaves stay as the file has them
            values = zip(file.tolist(), forest.leaf_value[nodes, 0].tolist(), strict=True)
            words = [repr(value) if j >= 0 or forest.revalued else own[~j] for j, value in values]
        changed[key] = " ".join(words[h - nodes.start] for h in leaves) if words else ""
    decisions = [int(word) for word in changed["decision_type"].split()]
    if not any(decision & CATEGORICAL for decision in decisions):  # LightGBM does not keep the lists of a single leaf
        changed["num_cat"] = "0"
        tree = {key: value for key, value in tree.items() if key not in ("cat_boundaries", "cat_threshold")}
    return {key: changed.get(key, value) for key, value in tree.items()}


def _with_importances(tail: tuple[str, ...], counts: NDArray[np.int64], names: list[str]) -> tuple[str, ...]:
    """The tail with the number of splits on each feature, most first, as LightGBM writes it."""
    if "feature_importances:" not in tail:
        return tail
    start = tail.index("feature_importances:") + 1
    stop = tail.index("", start)
    used = sorted((f for f in range(len(names)) if counts[f]), key=lambda f: -counts[f])
    return (*tail[:start], *(f"{names[f]}={counts[f]}" for f in used), *tail[stop:])
