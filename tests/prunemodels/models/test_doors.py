"""Every model at every door: the answers are its library's own on the user's table, or the door refuses it by name.

What a model means beside its trees (which number stands for which category, where probabilities are cut, what counts as missing)
comes with it to every door: the model in memory and from its file, typed and raw tables of pandas, Arrow and polars, suppliers of
single values, rows that stop early, prunings written back, columns dropped, the command line.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb

import prunemodels as pm
from formulations.instance.routing import as_rows, features_of, leaves_of
from prunemodels.command_line.cli import main
from prunemodels.models.libraries.reading import write_model
from prunemodels.models.tree_model import tree_model_of
from tests.prunemodels.models.every_model import MODELS, SIX, of_library, told

pytestmark = pytest.mark.filterwarnings("ignore")  # libraries warn of what a model was told

REFUSALS = (pm.errors.InvalidInputError, pm.errors.UnsupportedModelError)
Answers = tuple[Any, Any]


def by_trees(model: Any, X: Any) -> Answers:
    """Answers by the trees as they were read."""
    read = tree_model_of(model)
    rows = read.rows(X)
    if read.ensemble.made is not None:
        rows = features_of(read.ensemble, rows)
    elif read.forest is None:
        rows = as_rows(rows, read.ensemble.n_features, "X")
    sums = read.response.sums(leaves_of(read.ensemble, rows).T)
    return read.response.predictions(sums), read.response.probabilities(sums)


def on_demand(model: Any, acquire: Any, rows: Any, **options: Any) -> Answers:
    result = pm.OnDemandPredictor(model, 1, acquire, **options).run(rows)
    return result.predictions, None if options else result.probabilities


def supplier(raw: Any) -> Callable[[Any], Any]:
    """Answers one record a row, with Python's own numbers and words, as a service does."""

    def acquire(request: Any) -> Any:
        if not isinstance(raw, pd.DataFrame):
            return raw[request.positions[:, None], request.columns].tolist()
        table = raw.set_axis([str(c) for c in raw.columns], axis=1)
        if not {*request.features} <= {*table.columns}:
            table = table.iloc[:, request.columns].set_axis(list(request.features), axis=1)
        return table[list(request.features)].iloc[request.positions].astype(object).to_dict("records")

    return acquire


def _own_file(model: Any, folder: Path) -> Path:
    if isinstance(model, (lgb.Booster, lgb.LGBMModel)):
        getattr(model, "booster_", model).save_model(str(folder / "model.txt"))
        return folder / "model.txt"
    if isinstance(model, (xgb.Booster, xgb.XGBModel)):
        model.save_model(str(folder / "model.json"))
        return folder / "model.json"
    pm.save_forest(model, folder / "model.skops")
    return folder / "model.skops"


def _named(table: Any) -> bool:
    return isinstance(table, pd.DataFrame) and all(isinstance(c, str) for c in table.columns)


DOORS: dict[str, Callable[[Any, Any, Any], Answers | None]] = {
    "predictions": lambda model, X, raw: (tree_model_of(model).predict(X), None),
    "trees": lambda model, X, raw: by_trees(model, X),
    "raw table": lambda model, X, raw: by_trees(model, raw),
    "Arrow types": lambda model, X, raw: by_trees(model, raw.convert_dtypes(dtype_backend="pyarrow")) if _named(raw) else None,
    "polars": lambda model, X, raw: by_trees(model, pl.from_pandas(raw)) if _named(raw) else None,
    "on demand": lambda model, X, raw: on_demand(model, pm.on_demand.from_table(X), range(len(X))),
    "on demand, raw": lambda model, X, raw: on_demand(model, pm.on_demand.from_table(raw), range(len(X))),
    "on demand, polars, other order": lambda model, X, raw: (
        on_demand(model, pm.on_demand.from_table(pl.from_pandas(raw.assign(more="?"))[:, ::-1]), len(X)) if _named(raw) else None
    ),
    "supplier": lambda model, X, raw: on_demand(model, supplier(raw), len(X)),
    "early": lambda model, X, raw: (
        on_demand(model, pm.on_demand.from_table(X), range(len(X)), early_stopping=True)
        if tree_model_of(model).classes is not None
        else None
    ),
}


def check_equal(found: Answers | None, expected: Answers, what: str) -> None:
    if found is None:
        return
    (labels, probabilities), (true_labels, true_probabilities) = found, expected
    if true_probabilities is None and np.asarray(true_labels).dtype.kind == "f":
        np.testing.assert_allclose(labels, true_labels, rtol=1e-5, atol=1e-5, err_msg=what)
    else:
        assert np.array_equal(labels, true_labels), what
    if probabilities is not None and true_probabilities is not None:
        np.testing.assert_allclose(probabilities, true_probabilities, atol=1e-6, err_msg=what)


def on_remaining_columns(model: Any, X: Any) -> Answers | None:
    """The answers of a model without the columns that it does not use; None where `drop_unused` says why it does not take it."""
    why = ""
    try:
        smaller = pm.drop_unused(model)
    except pm.errors.UnsupportedModelError as refused:
        why = str(refused)
    if why:
        assert any(word in why for word in ("are dropped at the end of a Pipeline", "categories", "cannot be pruned"))
        return None
    names = tree_model_of(smaller).columns_by_name
    if isinstance(X, pd.DataFrame):
        left = X if names is None else X[[c for c in X.columns if str(c) in names or str(c).replace(" ", "_") in names]]
        return of_library(smaller, left.iloc[:, : tree_model_of(smaller).n_columns])
    return of_library(smaller, X) if tree_model_of(smaller).n_columns == X.shape[1] else None


READ = [name for name, model in MODELS.items() if model.refused is None]
REFUSED = [name for name in MODELS if name not in READ]
QUICK = (
    "forest",
    "forest, fixed threshold",
    "histograms, types",
    "boosting",
    "lightgbm, types",
    "xgboost, types",
    "xgboost, linear",
)
"""One model a library, and what comes with it; the others are slow tests."""
CODES_ALONE = ("xgboost, types, older file",)
"""Models that were trained on words and keep codes alone: a table of pandas has its own, other doors refuse."""


def marked(names: list[str]) -> list[Any]:
    return [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in names]


@pytest.mark.parametrize("name", marked(READ))
def test_answers_are_the_library_s(name: str) -> None:
    """At every door, and for a pruning of nothing that is written back."""
    model, X, _, raw = told(name)
    expected = of_library(model, X)
    for door, answers in DOORS.items():
        refused = name in CODES_ALONE and door in ("polars", "on demand, polars, other order", "supplier")
        with pytest.raises((*REFUSALS, pm.errors.AcquisitionFailedError)) if refused else contextlib.nullcontext():
            check_equal(answers(model, X, raw), expected, f"{name}: {door}")
    seen = pm.evaluate(model, X, expected[0], costs=1)
    assert seen.error < 1e-9 or seen.measure == "mean Poisson deviance"  # which is not 0 at the truth
    check_equal(on_remaining_columns(model, X), expected, f"{name}: columns dropped")
    read = tree_model_of(model)
    if read.forest is not None and read.decision is None and read.ensemble.made is None:
        check_equal(of_library(write_model(read.forest, read.ensemble.is_split), X), expected, f"{name}: written back")


@pytest.mark.parametrize("name", marked(READ))
def test_files_keep_what_a_model_means(name: str, tmp_path: Path) -> None:
    """As the library itself predicts with the file's model, in memory and on the command line, where a CSV has no types."""
    model, X, _, raw = told(name)
    file = _own_file(model, tmp_path)
    loaded = pm.load_forest(file)
    labels, probabilities = of_library(loaded, X)
    check_equal(by_trees(loaded, X), (labels, probabilities), name)
    table = raw if isinstance(raw, pd.DataFrame) else pd.DataFrame(raw, columns=[f"x{f}" for f in range(raw.shape[1])])
    table.assign(answer_=labels).to_csv(tmp_path / "rows.csv", index=False, float_format="%.17g")
    status = main(["evaluate", str(file), "--data", str(tmp_path / "rows.csv"), "--label", "answer_", "--costs", "1"])
    assert status == (2 if name in CODES_ALONE else 0)


@pytest.mark.parametrize("name", marked(REFUSED))
def test_what_is_not_read_is_refused_by_name(name: str) -> None:
    """Before any answer, at every door, and with the reason."""
    model, X, _, raw = told(name)
    for door, answers in DOORS.items():
        if door not in ("Arrow types", "polars"):
            with pytest.raises(REFUSALS, match=MODELS[name].refused):
                answers(model, X, raw)
    with pytest.raises(REFUSALS, match=MODELS[name].refused):
        pm.evaluate(model, X, np.zeros(len(X)), costs=1)


TYPED = [name for name in READ if "types" in name and "words" not in name and isinstance(MODELS[name].typed, pd.DataFrame)]


@pytest.mark.parametrize("name", TYPED)
def test_categories_that_training_did_not_know(name: str) -> None:
    """Missing to LightGBM and scikit-learn, refused by XGBoost by column and value; on demand as in a table."""
    model, X, _, _ = told(name)
    if "kind" not in X or name in CODES_ALONE:
        return
    strange = X.assign(kind=X["kind"].astype(str).where(np.arange(len(X)) % 3 > 0, "yew").astype("category"))
    if name.startswith("xgboost"):
        with pytest.raises(pm.errors.InvalidInputError, match=r"'yew' in the column 'kind', row 0: the model knows 'elm', 'ash'"):
            by_trees(model, strange)
        result = pm.OnDemandPredictor(model, 1, pm.on_demand.from_table(strange)).run(len(X))
        assert {(refused.row, refused.feature) for refused in result.refused} <= {(i, "kind") for i in range(0, len(X), 3)}
        assert result.refused
        return
    expected = of_library(model, strange)
    check_equal(by_trees(model, strange), expected, name)
    check_equal(on_demand(model, pm.on_demand.from_table(strange), range(len(X))), expected, name)
    check_equal(on_demand(model, supplier(strange.astype({"kind": str})), len(X)), expected, name)


@pytest.mark.parametrize("name", ["forest", "histograms, types", "lightgbm, types", "xgboost, types"])
def test_columns_are_found_by_name_or_refused(name: str) -> None:
    """On demand in any order and among others; a whole table in another order, or with fewer or more columns, is refused."""
    model, X, y, _ = told(name)
    wrong = {"other order": X[X.columns[::-1]], "fewer": X[X.columns[1:]], "more": X.assign(more=1)}
    for what, table in wrong.items():
        with pytest.raises(REFUSALS):
            pm.evaluate(model, table, y, costs=1)
        if what == "fewer":
            with pytest.raises(pm.errors.InvalidInputError, match="has no column"):
                pm.OnDemandPredictor(model, 1, pm.on_demand.from_table(table))
        else:
            check_equal(on_demand(model, pm.on_demand.from_table(table), range(len(X))), of_library(model, X), what)


def test_columns_of_categories_that_lightgbm_does_not_name() -> None:
    """Ordered grades 0 < 1 < 2, and wards 0, 1, 2 that were said to be categories: the file tells the same of both. A table with
    types decides, as it does in LightGBM; values without types are refused until one was shown.
    """
    rng = np.random.default_rng(3)
    raw = pd.DataFrame({"grade": rng.choice([10, 20, 30], 300), "ward": rng.choice([0, 1, 2], 300), "age": rng.normal(size=300)})
    X = raw.astype({"grade": pd.CategoricalDtype([10, 20, 30], ordered=True)})
    y = ((raw["grade"] == 30) ^ (raw["ward"] == 1)).astype(int)
    model = lgb.LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=5).fit(X, y, categorical_feature=["ward"])
    expected = of_library(model, X)
    check_equal(by_trees(model, X), expected, "typed")
    check_equal(on_demand(model, pm.on_demand.from_table(X), range(300)), expected, "typed, on demand")
    with pytest.raises(pm.errors.UnsupportedModelError, match=r"categories \(10, 20, 30\) and not their columns.*like=X_train"):
        by_trees(model, raw)
    with pytest.raises(pm.errors.UnsupportedModelError, match="like=X_train"):
        pm.OnDemandPredictor(model, 1, supplier(raw))
    shown = pm.read_model(model, like=X[:3])
    check_equal(on_demand(shown, supplier(raw), 300), expected, "shown")
    assert pm.evaluate(shown, raw, model.predict(X), costs=1).error == 0


def test_arrays_hold_what_the_library_takes_them_for() -> None:
    """Codes where it was trained on a table; so on demand, where categories are asked for, an array is refused."""
    for name in ("lightgbm, types", "xgboost, types"):
        model, X, _, _ = told(name)
        codes = np.column_stack([c.cat.codes if isinstance(c.dtype, pd.CategoricalDtype) else c for _, c in X.items()]).astype(
            float
        )
        check_equal(by_trees(model, codes), of_library(model, X), name)
        with pytest.raises(pm.errors.InvalidInputError, match="an array, which would hold codes"):
            pm.OnDemandPredictor(model, 1, pm.on_demand.from_table(codes))
        with pytest.raises(pm.errors.InvalidInputError, match="X is an array"):
            pm.OnDemandPredictor(model, 1).next_features(codes, np.zeros(codes.shape, dtype=bool))


def test_words_among_numbers_are_named() -> None:
    """By table, column, row and value; at the side of categories, too."""
    model, X, y, _ = told("lightgbm, six columns")
    odd = X.astype({"age": object}).copy()
    odd.loc[7, "age"] = "old"
    with pytest.raises(pm.errors.InvalidInputError, match=r"X has 'old' in the column 'age', row 7: it is no number"):
        pm.evaluate(model, odd, y, costs=1)
    assert set(SIX.columns) == set(X.columns)


def test_a_number_stands_for_the_word_that_a_file_has_for_it() -> None:
    """Categories "1", "2" are written as numbers in a CSV, and numbers with gaps as 70.0; a type keeps its own values."""
    rng = np.random.default_rng(5)
    raw = pd.DataFrame({"kind": rng.choice([1, 2, 3, 4], 200), "age": rng.normal(size=200)})
    X = raw.assign(kind=raw["kind"].astype(str).astype("category"))
    y = raw["kind"].isin([1, 4]).astype(int)
    for model in (
        lgb.LGBMClassifier(n_estimators=5, verbose=-1, min_child_samples=5, cat_smooth=1, min_data_per_group=1),
        xgb.XGBClassifier(n_estimators=5, enable_categorical=True),
    ):
        expected = of_library(model.fit(X, y), X)
        for table in (raw, raw.astype(float), raw.astype(str).astype({"age": float})):
            check_equal(by_trees(model, table), expected, type(model).__name__)
            check_equal(on_demand(model, supplier(table), 200), expected, type(model).__name__)
