"""What every page takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from numpy.typing import ArrayLike

from formulations.arguments import Share, checked


class PageOptions(TypedDict, total=False):
    """What every page takes, see `report_page`."""

    sample_weight: ArrayLike | None
    confidence: float
    title: str
    unit: str
    command: str | None
    sources: Mapping[str, str] | None
    positive: Any


@checked
def all_options(
    heading: str,
    *,
    sample_weight: ArrayLike | None = None,
    confidence: Share = 0.95,
    title: str | None = None,
    unit: str = "",
    command: str | None = None,
    sources: Mapping[str, str] | None = None,
    positive: Any = None,
) -> PageOptions:
    """The options, with what is not given; `heading` is the title of a page without one."""
    given = heading if title is None else title
    return PageOptions(
        sample_weight=sample_weight,
        confidence=confidence,
        title=given,
        unit=unit,
        command=command,
        sources=sources,
        positive=positive,
    )
