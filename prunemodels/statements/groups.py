"""Examples in groups, such as the visits of a patient: no group is on two sides of a split, and intervals count groups.

With n_g examples of weights w_i in group g, a mean over the examples is one over the groups,

    sum of w_i x_i / sum of w_i  =  sum of W_g mean_g / sum of W_g,      W_g = sum of w_i in g,  mean_g = their mean         (1)

so a group counts as one draw, whatever its examples have in common, and the intervals of `prunemodels.statements.mean_bounds`
are those of weighted draws (Liang and Zeger, 1986, for standard errors). A share's interval is exact where each group is a single
example. The share of a group lies between 0 and 1 and varies less than a draw that is 0 or 1, so else the interval is too wide
rather than too narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import GroupKFold, GroupShuffleSplit, KFold

from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import in_order_of

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


def group_numbers(groups: Any, X: Any, name: str = "groups") -> Places | None:
    """The group of each row as a number from 0 on, shape (N,); None where none are given."""
    if groups is None:
        return None
    n, given = len(X) if hasattr(X, "__len__") and not hasattr(X, "tocsr") else X.shape[0], in_order_of(X, groups, name)
    values = pd.Series(np.asarray(given).tolist())
    if len(values) != n:
        raise InvalidInputError(f"{name} has {len(values):,} entries, X has {n:,} rows; give one group each")
    if values.isna().any():
        raise InvalidInputError(f"{name}[{int(np.flatnonzero(values.isna())[0])}] is missing; give each row a group")
    found: Places = pd.factorize(values)[0].astype(np.int64)
    if found.max(initial=0) < 1:
        raise InvalidInputError(f"{name} has one group; rows that are kept apart need at least two")
    return found


def folds_of(n: int, most: int, groups: Places | None, seed: int) -> list[tuple[Places, Places]]:
    """At most so many folds of n rows, drawn at random: rows to learn from, and those of the fold."""
    if groups is None:
        parts = KFold(min(most, n), shuffle=True, random_state=seed).split(np.arange(n))
    else:
        count = min(most, np.unique(groups).size)
        parts = GroupKFold(count, shuffle=True, random_state=seed).split(np.arange(n), groups=groups)
    return [(np.asarray(rows), np.asarray(held_out)) for rows, held_out in parts]


def part_of(n: int, share: float, groups: Places, seed: int) -> tuple[Places, Places]:
    """Rows, and a share of them that is kept apart, drawn by groups."""
    rows, apart = next(GroupShuffleSplit(1, test_size=share, random_state=seed).split(np.arange(n), groups=groups))
    return np.asarray(rows), np.asarray(apart)


def repeated(groups: Places | None) -> Places | None:
    """The groups; None where each is a single row, which is no groups."""
    return None if groups is None or np.unique(groups).size == groups.size else groups


def check_apart(groups: Any, others: Any, names: tuple[str, str]) -> None:
    """Refuse a group that stands on both sides."""
    if groups is None or others is None:
        return
    both = set(np.asarray(groups).tolist()) & set(np.asarray(others).tolist())
    if both:
        raise InvalidInputError(
            f"the group {min(both, key=str)!r} is in {names[0]} and in {names[1]}; give each group to one of them"
        )


def over_groups(each: Sequence[Floats], weights: Floats, groups: Places) -> tuple[list[Floats], Floats]:
    """(1): the means of some amounts in each group, and the groups' weights."""
    total = np.bincount(groups, weights=weights).astype(np.float64)
    there = total > 0  # others have no example among these
    return [np.bincount(groups, weights=weights * x)[there] / total[there] for x in each], total[there]
