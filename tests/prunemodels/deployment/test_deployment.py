"""A pruned forest in production: files, sizes, ONNX models that predict what it predicts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import prunemodels as pm
from prunemodels.deployment import (
    compare_onnx,
    float32_thresholds,
    forest_size,
    measure_deployment,
    onnx_models,
    sizes,
    to_onnx,
)
from prunemodels.files.forests import FOREST_ENDINGS, load_forest, save_forest
from prunemodels.models.trees import floor32
from tests.loops import looped
from tests.prunemodels.forest_kinds import KINDS, fitted, random_pruning, rows, trees_of
from tests.prunemodels.models.columns.tables import WORDS, raw_table

TINY, MOST, INF = np.float32(1e-45), np.finfo(np.float32).max, np.float32(np.inf)

# what each threshold must become: 0.1 lies below its nearest float32; 1e-50 and 1e39 have no float32 near
FLOORS = [
    (0.1, np.nextafter(np.float32(0.1), -INF)),
    (0.5, np.float32(0.5)),
    (0.3, np.nextafter(np.float32(0.3), -INF)),
    (0.7, np.float32(0.7)),
    (-0.7, np.nextafter(np.float32(-0.7), -INF)),
    (0.0, np.float32(0.0)),
    (1e-50, np.float32(0.0)),
    (-1e-50, -TINY),
    (1e39, MOST),
    (-1e39, -INF),
    (np.inf, INF),
]


def forest_and_rows(kind: str, n: int = 300):
    """A forest of the kind, half pruned, and rows that lie on its thresholds and one float32 beside them."""
    case = fitted(kind)
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    forest = pm.apply_pruning(random_pruning(problem), case.forest)
    ensemble = pm.read_forest(case.forest)
    rng = np.random.default_rng(0)
    X = rows(n, seed=5, missing=0.15 if "missing values" in kind else 0.0).astype(np.float32)
    for f in range(ensemble.n_features):
        t = ensemble.threshold[(ensemble.feature == f) & np.isfinite(ensemble.threshold)]
        near = t.astype(np.float32)
        values = np.concatenate([np.nextafter(near, -INF), near, np.nextafter(near, INF)])
        on = (rng.random(n) < 0.6) & ~np.isnan(X[:, f])
        if values.size:
            X[on, f] = rng.choice(values, on.sum())
    return forest, pd.DataFrame(X, columns=list("abcde")) if hasattr(forest, "feature_names_in_") else X


def answer(forest, X):
    return forest.predict_proba(X) if hasattr(forest, "predict_proba") else forest.predict(X)


def runtime() -> None:
    """Skip, visibly, where the libraries of the extra `interop` are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("skl2onnx")
        pytest.importorskip("onnxruntime")


@pytest.mark.parametrize(("number", "floor"), FLOORS)
def test_rounding_towards_minus_infinity(number: float, floor: np.float32) -> None:
    """floor32 gives the largest float32 that is at most the number, at the ends of the range too."""
    got = floor32(np.array([number]))
    assert got.dtype == np.float32
    assert got[0] == floor
    assert np.signbit(got[0]) == np.signbit(floor)


@looped("kind", KINDS)
def test_thresholds_in_single_precision_change_no_prediction(kind: str) -> None:
    """Of every kind of forest, on rows at and beside every threshold; the forest that was given is not changed."""
    forest, X = forest_and_rows(kind)
    before = [tree.tree_.threshold.copy() for tree, _ in trees_of(forest)]
    rounded = float32_thresholds(forest)
    np.testing.assert_array_equal(answer(rounded, X), answer(forest, X))
    for (old, _), (new, _), kept in zip(trees_of(forest), trees_of(rounded), before, strict=True):
        np.testing.assert_array_equal(old.tree_.threshold, kept)
        np.testing.assert_array_equal(new.tree_.threshold.astype(np.float32), new.tree_.threshold)
        leaves = new.tree_.children_left < 0
        np.testing.assert_array_equal(new.tree_.threshold[leaves], kept[leaves])


@looped("kind", [kind for kind in KINDS if kind != "bag, missing classes"])
def test_an_onnx_model_agrees(kind: str) -> None:
    """Pruned forests of every kind: labels and probabilities, on rows at every threshold and with missing values."""
    runtime()
    forest, X = forest_and_rows(kind)
    seen = compare_onnx(to_onnx(forest), forest, X)
    assert seen.n == len(X)
    assert seen.agrees, seen
    assert seen.allowed < 1e-5


def test_missing_values_go_where_the_tree_sends_them() -> None:
    """NaN with the zeros, at the left: a model that forgets it is told apart, and ours does not."""
    runtime()
    X = np.array([[1.0], [2.0], [np.nan]], dtype=np.float32)
    tree = DecisionTreeClassifier(random_state=0).fit(X, [0, 1, 0])
    assert tree.tree_.missing_go_to_left[0] == 1
    model = to_onnx(tree)
    assert compare_onnx(model, tree, X).agrees
    ways = next(a for a in model.graph.node[0].attribute if a.name == "nodes_missing_value_tracks_true")
    assert list(ways.ints) == [1, 0, 0]
    del ways.ints[:]
    ways.ints.extend([0, 0, 0])  # as skl2onnx 1.20 writes it
    seen = compare_onnx(model, tree, X)
    assert not seen.agrees
    assert (seen.other_labels, seen.ties, seen.largest_difference) == (1, 0, 1.0)


def test_a_bag_with_unseen_classes_is_refused() -> None:
    """Naming the tree, the class and the remedy, instead of a model that fails when it runs."""
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"tree 0 .* never saw the class 'green'.*max_samples"):
        to_onnx(fitted("bag, missing classes").forest)


def other_forest(**options: Any) -> Callable[[Any, Any], Any]:
    given: Any = {"n_estimators": 3, "max_depth": 3, "random_state": 0, **options}
    return lambda X, y: to_onnx(RandomForestClassifier(**given).fit(X, y))


def changed(attribute: str, place: str, at: int, value: Any) -> Callable[[Any, Any], Any]:
    """The model of the forest itself with one entry changed: a split made a leaf, or a node that is there twice."""

    def make(X: Any, y: Any) -> Any:
        wrong = other_forest()(X, y)
        [values] = (getattr(a, place) for a in wrong.graph.node[0].attribute if a.name == attribute)
        values[at] = values[at - 1] if value is None else value
        return wrong

    return make


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        (other_forest(n_estimators=2), "fewer trees"),
        (other_forest(n_estimators=4), "another number of nodes"),
        (other_forest(max_depth=1), "another number of nodes"),
        (lambda X, y: other_forest()(X + 1e-3, y), "other thresholds or splits"),
        (changed("nodes_modes", "strings", 1, b"LEAF"), "other thresholds or splits"),
        (changed("nodes_nodeids", "ints", -1, None), "other thresholds or splits"),
    ],
)
def test_a_model_with_other_trees_is_thrown_away(monkeypatch: pytest.MonkeyPatch, wrong: Any, what: str) -> None:
    """Should a converter ever write other trees than the forest has, there is an error, not a model."""
    runtime()
    import skl2onnx

    X = rows(90).astype(np.float32)
    y = X[:, 0] > 0.2 * X[:, 1]
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(X, y)
    model = wrong(X, y)
    monkeypatch.setattr(skl2onnx, "convert_sklearn", lambda *_, **__: model)
    with pytest.raises(pm.errors.UnsupportedModelError, match=what):
        to_onnx(forest)


def test_a_model_of_another_forest_does_not_agree() -> None:
    """With other trees it differs by more than rounding; with other outputs it is refused."""
    runtime()
    X = rows(120)
    one, other = (RandomForestClassifier(3, random_state=s).fit(X, X[:, 0] > 0) for s in (0, 1))
    assert not compare_onnx(to_onnx(other), one, X).agrees
    regressor = RandomForestRegressor(3, random_state=0).fit(X, X[:, 0])
    with pytest.raises(pm.errors.InvalidInputError, match=r"the model gives 120 numbers for 120 rows, the forest 240"):
        compare_onnx(to_onnx(regressor), one, X)
    with pytest.raises(pm.errors.InvalidInputError, match="columns"):
        compare_onnx(to_onnx(one), one, X[:, :3])


def test_a_label_may_differ_at_a_tie_only() -> None:
    """Two probabilities within the distance are a tie, of which either label is right; the third class does not count."""
    probabilities = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [0.0, 0.4999999, 0.5000001]])
    assert onnx_models._tied(probabilities, 1e-6).tolist() == [True, False, True]
    assert onnx_models._tied(np.ones((2, 1)), 1e-6).tolist() == [False, False]
    agreement = onnx_models.OnnxAgreement(9, 1e-8, 1e-6, 2, 2)
    assert agreement.agrees
    assert not onnx_models.OnnxAgreement(9, 1e-8, 1e-6, 2, 1).agrees
    assert not onnx_models.OnnxAgreement(9, 1e-5, 1e-6, 0, 0).agrees


@pytest.mark.parametrize("ending", FOREST_ENDINGS)
@looped("kind", KINDS)
def test_every_kind_survives_its_file(tmp_path: Path, kind: str, ending: str) -> None:
    """Pruned, written and read again, it predicts the same to the last bit."""
    forest, X = forest_and_rows(kind, 100)
    save_forest(forest, tmp_path / f"pruned{ending}")
    again = load_forest(tmp_path / f"pruned{ending}", trust_pickle=True)
    np.testing.assert_array_equal(answer(again, X), answer(forest, X))


def test_the_size_of_a_forest(tmp_path: Path) -> None:
    """One tree x <= 1.5, then x <= 2.5: 2 splits, 3 leaves, depth 2; its files are as long as those that are saved."""
    tree = DecisionTreeClassifier(random_state=0).fit([[1.0], [2.0], [3.0]], [0, 1, 0])
    size = forest_size(tree)
    assert (size.trees, size.splits, size.leaves, size.deepest) == (1, 2, 3, 2)
    for ending, told in ((".joblib", size.joblib_bytes), (".skops", size.skops_bytes)):
        save_forest(tree, tmp_path / f"tree{ending}")
        assert abs((tmp_path / f"tree{ending}").stat().st_size - told) <= 64  # skops writes ids that differ


def test_pruning_makes_a_forest_smaller() -> None:
    """Sizes before and after, and medians for one row and for a batch, of rows as a table."""
    case = fitted("random forest, named features")
    problem = pm.problem_from_forest(case.forest, case.X, costs=1)
    pruned = pm.apply_pruning(pm.Pruning.all_roots(problem), case.forest)
    measured = measure_deployment(case.forest, pruned, case.X, batch_rows=50, repeats=3)
    assert measured.before.splits == pm.read_forest(case.forest).n_splits
    assert measured.after.splits == 0
    assert measured.after.joblib_bytes < measured.before.joblib_bytes
    assert [(t.engine, t.rows, t.repeats) for t in measured.timings] == [("scikit-learn", 1, 3), ("scikit-learn", 50, 3)]
    assert all(t.before > 0 and t.after > 0 for t in measured.timings)
    assert "scikit-learn, 50 rows" in str(measured)
    runtime()
    measured = measure_deployment(pruned, pruned, case.X, batch_rows=10, repeats=2, onnx=True)
    assert [(t.engine, t.rows) for t in measured.timings][2:] == [("onnxruntime", 1), ("onnxruntime", 10)]


def test_one_job_is_timed() -> None:
    """Starting threads is not measured, of a forest alone or at the end of a pipeline; the given one keeps its jobs."""
    forest = RandomForestClassifier(2, n_jobs=2).fit([[0.0], [1.0]], [0, 1])
    pipe = make_pipeline(FunctionTransformer(), forest)
    assert (sizes._single_job(forest).n_jobs, sizes._single_job(pipe)[-1].n_jobs, forest.n_jobs) == (1, 1, 2)


def test_the_medians_leave_out_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 9, 9, 9 | 1, 5, 2 seconds the median is 2: the first three calls are warm-up."""
    spent = {"before": iter([9, 9, 9, 1, 5, 2]), "after": iter([7, 7, 7, 3, 3, 4])}
    monkeypatch.setattr(sizes.timeit, "timeit", lambda call, number: call())
    both = (lambda _: next(spent["before"]), lambda _: next(spent["after"]))
    assert sizes._medians(both, [None], repeats=3) == (2, 3)


@pytest.mark.parametrize("model", [RandomForestClassifier(2), DecisionTreeClassifier()])
def test_a_forest_of_one_class_has_no_onnx_model(model: DecisionTreeClassifier) -> None:
    """ONNX tells two classes apart by a score: it would answer 1, whatever the one class is."""
    with pytest.raises(pm.errors.UnsupportedModelError, match="trained on the one class 'only', and ONNX has no"):
        pm.deployment.to_onnx(model.fit([[0.0], [1.0]], ["only", "only"]))


def test_a_pipeline_by_skl2onnx() -> None:
    """What the refusal names: the pruned pipeline as one ONNX model, whose inputs are the raw columns, words among them.

    Steps that compute do so in float32 there, so the numbers of this pipeline go to the trees as they are.
    """
    skl2onnx = pytest.importorskip("skl2onnx")
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType

    X, y = raw_table(300)
    X = X.drop(columns="income").astype(dict.fromkeys(["age", "score", "debt"], np.float32))
    steps = make_column_transformer((OneHotEncoder(sparse_output=False), WORDS), ("passthrough", ["age", "score", "debt"]))
    pipe = make_pipeline(steps, RandomForestClassifier(6, max_depth=5, random_state=0)).fit(X[:150], y[:150])
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"skl2onnx\.convert_sklearn\(float32_thresholds\(pipeline\)"):
        to_onnx(pipe)
    cheap = pm.prune_forest(pipe, X[150:220], y[150:220], costs=1, budget=2, method="path").estimator
    kinds = [(name, StringTensorType([None, 1]) if name in WORDS else FloatTensorType([None, 1])) for name in X.columns]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = skl2onnx.convert_sklearn(float32_thresholds(cheap), initial_types=kinds, options={"zipmap": False})
    rows = X[220:]
    running = onnx_models.session(model)
    given = {i.name: rows[[i.name]].to_numpy(dtype=object if i.name in WORDS else np.float32) for i in running.get_inputs()}
    labels, probabilities = running.run(None, given)
    assert (labels == cheap.predict(rows)).all()
    assert np.abs(probabilities - cheap.predict_proba(rows)).max() < 1e-6
