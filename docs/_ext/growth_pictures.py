"""Pictures of the growth studies, drawn at build time from the figures that are kept under `benchmarks/results`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
PICTURES = ROOT / "docs" / "_build" / "pictures"
"""Where pages find them; nothing of it is in git."""


def write(app: Sphinx) -> None:
    """Draw what is newer than its picture."""
    from benchmarks.growth import draw, read

    for file in sorted(RESULTS.glob("growth-*.json")):
        picture = PICTURES / f"{file.stem}-seconds.svg"
        if not picture.exists() or picture.stat().st_mtime < file.stat().st_mtime:
            draw(read(file), file.stem, PICTURES)


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the beginning of the build, before sources are read."""
    app.connect("builder-inited", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
