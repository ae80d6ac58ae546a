"""Pictures of the gallery: what a block has drawn with `pm.plots` or with pyplot, once each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

QUESTIONS = [
    "stop_paying", "half_the_tests", "drop_features", "how_sure", "which_budget", "discount", "shared_purchases", "cascade",
    "each_patient", "two_groups", "worst_case", "capacity", "own_rule", "regression", "smaller_forest",
]  # fmt: skip
"""The order of the examples: what newcomers ask first comes first."""


def order(file: str) -> int:
    """The place of an example among the others."""
    return QUESTIONS.index(file.removeprefix("plot_").removesuffix(".py"))


def drawn(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the figures among a block's variables that were not there before; pyplot's are closed."""
    names = block_vars["example_globals"]
    seen = names.setdefault("__figures_seen__", [])
    files = []
    for figure in [value for value in names.values() if isinstance(value, Figure)]:
        if not any(figure is other for other in seen):
            seen.append(figure)
            files.append(next(block_vars["image_path_iterator"]))
            figure.savefig(files[-1], dpi=150, bbox_inches="tight")
    plt.close("all")
    question = Path(block_vars["src_file"]).read_text(encoding="utf-8").splitlines()[1]
    return figure_rst(files, gallery_conf["src_dir"], question) if files else ""
