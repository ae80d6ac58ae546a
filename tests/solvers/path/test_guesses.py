"""Guessed closures, good and bad: the path is the same."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
import solvers.path.decomposition as decomposition
import solvers.path.guess as guess
from formulations import PruningPath, PruningProblem
from formulations.instance.papers import two_trees
from proofs_checks import check_path
from solvers import pruning_path
from solvers.closures.cut import Ties
from solvers.closures.preflow import Flow
from solvers.closures.subproblem import ParametricSubproblem
from solvers.path.guess import guessed_parts
from solvers.path.part_sequence import PartSequence
from solvers.path.parts import Parts
from tests.instances import random_problem

TIES = ("smallest", "largest")


@pytest.fixture
def everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses on parts of any size, and parts of any size in threads."""
    monkeypatch.setattr(decomposition, "ONE_THREAD_ARCS", -1)
    monkeypatch.setattr(decomposition, "THREADS", 3)
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    monkeypatch.setattr(guess, "GUESS_ARCS", -1)


def assert_same(a: PruningPath, b: PruningPath) -> None:
    """Two paths are equal, level by level."""
    assert a.breakpoints == b.breakpoints
    assert np.array_equal(a.level, b.level)


def exactly(problem: PruningProblem, ties: Ties = "smallest") -> PruningPath:
    """The path by cuts alone, which `test_pruning_path` compares with all prunings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "GUESS_ARCS", math.inf)
        return pruning_path(problem, ties=ties)


def by_chance(rng: np.random.Generator) -> Callable[[Parts, PartSequence, Ties], PartSequence]:
    """Guesses that know nothing: up to four parts, splits in them by chance, below others as it has to be; and any flow."""

    def guessed(parts: Parts, sequence: PartSequence, ties: Ties) -> PartSequence:
        label = rng.integers(0, rng.integers(2, 5), sequence.n_splits).astype(np.int32)
        for h, above in enumerate(sequence.subproblem.parent):
            label[h] = label[h] if above < 0 else min(label[h], label[above])
        label = guess._with_ties(sequence, label, ties)
        label = np.unique(label, return_inverse=True)[1].astype(np.int32)
        made = parts.divided(sequence, label)
        flow = Flow(rng.integers(0, 100, made.n_arcs), rng.integers(0, 100, made.n_splits))
        return replace(made, flow=flow, unit=rng.integers(1, 9, made.n_parts))

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
def test_wrong_guesses_are_found_and_mended(ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guesses made by chance leave pieces out of order; after the repair the path is exact, ties and proof included."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    repairs = 0.0
    for seed in range(120):
        problem = random_problem(seed)
        exact = exactly(problem, ties)
        monkeypatch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(seed)))
        path = pruning_path(problem, ties=ties)
        assert_same(path, exact)
        assert check_path(path)
        repairs += path.stats["repairs"]
    assert repairs > 0


def test_guesses_are_given_up_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without patience the first contradiction throws everything together: then no guess is left."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", -1)
    monkeypatch.setattr(decomposition, "MOST_REPAIRS", 0)
    for seed in range(40):
        problem = random_problem(seed)
        exact = exactly(problem)
        monkeypatch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(seed)))
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


def test_small_parts_are_not_guessed() -> None:
    """Below the threshold nothing is guessed, and stats says so."""
    path = pruning_path(two_trees())
    assert path.stats["guesses"] == path.stats["repairs"] == 0
    assert path.stats["cuts"] > 0


def stumps(gain: list[int], tail: list[int], head: list[int], price: list[int]) -> PartSequence:
    """One part of trees with a split each."""
    k, j = len(gain), len(price)
    return PartSequence.of(
        ParametricSubproblem(
            nodes=np.arange(k, dtype=np.int32),
            parent=np.full(k, -1, dtype=np.int32),
            tail=np.array(tail, dtype=np.int32),
            head=np.array(head, dtype=np.int32),
            purchases=np.arange(j, dtype=np.int32),
            gain=np.array(gain),
            evaluation=np.zeros(k, dtype=np.int64),
            price=np.array(price),
        )
    )


@pytest.mark.usefixtures("everywhere")
@pytest.mark.parametrize("ties", TIES)
def test_a_guess_by_hand(ties: Ties) -> None:
    """Two stumps share a purchase of price 3 and gain 2 each, which is 4 / 3; a third gains 4 for 5, less, so it goes first."""
    parts = guessed_parts(Parts(two_trees()), stumps([2, 2, 4], [0, 1, 2], [0, 0, 1], [3, 5]), ties)
    assert parts.first.tolist() == [0, 1, 3]
    assert parts.subproblem.nodes.tolist() == [2, 0, 1]
    assert parts.outside.tolist() == [0, 1]
    assert parts.score is not None
    assert parts.score[1] == parts.score[2] > parts.score[0]


def test_nothing_is_guessed_where_all_are_alike() -> None:
    """Splits of one level lie on one side of every threshold."""
    parts = guessed_parts(Parts(two_trees()), stumps([2, 2], [0, 1], [0, 0], [4]), "smallest")
    assert parts.n_parts == 1


@pytest.mark.parametrize(("gain", "inside"), [(2, 0), (4, 1)])
def test_a_cut_puts_the_unsure_on_their_side(gain: int, inside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Split 1 shares purchase 0 with split 0, which is surely inside, and pays 3 alone: it is inside if it gains more than 3."""
    monkeypatch.setattr(guess, "_thresholds", lambda *_: np.array([0.0]))
    # lambda* is 1
    part = stumps([9, gain, 5 - gain], [0, 1, 1, 2], [0, 0, 1, 2], [5, 3, 6])
    low, high = np.array([0.5, -0.1, -2.0], dtype=np.float32), np.array([1.0, 0.1, -1.0], dtype=np.float32)
    assert guess._sides(part, np.zeros(3), low, high, "smallest").tolist() == [1, inside, 0]


def test_no_split_is_unsure_at_two_thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four levels far apart have three thresholds between them; where one split may be on both sides of two, the second goes."""
    monkeypatch.setattr(guess, "BANDS", 4)
    part = stumps([1] * 4, [0, 1, 2, 3], [0, 1, 2, 3], [1] * 4)
    low = np.array([0.0, 1.0, 2.0, 3.0])
    assert guess._thresholds(part, low - 0.1, low + 0.1).tolist() == [0.5, 1.5, 2.5]
    low[1], high = -0.5, np.array([0.1, 2.5, 2.1, 3.1])
    assert guess._thresholds(part, low, high).tolist() == pytest.approx([0.525, 2.55])


def test_parts_whose_lambdas_do_not_rise_are_joined() -> None:
    """A split that gains 1 for 1 is no part inside of one that gains 3 for 1; the other way round both are parts."""
    part = stumps([1, 3], [0, 1], [0, 1], [1, 1])
    assert guess._rising(part, np.array([1, 0], dtype=np.int32)).tolist() == [0, 0]
    assert guess._rising(part, np.array([0, 1], dtype=np.int32)).tolist() == [0, 1]
    assert guess._rising(part, np.array([1, 3], dtype=np.int32)).tolist() == [0, 1]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(1000, 10**9), luck=st.integers(0, 10**9), ties=st.sampled_from(TIES))
def test_any_guess_on_any_forest(seed: int, luck: int, ties: Ties) -> None:
    """Whatever is guessed on whatever forest: the path of cuts alone."""
    problem = random_problem(seed)
    exact = exactly(problem, ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decomposition, "GUESS_ARCS", -1)
        patch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(luck)))
        assert_same(pruning_path(problem, ties=ties), exact)


@pytest.mark.parametrize("ties", TIES)
def test_a_real_forest_with_guesses(breast_cancer: PruningProblem, ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real forest parts above 500 arcs are cut by guesses, with fewer cuts than without and the same path."""
    monkeypatch.setattr(decomposition, "GUESS_ARCS", 500)
    monkeypatch.setattr(guess, "GUESS_ARCS", 500)
    exact = exactly(breast_cancer, ties)
    path = pruning_path(breast_cancer, ties=ties)
    assert_same(path, exact)
    assert check_path(path)
    assert path.stats["guesses"] > 0
    assert path.stats["arcs_cut"] < exact.stats["arcs_cut"]
    monkeypatch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(0)))
    mended = pruning_path(breast_cancer, ties=ties)
    assert mended.stats["repairs"] > 0
    assert_same(mended, exact)
    assert check_path(mended)
