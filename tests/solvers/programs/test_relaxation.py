"""Relaxations with their dual values by name, and LP1 against the path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

from formulations import InvalidInputError, Pruning, SolverFailedError
from formulations.instance.papers import two_trees
from formulations.models import FORMULATIONS, read_pruning
from formulations.programs.matrix import MATRICES
from solvers import solve_model, solve_relaxation
from solvers.brute_force import all_prunings
from solvers.programs.engines import LINEAR_ENGINES
from solvers.programs.rounding import relaxation_bound
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
    assert model.objective.active
    assert read_pruning(model).value(0.1) == pytest.approx(0.425)
    again, other = solve_model(model)  # a model can be solved again, at another lambda
    assert other.objective == pytest.approx(answer.objective)
    assert again.shape == program.shape
    model.lam = 5.0
    assert solve_model(model)[1].objective == pytest.approx(1.0)


def test_an_infeasible_model_is_reported() -> None:
    """A model made infeasible by hand raises, naming the model and HiGHS' verdict; it keeps its own objective."""
    model: Any = FORMULATIONS["IP3"](two_trees(), lam=0.1)
    model.z[0].fix(1)
    model.contradiction = pyo.Constraint(expr=model.z[1] >= 1)
    with pytest.raises(SolverFailedError, match="ended the model IP3 with"):
        solve_model(model)
    assert model.objective.active
    assert not hasattr(model, "scaled_objective")


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
