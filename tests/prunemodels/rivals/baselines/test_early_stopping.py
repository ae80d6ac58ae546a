"""Early stopping prunes where the impurity has fallen to the threshold, and nowhere else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.rivals.baselines.early_stopping import early_stopping_path, node_impurities
from tests.instances import random_problem, with_usage
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.rivals.baselines.cases import hand_forest, keeps, same_rows


def test_hand_forest() -> None:
    """Impurities .5 and .9 on the way down tree 0 count as .5 both; tree 1 has .3."""
    path = early_stopping_path(hand_forest(), criterion=[0.5, 0.0, 0.9, 0, 0, 0.3, 0, 0])
    assert path.parameter.tolist() == [0, 0.3, 0.5]
    assert same_rows(path, [keeps(0, 2, 5), keeps(0, 2), keeps()])
    assert path.cost.tolist() == [8, 8, 0]
    assert (path.parameter_name, path.method) == ("threshold", "early stopping (given impurity)")


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**9))
def test_every_row_is_stopped_growth(seed: int) -> None:
    """At each threshold, and between any two, a walk from the roots that stops at impurities up to it keeps the row's splits."""
    problem = random_problem(seed)
    ensemble = problem.ensemble
    impurity = np.random.default_rng(seed).integers(0, 5, ensemble.n_nodes) / 4
    path = early_stopping_path(problem, criterion=impurity)
    assert path.parameter[0] == 0
    assert (np.diff(path.parameter) > 0).all()
    for k, start in enumerate(path.parameter):
        for threshold in (start, start + 0.1):
            grown = np.zeros(ensemble.n_nodes, dtype=bool)
            waiting = ensemble.roots.tolist()
            while waiting:
                h = waiting.pop()
                if ensemble.left[h] >= 0 and impurity[h] > threshold:
                    grown[h] = True
                    waiting += [ensemble.left[h], ensemble.right[h]]
            assert np.array_equal(path[k].kept, grown)


@pytest.mark.parametrize(("kind", "criterion"), [("random forest, entropy", "entropy"), ("random forest, balanced", "gini")])
def test_class_fractions_say_what_the_trees_store(kind: str, criterion: Any) -> None:
    """Entropy and Gini impurity of the fractions are scikit-learn's own."""
    f = fitted(kind)
    ensemble = pm.read_forest(f.forest)
    np.testing.assert_allclose(node_impurities(ensemble, criterion), node_impurities(ensemble, "stored", f.forest), atol=1e-12)


@pytest.mark.parametrize(("alpha", "expected"), [(0.0, 6 + 3 + 2), (0.5, 3.5 + 1.0 + 0.5), (1.0, 1.0)])
def test_pairs_by_hand(alpha: float, expected: float) -> None:
    """Three, two and one examples of three classes.

    alpha 0: 6 + 3 + 2 pairs. 1/2: 2.5 * 1.5 - 1/4, 2.5 * .5 - 1/4, 1.5 * .5 - 1/4. 1: 2 * 1 - 1, the others 0.
    """
    tree = DecisionTreeClassifier(random_state=0).fit([[0], [0], [0], [1], [1], [2]], list("aaabbc"))
    impurity = node_impurities(pm.read_forest(tree), "pairs", tree, pairs_alpha=alpha)
    assert impurity[0] == pytest.approx(expected)
    assert impurity[1] == 0  # "a" alone
    assert impurity[2] == pytest.approx({0.0: 2, 0.5: 0.5, 1.0: 0}[alpha])


@pytest.mark.parametrize("criterion", ["entropy", "pairs", "stored"])
def test_stopping_goes_from_the_whole_forest_to_its_roots(criterion: Any) -> None:
    """Row 0 is the unpruned forest, for a split of fully grown trees is never pure; the last row has no split."""
    f = fitted("random forest, 3 string labels")
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    path = early_stopping_path(problem, f.forest, criterion=criterion)
    assert path[0].n_splits == problem.ensemble.n_splits
    assert path[-1].n_splits == 0
    assert path.method == f"early stopping ({criterion})"


def test_variances_of_regressors() -> None:
    """Regression trees are stopped by what they store, their variance."""
    f = fitted("regression tree")
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    path = early_stopping_path(problem, f.forest, criterion="stored")
    tree = f.forest.tree_
    threshold = float(np.median(tree.impurity))
    row = int(np.searchsorted(path.parameter, threshold, side="right")) - 1
    grown = np.zeros(tree.node_count, dtype=bool)
    for h in range(tree.node_count):
        above = problem.ensemble.parent[h]
        grown[h] = tree.children_left[h] >= 0 and tree.impurity[h] > threshold and (above < 0 or grown[above])
    assert np.array_equal(path[row].kept, grown)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("tree", {"criterion": "twoing"}, "criterion is 'twoing'; give one of"),
        ("tree", {"criterion": "pairs"}, "forest is missing"),
        ("tree", {"criterion": "pairs", "forest": None, "pairs_alpha": -1}, "pairs_alpha is -1; give a number >= 0"),
        ("tree", {"criterion": "pairs", "pairs_alpha": np.nan}, "pairs_alpha is nan"),
        ("tree", {"criterion": [1.0]}, r"criterion has shape \(1,\); give one number for each of"),
        ("tree", {"criterion": "bad"}, r"criterion\[1\] is nan; an impurity is finite and >= 0"),
        ("tree", {"criterion": "negative"}, r"criterion\[2\] is -1.0; an impurity is finite and >= 0"),
        ("regression tree", {}, "criterion is 'entropy', which is of classes; give 'stored'"),
        ("random forest", {"criterion": "stored", "forest": "other"}, "the forest has other trees"),
    ],
)
def test_what_does_not_fit_is_refused(kind: str, options: dict[str, Any], message: str) -> None:
    """Each refusal says which argument and which value."""
    f = fitted(kind)
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    if options.get("criterion") in ("bad", "negative"):
        numbers = np.ones(problem.ensemble.n_nodes)
        numbers[1 if options["criterion"] == "bad" else 2] = np.nan if options["criterion"] == "bad" else -1
        options = {"criterion": numbers}
    if options.get("forest") == "other":
        options = {**options, "forest": RandomForestClassifier(4, random_state=5).fit(f.X, f.y)}
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        early_stopping_path(problem, **options)


@pytest.mark.parametrize("node", [[1.2, -0.2], [0.5, 0.6]])
def test_values_that_are_no_class_fractions_are_refused(node: list[float]) -> None:
    """Entropies of something else would be numbers, too."""
    problem = hand_forest()
    value = np.full((8, 2), 0.5)
    value[3] = node
    problem = with_usage(problem, ensemble=replace(problem.ensemble, value=value, classes=np.array([0, 1])))
    with pytest.raises(pm.errors.InvalidInputError, match=r"node 3 predicts .*, no class fractions"):
        early_stopping_path(problem)
