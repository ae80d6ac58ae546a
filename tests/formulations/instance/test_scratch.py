"""Arrays in files of a scratch folder."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

from formulations import BrokenFileError
from formulations.instance.routing import Routing
from formulations.instance.row_blocks import row_blocks
from formulations.memory import scratch_array
from tests.instances import random_problem


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
    """Of the shape and type that was asked for, plain arrays that can be written; an empty one needs no file."""
    for folder in (None, tmp_path):
        array = scratch_array(shape, np.int16, folder)
        assert type(array) is np.ndarray  # compiled kernels take no other
        assert array.shape == (shape if isinstance(shape, tuple) else (shape,))
        assert array.dtype == np.int16
        assert array.flags.carray
        array[...] = 5
        assert (array == 5).all()
        assert mapped(array) == (folder is not None and array.size > 0)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    """It is a file, or not there: said before anything is made."""
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "nowhere"):
        with pytest.raises(BrokenFileError, match=f"there is no folder .*{folder.name}; create it"):
            scratch_array(3, np.int8, folder)


def test_arrays_stand_where_the_routing_does(tmp_path):
    """In memory beside one in memory, in the same folder beside one on disk."""
    routing = random_problem(3).routing
    assert not mapped(routing.array(4, np.float64))
    assert mapped(on_disk(routing, tmp_path).array((4, 2), np.float64))
    with pytest.raises(BrokenFileError, match="gone"):
        replace(on_disk(routing, tmp_path), scratch=tmp_path / "gone").array(4, np.float64)


def test_blocks_of_a_routing_on_disk_are_there_too(tmp_path):
    """The same numbers as in memory, none of them in memory."""
    problem = random_problem(5)
    here = row_blocks(problem.routing, problem.ensemble.tree_of, 3)
    there = row_blocks(on_disk(problem.routing, tmp_path), problem.ensemble.tree_of, 3)
    for part in ("order", "start", "stop"):
        a, b = getattr(here, part), getattr(there, part)
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)
        assert (mapped(a), mapped(b)) == (False, True)


def test_a_routing_on_disk_travels_as_one_in_memory(tmp_path):
    """Where it is opened there may be no such folder."""
    routing = on_disk(random_problem(7).routing, tmp_path)
    opened = pickle.loads(pickle.dumps(routing))
    assert type(opened) is Routing
    assert not mapped(opened.order)
    for part in ("order", "start", "stop"):
        assert np.array_equal(getattr(opened, part), getattr(routing, part))
