"""What screen readers need and the theme and Sphinx leave out: names for the sidebar's toggles, and no lists in signatures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

TOGGLE = '<summary><span class="toctree-toggle"'
NAMED = '<summary aria-label="show or hide the pages below"><span class="toctree-toggle"'
SIGNATURE = re.compile(r'<dt class="sig .*?</dt>', re.DOTALL)
LISTED = [("<dl>", '<div class="sig-lines">'), ("</dl>", "</div>"), ("<dd>", '<div class="sig-line">'), ("</dd>", "</div>")]
"""Sphinx writes a signature of several lines as a list of definitions without terms, which is no valid list."""


def without_lists(found: re.Match[str]) -> str:
    """A signature with plain blocks for its lines."""
    text = found[0]
    for old, new in LISTED:
        text = text.replace(old, new)
    return text


def mended(page: str) -> str:
    """The HTML of a page with both changes."""
    return SIGNATURE.sub(without_lists, page.replace(TOGGLE, NAMED))


def write(app: Sphinx, failed: Exception | None) -> None:
    """Mend all pages of a site that was built."""
    if failed is None and app.builder.format == "html":
        for file in Path(app.outdir).rglob("*.html"):
            if "_static" not in file.parts:
                file.write_text(mended(file.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the end of the build."""
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
