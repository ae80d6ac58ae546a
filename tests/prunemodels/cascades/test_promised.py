"""`max_error=` of cascades: which rows test it, what is chosen, what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

import prunemodels as pm
from prunemodels.cascades.promised import from_dearest
from prunemodels.errors import InvalidInputError
from prunemodels.statements.mean_bounds import upper_bound

X, Y = make_classification(700, 6, n_informative=4, n_redundant=0, class_sep=1.5, random_state=1)
STAGES = [(LogisticRegression(), [0]), (LogisticRegression(), [0, 1, 2]), (LogisticRegression(), None)]
OPTIONS: dict[str, Any] = {"n_levels": 8, "cv": 3, "random_state": 0}


def fitted(**options: Any) -> pm.CascadeClassifier:
    return pm.CascadeClassifier(STAGES, 1, **(OPTIONS | options))


def test_the_cheapest_policy_before_the_first_that_fails() -> None:
    """Of the policies from the dearest on, by the exact bounds of their mistakes on the certifying rows."""
    model = fitted().fit(X[:400], Y[:400])
    at = model.at_error(0.2, X[400:], Y[400:])
    bounds = []
    for path, choice in from_dearest(model.exit_paths_):
        wrong = (model._with(path, choice).predict(X[400:]) != Y[400:]).astype(float)
        bounds.append((upper_bound(wrong, 1.0, 0.05, "exact"), choice.cost))
    costs = [cost for _, cost in bounds]
    assert costs == sorted(costs, reverse=True)
    first = next(k for k, (bound, _) in enumerate(bounds) if bound > 0.2)
    assert first > 0
    assert (at.promise_.upper_bound, at.cost_) == bounds[first - 1]
    assert at.promise_.mean == pytest.approx(1 - at.score(X[400:], Y[400:]))
    assert (at.promise_.tested, at.promise_.n, at.max_error) == (first + 1, 300, 0.2)
    assert at.at_cost(2).promise_ is None
    assert at.at_cost(2).max_error is None


def test_a_part_is_set_apart_from_stages_and_policies() -> None:
    """A quarter of X tests; the rest gives the same stages and policies as a fit on it alone."""
    model = fitted(max_error=0.3).fit(X, Y)
    order = np.random.RandomState(0).permutation(len(X))
    apart, rest = order[:175], np.sort(order[175:])
    assert not set(model.own_rows_) & set(apart)
    assert model.promise_.n == 175
    assert model.promise_.mean == pytest.approx(1 - model.score(X[apart], Y[apart]))
    given = fitted(max_error=0.3).fit(X[rest], Y[rest], X_certify=X[apart], y_certify=Y[apart])
    assert given.promise_.n == 175
    found = pm.BudgetCascadeClassifier(LogisticRegression(), 1, n_stages=3, max_error=0.3, **OPTIONS).fit(X, Y)
    assert found.promise_.upper_bound <= 0.3


def test_fitted_stages_are_promised_by_given_rows() -> None:
    """Stages that are fitted already take `X_certify`, too: all of X is then learned from."""
    stages, apart = fitted().fit(X[:200], Y[:200]).stages_, (X[450:], Y[450:])
    given = {"X_certify": apart[0], "y_certify": apart[1]}
    model = pm.CascadeClassifier(stages, max_error=0.3, random_state=0).fit(X[200:450], Y[200:450], **given)
    assert (model.exit_path_.n, model.promise_.n) == (250, 250)
    assert model.promise_.mean == pytest.approx(1 - model.score(*apart))
    assert model.promise_.upper_bound <= 0.3


def test_a_promise_to_groups_speaks_of_groups() -> None:
    """Of 300 rows in 150 pairs the mean errors of 150 groups were tested, not 150 examples."""
    at = fitted().fit(X[:400], Y[:400]).at_error(0.3, X[400:], Y[400:], groups=np.arange(300) // 2)
    said = "With confidence 95 % new groups have an error of at most 30.00 %: 150 groups that nothing"
    assert at.promise_.in_words("classification").startswith(said)


def test_a_label_that_is_set_apart_whole_is_a_mistake_and_no_error() -> None:
    """The classes are those of y, wherever its rows go; nothing predicts one that no stage has seen."""
    for rare in range(8):
        y = Y[:200].copy()
        y[rare] = 2
        model = pm.CascadeClassifier([(None, []), (LogisticRegression(), None)], 1, max_error=0.5, cv=KFold(3), random_state=0)
        assert model.fit(X[:200], y).classes_.tolist() == [0, 1, 2]


def test_numbers_are_promised_by_betting() -> None:
    """Squared errors count at most as the largest that any stage made where policies were learned."""
    rng = np.random.default_rng(0)
    y = X @ [1, 1, 1, 1, 0, 0] + rng.normal(size=len(X))
    line = LinearRegression()
    model = pm.CascadeRegressor([(line, [0]), (line, None)], 1, **OPTIONS).fit(X[:400], y[:400])
    at = model.at_error(3.0, X[400:], y[400:])
    largest = float(at.exit_path_.sample.loss.max())
    lost = np.minimum((at.predict(X[400:]) - y[400:]) ** 2, largest)
    assert at.promise_.mean == pytest.approx(lost.mean())
    assert at.promise_.mean < at.promise_.upper_bound <= 3.0
    with pytest.raises(InvalidInputError, match="above 0, in the unit of the squared error"):
        model.at_error(0.0, X[400:], y[400:])


@pytest.mark.parametrize(
    ("options", "given", "message"),
    [
        ({"max_error": 0.2, "budget": 3}, {}, "budget is 3 and max_error is 0.2; give one of them"),
        ({"max_error": 0}, {}, "max_error is 0; give a number between 0 and 1"),
        ({"max_error": 1.0}, {}, "max_error is 1.0; give a number between 0 and 1"),
        ({"max_error": 0.01}, {}, "299 rows without a mistake would show, and the part .*, 25% of it, has 175"),
        ({"max_error": 0.2, "confidence": 1.5}, {}, "confidence is 1.5"),
        ({"max_error": 0.2}, {"sample_weight": np.arange(1.0, 701.0)}, "promised for examples of equal weight"),
        ({"max_error": 0.2}, {"X_certify": X[:9]}, "y_certify is missing"),
        ({"max_error": 0.2}, {"X_certify": X[:50], "y_certify": np.arange(50) // 49 * 7}, r"y_certify\[49\] is the label 7"),
        ({"max_error": 0.2}, {"groups_certify": Y[:9]}, "X_certify is missing: groups_certify is given"),
        ({}, {"X_certify": X[:9], "y_certify": Y[:9]}, "X_certify is given without max_error"),
    ],
)
def test_refusals_before_training(
    options: dict[str, Any], given: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is fitted before these are named."""
    monkeypatch.setattr(LogisticRegression, "fit", lambda *_, **__: pytest.fail("a stage was fitted"))
    with pytest.raises(InvalidInputError, match=message):
        fitted(**options).fit(X, Y, **given)


def test_what_cannot_be_promised_names_what_can() -> None:
    """The least error of the dearest policy, which is then promised."""
    with pytest.raises(InvalidInputError, match="no less than") as refused:
        fitted(max_error=0.02).fit(X, Y)
    least = float(str(refused.value).split("no less than ")[1].split()[0])
    assert fitted(max_error=least + 0.001).fit(X, Y).promise_.upper_bound <= least + 0.001


def test_forests_are_promised_along_their_path() -> None:
    """One half of X_valid chooses, the other tests; labels that pruning used cannot test it."""
    from prunemodels.example import X_test, X_valid, costs, forest, y_test, y_valid

    result = pm.prune_forest(forest, X_valid, y_valid, costs=costs, max_error=0.12, X_certify=X_test, y_certify=y_test)
    wrong = (result.estimator.predict(X_test) != y_test).astype(float)
    assert result.promise.upper_bound == upper_bound(wrong, 1.0, 0.05, "exact") <= 0.12
    assert result.promise.in_words(result.problem.ensemble.measure) in " ".join(str(result).split())
    assert result.cost < pm.Pruning.unpruned(result.problem).cost
    assert pm.prune_forest(forest, X_valid, y_valid, costs=costs, max_error=0.2).promise.n == 75
    for message, more in (
        ("X_certify and y_certify too", {"errors": "validation", "max_error": 0.2}),
        ("by 75 examples no less than 0.1", {"max_error": 0.06}),
        ("299 rows without a mistake would show, and a half of X_valid has 75", {"max_error": 0.01}),
    ):
        with pytest.raises(InvalidInputError, match=message):
            pm.prune_forest(forest, X_valid, y_valid, costs=costs, **more)


def test_a_mean_cost_of_mistakes_above_one_can_be_promised() -> None:
    """It is no share, so 1 is no end of it; nor is its unit that of squared errors."""
    line = LogisticRegression()
    y = np.where(X @ [1, 1, 1, 1, 0, 0] > 0, "ill", "well")
    stages = [(line, [0]), (line, None)]
    model = pm.CascadeClassifier(stages, 1, mistakes={("ill", "well"): 9}, max_error=1.5, **OPTIONS).fit(X, y)
    assert model.promise_.upper_bound <= 1.5
    with pytest.raises(InvalidInputError, match="above 0, in the unit of the misclassification cost"):
        model.at_error(0.0, X[400:], y[400:])
