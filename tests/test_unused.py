"""No parameter that its function never reads, and no option that nobody but a test ever sets: both are ideas without a user."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("solvers",)  # packages that keep the rules

CALLERS = ("formulations", "solvers", "proofs_checks", "prunemodels", "benchmarks")
SHARED = {"time_limit"}  # options that every function of a registry has, whoever sets or reads them

EXEMPT: dict[str, set[str]] = {
    "optimal_pruning": {"params"},  # tuning numbers, here and below: small instances would never reach what large ones do
    "pruning_path": {"params"},
    "RayWorkers": {"address", "cpus", "restarts", "start_limit"},
    "start_workers": {"ray", "address", "cpus", "restarts", "start_limit"},
    "Workers": {"restarts"},
    "LocalWorkers": {"restarts"},
    "shard_recipes": {"threads"},
    "frank_wolfe": {"iterations", "start"},
    "best_closure": {"ties"},  # `merged_cut` passes it on, to whichever cut it is given
}
"""Options for a user's own program, and one without which tests could not reach what they test."""

Function = ast.FunctionDef
Named = tuple[Path, str, Function]


@cache
def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text())


def is_free(owner: ast.ClassDef | None, function: Function) -> bool:
    """Whether a function chooses its own parameters: no protocol, no hook of another library, no stub."""
    bases = {ast.unparse(base) for base in owner.bases} if owner else set()
    decorators = {ast.unparse(d) for d in function.decorator_list}
    dunder = function.name.startswith("__") and function.name != "__init__"
    hook = function.name in {"persistent_id", "persistent_load"}
    return not (dunder or hook or any("Protocol" in b for b in bases) or decorators & {"abstractmethod", "overload"})


def functions(package: str) -> Iterator[Named]:
    """Functions and methods by the name that a caller uses, those of classes by the class for their constructors."""
    for file in sorted((ROOT / package).rglob("*.py")):
        for node in ast.walk(tree_of(file)):
            if isinstance(node, ast.ClassDef):
                inside = [f for f in node.body if isinstance(f, Function) and is_free(node, f)]
                yield from ((file, node.name if f.name == "__init__" else f.name, f) for f in inside)
            elif isinstance(node, ast.Module):
                yield from ((file, f.name, f) for f in node.body if isinstance(f, Function) and is_free(None, f))


@cache
def calls() -> dict[str, tuple[set[str], int]]:
    """By the name of a function: the options that callers other than tests name, and the most arguments they give by position."""
    trees = [tree_of(file) for package in CALLERS for file in sorted((ROOT / package).rglob("*.py"))]
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(file.read_text())["cells"]
        trees += [ast.parse("".join(c["source"])) for c in cells if c["cell_type"] == "code" and "%" not in "".join(c["source"])]
    found: dict[str, tuple[set[str], int]] = {}
    for node in (n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)):
        target, arguments = node.func, node.args
        if ast.unparse(target) == "partial" and arguments:
            target, *arguments = arguments
        name = ast.unparse(target).split(".")[-1]
        named, most = found.get(name, (set(), 0))
        count = 99 if any(isinstance(a, ast.Starred) for a in arguments) else len(arguments)
        found[name] = named | {k.arg or "**" for k in node.keywords}, max(most, count)
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_parameter_is_read(package: str) -> None:
    """A parameter that a protocol asks for and that a function does not need is named with an underscore."""
    unread = []
    for file, _, function in functions(package):
        read = {n.id for statement in function.body for n in ast.walk(statement) if isinstance(n, ast.Name)}
        given = {a.arg for a in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs) if a.arg[0] != "_"}
        unread += [f"{file.relative_to(ROOT)}: {function.name}({a})" for a in given - read - SHARED - {"self", "cls"}]
    assert unread == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_option_has_a_user(package: str) -> None:
    """Options of public functions and engines, `@checked` or `@checking`, are their users'; any other is set by some caller."""
    idle = []
    for file, name, function in functions(package):
        if any(ast.unparse(d) in {"checked", "checking"} for d in function.decorator_list):
            continue
        named, most = calls().get(name, (set(), 0))
        asked = function.args
        plain = [a.arg for a in asked.args if a.arg not in {"self", "cls"}]
        options = list(enumerate(plain))[len(plain) - len(asked.defaults) :]
        options += [(99, a.arg) for a, default in zip(asked.kwonlyargs, asked.kw_defaults, strict=True) if default is not None]
        known = named | SHARED | EXEMPT.get(name, set())
        where = f"{file.relative_to(ROOT)}: {name}"
        idle += [f"{where}({a})" for k, a in options if a not in known and "**" not in named and most <= k]
    assert idle == []
