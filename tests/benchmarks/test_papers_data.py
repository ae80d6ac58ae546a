"""Data sets, forests and methods of the papers' experiments."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

import prunemodels as pm
from benchmarks.papers import data as data_module
from benchmarks.papers import methods
from benchmarks.papers.data import FOLDS, LARGEST, dataset, fold, parts, svm_prices
from benchmarks.papers.protocols import PROTOCOLS, Protocol, bp16, brf15, grow, grown, nws15
from benchmarks.papers.published import BRF15_TABLE_1, NWS15_TABLE_1
from formulations.errors import InvalidInputError
from prunemodels.data_files import FOLDER_VARIABLE


def test_parts_are_disjoint_and_in_proportion() -> None:
    """Every example is in one part, shuffled by the seed; fewer rows take the first of each part."""
    p, whole = parts("breast_cancer", 0), dataset("breast_cancer")
    assert [len(y) for y in (p.y_train, p.y_valid, p.y_test)] == list(whole.sizes)
    together = np.concatenate([p.X_train, p.X_valid, p.X_test])
    order = np.random.default_rng(0).permutation(len(whole.y))
    assert (together == whole.X.to_numpy(dtype=np.float32)[order]).all()
    assert (parts("breast_cancer", 1).X_train != p.X_train).any()
    few = parts("breast_cancer", 0, 100)
    assert [len(y) for y in (few.y_train, few.y_valid, few.y_test)] == [54, 23, 23]
    assert (few.X_test == p.X_test[:23]).all()
    assert (few.y_test == p.y_test[:23]).all()


def test_folds_test_every_example_once() -> None:
    """Ten folds; the training part stands for the validation part that the papers do not name."""
    folds = [fold("iris", 0, k) for k in range(FOLDS)]
    assert sum(len(f.y_test) for f in folds) == 150
    assert all(len(f.y_train) == 135 and f.X_valid is f.X_train for f in folds)
    tested = np.concatenate([np.column_stack([f.X_test, f.y_test]) for f in folds])
    whole = dataset("iris")
    expected = np.column_stack([whole.X.to_numpy(dtype=np.float32), whole.y])
    assert sorted(map(tuple, tested)) == sorted(map(tuple, expected))


def test_two_classes_are_one_against_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """covtype_two keeps the rows and parts of Covertype; its label says whether the class was 2."""
    labels = np.random.default_rng(0).integers(1, 8, 60)
    pd.DataFrame({"f": np.arange(60.0), "label": labels}).to_csv(tmp_path / "covtype426k.csv.gz", index=False)
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setitem(__import__("prunemodels.data_files", fromlist=["SPLITS"]).SPLITS, "covtype426k", (30, 20, 10))
    data_module.dataset.cache_clear()
    two = dataset("covtype_two")
    assert two.name == "covtype_two"
    assert (two.y == (labels == 2)).all()
    assert two.sizes == (30, 20, 10)
    data_module.dataset.cache_clear()


def test_miniboone_is_thinned_to_ucis_share_of_signal() -> None:
    """Of 50 rows of each class in a part, 50 background and 19 signal remain at a share of 0.28 (19 / 69), in their order."""
    ones = np.tile([False, True], 50)
    part = np.arange(200, 300)
    kept = data_module._thinned(part, ones, 0.28, np.random.default_rng(0))
    assert (len(kept), int((kept % 2 == 1).sum())) == (69, 19)
    assert (np.diff(kept) > 0).all()
    assert np.array_equal(data_module._thinned(part, ones, 0.5, np.random.default_rng(0)), part)


def test_every_field_of_a_protocol_has_its_source() -> None:
    """A protocol that does not say where a field is from is refused; none of the five is."""
    assert set(PROTOCOLS) == {"nws15", "brf15", "bp16", "cegb17", "cstc13"}
    wanted = {f.name for f in fields(Protocol)} - {"name", "source"}
    assert all(wanted == set(p.source) and all(p.source.values()) for p in PROTOCOLS.values())
    with pytest.raises(InvalidInputError, match="protocol NWS15: no source for vote"):
        replace(nws15, source={name: text for name, text in nws15.source.items() if name != "vote"})
    assert replace(nws15, source={**nws15.source, "vote": "elsewhere"}) == nws15  # a source decides no row


def test_a_variant_changes_the_fields_that_a_setting_names() -> None:
    """Other entries of a setting are no fields."""
    assert nws15.changed({"protocol": "nws15", "lam": 3}) == nws15
    assert nws15.changed({"vote": "mean", "max_depth": 3}) == replace(nws15, vote="mean", max_depth=3)
    assert "thresholds random" in brf15.told()


@pytest.mark.parametrize(
    "protocol", [nws15, brf15, bp16, replace(bp16, criterion="gini", features="sqrt"), replace(brf15, criterion="entropy")]
)
def test_every_protocol_grows_a_forest_that_can_be_pruned(protocol: Protocol) -> None:
    """A scikit-learn forest of so many trees comes out, each of a bootstrap, and seeds decide it."""
    X, y = load_breast_cancer(return_X_y=True)
    X = np.asarray(X, dtype=np.float32)
    forest = grow(protocol, X, y, trees=3, seed=1)
    assert len(forest.estimators_) == 3
    path = pm.pruning_path(pm.problem_from_forest(forest, X, costs=1), certificate=False)
    assert path.cost[0] > path.cost[-1]
    assert forest.estimators_[0].tree_.weighted_n_node_samples[0] == len(y)
    assert len(np.unique(forest.estimators_samples_[0])) < len(y)
    assert (grow(protocol, X, y, trees=3, seed=1).predict_proba(X) == forest.predict_proba(X)).all()


def test_nws15_splits_at_the_least_worst_child() -> None:
    """By hand, six rows of one feature, labels 0 0 0 1 1 0: Pairs counts pairs of different classes.

    Before position 3 (from 1): 0 | 9 ... the worse child has least pairs at the cut 000 | 110, where it has 2; all others leave 3
    or more (0|00110: 6, 00|0110: 4, 0001|10: 3, 00011|0: 6). Entropy's weighted mean takes the same cut here.
    """
    X = np.arange(6, dtype=np.float32)[:, None]
    tree = grow(replace(nws15, sample="all rows"), X, np.array([0, 0, 0, 1, 1, 0]), trees=1, seed=0).estimators_[0].tree_
    assert tree.threshold[0] == 2.5
    assert (tree.impurity[tree.children_left < 0] == 0).all()  # leaves are pure
    stump = grow(replace(nws15, sample="all rows", max_depth=1), X, np.array([0, 0, 0, 1, 1, 0]), trees=1, seed=0)
    assert stump.estimators_[0].tree_.node_count == 3


def test_samples_of_the_pruning_are_the_protocols() -> None:
    """In-bag errors on the validation part's costs by default; a variant measures either elsewhere."""
    small = replace(nws15, trees=3)
    usual = grown(small, "breast_cancer", 0)
    assert usual.problem.usage.n_rows == len(usual.parts.y_valid)
    assert grown(replace(small, costs="test"), "breast_cancer", 0).problem.usage.n_rows == len(usual.parts.y_test)
    assert grown(replace(small, costs="training"), "breast_cancer", 0).problem.usage.n_rows == len(usual.parts.y_train)
    in_bag, p = pm.Pruning.unpruned(usual.problem).error, usual.parts
    assert in_bag == 0  # every leaf is pure
    samples: Any = ("out-of-bag", "in-bag and out-of-bag", "validation", "test")
    others = [pm.Pruning.unpruned(grown(replace(small, errors=e), "breast_cancer", 0).problem).error for e in samples]
    assert min(others) > 0
    assert others[1] < others[0]
    trees = usual.forest.estimators_
    wrong = [np.mean([t.predict(X) != y for t in trees]) for X, y in ((p.X_valid, p.y_valid), (p.X_test, p.y_test))]
    assert others[2:] == pytest.approx(wrong)


@pytest.mark.slow_cases("CCP")
@pytest.mark.parametrize("method", methods.PRUNINGS)
def test_every_pruning_starts_from_the_whole_forest(method: str) -> None:
    """Each begins (nearly) unpruned, ends cheaper, and the optimal path's error is never above it at its cost."""
    forest = grown(replace(bp16, trees=4), "breast_cancer", 0)
    path = methods.PRUNINGS[method](forest)
    assert path.cost[0] > path.cost[-1]
    best = methods.optimal(forest)
    hull = np.interp(path.cost, best.cost[::-1], best.error[::-1])
    assert (hull <= path.error + 1e-12).all()


def test_between_breakpoints_no_budget_is_exceeded_and_none_is_worse() -> None:
    """Within each budget the pruning found costs at most that and errs at most as much as the best breakpoint."""
    forest = grown(replace(bp16, trees=4), "breast_cancer", 0)
    path = methods.optimal(forest)
    most = pm.Pruning.unpruned(forest.problem).cost
    budgets = [2.0, 3.5, most + 1]
    found = methods.within_budgets(forest, budgets)
    assert list(found) == [2.0, 3.5]  # above the unpruned cost there is nothing to do
    for budget, single in found.items():
        assert len(single) == 1
        assert single.cost[0] <= budget
        assert single.error[0] <= path.error[path.row_at_cost(budget)]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("method", [methods.GREEDY_MISER, methods.CEGB])
def test_grids_are_settings_that_the_learners_have(method: str, full: bool) -> None:
    """Every setting builds a learner with that setting; the full grid is larger."""
    grid = methods.learner_settings(method, full=full)
    for setting in (grid[0], grid[-1]):
        learner = methods.fitted(method, {**setting, "n_estimators": 2}, parts("breast_cancer", 0, 60), 7)
        assert {name: learner.get_params()[name] for name in setting} == {**setting, "n_estimators": 2}
        assert learner.random_state == 7
        assert learner.costs == 1
    assert len(methods.learner_settings(method, full=True)) > len(methods.learner_settings(method, full=False))
    assert len({tuple(s.items()) for s in grid}) == len(grid)


def test_svm_prices_follow_the_weights() -> None:
    """The label is x0 - x1 / 2: the first feature is dearest, noise costs the least, and all prices add up to F."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4)) * [1, 1, 50, 0.01]
    y = (X[:, 0] - X[:, 1] / 2 > 0).astype(int)
    prices = svm_prices(X, y)
    assert prices.sum() == pytest.approx(4)
    assert prices[0] == prices.max()
    assert prices[1] / prices[0] == pytest.approx(0.5, abs=0.1)
    least = prices.max() / LARGEST
    assert prices[2:] == pytest.approx(least, abs=2.5 * least)
    assert np.allclose(prices / least, np.round(prices / least))  # whole numbers of 1, ..., 40 before they are normalised
    assert svm_prices(X * [1, 1, 1000, 1], y) == pytest.approx(prices)  # (1): the columns' scale does not matter


def test_svm_prices_of_constants_and_several_classes() -> None:
    """A column of zeros costs the least; with three classes a feature is priced by the class that needs it most."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(600, 2)), np.zeros(600)])
    y = np.where(X[:, 0] > 0.5, 2, np.where(X[:, 1] > 0.5, 1, 0))
    prices = svm_prices(X, y)
    assert prices[2] == prices.min()
    assert prices[:2].min() >= 10 * prices[2] * (1 - 1e-12)


def test_published_tables_say_what_the_papers_print() -> None:
    """The percentages that NWS15 prints are those of its costs, so no number was mistyped; ensembles are cheaper throughout."""
    printed = {
        "miniboone": (68.24, 95.02, 43.17, 55.19),
        "covtype_two": (88.10, 93.24, 65.16, 78.82),
        "cifar10": (92.40, 93.02, 75.39, 77.89),
        "sonar": (45.20, 74.31, 16.48, 28.11),
        "heart_statlog": (73.26, 96.20, 47.75, 75.86),
    }
    assert set(printed) == set(NWS15_TABLE_1)  # the papers print one Forest; which classes, `SUBSETS` says
    for data, shares in printed.items():
        p = NWS15_TABLE_1[data]
        cells = (p.ensemble_low, p.individual_low, p.ensemble_high, p.individual_high)
        assert [100 * c.cost / p.unpruned.cost for c in cells] == pytest.approx(shares, abs=0.02)
        assert p.ensemble_low.cost < p.individual_low.cost
        assert p.ensemble_high.cost < p.individual_high.cost
    for lines in BRF15_TABLE_1.values():
        for line in lines.values():
            costs, errors = zip(*line, strict=True)
            assert list(costs) == sorted(costs)
            assert list(errors) == sorted(errors, reverse=True)
