"""Costs and errors on held-out rows, with bounds that hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import PruningProblem
from formulations.instance.tree_loss import TreeLoss
from prunemodels import example
from prunemodels.evaluation.held_out import hold_out
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import Method, mean_interval, standard_error, upper_bound
from tests.instances import Node, problem_of


def two_stumps(X: list[list[float]], **options: Any) -> PruningProblem:
    """A stump on feature 0 (price 3), a tree on feature 1 (price 5) and then, where x_1 > 0.5, on 0."""
    deep = Node(8, 1, 0.5, Node(1), Node(4, 0, 0.5, Node(0), Node(1)))
    costs = pm.CostItems.plain([3, 5])
    return problem_of([Node(6, 0, 0.5, Node(1), Node(1)), deep], costs, np.array(X), **options)


def test_the_costs_of_rows_by_hand() -> None:
    """Unpruned, every row buys both features and is asked 2 questions, 3 where x_1 > 0.5; without the stump only those buy 0."""
    problem = two_stumps([[0, 0], [0, 1]], evaluation_cost=0.25)
    unpruned = pm.Pruning.unpruned(problem)
    np.testing.assert_array_equal(unpruned.problem.usage.row_costs(unpruned.kept), [8 + 0.5, 8 + 0.75])
    kept = unpruned.kept.copy()
    kept[0] = False
    np.testing.assert_array_equal(problem.usage.row_costs(kept), [5 + 0.25, 8 + 0.5])
    assert problem.usage.largest_row_cost(unpruned.kept) == 8 + 0.75
    assert problem.usage.largest_row_cost(kept) == 8 + 0.5
    assert problem.usage.largest_row_cost(np.zeros_like(kept)) == 0
    # the most that a row can pay is read off the trees: a cost sample of one row with x_1 = 0 hides the second question
    usage = two_stumps([[0, 0]], evaluation_cost=0.25).usage
    assert (usage.row_costs(kept).tolist(), usage.largest_row_cost(kept)) == ([5.25], 8.5)


X, Y = load_breast_cancer(return_X_y=True, as_frame=True)


@pytest.fixture(scope="module")
def forest() -> RandomForestClassifier:
    return RandomForestClassifier(5, max_depth=5, random_state=0).fit(X[:200], Y[:200])


@pytest.fixture(scope="module")
def path(forest: RandomForestClassifier) -> pm.PruningPath:
    return pm.pruning_path(pm.problem_from_forest(forest, X[200:350], costs=np.arange(30) / 4, evaluation_cost=0.1))


def test_held_out_cost_is_that_of_evaluate(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """The mean is `evaluate`'s cost on the same rows; the error is its error."""
    pruning = path[len(path) // 2]
    pruned = pm.apply_pruning(pruning, forest)
    measured = pm.evaluate(pruned, X[350:], Y[350:], costs=np.arange(30) / 4, evaluation_cost=0.1)
    own = hold_out(pruning, None, X[350:]).cost
    assert own.mean == pytest.approx(measured.cost)
    assert own.low < own.mean < own.high
    assert (own.n, own.confidence, own.method, own.paid_once) == (219, 0.95, "t", 0)
    held_out = hold_out(pruning, forest, X[350:], Y[350:])
    assert held_out.cost == own
    assert held_out.error is not None
    assert held_out.error.mean == measured.error


def test_intervals_of_rows() -> None:
    """The interval is that of the rows' costs, moved by what is paid once for all."""
    items = pm.CostItems.from_items({"a": 3, "licence": 7, "b": 5}, [["a", "licence"], ["b"]], once=["licence"])
    problem = two_stumps([[0, 0]])
    ensemble, errors = problem.ensemble, problem.errors
    priced = PruningProblem.build(ensemble, errors, np.zeros((1, 2)), items)
    kept = pm.Pruning.unpruned(priced).kept.copy()
    kept[0] = False  # the stump on a: it is asked in the second tree, where x_1 > 0.5
    rows = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
    cost = hold_out(pm.Pruning(priced, kept), None, rows, method="betting", confidence=0.9).cost
    paid = np.array([5.0, 8, 8, 5, 5])
    assert (cost.paid_once, cost.largest, cost.n) == (7, 8, 5)
    assert cost.mean == pytest.approx(7 + 5 + 3 * 2 / 5)
    assert cost.high == pytest.approx(7 + upper_bound(paid, 8, 0.05, "betting"))
    assert cost.low == pytest.approx(7 + 8 - upper_bound(8 - paid, 8, 0.05, "betting"))
    assert cost.low >= 7


def test_weights_of_held_out_rows(forest: RandomForestClassifier, path: pm.PruningPath) -> None:
    """A weight of two is a row twice in the mean; rows of weight 0 are not there; equal weights change nothing."""
    pruning = path[0]
    weights = np.ones(219)
    weights[:9], weights[9:20] = 0, 2
    weighted = hold_out(pruning, None, X[350:], sample_weight=weights).cost
    repeated = hold_out(pruning, None, X.iloc[[*range(359, 370), *range(359, 569)]]).cost
    assert weighted.mean == pytest.approx(repeated.mean)
    assert weighted.n == 210
    equal = hold_out(pruning, None, X[350:], sample_weight=np.full(219, 3.0))
    assert equal.cost == hold_out(pruning, None, X[350:]).cost
    with pytest.raises(pm.errors.InvalidInputError, match="'betting' holds for draws of equal weight"):
        hold_out(pruning, None, X[350:], sample_weight=weights, method="betting")


def test_error_rates_are_bounded_by_one(forest: RandomForestClassifier) -> None:
    """A classifier's error can have a distribution-free interval: of draws in [0, 1]."""
    wrong = (forest.predict(X[200:]) != Y[200:]).to_numpy(dtype=float)
    whole = pm.Pruning.unpruned(pm.problem_from_forest(forest, X[:50], costs=1))
    error = hold_out(whole, forest, X[200:], Y[200:], method="betting").error
    assert error is not None
    assert error.mean == wrong.mean()
    assert error.high == upper_bound(wrong, 1.0, 0.025, "betting")


cheap = example.path[0]


def bound(**change: Any) -> float:
    given: dict[str, Any] = {"x": np.array([1.0, 2.0]), "largest": 10.0, "alpha": 0.1, "method": "t"}
    return upper_bound(**(given | change))


REFUSED: list[tuple[Callable[..., Any], dict[str, Any], str]] = [
    (hold_out, {"pruning": cheap, "forest": None, "X": example.X_test.iloc[:, ::-1]}, "select the columns in the training order"),
    (hold_out, {"pruning": cheap, "forest": None, "X": example.X_test[:1]}, "at least 2 examples of positive weight, there is 1"),
    (bound, {"x": np.array([1.0])}, "the method 't' needs at least 2 draws, x has 1; give more"),
    (bound, {"x": np.array([]), "method": "betting"}, "at least 1"),
    (bound, {"x": np.array([1.0, 11.0])}, "draws range from 1 to 11; they must lie between 0 and 10"),
    (bound, {"x": np.array([-1.0, 1.0])}, "draws range from -1 to 1"),
    (bound, {"x": np.array([math.nan, 1.0])}, "draws range from nan"),
    (bound, {"weights": np.array([1.0, 2.0]), "method": "betting"}, "'betting' holds for draws of equal weight"),
    (bound, {"largest": math.inf, "method": "betting"}, "'betting' needs draws that cannot exceed"),
]


@pytest.mark.parametrize(("call", "change", "message"), REFUSED)
def test_refusals(call: Callable[..., Any], change: dict[str, Any], message: str) -> None:
    """What cannot be measured or bounded is refused by name and value."""
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        call(**change)


def rarely_dear(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Nearly all rows cost 1, one in 40 costs 10: mean 1.225."""
    return np.where(rng.random(n) < 1 / 40, 10.0, 1.0)


def mostly_dear(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Mean 8.2 of 10: near the top."""
    return np.where(rng.random(n) < 0.8, 10.0, 1.0)


def even(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    """Uniform on [0, 10]: mean 5."""
    return 10 * rng.random(n)


POPULATIONS = [(rarely_dear, 1.225), (mostly_dear, 8.2), (even, 5.0)]


@pytest.mark.parametrize(("draw", "mean"), POPULATIONS, ids=lambda p: getattr(p, "__name__", str(p)))
@pytest.mark.parametrize("n", [2, 25, 200])
def test_the_upper_bound_is_too_low_at_most_as_often_as_stated(draw: object, mean: float, n: int) -> None:
    """Over 2,000 samples the bound misses the mean at most in a share alpha, up to three standard deviations of the count."""
    repeats, alpha = 2000, 0.1
    rng = np.random.default_rng(5)
    missed = sum(upper_bound(draw(rng, n), 10.0, alpha, "betting") < mean for _ in range(repeats))  # type: ignore[operator]
    assert missed <= repeats * alpha + 3 * math.sqrt(repeats * alpha * (1 - alpha))


def test_students_interval_is_the_textbooks() -> None:
    """Costs 1, 2, 3, 6: mean 3, s^2 = 14/3, so the ends are 3 -+ t_{3, 0.975} sqrt(14/12)."""
    interval = mean_interval(np.array([1.0, 2.0, 3.0, 6.0]), 100.0, 0.95, "t")
    half = 3.182446305284263 * math.sqrt(14 / 12)
    assert interval.mean == 3
    assert interval.standard_error == pytest.approx(math.sqrt(14 / 12))
    assert interval.high == pytest.approx(3 + half)
    assert interval.low == 0  # 3 - half is below what anything can cost
    assert (interval.confidence, interval.method, interval.n) == (0.95, "t", 4)
    shifted = mean_interval(np.array([11.0, 12.0, 13.0, 16.0]), 100.0, 0.95, "t")
    assert shifted.low == pytest.approx(13 - half)


def rich(x: list[float], m: float, alpha: float) -> bool:
    """Whether the gambler against "mean >= m" ever has 1/alpha: the definition, draw by draw."""
    n, capital = len(x), 1.0
    for i in range(n):
        centres = [(0.5 + sum(x[: j + 1])) / (j + 2) for j in range(i)]
        variance = (0.25 + sum((x[j] - centres[j]) ** 2 for j in range(i))) / (i + 1)
        stake = min(math.sqrt(2 * math.log(1 / alpha) / (n * variance)), 0.9 / (1 - m))
        capital *= 1 + stake * (m - x[i])
        if capital >= 1 / alpha:
            return True
    return False


def test_the_betting_bound_is_where_the_gambler_gets_rich() -> None:
    """Just above the bound the capital reaches 1/alpha, just below it does not; by the definition, in plain Python."""
    rng = np.random.default_rng(0)
    for draw, scale in ((even, 10.0), (rarely_dear, 10.0), (mostly_dear, 10.0), (even, 40.0)):
        x = draw(rng, 60)
        bound = upper_bound(x, scale, 0.1, "betting")
        if bound < scale:
            assert rich(list(x / scale), bound / scale + 1e-9, 0.1)
        assert not rich(list(x / scale), bound / scale - 1e-9, 0.1)


@pytest.mark.parametrize("method", get_args(Method))
def test_the_interval_lies_around_the_mean_and_mirrors(method: Method) -> None:
    """Its ends stay in [0, M], the mean between them; the lower end is the upper one of what is left up to M."""
    x = np.tile([1.0, 2.0, 3.0, 9.0], 10)
    one, mirrored = (mean_interval(draws, 10.0, 0.95, method) for draws in (x, 10 - x))
    assert 0 <= one.low < one.mean == 3.75 < one.high <= 10
    assert (mirrored.low, mirrored.high) == pytest.approx((10 - one.high, 10 - one.low))


def test_weights_make_a_ratio() -> None:
    """Equal weights change nothing; the error of a weighted mean is that of many samples' weighted means."""
    rng = np.random.default_rng(3)
    x = even(rng, 30)
    assert mean_interval(x, 10.0, 0.9, "t", np.full(30, 2.5)).high == pytest.approx(upper_bound(x, 10.0, 0.05, "t"))
    means, errors = [], []
    for _ in range(2000):
        x, w = even(rng, 60), rng.choice([1.0, 4.0], 60)
        means.append(float(w @ x / w.sum()))
        errors.append(standard_error(x, w))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.06)
    x, w = np.array([1.0, 5.0]), np.array([3.0, 1.0])
    assert mean_interval(x, 10.0, 0.9, "t", w).mean == 2
    # deviations -1 and 3, times their weights -3 and 3, and their shares 3/4 and 1/4: sqrt(9 / (1/4) + 9 / (3/4)) / 4
    assert standard_error(x, w) == pytest.approx(3**0.5)


def test_without_a_top_there_is_students_interval() -> None:
    """Squared errors have no bound: t takes them, the others say so."""
    x = np.array([1.0, 2.0, 3.0, 6.0])
    interval = mean_interval(x, math.inf, 0.5, "t")
    half = float(stats.t.ppf(0.75, 3)) * standard_error(x)
    assert (interval.low, interval.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert mean_interval(x, math.inf, 0.95, "t").low == 0


def change(n: int, *, broken: int, mended: int) -> HeldOutChange:
    """Of n examples, two are predicted wrongly by both; `broken` go from right to wrong, `mended` from wrong to right."""
    before, after = np.zeros(n), np.zeros(n)
    before[:2] = after[:2] = 1
    after[2 : 2 + broken] = 1
    before[n - mended :] = 1
    cost = SampleCost(np.full(n, 3.0), 0.0, 3.0), SampleCost(np.full(n, 2.0), 0.0, 3.0)
    return change_of(cost, (before, after), np.ones(n), 0.95, loss=TreeLoss("zero_one"))


@pytest.mark.parametrize(
    ("n", "broken", "mended", "sentence"),
    [
        # 8/73 lies within 0.048 and 0.205, 3/73 within 0.009 and 0.115, r = -0.073: 5/73 - 0.100 and + 0.103
        (73, 8, 3, "The error may have risen by up to 17 points; 73 examples are too few to say."),
        (73, 3, 8, "The error may have fallen by up to 17 points or risen by up to 3.1 points; 73 examples are too few to say."),
        # 40 of 100: 0.303 to 0.503, and 0 of 100: 0 to 0.036
        (100, 40, 0, "The error rose, by 30 to 50 points."),
        (100, 0, 40, "The error fell, by 30 to 50 points."),
        # 0.287 to 0.293: both ends are written as 29
        (100_000, 29_000, 0, "The error rose, by 29 points."),
        (100, 0, 0, "No example is predicted worse or better; of others at most 3.6 points may be."),
        # (30 - 20) / 20,000 = 0.05 points; 30 are 20.2 to 42.8, and 20 are 12.2 to 30.9
        (20_000, 30, 20, "The error changed by at most 0.12 points, on 20,000 examples."),
    ],
)
def test_the_sentence_says_by_how_much_the_error_may_have_risen(n: int, broken: int, mended: int, sentence: str) -> None:
    """An interval that includes 0 does not say that nothing changed."""
    assert change(n, broken=broken, mended=mended).verdict.replace("\xa0", " ") == sentence


def test_a_regression_speaks_in_its_own_units() -> None:
    """Squared errors 1 before, and 1 or 5 after: the mean rises by 2, with a standard error of 2 / sqrt(39)."""
    after = np.where(np.arange(40) % 2 == 0, 1.0, 5.0)
    cost = SampleCost(np.ones(40), 0.0), SampleCost(np.ones(40), 0.0)
    seen = change_of(cost, (np.ones(40), after), np.ones(40), 0.95, loss=TreeLoss("squared_error"))
    assert seen.task == "regression"
    assert seen.verdict == "The error rose, by 1.352 to 2.648."
