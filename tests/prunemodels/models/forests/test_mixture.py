"""The mixture serves the two forests at the relaxation's frequency, exactly."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from prunemodels.models.forests import mixture
from prunemodels.models.forests.mixture import MixturePredictor, mixture_of
from solvers.within import relaxed_optimum
from tests.loops import looped

X, Y = load_breast_cancer(return_X_y=True, as_frame=True)
TRAIN, COST = slice(0, 300), slice(300, 569)


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(6, max_depth=5, random_state=0).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def path(forest: RandomForestClassifier) -> pm.PruningPath:
    return pm.pruning_path(pm.problem_from_forest(forest, X[COST], costs=1))


@pytest.fixture
def pair(forest: RandomForestClassifier, path: pm.PruningPath) -> tuple[Any, Any]:
    """Two forests that answer differently somewhere."""
    return pm.apply_pruning(path[len(path) - 3], forest), pm.apply_pruning(path[0], forest)


class Scripted:
    """A generator whose digits were written down."""

    def __init__(self, digits: tuple[int, ...]) -> None:
        self.digits: Iterator[int] = iter(digits)

    def integers(self, low: int, high: int, size: int, dtype: type) -> np.ndarray:
        assert low == 0
        return np.array([next(self.digits) % high for _ in range(size)], dtype=dtype)


@looped("weight", [Fraction(k, d) for d in (2, 3, 5, 7, 16) for k in range(d + 1)])
@pytest.mark.parametrize("bits", [1, 2, 3])
def test_a_coin_is_exact(weight: Fraction, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of all sequences of six bits, those that fall heads have the weight's share, up to those that six bits do not decide."""
    monkeypatch.setattr(mixture, "DIGIT_BITS", bits)
    length = 6 // bits
    heads = undecided = 0
    for digits in product(range(2**bits), repeat=length):
        try:
            heads += bool(mixture._exact_draws(weight, 1, cast("Any", Scripted(digits)))[0])
        except StopIteration:
            undecided += 1
    assert undecided <= 1  # the one sequence that is the weight so far
    assert heads <= weight * 2**6 <= heads + undecided


def test_the_relaxations_budget_and_value_are_met_in_expectation(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """With the weight of `mixture_of`, the two forests' costs mix to B as fractions, their errors to the relaxation's value."""
    k = len(path) // 2
    budget = (path.exact_cost[k] + path.exact_cost[k + 1]) / 2 + Fraction(1, 10**6)
    relaxation = relaxed_optimum(path, budget)
    assert not relaxation.is_integral
    predictor = mixture_of(relaxation, forest, random_state=0)
    mu = predictor.weight
    assert (pm.read_forest(predictor.cheaper).n_splits, pm.read_forest(predictor.dearer).n_splits) == (
        relaxation.cheaper.n_splits,
        relaxation.dearer.n_splits,
    )
    assert mu * relaxation.dearer.exact_cost + (1 - mu) * relaxation.cheaper.exact_cost == budget
    mixed = float(mu) * relaxation.dearer.error + float(1 - mu) * relaxation.cheaper.error
    assert mixed == pytest.approx(float(relaxation.value))
    assert not predictor.stratified
    assert mixture_of(relaxation, forest, stratified=True).stratified


KINDS: dict[str, Any] = {
    "table": lambda X: X,
    "array": np.asarray,
    "list": lambda X: X.to_numpy().tolist(),
    "sparse": sparse.csr_matrix,
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_row_is_answered_by_the_forest_it_was_given(kind: str) -> None:
    """`predict` and `predict_proba` put the two forests' own answers together, in order, for every kind of table."""
    rows, plain = KINDS[kind](X[COST]), X[COST].to_numpy()
    named = kind == "table"
    forest = RandomForestClassifier(4, random_state=0).fit(X[TRAIN] if named else X[TRAIN].to_numpy(), Y[TRAIN])
    path = pm.pruning_path(pm.problem_from_forest(forest, X[COST] if named else plain, costs=1))
    cheaper, dearer = pm.apply_pruning(path[len(path) - 3], forest), pm.apply_pruning(path[0], forest)
    predictor = MixturePredictor(cheaper, dearer, Fraction(1, 2), 0)
    mask = predictor.choose(len(plain))
    assert 0 < mask.sum() < len(mask)
    expected = np.where(mask, dearer.predict(rows), cheaper.predict(rows))
    np.testing.assert_array_equal(predictor.predict(rows, dearer=mask), expected)
    fractions = np.where(mask[:, None], dearer.predict_proba(rows), cheaper.predict_proba(rows))
    np.testing.assert_array_equal(predictor.predict_proba(rows, dearer=mask), fractions)
    assert (dearer.predict_proba(rows) != cheaper.predict_proba(rows)).any()
    again = MixturePredictor(cheaper, dearer, Fraction(1, 2), 0)  # drawing for itself, it draws the same
    np.testing.assert_array_equal(again.predict(rows), expected)


def test_it_is_a_classifier_to_scikit_learn(pair: tuple[Any, Any]) -> None:
    """Classes, features and names are the forests'; it counts as a fitted classifier, and a clone is itself."""
    predictor = MixturePredictor(*pair, Fraction(1, 2))
    np.testing.assert_array_equal(predictor.classes_, [0, 1])
    assert predictor.n_features_in_ == 30
    np.testing.assert_array_equal(predictor.feature_names_in_, X.columns)
    assert is_classifier(predictor)
    assert clone(predictor) is predictor
    assert "MixturePredictor" in repr(predictor)


def test_forests_of_several_outputs_are_mixed() -> None:
    """Outputs with two and three classes were refused as 'differ in classes_'; each output has its own fractions."""
    data, target = load_diabetes(return_X_y=True)
    labels = np.column_stack([target > 140, np.digitize(target, [90, 200])]).astype(int)
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(data, labels)
    path = pm.pruning_path(pm.problem_from_forest(forest, data, costs=1))
    predictor = MixturePredictor(pm.apply_pruning(path[len(path) - 1], forest), forest, Fraction(1, 2), 0)
    mask = predictor.choose(len(data))
    expected = np.where(mask[:, None], predictor.dearer.predict(data), predictor.cheaper.predict(data))
    np.testing.assert_array_equal(predictor.predict(data, dearer=mask), expected)
    fractions = predictor.predict_proba(data, dearer=mask)
    both = zip(predictor.dearer.predict_proba(data), predictor.cheaper.predict_proba(data), strict=True)
    for found, (dearer, cheaper) in zip(fractions, both, strict=True):
        np.testing.assert_array_equal(found, np.where(mask[:, None], dearer, cheaper))


def test_refusals(pair: tuple[Any, Any], forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """Weights outside 0 to 1, forests of other questions, and choices of another shape are refused with the value."""
    cheaper, dearer = pair
    for weight, said in ((1.5, "weight is 1.5, above 1"), (-0.1, "weight is -0.1, negative"), (np.nan, "weight is nan")):
        with pytest.raises(pm.errors.InvalidInputError, match=said):
            MixturePredictor(cheaper, dearer, weight)
    fewer = RandomForestClassifier(2, random_state=0).fit(X[TRAIN].iloc[:, :5], Y[TRAIN])
    with pytest.raises(pm.errors.InvalidInputError, match="differ in n_features_in_: 5 and 30"):
        MixturePredictor(fewer, dearer, 1)
    renamed = RandomForestClassifier(2, random_state=0).fit(X[TRAIN].rename(columns=str.upper), Y[TRAIN])
    with pytest.raises(pm.errors.InvalidInputError, match="differ in feature_names_in_"):
        MixturePredictor(renamed, dearer, 1)
    words = RandomForestClassifier(2, random_state=0).fit(X[TRAIN], Y[TRAIN] + 1)
    with pytest.raises(pm.errors.InvalidInputError, match="differ in classes_"):
        MixturePredictor(words, dearer, 1)
    predictor = MixturePredictor(cheaper, dearer, Fraction(1, 2))
    for mask in (np.ones(3, dtype=bool), np.ones(len(X[COST]))):
        with pytest.raises(pm.errors.InvalidInputError, match=r"dearer is .* of shape"):
            predictor.predict(X[COST], dearer=mask)
    with pytest.raises(ValueError, match="0 sample"):  # scikit-learn's own words
        predictor.predict(X[:0])
    other = pd.DataFrame(X).sample(frac=1, random_state=0)
    stranger = RandomForestClassifier(6, max_depth=5, random_state=1).fit(other[TRAIN], Y[TRAIN])
    with pytest.raises(pm.errors.InvalidInputError, match="other trees"):
        mixture_of(relaxed_optimum(path, path.exact_cost[1]), stranger)
