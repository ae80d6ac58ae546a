"""What predictors on demand refuse: the call, and the words that name the culprit, its value and the remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import prunemodels as pm
from formulations.errors import InvalidInputError
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.cascade_cases import case
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.on_demand.cases import random_case, votes

TABLE = from_table(np.zeros((3, 5)))
THREE = votes(3)
FRAME = pd.DataFrame({"x0": [1.0]})


def of(forest: str = "random forest, named features", costs: Any = 1, acquire: Any = TABLE, **options: Any) -> OnDemandPredictor:
    """A predictor with one option that is wrong."""
    return OnDemandPredictor(fitted(forest).forest, costs, acquire, **options)


def numbers(**options: Any) -> OnDemandPredictor:
    """Of a regression tree."""
    return of("regression tree", **options)


def cascade(**options: Any) -> OnDemandPredictor:
    """Of a cascade, which has prices and a policy of its own."""
    return OnDemandPredictor(case("prunings").cascade, **{"acquire": TABLE, **options})


def three(**options: Any) -> OnDemandPredictor:
    """Three votes at 1 each."""
    return OnDemandPredictor(THREE, 1, from_table(np.ones((3, 3))), **options)


def known(values: Any) -> Any:
    """A walk of three rows of which some values are known."""
    return of().start(3, known=values)


async def _asynchronous(request: Any) -> Any:
    return None


def _open_request() -> None:
    walk = three().start(1)
    walk.next_requests()
    walk.next_features()


CALLS: list[tuple[Callable[[], Any], str]] = [
    (lambda: of(acquire=3), "acquire is 3; give a function that serves a Request; for a full table from_table"),
    (lambda: of(costs=[1, 2]), "costs has 2 prices"),
    (lambda: of(costs=pm.CostItems.plain([1, 2])), "costs has prices for 2 features, the forest was trained on 5"),
    (lambda: OnDemandPredictor(random_case(1).trees, acquire=print), "costs is None, and the forest was not pruned with prices"),
    (lambda: of(evaluation_cost=-1), "evaluation_cost is -1"),
    (lambda: of(threshold=1.5), "threshold is 1.5; give a number"),
    (lambda: numbers(threshold=0.5), "the model predicts numbers; a threshold is for two classes"),
    (lambda: of(max_rows=0), "max_rows is 0; give a whole number >= 1"),
    (lambda: numbers(early_stopping=True), "early_stopping: .* give tolerance"),
    (lambda: numbers(tolerance=-1), "tolerance is -1; give a number >= 0"),
    (lambda: numbers(tolerance=np.nan), "tolerance is nan"),
    (lambda: of(max_cost=-1), "max_cost is -1, negative"),
    # prices without a common 64-bit unit
    (lambda: of("tree", [1e9, 1e-15, 1, 1, 1]), "write prices with fewer digits"),
    (lambda: of("tree", evaluation_cost=Fraction(2**61)), "write prices with fewer digits"),
    # rows are distinct labels, or how many there are
    (lambda: of().run(["p", "q", "p"]), "rows has 'p' twice"),
    (lambda: of().run([7, 7]), "rows has 7 twice; give each label once"),
    (lambda: of().run([]), "rows is empty"),
    (lambda: of().run(0), "rows is empty"),
    (lambda: of().run(-3), "rows is empty"),
    (lambda: of().run(True), "rows is bool; give the rows' labels"),
    (lambda: of().run("patient"), "rows is str"),
    (lambda: of().run(2.0), "rows is float"),
    (lambda: of().run(np.zeros((2, 2))), "rows is ndarray"),
    (lambda: of().run(pd.DataFrame({"a": [1]})), "rows is DataFrame"),
    (lambda: of().run({"p": 1}), "rows is dict"),
    (lambda: three().run(1, max_total_cost=-1), "max_total_cost is -1, negative"),
    (lambda: OnDemandPredictor(THREE, 1).start(1).run(), "no acquire, so the walk cannot ask; give one, or drive the walk"),
    (_open_request, r"request 0 .* is open; take its answer first"),
    # asynchronous walks
    (lambda: of(acquire=_asynchronous).run(1), "acquire is asynchronous; await run_async or predict_async"),
    (lambda: asyncio.run(of(acquire=_asynchronous).run_async(1, limit=0)), "limit is 0; give a whole number >= 1"),
    (lambda: asyncio.run(of(acquire=_asynchronous).run_async(1, limit=-1)), "limit is -1; give a whole number >= 1"),
    # values that are known from the start
    (lambda: known({"z": [1, 2, 3]}), "known has 'z', the model has no such feature"),
    (lambda: known({"a": [1, 2]}), r"known: 'a' has shape \(2,\) for 3 rows"),
    (lambda: of().start([7], known={"a": [np.inf]}), "known: 'a' of row 7 is infinite"),
    (lambda: known([1, 2, 3]), "known is list; give a mapping"),
    (lambda: known(pd.DataFrame({"a": [1, 2, 3]}, index=[5, 6, 7])), "known: 'a': the row 0 is not in the index"),
    (lambda: known({"a": pd.Series([1, 2, 3], index=[5, 6, 7])}), "known: 'a': the row 0 is not in the index"),
    # questions that a predictor cannot answer
    (lambda: of("tree", early_stopping=True).predict_proba(2), "set early_stopping=False or a tolerance"),
    (lambda: numbers().predict_proba(2), "a regression forest has no probabilities"),
    # tables that do not fit
    (
        lambda: three().next_features(np.ones((2, 3)), np.ones((2, 2), bool)),
        r"known is bool of shape \(2, 2\), X has .* \(n, 3\)",
    ),
    (lambda: three().next_features(np.ones((2, 3)), np.ones((2, 3))), "known is float64"),
    (lambda: three().next_features(np.ones((2, 2)), np.ones((2, 3), bool)), r"X has shape \(2, 2\)"),
    (lambda: three().next_features(FRAME, np.ones((1, 3), bool)), "X has no column 'x1'"),
    (lambda: from_table(pd.DataFrame({"a": [1, 2]}, index=["p", "p"])), "from_table: X has the row 'p' twice"),
    (lambda: from_table([1, 2, 3]), r"from_table: X has shape \(3,\)"),
    # prices other than a cascade's own, and choices that its policy has made
    (lambda: cascade(costs=7), "costs: 'a' needs 'a' at 7, the cascade was made with nothing paid; leave costs out"),
    (lambda: cascade(evaluation_cost=1), r"evaluation_cost is 1 for 'a', the cascade was made with 0\.01; leave it out"),
    (lambda: cascade(early_stopping=True), "early_stopping is for forests; the policy of a CascadeClassifier"),
    (lambda: cascade(tolerance=0.1), "tolerance is for forests"),
    (lambda: cascade(max_rows=0), "max_rows is 0"),
    (lambda: cascade(max_cost=-1), "max_cost is -1, negative"),
]


@pytest.mark.parametrize(("call", "words"), CALLS)
def test_what_is_refused(call: Callable[[], Any], words: str) -> None:
    """Each call is refused with these words."""
    with pytest.raises((InvalidInputError, pm.errors.CapacityOverflowError), match=words):
        call()


def test_a_regressor_has_no_classes() -> None:
    """An attribute that is absent, as in scikit-learn."""
    with pytest.raises(AttributeError, match="no classes"):
        _ = numbers().classes_
