"""Pyomo models of anybody: what is neither row nor bound is refused by name at every door, or counts as solvers count it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo import gdp, mpec, network

import prunemodels as pm
from formulations import InvalidInputError
from formulations.errors import InfeasibleModelError
from formulations.models import standard_form


def square() -> Any:
    """Minimise -x - 2 y + 1  in the square, below x + y = 1: integral, and its optimum is -1 at (0, 1)."""
    m: Any = pyo.ConcreteModel()
    m.x, m.y = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
    m.row = pyo.Constraint(expr=m.x + m.y <= 1)
    m.goal = pyo.Objective(expr=-m.x - 2 * m.y + 1)
    return m


def disjunction(m: Any) -> None:
    m.left, m.right = gdp.Disjunct(), gdp.Disjunct()
    m.left.row, m.right.row = pyo.Constraint(expr=2 * m.x <= 1), pyo.Constraint(expr=2 * m.y <= 1)
    m.either = gdp.Disjunction(expr=[m.left, m.right])


def disjuncts_alone(m: Any) -> None:
    disjunction(m)
    m.either.deactivate()


def special_set(m: Any) -> None:
    m.v = pyo.Var([1, 2], bounds=(0, 1))
    m.special = pyo.SOSConstraint(var=m.v, sos=1)


def complementarity(m: Any) -> None:
    m.perpendicular = mpec.Complementarity(expr=mpec.complements(m.x >= 0, m.y >= 0))


def piecewise(m: Any) -> None:
    m.bent = pyo.Piecewise(m.y, m.x, pw_pts=[0, 0.5, 1], f_rule=[0, 0.2, 1], pw_constr_type="EQ", pw_repn="SOS2")


def logic(m: Any) -> None:
    m.a, m.b = pyo.BooleanVar(), pyo.BooleanVar()
    m.implied = pyo.LogicalConstraint(expr=m.a.implies(m.b))


def arc(m: Any) -> None:
    m.p, m.q = network.Port(initialize={"flow": m.x}), network.Port(initialize={"flow": m.y})
    m.pipe = network.Arc(source=m.p, dest=m.q)


def holes(m: Any) -> None:
    m.z = pyo.Var(domain=pyo.Set(initialize=[0, 2, 5]))


def inside_of_a_block(m: Any) -> None:
    m.inner = pyo.Block()
    special_set(m.inner)


def curved(m: Any) -> None:
    m.curve = pyo.Constraint(expr=m.x * m.y <= 1)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (disjunction, "left|right|either"),
        (disjuncts_alone, "left|right"),
        (special_set, "special"),
        (complementarity, "perpendicular"),
        (piecewise, "bent.SOS2_sosconstraint"),
        (logic, "implied"),
        (arc, "pipe"),
        (holes, "z has the domain .*, neither an interval nor"),
        (inside_of_a_block, "inner.special"),
        (curved, "curve"),
    ],
)
def test_what_rows_and_bounds_do_not_say_is_refused_by_name(change: Callable[[Any], None], name: str) -> None:
    """The checks said "integral", and solving ended with an error of Pyomo's."""
    m = square()
    assert pm.checks.check_integrality(m)
    change(m)
    for door in (pm.checks.check_integrality, pm.checks.check_total_unimodularity, standard_form, pm.programs.solve_model):
        with pytest.raises(InvalidInputError, match=name):
            door(m)


def transformed(m: Any) -> None:
    disjunction(m)
    pyo.TransformationFactory("gdp.bigm").apply_to(m)


def switched_off(m: Any) -> None:
    disjunction(m)
    for part in (m.either, m.left, m.right):
        part.deactivate()


def off_in_a_block(m: Any) -> None:
    m.inner = pyo.Block()
    m.inner.z = pyo.Var()
    m.inner.row = pyo.Constraint(expr=2 * m.inner.z + 3 * m.y <= 1)
    m.inner.deactivate()


def references(m: Any) -> None:
    m.both, m.same = pyo.Reference([m.x, m.y]), pyo.Reference([m.row])


def upwards(m: Any) -> None:
    m.goal.deactivate()
    m.gain = pyo.Objective(expr=m.x + 2 * m.y - 1, sense=pyo.maximize)


def fixed(m: Any) -> None:
    m.x.fix(0)
    m.product = pyo.Constraint(expr=m.x * m.y <= 1)


def without_sides(m: Any) -> None:
    m.none = pyo.Constraint(expr=m.x + m.y <= float("inf"))
    m.z = pyo.Var()


def suffixed(m: Any) -> None:
    m.mine = pyo.Suffix(direction=pyo.Suffix.LOCAL)
    m.mine[m.row] = 1
    m.flag, m.half = pyo.BooleanVar(), pyo.Param(initialize=0.5, mutable=True)
    m.loose = pyo.Constraint(expr=m.half * m.x + 0.25 <= 0.75)


@pytest.mark.parametrize(
    ("change", "value", "holds"),
    [
        (transformed, -1.0, False),
        (switched_off, -1.0, True),
        (off_in_a_block, -1.0, True),
        (references, -1.0, True),
        (upwards, 1.0, True),
        (fixed, -1.0, True),
        (without_sides, -1.0, True),
        (suffixed, -1.0, True),
    ],
)
def test_what_rows_and_bounds_say_counts(change: Callable[[Any], None], value: float, holds: bool) -> None:
    """Optimum and verdict by hand, of models whose components say nothing more; the same point comes back to the model."""
    m = square()
    change(m)
    _, answer = pm.programs.solve_model(m)
    goal = next(m.component_data_objects(pyo.Objective, active=True))
    assert answer.x is not None
    assert pyo.value(goal) == pytest.approx(value)
    assert (pyo.value(m.x), pyo.value(m.y)) == pytest.approx((0.0, 1.0))
    assert pm.checks.check_integrality(m).holds == holds


def test_models_that_arrays_cannot_say_are_refused() -> None:
    """Two objectives, a variable of another model, a row of constants that does not hold."""
    two, foreign, never = square(), square(), square()
    two.more = pyo.Objective(expr=two.x)
    with pytest.raises(InvalidInputError, match="2 active objectives"):
        standard_form(two)
    foreign.far = pyo.Constraint(expr=never.x + foreign.x <= 1)
    with pytest.raises(InvalidInputError, match="the model reads x, which is no variable of it"):
        standard_form(foreign)
    never.x.fix(1)
    never.false = pyo.Constraint(expr=never.x <= 0)
    with pytest.raises(InfeasibleModelError, match="'false'"):
        standard_form(never)
    assert np.isinf(standard_form(square()).row_lower).all()
