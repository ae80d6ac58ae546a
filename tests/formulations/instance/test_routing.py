"""Which examples reach which node."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formulations import InvalidInputError
from formulations.instance.routing import as_rows, leaves_of, route
from tests.instances import Node, ensemble_of, random_tree


def walk(ensemble, rows, t):
    """The nodes that each row visits in tree t."""
    visited = []
    for row in rows:
        h, nodes = int(ensemble.tree_start[t]), []
        while ensemble.left[h] >= 0:
            nodes.append(h)
            x = row[ensemble.feature[h]]
            left = ensemble.missing_left[h] if np.isnan(x) else float(x) <= ensemble.threshold[h]
            h = int(ensemble.left[h] if left else ensemble.right[h])
        visited.append([*nodes, h])
    return visited


def test_by_hand():
    """Two splits: rows 1 and 3 go left, 0 to the middle leaf, 2 to the right one; equality goes left."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0, 1, 2.0, Node(0), Node(0)))], 2)
    routing = route(ensemble, as_rows([[1, 2], [0, 9], [1, 3], [0.5, 9]], 2))
    assert routing.order.tolist() == [[1, 3, 0, 2]]
    assert list(zip(routing.start, routing.stop, strict=True)) == [(0, 4), (0, 2), (2, 4), (2, 3), (3, 4)]
    assert routing.counts().tolist() == [4, 2, 2, 1, 1]
    assert leaves_of(ensemble, as_rows([[1, 2], [0, 9], [1, 3], [0.5, 9]], 2)).tolist() == [[3, 1, 4, 1]]


@given(st.integers(0, 10_000), st.booleans())
@settings(deadline=None)
def test_ranges_are_the_rows_that_walk_through(seed, missing):
    """``order[t, start[h]:stop[h]]`` is exactly the set of rows that a walk from the root takes through h."""
    rng = np.random.default_rng(seed)
    ensemble, _ = ensemble_of([random_tree(rng, 3, int(rng.integers(0, 9)), 3) for _ in range(3)], 3)
    ensemble.missing_left[:] = rng.random(ensemble.n_nodes) < 0.5
    X = rng.integers(0, 5, (int(rng.integers(1, 20)), 3)).astype(float) - rng.choice([0, 0.5])
    if missing:
        X[rng.random(X.shape) < 0.3] = np.nan
    rows = as_rows(X, 3)
    routing, leaves = route(ensemble, rows), leaves_of(ensemble, rows)
    for t in range(ensemble.n_trees):
        visited = walk(ensemble, rows, t)
        assert sorted(routing.order[t]) == list(range(len(X)))
        assert leaves[t].tolist() == [nodes[-1] for nodes in visited]
        for h in range(ensemble.tree_start[t], ensemble.tree_start[t + 1]):
            reached = set(routing.order[t, routing.start[h] : routing.stop[h]].tolist())
            assert reached == {i for i, nodes in enumerate(visited) if h in nodes}


def test_cells_are_compared_as_float32_and_thresholds_as_float64():
    """0.1 is above the float64 threshold 0.1, because the nearest float32 is; the next one below is not."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.1, Node(0), Node(0))], 1)
    below = np.nextafter(np.float32(0.1), np.float32(0))
    assert leaves_of(ensemble, as_rows([[0.1], [float(below)], [float(np.float32(0.1))]], 1)).tolist() == [[2, 1, 2]]


def test_missing_values_go_where_the_node_says():
    """NaN goes left or right by `missing_left`, whatever the threshold."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0)), Node(0, 0, np.inf, Node(0), Node(0))], 1)
    ensemble.missing_left[:] = [True, False, False, False, False, False]
    assert leaves_of(ensemble, as_rows([[np.nan], [9]], 1)).tolist() == [[1, 2], [5, 4]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.empty((0, 2)), "X is empty"),
        ([[1, 2, 3]], "X has 3 columns, the forest was trained on 2 features"),
        ([1, 2], r"X has shape \(2,\); give a table"),
        ([[1, np.inf]], r"X\[0, 1\] is infinite"),
        ([[1, 2], [-1e300, 2]], r"X\[1, 0\] is infinite as a float32"),
        (pd.DataFrame([[1, 2.0], [-1e300, 2]]), r"X\[1, 0\] is infinite as a float32"),
        ([[1, "two"]], "X has a column that is not numeric"),
        ([[1, None], [1, {}]], "X has a column that is not numeric"),
    ],
)
def test_refusals(X, message):
    """What scikit-learn would not route is refused here too, by its place."""
    with pytest.raises(InvalidInputError, match=message):
        as_rows(X, 2)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (np.ma.masked_array([[1.0, 2.0]], [[True, False]]), "X is a masked array; give numbers, with NaN"),
        (np.array([[1j, 2]]), r"X holds complex numbers \(complex128\); give real ones"),
        (np.array([["2020-01-01", "2021-01-01"]], dtype="M8[D]"), r"X holds dates \(datetime64\[D\]\); give numbers"),
        (np.array([[1, 2]], dtype="m8[s]"), r"X holds time differences \(timedelta64\[s\]\); give numbers, such as seconds"),
        (pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2020"])}), r"the column 'b' of X holds dates \(datetime64\[.*\]\)"),
    ],
)
def test_tables_of_other_than_real_numbers_are_refused(table, message):
    """Each would become numbers without a word: a mask and an imaginary part are dropped, a date is counted in microseconds."""
    with pytest.raises(InvalidInputError, match=message):
        as_rows(table, 2)


def test_threads_may_route_at_once() -> None:
    """Eight threads that route the same rows through the same trees get the same ranges as one."""
    rng = np.random.default_rng(0)
    ensemble, _ = ensemble_of([random_tree(rng, 3, 30, 5) for _ in range(6)], 3)
    rows = rng.integers(0, 5, (2000, 3)).astype(np.float32)
    alone = route(ensemble, rows)
    with ThreadPoolExecutor(8) as pool:
        for routing in pool.map(lambda _: route(ensemble, rows), range(32)):
            assert np.array_equal(routing.order, alone.order)
            assert np.array_equal(routing.start, alone.start)
            assert np.array_equal(routing.stop, alone.stop)
