"""The git hooks, and the citation file: what they say of the project is so."""

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
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())


def refused(hook: str, text: str) -> bool:
    """Does pre-commit's `pygrep`, which searches bytes, find the hook's pattern, so that the hook fails?"""
    multiline = "--multiline" in HOOKS[hook].get("args", [])
    pattern = re.compile(HOOKS[hook]["entry"].encode(), re.MULTILINE if multiline else 0)
    pieces = [text.encode()] if multiline else text.encode().splitlines(keepends=True)
    return any(pattern.search(piece) for piece in pieces)


def test_hooks_need_no_network() -> None:
    """Every hook is local and runs a tool that is there, or a pattern that pre-commit itself searches for."""
    assert [repo["repo"] for repo in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]] == ["local"]
    assert {hook["language"] for hook in HOOKS.values()} == {"system", "pygrep"}


def test_hooks_run_the_commands_of_make() -> None:
    """The hooks call the same tools, of the same environment, as ``make lint`` and ``make types``."""
    checks = r"^\t\$\(BIN\)/(ruff.*?|mypy|python -m notebooks.+--check)(?: \.)?$"
    recipes = set(re.findall(checks, (ROOT / "Makefile").read_text(), re.MULTILINE))
    called = {hook["entry"].removesuffix(" --force-exclude") for hook in HOOKS.values() if hook["language"] == "system"}
    assert len(recipes) == 4
    assert called == {f".venv/bin/{recipe}" for recipe in recipes}


@pytest.mark.parametrize(
    ("message", "wrong"),
    [
        ("x" * 72, False),
        ("x" * 73, True),
        ("λ" * 72 + "\n", False),  # characters count, not bytes
        ("λ" * 73 + "\n", True),
        ("Subject\n\n" + "y" * 200, False),  # only the subject is limited
        ("Subject\nno empty line before the body", True),
        ("Subject\n# a comment of git", False),
    ],
)
def test_long_subjects_are_refused(message: str, wrong: bool) -> None:
    """A commit's subject has at most 72 characters, and an empty line parts it from the body."""
    assert refused("commit-message", message) is wrong


@pytest.mark.parametrize(("line", "wrong"), [("a = 1\n", False), ("a = 1 \n", True), ("\t\n", True), ("a \t b\r\n", False)])
def test_trailing_white_space_is_refused(line: str, wrong: bool) -> None:
    """A line that ends in blanks or tabs is found, whatever follows it."""
    assert refused("trailing-whitespace", line + "b\n") is wrong


def test_citation_agrees_with_the_project() -> None:
    """The citation file has what its format demands, and the version, licence and authors of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert CITATION["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(CITATION)
    same = ("version", "license", "authors")
    assert [CITATION[key] for key in same] == [project[key] for key in same]


def test_citation_names_the_papers() -> None:
    """The five papers whose methods are here are cited, each with title, authors and the year of its short name."""
    years = re.findall(r"^  # [A-Z]+(\d\d)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert [f"20{year}" for year in years] == [str(paper["year"]) for paper in CITATION["references"]]
    assert len(CITATION["references"]) == 5
    assert all(paper["title"] and paper["authors"] and paper["type"] for paper in CITATION["references"])
