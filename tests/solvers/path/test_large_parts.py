"""Parts of any size: by cuts, by rounds, and by guesses."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier

import prunemodels as pm
import solvers.path.decomposition as decomposition
import solvers.path.guess as guess
from formulations import PruningProblem
from formulations.answers.pruning_path import PruningPath
from formulations.errors import BrokenFileError, CapacityOverflowError, InterruptedSolveError, InvalidInputError
from formulations.instance.papers import two_trees
from proofs_checks import check_path
from solvers import pruning_path
from solvers.closures.cut import Ties
from solvers.closures.preflow import Flow
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path.guess import guessed_parts
from solvers.path.large_parts import Division, SmallPart, small_parts
from solvers.path.params import PathParams
from solvers.path.part_sequence import Parts, PartSequence
from solvers.price_sharing import loop
from solvers.price_sharing.params import SharingParams
from solvers.price_sharing.run import Run
from solvers.within.by_path import path_of
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.cases import instance, path_by_parts
from tests.solvers.path.test_proof_by_shares import one_part

NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


def test_parts_are_small_unless_they_go_at_once() -> None:
    """Each part has at most so many usage arcs, or one breakpoint; together they are all splits that have one."""
    problem = instance("breast cancer, licence")
    whole = path_by_parts(problem)
    outer, inner = without_prices(problem, "smallest"), free_of_charge(problem, "smallest")
    with ThreadPoolExecutor(1) as pool:
        parts = list(small_parts(Division(problem, "smallest", 0.0, None, pool), outer, inner, 300))
    assert len(parts) >= 3
    nodes = []
    for found in parts:
        if isinstance(found, SmallPart):
            assert found.part.tail.size <= 300
            assert not found.paid[found.part.purchases].any()
        else:
            assert np.unique(whole.rows_kept[found.nodes]).size == 1
        nodes.append(found.part.nodes if isinstance(found, SmallPart) else found.nodes)
    together = np.concatenate(nodes)
    np.testing.assert_array_equal(np.sort(together), np.flatnonzero(outer & ~inner))


def give_up(monkeypatch: pytest.MonkeyPatch, rounds: int, rounds_per_check: int = 10, idle_rounds: int = 20) -> PathParams:
    """Let no cut fit into memory, and give parts up after so many rounds, or so many without progress where the gap is small."""
    monkeypatch.setattr(loop, "too_large", lambda n_bytes: "too large")
    sharing = SharingParams(
        small_core=0, rounds_per_check=rounds_per_check, idle_rounds_when_close=idle_rounds, seconds_between_writes=0.0
    )
    return PathParams(most_rounds=rounds, sharing=sharing)


def no_cut(monkeypatch: pytest.MonkeyPatch) -> PathParams:
    """No cut fits memory: rounds leave gaps, which the shares of all levels at once close."""
    return give_up(monkeypatch, 40)


def wrong_ends(monkeypatch: pytest.MonkeyPatch) -> PathParams:
    """Rounds that find nothing leave all parts to the proof. It refutes ends that are taken for optima, and cuts decide."""
    monkeypatch.setattr(Run, "_take_if_better", lambda run, keep, value: None)
    return PathParams(likely=10.0, quick_cut=-1, most_rounds=20, sharing=SharingParams(small_core=0))


@pytest.mark.slow_cases("*wrong_ends-largest")
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@pytest.mark.parametrize(("largest", "setting"), [(0, None), (200, None), (0, no_cut), (0, wrong_ends)])
@looped("name", NAMES)
def test_the_path_does_not_depend_on_how_it_is_found(
    name: str, largest: int, setting: Any, ties: Ties, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In parts of few usage arcs or in one: the same breakpoints and prunings, no gap, and a proof that holds."""
    problem = instance(name)
    whole = path_by_parts(problem, ties=ties)
    with monkeypatch.context() as patched:
        params = setting(patched) if setting else PathParams()
        path = path_by_parts(problem, largest, params, ties=ties)
        bare = path_by_parts(problem, largest, params, ties=ties, certificate=False) if setting is wrong_ends else path
    for found in (path, bare):
        assert found.breakpoints == whole.breakpoints
        np.testing.assert_array_equal(found.level, whole.level)
        assert found.gaps == ()
    assert check_path(path).holds
    assert check_path(bare).holds is (None if setting is wrong_ends else True)
    assert (path.stats["parts_with_gap"] > 0) == (setting is no_cut)


def test_a_gap_is_told_and_refused_where_exact_paths_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounds find nothing a path is an error unless a gap is allowed. A gap stands in the text of the path, in its method,
    in the claim of the check, and budgets refuse such a path.
    """
    params = give_up(monkeypatch, 10, 2)
    monkeypatch.setattr(Run, "_take_if_better", lambda run, keep, value: None)
    problem = instance("iris")
    with pytest.raises(CapacityOverflowError, match=r"last relative gap of \S+; give a gap .* or fewer cost rows"):
        path_by_parts(problem, 0, params)
    path = path_by_parts(problem, 0, params, gap=1e-9)
    told = (repr(path), check_path(path).claim, path.method)
    assert [("gap" in text, "near" in text) for text in told] == [(True, False), (True, False), (False, True)]
    with pytest.raises(InvalidInputError, match=r"path has a relative gap of \d.*exact"):
        path_of(problem, path)


def rounds_made(monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> list[int]:
    """Counts rounds from now on; after so many, someone presses Ctrl-C."""
    made, make = [0], Run.round

    def counted(run: Run) -> None:
        if made[0] == stop_after:
            raise KeyboardInterrupt
        made[0] += 1
        make(run)

    monkeypatch.setattr(Run, "round", counted)
    return made


def test_an_interrupted_path_goes_on_from_its_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Twice interrupted, within a part and beside one: the same path, each part divided once, by the rounds of one run."""
    params = give_up(monkeypatch, 20, 2, 10)
    problem = instance("breast cancer, licence")
    folder = tmp_path / "parts"
    with monkeypatch.context() as patched:
        all_rounds = rounds_made(patched)
        whole = path_by_parts(problem, 0, params, gap=1e-6)
    made = 0
    for stop_after in (9, 40):
        with monkeypatch.context() as patched:
            rounds = rounds_made(patched, stop_after)
            with pytest.raises(InterruptedSolveError, match=r"the same call goes on from .*parts"):
                path_by_parts(problem, 0, params, gap=1e-6, checkpoint=folder)
            made += rounds[0]
    with monkeypatch.context() as patched:
        rounds = rounds_made(patched)
        path = path_by_parts(problem, 0, params, gap=1e-6, checkpoint=folder)
        assert all_rounds[0] <= made + rounds[0] <= all_rounds[0] + 2  # less than one check is lost each time
        again = path_by_parts(problem, 0, params, gap=1e-6, checkpoint=folder)
        assert made + rounds[0] <= all_rounds[0] + 2
    for other in (path, again):
        assert other.breakpoints == whole.breakpoints
        assert other.gaps == whole.gaps
        np.testing.assert_array_equal(other.level, whole.level)
        assert other.stats["rounds"] == whole.stats["rounds"] == all_rounds[0]
        assert other.stats["large_parts"] == len(list(folder.glob("*.part")))
    with pytest.raises(InvalidInputError, match="another instance, or to other options"):
        path_by_parts(problem, 0, params, gap=1e-5, checkpoint=folder)


def test_a_finished_path_is_read_from_a_folder_that_takes_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a read-only file system the call gives the same path; where a part is missing, it is refused before any rounds."""
    problem, folder = instance("wine, groups"), tmp_path / "parts"
    whole = path_by_parts(problem, 0, checkpoint=folder)

    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", read_only)
    access = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and access(place, mode))
    path = path_by_parts(problem, 0, checkpoint=folder)
    assert path.breakpoints == whole.breakpoints
    np.testing.assert_array_equal(path.level, whole.level)
    next(iter(folder.glob("*.part"))).unlink()
    rounds = rounds_made(monkeypatch)
    with pytest.raises(BrokenFileError, match=r"parts may only be read, and it does not hold all of the path; copy it"):
        path_by_parts(problem, 0, checkpoint=folder)
    assert rounds == [0]


def test_a_path_that_is_divided_again_by_cuts_keeps_a_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Where the proof refutes what rounds took for optima, cuts divide the same parts again: neither takes the other's files."""
    problem = instance("wine, groups")
    whole = path_by_parts(problem)
    for _ in range(2):
        path = path_by_parts(problem, 0, wrong_ends(monkeypatch), checkpoint=tmp_path)
        assert_same(path, whole)
        assert path.gaps == ()


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    """A file that holds no part is named, and what contradicts the ends of its part is refused, with the remedy."""
    problem = instance("wine, groups")
    path_by_parts(problem, 0, checkpoint=tmp_path)
    file = next(iter(tmp_path.glob("*.part")))
    with np.load(file) as stored:
        arrays = dict(stored)
    too_small = json.dumps(json.loads(str(arrays["figures"])) | {"bound": "-1"})
    for change, message in (
        ({"kept": arrays["kept"][:-1]}, rf"{file.name} cannot be read .*kept has the shape.*delete it"),
        ({"kept": problem.reduced().core.ensemble.is_split}, r"contradicts the part's ends; delete the folder"),
        ({"figures": too_small}, r"contradicts the part's ends; delete the folder"),
    ):
        np.savez(tmp_path / "other.npz", **arrays | change)
        (tmp_path / "other.npz").replace(file)
        with pytest.raises(BrokenFileError, match=message):
            path_by_parts(problem, 0, checkpoint=tmp_path)


EVERYWHERE = PathParams(one_thread_arcs=-1, threads=3, guess_arcs=-1)
"""Guesses on parts of any size, and parts of any size in threads."""


def assert_same(a: PruningPath, b: PruningPath) -> None:
    """Two paths are equal, level by level."""
    assert a.breakpoints == b.breakpoints
    assert np.array_equal(a.level, b.level)


def exactly(problem: PruningProblem, ties: Ties = "smallest") -> PruningPath:
    """The path by cuts alone, which `test_pruning_path` compares with all prunings."""
    return pruning_path(problem, ties=ties, params=PathParams(guess_arcs=2**62))


def by_chance(rng: np.random.Generator) -> Callable[[Parts, PartSequence, Ties, PathParams], PartSequence]:
    """Guesses that know nothing: up to four parts, splits in them by chance, below others as it has to be; and any flow."""

    def guessed(parts: Parts, sequence: PartSequence, ties: Ties, params: PathParams) -> PartSequence:
        label = rng.integers(0, rng.integers(2, 5), sequence.n_splits).astype(np.int32)
        for h, above in enumerate(sequence.subproblem.parent):
            label[h] = label[h] if above < 0 else min(label[h], label[above])
        label = guess._with_ties(sequence, label, ties)
        label = np.unique(label, return_inverse=True)[1].astype(np.int32)
        made = parts.divided(sequence, label)
        flow = Flow(rng.integers(0, 100, made.n_arcs), rng.integers(0, 100, made.n_splits))
        return replace(made, flow=flow, scale=rng.integers(1, 9, made.n_parts))

    return guessed


@pytest.mark.slow_cases("by chance-largest", "by chance-smallest", "own-largest", "own-smallest")
@pytest.mark.parametrize("ties", ["smallest", "largest"])
@pytest.mark.parametrize("guesses", ["own", "by chance", "by chance, no patience"])
def test_guesses_change_nothing(guesses: str, ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """With guesses on every part the path is that of cuts alone, and its certificate holds, ties included.

    Guesses made by chance leave pieces out of order, which are mended; without patience the first contradiction throws everything
    together, and no guess is left.
    """
    exact = [exactly(random_problem(seed), ties) for seed in range(40 if guesses.endswith("no patience") else 120)]
    params = replace(EVERYWHERE, most_repairs=0) if guesses.endswith("no patience") else EVERYWHERE
    guessed = repairs = 0.0
    for seed, expected in enumerate(exact):
        if guesses != "own":
            monkeypatch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(seed)))
        path = pruning_path(random_problem(seed), ties=ties, params=params)
        assert_same(path, expected)
        assert check_path(path)
        guessed += path.stats["guesses"]
        repairs += path.stats["repairs"]
        assert path.stats["repairs"] <= 1 or guesses == "by chance"
        if guesses.endswith("no patience") and ties == "smallest":
            groups = path.problem.reduced(ties).groups  # which the parts consist of
            level = path.level[groups.payer[groups.is_group]]
            assert path.stats["splits_repaired"] in (0, ((level > 0) & (level < len(path.breakpoints))).sum())
    assert guessed > 20 or guesses != "own"
    assert repairs > 0 or guesses != "by chance"


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_a_guess_by_hand(ties: Ties) -> None:
    """Two stumps share a purchase of price 3 and gain 2 each, which is 4 / 3; a third gains 4 for 5, less, so it goes first."""
    parts = guessed_parts(Parts(two_trees()), one_part([2, 2, 4], [0, 1, 2], [0, 0, 1], [3, 5]), ties, EVERYWHERE)
    assert parts.first.tolist() == [0, 1, 3]
    assert parts.subproblem.nodes.tolist() == [12, 10, 11]
    assert parts.outside.tolist() == [0, 1]
    assert parts.score[1] == parts.score[2] > parts.score[0]


@pytest.mark.parametrize(("gain", "inside"), [(2, 0), (4, 1)])
def test_a_cut_puts_the_unsure_on_their_side(gain: int, inside: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Split 1 shares purchase 0 with split 0, which is surely inside, and pays 3 alone: it is inside if it gains more than 3."""
    monkeypatch.setattr(guess, "_thresholds", lambda *_: np.array([0.0]))
    # lambda* is 1
    part = one_part([9, gain, 5 - gain], [0, 1, 1, 2], [0, 0, 1, 2], [5, 3, 6])
    low, high = np.array([0.5, -0.1, -2.0], dtype=np.float32), np.array([1.0, 0.1, -1.0], dtype=np.float32)
    assert guess._between_thresholds(part, np.zeros(3), low, high, "smallest", PathParams()).tolist() == [1, inside, 0]


def test_no_split_is_unsure_at_two_thresholds() -> None:
    """Four levels far apart have three thresholds between them; where one split may be on both sides of two, the second goes."""
    part = one_part([1] * 4, [0, 1, 2, 3], [0, 1, 2, 3], [1] * 4)
    low = np.array([0.0, 1.0, 2.0, 3.0])
    assert guess._thresholds(part, low - 0.1, low + 0.1, 4).tolist() == [0.5, 1.5, 2.5]
    low[1], high = -0.5, np.array([0.1, 2.5, 2.1, 3.1])
    assert guess._thresholds(part, low, high, 4).tolist() == pytest.approx([0.525, 2.55])


def test_parts_whose_lambdas_do_not_rise_are_joined() -> None:
    """A split that gains 1 for 1 is no part inside of one that gains 3 for 1; the other way round both are parts."""
    part = one_part([1, 3], [0, 1], [0, 1], [1, 1])
    assert guess._joined_where_lambdas_fall(part, np.array([1, 0], dtype=np.int32)).tolist() == [0, 0]
    assert guess._joined_where_lambdas_fall(part, np.array([0, 1], dtype=np.int32)).tolist() == [0, 1]
    assert guess._joined_where_lambdas_fall(part, np.array([1, 3], dtype=np.int32)).tolist() == [0, 1]


@pytest.mark.parametrize("ties", ["smallest", "largest"])
def test_a_real_forest_with_guesses(ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a real forest parts above 500 arcs are cut by guesses, with fewer cuts than without and the same path."""
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(20, criterion="entropy", random_state=0).fit(X[::2], y[::2])
    breast_cancer = pm.problem_from_forest(forest, X[1::2], costs=1)
    params = PathParams(guess_arcs=500)
    exact = exactly(breast_cancer, ties)
    path = pruning_path(breast_cancer, ties=ties, params=params)
    assert_same(path, exact)
    assert check_path(path)
    assert path.stats["guesses"] > 0
    assert path.stats["arcs_cut"] < exact.stats["arcs_cut"]
    monkeypatch.setattr(decomposition, "guessed_parts", by_chance(np.random.default_rng(0)))
    mended = pruning_path(breast_cancer, ties=ties, params=params)
    assert mended.stats["repairs"] > 0
    assert_same(mended, exact)
    assert check_path(mended)
