"""Prunings and first trees of a forest as stages say and cost what the pruned forests say and cost."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import CostItems
from formulations.errors import InvalidInputError
from prunemodels.exits.inputs import exit_table
from prunemodels.exits.stages import Stages, table_of
from prunemodels.exits.tree_stages import TreeStages, prunings_as_stages, trees_as_stages
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest
from tests.loops import looped
from tests.prunemodels.forest_kinds import N_FEATURES, fitted, labels, random_pruning, rows

ITEMS = {
    "plain": CostItems.plain([1, 2, 0, 0.5, 7.27]),
    "groups": CostItems.grouped(["a", "a", "b", "b", "c"], {"a": 3, "b": 1.5, "c": 0}),
    "discounts": CostItems.discounted([5, 6, 2, 2, 1], [1, 2, 2, 1, 1], ["blood", "blood", None, "scan", None]),
    "once": CostItems.from_items(
        {"a": 1, "b": 2.5, "licence": 10}, [["a"], ["b", "licence"], ["a"], ["licence"], []], ["licence"]
    ),
}

KINDS = [
    "random forest",
    "random forest, 3 string labels",
    "random forest, missing values",
    "random forest, named features",
    "bag, some columns",
    "bag, missing classes",
    "regression forest",
    "extra regression trees",
    "tree",
]


def nested_prunings(kind: str, items: CostItems, evaluation: Any, n: int = 4) -> tuple[TreeStages, list[Any], Any]:
    """Random prunings made nested by unions, as stages; the forest."""
    model = fitted(kind)
    problem = pm.problem_from_forest(model.forest, model.X, costs=items, evaluation_cost=evaluation)
    kept, prunings = np.zeros(problem.ensemble.n_nodes, dtype=bool), []
    for seed in range(n):
        kept = kept | (random_pruning(problem, seed).kept if seed else kept)  # the first stage keeps nothing
        prunings.append(pm.Pruning(problem, kept))
    return prunings_as_stages(pm.pruning_path(problem), [p.kept for p in prunings]), prunings, model


@pytest.mark.parametrize("kind", KINDS)
def test_a_stage_says_what_the_pruned_forest_says(kind: str) -> None:
    """Probabilities and labels, or numbers, are those of scikit-learn's forest with the stage's pruning applied."""
    stages, prunings, model = nested_prunings(kind, ITEMS["plain"], 0)
    assert isinstance(stages, Stages)
    for s, pruning in enumerate(prunings):
        forest = pm.apply_pruning(pruning, model.forest)
        said = stages.output(s, model.X)
        if stages.classes is None:
            np.testing.assert_allclose(said.value[:, 0], forest.predict(model.X), rtol=1e-12)
        else:
            np.testing.assert_allclose(said.value, forest.predict_proba(model.X), atol=1e-12)
            np.testing.assert_array_equal(stages.classes, forest.classes_)


@looped("evaluation", [0, 0.25, [0, 1, 0.5, 0, 2]])
@pytest.mark.parametrize("prices", ITEMS)
@pytest.mark.parametrize("kind", ["random forest", "regression forest"])
def test_a_stage_costs_what_the_pruned_forest_costs(kind: str, prices: str, evaluation: Any) -> None:
    """Row by row, with groups, discounts and prices of splits; on average, with what is paid once, as the pruning has it."""
    items = ITEMS[prices]
    stages, prunings, model = nested_prunings(kind, items, evaluation)
    paid = stages.costs(model.X)
    assert (np.diff(paid, axis=0) >= 0).all()
    for s, pruning in enumerate(prunings):
        pruned = read_forest(pm.apply_pruning(pruning, model.forest))
        np.testing.assert_allclose(paid[s], example_costs(pruned, model.X, items, evaluation_cost=evaluation), rtol=1e-12)
        seen = pm.evaluate(pm.apply_pruning(pruning, model.forest), model.X, model.y, costs=items, evaluation_cost=evaluation)
        assert paid[s].mean() + stages.once[s] == pytest.approx(seen.cost)
        assert paid[s].mean() + stages.once[s] == pytest.approx(pruning.cost)


@pytest.mark.parametrize("kind", ["random forest, 3 string labels", "regression forest"])
def test_disagreement_is_the_deviation_of_the_trees(kind: str) -> None:
    """Of the class that the mean favours, or of the number, over the trees; 0 where all trees are bare roots that agree."""
    stages, _, model = nested_prunings(kind, ITEMS["plain"], 0)
    last = stages.output(stages.n_stages - 1, model.X)
    e = stages.ensemble
    single = []
    for t in range(e.n_trees):
        alone = replace(prunings_as_one(e.only_tree(t)), first_stage=stages.first_stage[e.nodes_of(t)], n_stages=stages.n_stages)
        single.append(alone.output(stages.n_stages - 1, model.X).value)
    favoured = last.value.argmax(axis=1)
    picked = np.array([one[np.arange(len(favoured)), favoured] for one in single])
    np.testing.assert_allclose(last.spread, picked.std(axis=0), atol=1e-7)


def prunings_as_one(ensemble: Any) -> TreeStages:
    """One tree, kept whole."""
    return trees_as_stages(ensemble, 1, [ensemble.n_trees])


@pytest.mark.parametrize("kind", ["random forest, 3 string labels", "regression forest", "bag, some columns"])
@pytest.mark.parametrize("prices", ITEMS)
def test_first_trees_of_a_forest(kind: str, prices: str) -> None:
    """The stage of the first k trees says their mean, and costs what these trees cost alone."""
    model, items = fitted(kind), ITEMS[prices]
    e = read_forest(model.forest)
    counts = [1, 2, e.n_trees]
    stages = trees_as_stages(e, items, counts, evaluation_cost=0.1)
    paid = stages.costs(model.X)
    for s, k in enumerate(counts):
        trees = [e.only_tree(t) for t in range(k)]
        means = np.mean([prunings_as_one(tree).output(0, model.X).value for tree in trees], axis=0)
        np.testing.assert_allclose(stages.output(s, model.X).value, means, atol=1e-12)
        np.testing.assert_allclose(paid[s], example_costs(first_trees(e, k), model.X, items, evaluation_cost=0.1))
        needed = {m for tree in trees for f in tree.feature[tree.is_split].tolist() for m in items.needs[f]}
        assert stages.once[s] == sum(items.price[m] for m in needed if items.paid_once[m])


def first_trees(e: Any, k: int) -> Any:
    """The ensemble of the first k trees."""
    stop = int(e.tree_start[k])
    arrays = {name: getattr(e, name)[:stop] for name in ("left", "right", "feature", "threshold", "missing_left", "value")}
    return replace(e, tree_start=e.tree_start[: k + 1], **arrays)


@cache
def small() -> tuple[Any, NDArray[np.float64], NDArray[Any]]:
    X = rows()
    y = labels(X, ["no", "yes"])
    return RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y), X, y


def test_rows_of_all_forms() -> None:
    """Arrays, lists, sparse matrices and parts of the rows say and cost the same."""
    forest, X, _ = small()
    stages = trees_as_stages(read_forest(forest), ITEMS["once"], [1, 3])
    table = table_of(stages, X)
    for form in (X.tolist(), sparse.csr_matrix(X), sparse.csr_array(X)):
        other = table_of(stages, form)
        np.testing.assert_array_equal(table.value, other.value)
        np.testing.assert_array_equal(table.cost, other.cost)
    some = table_of(stages, X[[5, 3]])
    np.testing.assert_array_equal(table.take(np.array([5, 3])).cost, some.cost)


def test_stages_that_are_not_nested_are_refused() -> None:
    """A split that goes again, one that is kept before its parent, and a forest whose first stage has no tree."""
    forest, X, _ = small()
    problem = pm.problem_from_forest(forest, X, costs=1)
    path, e = pm.pruning_path(problem), problem.ensemble
    whole = e.is_split
    with pytest.raises(InvalidInputError, match=r"stages are not nested: split 0 is kept at stage 0 and not at stage 1"):
        prunings_as_stages(path, [whole, np.zeros_like(whole)])
    orphan = whole.copy()
    orphan[0] = False
    with pytest.raises(InvalidInputError, match=r"split 1 is kept from stage 0 on, its parent from stage 1"):
        prunings_as_stages(path, [orphan, whole])
    with pytest.raises(InvalidInputError, match="no tree takes part in the first stage"):
        replace(trees_as_stages(e, 1, [1, 3]), joins=np.ones(3, dtype=np.int32))
    with pytest.raises(InvalidInputError, match="there is no stage; give at least one"):
        exit_table(prunings_as_stages(path, []), X)


def test_columns_in_another_order_are_refused() -> None:
    """A table whose columns stand elsewhere than in training is named, for what is said and for what it costs."""
    model = fitted("random forest, named features")
    stages = trees_as_stages(read_forest(model.forest), 1, [1, 2])
    for ask in (stages.costs, lambda X: stages.output(0, X)):
        with pytest.raises(InvalidInputError, match="X has the column 'e' in place 0"):
            ask(model.X[list("edcba")])
    assert N_FEATURES == 5
