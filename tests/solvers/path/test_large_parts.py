"""Parts that price sharing divides: the same path, the same proof, or a proven gap, and nothing left that is too large."""

from __future__ import annotations

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from formulations.answers.pruning_path import PruningPath
from formulations.errors import BrokenFileError, CapacityOverflowError, InterruptedSolveError, InvalidInputError
from proofs_checks import check_path
from solvers.budgets.by_path import path_of
from solvers.closures.cut import Ties
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path import large_parts
from solvers.path.large_parts import Division, SmallPart, small_parts
from solvers.path.pruning_path import divide_and_conquer
from solvers.price_sharing import loop, stopping
from solvers.price_sharing.run import Run
from tests.loops import looped
from tests.solvers.cases import instance

NAMES = ("iris", "wine, groups", "wine, evaluation", "breast cancer, licence", "breast cancer, discounts", "iris, weights")


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("name", NAMES)
def test_the_path_does_not_depend_on_the_size_of_a_network(name: str, ties: Ties) -> None:
    """In parts of at most 0 or 200 usage arcs, or in one part: the same breakpoints and prunings, and a proof that holds."""
    problem = instance(name)
    whole = divide_and_conquer(problem, ties=ties)
    for largest in (0, 200):
        path = divide_and_conquer(problem, ties=ties, largest=largest)
        assert path.breakpoints == whole.breakpoints
        np.testing.assert_array_equal(path.rows_kept, whole.rows_kept)
        assert check_path(path).holds


def test_parts_are_small_unless_they_go_at_once() -> None:
    """Each part has at most so many usage arcs, or one breakpoint; together they are all splits that have one."""
    problem = instance("breast cancer, licence")
    whole = divide_and_conquer(problem)
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


def give_up(monkeypatch: pytest.MonkeyPatch, rounds: int, rounds_per_check: int = 10) -> None:
    """Let no cut fit into memory, and give parts up after so many rounds."""
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)
    monkeypatch.setattr(large_parts, "SMALL_CORE", 0)
    monkeypatch.setattr(large_parts, "MOST_ROUNDS", rounds)
    monkeypatch.setattr(large_parts, "IDLE_ROUNDS_WHEN_CLOSE", 2 * rounds_per_check)
    monkeypatch.setattr(loop, "ROUNDS_PER_CHECK", rounds_per_check)


@pytest.mark.parametrize("ties", ["smallest", "largest"])
@looped("name", NAMES)
def test_where_no_cut_fits_memory_the_path_is_exact_all_the_same(name: str, ties: Ties, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds leave gaps; the shares of all levels at once close them, and the certificate says so."""
    give_up(monkeypatch, 40)
    problem = instance(name)
    path = divide_and_conquer(problem, ties=ties, largest=0)
    whole = divide_and_conquer(problem, ties=ties, certificate=False)
    assert path.stats["parts_with_gap"] > 0
    assert path.breakpoints == whole.breakpoints
    np.testing.assert_array_equal(path.rows_kept, whole.rows_kept)
    assert path.gaps == ()
    assert check_path(path).holds


def mislead(monkeypatch: pytest.MonkeyPatch, every: int) -> None:
    """Let rounds find prunings that lack every so manieth open split, with all below it; 1: none but what is fixed."""
    give_up(monkeypatch, 6, 2)
    take_if_better = Run._take_if_better

    def take_less(run: Run, keep: NDArray[np.bool_], value: int) -> None:
        less = keep.copy()
        for h, above in enumerate(run.remaining.parent.tolist()):
            less[h] &= h % every != every - 1 and (above < 0 or less[above])
        take_if_better(run, less, run.rows.closure_value(less))

    monkeypatch.setattr(Run, "_take_if_better", take_less)


def test_a_path_that_is_not_optimal_is_an_error_unless_a_gap_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says how far the prunings can be from the optimum, and what to do."""
    mislead(monkeypatch, 1)
    with pytest.raises(CapacityOverflowError, match=r"last relative gap of \S+; give a gap .* or fewer cost rows"):
        divide_and_conquer(instance("iris"), largest=0)


def value(path: PruningPath, lam: Fraction) -> Fraction:
    """(OBJ) of the path's pruning at lambda."""
    row = path.row_at_lam(lam)
    return path.exact_error[row] + lam * path.exact_cost[row]


def stated(path: PruningPath, lam: Fraction) -> Fraction:
    """The gap that the path states: the line between its neighbouring breakpoints."""
    k = sum(b <= lam for b in path.breakpoints) - 1
    if k + 1 == len(path.breakpoints):
        return path.gaps[k]
    share = (lam - path.breakpoints[k]) / (path.breakpoints[k + 1] - path.breakpoints[k])
    return (1 - share) * path.gaps[k] + share * path.gaps[k + 1]


def test_a_gap_is_told_and_refused_where_exact_paths_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the text of the path, in its method, in the claim of the check, and by budgets."""
    mislead(monkeypatch, 1)
    problem = instance("iris")
    path = divide_and_conquer(problem, largest=0, gap=1e-9)
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
    give_up(monkeypatch, 12, 2)
    monkeypatch.setattr(loop, "SECONDS_BETWEEN_WRITES", 0.0)
    problem = instance("breast cancer, licence")
    folder = tmp_path / "parts"
    with monkeypatch.context() as patched:
        all_rounds = rounds_made(patched)
        whole = divide_and_conquer(problem, largest=0, gap=1e-6)
    made = 0
    for stop_after in (9, 40):
        with monkeypatch.context() as patched:
            rounds = rounds_made(patched, stop_after)
            with pytest.raises(InterruptedSolveError, match=r"the same call goes on from .*parts"):
                divide_and_conquer(problem, largest=0, gap=1e-6, checkpoint=folder)
            made += rounds[0]
    with monkeypatch.context() as patched:
        rounds = rounds_made(patched)
        path = divide_and_conquer(problem, largest=0, gap=1e-6, checkpoint=folder)
        assert all_rounds[0] <= made + rounds[0] <= all_rounds[0] + 2  # less than one check is lost each time
        again = divide_and_conquer(problem, largest=0, gap=1e-6, checkpoint=folder)
        assert made + rounds[0] <= all_rounds[0] + 2
    for other in (path, again):
        assert other.breakpoints == whole.breakpoints
        assert other.gaps == whole.gaps
        np.testing.assert_array_equal(other.level, whole.level)
        assert other.stats["rounds"] == whole.stats["rounds"] == all_rounds[0]
        assert other.stats["large_parts"] == len(list(folder.glob("*.part")))
    with pytest.raises(InvalidInputError, match="another instance, or was made with other options"):
        divide_and_conquer(problem, largest=0, gap=1e-5, checkpoint=folder)


def test_a_finished_path_is_read_from_a_folder_that_takes_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """On a read-only file system the call gives the same path; where a part is missing, it is refused before any rounds."""
    problem, folder = instance("wine, groups"), tmp_path / "parts"
    whole = divide_and_conquer(problem, largest=0, checkpoint=folder)

    def read_only(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "open", read_only)
    access = os.access
    monkeypatch.setattr(os, "access", lambda place, mode: mode != os.W_OK and access(place, mode))
    path = divide_and_conquer(problem, largest=0, checkpoint=folder)
    assert path.breakpoints == whole.breakpoints
    np.testing.assert_array_equal(path.level, whole.level)
    next(iter(folder.glob("*.part"))).unlink()
    rounds = rounds_made(monkeypatch)
    with pytest.raises(BrokenFileError, match=r"parts may only be read, and it does not hold all of the path; copy it"):
        divide_and_conquer(problem, largest=0, checkpoint=folder)
    assert rounds == [0]


def test_a_damaged_part_is_named(tmp_path: Path) -> None:
    """A file that holds no part is named, and what contradicts the ends of its part is refused, with the remedy."""
    problem = instance("wine, groups")
    divide_and_conquer(problem, largest=0, checkpoint=tmp_path)
    file = next(iter(tmp_path.glob("*.part")))
    with np.load(file) as stored:
        arrays = dict(stored)
    too_small = json.dumps(json.loads(str(arrays["figures"])) | {"bound": "-1"})
    for change, message in (
        ({"kept": arrays["kept"][:-1]}, rf"{file.name} holds nothing of the kind .*kept has the shape.*delete it"),
        ({"kept": problem.reduced().problem.ensemble.is_split}, r"contradicts the part's ends; delete the folder"),
        ({"figures": too_small}, r"contradicts the part's ends; delete the folder"),
    ):
        np.savez(tmp_path / "other.npz", **arrays | change)
        (tmp_path / "other.npz").replace(file)
        with pytest.raises(BrokenFileError, match=message):
            divide_and_conquer(problem, largest=0, checkpoint=tmp_path)


@looped("name", NAMES)
def test_ends_that_are_wrongly_taken_for_optima_are_found_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounds that find nothing leave all parts to the proof. It refutes them, and cuts decide: the same path in the end."""
    problem = instance(name)
    whole = divide_and_conquer(problem, cuts=True)
    for setting, value in (("LIKELY", 10.0), ("QUICK_CUT", -1), ("SMALL_CORE", 0), ("MOST_ROUNDS", 20)):
        monkeypatch.setattr(large_parts, setting, value)
    monkeypatch.setattr(Run, "_take_if_better", lambda run, keep, value: None)
    for certificate in (True, False):
        path = divide_and_conquer(problem, largest=0, certificate=certificate)
        assert path.breakpoints == whole.breakpoints
        np.testing.assert_array_equal(path.level, whole.level)
        assert not path.gaps
        assert check_path(path).holds is (True if certificate else None)
