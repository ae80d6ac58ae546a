"""Formulations as programs: built, solved, read back, and what duals prove."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pytest

import prunemodels as pm
from formulations.instance.papers import two_trees
from solvers.programs.build import build

CASES: list[tuple[str, dict[str, Any]]] = [
    ("IP1", {"lam": 0.01}),
    ("IP3", {"lam": 0.01, "merge": True}),
    ("closure", {"lam": 0.01}),
    ("LP1", {"limits": [pm.Limit(2)]}),
    ("LP1", {"limits": [pm.Limit(3), pm.Limit(4, "splits")]}),
]
PROGRAMS = {"glpsol": ["--freemps", "model.mps", "-o", "model.sol"], "cbc": ["model.lp", "solve", "solution", "model.sol"]}


def is_optimal(formulation: str, given: dict[str, Any], pruning: pm.Pruning) -> bool:
    """Whether it is as good as what `solve` finds."""
    if "lam" in given:
        return pruning.value(0.01) == pytest.approx(pm.solve(pruning.problem, lam=0.01).value)
    best = pm.solve(pruning.problem, limits=given["limits"])
    return pruning.error == pytest.approx(best.error) and pruning.cost <= given["limits"][0].at_most


@pytest.mark.parametrize(("formulation", "given"), CASES)
@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_highs_answers_are_read_back(formulation: str, given: dict[str, Any], ending: str, tmp_path: Path) -> None:
    """Written, solved, and read from HiGHS' raw solution file."""
    program = build(two_trees(), formulation, **given)
    solver = highspy.Highs()
    solver.silent()
    solver.readModel(str(program.write(tmp_path / f"model{ending}")))
    solver.run()
    solver.writeSolution(str(tmp_path / "model.sol"), 0)
    assert is_optimal(formulation, given, program.read(tmp_path / "model.sol"))


@pytest.mark.parametrize("solver", PROGRAMS)
def test_answers_of_other_programs(solver: str, tmp_path: Path) -> None:
    """GLPK reads .mps (its .lp has no constant in the objective), CBC both."""
    if shutil.which(solver) is None:
        pytest.skip(f"{solver} is not installed")
    for formulation, given in CASES:
        program = build(two_trees(), formulation, **given)
        for ending in (".lp", ".mps"):
            program.write(tmp_path / f"model{ending}")
        subprocess.run([solver, *PROGRAMS[solver]], cwd=tmp_path, check=True, capture_output=True)
        assert is_optimal(formulation, given, program.read(tmp_path / "model.sol"))


ANSWERS = {
    "GLPK": """
   No. Column name       Activity     Lower bound   Upper bound
------ ------------    ------------- ------------- -------------
     1 y(0)         *              1             0             1
     2 y(2)         *              1             0             1
     3 y(5)
                    *              1             0             1
     4 y(6)         *              1             0             1
     5 y(9)         *              0             0             1
""",
    "CBC": """Optimal - objective value 0.25000000
      0 y(0)                         1                   -0.25
      1 y(2)                         1                   -0.25
      2 y(5)                         1                  -0.125
      3 y(6)                         1                  -0.125
""",
    "HiGHS": "Model status\nOptimal\n\n# Primal solution values\nFeasible\n# Columns 4\ny(0) 1\ny(2) 1\ny(5) 1\ny(6) 1\n"
    "# Dual solution values\nNone\n# Columns 1\ny(9) 1\n",
    "SCIP": "objective value: 0.25\ny(0)   1 \t(obj:-0.25)\ny(2)   1 \t(obj:-0.25)\ny(5) 1 (obj:-1)\ny(6) 1 (obj:-1)\n",
    "Gurobi": "# Objective value = 0.25\ny(0) 1\ny(2) 1\ny(5) 1\ny(6) 1\ny(9) -0\nw(2,0) 0\n",
    "CPLEX": '<CPLEXSolution>\n <variable name="y(0)" index="0" value="1"/>\n <variable name="y(2)" index="1" value="1"/>\n'
    ' <variable name="y(5)" index="2" value="0.9999999"/>\n <variable name="y(6)" index="3" value="1"/>\n</CPLEXSolution>\n',
}
"""The same point as different solvers write it."""


@pytest.mark.parametrize("solver", ANSWERS)
def test_every_format_is_the_same_point(solver: str, tmp_path: Path) -> None:
    """Splits 0, 2, 5 and 6 are kept; what a file leaves out is 0, and dual values are not taken for a point."""
    program = build(two_trees(), "closure", lam=0.01)
    file = tmp_path / "model.sol"
    file.write_text(ANSWERS[solver])
    assert np.flatnonzero(program.read(file).kept).tolist() == [0, 2, 5, 6]


def test_what_is_no_pruning_is_refused(tmp_path: Path) -> None:
    """A fractional point names its variable; a file without values, a missing one, and another length are named, too."""
    program = build(two_trees(), "closure", lam=0.01, relax=True)
    file = tmp_path / "model.sol"
    file.write_text("y(0) 0.5\ny(2) 0.1\n")
    with pytest.raises(pm.errors.InvalidInputError, match=r"y\[0\] is 0.5: the point is not integral"):
        program.read(file)
    file.write_text("x1 1\n")
    with pytest.raises(pm.errors.BrokenFileError, match=r"gives no value of a variable, such as 'y\(0\)'"):
        program.read(file)
    with pytest.raises(pm.errors.BrokenFileError, match=r"cannot read .*missing\.sol"):
        program.read(tmp_path / "missing.sol")
    with pytest.raises(pm.errors.InvalidInputError, match=r"x has shape \(1,\)"):
        program.pruning(np.ones(1))


@pytest.mark.parametrize(
    ("formulation", "given", "message"),
    [
        ("IP3", {}, "IP3 needs lam; give lam=0.01"),
        ("LP1", {}, r"LP1 needs limits; give limits=\[pm.Limit"),
        ("LP1", {"lam": 1}, "LP1 takes limits, not lam"),
        ("IP1", {"lam": 1, "limits": [pm.Limit(1)]}, "IP1 takes lam, not limits"),
        ("IP0", {"lam": 1}, "IP0 takes neither lam nor limits, not lam"),
        ("IP4", {"lam": 1}, "formulation is 'IP4'; give one of"),
        ("LP1", {"limits": [pm.Limit(1, "brain")]}, "there is no 'brain' to limit"),
    ],
)
def test_wrong_calls_are_refused(formulation: Any, given: dict[str, Any], message: str) -> None:
    """Each says what the formulation takes."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        build(two_trees(), formulation, **given)


def test_a_relaxation_has_no_integers() -> None:
    """The same rows, whichever is asked for; with IP0 nothing else is needed."""
    whole, relaxed = (build(two_trees(), "IP3", lam=0.1, relax=relax).arrays for relax in (False, True))
    assert whole.integer.all()
    assert not relaxed.integer.any()
    assert whole.matrix.shape == relaxed.matrix.shape
    assert build(two_trees(), "IP0").formulation == "IP0"
