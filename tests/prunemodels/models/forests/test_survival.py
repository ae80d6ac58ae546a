"""Survival forests of scikit-survival: their errors are integrated Brier scores, and pruned ones predict the nodes' curves."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

import prunemodels as pm
from prunemodels.command_line.cli import main
from solvers.brute_force import all_prunings
from tests.prunemodels.forest_kinds import one_number_alone, random_pruning

sksurv = pytest.importorskip("sksurv")

from sksurv.datasets import load_whas500  # noqa: E402
from sksurv.ensemble import ExtraSurvivalTrees, RandomSurvivalForest  # noqa: E402
from sksurv.metrics import brier_score  # noqa: E402
from sksurv.tree import ExtraSurvivalTree, SurvivalTree  # noqa: E402
from sksurv.util import Surv  # noqa: E402

TRAIN, VALID = slice(0, 120), slice(120, 200)

KINDS: dict[str, Any] = {
    "random survival forest": RandomSurvivalForest(4, max_depth=4, random_state=0),
    "weighted": RandomSurvivalForest(3, max_depth=4, random_state=0),
    "extra survival trees": ExtraSurvivalTrees(4, max_depth=4, random_state=0),
    "without bootstrap": RandomSurvivalForest(3, max_depth=4, max_features=4, bootstrap=False, random_state=0),
    "tree": SurvivalTree(max_depth=4, random_state=0),
    "extra tree": ExtraSurvivalTree(max_depth=4, random_state=0),
}


@cache
def whas() -> tuple[pd.DataFrame, NDArray[Any]]:
    """500 patients with a heart attack in random order; of those after the training rows, a tenth of the cells is missing."""
    X, y = load_whas500()
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    X = X.iloc[order].astype(float).reset_index(drop=True)
    missing = rng.random(X.shape) < 0.1
    missing[TRAIN] = False
    return X.mask(missing), y[order]


@cache
def fitted(kind: str) -> tuple[Any, NDArray[np.float64] | None]:
    """The forest of that kind, and the weights that it was trained with."""
    X, y = whas()
    w = np.random.default_rng(1).uniform(0.3, 2, 120) if kind == "weighted" else None
    return KINDS[kind].fit(X[TRAIN], y[TRAIN], sample_weight=w), w


def rows(part: slice) -> tuple[pd.DataFrame, NDArray[Any]]:
    X, y = whas()
    return X[part], y[part]


def trees_of(forest: Any) -> list[Any]:
    return list(getattr(forest, "estimators_", [forest]))


def integrated(y: NDArray[Any], curves: NDArray[np.float64], times: NDArray[np.float64]) -> float:
    """scikit-survival's Brier scores, integrated as its ``integrated_brier_score`` does, which fails in 0.26 with numpy 2.4."""
    times, scores = brier_score(y, y, curves, times)
    return float(np.trapezoid(scores, times) / np.ptp(times))


def score(model: Any, forest: Any, X: Any, y: NDArray[Any]) -> float:
    """scikit-survival's own integrated Brier score of a model at the forest's event times within the follow-up."""
    times, (_, time) = forest.unique_times_[forest.is_event_time_], y.dtype.names
    times = times[(times >= y[time].min()) & (times < y[time].max())]
    curves = model.predict_survival_function(X, **({} if hasattr(X, "columns") else {"check_input": False}))
    return integrated(y, np.stack([curve(times) for curve in curves]), times)


def row_scores(forest: Any, curves: NDArray[np.float64], y: NDArray[Any]) -> NDArray[np.float64]:
    """Each row's score, one row and time after the other, with censoring estimated by counting."""
    event, time = (y[name] for name in y.dtype.names)
    grid = forest.unique_times_[forest.is_event_time_]
    inside = np.flatnonzero((grid >= time.min()) & (grid < time.max()))

    def not_censored(t: float) -> float:
        G = 1.0
        for s in np.unique(time[time <= t]):
            here = time == s
            G *= 1 - (here & ~event).sum() / ((time >= s).sum() - (here & event).sum())
        return G

    G = np.array([not_censored(t) for t in grid])
    found = np.zeros(len(y))
    for i in range(len(y)):
        S, t = curves[i], time[i]
        each = np.where(grid < t, (1 - S) ** 2 / np.maximum(G, 1e-300), event[i] * S**2 / max(not_censored(t), 1e-300))
        found[i] = np.trapezoid(each[inside], grid[inside]) / np.ptp(grid[inside])
    return found


def unpruned_error(problem: Any) -> float:
    return pm.Pruning.unpruned(problem).error


@pytest.mark.parametrize("kind", KINDS)
def test_the_error_on_given_rows_is_the_mean_of_the_trees_scores(kind: str) -> None:
    """Each tree counts with its own curve; the forest's figure is that of the mean curve."""
    forest, _ = fitted(kind)
    X, y = rows(VALID)
    problem = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, y))
    values = X.to_numpy(np.float32)
    each = [score(tree, forest, values if tree is not forest else X, y) for tree in trees_of(forest)]
    assert unpruned_error(problem) == pytest.approx(np.mean(each), rel=1e-12)
    seen = pm.evaluate(forest, X, y, costs=1)
    assert seen.error == pytest.approx(score(forest, forest, X, y), rel=1e-12)
    assert seen.measure == problem.ensemble.measure == "integrated Brier score"


@pytest.mark.parametrize("kind", ["random survival forest", "without bootstrap", "tree"])
def test_in_bag_errors_weigh_rows_as_each_tree_drew_them(kind: str) -> None:
    """The mean over the rows that a tree drew, each as often as it was drawn; censoring is estimated from all training rows."""
    forest, _ = fitted(kind)
    X, y = rows(TRAIN)
    problem = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.InBag(X, y))
    each = []
    for k, tree in enumerate(trees_of(forest)):
        drawn = forest.estimators_samples_[k] if tree is not forest else np.arange(len(y))
        curves = tree.tree_.predict(X.to_numpy(np.float32))[:, forest.is_event_time_, 1]
        each.append(row_scores(forest, curves, y)[drawn].mean())
    assert unpruned_error(problem) == pytest.approx(np.mean(each), rel=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_other_training_data_are_refused(kind: str) -> None:
    """The rows of `InBag` must be those of `fit`, in their order, and so must events and times: the nodes' hazards tell."""
    forest, w = fitted(kind)
    X, y = rows(TRAIN)
    pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.InBag(X, y, w))
    with pytest.raises(pm.errors.InvalidInputError, match=r"the labels at node \d+ of tree 0 are not those"):
        pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.InBag(X, y[::-1].copy(), w))
    moved = y.copy()
    moved["lenfol"] += 1
    with pytest.raises(pm.errors.InvalidInputError, match="are not those that it was grown with"):
        pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.InBag(X, moved, w))
    with pytest.raises(pm.errors.InvalidInputError, match="the rows put a weight of"):
        pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.InBag(*rows(slice(200, 320)), w))


def test_optimum_of_a_small_forest_by_brute_force() -> None:
    """Of all prunings of two small trees none has a lower error plus cost, each judged by scikit-survival."""
    X, y = rows(slice(0, 200))
    columns = ["age", "bmi", "hr", "sysbp"]
    X = X[columns].fillna(0.0)
    forest = RandomSurvivalForest(2, max_leaf_nodes=5, max_features=2, random_state=3).fit(X[TRAIN], y[TRAIN])
    prices = dict(zip(columns, [1, 2, 3, 4], strict=True))
    problem = pm.problem_from_forest(forest, X[VALID], costs=prices, errors=pm.samples.Given(X[VALID], y[VALID]))
    prunings = [pm.Pruning(problem, kept) for kept in all_prunings(problem).kept]
    assert len(prunings) > 20
    values, found = X[VALID].to_numpy(np.float32), []
    for pruning in prunings:
        pruned = pm.apply_pruning(pruning, forest)
        error = np.mean([score(tree, forest, values, y[VALID]) for tree in pruned.estimators_])
        used = np.zeros((80, 4), dtype=bool)
        for tree in pruned.estimators_:
            features = np.where(tree.tree_.children_left >= 0, tree.tree_.feature, 4)
            paths = tree.tree_.decision_path(values)
            for i in range(80):
                asked = features[paths[[i]].indices]
                used[i, asked[asked < 4]] = True
        assert pruning.error == pytest.approx(error, rel=1e-10)
        found.append((error, float((used @ [1, 2, 3, 4]).mean())))
    errors, costs = np.array(found).T
    for lam in (0.0, 0.001, 0.005, 0.02, 0.1):
        assert pm.solve(problem, lam=lam).value == pytest.approx((errors + lam * costs).min(), rel=1e-9)
    for budget in (2, 5):
        assert pm.solve(problem, budget=budget, method="exact").error == pytest.approx(errors[costs <= budget + 1e-12].min())


@pytest.mark.parametrize("kind", KINDS)
def test_a_pruned_forest_predicts_the_curves_of_its_leaves(kind: str) -> None:
    """Each tree answers with the curve, and the risk, of the first node on a row's way whose split is not kept."""
    forest, _ = fitted(kind)
    X, y = rows(VALID)
    problem = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, y))
    pruning = random_pruning(problem, 1)
    pruned = pm.apply_pruning(pruning, forest)
    assert type(pruned) is type(forest)
    values, curves, risks = X.to_numpy(np.float32), 0.0, 0.0
    for t, tree in enumerate(trees_of(forest)):
        nodes = problem.ensemble.nodes_of(t)
        parent, kept, ends = problem.ensemble.parent, pruning.kept, tree.tree_.apply(values) + nodes.start
        for _ in range(int(problem.ensemble.depth.max())):
            above = np.maximum(parent[ends], nodes.start)
            ends = np.where(kept[above], ends, above)
        ends = ends - nodes.start
        curves = curves + tree.tree_.value[ends, :, 1]
        risks = risks + tree.tree_.value[ends][:, forest.is_event_time_, 0].sum(axis=1)
    n = problem.ensemble.n_trees
    np.testing.assert_allclose(pruned.predict_survival_function(X, return_array=True), curves / n, rtol=1e-12)
    np.testing.assert_allclose(pruned.predict(X), risks / n, rtol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_every_row_of_a_path_is_evaluated_as_its_own_forest(kind: str) -> None:
    """`evaluate_path`, `hold_out`, `result.evaluate` and scikit-survival agree on each pruning."""
    forest, _ = fitted(kind)
    X, y = rows(VALID)
    test = rows(slice(200, 300))
    result = pm.prune_forest(forest, X, y, costs=1, budget=3, errors="validation")
    seen = pm.evaluate_path(result.path, *test)
    models = [pm.apply_pruning(pruning, forest) for pruning in result.path]
    expected = [score(model, forest, *test) for model in models]
    np.testing.assert_allclose(seen.error, expected, rtol=1e-9)
    held_out = pm.hold_out(result.pruning, forest, *test).error
    assert held_out is not None
    assert held_out.mean == pytest.approx(score(result.estimator, forest, *test), rel=1e-12)
    change = result.evaluate(*test)
    assert change.error_after.mean == pytest.approx(held_out.mean, rel=1e-12)
    assert change.error_after.standard_error == pytest.approx(held_out.standard_error, rel=1e-9)
    assert change.increase.mean == pytest.approx(held_out.mean - score(forest, forest, *test), rel=1e-9)
    assert change.broken is None


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_on_demand_are_the_forests(kind: str) -> None:
    """Risk scores on demand agree with ``predict``; a tolerance stops early and keeps to it."""
    forest, _ = fitted(kind)
    X, _ = rows(VALID)
    served = pm.OnDemandPredictor(forest, 1, pm.on_demand.from_table(X)).run(X.index)
    np.testing.assert_allclose(served.predictions, forest.predict(X), rtol=1e-12)
    tolerance = float(np.ptp(served.predictions)) / 4
    early = pm.OnDemandPredictor(forest, 1, pm.on_demand.from_table(X), tolerance=tolerance).run(X.index)
    assert np.abs(early.predictions - forest.predict(X)).max() <= tolerance
    assert early.mean_cost < served.mean_cost


@pytest.mark.parametrize("kind", KINDS)
def test_a_forest_without_its_unused_columns_and_from_files(kind: str, tmp_path: Path) -> None:
    """`drop_unused`, skops and joblib keep curves bit for bit."""
    forest, _ = fitted(kind)
    X, y = rows(VALID)
    cheap = pm.prune_forest(forest, X, y, costs=1, budget=2, errors="validation").estimator
    expected = cheap.predict_survival_function(X, return_array=True)
    slim = pm.drop_unused(cheap)
    assert slim.n_features_in_ < cheap.n_features_in_
    np.testing.assert_array_equal(slim.predict_survival_function(X[slim.feature_names_in_], return_array=True), expected)
    for name in ("forest.skops", "forest.joblib"):
        pm.save_forest(slim, tmp_path / name)
        again = pm.load_forest(tmp_path / name, trust_pickle=True)
        np.testing.assert_array_equal(again.predict_survival_function(X[slim.feature_names_in_], return_array=True), expected)


def test_the_rows_of_a_large_table_are_predicted_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """The score of a forest does not depend on how many rows are predicted at a time."""
    forest, _ = fitted("random survival forest")
    X, y = rows(VALID)
    whole = pm.evaluation.held_out_error(forest, X, y)
    monkeypatch.setattr("prunemodels.models.forests.survival.BLOCK", 7 * len(forest.unique_times_))
    blocks = pm.evaluation.held_out_error(forest, X, y)
    assert blocks.mean == pytest.approx(whole.mean, rel=1e-14)


class OwnPrediction(RandomSurvivalForest):
    """Predicts other curves than the mean of its trees."""

    def predict_survival_function(self, X: Any, return_array: bool = False) -> Any:
        return super().predict_survival_function(X, return_array) ** 2


def test_forests_without_errors_of_their_own_are_refused() -> None:
    """Nodes store no error of their curves; ``low_memory=True`` leaves no curves; a subclass may predict others."""
    X, y = rows(TRAIN)
    small = {"max_depth": 2, "random_state": 0}
    for forest, use, words in (
        (fitted("random survival forest")[0], lambda f: pm.prune_forest(f, X, costs=1, budget=3), r"errors=InBag\(X, y\)"),
        (RandomSurvivalForest(2, low_memory=True, **small).fit(X, y), judged, "low_memory=True.*low_memory=False"),
        (OwnPrediction(2, **small).fit(X, y), judged, "OwnPrediction cannot be pruned"),
    ):
        with pytest.raises(pm.errors.UnsupportedModelError, match=words):
            use(forest)


def judged(forest: Any) -> Any:
    """A forest on the training rows."""
    return pm.evaluate(forest, *rows(TRAIN), costs=1)


def test_what_cannot_judge_curves_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """ONNX, cascades, tables in blocks, estimators and commands refuse survival forests by name."""
    forest, _ = fitted("random survival forest")
    X, y = rows(VALID)
    problem = pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, y))
    table = X.fillna(0.0).assign(label=1)
    for use in (
        *one_number_alone(forest, problem, X, y, table),
        lambda: pm.BudgetPrunedForestRegressor(RandomSurvivalForest(2), budget=2).fit(X, y),
        lambda: pm.evaluate(forest, pm.tables.ChunkedTable(table), "label", costs=1),
    ):
        with pytest.raises(pm.errors.UnsupportedModelError, match="survival curves"):
            use()
    with pytest.raises(pm.errors.InvalidInputError, match="misclassification_costs are for classifiers"):
        pm.prune_forest(forest, X, y, budget=2, errors="validation", misclassification_costs=[[0, 1], [1, 0]])
    pm.save_forest(forest, tmp_path / "forest.skops")
    table.to_csv(tmp_path / "table.csv", index=False)
    words = ["path", str(tmp_path / "forest.skops"), "--data", str(tmp_path / "table.csv"), "--label", "label", "--costs", "1"]
    assert main([*words, "--out", str(tmp_path / "path.csv")]) == 2
    assert "predicts survival curves" in capsys.readouterr().err


GOOD = Surv.from_arrays([True, False, True], [1.0, 2.0, 3.0])


def with_field(name: str, values: Any) -> NDArray[Any]:
    """GOOD with another field."""
    fields = {"event": GOOD["event"], "time": GOOD["time"], name: np.asarray(values)}
    y = np.empty(3, dtype=[(key, value.dtype) for key, value in fields.items()])
    for key, value in fields.items():
        y[key] = value
    return y


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (lambda: [1, 2, 3], r"errors: y is list, the forest predicts survival curves; give .* sksurv.util.Surv.from_arrays"),
        (lambda: np.ones((3, 2)), "errors: y is ndarray, the forest predicts survival curves"),
        (lambda: pd.DataFrame({"event": [True] * 3, "time": [1, 2, 3]}), "errors: y is DataFrame"),
        (lambda: with_field("entry", [0.0, 0.0, 0.0]), "errors: y is of the fields event, time, entry"),
        (lambda: GOOD[:2], r"errors: y has shape \(2,\), X has 3 rows: give one event and time each"),
        (lambda: with_field("event", [1, 0, 1]), "the field 'event' is int64, it must be bool: True where the event happened"),
        (lambda: with_field("time", ["1", "2", "3"]), "the field 'time' is <U1, it must be the time in numbers"),
        (
            lambda: with_field("time", [1.0, np.nan, 3.0]),
            r"errors: y\[1\]: the field 'time' is nan; times must be finite and >= 0",
        ),
        (lambda: with_field("time", [1.0, 2.0, -3.0]), r"errors: y\[2\]: the field 'time' is -3.0"),
        (lambda: with_field("event", [False] * 3), "errors: y: all 3 examples are censored"),
        (
            lambda: with_field("time", [1e6, 2e6, 3e6]),
            r"until times from 1e\+06 to 3e\+06, where the forest has 0 of its event times",
        ),
    ],
)
def test_events_and_times_of_another_form_are_refused(y: Callable[[], Any], message: str) -> None:
    forest, _ = fitted("tree")
    X, _ = rows(slice(0, 3))
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.problem_from_forest(forest, X, costs=1, errors=pm.samples.Given(X, y()))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda forest: setattr(forest, "unique_times_", forest.unique_times_[::-1]), "unique_times_ is no rising list of times"),
        (lambda forest: setattr(forest, "is_event_time_", forest.is_event_time_[1:]), "is_event_time_ does not say which"),
        (lambda forest: setattr(forest.estimators_[1], "unique_times_", np.arange(3.0)), "tree 1: its unique_times_ are not"),
        (lambda forest: forest.estimators_[1].tree_.value.__setitem__((0, 0, 1), 1.5), "tree 1: a survival probability is not"),
        (lambda forest: forest.estimators_[0].tree_.value.__setitem__((0, 0, 0), np.nan), "tree 0: a value is not finite"),
    ],
)
def test_damaged_forests_are_refused(damage: Callable[[Any], None], message: str) -> None:
    """Times that do not rise or belong together, and curves that are none."""
    X, y = rows(TRAIN)
    forest = RandomSurvivalForest(2, max_depth=2, random_state=0).fit(X, y)
    damage(forest)
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        pm.evaluate(forest, X, y, costs=1)
