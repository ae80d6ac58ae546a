"""What the tests of budget engines share."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import pytest

from solvers.within import listing


@pytest.fixture(scope="package", autouse=True)
def listed_once() -> Iterator[None]:
    """Brute force, asked for one budget after the other, lists the prunings of an instance and computes its path once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "all_prunings", lru_cache(maxsize=64)(listing.all_prunings))
        patch.setattr(listing, "path_of", lru_cache(maxsize=64)(listing.path_of))
        yield
