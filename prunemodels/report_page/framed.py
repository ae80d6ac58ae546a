"""The report page within another page: a notebook's output, or the site's documentation."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from markupsafe import Markup

from formulations.errors import InvalidInputError

HEAD = "<head>"

BASE = '<base href="about:srcdoc">'
"""A page in a frame inherits the address of the surrounding page. Without this element, links to sections would lead there."""


@dataclass(frozen=True)
class FramedPage:
    """A page of `report_page` that Jupyter shows in a frame of its own, so that neither style reaches the other.

    Parameters
    ----------
    page
        the page, as `report_page` returns it or `write_report` wrote it.
    height
        height of the frame, in pixels; the page scrolls within it.

    Raises
    ------
    InvalidInputError
        for a text that is not a complete page, and a height that is not positive.
    """

    page: str
    height: int = 640

    def __post_init__(self) -> None:
        if HEAD not in self.page:
            raise InvalidInputError(f"page begins with {self.page[:40]!r}, not with a page's head; give what report_page returns")
        if self.height <= 0:
            raise InvalidInputError(f"height is {self.height}; give pixels above 0")

    def _repr_html_(self) -> str:
        """The HTML that Jupyter displays."""
        framed = str(self.page).replace(HEAD, HEAD + BASE, 1)
        style = f"width:100%;height:{self.height}px;border:1px solid #999"
        own = re.search("<title>(.*?)</title>", self.page, re.DOTALL)
        title = html.unescape(own.group(1)) if own else "Report"
        return Markup('<iframe srcdoc="{}" title="{}" style="{}"></iframe>').format(framed, title, style)

    def __repr__(self) -> str:
        return f"FramedPage({len(self.page):,} characters)"
