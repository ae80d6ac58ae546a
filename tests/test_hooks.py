"""The git hooks, and the citation file."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"] for hook in repo["hooks"]
}


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("λ" * 72 + "\n\n" + "y" * 200, False),  # characters count, not bytes; only the subject is limited
        ("λ" * 73 + "\n", True),
        ("Subject\nno empty line before the body", True),
        ("Subject\n# a comment of git", False),
    ],
)
def test_long_subjects_are_refused(message: str, wrong: bool) -> None:
    """A commit's subject has at most 72 characters, and an empty line parts it from the body; pre-commit matches bytes."""
    hook = HOOKS["commit-message"]
    assert hook["args"] == ["--multiline"]
    assert bool(re.search(hook["entry"].encode(), message.encode(), re.MULTILINE)) is wrong


def test_citation_agrees_with_the_project() -> None:
    """The citation file has the version, licence and authors of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert [citation[key] for key in ("version", "license", "authors")] == [
        project[key] for key in ("version", "license", "authors")
    ]
