"""What the pages for developers say of the repository is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import prunemodels as pm
from solvers.dependencies import NEEDED
from tests.test_layout import ALLOWED

ROOT = Path(__file__).resolve().parent.parent
PAGES = "\n".join(
    (ROOT / page).read_text() for page in ("CONTRIBUTING.md", "docs/dependencies.md", "docs/releases.md", "docs/chapters.md")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_what_the_pages_name_is_there() -> None:
    """Files, folders, registries and targets of make exist."""
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*|[\w]+\.(?:py|toml|md))`", PAGES)) - {"__init__.py", "../shared/data"}
    assert {"solvers/dependencies.py", "formulations/"} <= named
    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []
    for file, name in re.findall(r"`([\w/]+)/__init__\.py`: `(\w+)`", PAGES):
        assert isinstance(getattr(__import__(file.replace("/", "."), fromlist=[name]), name), dict)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", PAGES)) <= set(targets)


def test_import_rule_is_the_one_that_is_enforced() -> None:
    """The table of the layout says for each package what the test of the layout allows it."""
    for package, allowed in ALLOWED.items():
        (row,) = re.findall(rf"^\| `{package}/` \|.*\|(.*)\|$", PAGES, re.MULTILINE)
        said = set(re.findall(r"`(\w+)`", row)) if "all of them" not in row else set(ALLOWED) - {package}
        assert said == allowed


def test_versions_and_pins_agree() -> None:
    """One version in both places and in the commands; quoted pins are in force, among them those that are checked at import."""
    assert PROJECT["version"] == pm.__version__
    assert set(re.findall(r"prunemodels-([\d.]+)-py3", PAGES)) == {pm.__version__}
    quoted = set(re.findall(r"`([a-z-]+(?:==|>=)[\d.,<*]+)`", PAGES))
    assert quoted <= set(PROJECT["dependencies"])
    for package, version in NEEDED.items():
        (pin,) = [p for p in PROJECT["dependencies"] if re.match(rf"{package}\b", p)]
        assert pin.startswith((f"{package}=={version}.", f"{package}>={version},"))
        assert pin in quoted
