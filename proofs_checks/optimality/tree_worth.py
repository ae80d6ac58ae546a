"""The best closure of each tree at given profits, in integers of any length.

    worth_h  =  profit_h + max(0, worth_left) + max(0, worth_right),       over the open splits                           (1)

The best closure of all trees is worth the sum of max(0, worth) over the tops, the open splits whose parent is not open. Forcing
a split in, or out, loses

    lost_in_h   =  lost_in_parent - min(0, worth_h),                      0 above a top                                    (2)
    lost_out_h  =  min(max(0, worth_h), lost_out_parent),                 max(0, worth_h) at a top                         (3)

because a loss at h lowers its parent's worth by as much, which lowers what the parent adds by at most what it adds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Forced:
    """The best closure's worth, and (2) and (3) of every open split."""

    best: int
    lost_in: Mapping[int, int]
    lost_out: Mapping[int, int]


def tree_worth(
    profit: Mapping[int, int], left: Sequence[int], right: Sequence[int], parent: Sequence[int]
) -> tuple[dict[int, int], int]:
    """(1) of every open split, the keys of `profit`, which stand in ascending order; and the best closure's worth."""
    worth: dict[int, int] = {}
    best = 0
    for h in reversed(profit):
        below = worth.get(left[h], 0), worth.get(right[h], 0)
        worth[h] = profit[h] + max(0, below[0]) + max(0, below[1])
        if parent[h] not in profit:
            best += max(0, worth[h])
    return worth, best


def forced(profit: Mapping[int, int], left: Sequence[int], right: Sequence[int], parent: Sequence[int]) -> Forced:
    """(2) and (3) by one pass up and one down."""
    worth, best = tree_worth(profit, left, right, parent)
    lost_in: dict[int, int] = {}
    lost_out: dict[int, int] = {}
    for h in profit:
        adds = max(0, worth[h])
        lost_in[h] = lost_in.get(parent[h], 0) + adds - worth[h]
        lost_out[h] = min(adds, lost_out.get(parent[h], adds))
    return Forced(best, lost_in, lost_out)
