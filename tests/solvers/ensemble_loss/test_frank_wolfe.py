"""The search: bounds that hold, values that are true, and nothing lost on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formulations.answers.pruning import Pruning
from formulations.answers.solution import Status, StopReason
from formulations.errors import InterruptedSolveError, InvalidInputError
from solvers.brute_force import all_prunings
from solvers.ensemble_loss import frank_wolfe, level_sets_of
from solvers.ensemble_loss.frank_wolfe import Oracle, _FrankWolfe
from solvers.ensemble_loss.mixing import best_combination
from tests.solvers.ensemble_loss.cases import TRIED, random_instance

SEEDS = st.integers(0, 5_000)
LAMS = st.sampled_from([0.0, 0.003, 0.02, 0.1, 0.7, 1e9])


@TRIED
@given(SEEDS, LAMS)
def test_the_bound_is_below_every_pruning_and_the_value_is_one(seed: int, lam: float) -> None:
    """Against all prunings, each walked; the value is its pruning's, and within a gap of 0 it is the least."""
    instance = random_instance(seed)
    found = frank_wolfe(instance.problem, lam, tolerance=0.0)
    least = instance.least(lam)
    assert found.bound <= least + 1e-15
    assert found.value == pytest.approx(instance.objective(found.pruning, lam), rel=1e-12, abs=1e-12)
    assert found.value == found.loss + lam * found.pruning.cost
    assert found.bound <= found.value
    if found.status == Status.OPTIMAL:
        roots = instance.objective(Pruning.all_roots(instance.problem.problem), 0.0)
        assert found.value <= least + 1e-8 * (roots + 1e-300)


@TRIED
@given(SEEDS, LAMS)
def test_the_relaxation_is_solved(seed: int, lam: float) -> None:
    """The mixture is as good as the best mixture of all prunings, which is the relaxation's minimum, and the bound meets it."""
    problem = random_instance(seed).problem
    found = frank_wolfe(problem, lam, tolerance=1e-7, iterations=200)
    everything = [Pruning(problem.problem, kept) for kept in all_prunings(problem.problem).kept]
    F = np.stack([problem.of_pruning(p) for p in everything])
    costs = lam * np.array([p.cost for p in everything])
    ideal = best_combination(problem, F, costs, np.eye(len(F))[0]).value
    assert found.stopped == StopReason.CONVERGED
    assert found.relaxed <= ideal * (1 + 1e-6) + 1e-9
    assert found.bound >= ideal * (1 - 1e-6) - 1e-6
    assert found.bound <= found.relaxed


@TRIED
@given(SEEDS)
def test_its_mixture_starts_the_next(seed: int) -> None:
    """From the final mixture the first step already has its relaxed value, and the point is that mixture."""
    problem = random_instance(seed).problem
    first = frank_wolfe(problem, 0.02, tolerance=1e-9)
    again = frank_wolfe(problem, 0.02, tolerance=1e-9, start=first.active)
    assert again.history["relaxed"][0] <= first.relaxed + 1e-9
    assert problem.loss_of(problem.predictions(first.point)) <= first.relaxed + 1e-9
    assert first.weights.sum() == pytest.approx(1)


def test_without_splits_there_is_one_answer() -> None:
    """Trees of a single leaf: loss of the constants, gap 0."""
    seeds = [s for s in range(60) if not random_instance(s).problem.ensemble.n_splits]
    assert seeds
    for seed in seeds[:5]:
        found = frank_wolfe(random_instance(seed).problem, 0.1)
        assert found.status == Status.OPTIMAL
        assert found.pruning.n_splits == 0


def test_limits_are_told_and_the_answer_is_whole() -> None:
    """Without time no step is made, and the bound is 0; with one step the limit is named."""
    instance = random_instance(10)
    none = frank_wolfe(instance.problem, 0.01, time_limit=0.0)
    assert none.stopped == StopReason.TIME_LIMIT
    assert none.bound == 0.0
    assert {name: column.shape for name, column in none.history.items()} == {"relaxed": (0,), "bound": (0,)}
    assert none.value == pytest.approx(instance.objective(none.pruning, 0.01))
    slow = [frank_wolfe(random_instance(seed).problem, 0.01, iterations=1, tolerance=0.0) for seed in range(30)]
    assert all(s.history["bound"].size == 1 for s in slow)
    assert any(s.stopped == StopReason.ITERATION_LIMIT for s in slow)
    assert all(s.stats["iterations"] == 1 for s in slow)


def test_rounding_and_what_was_seen_both_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somewhere a level set beats all that was cut or mixed, somewhere the reverse; the answer is the better of the two."""
    problems = [random_instance(seed).problem for seed in (*range(16), 76, 104)]  # few have either
    answers = [frank_wolfe(problem, 0.05, tolerance=1e-6) for problem in problems]
    rounded = [level_sets_of(a.problem, a.point).best(0.05)[1] for a in answers]
    monkeypatch.setattr(_FrankWolfe, "round", lambda _: None)
    seen = [frank_wolfe(problem, 0.05, tolerance=1e-6).value for problem in problems]
    for answer, level_set, pruning in zip(answers, rounded, seen, strict=True):
        assert answer.value == pytest.approx(min(level_set, pruning), abs=1e-12)
    assert any(r < s - 1e-9 for r, s in zip(rounded, seen, strict=True))
    assert any(s < r - 1e-9 for r, s in zip(rounded, seen, strict=True))


@pytest.mark.parametrize(
    ("lam", "options", "message"),
    [
        (-1.0, {}, "lam is -1.0"),
        (float("nan"), {}, "lam is nan"),
        (0.1, {"tolerance": -1e-3}, "tolerance is -0.001"),
        (0.1, {"tolerance": float("nan")}, "tolerance is nan"),
        (0.1, {"iterations": 0}, "iterations 0"),
        (0.1, {"start": [Pruning.all_roots(random_instance(3).problem.problem)]}, "another forest"),
    ],
)
def test_bad_options_are_refused(lam: float, options: dict[str, object], message: str) -> None:
    """Each by its name and value."""
    with pytest.raises(InvalidInputError, match=message):
        frank_wolfe(random_instance(2).problem, lam, **options)  # type: ignore[arg-type]


def test_ctrl_c_is_passed_on_as_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupt during a cut ends the search with the package's own exception."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Oracle, "best", stop)
    with pytest.raises(InterruptedSolveError, match="nothing was changed"):
        frank_wolfe(random_instance(2).problem, 0.1)
    assert "EnsembleSolution(" in repr(frank_wolfe(random_instance(2).problem, 0.1, time_limit=0.0))
