"""Each notebook beside its page, where its own link to download leads, and above it a link to its source as text."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

BAR = '<p class="chapter-links"><a href="{name}.txt">Source of this chapter as text</a></p>'


def link(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the link below the title of a notebook's page."""
    if doctree is not None and pagename.startswith("notebooks/"):
        bar = BAR.format(name=Path(pagename).name + ".ipynb")
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{bar}", 1)


def write(app: Sphinx, failed: Exception | None) -> None:
    """Copy the notebooks beside their pages, as they are stored; as text for reading, too."""
    if failed is None and app.builder.format == "html":
        for file in sorted(Path(app.srcdir, "notebooks").glob("*.ipynb")):
            beside = Path(app.outdir, "notebooks", file.name)
            shutil.copyfile(file, beside)
            shutil.copyfile(file, beside.with_suffix(".ipynb.txt"))


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the pages and the end of the build."""
    app.connect("html-page-context", link)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
