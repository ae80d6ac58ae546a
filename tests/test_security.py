"""What the page on security says about loading: which files of the package can run code from a file, and which never do."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

MAY_UNPICKLE = {
    "prunemodels/files/forests.py": {"joblib.load"},  # after --trust-pickle
    # pickles that this run has written itself
    "prunemodels/comparison/processes.py": {"pickle.load"},
    "solvers/child_process.py": {"pickle.load", "pickle.Unpickler"},
    "solvers/price_sharing/cluster/ray_workers.py": {"pickle.loads"},
}

RISKY = {"pickle.load", "pickle.loads", "pickle.Unpickler", "joblib.load", "eval", "exec", "os.system", "yaml.load"}


def used(file: Path) -> set[str]:
    """Names and attributes in a file that can run code from elsewhere."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    found = {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, (ast.Attribute, ast.Name))}
    return found & RISKY


def test_only_these_files_unpickle() -> None:
    """Nothing else in the package loads pickles or evaluates text."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 300
    found = {file.relative_to(ROOT).as_posix(): used(file) for file in files}
    assert {file: names for file, names in found.items() if names} == MAY_UNPICKLE


def test_numpy_never_loads_objects() -> None:
    """Every call of numpy's load says allow_pickle=False."""
    calls = 0
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "numpy.load"):
                    calls += 1
                    given = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
                    assert given.get("allow_pickle") == "False", f"{file}:{node.lineno}"
    assert calls >= 1


def test_child_processes_cannot_be_steered_by_a_file_name() -> None:
    """Processes of a solve read unnamed temporary files: no path is passed to them."""
    for file in ("solvers/child_process.py", "prunemodels/comparison/processes.py"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert "tempfile.TemporaryFile(" in text
        assert "NamedTemporaryFile" not in text
        assert "mkstemp" not in text
