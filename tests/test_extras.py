"""What a light install without an extra can do, and how it names what installs that which something else needs.

The packages of all extras, and those that a light install leaves out, are hidden from a new process, as if not installed.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from formulations.extras import EXTRAS, LEFT_OUT, package
from prunemodels.errors import MissingPackageError

ROOT = Path(__file__).resolve().parent.parent

HIDDEN = f"""
import sys

class Hiding:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {sorted((*EXTRAS, *LEFT_OUT))!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hiding())
sys.path.insert(0, {str(ROOT)!r})
"""

WORKS = """
import prunemodels as pm
from prunemodels import *
from prunemodels.example import X_test, X_valid, costs, forest, path, y_test, y_valid

result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, budget=10)
assert pm.evaluate(result.estimator, X_test, y_test, costs=costs).cost <= 11
supplier = pm.on_demand.from_table(X_test)
served = pm.OnDemandPredictor(result.estimator, costs, supplier, early_stopping=True).run(X_test.index)
assert (served.predictions == result.estimator.predict(X_test)).all()
assert pm.checks.check_path(path).holds
fitted = pm.BudgetPrunedForestClassifier(budget=10, costs=costs).fit(X_valid, y_valid)
pm.save_forest(result.estimator, "forest.joblib")
again = pm.load_forest("forest.joblib", trust_pickle=True)
assert (again.predict(X_test) == result.estimator.predict(X_test)).all()
print("all works")
"""

NEEDS = {
    "result.plot": ("pm.prune_forest(forest, X_test, y_test, budget=3).plot()", "plots"),
    "pm.plots": ("pm.plots.plot_tradeoff", "plots"),
    "a picture of a network": ("pm.plots.plot_cut", None),
    "skops out": ("pm.save_forest(forest, 'forest.skops')", "io"),
    "skops in": ("open('forest.skops', 'w').close(); pm.load_forest('forest.skops')", "io"),
    "Parquet": ("from prunemodels.data_files import read_table; open('x.parquet', 'w').close(); read_table('x.parquet')", "io"),
    "tables larger than memory": ("pm.tables.ChunkedTable", "io"),
    "a report": ("pm.prune_forest(forest, X_test, y_test, budget=3).report('report.html', X_test, y_test)", "plots"),
    "HiGHS": ("pm.solve(problem, lam=0.01, method='highs_ip3')", None),
    "Pyomo": ("pm.solve(problem, lam=0.01, method='pyomo_ip3')", None),
    "a formulation": ("pm.programs.FORMULATIONS", None),
    "column generation": ("pm.solve(problem, lam=0.01, method='dantzig_wolfe_plain')", None),
}


def alone(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run code in a process without the extras' packages."""
    command = [sys.executable, "-W", "error", "-c", HIDDEN + code]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_what_most_use_needs_is_installed_without_extras(tmp_path: Path) -> None:
    """Pruning, judging, predicting on demand, fitting and joblib files work without any extra."""
    done = alone(WORKS, tmp_path)
    assert done.stdout == "all works\n", done.stderr


@pytest.mark.slow
def test_each_use_names_the_extra_that_it_needs(tmp_path: Path) -> None:
    """Whatever needs a package that is not there raises one kind of error, with the command that installs it."""
    code = "import prunemodels as pm\nfrom prunemodels.example import X_test, forest, path, problem, y_test\n"
    for what, (call, _) in NEEDS.items():
        code += f"try:\n    {call}\n    print({what!r}, 'worked')\n"
        code += f"except pm.errors.MissingPackageError as error:\n    print({what!r}, error)\n"
    done = alone(code, tmp_path)
    assert done.returncode == 0, done.stderr
    for (what, (_, extra)), line in zip(NEEDS.items(), done.stdout.splitlines(), strict=True):
        installed = "prunemodels" if extra is None else f'"prunemodels[{extra}]"'
        assert line.startswith(what)
        assert line.endswith(f"which is not installed: python -m pip install {installed}"), line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "extra"), [("demo", "plots"), ("prune f.joblib --data d.csv --costs 1 --budget 1 --out o.skops", "io")]
)
def test_commands_refuse_before_they_work(words: str, extra: str, tmp_path: Path) -> None:
    """A command that could not write its files ends with status 2 and one line, and has written nothing."""
    done = alone(f"from prunemodels.command_line.cli import main\nsys.exit(main({words.split()!r}))", tmp_path)
    assert done.returncode == 2
    assert f"prunemodels[{extra}]" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not any(tmp_path.iterdir())


def test_a_light_install_has_all_but_what_is_left_out() -> None:
    """`requirements-service.txt` repeats the pins of the project's dependencies, without three."""
    dependencies = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    listed = [line for line in (ROOT / "requirements-service.txt").read_text().splitlines() if not line.startswith("#")]
    assert set(dependencies) - set(listed) == {line for line in dependencies if Requirement(line).name in LEFT_OUT}
    assert set(listed) < set(dependencies)


def test_other_packages_are_not_extras() -> None:
    """A module that no extra brings is missing in the usual way."""
    with pytest.raises(ModuleNotFoundError, match="no_such_package") as raised:
        package("no_such_package")
    assert not isinstance(raised.value, MissingPackageError)


def test_each_extra_is_there_and_brings_what_it_is_named_for() -> None:
    """The extras that messages name are those of pyproject.toml, `all` has them, and no package of theirs is always there."""
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    always = {Requirement(line).name for line in project["dependencies"]}
    for name, extra in EXTRAS.items():
        assert name in {Requirement(line).name for line in extras[extra]}
        assert name not in always
    everything = Requirement(extras["all"][0]).extras
    assert everything == set(EXTRAS.values()) - {"ray", "rivals"}
