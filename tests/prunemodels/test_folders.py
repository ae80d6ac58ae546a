"""Which folder of prunemodels imports which."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import prunemodels

NEXT = ("plot", "plot_purchases", "report", "on_demand")
"""Methods of answers that lead on to a picture, a page, or predictions on demand."""

ROOT = Path(prunemodels.__file__).parent


def imported(file: Path) -> set[str]:
    """The folders of prunemodels that a file imports, wherever in it.

    What a user may do next with an answer does not count: it is imported when its method is called. Nor do types.
    """
    tree = ast.parse(file.read_text())
    methods = [node for part in ast.walk(tree) if isinstance(part, ast.ClassDef) for node in part.body]
    nexts = [node for node in methods if isinstance(node, ast.FunctionDef) and node.name in NEXT]
    typing = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    exempt = {id(node) for part in (*nexts, *typing) for node in ast.walk(part)}
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module and id(node) not in exempt]
    paths = [str(node.module).split(".") for node in nodes]
    return {path[1] for path in paths if path[0] == "prunemodels" and len(path) > 1 and (ROOT / path[1]).is_dir()}


def test_folders_import_each_other_in_no_circle() -> None:
    """There is an order of the folders in which each imports from earlier ones only."""
    folders = [folder for folder in ROOT.iterdir() if (folder / "__init__.py").exists()]
    graph = {f.name: set[str]().union(*map(imported, f.rglob("*.py"))) - {f.name} for f in folders}
    order = list(TopologicalSorter(graph).static_order())  # raises for a circle, and names it
    assert order.index("models") < order.index("exits") < order.index("evaluation")
