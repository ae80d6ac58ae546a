"""Where rows go, all at once or in chunks, in blocks and in scratch files."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
import tempfile
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from formulations import BrokenFileError, InvalidInputError, memory
from formulations.instance import routing as module
from formulations.instance.routing import BLOCK_ROWS, Routing, as_rows, leaves_of, route, row_blocks, row_order
from formulations.memory import scratch_array
from prunemodels.models.forests.reading import read_forest
from prunemodels.tables.problem import ChunkedRouting
from tests.instances import Node, ensemble_of, random_problem, random_tree, way
from tests.loops import looped


def test_rows_that_do_not_fit_are_refused_before_any_memory_is_taken(monkeypatch):
    """6 bytes for each row and tree: 200,000 rows of one tree in 1.2 MB, not in one byte less; the words say what helps."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    rows = np.zeros((200_000, 1), dtype=np.float32)
    monkeypatch.setattr(memory, "memory_free", lambda: 1_200_000)
    assert route(ensemble, rows).n_rows == 200_000
    monkeypatch.setattr(memory, "memory_free", lambda: 1_199_999)
    with pytest.raises(InvalidInputError, match=r"200,000 rows.* 1 trees needs 1 MB of memory, 1 MB are free.* 20,000"):
        route(ensemble, rows)


def test_by_hand():
    """Two splits: rows 1 and 3 go left, 0 to the middle leaf, 2 to the right one; equality goes left. Alike in two chunks."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0, 1, 2.0, Node(0), Node(0)))], 2)
    table = as_rows([[1, 2], [0, 9], [1, 3], [0.5, 9]], 2)
    for routing in (route(ensemble, table), chunked(ensemble, table, [1], n_rows=4)):
        assert routing.order.tolist() == [[1, 3, 0, 2]]
        assert list(zip(routing.start, routing.stop, strict=True)) == [(0, 4), (0, 2), (2, 4), (2, 3), (3, 4)]
        assert routing.counts().tolist() == [4, 2, 2, 1, 1]
    assert leaves_of(ensemble, table).tolist() == [[3, 1, 4, 1]]


@pytest.mark.slow
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
        visited = [way(ensemble, ensemble.roots[t], row) for row in rows]
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
    # NaN goes left or right by `missing_left`, whatever the threshold
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
        # each would become numbers without a word: a mask and an imaginary part are dropped, a date is counted in microseconds
        (np.ma.masked_array([[1.0, 2.0]], [[True, False]]), "X is a masked array; give numbers, with NaN"),
        (np.array([[1j, 2]]), r"X holds complex numbers \(complex128\); give real ones"),
        (np.array([["2020-01-01", "2021-01-01"]], dtype="M8[D]"), r"X holds dates \(datetime64\[D\]\); give numbers"),
        (np.array([[1, 2]], dtype="m8[s]"), r"X holds time differences \(timedelta64\[s\]\); give numbers, such as seconds"),
        (pd.DataFrame({"a": [1.0], "b": pd.to_datetime(["2020"])}), r"the column 'b' of X holds dates \(datetime64\[.*\]\)"),
    ],
)
def test_refusals(X, message):
    """What scikit-learn would not route is refused here too, by its place."""
    with pytest.raises(InvalidInputError, match=message):
        as_rows(X, 2)


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


@pytest.mark.parametrize("ordered", [False, True])
@looped("seed", range(12))
@looped("size", [1, 2, 5, BLOCK_ROWS])
def test_the_blocks_of_a_node_together_are_its_rows(seed: int, size: int, ordered: bool) -> None:
    """(2) of `formulations.instance.routing`: block by block, the rows of every node, and as many blocks as there must be.
    Whatever order the rows are in; leaf by leaf the places rise.
    """
    problem = random_problem(seed)
    routing, ensemble = problem.usage.routing, problem.ensemble
    rows = np.random.default_rng(seed).permutation(routing.n_rows).astype(np.int32) if ordered else np.arange(routing.n_rows)
    blocks = row_blocks(routing, ensemble.tree_of, size, rows.astype(np.int32) if ordered else None)
    assert blocks.n_blocks == -(-routing.n_rows // size)
    np.testing.assert_array_equal(blocks.rows, rows)
    for h in range(ensemble.n_nodes):
        t = ensemble.tree_of[h]
        found = [
            b * size + blocks.order[t, b * size + blocks.start[b, h] : b * size + blocks.stop[b, h]].astype(np.int64)
            for b in range(blocks.n_blocks)
        ]
        mine = routing.order[t, routing.start[h] : routing.stop[h]]
        assert np.array_equal(np.sort(rows[np.concatenate(found)]), np.sort(mine))
        assert all(((part >= b * size) & (part < (b + 1) * size)).all() for b, part in enumerate(found))
        if not ensemble.is_split[h]:
            assert all((np.diff(part) > 0).all() for part in found)


@looped("seed", range(12))
def test_rows_are_sorted_by_what_they_met(seed: int) -> None:
    """(2) row by row: the roots' sides first, tree by tree, then the next depth; equal rows as they come."""
    problem = random_problem(seed)
    ensemble, routing = problem.ensemble, problem.usage.routing
    keys = []
    for i in range(routing.n_rows):
        key = []
        for depth in range(1, module.DEPTH + 1):
            for t in range(min(module.TREES, ensemble.n_trees)):
                reached = [
                    h
                    for h in ensemble.right[ensemble.is_split]
                    if ensemble.tree_of[h] == t
                    and ensemble.depth[h] == depth
                    and i in routing.order[t, routing.start[h] : routing.stop[h]]
                ]
                key.append(len(reached))
        keys.append((key, i))
    assert [i for _, i in sorted(keys)] == row_order(routing, ensemble).tolist()


def mapped(array):
    """Whether an array's numbers are in a file, and go there when they are written."""
    while array is not None and not isinstance(array, np.memmap):
        array = getattr(array, "base", None)  # the memory of an unpickled array has no base
    return array is not None and array.mode == "r+"


def on_disk(routing, folder):
    """The same routing, its order in a file."""
    order = scratch_array(routing.order.shape, np.int32, folder)
    order[:] = routing.order
    return Routing(order, routing.start, routing.stop, folder)


@pytest.mark.parametrize("shape", [7, (3, 4), (2, 0), 0, (1, 2, 3)])
def test_arrays_are_the_same_wherever_they_are(shape, tmp_path):
    """Of the shape and type that was asked for, plain arrays that can be written; an empty one needs no file, others a folder."""
    for folder in (None, tmp_path):
        array = scratch_array(shape, np.int16, folder)
        assert type(array) is np.ndarray  # compiled kernels take no other
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert array.dtype == np.int16
        assert array.flags.carray
        assert folder is None or not array.any()  # a new file holds zeros
        array[...] = 5
        assert (array == 5).all()
        assert mapped(array) == (folder is not None and array.size > 0)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(BrokenFileError, match=f"there is no folder .*{folder.name}; create it"):
            scratch_array(3, np.int8, folder)


def test_a_routing_on_disk_travels_as_one_in_memory(tmp_path):
    """Where it is opened there may be no such folder. What users of a purchase are told of stands where the routing does."""
    usage = random_problem(7).usage
    routing = on_disk(usage.routing, tmp_path)
    nobody = np.zeros(usage.ensemble.n_nodes, dtype=bool)
    assert not mapped(usage.paid_by(nobody))
    assert mapped(replace(usage, routing=routing).paid_by(nobody))
    opened = pickle.loads(pickle.dumps(routing))
    assert type(opened) is Routing
    assert not mapped(opened.order)
    for part in ("order", "start", "stop"):
        assert np.array_equal(getattr(opened, part), getattr(routing, part))


STUMP, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)


def same(one, other):
    """Whether two routings are equal bit for bit."""
    parts = [(getattr(one, part), getattr(other, part)) for part in ("order", "start", "stop")]
    return all(a.dtype == np.int32 and np.array_equal(a, b) for a, b in parts)


def chunked(ensemble, rows, cuts, **options):
    """The routing of the rows, cut into chunks at the given places."""
    routing = ChunkedRouting(ensemble, **options)
    for chunk in np.split(rows, sorted(cuts)):
        routing.add(chunk)
    return routing.finish()


@pytest.mark.slow
@given(st.data())
@settings(deadline=None, max_examples=60)
def test_chunks_of_any_sizes_give_the_routing_of_the_whole(data):
    """However the rows are cut, announced or not, in more announced room than they need, in memory or on disk: the same bits."""
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    n_rows = data.draw(st.integers(1, 25))
    trees = [random_tree(rng, 3, int(rng.integers(0, 9)), 3) for _ in range(int(rng.integers(1, 5)))]
    ensemble, _ = ensemble_of(trees, 3)
    ensemble.missing_left[:] = rng.random(ensemble.n_nodes) < 0.5
    X = rng.integers(0, 5, (n_rows, 3)).astype(float)
    X[rng.random(X.shape) < 0.2] = np.nan
    rows = as_rows(X, 3)
    cuts = data.draw(st.lists(st.integers(0, n_rows), max_size=4))
    announced = data.draw(st.sampled_from([None, n_rows, n_rows + 1, 2 * n_rows + 3]))
    scratch = data.draw(st.sampled_from([None, tempfile.gettempdir()]))
    found = chunked(ensemble, rows, cuts, n_rows=announced, scratch=scratch)
    assert same(found, route(ensemble, rows))
    assert found.order.flags.c_contiguous


def test_trees_with_more_leaves_than_two_bytes_can_tell_apart():
    """Without an announced number of rows, positions of a tree of 70,000 leaves take four bytes; nothing wraps around."""
    n = 70_000
    x = np.arange(n, dtype=np.float64)  # the k-th leaf takes the values from k - 1 to k
    ensemble = read_forest(DecisionTreeRegressor().fit(x[:, None], x * 1.5))
    assert ensemble.n_nodes == 2 * n - 1
    rows = as_rows(np.linspace(0, n, 500)[:, None], 1)
    assert same(chunked(ensemble, rows, [200]), route(ensemble, rows))


def test_scratch_files_are_mapped_and_leave_nothing_behind(tmp_path):
    """The order lives in a file, which no listing shows while it is used; nor is there one after."""
    for announced in (None, 3):
        routing = chunked(STUMP, as_rows([[1], [0], [2]], 1), [1], n_rows=announced, scratch=tmp_path)
        assert list(tmp_path.iterdir()) == []
        base = routing.order
        while base.base is not None and not isinstance(base, np.memmap):
            base = base.base
        assert isinstance(base, np.memmap)
        assert type(routing.order) is np.ndarray  # compiled kernels take no other


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the system does not list open files")
def test_a_scratch_folder_holds_many_chunks_in_few_files(tmp_path):
    """A system lets a process open some thousand files; small chunks are more than that. None stays open afterwards."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))] * 2, 1)
    rows = as_rows(np.arange(900)[:, None] % 3 / 2, 1)
    files = Path("/proc/self/fd")
    before = len(list(files.iterdir()))
    routing = ChunkedRouting(ensemble, scratch=tmp_path)
    for k in range(300):
        routing.add(rows[3 * k : 3 * k + 3])
    assert len(list(files.iterdir())) - before < 20
    found = routing.finish()
    del routing
    assert len(list(files.iterdir())) - before == 1
    assert found.scratch is not None
    assert same(found, route(ensemble, rows))


def test_a_scratch_folder_without_room_is_refused(tmp_path, monkeypatch):
    """Before the first row is read, with what is needed and what is there; and so is one that does not exist."""
    with pytest.raises(BrokenFileError, match=r"there is no folder .*nowhere"):
        ChunkedRouting(STUMP, 3, scratch=tmp_path / "nowhere")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(3999))
    with pytest.raises(BrokenFileError, match=r"4,000 bytes are needed, .* has 3,999 free"):
        ChunkedRouting(STUMP, 1000, scratch=tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9))
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(BrokenFileError, match="no file of 4,000 bytes can be made"):
        ChunkedRouting(STUMP, 1000, scratch=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("announced", [None, 0, 5])
def test_no_rows_and_too_many_are_refused(announced, tmp_path):
    """An empty table as `as_rows` refuses it; rows beyond those announced, which would overwrite other trees' positions."""
    routing = ChunkedRouting(STUMP, announced, scratch=tmp_path)
    with pytest.raises(InvalidInputError, match="X is empty"):
        routing.finish()
    if announced:
        with pytest.raises(InvalidInputError, match="6 rows have come, 5 were announced"):
            routing.add(np.ones((6, 1), dtype=np.float32))
