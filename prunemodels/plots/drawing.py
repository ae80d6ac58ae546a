"""What all pictures have in common: how much they show, and how large."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Drawing:
    """How pictures look, and how much they show."""

    errors_shown: float = 4.0
    """The right-hand part reaches this many standard errors above the least error."""
    most_cut_nodes: int = 40
    """Largest number of splits and purchases in one picture; with more nothing can be read."""
    largest_denominator: int = 10_000
    """Capacities are written as multiples of a unit if its denominator is at most this."""
    figures_size: float = 8.0
    """Size of the numbers at the arcs, in points."""
    most_exit_items: int = 20
    """Largest number of columns in the part that shows what was bought."""
    longest_name: int = 22
    """Largest number of letters of an item's name."""
    grid_points: int = 120
    """Places at which an area is tried for its name."""
    fewest_rows: int = 5
    """With fewer stages than this, bars are as thick as with this many."""
    smallest: float = 1e-12
    """A gap of 0 is drawn here: the axis is logarithmic."""
    near: float = 3.0
    """An iterate is shown if its distance from the middle of all solutions and bounds is at most this many times their range."""
    least_share: float = 2e-3
    """The axis of values spans at least this share of the largest value. Smaller differences are for the axis of the gap."""
    fewer_markers: int = 25
    """With more rounds than this, lines of several runs have no marks."""
    most_markers: int = 60
    """With more breakpoints or rounds than this, only the line is drawn."""
    scale: float = 0.7
    """Height of the scale below the trees, in inches."""
    longest_label: int = 8
    """Largest number of characters of a fraction in a box."""
    most_lines: int = 400
    """Largest number of rows or columns of a matrix in one picture."""
    most_numbers: int = 30
    """With at most this many rows and columns, entries are written as numbers and lines have their names."""
    most_network_arcs: int = 60
    """Largest number of arcs in one picture; with more it is far wider than a page."""
    most_arcs: int = 80
    """Largest number of arcs of a tree in one picture."""
    most_named: int = 40
    """Largest number of nodes that are drawn as boxes with names; with more, nodes are dots."""
    most_leaves: int = 12
    """Largest number of leaves of a tree in boxes: more make the picture wider than a page."""
    most_tree_nodes: int = 4000
    """Largest number of nodes in one picture; with more nothing can be read."""
    least_width: float = 3.4
    """Least width of a picture of its own, in inches."""
    lowest: float = 0.1
    """Least distance of two levels, in inches."""
    gap: float = 1.0
    """Free places between two trees, and between two lines of trees."""
    most_purchases: int = 120
    """Largest number of purchases below the trees."""
    letter: float = 0.075
    """Inches of a letter in small text."""
    dpi: int = 100
    """Resolution of a picture in a notebook: 7 inches are 700 pixels."""
    handle: float = 0.66
    """Inches of a legend's entry beside its text."""


DRAWING = Drawing()
