"""Which folder of prunemodels imports which."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import prunemodels

ROOT = Path(prunemodels.__file__).parent


def imported(file: Path) -> set[str]:
    """The folders of prunemodels that a file imports, wherever in it."""
    nodes = [node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.ImportFrom) and node.module]
    paths = [str(node.module).split(".") for node in nodes]
    return {path[1] for path in paths if path[0] == "prunemodels" and len(path) > 1 and (ROOT / path[1]).is_dir()}


def test_folders_import_each_other_in_no_circle() -> None:
    """There is an order of the folders in which each imports from earlier ones only."""
    folders = [folder for folder in ROOT.iterdir() if (folder / "__init__.py").exists()]
    graph = {f.name: set[str]().union(*map(imported, f.rglob("*.py"))) - {f.name} for f in folders}
    order = list(TopologicalSorter(graph).static_order())  # raises for a circle, and names it
    assert order.index("forests") < order.index("evaluation") < order.index("exits") < order.index("judging")
