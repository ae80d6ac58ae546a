"""What a first run compiles: counted, for seconds depend on the machine."""

from __future__ import annotations

import pytest

from benchmarks.start_up import PACKAGES, runs


@pytest.mark.slow
@pytest.mark.parametrize(("job", "most"), [("path", 19), ("serve, stopping early", 5)])
def test_first_runs_compile_no_more_than_today(job: str, most: int) -> None:
    """Each kernel once, and nothing of numba's own.

    A kernel that makes an array, takes a minimum or is given arrays of two kinds brings functions more, each a tenth of a second
    or more of every user's first run.
    """
    _, kernels, _ = runs(job)
    names = [name for _, name in kernels]
    assert names
    assert [name for name in names if name.split(".")[0] not in PACKAGES] == []
    assert len(names) == len(set(names)) <= most
