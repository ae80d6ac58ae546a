"""Merging purchases against a dictionary of user sets."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formulations.instance.merging import merge_purchases, split_duals
from tests.loops import looped


@given(st.lists(st.sets(st.integers(0, 4), min_size=1), min_size=1, max_size=30))
def test_groups_are_the_equal_user_sets(users: list[set[int]]) -> None:
    """Two purchases get the same representative exactly if their users are the same; prices add up, arcs stay in order."""
    arcs = sorted((u, j) for j, mine in enumerate(users) for u in mine)
    tail, head = (np.array(column, dtype=np.int32) for column in zip(*arcs, strict=True))
    price = np.arange(1, len(users) + 1)
    merged = merge_purchases(tail, head, price)
    groups: dict[frozenset[int], list[int]] = defaultdict(list)
    for j, mine in enumerate(users):
        groups[frozenset(mine)].append(j)
    for members in groups.values():
        assert set(merged.representative[members]) == {members[0]}
        assert merged.price[members[0]] == sum(j + 1 for j in members)
        assert all(merged.price[j] == 0 for j in members[1:])
    first = {members[0] for members in groups.values()}
    assert merged.arc.tolist() == [k for k, (_, j) in enumerate(arcs) if j in first]


@looped("seed", range(40))
def test_loads_are_shared_out_within_every_price(seed: int) -> None:
    """A flow of merged purchases becomes a flow of their members: each split's sum is kept, no member exceeds its price."""
    rng = np.random.default_rng(seed)
    n_splits, n_purchases = 4, 12
    sets = [set(rng.choice(n_splits, size=int(rng.integers(1, 4)), replace=False).tolist()) for _ in range(3)]
    kind = rng.integers(0, 3, n_purchases)
    arcs = sorted((u, j) for j in range(n_purchases) for u in sets[kind[j]])
    tail, head = (np.array(column, dtype=np.int32) for column in zip(*arcs, strict=True))
    price = rng.integers(1, 9, n_purchases)
    merged = merge_purchases(tail, head, price)
    group_tail, group_head = tail[merged.arc], head[merged.arc]
    flow, room = np.zeros(len(group_tail), dtype=np.int64), merged.price.copy()
    for k in rng.permutation(len(group_tail)):
        flow[k] = rng.integers(0, room[group_head[k]] + 1)
        room[group_head[k]] -= flow[k]
    start = np.concatenate([[0], np.cumsum(np.bincount(group_tail, minlength=n_splits))])
    dual = np.zeros(len(tail), dtype=np.int64)
    split_duals(tail, dual, merged.representative, start, group_head, flow, price, head)
    assert (np.bincount(head, dual, n_purchases) <= price).all()
    assert (dual >= 0).all()
    given_by = defaultdict(int)
    for u, j, part in zip(tail, head, dual, strict=True):
        given_by[u, merged.representative[j]] += part
    assert given_by == {(u, r): f for u, r, f in zip(group_tail, group_head, flow, strict=True)}
