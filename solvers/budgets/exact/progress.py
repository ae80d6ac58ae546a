"""A line on stderr with the gap of branch and bound."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from tqdm import tqdm

from solvers.budgets.exact.search import Search

DISPLAY_DELAY = 1.0
"""Seconds before anything is shown."""


class GapProgress:
    """Shows nodes, open nodes and the gap as a share of the gain; silent unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._bar = tqdm(
            bar_format="exact budget: {desc}, {n:,} nodes, {elapsed}",
            file=sys.stderr,
            leave=False,
            disable=not shown,
            delay=DISPLAY_DELAY,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.close()

    def show(self, search: Search, relaxed: int) -> None:
        """Update the line after a node; `relaxed` is the largest gain that the relaxation allows."""
        bound = relaxed if search.bound is None else min(relaxed, search.bound)
        gap = (bound - search.goal) / max(1, bound)
        self._bar.set_description_str(f"gap {100 * gap:.4f} % of the gain, {len(search.open):,} open", refresh=False)
        self._bar.update(1)
