"""An answer within limits goes through a file unchanged, with the proof of its bound; a damaged file is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import prunemodels as pm
from formulations import BrokenFileError, InvalidInputError
from formulations.answers.search_proof import Branch, Closed, Fixed
from formulations.answers.solution import SharedPrices
from formulations.instance.limit import Limit
from prunemodels.example import problem
from prunemodels.files.answers import load_solution, save_solution
from solvers.within import call, exact_budget
from solvers.within.oracle import LagrangianOracle
from solvers.within.params import WithinParams
from tests.instances import random_problem

HALF = np.arange(150) < 75

ASKED: dict[str, dict[str, Any]] = {
    "a budget": {"budget": 10},
    "a budget as a float": {"budget": 10.3, "method": "exact"},
    "rows, a mapping, an item": {
        "limits": [Limit(9, rows=HALF), Limit(Fraction(31, 3), {"radius": 2, "area": 0.5}, name="both"), Limit(0.3, "texture")]
    },
    "every example, a size": {"limits": [Limit(9, each=True), Limit(30, "splits")], "method": "path"},
}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_read_is_what_was_written(name: str, tmp_path: Path) -> None:
    """Every field but the stats is the same, and the checker, which saw neither search nor limits, confirms it."""
    found = pm.solve(problem, **ASKED[name])
    save_solution(found, tmp_path / "answer.npz")
    read = load_solution(tmp_path / "answer.npz", problem)
    for field in ("at_most", "uses", "error", "bound", "stopped", "method"):
        assert getattr(read, field) == getattr(found, field)
    assert np.array_equal(read.pruning.kept, found.pruning.kept)
    assert (read.relaxation.value, read.relaxation.multipliers) == (found.relaxation.value, found.relaxation.multipliers)
    assert [weight for _, weight in read.relaxation.mixture] == [weight for _, weight in found.relaxation.mixture]
    assert [type(step) for step in read.proof.steps] == [type(step) for step in found.proof.steps]  # type: ignore[union-attr]
    verdict = pm.checks.check_solution(problem, read)
    assert verdict.holds is True, str(verdict)
    assert verdict.certificate == pm.checks.check_solution(problem, found).certificate


def test_windows_scores_and_all_kinds_of_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The proof of a search in a window, and one by scores, which larger instances have."""
    kinds, windows = set(), 0
    cases = [(problem, Fraction(budget)) for budget in (7, 9, 10)]
    cases += [(instance, pm.Pruning.unpruned(instance).exact_cost * Fraction(2, 5)) for instance in map(random_problem, range(8))]
    for instance, budget in cases:
        found = exact_budget(instance, budget, params=WithinParams(first_window_arcs=0))
        save_solution(found, tmp_path / "answer.npz")
        read = load_solution(tmp_path / "answer.npz", instance)
        assert pm.checks.check_solution(instance, read).holds is True
        assert read.proof is not None
        kinds |= {type(step) for step in read.proof.steps}
        windows += read.proof.window is not None
    assert {Branch, Closed, Fixed} <= kinds
    assert windows

    def sharing(rows: Any, params: WithinParams) -> LagrangianOracle:
        oracle = LagrangianOracle(rows, params)
        oracle.shares_prices = True
        return oracle

    monkeypatch.setattr(call, "LagrangianOracle", sharing)
    found = pm.solve(problem, limits=[Limit(10), Limit(30, "splits")], method="path")
    save_solution(found, tmp_path / "answer.npz")
    read = load_solution(tmp_path / "answer.npz", problem)
    assert read.proof is not None
    assert isinstance(read.proof.steps[0], Closed)
    assert isinstance(read.proof.steps[0].priced.payments, SharedPrices)
    assert pm.checks.check_solution(problem, read).holds is True


def test_what_is_no_answer_is_refused(tmp_path: Path) -> None:
    """No file, another ending, another instance, an archive of something else, and JSON without what it must have."""
    place = tmp_path / "answer.npz"
    with pytest.raises(BrokenFileError, match="there is no file"):
        load_solution(place, problem)
    found = pm.solve(problem, budget=10)
    with pytest.raises(InvalidInputError, match=r"ends in \.npz"):
        save_solution(found, tmp_path / "answer.txt")
    save_solution(found, place)
    with pytest.raises(BrokenFileError, match="holds no answer to this instance"):
        load_solution(place, random_problem(3))
    with np.load(place) as stored:
        arrays = dict(stored)
    np.savez(place, **{name: array for name, array in arrays.items() if name != "paid"})
    with pytest.raises(BrokenFileError, match="lacks the array 'paid'"):
        load_solution(place, problem)
    np.savez(place, **arrays | {"paid": arrays["paid"][:1]})
    with pytest.raises(BrokenFileError, match="paid has 1 entries"):
        load_solution(place, problem)
    np.savez(place, **arrays | {"about": np.frombuffer(b'{"limits": []}', dtype=np.uint8)})
    with pytest.raises(BrokenFileError, match="KeyError"):
        load_solution(place, problem)
