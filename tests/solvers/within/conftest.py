"""What the tests of budget engines share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from solvers.within import by_path


@pytest.fixture(scope="package", autouse=True)
def listed_once() -> Iterator[None]:
    """Brute force, asked for one budget after the other, lists the prunings of an instance and computes its path once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_path, "all_prunings", lru_cache(maxsize=64)(by_path.all_prunings))
        patch.setattr(by_path, "path_of", lru_cache(maxsize=64)(by_path.path_of))
        yield
