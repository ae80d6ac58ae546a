"""The commands ``compare`` and ``export`` end to end: what they write and say, and that they refuse without a trace."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations.programs.files import read_program
from formulations.programs.matrix import MATRICES
from prunemodels.command_line import programs
from prunemodels.command_line.cli import main
from prunemodels.command_line.commands import FORMULATIONS

LAM = "0.01"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two forests, and data, as a user would have them."""
    folder = tmp_path_factory.mktemp("models")
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = RandomForestClassifier(4, max_depth=4, random_state=0).fit(X[:300], y[:300])
    skops.io.dump(forest, folder / "forest.skops")
    skops.io.dump(RandomForestClassifier(1, max_depth=4, random_state=0).fit(X[:300], y[:300]), folder / "tree.skops")
    X[300:340].assign(label=y[300:340]).to_csv(folder / "valid.csv", index=False)
    return folder


@pytest.fixture
def case(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files in a working directory of the test's own, with an empty folder ``out``."""
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines run in this process, for speed."""
    monkeypatch.setattr(programs, "compare", partial(pm.compare, isolate=False))


def words(command: str, *more: str, forest: str = "forest.skops") -> list[str]:
    return [command, forest, "--data", "valid.csv", "--label", "label", "--costs", "1", "--quiet", *more]


def the_problem(forest: str = "forest.skops") -> pm.PruningProblem:
    """What the command line's files hold, read without it."""
    model: Any = skops.io.load(forest, trusted=["sklearn.tree._tree.Tree"])
    return pm.problem_from_forest(model, pd.read_csv("valid.csv").drop(columns="label"), costs=1)


def written() -> list[str]:
    return sorted(p.name for p in Path("out").iterdir())


def strict(text: str) -> dict[str, Any]:
    """JSON without NaN and Infinity, which are none."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    told: dict[str, Any] = json.loads(text, parse_constant=refuse)
    return told


def test_compare(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The screen has a row a solver, each run in a process of its own, says what lambda means, and keeps within 80 columns."""
    command = words("compare", "--lam", LAM, "--solvers", "min_cut, brute_force", "--out", "out/table.csv", "--time-limit", "60")
    assert main(command) == 0
    told = capsys.readouterr()
    assert told.err == ""
    pruning = pm.engines.min_cut(the_problem(), float(LAM)).pruning
    assert pruning is not None
    lines = told.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert next(line for line in lines if line.strip().startswith("optimum")).split()[1:3] == [
        f"{pruning.cost:.1f}",
        f"{pruning.n_splits:,}",
    ]
    assert f"{100 * pruning.error:.2f} %" in told.out
    assert "one unit of cost is worth 1 % of error" in told.out
    row = next(line for line in lines if line.startswith("min_cut")).split()
    assert row[1:4] == ["optimal", f"{pruning.value(float(LAM)):.6g}", "0"]
    assert "iterations" not in told.out
    table = pd.read_csv("out/table.csv")
    expected = pm.compare(the_problem(), float(LAM), ["min_cut", "brute_force"], isolate=False)
    assert list(table.columns) == list(expected.columns)
    assert list(table.value[:1]) == list(expected.value[:1])
    assert list(table.status) == list(expected.status)


@pytest.mark.usefixtures("here")
def test_compare_as_json(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--json prints one strict JSON object with a row a solver, null for what a solver does not have."""
    assert main(words("compare", "--lam", LAM, "--solvers", "min_cut,brute_force", "--json")) == 0
    told = strict(capsys.readouterr().out)
    pruning = pm.engines.min_cut(the_problem(), float(LAM)).pruning
    assert pruning is not None
    unpruned, optimum = told["prunings"]
    assert [optimum[k] for k in ("budget", "cost", "sample_error", "splits")] == [
        "optimum",
        pruning.cost,
        pruning.error,
        pruning.n_splits,
    ]
    assert unpruned["sample_error"] == pm.Pruning.unpruned(the_problem()).error
    cut, brute = told["solvers"]
    assert (cut["solver"], cut["status"], cut["gap"], cut["integral"], cut["nodes"]) == ("min_cut", "optimal", 0, True, None)
    assert (brute["status"], brute["value"], brute["splits"]) == ("refused", None, None)
    assert "at most 1,000,000" in brute["note"]
    assert told["lam"] == 0.01


@pytest.mark.usefixtures("here")
def test_compare_within_budgets(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--budget runs the budget engines: a row each and budget, and what the best pruning within each budget costs and errs."""
    command = words("compare", "--budget", "2,3.5", "--solvers", "path,highs_lp1", "--out", "out/table.csv")
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("cost at most 2, 3.5")
    assert max(map(len, lines)) <= 80
    found = [pm.solve(the_problem(), budget=b, method="path") for b in (2, 3.5)]
    bought = [line.split() for line in lines if line.strip().startswith("within")]
    assert [row[:3] for row in bought] == [["within", b, f"{f.cost:.1f}"] for b, f in zip(("2", "3.5"), found, strict=True)]
    assert [line.split()[:3] for line in lines if line.startswith("highs_lp1")] == [
        ["highs_lp1", "2", str(found[0].status)],
        ["highs_lp1", "3.5", str(found[1].status)],
    ]
    table = pd.read_csv("out/table.csv")
    assert list(table.budget) == [2, 2, 3.5, 3.5]
    np.testing.assert_allclose(table.value, [float(f.relaxation.value) for f in found for _ in range(2)])
    np.testing.assert_allclose(
        table.dual[2:], float(found[1].relaxation.lam)
    )  # at 2 LP1's optimum is a pruning: any of an interval
    assert main(words("compare", "--budget", "3.5", "--solvers", "path", "--json")) == 0
    told = strict(capsys.readouterr().out)
    assert (told["lam"], told["budgets"]) == (None, [3.5])
    within = [told["prunings"][1][k] for k in ("budget", "cost", "sample_error", "splits")]
    assert within == ["within 3.5", found[1].cost, found[1].error, found[1].pruning.n_splits]
    assert told["solvers"][0]["value"] == float(found[1].relaxation.value)
    assert main(words("compare", "--budget", "2", "--solvers", "brute_force", "--json")) == 0
    assert len(strict(capsys.readouterr().out)["prunings"]) == 1


@pytest.mark.parametrize(
    ("name", "ending"), [(n, e) for n in FORMULATIONS for e in ("lp", "mps")] + [("IP3", "lp.gz"), ("IP3", "mps.gz")]
)
def test_export(case: Path, name: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every formulation, read back from its file, is the program that `MATRICES` builds; --json tells its size."""
    goal = {"IP0": [], "LP1": ["--budget", "2.5"]}.get(name, ["--lam", LAM])
    merge = [] if name == "IP0" else ["--merge"]
    out = f"out/model.{ending}"
    assert main(words("export", *goal, *merge, "--formulation", name, "--out", out, "--json", forest="tree.skops")) == 0
    told = strict(capsys.readouterr().out)
    number = {"IP0": {}, "LP1": {"budget": 2.5}}.get(name, {"lam": 0.01})
    options = {"merge": True} if merge else {}
    expected = MATRICES[name](the_problem("tree.skops"), **number, **options)
    assert written() == [f"model.{ending}"]
    assert told["bytes"] == Path(out).stat().st_size
    assert (told["rows"], told["columns"], told["nonzeros"]) == (*expected.shape, expected.matrix.nnz)
    if ending.endswith(".gz"):
        out = out.removesuffix(".gz")
        Path(out).write_bytes(gzip.decompress(Path(out + ".gz").read_bytes()))
    program = read_program(out)
    np.testing.assert_array_equal(program.cost, expected.cost)
    assert (program.matrix != expected.matrix).nnz == 0
    np.testing.assert_array_equal(program.row_upper, expected.row_upper)
    assert program.integer.all()
    assert list(program.columns) == list(expected.columns)


@pytest.mark.parametrize("ending", ["lp", "mps.gz"])
def test_the_command_that_is_told_solves_the_file(case: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line "to solve it", pasted into a shell, finds the optimum of min_cut in the relaxation, whatever the file's name."""
    out = f"out/it's my model.{ending}"
    assert main(words("export", "--lam", LAM, "--relax", "--out", out)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "forest.skops: RandomForestClassifier of 4 trees as IP3, lambda = 0.01"
    assert "linear relaxation" in lines[2]
    assert lines[-1] == f"written        {out}"
    line = next(line for line in lines if line.startswith("to solve it")).removeprefix("to solve it")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # a shell that knows our Python
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    value = float(done.stdout.partition("Objective value     :")[2].split()[0])
    assert value == pytest.approx(pm.engines.min_cut(the_problem(), float(LAM)).value, rel=1e-8)


def test_the_parser_knows_all_formulations() -> None:
    """The names that --formulation offers, written out so that help comes at once, are those that can be built."""
    assert tuple(MATRICES) == FORMULATIONS


@pytest.mark.usefixtures("here")
def test_compare_without_a_proof(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where no solver proves an optimum the screen says so, and why there is no answer."""
    assert main(words("compare", "--lam", LAM, "--solvers", "brute_force")) == 0
    told = capsys.readouterr().out
    assert "optimum        not proven by any of these solvers" in told
    assert "brute_force: brute force: the forest has" in told


def test_the_formulation_follows_from_the_goal(case: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """--lam alone means IP3, --budget alone LP1; the screen says which."""
    assert main(words("export", "--lam", LAM, "--out", "out/a.mps", "--merge")) == 0
    told = capsys.readouterr().out
    assert "as IP3, lambda = 0.01" in told
    assert "nonzeros, purchases merged" in told
    assert main(words("export", "--budget", "3", "--out", "out/b.mps")) == 0
    assert "as LP1, cost at most 3" in capsys.readouterr().out
    assert written() == ["a.mps", "b.mps"]
