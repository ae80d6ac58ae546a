"""What CONTRIBUTING.md says of the repository is so."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import prunemodels as pm
from solvers.dependencies import NEEDED
from tests.loops import looped
from tests.test_layout import ALLOWED

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "CONTRIBUTING.md").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
NAMED = sorted(set(re.findall(r"`((?:[\w.]+/)+[\w.]*|[\w]+\.(?:py|toml|md))`", PAGE)) - {"dist/", "__init__.py"})
PINS = [
    *PROJECT["dependencies"],
    *(pin for extra in ("plots", "io") for pin in PROJECT["optional-dependencies"][extra]),
]


@looped("name", [n for n in NAMED if "NAME" not in n and not n.startswith("..")])
def test_files_are_there(name: str) -> None:
    """Every file and folder of the repository that the page names exists."""
    assert (ROOT / name).exists()


def test_page_names_files() -> None:
    """The list of names above is not empty by an accident of its pattern."""
    assert {"solvers/dependencies.py", "tests/test_layout.py", "pyproject.toml", "formulations/"} <= set(NAMED)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", PAGE))
def test_links_lead_somewhere(link: str) -> None:
    """Every link leads to a file of the repository."""
    assert (ROOT / link).is_file()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\bmake ([\w-]+)", PAGE))))
def test_make_knows_its_targets(target: str) -> None:
    """Every target of make that the page names is one."""
    assert re.search(rf"^{re.escape(target)}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def test_import_rule_is_the_one_that_is_enforced() -> None:
    """The table of the layout says for each package what the test of the layout allows it."""
    for package, allowed in ALLOWED.items():
        (row,) = re.findall(rf"^\| `{package}/` \|.*\|(.*)\|$", PAGE, re.MULTILINE)
        said = set(re.findall(r"`(\w+)`", row)) if "all of them" not in row else set(ALLOWED) - {package}
        assert said == allowed


def test_registries_have_the_names_that_the_page_gives() -> None:
    """Where the page says that a line in a registry is all, there is that registry, a dict with names."""
    for file, name in re.findall(r"`([\w/]+)/__init__\.py`: `(\w+)`", PAGE):
        module = __import__(file.replace("/", "."), fromlist=[name])
        assert isinstance(getattr(module, name), dict)


def test_version_stands_alike_in_both_places() -> None:
    """pyproject.toml and the package name the same version, and the page's commands name the wheel of it."""
    assert PROJECT["version"] == pm.__version__
    assert set(re.findall(r"prunemodels-([\d.]+)-py3", PAGE)) == {pm.__version__}


@pytest.mark.parametrize("package", NEEDED)
def test_pins_are_those_that_are_checked_at_import(package: str) -> None:
    """A version that `solvers.dependencies` demands is one that pyproject.toml asks for, and the page quotes that pin."""
    (pin,) = [p for p in PINS if re.match(rf"{package}\b", p)]
    assert pin.startswith((f"{package}=={NEEDED[package]}.", f"{package}>={NEEDED[package]},"))
    assert f"`{pin}`" in PAGE


def test_quoted_pins_are_in_force() -> None:
    """Every pin that the page quotes stands in pyproject.toml as it is quoted."""
    quoted = re.findall(r"`([a-z-]+(?:==|>=)[\d.,<*]+)`", PAGE)
    assert len(quoted) >= 5
    assert set(quoted) <= set(PINS)
