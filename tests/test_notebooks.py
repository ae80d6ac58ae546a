"""Every chapter runs from top to bottom, holds what it asserts, and is stored with the outputs of its code.

The quick tests check what is stored with all of them, and run none. `make test-slow` runs all chapters and compares what they
print with what is stored.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from notebooks import execute

NOTEBOOKS = execute.chapters()
CHAPTERS = pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
NEEDS = {"09_real_forests": "heart_statlog.csv.gz"}  # the data that a chapter reads


def cells(file: Path, kind: str) -> list[tuple[dict[str, Any], str]]:
    """The cells of a kind, each with its text."""
    return [(cell, execute.text_of(cell["source"])) for cell in execute.read(file)["cells"] if cell["cell_type"] == kind]


@pytest.mark.slow
@CHAPTERS
def test_a_fresh_run_prints_what_is_stored(file: Path) -> None:
    """What cells print is what is stored with them, but for the cells that print seconds."""
    pytest.importorskip("nbclient", reason='running chapters needs pip install "prunemodels[docs]"')
    if file.stem in NEEDS:
        needed = Path(os.environ.get("PRUNEMODELS_DATA", "../shared/data"), NEEDS[file.stem])
        if not needed.exists():
            pytest.skip(f"{file.name} reads {needed}, which is not there")
    stored = execute.read(file)
    assert list(execute.differences(stored, execute.run(stored))) == []


@CHAPTERS
def test_stored_outputs_are_those_of_the_code(file: Path) -> None:
    """No code was changed after its outputs were stored; outputs are small, of one run without failures, and name no folder."""
    assert list(execute.faults(execute.read(file))) == []
    for cell, _ in cells(file, "code"):
        assert not re.search(r"/(?:home|root|tmp|work|Users)/", json.dumps(cell["outputs"]))


@CHAPTERS
def test_chapters_use_public_names(file: Path) -> None:
    """Of our packages a chapter imports `prunemodels` alone, as `pm`."""
    code = "\n".join(text for _, text in cells(file, "code"))
    assert "import prunemodels as pm" in code
    ours = r"(?:formulations|solvers|proofs_checks|prunemodels\.|benchmarks)"
    assert re.findall(rf"^ *(?:from|import) {ours}.*$", code, re.MULTILINE) == []


@CHAPTERS
def test_no_text_is_lost_when_it_is_rendered(file: Path) -> None:
    """No line of text begins with a percent sign, which would be a comment; what stands between dollar signs is a formula."""
    for _, text in cells(file, "markdown"):
        assert not re.search(r"^\s*%", text, re.MULTILINE)
        prose = re.sub(r"`[^`]*`", "", re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL))
        assert prose.replace(r"\$", "").count("$") % 2 == 0
        for formula in re.findall(r"(?<!\\)\$(.+?)(?<!\\)\$", prose, re.DOTALL):
            words = re.sub(r"\\\w+(?:\{[^{}]*\})?|\{[^{}]*\}", "", formula)
            assert not re.search(r"[a-z]{4}", words), formula
            assert formula == formula.strip()
