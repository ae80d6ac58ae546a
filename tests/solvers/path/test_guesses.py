"""Guessed closures, good and bad: the path is the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
import solvers.path.decomposition as decomposition
import solvers.path.guess as guess
from formulations import PruningPath, PruningProblem
from formulations.instance.papers import two_trees
from proofs_checks import check_path
from solvers import pruning_path
from solvers.closures.cut import ClosureProblem, Ties
from solvers.closures.preflow import Flow
from solvers.closures.preflow.flow import UNLIMITED
from solvers.path.decomposition import PathDecomposition
from solvers.path.guess import guess_closure
from solvers.path.parts import Network
from solvers.path.pruning_path import divide_and_conquer
from solvers.path.ties import extreme
from tests.instances import random_problem

TIES = ("smallest", "largest")


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses on parts of any size, followed however little they decide; parts of any size in threads."""
    monkeypatch.setattr(decomposition, "ONE_THREAD_ARCS", -1)
    monkeypatch.setattr(decomposition, "THREADS", 3)
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    monkeypatch.setattr(guess, "GUESS_ARCS", 0)
    monkeypatch.setattr(guess, "LARGEST_CORE", 1.0)


def assert_same(a: PruningPath, b: PruningPath) -> None:
    """Two paths are equal, level by level."""
    assert a.breakpoints == b.breakpoints
    assert np.array_equal(a.level, b.level)


def exactly(problem: PruningProblem, ties: Ties = "smallest") -> PruningPath:
    """The path by OR-Tools' cuts of whole networks alone."""
    return divide_and_conquer(problem, ties=ties, guess=False, merge=False, warm=False)


def by_chance(rng: np.random.Generator) -> Callable[[PathDecomposition, Network], tuple[NDArray[np.bool_] | None, Flow]]:
    """Guesses that know nothing, followed whatever they are worth: splits are kept by chance, below kept ones; and any flow."""

    def guessed(self: PathDecomposition, network: Network) -> tuple[NDArray[np.bool_] | None, Flow]:
        problem, nodes = network.instance, network.part.nodes
        keep = rng.random(nodes.size) < rng.choice([0.3, 0.7, 0.9])
        for h, above in enumerate(problem.parent):
            keep[h] &= above < 0 or keep[above]
        integers = self.parts.problem.integers
        keep = extreme(problem, integers.gain[nodes], integers.evaluation[nodes] == 0, keep, self.ties)
        flow = Flow(rng.integers(0, 100, problem.tail.size), rng.integers(0, 100, nodes.size))
        return keep if keep.any() and not keep.all() else None, flow

    return guessed


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("ties", TIES)
def test_guesses_change_nothing(ties: Ties) -> None:
    """With guesses on every part the path is that of cuts alone, and its certificate holds."""
    guessed = 0.0
    for seed in range(120):
        problem = random_problem(seed)
        path = pruning_path(problem, ties=ties)
        assert_same(path, exactly(problem, ties))
        assert check_path(path)
        guessed += path.stats["guesses"]
    assert guessed > 20


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("warm", [True, False])
def test_cuts_alone_change_nothing(ties: Ties, warm: bool) -> None:
    """From the flows of earlier cuts or from nothing, merged: the same path with a certificate that holds."""
    for seed in range(200, 300):
        problem = random_problem(seed)
        path = divide_and_conquer(problem, ties=ties, guess=False, warm=warm)
        assert_same(path, exactly(problem, ties))
        assert check_path(path)


@pytest.mark.parametrize("ties", TIES)
def test_wrong_guesses_are_found_and_mended(ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses made by chance leave pieces out of order; after the repair the path is exact, ties and proof included."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    repairs = 0.0
    for seed in range(120):
        problem = random_problem(seed)
        exact = exactly(problem, ties)
        monkeypatch.setattr(PathDecomposition, "_guessed", by_chance(np.random.default_rng(seed)))
        path = pruning_path(problem, ties=ties)
        assert_same(path, exact)
        assert check_path(path)
        repairs += path.stats["repairs"]
    assert repairs > 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(1000, 10**9), luck=st.integers(0, 10**9), ties=st.sampled_from(TIES))
def test_any_guess_on_any_forest(seed: int, luck: int, ties: Ties) -> None:
    """Whatever is guessed on whatever forest: the path of cuts alone."""
    problem = random_problem(seed)
    exact = exactly(problem, ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "GUESS_ARCS", -1)
        patch.setattr(PathDecomposition, "_guessed", by_chance(np.random.default_rng(luck)))
        assert_same(pruning_path(problem, ties=ties), exact)


def test_guesses_are_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without patience the first contradiction throws everything together: then no guess is left."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    monkeypatch.setattr(decomposition, "MOST_REPAIRS", 0)
    for seed in range(40):
        problem = random_problem(seed)
        exact = exactly(problem)
        monkeypatch.setattr(PathDecomposition, "_guessed", by_chance(np.random.default_rng(seed)))
        path = pruning_path(problem)
        assert_same(path, exact)
        assert path.stats["repairs"] <= 1
        assert path.stats["splits_repaired"] in (0, (path.level > 0).sum() - (path.level == len(path.breakpoints)).sum())


@pytest.fixture(scope="module")
def breast_cancer() -> PruningProblem:
    """20 trees, some 10,000 usage arcs."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, criterion="entropy", random_state=0).fit(X[::2], y[::2])
    return pm.problem_from_forest(forest, X[1::2], costs=1)


@pytest.mark.parametrize("ties", TIES)
def test_a_real_forest_with_guesses(breast_cancer: PruningProblem, ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real forest parts above 500 arcs are cut by guesses, with fewer cuts than without and the same path."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", 500)
    monkeypatch.setattr(guess, "GUESS_ARCS", 500)
    exact = divide_and_conquer(breast_cancer, ties=ties, guess=False)
    path = pruning_path(breast_cancer, ties=ties)
    assert_same(path, exact)
    assert check_path(path)
    assert path.stats["guesses"] > 0
    assert path.stats["arcs_cut"] < divide_and_conquer(breast_cancer, ties=ties, guess=False).stats["arcs_cut"]
    monkeypatch.setattr(PathDecomposition, "_guessed", by_chance(np.random.default_rng(0)))
    mended = pruning_path(breast_cancer, ties=ties)
    assert mended.stats["repairs"] > 0
    assert_same(mended, exact)
    assert check_path(mended)


def test_small_parts_are_not_guessed() -> None:
    """Below the threshold nothing is guessed, and stats says so."""
    path = pruning_path(two_trees())
    assert path.stats["guesses"] == path.stats["repairs"] == 0
    assert path.stats["cuts"] > 0


@pytest.mark.usefixtures("everywhere")
def test_a_guess_by_hand() -> None:
    """Two stumps share a purchase of price 3 and gain 2 each: kept. A third pays 5 of its own for a gain of 4: not."""
    none, both = np.full(3, -1, dtype=np.int32), np.array([0, 1, 2], dtype=np.int32)
    heads, prices = np.array([0, 0, 1], dtype=np.int32), np.array([3, 5])
    problem = ClosureProblem(np.array([2, 2, 4]), none, both, heads, prices)
    kept = guess_closure(problem, np.arange(3, dtype=np.int32), "smallest")
    assert kept.keep is not None
    assert kept.keep.tolist() == [True, True, False]
    assert kept.score[0] == kept.score[1] > kept.score[2]


def test_what_a_guess_lets_splits_pay() -> None:
    """With weights 1 and 3 of 4 two splits share a price of 8 as 2 and 6; the third pays its own 5 alone."""
    heads, prices = np.array([0, 0, 1], dtype=np.int32), np.array([8, 5])
    problem = ClosureProblem(
        np.ones(3, dtype=np.int64), np.full(3, -1, dtype=np.int32), np.arange(3, dtype=np.int32), heads, prices
    )
    flow = guess.Guess(None, np.log([1.0, 3.0, 2.0])).flow(problem)
    assert flow.usage_flow.tolist() == [2, 6, 5]
    assert (flow.parent_flow == UNLIMITED).all()


def test_nothing_is_guessed_where_little_is_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a look leaves all arcs in doubt there is no guess, and everything is cut."""
    monkeypatch.setattr(guess, "GUESS_ARCS", 0)
    monkeypatch.setattr(guess, "_shared", lambda problem, score, stepped, made: np.zeros(score.size))
    one = np.zeros(2, dtype=np.int32)
    problem = ClosureProblem(
        np.array([2, 2]), np.full(2, -1, dtype=np.int32), np.arange(2, dtype=np.int32), one, np.array([4], dtype=np.int64)
    )
    assert guess_closure(problem, np.arange(2, dtype=np.int32), "smallest").keep is None
