"""What every page takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from formulations.arguments import Share, checked


@checked
@dataclass(frozen=True, kw_only=True, eq=False)
class PageOptions:
    """What every page takes, see `report_page`."""

    sample_weight: ArrayLike | None = None
    confidence: Share = 0.95
    title: str | None = None
    unit: str = ""
    command: str | None = None
    sources: Mapping[str, str] | None = None
    positive: Any = None
