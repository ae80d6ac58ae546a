"""Parts that price sharing divides: the same path, the same proof, and nothing left that is too large."""

from __future__ import annotations

import numpy as np
import pytest

from formulations.errors import CapacityOverflowError
from proofs_checks import check_path
from solvers.closures.cut import Ties
from solvers.closures.tree_pass import free_of_charge, without_prices
from solvers.path import large_parts
from solvers.path.large_parts import small_parts
from solvers.path.pruning_path import divide_and_conquer
from solvers.price_sharing import stopping
from tests.instances import random_problem
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


@looped("seed", range(40))
def test_random_forests_come_in_the_same_pieces(seed: int) -> None:
    """Splits that lose, prices of 0 and trees of one leaf included."""
    problem = random_problem(seed)
    whole, path = divide_and_conquer(problem), divide_and_conquer(problem, largest=0, certificate=False)
    assert path.breakpoints == whole.breakpoints
    np.testing.assert_array_equal(path.rows_kept, whole.rows_kept)
    assert path.certificate is None


def test_parts_are_small_unless_they_go_at_once() -> None:
    """Each part has at most so many usage arcs, or one breakpoint; together they are all splits that have one."""
    problem = instance("breast cancer, licence")
    whole = divide_and_conquer(problem)
    outer, inner = without_prices(problem, "smallest"), free_of_charge(problem, "smallest")
    parts = list(small_parts(problem, outer, inner, "smallest", 300))
    assert len(parts) >= 3
    for part, paid in parts:
        rows = np.unique(whole.rows_kept[part.nodes])
        assert part.n_arcs <= 300 or rows.size == 1
        assert not paid[part.subproblem.purchases].any()
    together = np.concatenate([part.nodes for part, _ in parts])
    np.testing.assert_array_equal(np.sort(together), np.flatnonzero(outer & ~inner))


def test_an_edge_that_fits_no_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rounds do not decide a part and a cut of it does not fit: how many splits go together, where, and what to do."""
    monkeypatch.setattr(stopping, "memory_free", lambda: 0)
    monkeypatch.setattr(large_parts, "SMALL_CORE", 0)
    monkeypatch.setattr(large_parts, "MOST_ROUNDS", 40)
    with pytest.raises(CapacityOverflowError, match=r"path: \d+ splits go at nearly the same lambda, 0\.\d+; .*fewer cost rows"):
        divide_and_conquer(instance("iris"), largest=0)
