"""Exit paths and cascades are measured: one pass for all policies, and row by row the cascade's own figures."""

from __future__ import annotations

import numpy as np
import pytest

import prunemodels as pm
from prunemodels.cascades.evaluation import evaluate_exit_path, stops_of
from prunemodels.evaluation.curve import tradeoff_curve
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from tests.prunemodels.cascade_cases import ITEMS, KINDS, Kind, case, middle


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_one_pass_gives_what_every_policy_does(kind: Kind) -> None:
    """For policies of the path and within a budget: stages, costs and losses are those of the fitted cascade, row by row."""
    known = case(kind)
    seen = evaluate_exit_path(known.cascade, known.X, known.y)
    once = known.path.stages.once
    for k in {0, middle(kind), len(known.path) - 1}:
        cascade = known.cascade.at_row(k)
        assert np.array_equal(seen.stages(k), cascade.stop_stages(known.X))
        assert np.array_equal(seen.costs(k), cascade.prediction_cost(known.X))
        predicted = cascade.predict(known.X)
        lost = predicted != known.y if hasattr(cascade, "classes_") else (predicted - known.y) ** 2
        np.testing.assert_allclose(seen.losses(k), lost)
        assert seen.error[k] == pytest.approx(lost.mean())
        assert seen.cost[k] == pytest.approx(cascade.prediction_cost(known.X).mean() + once[cascade.policy_.last_stage])
    within = known.cascade.at_cost(0.4 * float(known.path.cost[-1]) + 0.6 * float(known.path.cost[0]))
    assert seen.mean_cost(within.policy_) == pytest.approx(evaluate(within, known.X, known.y).cost)
    assert seen.mean_loss(within.policy_) == pytest.approx(evaluate(within, known.X, known.y).error)


def test_weights_weigh_and_unknown_labels_are_refused() -> None:
    """A row of weight 0 does not count, one of weight 2 counts twice; no policy could predict a label that no stage knows."""
    known = case("prunings")
    y = known.y.copy()
    weights = np.ones(len(y))
    weights[:10], weights[10:20] = 0, 2
    twice = np.r_[10:20, 10 : len(y)]
    seen = evaluate_exit_path(known.cascade, known.X, y, sample_weight=weights)
    plain = evaluate_exit_path(known.cascade, known.X.iloc[twice], known.y[twice])
    np.testing.assert_allclose(seen.cost, plain.cost)
    np.testing.assert_allclose(seen.error, plain.error)
    strange = y.astype(object)
    strange[3] = "perhaps"
    with pytest.raises(pm.errors.InvalidInputError, match=r"y\[3\] is the label 'perhaps', the model was trained on"):
        evaluate_exit_path(known.cascade, known.X, strange)


@pytest.mark.parametrize("kind", KINDS)
def test_a_curve_is_the_path(kind: Kind) -> None:
    """`tradeoff_curve` of a cascade has one point a policy, with its cost and error on the rows given."""
    known = case(kind)
    curve = tradeoff_curve(known.cascade, known.X, known.y, method="ours")
    seen = evaluate_exit_path(known.cascade, known.X, known.y)
    assert (curve.method, curve.parameter_name, curve.n) == ("ours", "lam", len(known.y))
    np.testing.assert_array_equal(curve.parameter, known.path.lam)
    np.testing.assert_array_equal(curve.cost, seen.cost)
    np.testing.assert_array_equal(curve.error, seen.error)
    with pytest.raises(pm.errors.InvalidInputError, match="loss is for learners only"):
        tradeoff_curve(known.cascade, known.X, known.y, loss=lambda a, b: 0.0)


@pytest.mark.parametrize("kind", ["prunings", "sets"])
def test_evaluate_knows_the_prices(kind: Kind) -> None:
    """Cost and error are those of the fitted cascade, and the features are those that an on-demand walk is told to bring."""
    known = case(kind)
    told = evaluate(known.cascade, known.X, known.y)
    assert told.n == len(known.y)
    assert told.error == pytest.approx(np.mean(known.cascade.predict(known.X) != known.y))
    separate = pm.CostItems.plain([1] * 8)  # each feature an item of its own: what is read is what is bought
    own = {"costs": ITEMS, "evaluation_cost": 0.01 if kind == "prunings" else 0}
    assert vars(evaluate(known.cascade, known.X, known.y, **own)) == vars(told)
    with pytest.raises(pm.errors.InvalidInputError, match="the cascade was made with"):
        evaluate(known.cascade, known.X, known.y, costs=separate)
    asked = np.zeros(known.X.shape, dtype=bool)
    table = from_table(known.X)

    def acquire(request):
        asked[np.ix_(request.positions, request.columns)] = True
        return table(request)

    OnDemandPredictor(known.cascade, acquire=acquire).run(known.X.index)
    assert told.features <= asked.sum(axis=1).mean() + 1e-12  # features of an item that is bought come along
    if kind == "sets":
        assert told.features == asked.sum(axis=1).mean()
        assert told.splits == 0
    else:
        assert told.splits > 0


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_bought_by_then_adds_up(kind: Kind) -> None:
    """Row by row the prices of what was bought by the stage where it stops are what it pays, evaluation aside."""
    known = case(kind)
    cascade = known.cascade.at_row(middle(kind))
    stops = stops_of(cascade, known.X, known.y)
    price = np.where(stops.items.paid_once, 0.0, stops.items.price)
    bought = price @ stops.bought
    if kind in ("prunings", "three classes", "numbers"):
        assert (bought <= stops.cost + 1e-9).all()
        assert (stops.cost - bought < 1).all()
    else:
        np.testing.assert_allclose(bought, stops.cost)
    frame = stops.to_frame()
    assert frame["share"].sum() == pytest.approx(1)
    assert (frame["share"] * frame["cost"]).sum() == pytest.approx(stops.cost.mean())
    assert (frame["share"] * frame["error"]).sum() == pytest.approx(stops.loss.mean())
    assert np.array_equal(stops.stage, cascade.stop_stages(known.X))


def test_costs_need_no_labels() -> None:
    """Without labels there are costs; to ask for the error is refused."""
    known = case("sets")
    seen = evaluate_exit_path(known.cascade, known.X)
    np.testing.assert_array_equal(seen.cost, evaluate_exit_path(known.cascade, known.X, known.y).cost)
    with pytest.raises(pm.errors.InvalidInputError, match="y is None: errors need labels"):
        seen.mean_loss(0)
