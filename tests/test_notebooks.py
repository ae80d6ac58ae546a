"""Every notebook runs from top to bottom, holds what it asserts, and is stored without outputs.

The quick tests run the first four chapters, `make test-slow` and `make docs` run the longer ones: all that they call has tests of
its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
LONGER = [pytest.param(file, marks=pytest.mark.slow) for file in NOTEBOOKS[4:]]


def code_cells(file: Path) -> list[dict[str, Any]]:
    return [cell for cell in json.loads(file.read_text())["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("file", [*NOTEBOOKS[:4], *LONGER], ids=lambda file: file.stem)
def test_notebook_runs(file: Path) -> None:
    """The cells run in order in one namespace; their asserts are the notebook's claims."""
    cells = code_cells(file)
    assert any("assert" in "".join(cell["source"]) for cell in cells)
    namespace: dict[str, Any] = {}
    for number, cell in enumerate(cells):
        exec(compile("".join(cell["source"]), f"{file.name}, code cell {number}", "exec"), namespace)


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_notebook_is_stored_without_outputs(file: Path) -> None:
    """Outputs and execution counts are stripped."""
    for cell in code_cells(file):
        assert cell["outputs"] == []
        assert cell["execution_count"] is None
