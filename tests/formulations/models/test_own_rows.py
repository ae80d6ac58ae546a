"""Rows and objectives that a user writes into a model: what they can be about, and that their optimum is that of all prunings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import prunemodels as pm
from formulations import InvalidInputError, Pruning
from solvers.brute_force import all_prunings
from tests.solvers.cases import instance, unreached

MODELS = ("IP1", "IP3", "closure")


def least(problem: pm.PruningProblem, allowed: Callable[[Pruning], bool], worth: Callable[[Pruning], float]) -> float:
    """The least of some worth over all prunings that are allowed."""
    every = (Pruning(problem, kept) for kept in all_prunings(problem).kept)
    return min(worth(pruning) for pruning in every if allowed(pruning))


def features(pruning: Pruning) -> set[int]:
    """What the pruned forest asks for."""
    return {int(f) for f in pruning.problem.ensemble.feature[pruning.kept]}


@pytest.mark.parametrize("name", MODELS)
def test_at_most_so_many_features(name: str) -> None:
    """Rows over `feature_used` hold for splits that no example reaches, too: these are free, and rows over w would keep them."""
    for problem, most in ((unreached(), 1), (instance("random 5"), 1), (instance("random 3"), 2)):
        model: Any = pm.programs.FORMULATIONS[name](problem, lam=0)
        used = pm.programs.feature_used(model)
        assert pm.programs.feature_used(model) is used
        model.few = pyo.Constraint(expr=pyo.quicksum(used.values()) <= most)
        pm.programs.solve_model(model)
        found = pm.programs.read_pruning(model)
        assert len(features(found)) <= most
        assert found.error == pytest.approx(least(problem, lambda p, m=most: len(features(p)) <= m, lambda p: p.error))  # type: ignore[misc]


@pytest.mark.parametrize("name", MODELS)
def test_splits_in_rows_of_ones_own(name: str) -> None:
    """`kept` names splits in every model: here a tree that is left alone, by names of the user's."""
    problem = instance("random 5")
    mine = [int(h) for h in problem.splits if problem.ensemble.tree_of[h] == 0]
    model: Any = pm.programs.FORMULATIONS[name](problem, lam=100)
    model.alone = pyo.Constraint([f"split {h}" for h in mine], rule=lambda m, text: m.kept[int(text.split()[1])] == 1)
    pm.programs.solve_model(model)
    assert pm.programs.read_pruning(model).kept[mine].all()


@pytest.mark.parametrize("name", MODELS)
def test_an_objective_of_ones_own(name: str) -> None:
    """The one that is active is solved, and stays so; two or none are refused by number."""
    problem = instance("random 5")
    model: Any = pm.programs.FORMULATIONS[name](problem, lam=0.1)
    model.mine = pyo.Objective(expr=model.cost + 3 * model.error)
    with pytest.raises(InvalidInputError, match="the model has 2 active objectives"):
        pm.programs.solve_model(model)
    model.objective.deactivate()
    pm.programs.solve_model(model)
    found = pm.programs.read_pruning(model)
    assert found.cost + 3 * found.error == pytest.approx(least(problem, lambda p: True, lambda p: p.cost + 3 * p.error))
    assert (model.mine.active, model.objective.active) == (True, False)


def test_any_solver_of_pyomo() -> None:
    """By its name; one that is not there is named."""
    problem = instance("random 5")
    model = pm.programs.FORMULATIONS["IP3"](problem, lam=0.1)
    pm.programs.solve_model(model)
    by_highs = pm.programs.read_pruning(model)
    again = pm.programs.FORMULATIONS["IP3"](problem, lam=0.1)
    _, answer = pm.programs.solve_model(again, solver="appsi_highs")
    found = pm.programs.read_pruning(again)
    assert found.value(0.1) == pytest.approx(by_highs.value(0.1))
    assert answer.objective == pytest.approx(found.value(0.1))
    assert answer.bound == -np.inf
    with pytest.raises(InvalidInputError, match="solver is 'no such', which Pyomo does not find"):
        pm.programs.solve_model(again, solver="no such")


def test_lp1_takes_no_lambda() -> None:
    """The error says which model does."""
    with pytest.raises(InvalidInputError, match="for a lambda build IP3 or closure"):
        pm.programs.FORMULATIONS["LP1"](instance("random 5"), lam=0.1)
