"""BudgetPrune by hand, and its values and bounds on either side of the optimum in every iteration."""

from __future__ import annotations

import sys
from itertools import count
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest

import prunemodels as pm
from formulations import InvalidInputError, Pruning, StopReason
from formulations.programs.linear_program import usage_columns
from proofs_checks import check_solution
from solvers import brute_force
from solvers.primal_dual import primal_dual
from solvers.primal_dual.algorithm import Rule, Step
from solvers.primal_dual.duals import DEFAULTS, Duals, PrimalDualParams, StartRule
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, lambdas, twin_stumps

algorithm = sys.modules["solvers.primal_dual.algorithm"]
PAPER: dict[str, Any] = {"start": "zeros", "averaging": 1.0, "step": "constant"}


def test_iterates_by_hand() -> None:
    """The paper's iterates on two equal stumps that gain .1 each and share a purchase of .1, gamma = .04.

    beta = (0, 0): both trees keep, bound .4 - .2, value .2 + .1; mu = .1 > 0, so w = 0 and the subgradient is (+1, +1).
    beta = (.04, .04): each tree still gains .06, mu = .02: bound .4 - .12. beta = (.08, .08): mu = -.06, w = 1, the subgradient
    is 0: bound .4 - .04 - .06, the value.
    """
    found = primal_dual(twin_stumps(), 0.1, gap=0, step_size=0.4, **PAPER)
    history = found.history
    np.testing.assert_allclose(history["iterate_bound"], [0.2, 0.28, 0.3])
    np.testing.assert_allclose(history["iterate_value"], [0.3, 0.3, 0.3])
    np.testing.assert_allclose(history["step"], [0.04, 0.04, 0.0])
    assert {column.shape for column in history.values()} == {(3,)}
    assert found.stopped is StopReason.CONVERGED
    assert found.bound == pytest.approx(0.3)


def test_the_subgradient_turns_back_by_hand() -> None:
    """Where the trees prune what is bought, w = 1 and y = 0, charges fall again: subgradient (-1, -1), price .2, gamma = .12.

    beta = (0, 0): bound .4 - .2. beta = (.12, .12): both gains of .1 are charged too much, mu = -.04: bound .4 - .04, all
    pruned. beta = (0, 0) again; had it gone on to (.24, .24), the bound would be .4 - .28.
    """
    history = primal_dual(twin_stumps(), 0.2, gap=0, step_size=0.6, iterations=3, **PAPER).history
    np.testing.assert_allclose(history["iterate_bound"], [0.2, 0.36, 0.2])
    np.testing.assert_allclose(history["bound"], [0.2, 0.36, 0.36])
    np.testing.assert_allclose(history["iterate_value"], [0.4, 0.4, 0.4])


def test_polyak_steps_by_hand() -> None:
    """By gamma = theta (value - L) / |d|^2: from beta = 0 with value .3, L = .2 and d = (1, 1), theta = 1, it is .05."""
    history = primal_dual(twin_stumps(), 0.1, gap=0, step_size=1.0, start="zeros").history
    assert history["step"][0] == pytest.approx(0.05)
    assert history["iterate_bound"].tolist() == pytest.approx([0.2, 0.3])


def test_dual_values_that_cannot_fall_do_not_count() -> None:
    """|d|^2 leaves out components of d < 0 where beta = 0; w averages with the weight of the newest."""
    duals = Duals(usage_columns(twin_stumps(), merge=True), np.array([-1.0]), 6, "zeros", DEFAULTS)  # mu = -1: w = 1
    keep = np.zeros(6, dtype=np.bool_)
    assert duals.choose_purchases(keep, keep.astype(float), 1.0).norm == 0.0
    duals.dual[:] = 0.1
    assert duals.choose_purchases(keep, keep.astype(float), 1.0).norm == 2.0
    duals.price[:] = 1.0  # w = 0
    duals.choose_purchases(keep, keep.astype(float), 0.25)
    assert duals.w_mean.tolist() == [0.75]
    duals.close()


def test_step_rules() -> None:
    """Constant, falling like 1 / sqrt(k), or by the gap; theta is halved after some iterations without a better bound."""
    assert [Step("constant", 2.0, 0.5, DEFAULTS).length(k, 1.0, 1.0) for k in (1, 4)] == [1.0, 1.0]
    assert [Step("sqrt", 2.0, 0.5, DEFAULTS).length(k, 1.0, 1.0) for k in (1, 4)] == [1.0, 0.5]
    polyak = Step("polyak", None, 0.5, DEFAULTS)
    assert polyak.length(4, 3.0, 2.0) == DEFAULTS.polyak * 1.5
    assert polyak.length(4, 3.0, 0.0) == 0.0
    for _ in range(DEFAULTS.most_stalled - 1):
        polyak.record(0.0, 1.0)
    polyak.record(1e-3, 1.0)
    for _ in range(DEFAULTS.most_stalled):
        assert polyak.size == DEFAULTS.polyak
        polyak.record(1e-5, 1.0)
    assert polyak.size == DEFAULTS.polyak / 2
    for _ in range(100 * DEFAULTS.most_stalled):
        polyak.record(0.0, 1.0)
    assert polyak.size == DEFAULTS.polyak / 64


@pytest.mark.slow
@looped("seed", range(16))
def test_every_iteration_brackets_the_optimum(seed: int) -> None:
    """Values are at least and bounds at most the optimum in every iteration, whatever the rule, start and averaging."""
    problem, lam = random_problem(seed, rounded=seed % 4 == 3), (0.02, 0.1)[seed % 2]
    best = brute_force(problem, lam).value
    starts: list[tuple[StartRule, float]] = [("zeros", 1.0), ("shares", 0.3), ("shares", 1.0)]
    for step in get_args(Rule):
        for start, averaging in starts:
            found = primal_dual(problem, lam, gap=0, iterations=30, step=step, start=start, averaging=averaging)
            history = found.history
            small = 1e-12 * max(1.0, best)
            assert min(history["value"].min(), history["iterate_value"].min()) >= best - small
            assert max(history["bound"].max(), history["iterate_bound"].max()) <= best + small
            assert (np.diff(history["value"]) <= 0).all()
            assert (np.diff(history["bound"]) >= 0).all()
            assert found.bound >= history["bound"][-1] - 1e-9
            assert found.stats["iterations"] == len(history["gap"])


def test_threads_change_nothing() -> None:
    """In four parts every iteration is the same, up to the order of sums."""
    problem, lam = instance("digits"), lambdas("digits")[2]
    alone = primal_dual(problem, lam, gap=0, iterations=4).history
    parts = primal_dual(problem, lam, gap=0, iterations=4, params=PrimalDualParams(one_thread_arcs=0)).history
    for name in alone.keys() - {"seconds"}:
        np.testing.assert_allclose(parts[name], alone[name], rtol=1e-9, atol=1e-15)


def test_the_time_limit_is_looked_at_every_iteration(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that ticks once a look, ten seconds are at most ten iterations."""
    problem, lam = instance("digits"), 0.02
    ticks = count()
    monkeypatch.setattr(algorithm, "time", SimpleNamespace(perf_counter=lambda: float(next(ticks))))
    found = primal_dual(problem, lam, gap=0, averaging=1.0, start="zeros", time_limit=10.0)
    history = found.history
    assert found.stopped is StopReason.TIME_LIMIT
    assert 2 <= len(history["gap"]) <= 10
    nothing = primal_dual(problem, lam, time_limit=0.0)
    assert (nothing.history["gap"].size, nothing.stopped) == (0, StopReason.TIME_LIMIT)
    assert check_solution(problem, nothing).holds


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "newton"}, "step is 'newton'; give one of 'polyak', 'constant', 'sqrt'"),
        ({"step_size": 2.5}, "step_size is 2.5; give a number > 0, for polyak at most 2"),
        ({"step_size": 0.0, "step": "sqrt"}, "step_size is 0.0; give a number > 0"),
        ({"start": "ones"}, "start is 'ones'; give one of 'shares', 'zeros'"),
        ({"averaging": 0.0}, "averaging is 0.0; give a number from 0"),
        ({"gap": -1.0}, "gap is -1.0; give a number >= 0"),
        ({"iterations": -1}, "iterations is -1; give a whole number >= 0"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        pm.engines.primal_dual(twin_stumps(), 0.1, **options)


def test_nothing_is_bought_beyond_every_price() -> None:
    """At a huge lambda the answer is the best pruning that is free, even where an iterate bought something."""
    found = primal_dual(twin_stumps(), 1e300, iterations=1, start="zeros")
    assert not found.pruning.kept.any()
    assert found.value == Pruning.all_roots(twin_stumps()).error
