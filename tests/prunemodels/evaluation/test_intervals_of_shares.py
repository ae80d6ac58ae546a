"""Exact intervals of shares and of their differences, and the sentences that follow from them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from formulations.instance.tree_loss import TreeLoss
from prunemodels.statements.change import HeldOutChange, SampleCost, change_of
from prunemodels.statements.mean_bounds import paired_share_interval, share_interval


def compared(n: int, worse: int, better: int, wrong_before: int = 0) -> HeldOutChange:
    """Two models on n rows: the second errs where the first does not on some rows, and the other way round on others."""
    before, after = np.zeros(n), np.zeros(n)
    before[: better + wrong_before] = 1
    after[better : better + wrong_before] = 1
    after[n - worse :] = 1
    free = SampleCost(np.zeros(n), 0.0, 1.0)
    return change_of((free, free), (before, after), np.ones(n), 0.95, loss=TreeLoss("zero_one"))


@pytest.mark.parametrize(("hits", "n"), [(0, 30), (30, 30), (3, 30), (61, 1533)])
def test_a_share_has_the_interval_of_clopper_and_pearson(hits: int, n: int) -> None:
    """SciPy's, computed by itself; 30 rows without a mistake leave up to 11.6 % possible."""
    found = share_interval(np.arange(n) < hits, np.ones(n), 0.95)
    exact = stats.binomtest(hits, n).proportion_ci(0.95, method="exact")
    assert (found.low, found.high) == pytest.approx((exact.low, exact.high), abs=1e-12)
    if hits == 0:
        assert found.high == pytest.approx(0.1157, abs=5e-5)


def test_equal_weights_are_no_weights_and_unequal_ones_count_as_fewer_rows() -> None:
    """Two thirds of 90 rows of weight 0 or 1 that are worth 30: the interval of 30 rows."""
    hits = np.arange(90) % 3 == 0
    for weight in (1.0, 7.0):
        assert share_interval(hits, np.full(90, weight), 0.95).high == share_interval(hits, np.ones(90), 0.95).high
    heavy = np.where(np.arange(90) < 10, 10.0, 1.0)
    assert share_interval(hits, heavy, 0.95).n_effective < 35
    assert share_interval(hits, heavy, 0.95).high > share_interval(hits, np.ones(90), 0.95).high


@pytest.mark.parametrize(
    ("worse", "better", "says"),
    [
        (5, 0, "The error may have risen by up to"),  # p = 0.063
        (6, 0, "The error rose, by"),  # p = 0.031
        (12, 4, "The error may have risen by up to"),  # p = 0.077
        (13, 3, "The error rose, by"),  # p = 0.021
        (0, 6, "The error fell, by"),
        (1, 5, "The error may have fallen by up to"),
        (0, 0, "No example is predicted worse or better; of others at most"),
    ],
)
def test_rose_and_fell_are_said_where_the_sign_test_says_so(worse: int, better: int, says: str) -> None:
    """At 95 %, by the exact test on the rows that are predicted worse or better, whatever the number of all rows."""
    for n in (60, 200, 1000):
        change = compared(n, worse, better)
        d, p = change.increase, stats.binomtest(worse, worse + better).pvalue if worse + better else 1.0
        assert (d.low > 0 or d.high < 0) == (p <= 0.05), n
        assert d.mean == pytest.approx((worse - better) / n)
        if n < 1000 or p <= 0.05:  # on more rows such a difference is small, and said to be
            assert change.verdict.startswith(says), n
    mirrored = paired_share_interval(np.repeat([-1.0, 1.0, 0.0], [worse, better, 90]), np.ones(90 + worse + better), 0.95)
    same = paired_share_interval(np.repeat([1.0, -1.0, 0.0], [worse, better, 90]), np.ones(90 + worse + better), 0.95)
    assert (mirrored.low, mirrored.high) == pytest.approx((-same.high, -same.low))


def test_an_error_rate_without_a_mistake_is_not_certain() -> None:
    """The interval of 30 right answers, in the table of before and after."""
    change = compared(30, 0, 0)
    assert change.error_after.mean == 0
    assert change.error_after.high == pytest.approx(0.1157, abs=5e-5)
    assert change.error_after.method == "exact"
