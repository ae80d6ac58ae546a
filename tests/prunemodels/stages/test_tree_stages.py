"""Prunings of a forest as stages say and cost what the pruned forests do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import CostItems, Ensemble
from prunemodels.models.costs import example_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.stages.stages import Stages
from prunemodels.stages.tree_stages import TreeStages, prunings_as_stages
from tests.loops import looped
from tests.prunemodels.cascades.tables import ITEMS
from tests.prunemodels.forest_kinds import fitted, random_pruning

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
        alone = replace(kept_whole(e.only_tree(t)), first_stage=stages.first_stage[e.nodes_of(t)], n_stages=stages.n_stages)
        single.append(alone.output(stages.n_stages - 1, model.X).value)
    favoured = last.value.argmax(axis=1)
    picked = np.array([one[np.arange(len(favoured)), favoured] for one in single])
    np.testing.assert_allclose(last.spread, picked.std(axis=0), atol=1e-7)


def kept_whole(ensemble: Ensemble) -> TreeStages:
    """One stage that keeps every split; each feature costs 1."""
    first = np.where(ensemble.is_split, 0, 1).astype(np.int32)
    return TreeStages(ensemble, CostItems.plain([1] * ensemble.n_features), (0,) * ensemble.n_features, first, 1)
