"""The house rules that no single module can see: who imports whom, and what stands beside us."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import prunemodels

ROOT = Path(__file__).resolve().parent.parent
ALLOWED = {
    "formulations": set(),
    "solvers": {"formulations"},
    "proofs_checks": {"formulations"},
    "prunemodels": {"formulations", "solvers", "proofs_checks"},
}


def imports(file: Path) -> set[str]:
    """Top-level packages that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.split(".")[0])
    return found


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_down_only(package: str) -> None:
    """No file imports a package above its own, and solvers and checkers never import each other."""
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        upward = (imports(file) & set(ALLOWED)) - ALLOWED[package] - {package}
        assert not upward, f"{file.relative_to(ROOT)} imports {upward}"


@pytest.mark.parametrize("first", ALLOWED)
def test_any_package_can_be_imported_first(first: str) -> None:
    """Each of the four imports on its own in a fresh process, and the others after it."""
    code = f"import {first}; import prunemodels, solvers, proofs_checks, formulations"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


@pytest.mark.parametrize("order", ["ortools.graph.python.max_flow, highspy", "highspy, ortools.graph.python.max_flow"])
def test_ortools_and_highspy_share_a_process(order: str) -> None:
    """The pinned versions import together in both orders: from highspy 1.15 on the second import fails."""
    subprocess.run([sys.executable, "-c", f"import {order}"], check=True)


def test_a_file_named_solvers_is_reported(tmp_path: Path) -> None:
    """A user's own solvers.py in front of ours is named, instead of an obscure failure."""
    (tmp_path / "solvers.py").write_text("")
    code = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(ROOT)!r}]; import prunemodels"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert str(tmp_path / "solvers.py") in done.stderr
    assert "rename that file" in done.stderr


def test_public_names_are_where_the_package_says() -> None:
    """Every name in the stub is found where the stub says, under the name that type checkers re-export, and once."""
    tree = ast.parse((ROOT / "prunemodels" / "__init__.pyi").read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    names = [alias.name for node in imports for alias in node.names]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    assert sorted(names) == prunemodels.__all__
    assert {"pruning_path", "save_cascade", "BudgetCascadeClassifier"} <= set(names)
    assert len(set(names)) == len(names)
    for name in names:
        assert getattr(prunemodels, name) is not None
    # importing a submodule sets an attribute of the package, which would hide a public name
    assert not set(prunemodels.__all__) & {module.name for module in pkgutil.iter_modules(prunemodels.__path__)}
    with pytest.raises(AttributeError, match="no attribute 'prune_everything'"):
        _ = prunemodels.prune_everything


def test_source_files_stay_small() -> None:
    """A file holds one idea: none of the four packages' files is over 300 lines."""
    for package in ALLOWED:
        for file in (ROOT / package).rglob("*.py"):
            assert len(file.read_text().splitlines()) <= 300, file.relative_to(ROOT)
