"""Prunings and first trees of a forest, and rounds of boosted models, as stages say and cost what the models do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

import prunemodels as pm
from formulations import CostItems
from prunemodels.exits.stages import Stages
from prunemodels.exits.tree_stages import TreeStages, prunings_as_stages, staged_model, trees_as_stages
from prunemodels.models.costs import example_costs, staged_costs
from prunemodels.models.forests.reading import read_forest
from prunemodels.rivals.cegb import CEGBClassifier, CEGBRegressor
from prunemodels.rivals.greedy_miser import GreedyMiserClassifier, GreedyMiserRegressor
from tests.loops import looped
from tests.prunemodels.exits.tables import ITEMS
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


XC, YC = make_classification(240, 6, n_informative=4, n_classes=3, random_state=0)
XR, YR = make_regression(240, 6, n_informative=4, noise=10.0, random_state=0)
YR = YR / YR.std()
SIX_ITEMS = CostItems.from_items(
    {"a": 1, "b": 0.5, "c": 2, "licence": 5}, [["a"], ["a", "b"], ["c"], ["c", "licence"], ["b"], []], once=["licence"]
)
PRICED: dict[str, Any] = {"costs": SIX_ITEMS, "evaluation_cost": 0.01, "lam": 0.0005, "n_estimators": 7}
SMALL: dict[str, Any] = {"num_leaves": 6, "min_child_samples": 5}

MODELS: dict[str, Any] = {
    "CEGB": CEGBClassifier(engine="own", **SMALL, **PRICED),
    "CEGB by LightGBM": CEGBClassifier(**SMALL, **{**PRICED, "costs": [1, 0.5, 2, 0, 1, 3]}),
    "CEGB of numbers": CEGBRegressor(engine="own", **SMALL, **PRICED),
    "GreedyMiser": GreedyMiserClassifier(**PRICED),
    "GreedyMiser, squared": GreedyMiserClassifier(loss="squared_error", **PRICED),
    "GreedyMiser of numbers": GreedyMiserRegressor(**PRICED),
    "boosting": GradientBoostingClassifier(n_estimators=7, random_state=0),
    "boosting from 0": GradientBoostingClassifier(n_estimators=7, init="zero", random_state=0),
    "boosting of numbers": GradientBoostingRegressor(n_estimators=7, random_state=0),
    "boosting of numbers by a loss that is not pruned": GradientBoostingRegressor(n_estimators=7, loss="huber", random_state=0),
}


@cache
def boosted(kind: str, n_classes: int) -> Any:
    """The model of that kind."""
    model = MODELS[kind]
    y = YR if "numbers" in kind else np.array(["no", "yes", "maybe"])[np.minimum(YC, n_classes - 1)]
    return type(model)(**model.get_params()).fit(XR if "numbers" in kind else XC, y)


def rows_of(kind: str) -> Any:
    return XR if "numbers" in kind else XC


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_a_stage_says_what_the_model_says_after_its_rounds(kind: str, n_classes: int) -> None:
    """Probabilities, or numbers, after 1, 3 and all rounds."""
    model, X = boosted(kind, n_classes), rows_of(kind)
    rounds = [1, 3, 7]
    stages = staged_model(model, rounds)
    assert isinstance(stages, Stages)
    if stages.classes is None:
        said = [p.copy()[:, None] for p in model.staged_predict(X)]
    else:
        said = [p.copy() for p in model.staged_predict_proba(X)]
        np.testing.assert_array_equal(stages.classes, model.classes_)
    for s, k in enumerate(rounds):
        np.testing.assert_allclose(stages.output(s, X).value, said[k - 1], atol=1e-9)


@pytest.mark.parametrize("kind", [k for k in MODELS if "boosting" not in k])
def test_a_stage_costs_what_the_model_costs_after_its_rounds(kind: str) -> None:
    """At the model's own prices, what is paid once included; rows pay what the whole model asks of them."""
    model, X = boosted(kind, 3), rows_of(kind)
    stages = staged_model(model, [0, 1, 3, 7])
    paid = stages.costs(X)
    np.testing.assert_allclose(paid.mean(axis=1)[1:] + stages.once[1:], model.staged_cost(X)[[0, 2, 6]])
    np.testing.assert_allclose(paid[-1], model.prediction_cost(X))
    assert (paid[0] == 0).all()
    assert stages.once[0] == 0


@pytest.mark.parametrize("kind", ["boosting", "boosting of numbers"])
def test_boosting_of_scikit_learn_costs_what_its_trees_cost(kind: str) -> None:
    """Prices are 1 a feature unless given; round 0 is a constant that costs nothing and that the model starts from."""
    model, X = boosted(kind, 3), rows_of(kind)
    stages = staged_model(model, [0, 2, 7], costs=SIX_ITEMS, evaluation_cost=0.5)
    assert (stages.costs(X)[0] == 0).all()
    stage = np.repeat(np.arange(7), model.estimators_.shape[1])
    whole = staged_costs(stages.ensemble, X, SIX_ITEMS, evaluation_cost=0.5, stage=stage)
    np.testing.assert_allclose(stages.costs(X).mean(axis=1)[1:] + stages.once[1:], whole[[1, 6]])
    np.testing.assert_allclose(staged_model(model, [7]).costs(X)[0], example_costs(stages.ensemble, X, 1))
    assert np.ptp(stages.output(0, X).value, axis=0).max() == 0
    if stages.classes is not None:
        shares = np.unique(np.asarray(model.classes_)[YC], return_counts=True)[1] / len(YC)
        assert sorted(stages.output(0, X).value[0]) == pytest.approx(sorted(shares))


def test_an_exponential_loss_has_half_the_log_odds() -> None:
    """scikit-learn's probabilities for it are those of twice the margin."""
    y = YC > 0
    model = GradientBoostingClassifier(n_estimators=5, loss="exponential", random_state=0).fit(XC, y)
    np.testing.assert_allclose(staged_model(model, [5]).output(0, XC).value, model.predict_proba(XC), atol=1e-12)
