"""The distribution is complete, holds the four packages and nothing else of ours, and works away from the repository."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.test_layout import ALLOWED

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
SOURCES = {
    str(file.relative_to(ROOT))
    for package in ALLOWED
    for file in (ROOT / package).rglob("*")
    if file.suffix in {".py", ".pyi", ".jinja"}
}
TYPED = {f"{package}/py.typed" for package in ALLOWED}
PRUNE = """
import numpy as np
import prunemodels as pm
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

X, y = load_breast_cancer(return_X_y=True)
forest = RandomForestClassifier(3, max_depth=4, random_state=0).fit(X[:300], y[:300])
before = pm.evaluate(forest, X[300:], y[300:], costs=np.ones(X.shape[1])).cost
pruned = pm.prune_forest(forest, X[300:], y[300:], costs=np.ones(X.shape[1]), budget=3)
after = pm.evaluate(pruned.estimator, X[300:], y[300:], costs=np.ones(X.shape[1])).cost
assert 0 < after <= 3 < before, (before, after)
print(pm.__file__)
"""


def run(*command: str, cwd: Path) -> str:
    """Standard output of a command that must succeed, without the settings of this process that name other packages."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=others, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the source distribution and the wheel, built from it as ``make wheel`` does."""
    out = tmp_path_factory.mktemp("dist")
    assert "-m build --no-isolation --outdir" in (ROOT / "Makefile").read_text()
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), cwd=ROOT)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` of a new environment with the wheel in it; all that it needs comes from the running interpreter."""
    home = tmp_path_factory.mktemp("environment")
    venv.create(home, with_pip=False)
    (wheel,) = built.glob("*.whl")
    python = home / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", str(wheel), cwd=home)
    (packages,) = home.glob("lib/python*/site-packages")
    # a line of a .pth file is a folder to search; the .pth files in that folder, an editable prunemodels among them, are not read
    (packages / "dependencies.pth").write_text("\n".join(p for p in sys.path if Path(p).name == "site-packages"))
    return home / "bin"


def test_sdist_is_complete(built: Path) -> None:
    """The source distribution has all sources, type information, the licence, README, changelog and citation, but no tests."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    assert names >= SOURCES | TYPED | {"LICENSE", "README.md", "CHANGELOG.md", "CITATION.cff", "pyproject.toml"}
    assert not {name for name in names if name.startswith(("tests", "benchmarks", "docs", "notebooks"))}


def test_wheel_has_four_packages_and_nothing_else(built: Path) -> None:
    """The wheel has every source file of the four packages, a ``py.typed`` in each, the stub and the licence, and no more."""
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    described = {name for name in names if ".dist-info/" in name}
    assert names - described == SOURCES | TYPED
    assert "prunemodels/__init__.pyi" in names
    assert any(name.endswith("licenses/LICENSE") for name in described)


def test_installed_wheel_prunes(installed: Path, tmp_path: Path) -> None:
    """Away from the repository the installed package prunes a forest to a budget, and keeps it."""
    where = run(str(installed / "python"), "-c", PRUNE, cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)


def test_installed_command_line_answers(installed: Path, tmp_path: Path) -> None:
    """The command is installed: it knows its version, and proves the papers' counterexample."""
    command = str(installed / "prunemodels")
    assert run(command, "--version", cwd=tmp_path).startswith("prunemodels 0.1")
    assert "fractional" in run(command, "check", "counterexample", cwd=tmp_path)
