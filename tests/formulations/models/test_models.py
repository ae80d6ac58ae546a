"""Formulations in Pyomo: the papers' matrices, every pruning a feasible point, and rows of one's own."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest

import prunemodels as pm
from formulations import CostItems, InvalidInputError, Pruning, PruningProblem
from formulations.instance.papers import two_trees
from formulations.models import FORMULATIONS, read_point, read_pruning, standard_form
from formulations.programs.formulation import BY_NAME
from formulations.programs.limit_rows import limit_rows
from formulations.programs.matrix import MATRICES
from solvers.brute_force import all_prunings
from solvers.programs.highs import highs
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, unreached

ALL = list(FORMULATIONS)


def options(name: str, *, merge: bool = False, lam: float = 0.3, budget: float = 0.7) -> dict[str, Any]:
    """What a formulation takes; those that a test registers take lambda."""
    number = BY_NAME[name].takes if name in BY_NAME else "lam"
    return {} if number is None else {"merge": merge, number: {"lam": lam, "budget": budget}[number]}


def takes(name: str, problem: PruningProblem) -> bool:
    """Whether the instance has the formulation: IP2 is for one tree, and items are asked for at one split."""
    if name not in BY_NAME or not BY_NAME[name].one_tree:
        return True
    users = np.bincount(problem.usage.arcs().head) if problem.n_usage_arcs else np.zeros(1)
    return problem.ensemble.n_trees == 1 and users.max() <= 1


def set_point(model: Any, pruning: Pruning) -> None:
    """Give a model the 0-1 point of a pruning."""
    bought = {(m, i): bool(b) for (m, i), b in np.ndenumerate(pruning.bought)}
    bought |= {(m, "all"): bool(b) for m, b in enumerate(pruning.problem.usage.once(pruning.kept))}
    for component in model.component_objects(pyo.Var):
        for key, variable in component.items():
            if component.name == "z":
                variable.value = float(pruning.is_leaf[key])
            elif component.name in ("y", "w_t"):
                variable.value = float(pruning.kept[key if component.name == "y" else key[0]])
            else:
                variable.value = float(bought[key])


def feasible(model: Any) -> bool:
    """Whether the point that a model carries satisfies all its rows."""
    return all(
        (c.lower is None or pyo.value(c.body) >= pyo.value(c.lower) - 1e-9)
        and (c.upper is None or pyo.value(c.body) <= pyo.value(c.upper) + 1e-9)
        for c in model.component_data_objects(pyo.Constraint)
    )


@looped("seed", range(12))
def test_every_feasible_point_is_a_pruning(seed: int) -> None:
    """Of all 0-1 vectors z on a tiny forest, the feasible ones are the prunings, and w is forced where it is paid."""
    problem = random_problem(seed)
    if problem.ensemble.n_nodes > 11:
        problem = two_trees().only_tree(0)
    program = MATRICES["IP0"](problem)
    z = np.array(list(itertools.product((0, 1), repeat=problem.ensemble.n_nodes)))
    sums = z @ program.matrix.toarray().T
    points = {tuple(point) for point in z[(sums == 1).all(axis=1)]}
    prunings = {tuple(Pruning(problem, kept).is_leaf.astype(int)) for kept in all_prunings(problem).kept}
    assert points == prunings


def test_ip1_of_tree_1_is_the_papers_list() -> None:
    """NWS15 section 4 on tree 1: w11 >= z4, w11 >= z3, w21 >= z4 beside the three leaf rows."""
    model: Any = FORMULATIONS["IP1"](two_trees().only_tree(0), lam=0.1, relax=True)
    assert [(h + 1, m + 1, i + 1) for h, m, i in model.MET] == [(3, 1, 1), (4, 1, 1), (4, 2, 1)]
    assert sorted(h + 1 for h in model.LEAVES) == [2, 4, 5]


def test_the_papers_fractional_vertex_is_feasible_in_ip1_only() -> None:
    """Z = (0, 1, .5, .5, .5), w = (.5, .5) satisfies IP1's relaxation of tree 1; in IP3 no w makes it feasible."""
    tree = two_trees().only_tree(0)
    naive: Any = FORMULATIONS["IP1"](tree, lam=0.1, relax=True)
    for h, value in enumerate((0, 1, 0.5, 0.5, 0.5)):
        naive.z[h].value = value
    for key in naive.w:
        naive.w[key].value = 0.5
    assert feasible(naive)
    exact: Any = FORMULATIONS["IP2"](tree, lam=0.1, relax=True)
    for h in naive.z:
        exact.z[h].value = naive.z[h].value
    for key in exact.w:
        exact.w[key].value = 0.5
    assert not feasible(exact)  # usage of feature 1 at the root: w + z1 = 1, so w must be 1


@pytest.mark.slow_cases("IP2", "IP3", "LP1")
@looped("seed", range(12))
@pytest.mark.parametrize("name", MATRICES)
def test_both_encodings_are_the_same_program(name: str, seed: int) -> None:
    """Pyomo's standard form and the matrix of array operations agree: names, rows, bounds, costs, types."""
    problem = random_problem(seed)
    if not takes(name, problem):
        problem = two_trees().only_tree(seed % 2)
    for merge, relax in itertools.product((False, True), repeat=2):
        written = standard_form(FORMULATIONS[name](problem, relax=relax, **options(name, merge=merge)))
        direct = MATRICES[name](problem, relax=relax, **options(name, merge=merge))
        assert list(written.columns) == list(direct.columns)
        assert list(written.rows) == list(direct.rows)
        assert (written.matrix != direct.matrix).nnz == 0
        for field in ("cost", "row_lower", "row_upper", "lower", "upper", "integer"):
            np.testing.assert_allclose(getattr(written, field), getattr(direct, field), rtol=1e-12, atol=1e-15)
        assert written.offset == pytest.approx(direct.offset, rel=1e-12)


@looped("seed", range(12))
@pytest.mark.parametrize("name", ALL)
def test_every_pruning_is_a_feasible_point_at_its_value(name: str, seed: int) -> None:
    """The 0-1 point of a pruning satisfies all rows, costs what the pruning costs, and is read back as that pruning."""
    problem = random_problem(seed)
    if not takes(name, problem):
        problem = two_trees().only_tree(seed % 2)
    model: Any = FORMULATIONS[name](problem, **options(name, budget=math.pi * 100))
    rng = np.random.default_rng(seed)
    every = all_prunings(problem).kept
    for kept in every[rng.choice(len(every), min(len(every), 8), replace=False)]:
        pruning = Pruning(problem, kept)
        set_point(model, pruning)
        assert feasible(model)
        assert pyo.value(model.error) == pytest.approx(pruning.error, abs=1e-12)
        if name != "IP0":
            assert pyo.value(model.cost) == pytest.approx(pruning.cost, abs=1e-12)
        goal = pruning.error if name in ("IP0", "LP1") else pruning.value(0.3)
        assert pyo.value(model.objective) == pytest.approx(goal, abs=1e-12)
        np.testing.assert_array_equal(read_pruning(model).kept, kept)


def test_lambda_and_budget_are_parameters() -> None:
    """A built model takes another lambda, or another budget, without being built again."""
    problem = two_trees()
    model: Any = FORMULATIONS["IP3"](problem, lam=0.1)
    set_point(model, Pruning.unpruned(problem))
    model.lam = 0.5
    assert pyo.value(model.objective) == pytest.approx(Pruning.unpruned(problem).value(0.5))
    bounded: Any = FORMULATIONS["LP1"](problem, budget=3)
    set_point(bounded, Pruning.unpruned(problem))
    assert feasible(bounded)
    bounded.limit = 2.5
    assert not feasible(bounded)


def test_a_fractional_point_is_refused_by_name() -> None:
    """`read_pruning` names the most fractional variable; `read_point` gives the point all the same."""
    model: Any = FORMULATIONS["closure"](two_trees().only_tree(0), lam=0.1, relax=True)
    for part, value in ((model.y[0], 1.0), (model.y[2], 0.25), (model.w[0, 0], 1.0), (model.w[1, 0], 0.25)):
        part.value = value
    with pytest.raises(InvalidInputError, match=r"y\[2\] is 0.25: the point is not integral"):
        read_pruning(model)
    assert read_point(model) == {
        "z[0]": 0.0,
        "z[1]": 1.0,
        "z[2]": 0.75,
        "z[3]": 0.25,
        "z[4]": 0.25,
        "w[0,0]": 1.0,
        "w[1,0]": 0.25,
    }


@pytest.mark.parametrize("name", ALL)
def test_an_unsolved_model_is_refused(name: str) -> None:
    """Reading before solving says so, and names a variable without a value."""
    model = FORMULATIONS[name](two_trees().only_tree(0), **options(name))
    for reader in (read_pruning, read_point):
        with pytest.raises(InvalidInputError, match=r"\[0\] has no value: solve the model first"):
            reader(model)


@pytest.mark.parametrize("build", [FORMULATIONS["IP2"], MATRICES["IP2"]])
def test_ip2_is_for_one_tree(build: Any) -> None:
    """IP2 refuses forests, and an item paid once for all that several splits ask for: there w^t = w does not hold."""
    with pytest.raises(InvalidInputError, match="the forest has 2 trees; use IP3"):
        build(two_trees(), lam=0.1)
    tree = two_trees().only_tree(1)
    once = CostItems.from_items({"licence": 5, "6": 1}, [["licence"], ["6"], ["licence"]], once=["licence"])
    problem = PruningProblem.build(tree.ensemble, tree.errors, tree.X, once)
    with pytest.raises(InvalidInputError, match="'licence' is paid once for all rows and several splits need it"):
        build(problem, lam=0.1)


@pytest.mark.parametrize(
    ("build", "name"), [(build, name) for build in (FORMULATIONS, MATRICES) for name in build if name != "IP0"]
)
def test_negative_numbers_are_refused(build: Any, name: str) -> None:
    """A negative lambda, and a negative budget, are refused by name."""
    word = "budget" if name == "LP1" else "lam"
    with pytest.raises(InvalidInputError, match=f"{word} is -1, negative"):
        build[name](two_trees().only_tree(0), **{word: -1})


def test_models_say_what_they_are() -> None:
    """Every set, variable and row of every model is documented, and named as in the papers."""
    for name in ALL:
        model = FORMULATIONS[name](two_trees().only_tree(0), **options(name))
        for component in model.component_objects((pyo.Var, pyo.Constraint, pyo.Set)):
            if "_index" not in component.name and "index_set" not in component.name:
                assert component.doc or component.name == "PURCHASES", (name, component.name)


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
    mine = [int(h) for h in problem.usage.splits if problem.ensemble.tree_of[h] == 0]
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


def some_limits(problem: PruningProblem, seed: int) -> list[pm.Limit]:
    """One to three limits of all kinds: costs of all, of some and of each, counts, shares, and a currency of its own."""
    rng, full = np.random.default_rng(seed), float(Pruning.unpruned(problem).cost)
    some = problem.usage.rows[rng.random(problem.usage.n_rows) < 0.5]
    kinds = [
        pm.Limit(round(0.6 * full, 3)),
        pm.Limit(round(0.5 * full, 3), rows=some if some.size else problem.usage.rows[:1], name="some"),
        pm.Limit(round(0.8 * full, 2), each=True),
        pm.Limit(problem.ensemble.n_trees + 2, "leaves"),
        pm.Limit(2, "items"),
        pm.Limit(0.4, problem.costs.names[0]),
        pm.Limit(1, dict.fromkeys(problem.costs.names, 0.7), name="own"),
    ]
    return [kinds[k] for k in rng.permutation(len(kinds))[: 1 + seed % 3]]


@looped("seed", range(15))
def test_lp1_with_limits_is_the_array_program(seed: int) -> None:
    """Relaxation and integer optimum are those of the closure form as arrays, merged and not."""
    problem = random_problem(seed, rounded=True)
    limits, merge = some_limits(problem, seed), seed % 2 == 1
    for relax in (True, False):
        model = FORMULATIONS["LP1"](problem, limits=limits, relax=relax, merge=merge)
        _, answer = pm.programs.solve_model(model)
        arrays = pm.programs.build(problem, "LP1", limits=limits, relax=relax, merge=merge).program
        assert answer.objective == pytest.approx(highs(arrays).objective, abs=1e-9)
        assert set(model.limit) == {limit.title for limit in limits}
    assert limit_rows(problem, limits).within(read_pruning(model))


@looped("seed", range(8))
def test_uses_in_a_model_are_those_of_prunings(seed: int) -> None:
    """With the kept splits fixed, the least cost and the least use of every row are the pruning's own, exactly counted."""
    problem = random_problem(seed, rounded=True)
    limits = [limit for k in range(3) for limit in some_limits(problem, 2 + 3 * k + seed)]
    limits = list({limit.title: limit for limit in limits}.values())
    rows, model = limit_rows(problem, limits), FORMULATIONS["LP1"](problem, limits=limits, merge=seed % 2 == 1)
    every = all_prunings(problem).kept
    pruning = Pruning(problem, every[len(every) // 2])
    for h, variable in model.z.items():
        variable.fix(float(pruning.is_leaf[h]))
    model.budget.deactivate()
    model.objective.deactivate()
    uses = dict(zip(model.USES, rows.uses(pruning), strict=True)) | {None: pruning.exact_cost}
    for name, use in uses.items():
        model.least = pyo.Objective(expr=model.cost if name is None else model.use[name])
        pm.programs.solve_model(model)
        assert pyo.value(model.least) == pytest.approx(float(use), abs=1e-9), name
        model.del_component("least")


def test_a_limit_is_a_parameter_by_its_title() -> None:
    """A budget stands among the limits as `cost`; a title that two limits share is refused."""
    problem = two_trees()
    model: Any = FORMULATIONS["LP1"](problem, budget=3, limits=[pm.Limit(5, "splits")])
    assert {title: pyo.value(limit) for title, limit in model.limit.items()} == {"cost": 3, "splits": 5}
    for splits, error in ((5, 0.125), (2, 0.5), (0, 1.0)):
        model.limit["splits"] = splits
        pm.programs.solve_model(model)
        found = read_pruning(model)
        assert (found.n_splits <= splits, pyo.value(model.objective)) == (True, pytest.approx(error))
    same = [pm.Limit(1, rows=[0]), pm.Limit(2, rows=[0])]
    with pytest.raises(InvalidInputError, match="several limits have the title 'cost of some rows'"):
        FORMULATIONS["LP1"](problem, limits=same)
