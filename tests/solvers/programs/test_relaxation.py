"""Formulations as programs: relaxations with their dual values by name, files that are written, and answers read back."""

from __future__ import annotations

import importlib.util
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
import pytest

import prunemodels as pm
from formulations import InfeasibleModelError, InvalidInputError, Pruning, SolverFailedError
from formulations.instance.limit import Limit
from formulations.instance.papers import two_trees
from formulations.models import FORMULATIONS, feature_used, read_pruning
from formulations.programs.matrix import MATRICES
from prunemodels.example import problem as example
from solvers import solve_model, solve_relaxation
from solvers.brute_force import all_prunings
from solvers.programs.build import build
from solvers.programs.highs import highs
from solvers.programs.linear_program import irreducible
from solvers.programs.rounding import LINEAR_ENGINES, relaxation_bound
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import CASES, instance, stump

VERTEX = ("highs", "glop")
SMALL = [name for name in CASES if not name.startswith(("random", "rounded", "sonar", "heart"))]


def test_dual_values_by_hand() -> None:
    """Dual values of IP3 on a stump with two rows, worked out by hand, signs included.

    The root errs on 4 of 10, the leaves on 1 each; one example goes each way, lambda = .1. The optimum keeps the split: .2 + .1.
    Each example's w costs lambda / 2 = .05, all of it paid by the split. Of rows equal to 1, d optimum / d right-hand side: a
    leaf row that asks for more makes its own leaf err more, .1 each; a usage row buys more, .05.
    """
    for engine in VERTEX:
        found = solve_relaxation(stump((4, 1, 1), [1], [[0], [1]]), 0.1, formulation="IP3", engine=engine)
        assert found.objective == pytest.approx(0.3)
        assert found.integral
        assert {name: found.point[name] for name in ("z[0]", "z[1]", "z[2]", "w[0,0]", "w[0,1]")} == pytest.approx(
            {"z[0]": 0, "z[1]": 1, "z[2]": 1, "w[0,0]": 1, "w[0,1]": 1}
        )
        for i in (0, 1):
            payments = found.dual[f"coupling[0,0,{i}]"]
            assert payments == pytest.approx(-found.dual[f"usage[0,0,{i}]"])
            assert payments <= -0.05 + 1e-9  # <= 0 at a row <=, at least the whole price; more if w <= 1 is what holds it
        assert found.dual["leaf[1]"] == pytest.approx(0.1)
        assert found.reduced_cost["z[0]"] >= -1e-9


@pytest.mark.parametrize("engine", LINEAR_ENGINES)
@looped("name", SMALL)
def test_reduced_costs_are_what_the_duals_leave(name: str, engine: str) -> None:
    """Reduced costs are cost - dual A, of the right sign at either bound, and the duals prove the objective."""
    problem = instance(name)
    lam = 0.05
    found = solve_relaxation(problem, lam, formulation="IP3", engine=engine, merge=True)
    program, x = found.program, found.point.amounts
    np.testing.assert_allclose(
        found.reduced_cost.amounts, program.cost - program.matrix.T @ found.dual.amounts, atol=1e-9 * max(1, program.cost.max())
    )
    coarse = 1e-5 * max(1.0, float(program.cost.max()))
    assert (found.reduced_cost.amounts[x < 1e-6] >= -coarse).all()
    assert (found.reduced_cost.amounts[x > 1 - 1e-6] <= coarse).all()
    assert (found.dual.amounts[program.rows.of("coupling")] <= coarse).all()
    bound = relaxation_bound(program, found.dual.amounts)
    assert bound <= found.objective + coarse
    assert bound == pytest.approx(found.objective, abs=1e-5 * max(1.0, abs(found.objective)))


@pytest.mark.slow
@looped("seed", range(30))
def test_any_duals_give_a_lower_bound(seed: int) -> None:
    """Weak duality from dual values drawn at random stays below every pruning's value."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    lowest = min(Pruning(problem, kept).value(0.2) for kept in all_prunings(problem).kept)
    for name in ("IP1", "IP3", "closure"):
        program = MATRICES[name](problem, lam=0.2, relax=True)
        for size in (1e-3, 1.0, 1e3):
            duals = rng.standard_normal(program.shape[0]) * size
            bound = relaxation_bound(program, duals)
            assert -np.inf < bound <= lowest  # finite: a dual value against the absent side of a row counts as 0


def test_pyomo_duals_come_back_by_component() -> None:
    """A solved model carries dual values by constraint and reduced costs by variable, the same as the arrays give."""
    problem = two_trees()
    model: Any = FORMULATIONS["IP3"](problem, lam=0.1, relax=True)
    program, answer = solve_model(model)
    assert {c.name: value for c, value in model.dual.items()} == dict(zip(program.rows, answer.row_dual.tolist(), strict=True))
    assert len(model.rc) == program.shape[1]
    assert pyo.value(model.objective) == pytest.approx(0.425)
    assert read_pruning(model).value(0.1) == pytest.approx(0.425)
    again, other = solve_model(model)  # a model can be solved again, at another lambda
    assert other.objective == pytest.approx(answer.objective)
    assert again.shape == program.shape
    model.lam = 5.0
    assert solve_model(model)[1].objective == pytest.approx(1.0)


def without_point(name: str, **number: Any) -> Any:
    """A model whose rows leave no pruning: two contradict each other, two more are kept by every pruning."""
    model: Any = FORMULATIONS[name](two_trees(), **number)
    model.harmless = pyo.Constraint(expr=model.kept[0] + model.kept[2] <= 2)
    model.all_kept = pyo.Constraint(list(model.kept), rule=lambda m, h: m.kept[h] >= 1)
    model.few = pyo.Constraint(expr=pyo.quicksum(feature_used(model).values()) <= 2)
    model.again = pyo.Constraint(expr=model.kept[5] >= model.kept[6])
    return model


@pytest.mark.parametrize(
    ("name", "number"), [("IP1", {"lam": 0.1}), ("IP3", {"lam": 0.1}), ("closure", {"lam": 0.1}), ("LP1", {"budget": 9})]
)
@pytest.mark.parametrize("solver", ["highs", "appsi_highs"])
def test_contradicting_rows_are_named(name: str, number: Any, solver: str) -> None:
    """A row allows two features, others keep all splits: it is named, and as few of the others as ask for three."""
    model = without_point(name, **number)
    with pytest.raises(InfeasibleModelError, match=f"the model {name} has no feasible point: ") as caught:
        solve_model(model, solver=solver)
    words = re.findall(r"few|all_kept\[\d+\]", str(caught.value).split("point: ")[1])
    kept, forest = [int(word[9:-1]) for word in words if word != "few"], model.problem.ensemble
    parent, feature = forest.parent, forest.feature
    asked = [{int(feature[h]), *([int(feature[parent[h]])] if parent[h] >= 0 else [])} for h in kept]
    assert len(words) == len(kept) + 1
    assert set.union(*asked) == {0, 1, 2}
    assert all(len(set.union(set(), *asked[:k], *asked[k + 1 :])) < 3 for k in range(len(kept)))
    assert "harmless" not in str(caught.value)
    assert "again" not in str(caught.value)
    model.few.deactivate()
    solve_model(model, solver=solver)
    assert read_pruning(model).n_splits == 5


def test_a_budget_and_fixed_variables_are_causes_too() -> None:
    """One row that allows nothing is named alone, a fixed variable with its value, and a limit by its title."""
    model: Any = FORMULATIONS["IP3"](two_trees(), lam=0.1)
    model.z[0].fix(1)
    model.below = pyo.Constraint(expr=model.z[1] >= 1)
    with pytest.raises(InfeasibleModelError, match=r"below and z\[0\] = 1 contradict each other"):
        solve_model(model)
    model.z[0].unfix()
    model.none = pyo.Constraint(expr=model.z[1] + model.z[0] >= 2)
    with pytest.raises(InfeasibleModelError, match="point: none allows no pruning"):
        solve_model(model)
    limited: Any = FORMULATIONS["LP1"](two_trees(), budget=9, limits=[Limit(2, "splits")])
    limited.deep = pyo.Constraint(expr=limited.kept[9] == 1)
    limited.wide = pyo.Constraint(expr=limited.kept[0] == 1)
    with pytest.raises(InfeasibleModelError, match=r"budget\[splits\], deep and wide contradict"):
        solve_model(limited)
    limited.deep.deactivate()
    limited.endless = pyo.Var()
    limited.objective.deactivate()
    limited.mine = pyo.Objective(expr=limited.endless)
    with pytest.raises(SolverFailedError, match="the model LP1: HiGHS ended with the status") as caught:
        solve_model(limited)
    assert not isinstance(caught.value, InfeasibleModelError)


def test_a_point_that_breaks_a_row_is_refused() -> None:
    """What was solved before a row was added, or a limit lowered, is no answer to the model as it is."""
    model: Any = FORMULATIONS["LP1"](two_trees(), budget=3)
    solve_model(model)
    assert read_pruning(model).n_splits == 5
    model.limit = 2
    with pytest.raises(InvalidInputError, match="breaks the row budget: 3 where 2 is the limit; solve the model as it is now"):
        read_pruning(model)
    model.limit = 3
    model.alone = pyo.Constraint(expr=model.kept[0] == 0)
    with pytest.raises(InvalidInputError, match="breaks the row alone: 1 where 0 is the limit"):
        read_pruning(model)


@looped("seed", range(20))
def test_conflicts_are_irreducible(seed: int) -> None:
    """Of random conflicts among nine parts one is found that has no conflict within, whatever else there is."""
    rng = np.random.default_rng(seed)
    conflicts = [set(rng.choice(9, size=rng.integers(1, 5), replace=False).tolist()) for _ in range(3)]

    def has_point(some: Sequence[int]) -> bool:
        return not any(conflict <= set(some) for conflict in conflicts)

    found = irreducible(list(range(9)), has_point)
    assert not has_point(found)
    assert all(has_point([part for part in found if part != left]) for left in found)
    assert found == sorted(found)


def test_any_linear_model_is_solved() -> None:
    """A maximisation, a row of two sides, one switched off, a fixed variable and free ones: maximise 3 x + 2 y + f. x + y <= 4
    and x <= y give x = y = 2, worth 10; f = 2. Duals p and q of these rows: p + q = 3 and p - q = 2.
    """
    m: Any = pyo.ConcreteModel("mine")
    m.x, m.y, m.f = pyo.Var(), pyo.Var(), pyo.Var(bounds=(0, 10))
    m.f.fix(2)
    m.total = pyo.Constraint(expr=(1, m.x + m.y, 4))
    m.order = pyo.Constraint(expr=m.x <= m.y)
    m.off = pyo.Constraint(expr=m.x + m.f <= 0)
    m.off.deactivate()
    m.worth = pyo.Objective(expr=3 * m.x + 2 * m.y + m.f, sense=pyo.maximize)
    program, answer = solve_model(m)
    assert (pyo.value(m.x), pyo.value(m.y), pyo.value(m.f), pyo.value(m.worth)) == pytest.approx((2, 2, 2, 12))
    assert [m.dual[row] for row in (m.total, m.order, m.off)] == pytest.approx([2.5, 0.5, 0])
    assert answer.objective == answer.bound == pytest.approx(-12)
    assert program.matrix.toarray().tolist() == [[1, 1, 0], [1, -1, 0], [0, 0, 0]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formulation": "IP7", "lam": 0.1}, "no formulation 'IP7'; there are IP0, IP1"),
        ({"formulation": "IP3"}, "IP3 takes lam; neither was given"),
        ({"formulation": "IP3", "lam": 0.1, "budget": 2}, "IP3 takes lam; lam and budget was given"),
        ({"formulation": "LP1", "lam": 0.1}, "LP1 takes budget; lam was given"),
        ({"formulation": "IP0", "lam": 0.1}, "IP0 takes neither lam nor budget; lam was given"),
        ({"formulation": "IP3", "lam": 0.1, "engine": "cplex"}, "no engine 'cplex' for linear programs; there are highs"),
        ({"formulation": "LP1", "budget": -1}, "budget is -1, negative"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        solve_relaxation(two_trees(), **arguments)


CASES: list[tuple[str, dict[str, Any]]] = [
    ("IP1", {"lam": 0.01}),
    ("IP3", {"lam": 0.01, "merge": True}),
    ("closure", {"lam": 0.01}),
    ("LP1", {"limits": [pm.Limit(2)]}),
    ("LP1", {"limits": [pm.Limit(3), pm.Limit(4, "splits")]}),
]
SCIP = "import sys, pyscipopt as p; m = p.Model(); m.readProblem(sys.argv[1]); m.optimize(); m.writeBestSol('model.sol')"
PROGRAMS = {
    "GLPK": ("glpsol", {".lp": "glpsol --lp model.lp -o model.sol", ".mps": "glpsol --freemps model.mps -o model.sol"}),
    "CBC": ("cbc", {ending: f"cbc model{ending} solve solution model.sol" for ending in (".lp", ".mps")}),
    "SCIP": ("", {ending: shlex.join([sys.executable, "-c", SCIP, f"model{ending}"]) for ending in (".lp", ".mps")}),
}
"""Executables, SCIP as a Python package, and what to type for a file."""
INSTALL = {"GLPK": "apt-get install glpk-utils", "CBC": "apt-get install coinor-cbc", "SCIP": "pip install pyscipopt"}


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


@pytest.mark.slow
@pytest.mark.parametrize("solver", PROGRAMS)
def test_other_solvers_find_our_optimum(solver: str, tmp_path: Path) -> None:
    """Their objective value for a file, .lp or .mps, is the program's optimum, constant and all; integer answers come back."""
    executable, commands = PROGRAMS[solver]
    if not (shutil.which(executable) if executable else importlib.util.find_spec("pyscipopt")):
        pytest.skip(f"{solver} is not installed: {INSTALL[solver]}")
    for (formulation, given), relax, ending in itertools.product(CASES, (False, True), commands):
        program = build(two_trees(), formulation, relax=relax, **given)
        program.write(tmp_path / f"model{ending}")
        subprocess.run(shlex.split(commands[ending]), cwd=tmp_path, check=True, capture_output=True)
        found = re.search(r"objective(?: value)?:?\s+(?:obj = )?(\S+)", (tmp_path / "model.sol").read_text(), re.IGNORECASE)
        assert found is not None
        assert float(found[1]) == pytest.approx(highs(program.program).objective), (formulation, relax, ending)
        assert relax or is_optimal(formulation, given, program.read(tmp_path / "model.sol"))
        (tmp_path / "model.sol").unlink()


@looped("evaluation", [False, True])
def test_a_gain_of_nothing_costs_nothing(evaluation: bool) -> None:
    """Of a gain of 0, or one that its evaluation price at lambda eats up, floating point leaves no 1e-18 in the objective."""
    problem = instance("wine, evaluation") if evaluation else example
    assert np.abs(problem.gain[problem.gain != 0]).min() > 1e-9
    whole, unit = problem.numbers, problem.numbers.lam_unit
    ratios = [Fraction(int(g), int(c)) * unit for g, c in zip(whole.gain, whole.evaluation, strict=True) if g > 0 < c]
    none = 0
    for lam in ratios[:20] or [Fraction(0)]:
        cost = build(problem, "closure", lam=float(lam)).program.cost[: problem.usage.splits.size]
        none += np.count_nonzero(cost == 0)
        assert np.abs(cost[cost != 0]).min() > 1e-9
    assert none


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
        ("IP4", {"lam": 1}, "no formulation 'IP4'; there are IP0"),
        ("LP1", {"limits": [pm.Limit(1, "brain")]}, "there is no 'brain' to limit"),
    ],
)
def test_wrong_calls_are_refused(formulation: Any, given: dict[str, Any], message: str) -> None:
    """Each says what the formulation takes."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        build(two_trees(), formulation, **given)


def test_a_relaxation_has_no_integers() -> None:
    """The same rows, whichever is asked for; with IP0 nothing else is needed."""
    whole, relaxed = (build(two_trees(), "IP3", lam=0.1, relax=relax).program for relax in (False, True))
    assert whole.integer.all()
    assert not relaxed.integer.any()
    assert whole.matrix.shape == relaxed.matrix.shape
    assert build(two_trees(), "IP0").formulation == "IP0"
