"""The fuzzer of answers finds no wrong answer, and would find one."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.fuzzing import answers, cascades, limits
from benchmarks.fuzzing.__main__ import main
from formulations import PruningProblem
from formulations.answers.limits_solution import LimitsSolution
from formulations.answers.solution import Solution
from formulations.instance.limit import Limit
from formulations.instance.papers import two_trees
from solvers import SOLVERS, min_cut
from solvers.budgets import BUDGET_SOLVERS, solve_limits

INSTANCES = (1, 8, 48, 479, 1005)
"""Seeds on which solvers were wrong: prices far apart or rounded, a cost that is exactly the budget, a stalled bundle."""


@pytest.mark.parametrize("seed", INSTANCES)
def test_what_was_wrong_is_right(seed: int) -> None:
    """Wrong at some time, with all engines, budgets and paths."""
    assert list(answers.findings(seed)) == []


def test_a_call_that_never_ends_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work is limited, not time, whatever an engine catches."""

    def endless(*_: object, **__: object) -> Solution:
        while True:
            with suppress(Exception):
                answers.enumerated(two_trees())

    monkeypatch.setitem(SOLVERS, "min_cut", endless)
    instance = answers.enumerated(two_trees())
    assert instance is not None
    with pytest.raises(answers.watchdog.NeverEndsError), answers.watchdog.limited(1000):
        list(answers._judge_lambda(instance, "min_cut", 0.1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1000, 1040))
def test_other_instances(seed: int) -> None:
    """As `make fuzz`, on a few seeds."""
    assert list(answers.findings(seed)) == []


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (lambda s: {"value": s.value * 1.001}, "recomputed"),
        (lambda s: {"bound": s.bound + 0.001}, "above the optimum"),
        (lambda s: {"pruning": None, "value": s.value}, "raw AssertionError"),
    ],
)
def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch, changes: Any, wrong: str) -> None:
    """A value, a bound and a pruning that are not what the engine says."""

    def liar(problem: PruningProblem, lam: float, **options: Any) -> Solution:
        found = min_cut(problem, lam, **options)
        return replace(found, **changes(found))

    monkeypatch.setitem(SOLVERS, "min_cut", liar)
    monkeypatch.setattr(answers, "EVERY_TIME", ("min_cut",))
    found = [f.wrong for f in answers.findings(1) if f.call.startswith("min_cut")]
    assert any(wrong in text for text in found)


def test_the_command_says_how_much_it_tried(capsys: pytest.CaptureFixture[str]) -> None:
    """Status 0 where nothing was found."""
    assert main(["answers", "--cases", "1", "--seed", "1"]) == 0
    assert "1 instances from seed 1 on, 0 wrong answers" in capsys.readouterr().out


@pytest.mark.slow
def test_a_few_cascades_keep_their_word() -> None:
    """Trees of classes and numbers, with weights of 0, validation rows and items paid once among them."""
    assert [wrong for seed in range(4) for wrong in cascades.findings(seed)] == []


def test_glop_solves_what_its_preprocessing_spoils() -> None:
    """Coefficients of 2e-10 beside 1 (found by `fuzzing answers`): GLOP called it abnormal, and answers at the second try."""
    problem = answers.random_instance(np.random.default_rng(700724))
    found = SOLVERS["glop_ip3"](problem, 5.23e-11)
    assert found.value == pytest.approx(min_cut(problem, 5.23e-11).value, rel=1e-9)


def test_a_budget_for_everything_keeps_the_ends_of_the_chord_apart() -> None:
    """The budget is the only price (found by `fuzzing answers`): both ends cost it, and their slope was 0 / 0."""
    problem = answers.random_instance(np.random.default_rng(702636))
    found = BUDGET_SOLVERS["dantzig_wolfe"](problem, Fraction(7))
    assert found.bound <= BUDGET_SOLVERS["path"](problem, Fraction(7)).error <= found.error


def test_an_amount_beyond_64_bits_may_count_nothing() -> None:
    """A price of 35 millions of millions of units (found by `fuzzing answers`) that no example pays: a raw OverflowError."""
    problem = answers.random_instance(np.random.default_rng(700298))
    limit = Fraction(470795747129, 100000000000)
    assert solve_limits(problem, [Limit(limit, each=True)]).pruning.cost <= limit


@pytest.mark.parametrize("seed", [1, 4, 5, 13])
def test_limits_are_kept(seed: int) -> None:
    """As `make fuzz`, on a few seeds."""
    assert list(limits.findings(seed)) == []


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        (lambda s: {"uses": tuple(use + 1 for use in s.uses)}, "recomputed"),
        (lambda s: {"bound": s.bound - 1, "error": s.error + 1}, "recomputed"),
        (lambda s: {"error": 2 * s.error + 1, "bound": 2 * s.error + 1}, "above the least error"),
    ],
)
def test_a_wrong_answer_within_limits_is_found(monkeypatch: pytest.MonkeyPatch, changes: Any, wrong: str) -> None:
    """Uses, an error and a bound that are not what the engine says."""

    def liar(problem: PruningProblem, given: Any, **options: Any) -> LimitsSolution:
        found = solve_limits(problem, given, **options)
        return replace(found, **changes(found))

    monkeypatch.setattr(limits, "solve_limits", liar)
    assert any(wrong in f.wrong for f in limits.findings(4))
