"""Bounds of a mean from a sample: exact ones of a share, Student's t, or without any assumption about the distribution.

For n independent draws x_1, ..., x_n of one distribution on [0, M] with mean mu, each method gives an upper bound U with

    P(mu <= U) >= 1 - alpha                                                                                     (1)

    t            mean + t_{n-1, 1-alpha} s / sqrt(n)                     no guarantee for any n, see below
    betting      the least m at which a gambler who bets against "mu >= m" multiplies his capital by 1/alpha      (2)

(2) holds for every n. Student's bound has the probability of (1) in the limit of large n. Where a few draws make up most of
the mean, it is too low several times as often as stated (``python -m benchmarks.confidence``). (2) is of Waudby-Smith and Ramdas,
*Estimating means of bounded random variables by betting*, 2024: with stakes s_i that depend on x_1, ..., x_{i-1} only, and with
all numbers in units of M, the capital

    K_i(m) = product over j <= i of (1 + s_j(m) (m - x_j)),    s_j(m) = min(s_j, 0.9 / (1 - m)),
    s_j    = sqrt(2 log(1/alpha) / (n v_{j-1})),    v_j = (1/4 + sum over i <= j of (x_i - mean_i)^2) / (j + 1),         (3)
    mean_j = (1/2 + sum over i <= j of x_i) / (j + 1)

is never negative. If mu >= m, it is a supermartingale, so the probability that it ever reaches 1/alpha is at most alpha (Ville's
inequality). Each factor grows with m, so bisection finds the bound.

Draws of different weights are worth as much as fewer draws of equal weight. With W = w_1 + ... + w_n, Student's interval takes

    n_eff = W^2 / sum of w_i^2                                  n where all weights are equal                           (4)
    se^2  = sum of q_i (x_i - mean)^2 / W^2,    q_i = w_i^2 / (1 - w_i / W)         s^2 / n where all weights are equal  (5)

and n_eff - 1 degrees of freedom. (5) is White's standard error of a weighted mean with the correction HC2 of MacKinnon and White,
*Some heteroskedasticity-consistent covariance matrix estimators with improved finite sample properties*, 1985: a heavy draw pulls
the mean towards itself. Below an n_eff of 2 nothing can be told; below 30 95 % intervals hold less often than that
(``python -m benchmarks.confidence --weights``).

A share of n draws that are 0 or 1 has the exact interval [l, u] of Clopper and Pearson, 1934, with n_eff in the place of n where
weights differ (Korn and Graubard, 1998). The difference of two shares of the same draws, d = b - c with b the share of draws that
are worse and c of those that are better, has the ends (Newcombe 1998, of whose form this is the exact one)

    d - sqrt((b - l_b)^2 - 2 r (b - l_b) (u_c - c) + (u_c - c)^2),    r = -sqrt(b c / (1 - b)(1 - c))                   (6)
    d + sqrt((u_b - b)^2 - 2 r (u_b - b) (c - l_c) + (c - l_c)^2)

and 0 lies between them unless the exact sign test on the draws that are worse or better rejects it at the same confidence: five
worse and none better (p = 0.063) do not say that something rose. On 30 to 2,000 rows (6) held in 95.2 to 100 % of the samples,
Student's interval in 78 to 100 % (``python -m benchmarks.confidence --pairs``).

Examples may come in groups, such as the visits of a patient. With n_g examples of weights w_i in group g, a mean over the
examples is one over the groups,

    sum of w_i x_i / sum of w_i  =  sum of W_g mean_g / sum of W_g,      W_g = sum of w_i in g,  mean_g = their mean         (7)

so a group counts as one draw, whatever its examples have in common, and intervals are those of weighted draws (Liang and Zeger,
1986, for standard errors). A share's interval is exact where each group is a single example. The share of a group lies between 0
and 1 and varies less than a draw that is 0 or 1, so else the interval is too wide rather than too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from formulations.arguments import Share, checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError

Method = Literal["t", "betting"]
BoundMethod = Method | Literal["exact"]


@dataclass(frozen=True)
class StatementParams:
    """What statements call few, small and enough to name."""

    bisections: int = 50  # halvings of [0, M] in (2): after so many the bound exceeds the least m by less than rounding
    few: int = 30  # below so many effective draws (4), Student's interval of a weighted mean holds less often than it says
    # an increase of the error rate below one percentage point counts as small, or one below this share of any other error
    small: float = 0.01
    most_classes: int = 20  # the most classes that a card lists
    most_names: int = 6  # the most features that a card names


PARAMS = StatementParams()

LEAST = 2 * (1 - 1e-9)
"""Below so many effective draws there is no interval: 2, less rounding."""


class Effective:
    """What a number of examples and their effective number (4) say; of all answers that have `n` and `n_effective`."""

    n: int
    n_effective: float

    @property
    def is_told(self) -> bool:
        """Whether there are enough examples by weight for an interval."""
        return self.n_effective >= LEAST

    @property
    def warnings(self) -> tuple[str, ...]:
        """Where weights differ, a sentence on how many examples they leave, and whether intervals can be trusted."""
        if self.n_effective > self.n * (1 - 1e-9):
            return ()
        counted = f"By weight the {self.n:,} examples count as {self.n_effective:,.3g} of equal weight"
        if not self.is_told:
            return (f"{counted}: how far chance goes cannot be told.",)
        few = self.n_effective < PARAMS.few
        return (f"{counted}, fewer than {PARAMS.few}: intervals hold less often than they say." if few else f"{counted}.",)


@dataclass(frozen=True)
class MeanInterval(Effective):
    """The mean over examples that played no part in any choice, and an interval for the population's mean.

    Parameters
    ----------
    mean, standard_error
        of the sample.
    low, high
        the two-sided interval: the population's mean is beyond each end with probability (1 - confidence) / 2 at most.
    method
        of the interval, see `prunemodels.statements.mean_bounds`.
    n
        number of examples.
    n_effective
        how many examples of equal weight they are worth: (4). Below 2 the interval has all that is possible; see `warnings`.
    """

    mean: float
    standard_error: float
    low: float
    high: float
    confidence: float
    method: BoundMethod
    n: int
    n_effective: float

    @checked
    def plus(self, constant: float) -> Self:
        """The interval of the mean plus a number that is known without error."""
        low, mean, high = (constant + number for number in (self.low, self.mean, self.high))
        return replace(self, low=low, mean=mean, high=high)


@checked
def mean_interval(
    x: NDArray[np.float64],
    largest: float,
    confidence: Share,
    method: Method,
    weights: NDArray[np.float64] | None = None,
) -> MeanInterval:
    """The mean of draws from [0, largest] with a two-sided interval; arguments as in `upper_bound`."""
    n = len(x)
    if n < 2:
        raise InvalidInputError(f"an interval needs at least 2 examples of positive weight, there is {n}")
    weights, alpha = unequal(weights), (1 - confidence) / 2
    high = upper_bound(x, largest, alpha, method, weights)
    # the lower bound of x follows from the upper bound of top - x; without a largest value the largest draw serves as top
    top = largest if math.isfinite(largest) else float(x.max())
    low = top - upper_bound(np.clip(top - x, 0.0, None), largest, alpha, method, weights)
    mean, error = _mean(x, weights), standard_error(x, weights)
    effective = n if weights is None else effective_rows(weights)
    return MeanInterval(mean, error, max(0.0, low), high, confidence, method, n, effective)


@checked
def upper_bound(
    x: NDArray[np.float64], largest: float, alpha: Share, method: BoundMethod, weights: NDArray[np.float64] | None = None
) -> float:
    """U of (1); that of the method ``"exact"`` is Clopper and Pearson's, for draws that are 0 or 1.

    Parameters
    ----------
    x
        the draws, in random order, because (2) reads them one after another.
    largest
        M: no draw can be above it. It must be known beforehand, not taken from the sample. It may be infinite with ``"t"`` only.
    alpha
        0 < alpha < 1.
    weights
        positive, for ``"t"`` only: the mean is sum(w x) / sum(w).

    Raises
    ------
    InvalidInputError
        for another method, an alpha outside (0, 1), a draw outside [0, M], too few draws, or a method that cannot have weights.
    """
    _check(x, largest, method, weights)
    n, mean = len(x), _mean(x, weights)
    if method == "exact":
        bound = _exact_ends(mean, n, 1 - 2 * alpha)[1]
    elif method == "t":
        bound = mean + _half_width(x, weights, alpha)
    elif largest == 0:
        bound = 0.0
    else:
        bound = largest * float(_betting(np.clip(x / largest, 0.0, 1.0), alpha, PARAMS.bisections))
    return min(bound, largest)


def _mean(x: NDArray[np.float64], weights: NDArray[np.float64] | None) -> float:
    return float(x.mean() if weights is None else weights @ x / weights.sum())


def unequal(weights: NDArray[np.float64] | None) -> NDArray[np.float64] | None:
    """The weights; None where all are equal, which is no weights."""
    return None if weights is None or (weights == weights[0]).all() else weights


def effective_rows(weights: NDArray[np.float64]) -> float:
    """(4)."""
    return len(weights) if unequal(weights) is None else float(weights.sum() ** 2 / (weights @ weights))


def squared_weights(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The q of (5)."""
    left = 1 - weights / weights.sum()
    return np.asarray(weights**2 / np.maximum(left, np.finfo(np.float64).eps))


def standard_error(x: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> float:
    """The standard error of the mean: (5), without weights s / sqrt(n), where s has n - 1 in its denominator."""
    w = np.ones(len(x)) if weights is None else weights
    return math.sqrt(float(squared_weights(w) @ (x - _mean(x, weights)) ** 2)) / float(w.sum())


def quantile(confidence: float, n_effective: float) -> float:
    """Half the width of Student's two-sided interval in standard errors; infinite where nothing can be told."""
    return float(stats.t.ppf((1 + confidence) / 2, n_effective - 1)) if n_effective >= LEAST else math.inf


def _half_width(x: NDArray[np.float64], weights: NDArray[np.float64] | None, alpha: float) -> float:
    """Half the width of Student's interval that leaves out alpha at each end."""
    times = quantile(1 - 2 * alpha, len(x) if weights is None else effective_rows(weights))
    return times if math.isinf(times) else times * standard_error(x, weights)


def _check(x: NDArray[np.float64], largest: float, method: BoundMethod, weights: NDArray[np.float64] | None) -> None:
    least = 2 if method == "t" else 1
    if len(x) < least:
        raise InvalidInputError(f"the method {method!r} needs at least {least} draws, x has {len(x)}; give more")
    if method != "t" and weights is not None and (weights != weights[0]).any():
        raise InvalidInputError(f"the method {method!r} holds for draws of equal weight; use 't', or draw rows by their weights")
    if method != "t" and not math.isfinite(largest):
        raise InvalidInputError(f"the method {method!r} needs draws that cannot exceed a known number; use 't'")
    slack = 1e-9 * largest  # rounding in sums of floats
    if not (x.min() >= -slack and x.max() <= largest + slack):
        raise InvalidInputError(f"the draws range from {x.min():g} to {x.max():g}; they must lie between 0 and {largest:g}")


def share_interval(hits: NDArray[Any], weights: NDArray[np.float64], confidence: float) -> MeanInterval:
    """The share of draws that are 1, of draws that are 0 or 1, with its exact interval; of shares of groups one that is wider."""
    share, n_effective = _mean(hits, unequal(weights)), effective_rows(weights)
    low, high = _exact_ends(share, n_effective, confidence)
    error = standard_error(hits, weights) if len(hits) > 1 else math.nan
    return MeanInterval(share, error, low, high, confidence, "exact", len(hits), n_effective)


def _exact_ends(share: float, n: float, confidence: float) -> tuple[float, float]:
    """Clopper and Pearson's interval of a share of n draws; all that is possible where there are too few."""
    if n < LEAST:
        return 0.0, 1.0
    alpha, hits = (1 - confidence) / 2, share * n
    low = float(stats.beta.ppf(alpha, hits, n - hits + 1)) if hits > 0 else 0.0
    high = float(stats.beta.ppf(1 - alpha, hits + 1, n - hits)) if hits < n else 1.0
    return low, high


def ends_along(
    mean: NDArray[np.float64], standard_error: NDArray[np.float64], n: float, confidence: float, *, shares: bool
) -> NDArray[np.float64]:
    """The ends of the intervals of several means over the same n effective draws, each by itself, shape (2, K).

    Exact ones where the means are shares, else Student's; of width 0 where the standard error is not known.
    """
    if shares:
        return np.array([_exact_ends(share, n, confidence) for share in mean.tolist()]).T
    half = quantile(confidence, max(2.0, n)) * np.nan_to_num(standard_error)
    return np.array([mean - half, mean + half])


def paired_share_interval(d: NDArray[np.float64], weights: NDArray[np.float64], confidence: float) -> MeanInterval:
    """The mean of differences that are -1, 0 or 1, or means of such in groups, with the interval (6)."""
    n = effective_rows(weights)
    worse, better = (_mean(np.maximum(sign * d, 0.0), unequal(weights)) for sign in (1, -1))
    (worse_low, worse_high), (better_low, better_high) = (_exact_ends(share, n, confidence) for share in (worse, better))
    both_possible = worse < 1 and better < 1
    r = -math.sqrt(worse * better / ((1 - worse) * (1 - better))) if both_possible else 0.0
    mean = worse - better
    low = mean - _combined(worse - worse_low, better_high - better, r)
    high = mean + _combined(worse_high - worse, better - better_low, r)
    if sign_test(worse * n, better * n) > 1 - confidence:
        low, high = min(low, 0.0), max(high, 0.0)
    return MeanInterval(mean, standard_error(d, weights), max(low, -1.0), min(high, 1.0), confidence, "exact", len(d), n)


def _combined(a: float, b: float, r: float) -> float:
    return math.sqrt(max(0.0, a * a - 2 * r * a * b + b * b))


def sign_test(worse: float, better: float) -> float:
    """The two-sided p-value of so many draws that are worse and better, if both were as likely."""
    most, least = max(worse, better), min(worse, better)
    return min(1.0, 2 * float(special.betainc(most, least + 1, 0.5))) if most > 0 else 1.0


def paired_interval(d: NDArray[np.float64], weights: NDArray[np.float64], confidence: float) -> MeanInterval:
    """The mean of differences, of any sign, with Student's two-sided interval."""
    mean, error, half = _mean(d, weights), standard_error(d, weights), _half_width(d, weights, (1 - confidence) / 2)
    return MeanInterval(mean, error, mean - half, mean + half, confidence, "t", len(d), effective_rows(weights))


def repeated(groups: NDArray[np.int64] | None) -> NDArray[np.int64] | None:
    """The groups; None where each is a single row, which is no groups."""
    return None if groups is None or np.unique(groups).size == groups.size else groups


def over_groups(
    each: Sequence[NDArray[np.float64]], weights: NDArray[np.float64], groups: NDArray[np.int64]
) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """(7): the means of some amounts in each group, and the groups' weights."""
    total = np.bincount(groups, weights=weights).astype(np.float64)
    there = total > 0  # others have no example among these
    return [np.bincount(groups, weights=weights * x)[there] / total[there] for x in each], total[there]


@njit(cache=True)
def _betting(x, alpha, bisections):  # type: ignore[no-untyped-def]
    """(2) by bisection, for x in [0, 1]; returns an m at which the capital reached 1/alpha, or 1."""
    n = x.shape[0]
    stake = np.empty(n)
    # stakes from the mean and the variance of what came before, so that no stake knows its own x
    total, squares, variance = 0.5, 0.25, 0.25
    for i in range(n):
        stake[i] = math.sqrt(2 * math.log(1 / alpha) / (n * variance))
        total += x[i]
        squares += (x[i] - total / (i + 2)) ** 2
        variance = squares / (i + 2)
    # the capital grows past 1/alpha where m is far above the mean: find the least such m
    low, high = 0.0, 1.0
    for _ in range(bisections):
        m = (low + high) / 2
        capital = 1.0
        for i in range(n):
            capital *= 1 + min(stake[i], 0.9 / (1 - m)) * (m - x[i])
            if capital * alpha >= 1:
                break
        if capital * alpha >= 1:
            high = m
        else:
            low = m
    return high
