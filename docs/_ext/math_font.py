"""A font for formulas, shipped with the site: browsers without a mathematical font of their own set formulas in it.

Fonts with a table for mathematics are larger than this repository should hold, so the build looks for one among the fonts of the
machine, as Debian's packages install them, and copies it beside the pages. Where there is none, a browser takes its own.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"), Path("/usr/share/texmf/fonts"), Path.home() / ".fonts")
FILES = ("STIXTwoMath-Regular.*", "STIX2Math.otf", "latinmodern-math.otf", "texgyretermes-math.otf", "DejaVuMathTeXGyre.ttf")
"""Free fonts with a MATH table, the best first: STIX Two, Latin Modern and TeX Gyre may be shipped (OFL, GUST), DejaVu too."""


def found() -> Path | None:
    """The best of these fonts that is installed here."""
    kept = [folder for folder in FOLDERS if folder.is_dir()]
    files = (file for name in FILES for folder in kept for file in sorted(folder.rglob(name)))
    return next((file for file in files if file.suffix in (".otf", ".ttf", ".woff2")), None)


def write(app: Sphinx, failed: Exception | None) -> None:
    """Copy the font, smaller where its compressor is there, and say in `math_font.css` which it is."""
    if failed is not None or app.builder.format != "html":
        return
    static, font = Path(app.outdir, "_static"), found()
    sheet = static / "math_font.css"
    if font is None:
        logger.info("no font for formulas is installed: browsers take their own")
        sheet.write_text("/* no font for formulas was installed where this site was built */\n", encoding="utf-8")
        return
    place = static / f"math{font.suffix}"
    try:
        import brotli  # noqa: F401 (what woff2 is compressed with)
        from fontTools.ttLib import TTFont

        place = place.with_suffix(".woff2")
        with TTFont(font) as table:
            table.flavor = "woff2"
            table.save(place)
    except ImportError:
        shutil.copy(font, place)
    sheet.write_text(
        f'@font-face {{ font-family: "Site Math"; src: url("{place.name}"); font-display: swap; }}\n'
        'math { font-family: "Site Math", math; }\n',
        encoding="utf-8",
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Join the end of the build, and link the sheet."""
    app.add_css_file("math_font.css")
    app.connect("build-finished", write)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
