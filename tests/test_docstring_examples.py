"""Every public name has an example in its docstring, which runs from nothing and prints what stands there."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path

import pytest

import prunemodels as pm
from prunemodels.data_files import data_folder
from tests.test_layout import PUBLIC, namespaces

API = Path(__file__).resolve().parent.parent / "docs" / "api"
DATA = {"BUDGET_SOLVERS", "BUNDLE", "FORMULATIONS", "MATRICES", "PLAIN", "SOLVERS", "UNAVAILABLE"}
"""Names of objects without a docstring of their own; their examples stand in `docs/api`."""

LONGER = {
    "BudgetCascadeClassifier", "BudgetCascadeRegressor",
    "CSTCClassifier", "CSTCRegressor", "CascadeClassifier", "CascadeRegressor", "ExitPath", "check_closure_path",
    "evaluate_exit_path", "exit_path", "load_cascade", "plot_exits", "prune_boosted", "save_cascade",
    "write_report",
}  # fmt: skip
"""Examples that train cascades or draw whole pages: `make test-slow` runs them."""

FETCHED = "datasets.fetch_heart"  # its table is in the folder of the data sets, or has to be fetched

CALLED = {
    f"{space}.{name}".removeprefix("prunemodels."): getattr(module, name)
    for space, module in namespaces().items()
    for name in PUBLIC[space]
    if name not in DATA
}


def complaints(name: str, text: str) -> str:
    """What a docstring's examples do otherwise than they say; empty if all is as it stands there."""
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert test.examples, f"{name} has no example"
    assert "SKIP" not in text, f"{name} has an example that does not run"
    heard: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=heard.append)
    return "".join(heard)


@pytest.mark.slow_cases(
    "budgets", "cascades", "checks", "engines", "evaluation", "other_libraries", "plots", "programs", "prunemodels", "rivals"
)
@pytest.mark.parametrize("space", [space.removeprefix("prunemodels.") for space in PUBLIC])
def test_examples_of_a_namespace_print_what_is_shown(space: str) -> None:
    """Each docstring's example, in an empty namespace: the reader can copy it as it stands."""
    names = [name for name in CALLED if name.rpartition(".")[0] == space.replace("prunemodels", "")]
    assert names
    absent = () if (data_folder() / "heart_statlog.csv.gz").is_file() else (FETCHED,)
    short = [name for name in names if name.rpartition(".")[2] not in LONGER and name not in absent]
    assert "".join(complaints(name, inspect.getdoc(CALLED[name]) or "") for name in short) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LONGER))
def test_longer_examples_print_what_is_shown(name: str) -> None:
    """The same for examples that train cascades."""
    (full,) = (known for known in CALLED if known.rpartition(".")[2] == name)
    assert complaints(full, inspect.getdoc(CALLED[full]) or "") == ""


def test_the_packages_example_runs() -> None:
    """`help(prunemodels)` begins with one."""
    assert complaints("prunemodels", pm.__doc__ or "") == ""


def test_registries_have_examples_on_their_pages() -> None:
    """What has no docstring of its own has its example in the API reference; it runs, too."""
    pages = "\n".join(page.read_text() for page in sorted(API.glob("*.md")))
    for name in DATA:
        (found,) = re.findall(rf"^\.\. (?:auto)?data:: [\w.]*\b{name}\n((?:\n|[ ]+.*\n)*)", pages, re.MULTILINE)
        assert complaints(name, inspect.cleandoc(found)) == ""
