"""Rules that choose a row, and curves of any method, cascades among them: row by row their own figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import GradientBoostingClassifier

import prunemodels as pm
from prunemodels.cascades.evaluation import evaluate_exit_path, stops_of
from prunemodels.evaluation.curve import Learner, StagedLearner, TradeoffCurve, tradeoff_curve
from prunemodels.evaluation.evaluate import evaluate
from prunemodels.evaluation.path import PathEvaluation, at_most, choose_row, evaluate_path, knee, one_se
from prunemodels.on_demand import from_table
from prunemodels.on_demand.predictor import OnDemandPredictor
from prunemodels.other_libraries import boosted_path
from prunemodels.points import falling_hull, furthest_corner
from prunemodels.rivals.tree_by_tree import individual_path
from tests.prunemodels.cascade_cases import ITEMS, KINDS, Kind, case, middle
from tests.prunemodels.forest_kinds import fitted
from tests.prunemodels.models.libraries.models import X2, Y2


def seen(error: list[float], paired_se: list[float], *, cost: list[float] | None = None, n: int = 100) -> PathEvaluation:
    """An evaluation with these errors; the standard error of each error itself is 0.05."""
    e = np.array(error)
    least = np.flatnonzero(e == e.min())[-1]
    costs = np.arange(len(e), 0, -1.0) if cost is None else np.array(cost)
    zeros = np.zeros(len(e))
    path: Any = None
    best = int(least), e - e[least], np.array(paired_se)
    return PathEvaluation(path, "mean", n, n, costs, zeros, e, zeros + 0.05, e - 0.105, zeros, *best, 9.0, 0.105)


def test_one_se_by_hand() -> None:
    """Least error 0.10 in row 1; row 2 is 0.01 worse, se 0.02; row 3 is 0.03 worse, se 0.025 (and 0.05 unpaired)."""
    evaluation = seen([0.11, 0.10, 0.11, 0.13, 0.3], [0.01, 0, 0.02, 0.025, 0.04])
    assert one_se(evaluation) == choose_row(evaluation) == 2
    assert one_se(evaluation, paired=False) == 3
    # a cheaper row within its standard error is taken even where a dearer one between them is not
    assert one_se(seen([0.10, 0.20, 0.11, 0.3], [0, 0.05, 0.01, 0.1])) == 2


def test_at_most_by_hand() -> None:
    """The unpruned forest errs at 0.105: up to 0.01 more is 0.115, inclusively of rounding; no row is below 0.08."""
    evaluation = seen([0.11, 0.10, 0.115, 0.13], [0] * 4)
    assert at_most(evaluation, 0.01) == 2
    assert at_most(evaluation, 0) == 1
    assert at_most(evaluation, 1) == 3
    assert at_most(seen([0.2, 0.3], [0] * 2), 0.01) is None


def test_knee_by_hand() -> None:
    """Chord from (0, 10) to (10, 0); (1, 5) lies 4 below it, (4, 1) lies 5, (2, 7) above the hull; (12, 0) is dearer in vain."""
    cost, error = np.array([12, 10, 4, 2, 1, 0.0]), np.array([0, 0, 1, 7, 5, 10.0])
    assert falling_hull(cost, error) == [5, 4, 2, 1]
    assert furthest_corner(cost, error) == 2
    assert knee(seen(error.tolist(), [0] * 6, cost=cost.tolist())) == 2
    assert choose_row(seen(error.tolist(), [0] * 6, cost=cost.tolist()), "knee") == 2
    # (1, 6) and (6, 1) both lie 3 below the chord from (0, 10) to (10, 0): the cheaper one
    assert furthest_corner(np.array([10, 6, 1, 0.0]), np.array([0, 1, 6, 10.0])) == 2


@pytest.mark.parametrize(
    ("cost", "error", "row"),
    [([3.0], [0.2], 0), ([5, 1], [0.1, 0.5], 0), ([5, 1], [0.5, 0.1], 1), ([4, 2, 0], [0, 1, 2], 0), ([0, 0], [0.3, 0.2], 1)],
)
def test_without_a_corner_the_least_error_is_taken(cost: list[float], error: list[float], row: int) -> None:
    """One point, two points, points on a line: the cheapest row of least error."""
    assert furthest_corner(np.array(cost, dtype=float), np.array(error, dtype=float)) == row


POINTS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=12)


@pytest.mark.slow
@given(POINTS)
def test_the_falling_hull_supports_all_points(points: list[tuple[int, int]]) -> None:
    """Costs rise and errors fall along it, slopes flatten, and no point that is cheaper than its end lies below it."""
    cost, error = np.array(points, dtype=float).T
    hull = falling_hull(cost, error)
    x, y = cost[hull], error[hull]
    assert x[0] == cost.min()
    assert y[-1] == error.min()
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    assert (np.diff(np.diff(y) / np.diff(x)) > 0).all()
    inside = cost <= x[-1]
    assert (error[inside] >= np.interp(cost[inside], x, y) - 1e-9).all()


X, Y = np.arange(8.0).reshape(4, 2), np.array(["a", "b", "a", "b"])


class Constant(ClassifierMixin, BaseEstimator):
    """Predicts a label, asks for `paid` from each example."""

    def __init__(self, label: str = "a", paid: float = 1.0) -> None:
        self.label, self.paid = label, paid

    def predict(self, X: Any) -> NDArray[Any]:
        return np.full(len(X), self.label)

    def prediction_cost(self, X: Any) -> NDArray[np.float64]:
        return self.paid + np.arange(len(X))


class Staged(Constant):
    """After its first stage it says "a" to all, after its second the truth."""

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        yield np.full(len(X), "a")
        yield Y

    def staged_cost(self, X: Any) -> NDArray[np.float64]:
        return np.array([1.5, 4.0])


def curve(cost: list[float], error: list[float], method: str = "m") -> TradeoffCurve:
    return TradeoffCurve(method, "step", np.arange(len(cost), dtype=float), np.array(cost), np.array(error), 100)


HAND = curve([5, 1, 3, 3, 2, 4], [0.1, 0.5, 0.2, 0.3, 0.5, 0.2])


def test_undominated_points_by_hand() -> None:
    """(2, .5) is undercut by (1, .5), (3, .3) and (4, .2) by (3, .2)."""
    assert HAND.undominated().tolist() == [1, 2, 0]
    assert [HAND.best_within(c) for c in (1, 2.9, 3, 4.5, 99)] == [1, 1, 2, 2, 0]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(points=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_undominated_points_are_those_that_nothing_undercuts(points: list[tuple[int, int]]) -> None:
    """Every point is undercut, or matched, by a chosen one; no chosen one by another point."""
    cost, error = [float(c) for c, _ in points], [float(e) for _, e in points]
    chosen = curve(cost, error).undominated()
    places = [points[k] for k in chosen]
    assert places == sorted(set(places))
    assert all(any(c <= cost[k] and e <= error[k] for c, e in places) for k in range(len(points)))
    for c, e in places:
        assert not any((p <= c and q < e) or (p < c and q <= e) for p, q in points)
    for c, _ in points:
        assert HAND.n == 100
        best = curve(cost, error).best_within(c)
        assert points[best] == min((p for p in points if p[0] <= c), key=lambda p: (p[1], p[0]))


def test_the_curve_of_a_path_is_its_evaluation() -> None:
    """Optimal paths and other prunings alike."""
    f = fitted("random forest, 3 string labels")
    problem = pm.problem_from_forest(f.forest, f.X, costs=1)
    for path in (pm.pruning_path(problem), individual_path(problem)):
        seen = evaluate_path(path, f.X, f.y)
        points = tradeoff_curve(path, f.X, f.y)
        assert (points.method, points.parameter_name, points.n) == (path.method, path.parameter_name, len(f.y))
        np.testing.assert_array_equal(points.cost, seen.cost)
        np.testing.assert_array_equal(points.error, seen.error)
        np.testing.assert_array_equal(points.parameter, path.parameter)
    assert tradeoff_curve(path, f.X, f.y, method="other").method == "other"


def test_the_curve_of_a_staged_learner_has_a_point_a_stage() -> None:
    """Stages count from 1; costs are the learner's own, errors shares of wrong labels."""
    assert isinstance(Staged(), StagedLearner)
    points = tradeoff_curve(Staged(), X, Y)
    assert (points.method, points.parameter_name, points.n) == ("Staged", "stages", 4)
    assert points.to_frame().to_dict("list") == {"stages": [1, 2], "cost": [1.5, 4], "error": [0.5, 0]}


def test_learners_by_a_parameter_have_a_point_each() -> None:
    """Mean cost and share of wrong labels of each, in the order given; a single learner is one point."""
    models = {0.5: Constant("a", 2.0), 0.1: Constant("c", 0.0)}
    assert isinstance(Constant(), Learner)
    assert not isinstance(Constant(), StagedLearner)
    points = tradeoff_curve(models, X, Y, parameter_name="lambda")
    assert points.method == "Constant"
    assert points.to_frame().to_dict("list") == {"lambda": [0.5, 0.1], "cost": [3.5, 1.5], "error": [0.5, 1]}
    single = tradeoff_curve(Constant("b"), X, Y, method="b alone")
    assert single.method == "b alone"
    assert single.to_frame().to_dict("list") == {"parameter": [0], "cost": [2.5], "error": [0.5]}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: one_se(seen([0.1, 0.2], [np.nan, np.nan], n=1)), "there is a single example"),
        (lambda: HAND.best_within(0.5), r"cost is 0\.5, the cheapest point of m costs 1"),
        (lambda: curve([1, 2], [0.5]), "2 parameters, 2 costs, 1 errors"),
        (lambda: tradeoff_curve({}, X, Y), "source is an empty mapping"),
    ],
)
def test_refusals(call: Callable[[], object], words: str) -> None:
    """Rules without a standard error, unknown ones, costs below all points, and curves of nothing."""
    with pytest.raises(pm.errors.InvalidInputError, match=words):
        call()


def test_prunings_of_a_boosted_model() -> None:
    """Each point is what `evaluate` says of the exported pruning, from the cheapest on; other losses count as well."""
    model = GradientBoostingClassifier(n_estimators=5, max_depth=2, random_state=0).fit(X2, Y2)
    path = boosted_path(model, X2[:120], Y2[:120], costs=[1, 2, 3, 4, 5, 6], lams=4, rounds=5)
    curve = tradeoff_curve(path, X2[120:], Y2[120:])
    seen = [pm.evaluate(p.to_model(), X2[120:], Y2[120:], costs=[1, 2, 3, 4, 5, 6]) for p in reversed(path.prunings)]
    assert np.allclose(curve.cost, [s.cost for s in seen], rtol=1e-12)
    assert curve.error.tolist() == [s.error for s in seen]
    assert curve.method == "prune_boosted"
    assert (curve.n, len(curve)) == (120, len(path))
    fooled = tradeoff_curve(path, X2[120:], Y2[120:], loss=lambda y, predicted: float(np.mean(predicted == y)))
    assert np.allclose(fooled.error, 1 - curve.error)


def test_fitted_models_at_given_prices() -> None:
    """Models of any kind under a parameter: a point is what `evaluate` says; without prices they are refused."""
    models = {n: GradientBoostingClassifier(n_estimators=n, max_depth=2, random_state=0).fit(X2, Y2) for n in (1, 3)}
    curve = tradeoff_curve(models, X2, Y2, costs=2, parameter_name="rounds")
    assert curve.parameter.tolist() == [1, 3]
    assert curve.cost.tolist() == [pm.evaluate(model, X2, Y2, costs=2).cost for model in models.values()]
    assert curve.error.tolist() == [pm.evaluate(model, X2, Y2, costs=2).error for model in models.values()]
    assert len(tradeoff_curve(models[3], X2, Y2, costs=2)) == 1
    with pytest.raises(pm.errors.InvalidInputError, match="costs is None"):
        tradeoff_curve(models, X2, Y2)


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
