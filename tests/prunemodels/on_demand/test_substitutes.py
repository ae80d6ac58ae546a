"""What answers where a feature of the next stage cannot be had: another fitted stage, chosen by held-out error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import prunemodels as pm
from prunemodels.on_demand import UNAVAILABLE, from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.on_demand.stage_steps import Reached, steps_of
from prunemodels.on_demand.steps import LOST, UNKNOWN
from prunemodels.stages.policy import Chain, ExitPolicy, StagedModel
from prunemodels.stages.set_stages import Constant, SetStages
from prunemodels.stages.stacking import Stack
from tests.prunemodels.on_demand.cases import Spy
from tests.prunemodels.on_demand.test_cascades import Unsure

CLASSES = np.array(["no", "yes"])


@dataclass(frozen=True)
class Says:
    """A model that says `yes` with a probability of its own."""

    p: float
    classes_ = CLASSES

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """The same for every row."""
        assert not np.isnan(np.asarray(X, dtype=float)).any()
        return np.tile([1 - self.p, self.p], (len(X), 1))


def stages(*parts: tuple[float, list[int]]) -> SetStages:
    """One stage for each probability and its columns; the four columns cost 1, 2, 3 and 9."""
    models = tuple(Says(p) if columns else Constant(np.array([1 - p, p])) for p, columns in parts)
    columns = tuple(np.array(columns, dtype=np.int64) for _, columns in parts)
    return SetStages(models, columns, pm.CostItems.plain([1, 2, 3, 9]), CLASSES)


POLICY = ExitPolicy(Unsure(), np.full((2, 1), -np.inf), np.array([[False, True], [False, True]]))  # all rows go on to stage 2


@dataclass(frozen=True)
class Model:
    """Free (error 0.5), {a} (0.3), {a, b} (0.1); and beside them {c} (0.2), {a, c} (0.15), {a, d} (0.05)."""

    stack: Stack | None = None

    def staged_model(self) -> StagedModel:
        """As a fitted cascade."""
        own, other = stages((0.1, []), (0.2, [0]), (0.3, [0, 1])), stages((0.1, []), (0.6, [2]), (0.7, [0, 2]), (0.8, [0, 2, 3]))
        chains = (Chain(own, None, np.array([0.5, 0.3, 0.1])), Chain(other, self.stack, np.array([0.5, 0.2, 0.15, 0.05])))
        return StagedModel(own, POLICY, None, None, numeric=True, chains=chains, pays=np.full(3, own.prices()[-1]))


def run(had: list[bool], **options: Any) -> Any:
    """One row of which some of a, b, c, d can be had."""
    spy = Spy(np.zeros((1, 4)), np.array([had]))
    return OnDemandPredictor(Model(), acquire=spy, **options).run(1), spy.asked()


def test_a_stage_whose_feature_is_lost_is_gone_round() -> None:
    """By hand: with b lost after a (paid 1), stage 2 would have made 3. With c beside a the row would pay 4, so it stops. With c
    at 2, {a, c} costs 3, is bought, and answers; {a, c, d} has less error and is too dear.
    """
    result, asked = run([True, False, True, True])
    assert (result.probabilities[0, 1], result.stage[0], result.substituted[0]) == (0.2, 1, False)
    assert (asked, result.exact_cost[0]) == ([(0, 0), (0, 1)], 1)
    assert result.fell_back[0]
    assert result.finished[0]
    cheaper = pm.CostItems.plain([1, 2, 2, 9])
    result, asked = run_at(cheaper, [True, False, True, True])
    assert (result.probabilities[0, 1], result.substituted[0], result.exact_cost[0]) == (0.7, True, 3)
    assert (result.stage[0], asked) == (2, [(0, 0), (0, 1), (0, 2)])
    assert result.to_frame().loc[0, ["fell_back", "substituted"]].tolist() == [True, True]


@dataclass(frozen=True)
class Priced(Model):
    """The same at other prices."""

    items: Any = None

    def staged_model(self) -> StagedModel:
        """All chains at these prices."""
        model = super().staged_model()
        chains = tuple(replace(chain, stages=replace(chain.stages, items=self.items)) for chain in model.chains)
        return replace(model, stages=chains[0].stages, chains=chains, pays=np.full(3, chains[0].stages.prices()[-1]))


def run_at(items: Any, had: list[bool], stack: Stack | None = None, **options: Any) -> Any:
    """`run` at other prices."""
    spy = Spy(np.zeros((1, 4)), np.array([had]))
    return OnDemandPredictor(Priced(stack, items), acquire=spy, **options).run(1), spy.asked()


EQUAL = pm.CostItems.plain([2, 2, 2, 2])


def test_a_substitute_that_falls_out_is_gone_round_too() -> None:
    """At equal prices, with b lost, {a, c, d} is too dear; {a, c} is tried, c is lost: the row stops. With a lost at stage 1, {c}
    may be bought for the same price, and {a, c} is out; without c, too, the constant remains.
    """
    result, asked = run_at(EQUAL, [True, False, False, True])
    assert asked == [(0, 0), (0, 1), (0, 2)]
    assert (result.probabilities[0, 1], result.substituted[0], result.stage[0]) == (0.2, False, 1)
    result, asked = run_at(EQUAL, [False, True, True, True])
    assert (asked, result.probabilities[0, 1], result.exact_cost[0]) == ([(0, 0), (0, 2)], 0.6, 2)
    result, asked = run_at(EQUAL, [False, True, False, True])
    assert (asked, result.probabilities[0, 1], result.exact_cost[0]) == ([(0, 0), (0, 2)], 0.1, 0)


@pytest.mark.parametrize(
    ("lost", "most", "error", "read", "chosen"),
    [
        ([1], 4, np.inf, [], [0, 2]),
        ([1, 2], 4, np.inf, [], [0]),  # (1)
        ([1], 3, np.inf, [], [2]),  # (2)
        ([1], 3, 0.2, [], None),  # (3): {c} has 0.2
        ([1], 3, 0.25, [], [2]),
        ([1], 3, 0.25, [2], None),  # (4): c has been read
        ([0, 1, 2], 0, np.inf, [], []),
    ],
)
def test_each_rule_by_hand(lost: list[int], most: int, error: float, read: list[int], chosen: list[int] | None) -> None:
    """Of {a, b} (0.1), {a, c} (0.15), {c} (0.2), {a} (0.3) and nothing (0.5), two for each column."""
    steps: Any = steps_of(Priced(None, EQUAL).staged_model())
    status = np.where(np.isin(range(3), lost), LOST, UNKNOWN).astype(np.uint8)[None]
    reached = Reached(np.array([error]), np.array([most]), np.isin(range(3), read)[None])
    (k,) = steps.substitutes.chosen(status, np.zeros((1, 4), dtype=bool), reached).tolist()
    assert (None if k < 0 else steps.some[k].features.tolist()) == chosen


def test_a_cap_and_what_is_held_count() -> None:
    """A cap below the substitute's price stops the row; a value at hand costs nothing; `UNAVAILABLE` in known= is lost."""
    for cap, substituted in ((3, False), (4, True)):
        predictor = OnDemandPredictor(Priced(None, EQUAL), acquire=Spy(np.zeros((1, 4))), max_cost=cap)
        result = predictor.run(1, known={"x1": [UNAVAILABLE]})
        assert (result.substituted[0], result.exact_cost[0]) == (substituted, 4 if substituted else 2)
    spy = Spy(np.zeros((1, 4)))
    known = {"x1": [UNAVAILABLE], "x2": [0.0]}
    result = OnDemandPredictor(Priced(None, EQUAL), acquire=spy).run(1, known=known)
    assert (spy.asked(), result.probabilities[0, 1], result.exact_cost[0]) == ([(0, 0)], 0.7, 2)


def test_a_stacked_substitute_needs_what_its_answer_is_made_from() -> None:
    """{a, c} stacked on {c} answers by the softmax of half of each logarithm."""
    weight = np.eye(4)
    weight[2, 1:3] = 0.5
    stack = Stack(weight, np.zeros((4, 2)), np.array([False, False, True, False]))
    result, _ = run_at(EQUAL, [True, False, True, True], stack)
    odds = np.sqrt(0.6 / 0.4 * 0.7 / 0.3)
    assert result.probabilities[0, 1] == pytest.approx(odds / (1 + odds), abs=1e-12)


def test_substitutes_are_no_dearer_than_the_policy() -> None:
    """{a, c, d} costs more than the last stage of the policy, so d is never asked for."""
    assert OnDemandPredictor(Model()).features == ("x0", "x1", "x2")


def test_with_a_fitted_cascade() -> None:
    """A supplier that is down for one column of a budget cascade: the answers are those of its stages on full data."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 4)), columns=list("abcd"))
    X["b"] = X["a"] + rng.normal(size=500) / 3
    y = np.where(X["a"] + X["c"] + rng.normal(size=500) / 2 > 0, "yes", "no")
    model = pm.BudgetCascadeClassifier(LogisticRegression(), 1, budget=2, n_stages=5, cv=2, random_state=0)
    model.fit(X[:300], y[:300])
    new, table = X[300:], from_table(X[300:])
    whole = OnDemandPredictor(model, acquire=table).run(new.index)
    assert not whole.substituted.any()

    def down(request: Any) -> Any:
        return table(request).assign(**dict.fromkeys({"a"} & set(request.features), UNAVAILABLE))

    found = OnDemandPredictor(model, acquire=down).run(new.index)
    assert found.substituted.any()
    assert not any("a" in bought for bought in found.bought)
    for i in np.flatnonzero(found.substituted):
        row = new.iloc[[i]].assign(a=99.0)  # no stage that answers may read it
        said = [path.on(model._rows(row))[1].value[:, 0] for path in model.exit_paths_]
        assert any((found.probabilities[i] == value).all(axis=1).any() for value in said)
    assert (found.cost <= model.stages_.prices()[model.policy_.last_stage] + 1e-9).all()


def test_a_table_serves_its_own_columns() -> None:
    """A table without the columns that only substitutes read is taken, and they are not asked for."""
    X = pd.DataFrame(np.zeros((1, 4)), columns=list("abcd"))
    model = Named(None, EQUAL)
    assert OnDemandPredictor(model, acquire=from_table(X)).features == ("a", "b", "c")
    assert OnDemandPredictor(model, acquire=from_table(X[["a", "b"]])).features == ("a", "b")


class Named(Priced):
    """With names of the columns."""

    def staged_model(self) -> StagedModel:
        """As of a cascade that was fitted on a table."""
        return replace(super().staged_model(), names=list("abcd"))
