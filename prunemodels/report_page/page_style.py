"""What all pages have in common: how much they show, and how exactly."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageStyle:
    """How much a page shows, and how exactly."""

    most_items: int = 15
    """Largest number of items of which the page says who asks for them."""
    named_stages: int = 4
    """The number of stages that the sentence on who stops where names, if there are more."""
    path_rows: int = 16
    """Rows of a path that a table shows."""
    few_trees: int = 7
    """The largest number of trees that BP16 counts as few."""
    many_examples: int = 1000
    """With at least this many examples, an error rate has two decimals of a per cent."""
    named: int = 6
    """The largest number of items or features that a list names, unless it says another one."""
    cheapest: float = 0.15
    """Prunings and policies that cost less than this share of the dearest one may lie above the chart."""


PAGE = PageStyle()
