"""Bounds of a mean hold as often as they say, and are what their formulas are."""

from __future__ import annotations

import math
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import prunemodels as pm
from prunemodels.evaluation.mean_bounds import MeanInterval, Method, mean_interval, standard_error, upper_bound

RIGOROUS: tuple[Method, ...] = ("betting", "bernstein", "hoeffding")


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


@pytest.mark.parametrize("method", RIGOROUS)
@pytest.mark.parametrize(("draw", "mean"), POPULATIONS, ids=lambda p: getattr(p, "__name__", str(p)))
@pytest.mark.parametrize("n", [2, 25, 200])
def test_the_upper_bound_is_too_low_at_most_as_often_as_stated(method: Method, draw: object, mean: float, n: int) -> None:
    """Over 2,000 samples the bound misses the mean at most in a share alpha, up to three standard deviations of the count."""
    repeats, alpha = 2000, 0.1
    rng = np.random.default_rng(5)
    missed = sum(upper_bound(draw(rng, n), 10.0, alpha, method) < mean for _ in range(repeats))  # type: ignore[operator]
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


def test_hoeffding_and_bernstein_are_their_formulas() -> None:
    """Of 100 draws, half 0 and half 4, in [0, 4]; s^2 = 400/99."""
    x = np.tile([0.0, 4.0], 50)
    assert upper_bound(x, 4.0, 0.05, "hoeffding") == pytest.approx(2 + 4 * math.sqrt(math.log(20) / 200))
    log = math.log(40)
    expected = 2 + math.sqrt(400 / 99) * math.sqrt(2 * log / 100) + 7 * 4 * log / (3 * 99)
    assert upper_bound(x, 4.0, 0.05, "bernstein") == pytest.approx(expected)


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
def test_the_interval_lies_around_the_mean_and_narrows(method: Method) -> None:
    """Its ends stay in [0, M], the mean between them; more draws and less confidence make it shorter; lower mirrors upper."""

    def interval(n: int, confidence: float) -> MeanInterval:
        return mean_interval(np.tile([1.0, 2.0, 3.0, 9.0], n // 4), 10.0, confidence, method)

    few, many, unsure = interval(40, 0.95), interval(4000, 0.95), interval(40, 0.5)
    for one in (few, many, unsure):
        assert 0 <= one.low <= one.mean == 3.75 <= one.high <= 10
    assert many.high - many.low < few.high - few.low
    assert unsure.high - unsure.low < few.high - few.low
    x = np.tile([1.0, 2.0, 3.0, 9.0], 10)
    mirrored = mean_interval(10 - x, 10.0, 0.95, method)
    assert mirrored.low == pytest.approx(10 - few.high)
    assert mirrored.high == pytest.approx(10 - few.low)


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
    # deviations -1 and 3, times their weights -3 and 3: sqrt(2 * 18) / 4
    assert standard_error(x, w) == pytest.approx(1.5)


def test_without_a_top_there_is_students_interval() -> None:
    """Squared errors have no bound: t takes them, the others say so."""
    x = np.array([1.0, 2.0, 3.0, 6.0])
    interval = mean_interval(x, math.inf, 0.5, "t")
    half = float(stats.t.ppf(0.75, 3)) * standard_error(x)
    assert (interval.low, interval.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert mean_interval(x, math.inf, 0.95, "t").low == 0
    with pytest.raises(pm.errors.InvalidInputError, match="'betting' needs draws that cannot exceed"):
        upper_bound(x, math.inf, 0.1, "betting")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "z"}, "method is 'z'; give one of 't', 'betting'"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": 1.0}, "alpha is 1.0"),
        ({"x": np.array([1.0])}, "the method 't' needs at least 2 draws, x has 1; give more"),
        ({"x": np.array([1.0]), "method": "bernstein"}, "at least 2"),
        ({"x": np.array([]), "method": "betting"}, "at least 1"),
        ({"x": np.array([1.0, 11.0])}, "draws range from 1 to 11; they must lie between 0 and 10"),
        ({"x": np.array([-1.0, 1.0])}, "draws range from -1 to 1"),
        ({"x": np.array([math.nan, 1.0])}, "draws range from nan"),
        ({"weights": np.array([1.0, 2.0]), "method": "betting"}, "'betting' holds for draws of equal weight"),
    ],
)
def test_refusals(change: dict[str, object], message: str) -> None:
    """What no bound is defined for is refused by name and value."""
    arguments = {"x": np.array([1.0, 2.0]), "largest": 10.0, "alpha": 0.1, "method": "t"} | change
    with pytest.raises(pm.errors.InvalidInputError, match=message):
        upper_bound(**arguments)  # type: ignore[arg-type]


def test_an_interval_needs_two_and_a_confidence() -> None:
    """One example, and confidences of 0 and 1, are refused."""
    with pytest.raises(pm.errors.InvalidInputError, match="at least 2 examples of positive weight, there is 1"):
        mean_interval(np.array([1.0]), 2.0, 0.95, "hoeffding")
    for confidence in (0.0, 1.0, math.nan, 95.0):
        with pytest.raises(pm.errors.InvalidInputError, match=f"confidence is {confidence}"):
            mean_interval(np.array([1.0, 2.0]), 2.0, confidence, "t")
