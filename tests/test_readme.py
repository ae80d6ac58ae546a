"""The README says what happens."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

README = (Path(__file__).resolve().parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
OUTPUT = re.findall(r"```python\n.*?```\n\n```\n(.*?)```", README, re.DOTALL)


def test_first_example_prints_what_is_shown() -> None:
    """The README's first example runs as it stands and prints exactly the lines below it."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(BLOCKS[0], "README.md", "exec"), {})
    assert printed.getvalue() == OUTPUT[0]


def test_other_examples_run() -> None:
    """Every other block of the README runs after the first one's imports."""
    assert len(BLOCKS) > 1
    for block in BLOCKS[1:]:
        exec(compile(block, "README.md", "exec"), {"pm": __import__("prunemodels")})
