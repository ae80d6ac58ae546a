"""Figures that a notebook shows.

Until pyplot has opened a figure, Jupyter shows only the name of matplotlib's plain `Figure`, and pyplot keeps every figure in
memory that it opened. A `Picture` needs no pyplot: it is drawn if it is the last expression of a cell.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure

DPI = 100
"""Resolution of a picture in a notebook: 7 inches are 700 pixels."""


class Picture(Figure):
    """A matplotlib figure that Jupyter shows as a picture; everything else is `matplotlib.figure.Figure`."""

    def _repr_png_(self) -> bytes:
        """The picture as PNG, for Jupyter."""
        place = io.BytesIO()
        self.savefig(place, format="png", dpi=DPI)
        return place.getvalue()
