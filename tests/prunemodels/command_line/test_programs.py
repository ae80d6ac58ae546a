"""The commands ``compare`` and ``export`` end to end: what they write and say, and that they refuse without a trace."""

from __future__ import annotations

import gzip
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

import prunemodels as pm
from formulations.programs.matrix import MATRICES
from formulations.programs.program_text import read_program
from prunemodels.command_line import programs
from tests.prunemodels.command_line.conftest import screen, told, written

LAM = 0.01
FILES = "--data valid.csv --label label --ignore w,note --costs 1 --quiet"
pytestmark = pytest.mark.usefixtures("house")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines run in this process, for speed."""
    monkeypatch.setattr(programs, "compare", partial(pm.compare, isolate=False))


def the_problem(forest: str = "forest.skops") -> pm.PruningProblem:
    """What the command line's files hold, read without it."""
    model: Any = skops.io.load(forest, trusted=["sklearn.tree._tree.Tree"])
    return pm.problem_from_forest(model, pd.read_csv("valid.csv").drop(columns=["label", "w", "note"]), costs=1)


@pytest.mark.slow
def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    """The screen has a row a solver, each run in a process of its own, says what lambda means, and keeps within 80 columns."""
    text = screen(
        capsys, f"compare forest.skops {FILES} --lam {LAM} --solvers 'min_cut, brute_force' --out out/table.csv --time-limit 60"
    )
    pruning = pm.engines.min_cut(the_problem(), LAM).pruning
    assert pruning is not None
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    assert "one unit of cost is worth 1 % of error" in text
    row = next(line for line in lines if line.startswith("min_cut")).split()
    assert row[1:6] == ["optimal", f"{pruning.value(LAM):.6g}", f"{pruning.cost:.5g}", f"{pruning.n_splits:,}", "0"]
    table, expected = pd.read_csv("out/table.csv"), pm.compare(the_problem(), LAM, ["min_cut", "brute_force"], isolate=False)
    assert list(table.columns) == list(expected.columns)
    assert list(table.value[:1]) == list(expected.value[:1])
    assert list(table.status) == list(expected.status)


@pytest.mark.usefixtures("here")
def test_compare_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """A row a solver, null for what a solver does not have; whether a pruning was proven is said."""
    r = told(capsys, f"compare forest.skops {FILES} --lam {LAM} --solvers min_cut,brute_force")
    assert r["unpruned"]["error"] == pm.Pruning.unpruned(the_problem()).error
    cut, brute = r["solvers"]
    assert (cut["solver"], cut["status"], cut["gap"], cut["integral"], cut["nodes"]) == ("min_cut", "optimal", 0, True, None)
    assert (brute["status"], brute["value"], brute["splits"]) == ("refused", None, None)
    assert "at most 1,000,000" in brute["note"]
    assert r["lam"] == LAM
    text = screen(capsys, f"compare forest.skops {FILES} --lam {LAM} --solvers brute_force")
    assert "not proven by any of these solvers" in text
    assert "at most 1,000,000" in text


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_compare_within_budgets(capsys: pytest.CaptureFixture[str]) -> None:
    """--budget runs the budget engines: a row each and budget, with what its pruning costs and errs."""
    words = f"compare forest.skops {FILES} --budget"
    lines = screen(capsys, f"{words} 2 3.5 --solvers path,highs_lp1 --out out/table.csv").splitlines()
    assert lines[0].endswith("cost at most 2, 3.5")
    assert max(map(len, lines)) <= 80
    found = [pm.solve(the_problem(), budget=b, method="path") for b in (2, 3.5)]
    bought = [(line.split()[1], line.split()[5]) for line in lines if line.startswith("path")]
    assert bought == [(b, f"{f.cost:.5g}") for b, f in zip(("2", "3.5"), found, strict=True)]
    rows = [line.split()[:3] for line in lines if line.startswith("highs_lp1")]
    assert rows == [["highs_lp1", b, str(f.status)] for b, f in zip(("2", "3.5"), found, strict=True)]
    table = pd.read_csv("out/table.csv")
    assert list(table.budget) == [2, 2, 3.5, 3.5]
    np.testing.assert_allclose(table.value, [float(f.relaxation.value) for f in found for _ in range(2)])
    r = told(capsys, f"{words} 3.5 --solvers path")
    assert (r["lam"], r["budgets"]) == (None, [3.5])
    assert r["solvers"][0]["value"] == float(found[1].relaxation.value)


@pytest.mark.parametrize(
    ("name", "ending"), [(n, e) for n in MATRICES for e in ("lp", "mps")] + [("IP3", "lp.gz"), ("IP3", "mps.gz")]
)
def test_export(name: str, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every formulation, read back from its file, is the program that `MATRICES` builds; --json tells its size."""
    goal = {"IP0": "", "LP1": "--merge --budget 2.5"}.get(name, f"--merge --lam {LAM}")
    out = f"out/model.{ending}"
    r = told(capsys, f"export tree.skops {FILES} {goal} --formulation {name} --out {out}")
    number = {"IP0": {}, "LP1": {"budget": 2.5}}.get(name, {"lam": 0.01})
    options = {"merge": True} if goal else {}
    expected = MATRICES[name](the_problem("tree.skops"), **number, **options)
    assert written() == [f"model.{ending}"]
    assert r["bytes"] == Path(out).stat().st_size
    assert (r["rows"], r["columns"], r["nonzeros"]) == (*expected.shape, expected.matrix.nnz)
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
def test_the_command_that_is_told_solves_the_file(ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The line "to solve it", pasted into a shell, finds the optimum of min_cut in the relaxation, whatever the file's name."""
    out = f"out/it's my model.{ending}"
    lines = screen(capsys, f'export forest.skops {FILES} --lam {LAM} --relax --out "{out}"').splitlines()
    assert "linear relaxation" in lines[2]
    assert lines[-1] == f"written        {out}"
    line = next(line for line in lines if line.startswith("to solve it")).removeprefix("to solve it")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # a shell that knows our Python
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path})
    value = float(done.stdout.partition("Objective value     :")[2].split()[0])
    assert value == pytest.approx(pm.engines.min_cut(the_problem(), LAM).value, rel=1e-8)


def test_the_formulation_follows_from_the_goal(capsys: pytest.CaptureFixture[str]) -> None:
    """--lam alone means IP3, --budget alone LP1; the screen says which."""
    for goal, title in ((f"--lam {LAM} --merge", "as IP3, lambda = 0.01"), ("--budget 3", "as LP1, cost at most 3")):
        assert title in screen(capsys, f"export forest.skops {FILES} {goal} --out out/a.mps")
