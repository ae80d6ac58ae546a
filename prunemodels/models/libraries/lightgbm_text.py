"""LightGBM's model text: a head, one block of ``key=value`` lines for each tree, a tail.

Splits are numbered 0, 1, ..., leaves -1, -2, ...; a split's ``decision_type`` has bits: 1 categorical, 2 missing values go left,
and in the third and fourth what is missing: nothing (a NaN counts as 0), zeros (and NaN), or NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        starts = [k for k, line in enumerate(lines) if line.startswith("Tree=")]
        end = lines.index("end of trees")
        blocks = [lines[a:b] for a, b in zip(starts, [*starts[1:], end], strict=True)]
        trees = tuple(dict(line.split("=", 1) for line in block if line) for block in blocks)
        return cls(tuple(lines[: starts[0]] if starts else lines[:end]), trees, tuple(lines[end:]))

    def write(self) -> str:
        """Join the parts; the sizes of the blocks, by which LightGBM finds them, are recomputed."""
        blocks = ["".join(f"{key}={value}\n" for key, value in tree.items()) + "\n\n" for tree in self.trees]
        sizes = "tree_sizes=" + " ".join(str(len(block.encode())) for block in blocks)
        head = [sizes if line.startswith("tree_sizes=") else line for line in self.head]
        return "\n".join(head) + "\n" + "".join(blocks) + "\n".join(self.tail)


def numbers(tree: dict[str, str], key: str) -> NDArray[np.float64]:
    """One of the block's arrays; empty if it is absent."""
    return np.array([float(word) for word in tree.get(key, "").split()])


def children(tree: dict[str, str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Left and right child of each split."""
    left, right = (numbers(tree, f"{side}_child").astype(np.int64) for side in ("left", "right"))
    return left, right
