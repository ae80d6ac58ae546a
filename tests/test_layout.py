"""The house rules that no single module can see: who imports whom, and what stands beside us."""

from __future__ import annotations

import ast
import pkgutil
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path
from types import ModuleType

import pytest

import prunemodels
from formulations.extras import homes_of

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


@pytest.mark.slow_cases("prunemodels", "solvers")
@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_down_only(package: str) -> None:
    """No file imports a package above its own, and solvers and checkers never import each other."""
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    for file in files:
        upward = (imports(file) & set(ALLOWED)) - ALLOWED[package] - {package}
        assert not upward, f"{file.relative_to(ROOT)} imports {upward}"


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


def stub_of(namespace: ModuleType) -> Path:
    """The list of a namespace's public names."""
    return Path(str(namespace.__file__)).with_suffix(".pyi")


def namespaces() -> dict[str, ModuleType]:
    """`prunemodels` and its public namespaces, by their full names."""
    homes = homes_of(stub_of(prunemodels))
    found = [getattr(prunemodels, name) for name, home in homes.items() if home == "prunemodels"]
    return {module.__name__: module for module in [prunemodels, *found]}


PUBLIC = {
    name: sorted(n for n, home in homes_of(stub_of(module)).items() if home != "prunemodels")
    for name, module in namespaces().items()
}


@pytest.mark.parametrize("name", PUBLIC)
def test_public_names_are_where_the_stub_says(name: str) -> None:
    """Every name of a stub is there under the name that type checkers re-export, and no submodule can hide it."""
    namespace = namespaces()[name]
    tree = ast.parse(stub_of(namespace).read_text())
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    assert all(alias.asname == alias.name for node in imports for alias in node.names)
    assert PUBLIC[name]
    for public in PUBLIC[name]:
        assert getattr(namespace, public) is not None
    # importing a submodule sets an attribute of the package, which would hide a public name
    submodules = {module.name for module in pkgutil.iter_modules(getattr(namespace, "__path__", []))}
    assert not set(PUBLIC[name]) & submodules


def test_every_public_name_has_one_home() -> None:
    """No name stands in two of the lists; the one in front has some forty."""
    names = [name for public in PUBLIC.values() for name in public]
    assert len(names) == len(set(names))
    assert {"solve", "pruning_path", "save_cascade", "BudgetCascadeClassifier"} <= set(PUBLIC["prunemodels"])
    assert len(PUBLIC["prunemodels"]) <= 42


def test_dir_shows_public_names_and_namespaces_only() -> None:
    """`dir` is the list, whatever was imported meanwhile; `__all__` is the same."""
    spaces = namespaces()
    assert {f"prunemodels.{name}" for name in dir(prunemodels) if name not in PUBLIC["prunemodels"]} == {*spaces} - {
        "prunemodels"
    }
    for name, namespace in spaces.items():
        assert dir(namespace) == namespace.__all__
        assert set(PUBLIC[name]) <= set(dir(namespace))


def test_unknown_names_are_refused() -> None:
    """As by any module, in front and in a namespace."""
    with pytest.raises(AttributeError, match="module 'prunemodels' has no attribute 'prune_everything'"):
        _ = prunemodels.prune_everything
    with pytest.raises(AttributeError, match=r"module 'prunemodels.plots' has no attribute 'plot_everything'"):
        _ = prunemodels.plots.plot_everything


@pytest.mark.slow
def test_names_are_imported_when_they_are_used() -> None:
    """The package and its namespaces alone import neither NumPy nor Matplotlib; a name is imported once it is asked for."""
    code = (
        "import sys, prunemodels as pm\n"
        "spaces = [getattr(pm, name) for name in ('plots', 'tables', 'rivals', 'checks', 'engines', 'errors')]\n"
        "assert not {'numpy', 'matplotlib', 'solvers', 'proofs_checks'} & set(sys.modules), 'something is imported too early'\n"
        "pm.errors.InvalidInputError\n"
        "assert 'matplotlib' not in sys.modules\n"
        "pm.plots.plot_tradeoff\n"
        "assert 'matplotlib' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for package in ALLOWED
    for file in (ROOT / package).rglob("*.py")
}
"""The files of the four packages by their modules' names."""


def modules_imported(file: Path) -> set[str]:
    """Modules of the four packages that a file imports: at its top, in functions, and for types alike."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & set(FILES) | ({str(node.module)} if names - set(FILES) else set())
    return found & set(FILES)


def test_files_import_each_other_in_no_circle() -> None:
    """There is an order of all files in which each imports earlier ones only, so each can be read after those it needs. Every
    import counts, wherever it stands. A package that a module lies in is imported with it, so it counts as well.
    """
    graph: dict[str, set[str]] = {}
    for module, file in FILES.items():
        named = modules_imported(file)
        around = {name.rsplit(".", k)[0] for name in named for k in range(1, name.count(".") + 1)}
        # a package does not wait for itself while its modules are imported
        graph[module] = {name for name in named | around if name != module and not module.startswith(f"{name}.")}
    assert len(graph) > 300
    list(TopologicalSorter(graph).static_order())  # raises for a circle, and names it


@pytest.mark.slow
def test_folders_import_each_other_in_no_circle() -> None:
    """Within every folder its files and folders have an order in which each imports from earlier ones only."""
    folders = {module.rsplit(".", k)[0] for module in FILES for k in range(1, module.count(".") + 1)}
    for folder in sorted(folders):
        graph: dict[str, set[str]] = {}
        for module, file in FILES.items():
            if module.startswith(f"{folder}."):
                child, *_ = module.removeprefix(f"{folder}.").split(".")
                beside = (name.removeprefix(f"{folder}.") for name in modules_imported(file) if name.startswith(f"{folder}."))
                graph.setdefault(child, set()).update({name.split(".")[0] for name in beside} - {child})
        order = list(TopologicalSorter(graph).static_order())  # raises for a circle, and names it
        if folder == "prunemodels":
            assert order.index("models") < order.index("stages") < order.index("on_demand") < order.index("cascades")


def numbers(file: Path) -> list[str]:
    """The names that a module gives to plain numbers."""
    found = []
    for node in ast.parse(file.read_text()).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        parts = [] if value is None else list(ast.walk(value))
        counted = any(isinstance(n, ast.Constant) and type(n.value) in (int, float) for n in parts)
        plain = all(
            isinstance(n, ast.Constant | ast.UnaryOp | ast.BinOp | ast.operator | ast.unaryop | ast.Name | ast.expr_context)
            for n in parts
        )
        if isinstance(target, ast.Name) and counted and plain:
            found.append(target.id)
    return found


def test_numbers_that_tune_are_fields_of_records() -> None:
    """Few numbers stand at the level of a module, where nobody can set, list or log them, and none under a name used twice."""
    names = [name for file in FILES.values() for name in numbers(file)]
    assert len(names) <= 60
    assert sorted({name for name in names if names.count(name) > 1}) == []
