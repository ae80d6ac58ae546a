"""Answers print in a line what they are; arrays by their shapes."""

from __future__ import annotations

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.example import X_test, path, problem, y_test


@pytest.fixture(scope="module")
def answers() -> list[object]:
    """What users hold in their hands, of an instance with a thousand variables."""
    relaxed = pm.programs.solve_relaxation(problem, 0.01)
    lp1 = pm.budgets.solve_lp1(problem, 9.5, path=path)
    found = pm.solve(problem, lam=0.01, method="price_sharing")
    tree = pm.engines.price_by_tree_pass(problem, problem.node_error, np.zeros(problem.ensemble.n_nodes))
    several = [
        relaxed.point,
        relaxed.dual,
        relaxed.answer,
        lp1,
        lp1.chain,
        found.certificate,
        pm.engines.final_scores(found),
        tree,
    ]
    return [
        *several,
        path.certificate,
        pm.tradeoff_curve(path, X_test, y_test),
        problem.errors,
        pm.programs.build(problem, lam=0.1),
    ]


def test_answers_print_in_a_line(answers: list[object]) -> None:
    """No answer prints its arrays, however long they are."""
    for answer in answers:
        assert "array(" not in repr(answer), type(answer)
        assert len(repr(answer)) < 250, (type(answer), repr(answer))


def test_arrays_print_their_shapes() -> None:
    """Shape and type of an array, fractions as they are written, numbers by name."""
    trees = pm.datasets.two_trees()
    relaxed = pm.programs.solve_relaxation(trees, 0.25, formulation="IP1")
    assert repr(relaxed.point) == "Named(15 numbers: z[0] = 0, z[1] = 1, z[2] = 0.5, ...)"
    assert repr(pm.engines.min_cut(trees, 0.25).certificate) == "ItemDuals(dual=<4 int64>, unit=1/8, lam=1/4)"
    assert repr(pm.engines.all_prunings(trees)).startswith("AllPrunings(kept=<15 x 12 bool>, gain=")
