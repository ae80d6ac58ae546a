"""What the pages for developers and on security say of the repository is so; the commit message's hook."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import yaml

import prunemodels as pm
from solvers.engine import NEEDED

ROOT = Path(__file__).resolve().parent.parent
PAGES = "\n".join(
    (ROOT / page).read_text() for page in ("CONTRIBUTING.md", "docs/dependencies.md", "docs/releases.md", "docs/chapters.md")
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_what_the_pages_name_is_there() -> None:
    """Files, folders, registries and targets of make exist."""
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]*|[\w]+\.(?:py|toml|md))`", PAGES)) - {"__init__.py", "../shared/data"}
    assert {"solvers/engine.py", "formulations/"} <= named
    assert [name for name in named if "NAME" not in name and not (ROOT / name).exists()] == []
    for file, name in re.findall(r"`([\w/]+)/__init__\.py`: `(\w+)`", PAGES):
        assert isinstance(getattr(__import__(file.replace("/", "."), fromlist=[name]), name), dict)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", PAGES)) <= set(targets)


def test_versions_and_pins_agree() -> None:
    """One version in all places and in the commands; quoted pins are in force, among them those that are checked at import."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PROJECT["version"] == pm.__version__ == citation["version"]
    assert set(re.findall(r"prunemodels-([\d.]+)-py3", PAGES)) == {pm.__version__}
    quoted = set(re.findall(r"`([a-z-]+(?:==|>=)[\d.,<*]+)`", PAGES))
    assert quoted <= set(PROJECT["dependencies"])
    for package, version in NEEDED.items():
        (pin,) = [p for p in PROJECT["dependencies"] if re.match(rf"{package}\b", p)]
        assert pin.startswith((f"{package}=={version}.", f"{package}>={version},"))
        assert pin in quoted


def test_long_subjects_are_refused() -> None:
    """A commit's subject has at most 72 characters, and an empty line parts it from the body; pre-commit matches bytes."""
    repositories = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    (hook,) = [hook for repository in repositories for hook in repository["hooks"] if hook["id"] == "commit-message"]
    assert hook["args"] == ["--multiline"]
    for message, wrong in (
        ("λ" * 72 + "\n\n" + "y" * 200, False),
        ("λ" * 73, True),
        ("Subject\nbody", True),
        ("S\n# of git", False),
    ):
        assert bool(re.search(hook["entry"].encode(), message.encode(), re.MULTILINE)) is wrong


PACKAGES = ("formulations", "solvers", "proofs_checks", "prunemodels")

MAY_UNPICKLE = {
    "prunemodels/files/forests.py": {"joblib.load"},  # after --trust-pickle
    "prunemodels/cascades/kept_stages.py": {"joblib.load"},  # in the folder of a checkpoint that fit is told to go on from
    # pickles that this run has written itself
    "prunemodels/comparison/processes.py": {"pickle.load"},
    "solvers/child_process.py": {"pickle.load", "pickle.Unpickler"},
    "solvers/price_sharing/cluster/ray_workers.py": {"pickle.loads"},
}

RISKY = {"pickle.load", "pickle.loads", "pickle.Unpickler", "joblib.load", "eval", "exec", "os.system", "yaml.load"}


def test_only_these_files_unpickle() -> None:
    """Nothing else in the package loads pickles or evaluates text; every call of numpy's load says allow_pickle=False."""
    files = [file for package in PACKAGES for file in sorted((ROOT / package).rglob("*.py"))]
    assert len(files) > 300
    found = {}
    for file in files:
        nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
        names = {ast.unparse(node) for node in nodes if isinstance(node, (ast.Attribute, ast.Name))} & RISKY
        found |= {file.relative_to(ROOT).as_posix(): names} if names else {}
        for call in nodes:
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("np.load", "numpy.load"):
                given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
                assert given.get("allow_pickle") == "False", f"{file}:{call.lineno}"
    assert found == MAY_UNPICKLE
