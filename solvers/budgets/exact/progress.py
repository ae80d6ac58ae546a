"""The gap of a branch and bound, on stderr."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Self

from tqdm import tqdm

from solvers.budgets.exact.search import Search

DELAY = 1.0
"""Seconds before anything is shown."""


class GapProgress:
    """One line: nodes, open nodes, and how much of the gap to the relaxation is closed; silent unless `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._bar = tqdm(
            bar_format="exact budget: {desc}, {n:,} nodes, {elapsed}",
            file=sys.stderr,
            leave=False,
            disable=not shown,
            delay=DELAY,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bar.close()

    def show(self, search: Search, relaxed: int) -> None:
        """After a node; `relaxed` is the gain that the relaxation allows."""
        bound = relaxed if search.bound is None else min(relaxed, search.bound)
        gap = (bound - search.goal) / max(1, bound)
        self._bar.set_description_str(f"gap {100 * gap:.4f} % of the gain, {len(search.open):,} open", refresh=False)
        self._bar.update(1)
