"""Names of rows and columns, made when asked for."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.programs.linear_program import FOR_ALL, Block, Named, Names

NAMES = Names((Block("z", (np.arange(3),)), Block("budget", ()), Block("w", (np.array([0, 0, 1]), np.array([0, 7, FOR_ALL])))))


def test_names_are_components_with_indices() -> None:
    """Blocks one behind the other; an item paid once for all rows is written `all`."""
    assert list(NAMES) == ["z[0]", "z[1]", "z[2]", "budget", "w[0,0]", "w[0,7]", "w[1,all]"]
    assert [NAMES[k] for k in range(len(NAMES))] == list(NAMES)
    assert NAMES[-1] == "w[1,all]"
    assert NAMES[2:5] == ["z[2]", "budget", "w[0,0]"]
    with pytest.raises(IndexError):
        _ = NAMES[7]


def test_blocks_are_found() -> None:
    """The places of a component; an unknown one lists what there is."""
    assert NAMES.of("w") == slice(4, 7)
    assert NAMES.has("budget")
    assert not NAMES.has("y")
    with pytest.raises(KeyError, match="no 'y' here; there are z, budget, w"):
        NAMES.of("y")


def test_numbers_by_name() -> None:
    """Every number is found under its name, as in a dictionary."""
    named = Named(NAMES, np.arange(7) / 2)
    assert dict(named) == {name: k / 2 for k, name in enumerate(NAMES)}
    assert named["w[1,all]"] == 3.0
    assert named["budget"] == 1.5
    for wrong in ("w[1,7]", "w[2]", "v[0]", "w", "z[x]"):
        with pytest.raises(KeyError):
            _ = named[wrong]
    assert named.get("v[0]", 9.0) == 9.0
