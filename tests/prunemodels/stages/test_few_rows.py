"""Few rows at once, which stages of known kinds answer without scikit-learn's checks."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from formulations.errors import InvalidInputError
from formulations.instance.cost_items import CostItems
from prunemodels.stages.few_rows import quick_answer
from prunemodels.stages.set_stages import BlendedStage, Constant, SetStages, predictions_of
from prunemodels.stages.table_preparation import stage_models

N, F = 120, 4
COLUMNS = np.array([0, 2, 3])


def models(classifier: bool) -> list[Any]:
    """Unfitted models of every kind that is known, those of default cascades among them."""
    forest = RandomForestClassifier if classifier else RandomForestRegressor
    scaled = make_pipeline(StandardScaler(), LogisticRegression() if classifier else Ridge())
    found = [clone(m) for m in (*stage_models(N, classifier=classifier, numeric=True), forest(), scaled)]
    for model in found:
        last = model[-1] if isinstance(model, Pipeline) else model
        last.set_params(
            **{k: v for k, v in {"max_leaf_nodes": 5, "n_estimators": 4, "random_state": 0}.items() if k in last.get_params()}
        )
        if hasattr(last, "max_bins"):
            last.set_params(max_iter=6)
    return found


def rows(missing: bool) -> NDArray[np.float64]:
    """Numbers that float32 represents, as those of a cascade are."""
    rng = np.random.default_rng(0)
    found = rng.normal(size=(N, F)).astype(np.float32).astype(np.float64)
    found[rng.random((N, F)) < 0.1 * missing] = np.nan
    return found


def labels(X: NDArray[np.float64], n_classes: int) -> NDArray[Any]:
    """Class numbers, or numbers for 0 classes."""
    score = np.nan_to_num(X) @ [1.0, 0.5, -1.0, 0.3]
    return score if n_classes == 0 else np.digitize(score, np.linspace(-1, 1, n_classes - 1))


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_classes", [0, 2, 3, 9])
@pytest.mark.parametrize("form", ["float32", "float64", "table"])
def test_few_rows_are_answered_as_by_the_model_bit_for_bit(form: str, n_classes: int, missing: bool) -> None:
    """One row and 16, of every kind of model, by itself, with another one, and where it knows fewer classes."""
    X = rows(missing)
    y = labels(X, n_classes)
    table: Any = pd.DataFrame(X, columns=list("abcd")) if form == "table" else X.astype(form)
    classes = None if n_classes == 0 else np.arange(n_classes + 1)  # the last one is not in the training rows
    items, fitted = CostItems.plain([1] * F), []
    for model in models(classifier=n_classes > 0):
        if missing and not (hasattr(model, "max_bins") or "simpleimputer" in getattr(model, "named_steps", {})):
            continue
        some = table.iloc[:, COLUMNS] if form == "table" else table[:, COLUMNS]
        fitted.append(model.fit(some, y))
    assert len(fitted) >= 4
    constant = Constant(np.ones(1 if classes is None else len(classes)))
    everything = [*fitted, BlendedStage(tuple(fitted)), constant]
    stages = SetStages(tuple(everything), (COLUMNS,) * len(everything), items, classes)
    for s, model in enumerate(everything):
        for start, n in ((0, 1), (1, 1), (2, 16)):
            asked = table[start : start + n]
            some = asked.iloc[:, COLUMNS] if form == "table" else asked[:, COLUMNS]
            assert stages._of_few(s, asked) is not None
            assert (stages.output(s, asked).value == predictions_of(model, some, classes)).all()


def cells(with_dates: bool) -> pd.DataFrame:
    """A table of numbers, gaps, words, rare and missing ones, truth values, categories, and a column without any value."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    words = np.array(["red", "blue", "green", None, "once"], dtype=object)[rng.choice(5, N, p=[0.4, 0.3, 0.15, 0.12, 0.03])]
    found = pd.DataFrame({
        "x": np.where(rng.random(N) < 0.2, np.nan, x),
        "count": rng.integers(0, 9, N),
        "word": words,
        "sure": x > rng.normal(size=N),
        "kind": pd.Categorical(rng.choice([1, 2, 30], N)),
        "nothing": np.full(N, np.nan),
    })  # fmt: skip
    return found.assign(day=pd.date_range("2020-01-01", periods=N)) if with_dates else found


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_cells_of_a_table_are_read_as_by_the_steps_of_the_model(n_classes: int) -> None:
    """Each prepared kind of model, on the training rows, and on words, gaps and truth values that training did not have."""
    table = cells(False)
    y = labels(np.column_stack([table["x"], table["count"] / 4, table["sure"], table["kind"].astype(float)]), n_classes)
    asked = table.iloc[:40].assign(word=["new", None, np.nan, "red"] * 10)
    asked["count"] = asked["count"].astype(object).where(np.arange(40) % 5 > 0, None)
    classes, items, read = None if n_classes == 0 else np.arange(n_classes), CostItems.plain([1] * 6), 0
    for columns in (np.arange(6), np.array([2]), np.array([0, 1]), np.array([2, 3])):
        for model in stage_models(N, classifier=n_classes > 0, numeric=False):
            some = clone(model)
            some[-1].set_params(**{k: 4 for k in ("max_leaf_nodes", "n_estimators") if k in some[-1].get_params()})
            stages = SetStages((some.fit(table.iloc[:, columns], y),), (columns,), items, classes)
            for rows in (*(asked[i : i + 1] for i in range(4)), asked[8:24], table[:1]):
                assert stages._of_few(0, rows) is not None
                assert (stages.output(0, rows).value == predictions_of(some, rows.iloc[:, columns], classes)).all()
                read += 1
    assert read == 4 * 6 * 4


def test_cells_that_are_not_plain_are_read_by_the_steps_of_the_model() -> None:
    """Dates, words in a column of numbers, and truth values there: the steps convert or refuse them."""
    table = cells(True)
    items, y = CostItems.plain([1] * 7), table["count"].to_numpy(dtype=np.float64)
    model = clone(stage_models(N, classifier=False, numeric=False)[1])
    dated = SetStages((clone(model).fit(table, y),), (np.arange(7),), items, None)
    assert dated._of_few(0, table[:1]) is None
    plain = SetStages((clone(model).fit(table.iloc[:, :3], y),), (np.arange(3),), items, None)
    for value in ("7", True):
        other = table[:1].assign(count=np.array([value], dtype=object))
        assert plain._of_few(0, other) is None
    with pytest.raises(InvalidInputError, match="many"):
        plain.output(0, table[:1].assign(count=["many"]))


def test_codes_of_categories_in_an_array_are_looked_up() -> None:
    """Boosted trees that take a column of numbers for categories, also one that training did not have, and a missing one."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=N), rng.choice([3.0, 5.0, 9.0, 17.0], N)])
    model = HistGradientBoostingRegressor(max_iter=9, min_samples_leaf=5, categorical_features=[1])
    model.fit(X, (X[:, 1] % 4) + X[:, 0])
    answer = quick_answer(model)
    assert answer is not None
    X[:3, 1] = [4.0, np.nan, 40.0]
    found = answer(X)
    assert found is not None
    assert (found == model.predict(X)).all()
    assert len(set(found[X[:, 0] > 1])) > 1


class Other(LogisticRegression):  # type: ignore[misc]
    """A model that answers otherwise than the one that it is made from."""

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 2), 0.5)


class Doubling(StandardScaler):  # type: ignore[misc]
    """A step that does otherwise than the one that it is made from."""

    def transform(self, X: Any, copy: bool | None = None) -> Any:
        return 2 * super().transform(X, copy)


def test_other_models_are_asked_themselves() -> None:
    """A subclass answers for itself, and so does a model in any step that is not known or has other options."""
    X = rows(False)[:, COLUMNS]
    y = (X[:, 0] > 0).astype(int)
    for model in (
        Other(),
        make_pipeline(Doubling(), LogisticRegression()),
        make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
        LogisticRegression(solver="newton-cg"),
    ):
        assert quick_answer(model.fit(X, y)) is None
    stages = SetStages((Other().fit(X, y),), (np.arange(3),), CostItems.plain([1] * 3), np.arange(2))
    assert stages.output(0, X[:1]).value.tolist() == [[0.5, 0.5]]


def test_what_a_model_refuses_it_refuses_itself() -> None:
    """Rows without a number in a linear model, or too large for a forest, and no rows at all."""
    X, classes, items = rows(False)[:, COLUMNS], np.arange(2), CostItems.plain([1] * 3)
    y = (X[:, 0] > 0).astype(int)
    for model, bad in ((LogisticRegression(), np.nan), (RandomForestClassifier(2), 1e300), (Ridge(), np.inf)):
        known = None if isinstance(model, Ridge) else classes
        stages = SetStages((model.fit(X, y),), (np.arange(3),), items, known)
        with np.errstate(over="ignore"), pytest.raises(ValueError, match=r"NaN|infinity"):
            stages.output(0, np.full((1, 3), bad))
        with pytest.raises(ValueError, match="0 sample"):
            stages.output(0, X[:0])


def test_names_of_columns_are_checked_by_the_model_where_they_do_not_fit() -> None:
    """A table for a model that was trained on an array, and the other way round, get scikit-learn's warning."""
    X, items = rows(False)[:, COLUMNS], CostItems.plain([1] * 3)
    table = pd.DataFrame(X, columns=list("abc"))
    for trained, asked in ((X, table), (table, X)):
        stages = SetStages((Ridge().fit(trained, X[:, 0]),), (np.arange(3),), items, None)
        with pytest.warns(UserWarning, match="feature names"):
            stages.output(0, asked[:1])


def test_what_is_prepared_for_few_rows_is_in_no_file() -> None:
    """A pickle of stages that were asked is as large as before, and answers the same."""
    X = rows(False)
    model = stage_models(N, classifier=False, numeric=True)[0]
    stages = SetStages((clone(model).fit(X, X[:, 0]),), (np.arange(F),), CostItems.plain([1] * F), None)
    before = pickle.dumps(stages)
    first = stages.output(0, X[:1]).value
    assert pickle.dumps(stages) == before
    assert (pickle.loads(before).output(0, X[:1]).value == first).all()
