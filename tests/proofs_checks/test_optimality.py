"""The checker accepts true certificates and rejects tampered ones of every kind."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from formulations import PruningPath, PruningProblem, Solution
from formulations.papers import two_trees
from formulations.pruning import Pruning
from formulations.solution import ItemLoads
from proofs_checks import check_path, check_solution
from solvers import min_cut, pruning_path
from tests.instances import random_problem


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@pytest.mark.parametrize("seed", range(80))
def test_one_dual_state_proves_the_whole_path(seed: int, ties: str) -> None:
    """The flows of the breakpoints' cuts, put together, prove every row at both ends of its interval, with gap 0."""
    path = pruning_path(random_problem(seed), ties=ties)  # type: ignore[arg-type]
    verdict = check_path(path)
    assert verdict.holds, str(verdict)
    assert verdict.certificate["largest gap"] == 0


@pytest.mark.parametrize("seed", range(20))
def test_rounded_paths_hold_within_their_rounding(seed: int) -> None:
    """Where gains had to be rounded, no row is off by more than the stated rounding."""
    assert check_path(pruning_path(random_problem(seed, rounded=True)))


@pytest.fixture
def solution() -> Solution:
    """The optimum of the golden instance at lambda = 1/4."""
    return min_cut(two_trees(), 0.25)


def loads(solution: Solution, load: Any = None, **changes: Any) -> Solution:
    """The solution with other loads, or another certificate field."""
    assert isinstance(solution.certificate, ItemLoads)
    if load is not None:
        changes["load"] = load
    return replace(solution, certificate=replace(solution.certificate, **changes))


def test_true_solution_is_accepted(solution: Solution) -> None:
    """The untouched solution holds, with gap 0."""
    verdict = check_solution(solution.problem, solution)
    assert verdict
    assert verdict.certificate == {"value": 0.75, "bound": 0.75, "gap": 0.0}


def test_tampered_solutions_are_rejected(solution: Solution) -> None:
    """A wrong value, bound, pruning, load, unit or lambda is each noticed."""
    certificate = solution.certificate
    assert certificate is not None
    load = certificate.load
    more, negative = load.copy(), load.copy()
    more[np.argmax(load)] += 10**6
    negative[0] = -1
    tampered = {
        "value": replace(solution, value=solution.value - 0.01),
        "bound": replace(solution, bound=solution.bound + 0.01),
        "pruning": replace(solution, pruning=Pruning.unpruned(solution.problem)),
        "no loads": loads(solution, np.zeros_like(load)),
        "above the price": loads(solution, more),
        "negative": loads(solution, negative),
        "unit": loads(solution, unit=certificate.unit * 2),
        "lambda": loads(solution, lam=Fraction(1, 2)),
    }
    for what, wrong in tampered.items():
        verdict = check_solution(solution.problem, wrong)
        assert verdict.holds is False, f"{what}: {verdict}"


def test_loads_of_other_arcs_are_rejected(solution: Solution) -> None:
    """Loads for another number of usage arcs, or for arcs that the rows of X do not really have, are noticed."""
    problem = solution.problem
    two_rows = np.array([[1.0, 1, 0], [0, 0, 1]])
    two = PruningProblem.build(problem.ensemble, problem.errors, two_rows, problem.costs)
    assert "loads for" in check_solution(two, solution).certificate
    assert check_solution(two, min_cut(two, 0.05))
    # the rows' routes exchanged: a solution of what is no longer X's instance
    exchanged = replace(two, routing=replace(two.routing, order=two.routing.order[:, ::-1].copy()))
    verdict = check_solution(exchanged, min_cut(exchanged, 0.05))
    assert verdict.holds is False
    assert "does not need" in verdict.certificate


def test_missing_certificate_is_undecided(solution: Solution) -> None:
    """Without loads the checker neither accepts nor refutes."""
    assert check_solution(solution.problem, replace(solution, certificate=None)).holds is None
    assert check_path(replace(pruning_path(two_trees()), certificate=None)).holds is None


def test_tampered_paths_are_rejected() -> None:
    """A path with a level, a breakpoint or a load moved is refuted."""
    path = pruning_path(two_trees())
    certificate = path.certificate
    assert certificate is not None
    level = path.level.copy()
    level[9] = 2  # node 10 of the papers stays longer than it should
    load = certificate.load.copy()
    load[np.argmax(load)] -= 1
    moved = (path.breakpoints[0], path.breakpoints[1] / 2, path.breakpoints[2])
    wrong: dict[str, PruningPath] = {
        "level": replace(path, level=level),
        "breakpoint": replace(path, breakpoints=moved),
        "load": replace(path, certificate=replace(certificate, load=load)),
    }
    for what, tampered in wrong.items():
        assert check_path(tampered).holds is False, what
