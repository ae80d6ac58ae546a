"""The routing of rows that come in chunks is the routing of all rows."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeRegressor

from formulations import BrokenFileError, InvalidInputError
from formulations.instance.chunked_routing import ChunkedRouting
from formulations.instance.routing import as_rows, route
from prunemodels.models.forests.reading import read_forest
from tests.instances import Node, ensemble_of, random_tree


def same(one, other):
    """Whether two routings are equal bit for bit."""
    return all(
        getattr(one, part).dtype == np.int32 and np.array_equal(getattr(one, part), getattr(other, part))
        for part in ("order", "start", "stop")
    )


def chunked(ensemble, rows, cuts, **options):
    """The routing of the rows, cut into chunks at the given places."""
    routing = ChunkedRouting(ensemble, **options)
    for chunk in np.split(rows, sorted(cuts)):
        routing.add(chunk)
    return routing.finish()


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


def test_by_hand():
    """Rows 1 and 3 go left, 0 and 2 right; in two chunks they keep their numbers and, within a leaf, their order."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    routing = chunked(ensemble, as_rows([[1], [0], [2], [0]], 1), [1], n_rows=4)
    assert routing.order.tolist() == [[1, 3, 0, 2]]
    assert list(zip(routing.start, routing.stop, strict=True)) == [(0, 4), (0, 2), (2, 4)]


def test_trees_with_more_leaves_than_two_bytes_can_tell_apart():
    """Without an announced number of rows, positions of a tree of 70,000 leaves take four bytes; nothing wraps around."""
    n = 70_000
    ensemble = comb(n)
    rows = as_rows(np.linspace(0, n, 500)[:, None], 1)
    assert same(chunked(ensemble, rows, [200]), route(ensemble, rows))


def comb(n_leaves):
    """A balanced tree on one feature whose k-th leaf takes the values from k - 1 to k."""
    x = np.arange(n_leaves, dtype=np.float64)
    tree = DecisionTreeRegressor().fit(x[:, None], x * 1.5)
    assert tree.get_n_leaves() == n_leaves
    return read_forest(tree)


def test_more_rows_than_announced_are_refused():
    """They would overwrite other trees' positions."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    routing = ChunkedRouting(ensemble, 3)
    routing.add(as_rows([[1], [2]], 1))
    with pytest.raises(InvalidInputError, match="4 rows have come, 3 were announced"):
        routing.add(as_rows([[1], [2]], 1))


def test_scratch_files_are_mapped_and_leave_nothing_behind(tmp_path):
    """The order lives in a file, which no listing shows while it is used; nor is there one after."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    rows = as_rows([[1], [0], [2]], 1)
    for announced in (None, 3):
        routing = chunked(ensemble, rows, [1], n_rows=announced, scratch=tmp_path)
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
    before = open_files()
    routing = ChunkedRouting(ensemble, scratch=tmp_path)
    for k in range(300):
        routing.add(rows[3 * k : 3 * k + 3])
    assert open_files() - before < 20
    found = routing.finish()
    del routing
    assert open_files() - before == 1
    assert found.scratch is not None
    assert same(found, route(ensemble, rows))


def open_files():
    """How many files this process has open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_scratch_folder_without_room_is_refused(tmp_path, monkeypatch):
    """Before the first row is read, with what is needed and what is there; and so is one that does not exist."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    with pytest.raises(BrokenFileError, match=r"there is no folder .*nowhere"):
        ChunkedRouting(ensemble, 3, scratch=tmp_path / "nowhere")
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(3999))
    with pytest.raises(BrokenFileError, match=r"4,000 bytes are needed, .* has 3,999 free"):
        ChunkedRouting(ensemble, 1000, scratch=tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9))
    monkeypatch.setattr(os, "posix_fallocate", full, raising=False)
    with pytest.raises(BrokenFileError, match="no file of 4,000 bytes can be made"):
        ChunkedRouting(ensemble, 1000, scratch=tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("announced", [None, 0, 5])
def test_no_rows_are_refused(announced, tmp_path):
    """As `as_rows` refuses an empty table."""
    ensemble, _ = ensemble_of([Node(0)], 1)
    with pytest.raises(InvalidInputError, match="X is empty"):
        ChunkedRouting(ensemble, announced, scratch=tmp_path).finish()
