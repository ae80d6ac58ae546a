"""The integrated Brier score of survival curves, and the errors of nodes that are made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.errors import InvalidInputError
from formulations.instance import survival
from formulations.instance.ensemble import Ensemble
from formulations.instance.node_errors import errors_on_sample
from formulations.instance.routing import as_rows, route
from formulations.instance.survival import CensoredSample, SurvivalCurves
from formulations.instance.tree_loss import TreeLoss
from tests.instances import Node, ensemble_of
from tests.loops import looped

TIMES = np.array([1.0, 2.0, 3.0])
T, EVENT = np.array([1.0, 2.0, 4.0]), np.array([True, False, True])
ONES = np.ones(3)


def stump() -> Ensemble:
    """A row with x <= 0.5 goes left; the curves are those of `test_three_rows_by_hand`."""
    curves = np.array([[0.5, 0.5, 0.0], [0.5, 0.5, 0.5], [1.0, 1.0, 1.0]])
    ensemble, _ = ensemble_of([Node(0, 0, 0.5, Node(0), Node(0))], 1)
    judged: dict[str, Any] = {
        "judged_by": TreeLoss("integrated_brier_score"),
        "curves": SurvivalCurves(TIMES, (curves,), np.arange(3)),
    }
    return replace(ensemble, value=np.zeros((3, 1)), task="regression", classes=None, **judged)


def test_three_rows_by_hand() -> None:
    """Rows 0 and 1 go left, row 2 right. Row 0 has its event at 1, row 1 is censored at 2, row 2 has its event at 4.

    q: the times 1, 2, 3 lie in [1, 4), so the trapezoids weigh 1/4, 1/2, 1/4.
    G: nobody is censored at 1, so G(1) = 1. At 2 one of two is: G(2) = G(3) = 1/2.
    Root, S = 1/2, 1/2, 0:
      row 0  died before all times, weight 1 / G(1):  1/4 1/4 + 1/2 1/4 + 1/4 0            = 3/16
      row 1  alive at 1, unknown later:               1/4 (1 - 1/2)^2                      = 1/16
      row 2  alive at all, weights 1, 2, 2:           1/4 1/4 + 2 1/2 1/4 + 2 1/4 1        = 13/16
    Left leaf, S = 1/2 throughout: row 0 1/4, row 1 1/16. Right leaf, S = 1: row 2 is alive at all times, 0.
    """
    sample = CensoredSample.of(T, EVENT, TIMES, ONES)
    assert sample.after.tolist() == [1 / 4, 1 / 2, 1 / 4]
    assert sample.at_risk.tolist() == [1 / 4, 1, 1 / 2]
    assert sample.row_losses(np.tile([0.5, 0.5, 0.0], (3, 1))).tolist() == [3 / 16, 1 / 16, 13 / 16]
    trees = stump()
    found = errors_on_sample(trees, route(trees, as_rows([[0.0], [0.0], [1.0]], 1)), sample, ONES)
    assert found.e.tolist() == [17 / 16, 5 / 16, 0]
    assert found.weight.tolist() == [3]


def test_times_outside_of_the_follow_up_do_not_count() -> None:
    """Nobody is observed beyond 4, so what the curve says from there on costs nothing; nor does what it says before 1."""
    times = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 9.0])
    sample = CensoredSample.of(T, EVENT, times, ONES)
    curves = np.tile([0.3, 0.5, 0.5, 0.0, 0.7, 0.2], (3, 1))
    assert sample.row_losses(curves).tolist() == [3 / 16, 1 / 16, 13 / 16]


def random_case(seed: int, n: int = 60) -> tuple[Any, ...]:
    """Tied times, real weights of which some are 0, and monotone curves."""
    rng = np.random.default_rng(seed)
    time, event = rng.integers(1, 25, n).astype(float), rng.random(n) < 0.6
    weights = rng.uniform(0.2, 3, n) * (rng.random(n) < 0.9)
    times = np.unique(rng.integers(1, 25, 15)).astype(float)
    curves = np.sort(rng.random((n, len(times))), axis=1)[:, ::-1]
    return time, event, weights, times, np.ascontiguousarray(curves)


@looped("seed", range(8))
def test_whole_weights_are_repetitions(seed: int) -> None:
    """A weight of 3 counts a row three times, a weight of 0 leaves it out, in the estimate of censoring too."""
    time, event, _, times, curves = random_case(seed)
    weights = np.random.default_rng(seed).integers(0, 4, len(time))
    weighted = CensoredSample.of(time, event, times, weights.astype(float)).row_losses(curves)
    repeated = np.repeat(np.arange(len(time)), weights)
    again = CensoredSample.of(time[repeated], event[repeated], times, np.ones(len(repeated))).row_losses(curves[repeated])
    np.testing.assert_allclose(weighted[repeated], again, rtol=1e-12)


@looped("seed", range(8))
def test_errors_of_nodes_are_sums_of_row_losses(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """e_h is the weighted sum of the scores of the rows at h with the curve of h, whatever the size of a block."""
    time, event, weights, times, curves = random_case(seed)
    trees = stump()
    columns = np.random.default_rng(seed).permutation(len(times) + 2)[: len(times)]
    stored = np.full((3, len(times) + 2), np.nan)  # the columns that are not asked for are never read
    stored[:, columns] = curves[:3]
    object.__setattr__(trees, "curves", SurvivalCurves(times, (stored,), columns))
    x = np.random.default_rng(seed).integers(0, 2, len(time))
    sample, routing = CensoredSample.of(time, event, times, weights), route(trees, as_rows(x[:, None].astype(float), 1))
    per_tree = weights * np.random.default_rng(seed).integers(0, 3, len(time))
    expected = []
    for node, here in enumerate((x >= 0, x == 0, x == 1)):
        expected.append(float((per_tree * sample.row_losses(np.tile(curves[node], (len(time), 1))))[here].sum()))
    for block in (1, 100, 2**21):
        monkeypatch.setattr(survival, "BLOCK", block)
        found = errors_on_sample(trees, routing, sample, per_tree[None])
        np.testing.assert_allclose(found.e, expected, rtol=1e-12)


@looped("seed", range(8))
def test_agrees_with_scikit_survival(seed: int) -> None:
    """With equal weights the mean score is scikit-survival's, with the examples as its survival_train."""
    metrics = pytest.importorskip("sksurv.metrics")
    util = pytest.importorskip("sksurv.util")
    time, event, _, times, curves = random_case(seed)
    y = util.Surv.from_arrays(event, time)
    inside = (times >= time.min()) & (times < time.max())
    expected = metrics.integrated_brier_score(y, y, curves[:, inside], times[inside])
    sample = CensoredSample.of(time, event, times, np.ones(len(time)))
    assert sample.row_losses(curves).mean() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("time", "event", "weights", "message"),
    [
        (T, [False] * 3, ONES, r"errors: y: all 3 examples are censored; give examples of which some have an event"),
        (T, EVENT, np.array([0.0, 1.0, 0.0]), r"all 1 examples are censored"),
        (np.array([1.0, 1.5, 2.0]), EVENT, ONES, r"until times from 1 to 2, where the forest has 1 of its event times, 1 to 3"),
        (T + 7, EVENT, ONES, r"from 8 to 11, where the forest has 0 of its event times"),
    ],
)
def test_examples_without_a_score_are_refused(
    time: NDArray[np.float64], event: Any, weights: NDArray[np.float64], message: str
) -> None:
    """Examples that are all censored, and those observed at other times than the forest's training examples."""
    with pytest.raises(InvalidInputError, match=message):
        CensoredSample.of(time, np.asarray(event), TIMES, weights, "errors: y")


def test_one_tree_of_several_keeps_its_curves() -> None:
    """`Ensemble.only_tree` takes the tree's own curves along."""
    one = stump()
    left, right = (np.concatenate([a, np.where(a >= 0, a + 3, -1)]).astype(np.int32) for a in (one.left, one.right))
    stored = one.curves.stored[0]
    twice = {name: np.tile(getattr(one, name), 2) for name in ("feature", "threshold", "missing_left")}
    curves = SurvivalCurves(TIMES, (stored, stored / 2), one.curves.column)
    both = replace(one, tree_start=np.array([0, 3, 6]), left=left, right=right, value=np.zeros((6, 1)), curves=curves, **twice)
    second = both.only_tree(1).curves
    np.testing.assert_array_equal(second.of_all(), stored / 2)
    assert repr(both) == "Ensemble(2 trees, 2 splits, 1 features, survival at 3 event times)"
