"""Which formulations are integral: all vertices, many objectives, and a forest where IP1's relaxation is too low."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import PruningProblem
from formulations.errors import InvalidInputError
from formulations.instance.papers import two_trees
from formulations.programs.linear_program import LinearProgram
from formulations.programs.matrix import MATRICES
from proofs_checks.integrality.objectives import arbitrary_objectives, draw_data, majority_errors, optima_of_random_objectives
from proofs_checks.integrality.points import check_weak_relaxation
from proofs_checks.integrality.polyhedron import Polyhedron
from proofs_checks.integrality.reading import read_polyhedron
from proofs_checks.integrality.vertices import Vertices, check_integral_vertices, vertices
from tests.instances import Node, ensemble_of, random_problem
from tests.loops import looped


def relaxation(name: str, problem: PruningProblem) -> LinearProgram:
    """A formulation's relaxation, at lambda 1 or budget 0.7."""
    number: dict[str, float] = {"IP0": {}, "LP1": {"budget": 0.7}}.get(name, {"lam": 1})  # type: ignore[assignment]
    return MATRICES[name](problem, relax=True, **number)


def zero_one_points(body: Polyhedron) -> int:
    """How many 0-1 points are feasible, all of them tried."""
    n = len(body.columns)
    points = np.array(list(itertools.product([0, 1], repeat=n)), dtype=float)
    dense = np.array([[float(body.row(k).get(j, 0)) for j in range(n)] for k in range(len(body.rows))]).reshape(len(body.rows), n)
    values = points @ dense.T
    inside = (values >= body.row_lower.astype(float) - 1e-9) & (values <= body.row_upper.astype(float) + 1e-9)
    return int(inside.all(axis=1).sum())


@pytest.mark.slow
@looped("seed", range(25))
def test_only_ip1_and_lp1_have_fractional_vertices(seed: int) -> None:
    """So it is on random instances, shared items and items paid once included: IP0, IP2, IP3 and closure are integral."""
    problem = random_problem(seed)
    integral = ["IP0", "IP3", "closure"] + ["IP2"] * (problem.ensemble.n_trees == 1 and not problem.costs.paid_once.any())
    for name in (*integral, "IP1"):
        program = relaxation(name, problem)
        if program.shape[1] > 24:
            continue
        body = read_polyhedron(program)
        try:
            verdict = check_integral_vertices(body, most_rays=4000)
        except InvalidInputError:
            continue
        count = verdict.certificate
        if name != "IP1":
            assert verdict.holds, f"{name}: {verdict}"
        if program.shape[1] <= 14:
            assert count.n_vertices - count.n_fractional == zero_one_points(body), name


def test_how_many_vertices_are_fractional() -> None:
    """On the papers' tree 1, two of IP1's nine; on both trees, 46 of 84, all with halves; of IP3's 38 none."""
    one = check_integral_vertices(relaxation("IP1", two_trees().only_tree(0))).certificate
    assert (one.n_vertices, one.n_fractional, one.denominators) == (9, 2, {1: 7, 2: 2})
    both = check_integral_vertices(relaxation("IP1", two_trees()))
    assert both.holds is False
    assert (both.certificate.n_vertices, both.certificate.n_fractional) == (84, 46)
    assert both.certificate.denominators == {1: 38, 2: 46}
    example = both.certificate.example
    assert {x for x in example.values() if x.denominator > 1} == {Fraction(1, 2)}
    assert str(both.certificate).startswith("84 vertices, 46 of them fractional, such as z[")
    known = check_integral_vertices(vertices(relaxation("IP3", two_trees())))
    assert known.holds
    assert str(known.certificate) == "38 vertices, all integral"
    assert known.certificate.example is None


def test_the_example_has_the_fewest_fractions() -> None:
    """Of several fractional vertices the one with the fewest fractional coordinates is shown; directions are counted."""
    # x + y >= 1/2 beside z in 0 .. 1/2: (1/2, 0, 0) has one fraction, (1/2, 0, 1/2) two
    body = read_polyhedron([[1, 1, 0], [0, 0, 1]], [0.5, -np.inf], [np.inf, 0.5])
    count = check_integral_vertices(body).certificate
    assert (count.n_vertices, count.n_fractional, count.n_directions) == (4, 4, 2)
    assert len(count.example.fractional) == 1
    # an empty polyhedron has no vertex that is not integral
    verdict = check_integral_vertices(read_polyhedron([[1]], 3, 3, upper=1))
    assert verdict.holds
    assert str(verdict.certificate) == "the polyhedron is empty"


def test_errors_of_the_majority_class_by_hand() -> None:
    """Leaves with (3, 1) and (0, 2) rows of two classes err 1 and 0; their parent, with (3, 3), errs 3."""
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    counts = np.array([[[9, 9], [3, 1], [0, 2]]])  # what stands at the split counts for nothing
    assert majority_errors(ensemble, counts).tolist() == [[3, 1, 0]]
    three = np.array([[[0, 0, 0], [3, 1, 2], [0, 2, 5]]])  # 7 of 13 are of the third class
    assert majority_errors(ensemble, three).tolist() == [[6, 3, 2]]


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8, 11, 17, 23])
def test_drawn_objectives_are_what_the_formulations_give(seed: int) -> None:
    """An objective of drawn data is, times its unit, the cost of the program of that very instance; closures' too."""
    problem = random_problem(seed)
    data = draw_data(problem, 6, seed=seed)
    assert len(data) == 6
    for name in ("IP0", "IP1", "IP3", "closure"):
        columns = relaxation(name, problem).columns
        objectives = data.objectives(columns)
        for k in range(6):
            instance = data.instance(k)
            number = {} if name == "IP0" else {"lam": data.lam(k)}
            program = MATRICES[name](instance, relax=True, **number)
            cost = dict(zip(program.columns, program.cost * data.unit(k), strict=True))
            assert objectives[k] == pytest.approx([cost.get(c, 0.0) for c in columns]), name  # free items have no column


def test_objectives_are_refused_for_what_they_do_not_know() -> None:
    """Columns of another kind are named; arbitrary coefficients are from -20 to 20."""
    data = draw_data(two_trees(), 2, seed=0)
    with pytest.raises(InvalidInputError, match="'q\\[0\\]' is none of"):
        data.objectives(["q[0]"])
    coefficients = arbitrary_objectives(3, 400, seed=0)
    assert coefficients.shape == (400, 3)
    assert set(coefficients.ravel().tolist()) == set(range(-20, 21))


def by_hand(objectives: np.ndarray[Any, Any], found: Vertices) -> tuple[int, int]:
    """How many objectives have only, and have some, fractional optima, in fractions."""
    only = some = 0
    for c in objectives.tolist():
        values = [Fraction(sum(a * b for a, b in zip(c, v.numerators, strict=True)), v.denominator) for v in found]
        whole = [x for x, integral in zip(values, found.is_integral, strict=True) if integral]
        broken = [x for x, integral in zip(values, found.is_integral, strict=True) if not integral]
        only += min(broken) < min(whole)
        some += min(broken) <= min(whole)
    return only, some


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1, 10**20 + 39])
def test_the_matrix_product_counts_what_fractions_count(factor: int) -> None:
    """Counts, example and loss equal those objective by objective; beyond 2^53 as well, in Python's integers."""
    problem = two_trees()
    program = relaxation("IP1", problem)
    found = vertices(program)
    objectives = np.vstack([arbitrary_objectives(15, 150, seed=1), draw_data(problem, 150, seed=2).objectives(program.columns)])
    only, some = by_hand(objectives, found)
    assert 0 < only < some < 300
    study = optima_of_random_objectives(program, objectives.astype(object) * factor if factor > 1 else objectives, found)
    assert (study.n_objectives, study.only_fractional, study.some_fractional) == (300, only, some)
    objective, point = study.example
    assert not point.is_integral
    assert by_hand(objective[None, :], found)[0] == 1
    value = Fraction(sum(int(a) * b for a, b in zip(objective, point.numerators, strict=True)), point.denominator)
    others = [Fraction(sum(int(a) * b for a, b in zip(objective, v.numerators, strict=True)), v.denominator) for v in found]
    assert value == min(others)
    assert "a fractional vertex is optimal" in str(study)


def test_studies_refuse_what_they_cannot_count() -> None:
    """Objectives that are not whole, of another width, and polyhedra without optima."""
    program = relaxation("IP1", two_trees().only_tree(0))
    with pytest.raises(InvalidInputError, match="clear their denominators"):
        optima_of_random_objectives(program, np.full((2, 7), 0.5))
    with pytest.raises(InvalidInputError, match=r"shape \(2, 3\); give \(k, 7\)"):
        optima_of_random_objectives(program, np.ones((2, 3), dtype=int))
    quadrant = read_polyhedron(np.zeros((0, 2)))
    with pytest.raises(InvalidInputError, match="bounded and not empty"):
        optima_of_random_objectives(quadrant, [[1, 1]], vertices(quadrant))
    with pytest.raises(InvalidInputError, match="bounded and not empty"):
        optima_of_random_objectives(quadrant, [[-1, 1]])


@pytest.fixture(scope="module")
def forest() -> PruningProblem:
    """Ten trees on the breast cancer data, 60 cost rows: 227 splits, 30 features at price 1."""
    X, y = load_breast_cancer(return_X_y=True)
    grown = RandomForestClassifier(10, random_state=0).fit(X, y)
    return pm.problem_from_forest(grown, X[:60], costs=[1.0] * X.shape[1])


@pytest.mark.slow
@pytest.mark.parametrize("lam", [0.001, 0.005, 0.02])
def test_ip1_is_too_low_on_a_real_forest(forest: PruningProblem, lam: float) -> None:
    """IP1's relaxation is fractional and a tenth or more below the proven optimum; IP3's is integral and equal to it."""
    optimum = pm.engines.min_cut(forest, lam)
    assert optimum.value == optimum.bound
    naive = pm.programs.solve_relaxation(forest, lam, formulation="IP1")
    verdict = check_weak_relaxation(naive.program, naive.point, optimum.bound)
    found = verdict.certificate
    assert verdict.holds, str(verdict)
    assert found.violated is None
    assert float(found.value) == pytest.approx(naive.objective)
    assert found.gap > Fraction(optimum.bound) / 10
    assert found.n_fractional > 500
    assert set(found.most_fractional.values()) == {Fraction(1, 2)}
    assert len(found.most_fractional) == 5
    strong = pm.programs.solve_relaxation(forest, lam, formulation="IP3")
    equal = check_weak_relaxation(strong.program, strong.point, optimum.bound)
    assert equal.holds is False
    assert (equal.certificate.n_fractional, equal.certificate.most_fractional) == (0, {})
    assert abs(equal.certificate.gap) < 1e-12


def small_program() -> LinearProgram:
    """IP1 on the papers' tree 1 with the objective of four rows: 2 z1 + z3 + w1 + w2, with optimum 2, the relaxation's 3/2."""
    program = relaxation("IP1", two_trees().only_tree(0))
    return replace(program, cost=np.array([2.0, 0, 1, 0, 0, 1, 1]), offset=10.0)


HALVES = [0, 1, 0.5, 0.5, 0.5, 0.5, 0.5]


def test_the_gap_must_exceed_the_allowance() -> None:
    """Value, gap and denominators by hand, the offset included; within the allowance nothing is decided."""
    verdict = check_weak_relaxation(small_program(), HALVES, 12)
    assert verdict.holds
    assert (verdict.certificate.value, verdict.certificate.gap) == (Fraction(23, 2), Fraction(1, 2))
    assert (verdict.certificate.denominator, verdict.certificate.n_fractional) == (2, 5)
    # |offset| + sum of |cost| = 15, times 2^-50
    assert verdict.certificate.allowance == Fraction(15, 2**50)
    assert check_weak_relaxation(small_program(), HALVES, 12, allowance=0.5).holds is None
    assert check_weak_relaxation(small_program(), HALVES, 12, allowance=Fraction(49, 100)).holds
    assert check_weak_relaxation(small_program(), HALVES, Fraction(23, 2) + Fraction(1, 2**47)).holds is None
    assert check_weak_relaxation(small_program(), HALVES, 11.5, allowance=0).holds is False
    assert check_weak_relaxation(small_program(), HALVES, 11).holds is False
    with pytest.raises(InvalidInputError, match="allowance is -1, negative"):
        check_weak_relaxation(small_program(), HALVES, 12, allowance=-1)


def test_floats_are_snapped_before_they_are_verified() -> None:
    """A solver's 0.49999999999 is one half; an exact point is taken as it is; most fractional coordinates come first."""
    near = np.array(HALVES) + np.array([1e-12, -1e-11, 1e-11, -1e-11, 1e-11, 1e-11, -1e-11])
    verdict = check_weak_relaxation(small_program(), near, 12)
    assert verdict.holds
    assert verdict.certificate.value == Fraction(23, 2)
    # z1 + z3 + z4 = 1 in sevenths is no float
    third = {"z[0]": 0, "z[1]": 1, "z[2]": Fraction(3, 7), "z[3]": Fraction(4, 7), "z[4]": Fraction(4, 7)}
    exact = check_weak_relaxation(small_program(), {**third, "w[0,0]": Fraction(4, 7), "w[1,0]": Fraction(6, 7)}, 12)
    assert exact.certificate.value == 10 + Fraction(3 + 4 + 6, 7)
    assert list(exact.certificate.most_fractional) == ["z[2]", "z[3]", "z[4]", "w[0,0]", "w[1,0]"]
    odd = Fraction(10**7, 2 * 10**7 + 1)  # no small denominator is near enough, and none is needed
    point = {"z[0]": 0, "z[1]": 1, "z[2]": odd, "z[3]": 1 - odd, "z[4]": 1 - odd, "w[0,0]": 1 - odd, "w[1,0]": 1 - odd}
    assert check_weak_relaxation(small_program(), point, 12).certificate.denominator == 2 * 10**7 + 1
    turned = check_weak_relaxation(small_program(), {**third, "w[0,0]": Fraction(6, 7), "w[1,0]": Fraction(4, 7)}, 12)
    assert list(turned.certificate.most_fractional) == ["z[2]", "z[3]", "z[4]", "w[1,0]", "w[0,0]"]
    with pytest.raises(InvalidInputError, match="priced column without bounds"):
        check_weak_relaxation(replace(small_program(), upper=np.full(7, np.inf)), HALVES, 12)
