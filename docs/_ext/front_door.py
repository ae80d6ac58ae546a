"""An `index.html` at the top of the site that leads to the first page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx


def write(app: Sphinx, failed: Exception | None) -> None:
    """Write it where a site was built."""
    if failed is None and app.builder.format == "html":
        first = app.builder.get_target_uri(app.config.root_doc)
        page = f'<!doctype html><meta charset="utf-8"><title>{app.config.project}</title>'
        page += f'<meta http-equiv="refresh" content="0; url={first}"><a href="{first}">{app.config.project}</a>\n'
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the end of the build."""
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
