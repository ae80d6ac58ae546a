"""Above each chapter: links to download the notebook, and the text file that it is."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

BAR = '<p class="chapter-links"><a href="{up}_downloads/notebooks/{name}" download>Download this notebook</a> · '
BAR += '<a href="{up}_downloads/notebooks/{name}.txt">its source as text</a></p>'


def link(app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any) -> None:
    """Put the links below the title of a notebook's page."""
    if doctree is not None and pagename.startswith("notebooks/"):
        bar = BAR.format(up="../" * pagename.count("/"), name=Path(pagename).name + ".ipynb")
        context["body"] = context["body"].replace("</h1>", f"</h1>\n{bar}", 1)


def write(app: Sphinx, failed: Exception | None) -> None:
    """Copy the notebooks as they are stored, without outputs; as text for reading."""
    if failed is None and app.builder.format == "html":
        folder = Path(app.outdir, "_downloads", "notebooks")
        folder.mkdir(parents=True, exist_ok=True)
        for file in sorted(Path(app.srcdir, "notebooks").glob("*.ipynb")):
            shutil.copy(file, folder / file.name)
            shutil.copy(file, folder / f"{file.name}.txt")


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the pages and the end of the build."""
    app.connect("html-page-context", link)
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
