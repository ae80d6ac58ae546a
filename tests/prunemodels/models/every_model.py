"""Fitted models by library and by what it can be told, each with tables as its user has them.

A model's answers are those of its library's own ``predict`` on the table that it was trained with (`Told.typed`), or, where that
is what the user has, on an array.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

N = 240
_rng = np.random.default_rng(7)
NUMBERS = pd.DataFrame(_rng.normal(size=(N, 5)).round(3), columns=["a", "b", "c", "d", "e"])
HOLES = NUMBERS.mask(_rng.random(NUMBERS.shape) < 0.15).assign(e=_rng.choice([0.0, 1.0, 2.5], N))
TWO = (NUMBERS["a"] + 0.6 * NUMBERS["b"] + 0.4 * _rng.normal(size=N) > 0.2).astype(int).to_numpy()
THREE = np.digitize(NUMBERS["a"] + 0.4 * NUMBERS["c"], [-0.5, 0.5])
REAL = (2 * NUMBERS["a"] - NUMBERS["b"] ** 2).to_numpy()
WORDS = np.array(["no", "yes"])[TWO]

_drawn = {
    "year": _rng.choice([70, 71, 72, 73], N),
    "kind": _rng.choice(["ash", "birch", "cedar", "elm"], N),
    "age": _rng.normal(50, 10, N).round(1),
    "grade": _rng.choice([10, 20, 30], N),
    "ward": _rng.choice([1, 2, 3], N),
    "flag": _rng.choice([0, 1], N),
}
RAW = pd.DataFrame(_drawn)  # the values that a user writes: numbers and words, without types

_SIGNAL = np.isin(RAW["year"], [70, 73]).astype(int) + RAW["kind"].isin(["ash", "elm"]) + (RAW["age"] > 52) + (RAW["ward"] == 2)
BY_CATEGORY = ((_SIGNAL + (RAW["grade"] == 30)) % 2).to_numpy()
BY_CATEGORY_3 = (_SIGNAL % 3).to_numpy()
CATEGORY_NUMBERS = (_SIGNAL * 1.5 + RAW["age"] / 50).to_numpy()


def typed(columns: tuple[str, ...], categories: dict[str, Any], raw: pd.DataFrame = RAW) -> pd.DataFrame:
    """Columns of the raw table, some of them of a type with categories."""
    return raw[list(columns)].astype({name: dtype for name, dtype in categories.items() if name in columns})


YEAR, KIND = pd.CategoricalDtype([73, 70, 71, 72]), pd.CategoricalDtype(["elm", "ash", "birch", "cedar"])
GRADE = pd.CategoricalDtype([10, 20, 30], ordered=True)
MIXED = typed(("year", "age", "kind"), {"year": YEAR, "kind": KIND})
ORDERED = typed(("grade", "ward", "age"), {"grade": GRADE})
SIX = typed(("year", "kind", "age", "grade", "ward", "flag"), {"year": YEAR, "kind": KIND, "grade": GRADE})
GAPS = MIXED.mask(_rng.random(MIXED.shape) < 0.1).astype({"year": YEAR, "kind": KIND})
CODES = MIXED.assign(year=MIXED["year"].cat.codes, kind=MIXED["kind"].cat.codes).to_numpy(np.float64)
S = {"n_estimators": 6, "random_state": 0}
H = {"max_iter": 6, "max_leaf_nodes": 8, "min_samples_leaf": 5, "random_state": 0}
L: dict[str, Any] = {"n_estimators": 6, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1, "random_state": 0}
LC: dict[str, Any] = {**L, "cat_smooth": 1, "min_data_per_group": 1}
X: dict[str, Any] = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1, "random_state": 0}
XC: dict[str, Any] = {**X, "enable_categorical": True}


@dataclass(frozen=True)
class Told:
    """A model, and the tables on which it is asked."""

    make: Callable[[Any, Any], Any]  # fits it
    typed: Any  # the table or array of its training
    y: Any
    raw: Any = None  # the same rows as a file or a supplier has them, without types; None: as `typed`
    refused: str | None = None  # every door refuses the model, with these words


def _model(model: Any) -> Callable[[Any, Any], Any]:
    return lambda table, y: model.fit(table, y)


def _with(model: Any, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda table, y: model.fit(table, y, **options)


def _booster(params: dict[str, Any], rounds: int = 5, **data: Any) -> Callable[[Any, Any], Any]:
    return lambda table, y: xgb.train({"nthread": 1, "max_depth": 3, **params}, xgb.DMatrix(table, y, **data), rounds)


def _light(params: dict[str, Any], **data: Any) -> Callable[[Any, Any], Any]:
    small = {"verbose": -1, "num_threads": 1, "num_leaves": 8, "min_data_in_leaf": 5}
    return lambda table, y: lgb.train({**small, **params}, lgb.Dataset(table, y, **data), 6)


def _from_text(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda table, y: lgb.Booster(model_str=make(table, y).booster_.model_to_string())


def _without_categories(make: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """As XGBoost before 3.1 wrote the file: categories are codes."""

    def old(table: Any, y: Any) -> Any:
        model = make(table, y)
        document = json.loads(bytes(model.get_booster().save_raw(raw_format="json")))
        document["learner"]["gradient_booster"]["model"]["cats"] = {"enc": [], "feature_segments": [], "sorted_idx": []}
        model.load_model(bytearray(json.dumps(document), "utf-8"))
        return model

    return old


def _stopped(model: Any) -> Callable[[Any, Any], Any]:
    def fit(table: Any, y: Any) -> Any:
        if isinstance(model, lgb.LGBMModel):
            return model.fit(
                table[:160], y[:160], eval_set=[(table[160:], y[160:])], callbacks=[lgb.early_stopping(2, verbose=False)]
            )
        return model.fit(table[:160], y[:160], eval_set=[(table[160:], y[160:])], verbose=False)

    return fit


def _logistic(y: Any, margin: Any) -> tuple[Any, Any]:
    p = 1 / (1 + np.exp(-margin))
    return p - y, p * (1 - p)


def _trees(model: Any) -> Any:
    words = make_column_selector(dtype_include=["object", "string"])
    return make_pipeline(
        ColumnTransformer([("words", OneHotEncoder(handle_unknown="ignore"), words)], remainder="passthrough"), model
    )


MIXED_RAW, ORDERED_RAW = RAW[["year", "age", "kind"]], RAW[["grade", "ward", "age"]]
RF, ET, HG, HR = RandomForestClassifier, ExtraTreesClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
LC_RF = {**L, "boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1}
POSITIVE = np.abs(REAL) + 0.1
_array, _holes = NUMBERS.to_numpy(), HOLES.to_numpy()

MODELS: dict[str, Told] = {
    # forests of scikit-learn
    "forest": Told(_model(RF(**S)), NUMBERS, WORDS),
    "forest, three classes": Told(_model(RF(**S)), NUMBERS, THREE),
    "forest, gaps": Told(_model(RF(**S)), HOLES, TWO),
    "forest, array": Told(_model(RF(**S)), _array, TWO),
    "forest, positions as names": Told(_model(RF(**S)), NUMBERS.set_axis(range(5), axis=1), TWO),
    "forest, monotonic": Told(_model(RF(monotonic_cst=[1, 0, 0, 0, 0], **S)), NUMBERS, TWO),
    "forest, class weights": Told(_model(RF(class_weight={0: 5, 1: 1}, **S)), NUMBERS, TWO),
    "forest, whole numbers as floats": Told(_model(RF(**S)), RAW[["year", "age", "flag"]], BY_CATEGORY),
    "forest, truth values": Told(_model(RF(**S)), RAW[["age", "flag"]].astype({"flag": bool}), BY_CATEGORY),
    "forest, nullable types": Told(_model(RF(**S)), RAW[["age", "ward"]].convert_dtypes(), BY_CATEGORY),
    "forest, numbers": Told(_model(RandomForestRegressor(**S)), HOLES, REAL),
    "forest, absolute error": Told(_model(RandomForestRegressor(criterion="absolute_error", **S)), NUMBERS, REAL),
    "forest, Poisson": Told(_model(RandomForestRegressor(criterion="poisson", **S)), NUMBERS, POSITIVE),
    "extra trees": Told(_model(ET(**S)), HOLES, THREE),
    "extra trees, numbers": Told(_model(ExtraTreesRegressor(**S)), NUMBERS, REAL),
    "bag of subspaces": Told(
        _model(BaggingClassifier(DecisionTreeClassifier(max_depth=4), 5, max_features=3, random_state=0)), NUMBERS, WORDS
    ),
    "tree": Told(_model(DecisionTreeClassifier(max_depth=4)), HOLES, WORDS),
    "tree, numbers": Told(_model(DecisionTreeRegressor(max_depth=4)), HOLES, REAL),
    "forest behind words": Told(_model(_trees(RF(**S))), MIXED_RAW, BY_CATEGORY),
    "forest behind a scaler": Told(_model(make_pipeline(SimpleImputer(), StandardScaler(), RF(**S))), HOLES, TWO),
    "forest, fixed threshold": Told(_model(FixedThresholdClassifier(RF(**S), threshold=0.3)), NUMBERS, TWO),
    "forest, tuned threshold": Told(_model(TunedThresholdClassifierCV(RF(**S), cv=3, random_state=0)), NUMBERS, TWO),
    "forest, threshold of a threshold": Told(
        lambda t, y: FixedThresholdClassifier(
            FrozenEstimator(FixedThresholdClassifier(RF(**S), threshold=0.8).fit(t, y)), threshold=0.3
        ).fit(t, y),
        NUMBERS,
        TWO,
    ),
    "forest, calibrated": Told(
        lambda t, y: CalibratedClassifierCV(FrozenEstimator(RF(max_depth=3, **S).fit(t, y))).fit(t, y), NUMBERS, TWO
    ),
    # histogram-based gradient boosting
    "histograms": Told(_model(HG(**H)), HOLES, WORDS),
    "histograms, three classes": Told(_model(HG(**H)), HOLES, THREE),
    "histograms, numbers": Told(_model(HR(**H)), HOLES, REAL),
    "histograms, absolute error": Told(_model(HR(loss="absolute_error", **H)), HOLES, REAL, refused="loss='absolute_error'"),
    "histograms, class weights": Told(_model(HG(class_weight="balanced", **H)), HOLES, TWO),
    "histograms, monotonic": Told(_model(HG(monotonic_cst={"a": 1}, **H)), HOLES, TWO),
    "histograms, stopped early": Told(_model(HG(early_stopping=True, **H)), HOLES, TWO),
    "histograms, types": Told(_model(HG(**H)), MIXED, BY_CATEGORY, MIXED_RAW),
    "histograms, types with gaps": Told(_model(HG(**H)), GAPS, BY_CATEGORY),
    "histograms, ordered type": Told(_model(HG(**H)), ORDERED, BY_CATEGORY, ORDERED_RAW),
    "histograms, by name": Told(_model(HG(categorical_features=["ward"], **H)), RAW[["ward", "age", "flag"]], BY_CATEGORY),
    "histograms, words by name": Told(
        _model(HG(categorical_features=["kind", "year"], **H)), RAW[["year", "age", "kind"]], BY_CATEGORY
    ),
    "histograms, by mask": Told(
        _model(HG(categorical_features=[True, False], **H)), RAW[["ward", "age"]].to_numpy(), BY_CATEGORY
    ),
    "histograms, types, numbers": Told(_model(HR(**H)), MIXED, CATEGORY_NUMBERS, MIXED_RAW),
    "histograms, types, threshold": Told(_model(FixedThresholdClassifier(HG(**H), threshold=0.2)), MIXED, BY_CATEGORY, MIXED_RAW),
    "histograms behind an encoder": Told(
        _model(
            make_pipeline(
                ColumnTransformer([("c", OrdinalEncoder(), ["kind"])], remainder="passthrough"), HG(categorical_features=[0], **H)
            )
        ),
        RAW[["kind", "age", "year"]],
        BY_CATEGORY,
    ),
    # gradient boosting
    "boosting": Told(_model(GradientBoostingClassifier(**S)), NUMBERS, WORDS),
    "boosting, three classes": Told(_model(GradientBoostingClassifier(**S)), NUMBERS, THREE),
    "boosting, numbers": Told(_model(GradientBoostingRegressor(**S)), NUMBERS, REAL),
    "boosting, exponential": Told(
        _model(GradientBoostingClassifier(loss="exponential", **S)), NUMBERS, TWO, refused="exponential"
    ),
    "boosting, quantile": Told(_model(GradientBoostingRegressor(loss="quantile", **S)), NUMBERS, REAL, refused="quantile"),
    "boosting from a model": Told(
        _model(GradientBoostingClassifier(init=DecisionTreeClassifier(max_depth=1), **S)), NUMBERS, TWO, refused="init"
    ),
    # others of scikit-learn
    "adaptive boosting": Told(_model(AdaBoostClassifier(n_estimators=3)), NUMBERS, TWO, refused="AdaBoostClassifier"),
    "isolation": Told(_model(IsolationForest(n_estimators=3)), NUMBERS, TWO, refused="IsolationForest"),
    "votes": Told(_model(VotingClassifier([("a", RF(**S)), ("b", ET(**S))])), NUMBERS, TWO, refused="VotingClassifier"),
    "forest, two targets": Told(
        lambda t, y: RandomForestRegressor(**S).fit(t, np.column_stack([y, y])), NUMBERS, REAL, refused="predicts 2 outputs"
    ),
    # LightGBM
    "lightgbm": Told(_model(lgb.LGBMClassifier(**L)), HOLES, WORDS),
    "lightgbm, three classes": Told(_model(lgb.LGBMClassifier(**L)), HOLES, THREE),
    "lightgbm, one against the rest": Told(_model(lgb.LGBMClassifier(objective="multiclassova", **L)), HOLES, THREE),
    "lightgbm, numbers": Told(_model(lgb.LGBMRegressor(**L)), HOLES, REAL),
    "lightgbm, l1": Told(_model(lgb.LGBMRegressor(objective="regression_l1", **L)), HOLES, REAL),
    "lightgbm, huber": Told(_model(lgb.LGBMRegressor(objective="huber", **L)), HOLES, REAL),
    "lightgbm, quantile": Told(_model(lgb.LGBMRegressor(objective="quantile", **L)), HOLES, REAL),
    "lightgbm, roots": Told(_model(lgb.LGBMRegressor(reg_sqrt=True, **L)), HOLES, REAL, refused="'regression sqrt'"),
    "lightgbm, Poisson": Told(_model(lgb.LGBMRegressor(objective="poisson", **L)), HOLES, POSITIVE, refused="'poisson'"),
    "lightgbm, Tweedie": Told(_model(lgb.LGBMRegressor(objective="tweedie", **L)), HOLES, POSITIVE, refused="'tweedie'"),
    "lightgbm, cross entropy": Told(_light({"objective": "cross_entropy"}), HOLES, TWO),
    "lightgbm, cross entropy lambda": Told(
        _light({"objective": "cross_entropy_lambda"}), HOLES, TWO, refused="'cross_entropy_lambda'"
    ),
    "lightgbm, ranks": Told(_light({"objective": "lambdarank"}, group=[60, 60, 60, 60]), HOLES, TWO, refused="'lambdarank'"),
    "lightgbm, own objective": Told(_model(lgb.LGBMClassifier(objective=_logistic, **L)), HOLES, TWO),
    "lightgbm, own objective, numbers": Told(
        _model(lgb.LGBMRegressor(objective=lambda y, p: (p - y, np.ones_like(y)), **L)), HOLES, REAL
    ),
    "lightgbm, forest": Told(_model(lgb.LGBMClassifier(**LC_RF)), HOLES, TWO),
    "lightgbm, forest, numbers": Told(_model(lgb.LGBMRegressor(**LC_RF)), HOLES, REAL),
    "lightgbm, dart": Told(_model(lgb.LGBMClassifier(boosting_type="dart", **L)), HOLES, TWO),
    "lightgbm, linear leaves": Told(
        _model(lgb.LGBMRegressor(linear_tree=True, **L)), NUMBERS, REAL, refused="linear models in its leaves"
    ),
    "lightgbm, zeros missing": Told(_model(lgb.LGBMClassifier(zero_as_missing=True, **L)), HOLES, TWO),
    "lightgbm, nothing missing": Told(_model(lgb.LGBMClassifier(use_missing=False, **L)), HOLES, TWO),
    "lightgbm, steep": Told(_model(lgb.LGBMClassifier(sigmoid=2.0, **L)), HOLES, TWO),
    "lightgbm, unbalanced": Told(_model(lgb.LGBMClassifier(is_unbalance=True, **L)), HOLES, TWO),
    "lightgbm, monotonic": Told(_model(lgb.LGBMClassifier(monotone_constraints=[1, 0, 0, 0, 0], **L)), HOLES, TWO),
    "lightgbm, start": Told(_with(lgb.LGBMClassifier(**L), init_score=np.linspace(-1, 1, N)), HOLES, TWO),
    "lightgbm, stopped early": Told(_stopped(lgb.LGBMClassifier(**{**L, "n_estimators": 60, "learning_rate": 0.7})), HOLES, TWO),
    "lightgbm, float32": Told(_model(lgb.LGBMClassifier(**L)), HOLES.astype(np.float32), TWO),
    "lightgbm, array": Told(_model(lgb.LGBMClassifier(**L)), _holes, TWO),
    "lightgbm, names with blanks": Told(_model(lgb.LGBMClassifier(**L)), NUMBERS.rename(columns={"a": "a b"}), TWO),
    "lightgbm, types": Told(_model(lgb.LGBMClassifier(**LC)), MIXED, BY_CATEGORY, MIXED_RAW),
    "lightgbm, types, three classes": Told(_model(lgb.LGBMClassifier(**LC)), MIXED, BY_CATEGORY_3, MIXED_RAW),
    "lightgbm, types, numbers": Told(_model(lgb.LGBMRegressor(**LC)), MIXED, CATEGORY_NUMBERS, MIXED_RAW),
    "lightgbm, types with gaps": Told(_model(lgb.LGBMClassifier(**LC)), GAPS, BY_CATEGORY),
    "lightgbm, types of text": Told(_from_text(_model(lgb.LGBMClassifier(**LC))), MIXED, BY_CATEGORY, MIXED_RAW),
    "lightgbm, ordered type": Told(
        _with(lgb.LGBMClassifier(**LC), categorical_feature=["ward"]), ORDERED, BY_CATEGORY, ORDERED_RAW
    ),
    "lightgbm, six columns": Told(
        _with(lgb.LGBMClassifier(**LC), categorical_feature=["ward", "year"]), SIX, BY_CATEGORY, RAW[list(SIX.columns)]
    ),
    "lightgbm, codes": Told(_with(lgb.LGBMClassifier(**LC), categorical_feature=[0, 2]), CODES, BY_CATEGORY),
    "lightgbm, truth values": Told(
        _model(lgb.LGBMClassifier(**LC)),
        RAW[["age", "flag"]].astype({"flag": bool}).astype({"flag": "category"}),
        BY_CATEGORY,
        RAW[["age", "flag"]].astype({"flag": bool}),
    ),
    "lightgbm behind a pipeline": Told(
        _model(
            make_pipeline(
                ColumnTransformer([("c", OrdinalEncoder(), ["kind"])], remainder="passthrough"), lgb.LGBMClassifier(**LC)
            )
        ),
        RAW[["kind", "age", "year"]],
        BY_CATEGORY,
    ),
    # XGBoost
    "xgboost": Told(_model(xgb.XGBClassifier(**X)), HOLES, TWO),
    "xgboost, three classes": Told(_model(xgb.XGBClassifier(**X)), HOLES, THREE),
    "xgboost, classes of three": Told(_model(xgb.XGBClassifier(objective="multi:softmax", **X)), HOLES, THREE),
    "xgboost, numbers": Told(_model(xgb.XGBRegressor(**X)), HOLES, REAL),
    "xgboost, absolute error": Told(_model(xgb.XGBRegressor(objective="reg:absoluteerror", **X)), HOLES, REAL),
    "xgboost, pseudo-huber": Told(_model(xgb.XGBRegressor(objective="reg:pseudohubererror", **X)), HOLES, REAL),
    "xgboost, logarithms": Told(_model(xgb.XGBRegressor(objective="reg:squaredlogerror", **X)), HOLES, POSITIVE),
    "xgboost, shares": Told(_model(xgb.XGBRegressor(objective="reg:logistic", **X)), HOLES, TWO),
    "xgboost, Poisson": Told(
        _model(xgb.XGBRegressor(objective="count:poisson", **X)), HOLES, POSITIVE, refused="'count:poisson'"
    ),
    "xgboost, gamma": Told(_model(xgb.XGBRegressor(objective="reg:gamma", **X)), HOLES, POSITIVE, refused="'reg:gamma'"),
    "xgboost, hinge": Told(_model(xgb.XGBClassifier(objective="binary:hinge", **X)), HOLES, TWO, refused="hinge"),
    "xgboost, margins": Told(_model(xgb.XGBClassifier(objective="binary:logitraw", **X)), HOLES, TWO, refused="logitraw"),
    "xgboost, quantiles": Told(
        _model(xgb.XGBRegressor(objective="reg:quantileerror", quantile_alpha=np.array([0.1, 0.9]), **X)),
        HOLES,
        REAL,
        refused="targets",
    ),
    "xgboost, two targets": Told(
        lambda t, y: xgb.XGBRegressor(**X).fit(t, np.column_stack([y, -y])), HOLES, REAL, refused="targets"
    ),
    "xgboost, vectors": Told(
        lambda t, y: xgb.XGBRegressor(multi_strategy="multi_output_tree", tree_method="hist", **X).fit(
            t, np.column_stack([y, -y])
        ),
        HOLES,
        REAL,
        refused="targets",
    ),
    "xgboost, own objective": Told(_model(xgb.XGBClassifier(objective=_logistic, **X)), HOLES, TWO),
    "xgboost, linear": Told(_model(xgb.XGBClassifier(booster="gblinear", n_estimators=3)), NUMBERS, TWO, refused="has no trees"),
    "xgboost, dart": Told(_model(xgb.XGBClassifier(booster="dart", rate_drop=0.4, **X)), HOLES, TWO),
    "xgboost, forest": Told(_model(xgb.XGBRFClassifier(**X)), HOLES, TWO),
    "xgboost, forest, numbers": Told(_model(xgb.XGBRFRegressor(**X)), HOLES, REAL),
    "xgboost, own missing": Told(_model(xgb.XGBClassifier(missing=0.0, **X)), HOLES, TWO),
    "xgboost, missing -999": Told(_model(xgb.XGBClassifier(missing=-999.0, **X)), HOLES.fillna(-999.0), TWO),
    "xgboost, start": Told(_model(xgb.XGBClassifier(base_score=0.9, **X)), HOLES, TWO),
    "xgboost, start, numbers": Told(_model(xgb.XGBRegressor(base_score=3.0, **X)), HOLES, REAL),
    "xgboost, stopped early": Told(
        _stopped(xgb.XGBClassifier(early_stopping_rounds=2, learning_rate=0.9, **{**X, "n_estimators": 50})), HOLES, TWO
    ),
    "xgboost, monotonic": Told(_model(xgb.XGBClassifier(monotone_constraints={"a": 1}, **X)), HOLES, TWO),
    "xgboost, weights of a class": Told(_model(xgb.XGBClassifier(scale_pos_weight=8.0, **X)), HOLES, TWO),
    "xgboost, lossguide": Told(_model(xgb.XGBClassifier(grow_policy="lossguide", max_leaves=6, **X)), HOLES, TWO),
    "xgboost, array": Told(_model(xgb.XGBClassifier(**X)), _holes, TWO),
    "xgboost, positions as names": Told(_model(xgb.XGBClassifier(**X)), NUMBERS.set_axis(range(5), axis=1), TWO),
    "xgboost, booster": Told(_booster({"objective": "binary:logistic"}), HOLES, TWO),
    "xgboost, booster, numbers": Told(_booster({"objective": "reg:squarederror"}), HOLES, REAL),
    "xgboost, types": Told(_model(xgb.XGBClassifier(**XC)), MIXED, BY_CATEGORY, MIXED_RAW),
    "xgboost, types, sets": Told(_model(xgb.XGBClassifier(max_cat_to_onehot=1, **XC)), MIXED, BY_CATEGORY, MIXED_RAW),
    "xgboost, types, numbers": Told(_model(xgb.XGBRegressor(**XC)), MIXED, CATEGORY_NUMBERS, MIXED_RAW),
    "xgboost, types with gaps": Told(_model(xgb.XGBClassifier(**XC)), GAPS, BY_CATEGORY),
    "xgboost, ordered type": Told(_model(xgb.XGBClassifier(**XC)), ORDERED, BY_CATEGORY, ORDERED_RAW),
    "xgboost, six columns": Told(_model(xgb.XGBClassifier(**XC)), SIX, BY_CATEGORY, RAW[list(SIX.columns)]),
    "xgboost, types, older file": Told(_without_categories(_model(xgb.XGBClassifier(**XC))), MIXED, BY_CATEGORY),
    "xgboost, codes": Told(
        _booster({"objective": "binary:logistic"}, feature_types=["c", "q", "c"], enable_categorical=True), CODES, BY_CATEGORY
    ),
}


@functools.cache
def told(name: str) -> tuple[Any, Any, Any, Any]:
    """(model, table, labels, raw table)."""
    one = MODELS[name]
    return one.make(one.typed, one.y), one.typed, one.y, one.typed if one.raw is None else one.raw


def of_library(model: Any, X: Any) -> tuple[Any, Any]:
    """The library's own classes or numbers, and probabilities; None where it has none."""
    if isinstance(model, xgb.Booster):
        types = model.feature_types
        p = model.predict(xgb.DMatrix(X, feature_types=types, enable_categorical=True))
        return ((p > 0.5).astype(int), np.column_stack([1 - p, p])) if "logistic" in model.save_config() else (p, None)
    if isinstance(model, lgb.Booster):
        p, objective = np.asarray(model.predict(X)), model.dump_model().get("objective", "")
        if p.ndim == 2:
            return p.argmax(axis=1), p
        return ((p > 0.5).astype(int), np.column_stack([1 - p, p])) if objective.startswith(("binary", "cross")) else (p, None)
    return np.asarray(model.predict(X)), np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
