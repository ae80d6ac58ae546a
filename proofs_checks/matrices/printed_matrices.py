"""What the papers print for their two trees: the 0-1 matrices, the network matrices, and the arcs of Figure 3.

BP16 section 6.2 (NWS15 section 4 has the same). Typed in from the papers, in their numbers; rows r1, r2, ... are the leaves from
left to right, the fictitious ones among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Rows = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class PrintedTree:
    """One tree of the papers.

    Parameters
    ----------
    columns
        ``z1`` is node 1, ``w21`` feature 2 of example 1.
    equations
        one row a leaf: IP3's equations.
    network
        one row more: -r1, r1 - r2, ..., the last row.
    arcs
        Figure 3: from which node to which each variable leads.
    """

    columns: tuple[str, ...]
    equations: Rows
    network: Rows
    arcs: Mapping[str, tuple[int, int]]


PRINTED_TREES = (
    PrintedTree(
        ("z1", "z2", "z3", "z4", "z5", "w11", "w21"),
        (
            (1, 1, 0, 0, 0, 0, 0),
            (1, 0, 1, 1, 0, 0, 0),
            (1, 0, 1, 0, 1, 0, 0),
            (1, 0, 1, 0, 0, 0, 1),
            (1, 0, 0, 0, 0, 1, 0),
        ),
        (
            (-1, -1, 0, 0, 0, 0, 0),
            (0, 1, -1, -1, 0, 0, 0),
            (0, 0, 0, 1, -1, 0, 0),
            (0, 0, 0, 0, 1, 0, -1),
            (0, 0, 1, 0, 0, -1, 1),
            (1, 0, 0, 0, 0, 1, 0),
        ),
        {"z1": (1, 6), "z2": (1, 2), "z3": (2, 5), "z4": (2, 3), "z5": (3, 4), "w11": (5, 6), "w21": (4, 5)},
    ),
    PrintedTree(
        ("z6", "z7", "z8", "z9", "z10", "z11", "z12", "w21", "w31"),
        (
            (1, 1, 1, 0, 0, 0, 0, 0, 0),
            (1, 1, 0, 1, 0, 0, 0, 0, 0),
            (1, 0, 0, 0, 1, 1, 0, 0, 0),
            (1, 0, 0, 0, 1, 0, 1, 0, 0),
            (1, 0, 0, 0, 1, 0, 0, 0, 1),
            (1, 0, 0, 0, 0, 0, 0, 1, 0),
        ),
        (
            (-1, -1, -1, 0, 0, 0, 0, 0, 0),
            (0, 0, 1, -1, 0, 0, 0, 0, 0),
            (0, 1, 0, 1, -1, -1, 0, 0, 0),
            (0, 0, 0, 0, 0, 1, -1, 0, 0),
            (0, 0, 0, 0, 0, 0, 1, 0, -1),
            (0, 0, 0, 0, 1, 0, 0, -1, 1),
            (1, 0, 0, 0, 0, 0, 0, 1, 0),
        ),
        {
            "z6": (1, 7),
            "z7": (1, 3),
            "z8": (1, 2),
            "z9": (2, 3),
            "z10": (3, 6),
            "z11": (3, 4),
            "z12": (4, 5),
            "w21": (6, 7),
            "w31": (5, 6),
        },
    ),
)
"""Trees 1 and 2 of Figure 1."""
