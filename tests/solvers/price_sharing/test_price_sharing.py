"""Price sharing: exact, with a proof that a stranger accepts, whatever floating point does, and resumable."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
from formulations import BrokenFileError, InvalidInputError, PruningProblem, Status, StopReason
from formulations.checkpoints import Checkpoint
from proofs_checks import check_solution
from solvers import min_cut
from solvers.closures.integer_objective import integer_objective
from solvers.price_sharing import Scores, final_scores, price_sharing
from solvers.price_sharing import shares as shares_module
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.remaining import all_open
from solvers.price_sharing.rows import load_scores, problem_fingerprint, save_scores
from solvers.price_sharing.run import Run, best_level
from solvers.price_sharing.shares import Sharing, paid_at
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, lambdas

ROOT = Path(__file__).resolve().parents[3]


@looped(("option", "value"), [*(("gap", gap) for gap in (1e-1, 1e-3, 1e-6)), *(("rounds", rounds) for rounds in (0, 1, 9))])
def test_a_run_cut_short_gives_a_true_bound(option: str, value: Any) -> None:
    """With a gap the run stops at it, and says FEASIBLE, with its gap; after few rounds, or none, it says why it stopped. Value
    and bound are true, and proven by the scores alone.
    """
    problem, lam = instance("digits"), lambdas("digits")[2]
    found = price_sharing(problem, lam, **{option: value}, **({} if option == "gap" else {"small_core": 0}))
    if option == "gap":
        assert found.relative_gap <= value
        assert (found.status, found.stopped) == (Status.FEASIBLE, StopReason.CONVERGED)
    else:
        assert found.stopped is StopReason.ITERATION_LIMIT
    assert found.certificate.dual is None  # type: ignore[union-attr]
    assert check_solution(problem, found).holds
    assert found.bound <= min_cut(problem, lam).value + 1e-12 <= found.value + 2e-12


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.1, 1e-9])
def test_a_gap_is_reached_where_nothing_can_be_gained(gap: float) -> None:
    """At the last breakpoint the bound on the gain falls to 0 and never reaches it; the run ends all the same."""
    problem = digits_problem()
    last = pm.pruning_path(problem).breakpoints[-1]
    found = price_sharing(problem, last, gap=gap, rounds=1000)  # type: ignore[arg-type]
    assert found.stopped is StopReason.CONVERGED
    roots = float(problem.roots_error)
    assert found.gap <= gap * max(roots - found.bound, roots / 100)
    assert found.status is (Status.OPTIMAL if gap == 1e-9 else Status.FEASIBLE)
    assert check_solution(problem, found).holds


@pytest.mark.parametrize("apart", [0.0, 600.0, 900.0])
def test_scores_far_apart_share_all_prices(apart: float) -> None:
    """Scores drift apart, by 600 and more. What only low ones need is charged to them all the same, and the checker agrees."""
    problem, lam = instance("iris"), Fraction(1, 50)
    left = all_open(integer_objective(problem, lam).refined(), problem.ensemble.is_split)
    item = problem.ensemble.feature[left.nodes]
    score = np.where(item % 2 == 0, 1000.0, 1000.0 - apart).astype(np.float32)
    used = np.unique(problem.usage.arcs(left.nodes).head)
    with ThreadPoolExecutor(1) as pool:
        charged = Sharing(left, pool, SharingParams()).charges(score)
    assert charged.sum() == pytest.approx(float(left.objective.prices(used).sum()), rel=1e-12)
    # scores of different items meet nowhere, so what is added to all of one item's changes no share
    everywhere = final_scores(price_sharing(problem, lam, rounds=10, small_core=0)).score  # type: ignore[arg-type]
    everywhere[left.nodes] += score
    found = price_sharing(problem, lam, start=Scores(everywhere, 5), rounds=20, small_core=0)  # type: ignore[arg-type]
    assert found.relative_gap < 0.1
    assert any(np.ptp(stage.score) > apart - 50 for stage in found.certificate.stages)  # type: ignore[union-attr]
    assert check_solution(problem, found).holds


@looped("seed", range(12))
def test_the_best_level_is_the_smallest_of_the_best(seed: int) -> None:
    """Of the level sets of any numbers, made to fall along the paths, the best is found, and the smallest of equals."""
    problem = random_problem(seed)
    rng = np.random.default_rng(seed)
    objective = integer_objective(problem, Fraction(1, 90)).refined()
    left = all_open(objective, problem.ensemble.is_split)
    log_level = rng.choice([-0.5, -0.02, -1e-4, -2e-6, 0.0, 2e-5, 0.002, 0.1], left.nodes.size).astype(np.float32)
    keep, value = best_level(left.parent, left.profit, log_level, partial(paid_at, left))
    falling = log_level.copy()
    for h in range(falling.size):
        if left.parent[h] >= 0:
            falling[h] = min(falling[h], falling[left.parent[h]])
    found = {0: np.zeros(left.nodes.size, dtype=bool)}
    for theta in (-0.03, -0.001, -1e-5, 0.0, 1e-5, 0.001, 0.03):
        kept = np.zeros(problem.ensemble.n_nodes, dtype=bool)
        kept[left.nodes[falling >= theta]] = True
        pruning = pm.Pruning(problem, kept)
        gained = pruning.integer_gain * problem.numbers.gain_unit - objective.lam * pruning.exact_cost
        worth = int(gained / objective.unit)
        found[worth] = min(found.get(worth, falling >= theta), falling >= theta, key=np.sum)
    assert value == max(found)
    np.testing.assert_array_equal(keep, found[max(found)])


def digits_problem() -> PruningProblem:
    """Ten trees, some 60,000 usage arcs."""
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(10, random_state=0).fit(X[:900], y[:900])
    return pm.problem_from_forest(forest, X[900:1500], costs=1.0)


def test_ties_are_cut_as_soon_as_bound_and_value_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A split without gain whose purchases are paid anyway is no worse in than out, and no round decides it. Merged, its
    purchases are no arcs at all, and the cut does not wait.
    """
    problem = digits_problem()
    tie = sum(pm.pruning_path(problem).breakpoints[-2:]) / 2
    merged = price_sharing(problem, tie, small_core=0)  # type: ignore[arg-type]
    monkeypatch.setattr(shares_module, "MOST_TREES", 0)  # nothing is merged
    found = price_sharing(problem, tie, small_core=0)  # type: ignore[arg-type]
    assert merged.stats["iterations"] <= found.stats["iterations"]
    assert (found.gap, check_solution(problem, found).holds) == (0.0, True)
    assert found.stats["core_splits"] > 0
    monkeypatch.setattr(Run, "is_closed", False)
    patient = price_sharing(problem, tie, small_core=0)  # type: ignore[arg-type]
    assert patient.stats["core_splits"] == found.stats["core_splits"]
    assert found.stats["iterations"] < patient.stats["iterations"]


def test_a_warm_start_finds_the_same_optimum() -> None:
    """Started from a neighbouring lambda's scores the answer is the same, proven, after no more rounds."""
    problem = instance("digits")
    path = pm.pruning_path(problem)
    chosen = [float(lam) for lam in path.lam[10 : len(path) : max(1, len(path) // 5)]]
    start, cold_rounds, warm_rounds = None, 0.0, 0.0
    for lam in chosen:
        cold, warm = price_sharing(problem, lam, small_core=0), price_sharing(problem, lam, start=start, small_core=0)
        np.testing.assert_array_equal(cold.pruning.kept, warm.pruning.kept)  # type: ignore[union-attr]
        cold_rounds += cold.stats["iterations"]
        warm_rounds += warm.stats["iterations"] - (0 if start is None else start.iteration)
        start = final_scores(warm)
    assert warm_rounds <= 1.25 * cold_rounds
    with pytest.raises(InvalidInputError, match="carries no scores"):
        final_scores(min_cut(problem, 0.1))


def test_a_checkpoint_is_read_back(tmp_path: Path) -> None:
    """Scores come back as they were written; another instance's and what is no score are refused, a broken file is named."""
    problem, file = instance("iris"), tmp_path / "run.scores"
    scores = Scores(np.random.default_rng(0).standard_normal(problem.ensemble.n_nodes), 17)
    checkpoint = Checkpoint(file, problem_fingerprint(problem))
    save_scores(checkpoint, scores)
    back = load_scores(checkpoint)
    assert back.iteration == 17
    np.testing.assert_array_equal(back.score, scores.score)
    assert [p.name for p in tmp_path.iterdir()] == ["run.scores"]
    with pytest.raises(InvalidInputError, match="belongs to another instance"):
        price_sharing(instance("digits"), 0.01, checkpoint=file)
    file.write_bytes(b"half a file")
    with pytest.raises(BrokenFileError, match=r"run\.scores cannot be read"):
        price_sharing(problem, 0.01, checkpoint=file)
    with pytest.raises(BrokenFileError, match="cannot write"):
        save_scores(Checkpoint(tmp_path / "no such folder" / "x", ""), scores)
    # shares of a price that are NaN are neither too small nor too large; and there is one score for each node
    for bad in (np.nan, np.inf, 1e300, "a"):
        with pytest.raises(InvalidInputError, match="score: give one number for each node that a float32 can hold"):
            Scores(np.array([0.0, bad]))
    with pytest.raises(InvalidInputError, match="start has scores for 3 nodes, the forest has"):
        price_sharing(problem, 0.1, start=Scores(np.zeros(3)))


KILLED = """
import sys, numpy as np
from tests.solvers.cases import instance
from solvers.price_sharing import loop, params, price_sharing
problem = instance("digits")
loop.StopRule.cuts_now = lambda *_: False  # never done
print("ready", flush=True)
price_sharing(problem, 0.002, checkpoint=sys.argv[1], params=params.SharingParams(seconds_between_writes=0.0))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.slow)])
def test_a_killed_run_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    """Killed at any moment the checkpoint is whole, nothing else stays, and the next run starts from it and finds the optimum."""
    file = tmp_path / "run.scores"
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        for _ in range(600):
            time.sleep(0.05)
            if file.exists():
                break
        process.send_signal(how)
        _, err = process.communicate(timeout=60)
    if how is signal.SIGINT:
        assert "holds the scores to go on from" in err
    assert {p for p in os.listdir(tmp_path) if not p.startswith(".")} == {"run.scores"}
    problem = instance("digits")
    before = load_scores(Checkpoint(file, problem_fingerprint(problem.reduced().core)))  # the run is one of groups
    assert before.iteration >= 10
    found = price_sharing(problem, 0.002, checkpoint=file, small_core=0)
    assert found.stats["iterations"] > before.iteration
    assert os.listdir(tmp_path) == ["run.scores"]  # what the killed run left behind is gone
    np.testing.assert_array_equal(found.pruning.kept, min_cut(problem, 0.002).pruning.kept)  # type: ignore[union-attr]


def test_a_checkpoint_serves_one_run_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second run with the same checkpoint is refused at once."""
    file = tmp_path / "run.scores"
    plain = Run.round

    def second(run: Run) -> None:
        monkeypatch.setattr(Run, "round", plain)
        with pytest.raises(BrokenFileError, match=r"checkpoint: another run, process \d+, is writing .*run\.scores"):
            price_sharing(instance("iris"), 0.05, small_core=0, checkpoint=file)
        plain(run)

    monkeypatch.setattr(Run, "round", second)
    price_sharing(instance("iris"), 0.05, small_core=0, checkpoint=file)
    assert Run.round is plain
    assert os.listdir(tmp_path) == ["run.scores"]
