"""Figures that a notebook shows.

Jupyter shows matplotlib's bare `Figure` by its name alone until pyplot has opened a figure, and pyplot keeps in memory what it
opened. A `Picture` needs no pyplot: it draws itself where it is the last expression of a cell.
"""

from __future__ import annotations

import io

from matplotlib.figure import Figure

DPI = 100
"""Of a picture in a notebook: 7 inches are 700 pixels."""


class Picture(Figure):
    """A matplotlib figure that Jupyter shows as a picture; everything else is `matplotlib.figure.Figure`."""

    def _repr_png_(self) -> bytes:
        """What Jupyter asks for."""
        place = io.BytesIO()
        self.savefig(place, format="png", dpi=DPI)
        return place.getvalue()
