"""The engine taken by size, and what is said of the choice."""

from __future__ import annotations

import math

import pytest

import solvers.automatic
from formulations.answers.solution import ItemDuals, SharedPrices, Status
from formulations.instance.papers import two_trees
from solvers.automatic import optimal_pruning, predicted_seconds
from solvers.closures.min_cut import min_cut
from tests.instances import random_problem
from tests.loops import looped


@looped("seed", range(0, 60, 3))
@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_both_engines_give_the_same_extreme_optimum(seed: int, ties: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever engine is taken, the pruning is the one that min_cut proves."""
    problem = random_problem(seed)
    expected = min_cut(problem, 0.125, ties=ties)  # type: ignore[arg-type]
    monkeypatch.setattr(solvers.automatic, "SMALL_CORE", -1)
    for rounds in (1000, -1):
        monkeypatch.setattr(solvers.automatic, "FULL_ROUNDS", rounds)
        found = optimal_pruning(problem, 0.125, ties=ties)  # type: ignore[arg-type]
        assert (found.pruning.kept == expected.pruning.kept).all()  # type: ignore[union-attr]
        assert found.status is expected.status
        assert found.method == ("price_sharing" if rounds < 0 else "min_cut")


def test_small_instances_are_cut_large_ones_shared() -> None:
    """The predictions cross once, at about one usage arc a split."""
    splits = 100_000
    predicted = {a: predicted_seconds(a, splits) for a in range(0, 5_000_000, 10_000)}
    cheaper = [a for a, (cut, sharing) in predicted.items() if cut > sharing]
    assert splits < cheaper[0] < 1.25 * splits
    assert len(cheaper) == (5_000_000 - cheaper[0]) // 10_000


def test_the_predictions_by_hand() -> None:
    """A million usage arcs and ten thousand splits: 0.55 + 0.009 s; 55 rounds of 1.5 + 0.26 ms."""
    assert predicted_seconds(1_000_000, 10_000) == pytest.approx((0.559, 0.0968))


def test_a_cut_is_taken_only_well_within_the_time_limit() -> None:
    """A cut cannot be stopped, so under a limit that it could break the engine is the one that looks at the clock."""
    problem = two_trees()
    cut, _ = predicted_seconds(problem.n_usage_arcs, problem.ensemble.n_splits)
    for limit, certificate in ((math.inf, ItemDuals), (4.001 * cut, ItemDuals), (3.999 * cut, SharedPrices)):
        assert isinstance(optimal_pruning(problem, 0.1, time_limit=limit).certificate, certificate)
    stopped = optimal_pruning(problem, 0.1, time_limit=0.0)
    assert stopped.status is not Status.OPTIMAL or stopped.gap == 0


def test_the_choice_is_explained_beside_the_engine_s_own_figures() -> None:
    """The solution names the engine; the stats hold both predictions and what the engine itself says."""
    solution = optimal_pruning(two_trees(), 0.2)
    cut, sharing = predicted_seconds(solution.problem.n_usage_arcs, solution.problem.ensemble.n_splits)
    assert solution.method == "min_cut"
    assert solution.stats["min_cut_seconds_predicted"] == cut
    assert solution.stats["price_sharing_seconds_predicted"] == sharing
    assert solution.stats["seconds"] > 0
    assert solution.value == pytest.approx(2 / 8 + 0.2 * 2)
