"""CEGB's models, pruned and refitted: by hand on data of one or two columns, and never worse than CEGB on validation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.frontier.candidate import Candidate, Value
from benchmarks.frontier.choice import chosen, winners
from benchmarks.frontier.data import load_problem
from benchmarks.frontier.grown_pruned import RIDGES, GrownPruned, Trees, collapsible, grown_pruned, refuses
from benchmarks.frontier.memory import Memory
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals import cegb
from formulations.instance.cost_items import CostItems

pytest.importorskip("lightgbm")

SETTINGS: list[dict[str, Value]] = [{"leaves": 4, "lam": 0.000215, "rounds": 9}]


def few(data: str) -> Problem:
    """Four columns, few rows, and CEGB's settings as if they had been chosen."""
    problem = load_problem(data, 0)
    parts = [Part(part.X[:80, 2:6], part.y[:80]) for part in (problem.train, problem.valid, problem.test)]
    memory = Memory(values={cegb.MEMORY: {"value": SETTINGS, "seconds": 1.0}})
    prices, budgets = CostItems.plain([1, 1, 1, 1], ["a", "b", "c", "d"]), (1.0, 2.0, 3.0, 4.0)
    return replace(problem, train=parts[0], valid=parts[1], test=parts[2], costs=prices, budgets=budgets, memory=memory)


def stump(valid: tuple[float, float], zeros: int = 40) -> tuple[Trees, Candidate]:
    """One round of two leaves for `zeros` rows with x = y = 0 and the rest of 80 with x = 1, y = 10; `valid` are the numbers of
    both kinds of rows on validation.
    """
    counts = [zeros, 80 - zeros]
    x = np.repeat([0.0, 1.0], counts).astype(np.float32)[:, None]
    train, other = Part(x, np.repeat([0.0, 10.0], counts)), Part(x, np.repeat(valid, counts))
    problem = Problem("hand", 0, "regression", 0, train, other, other, CostItems.plain([3], ["x"]), (3.0,))
    grown = cegb.grow(problem, 2, cegb.LOWEST, 1)
    return Trees.of(problem, grown.model.forest_, 1), cegb.rounds_of(problem, grown)[0]


def test_refits_by_hand() -> None:
    """Leaves stand at 5 -+ 0.2 * 5, and k rows that speak for them leave 4 k / (40 + k) of their distance of 4."""
    trees, plain = stump((0.0, 10.0))
    assert plain.valid_error == pytest.approx(16.0)
    found = [c for c, _ in trees.refits(trees.forest, trees.forest.ensemble.is_split, plain)]
    assert [c.params["ridge"] for c in found] == list(RIDGES)  # each is better than the one before
    assert found[0].valid_error == pytest.approx((4 * 1000 / 1040) ** 2, rel=1e-4)
    assert found[-1].valid_error < 1e-4 < found[0].valid_error
    assert {c.valid_cost for c in found} == {3.0}
    assert "ridge" in found[0].ends
    assert "ridge" not in found[1].ends


def test_refits_stop_once_validation_gets_worse() -> None:
    """Where validation has its numbers in the middle, the first refit is worse than none, and no weaker ridge is tried."""
    trees, plain = stump((5.0, 5.0))
    found = [c for c, _ in trees.refits(trees.forest, trees.forest.ensemble.is_split, plain)]
    assert plain.valid_error == pytest.approx(1.0)
    assert [c.params["ridge"] for c in found] == [RIDGES[0]]
    assert found[0].valid_error > 1.0


def test_collapsed_splits_predict_the_mean_of_refitted_leaves() -> None:
    """20 rows at 6 of 0, 60 at 8 of 10: with k = 1000 they move by -120 / 1020 and 120 / 1060, and the root with them."""
    trees, plain = stump((0.0, 10.0), zeros=20)
    _, forest = next(trees.refits(trees.forest, trees.forest.ensemble.is_split, plain))
    root = (20 * (6 - 120 / 1020) + 60 * (8 + 120 / 1060)) / 80
    assert collapsible(forest, trees.problem.train.X).ensemble.value[0, 0] == pytest.approx(root, rel=1e-5)
    assert forest.ensemble.value[0, 0] == pytest.approx(7.5)  # a refit alone leaves the root as it was


def test_prunings_by_hand() -> None:
    """A model of a cheap and a dear column, pruned to what the cheap one costs, buys that one alone for all rows."""
    x = np.array([[a, b] for a in (0, 1) for b in (0, 1)] * 20, dtype=np.float32)
    part = Part(x, 8.0 * x[:, 0] + 2.0 * x[:, 1].astype(np.float64))
    problem = Problem("hand", 0, "regression", 0, part, part, part, CostItems.plain([1, 10], ["a", "b"]), (2.0, 11.0))
    unit = GrownPruned(problem)
    unit.grow([{"leaves": 4, "lam": 10 ** (cegb.LOWEST / cegb.RUNGS_PER_DECADE), "rounds": 60}])
    whole = max(unit.found, key=lambda c: c.valid_cost)
    assert whole.valid_cost == 11.0
    unit.prune()
    pruned = [c for c in unit.found if "budget" in c.params]
    assert {c.params["budget"] for c in pruned} == {2.0}
    assert {c.valid_cost for c in pruned} == {1.0}
    # what the dear column says is left over: +-1, squared
    assert min(c.valid_error for c in pruned) == pytest.approx(1.0, rel=1e-3)


@pytest.fixture(scope="module", params=["breast_cancer", "diabetes", "wine"])
def unit(request: pytest.FixtureRequest) -> tuple[Problem, list[Candidate]]:
    """A problem and all candidates of the method."""
    problem = few(request.param)
    return problem, list(grown_pruned(problem, None))


def test_validation_is_never_left_with_less_than_cegb_offers(unit: tuple[Problem, list[Candidate]]) -> None:
    """CEGB's own candidates are all there, and at each budget what is chosen errs no more than the best of them."""
    problem, ours = unit
    pool: list[Candidate] = []
    for s in SETTINGS:
        pool += cegb.fit(problem, int(s["leaves"]), cegb.rung_of(s), 100)
    told = {(str(c.params), c.valid_cost, c.valid_error, c.valid_loss, c.test_error) for c in ours}
    assert {(str(c.params), c.valid_cost, c.valid_error, c.valid_loss, c.test_error) for c in pool} <= told
    for budget in problem.budgets:
        best, rival = chosen(ours, budget), chosen(pool, budget)
        if rival is not None:
            assert best is not None
            assert (best.valid_error, best.valid_loss) <= (rival.valid_error, rival.valid_loss)
    kinds = {("ridge" in c.params, "budget" in c.params) for c in ours}
    assert kinds == {(False, False), (True, False), (False, True), (True, True)}


def test_cegb_remembers_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """After CEGB's own unit, its chosen settings are at hand and nothing is searched for; another seed does not change them."""
    problem = replace(few("breast_cancer"), memory=Memory())
    pool = cegb.fit(problem, 4, -6, 30)
    monkeypatch.setattr(cegb, "search", lambda problem, scouted: pool)
    assert list(cegb.cegb(problem, None)) == pool
    monkeypatch.setattr(cegb, "search", lambda problem, scouted: [])
    assert list(cegb.cegb(problem, SETTINGS)) == []
    assert cegb.settings(problem) == [dict(w.params) for w in winners(pool, problem.budgets)]


def test_long_models_are_pruned_from_their_first_rounds() -> None:
    """Of a chosen model that is too long, the longest of its own rounds that is short enough is pruned."""
    unit = GrownPruned(few("breast_cancer"))
    unit.small = False

    def made(rounds: int, lam: float, **more: Value) -> Candidate:
        return Candidate({"leaves": 4, "lam": lam, "rounds": rounds, **more}, 1, 0.1, 0.1, 1, 0.1, 0.1, 1, 1)

    kept, long = made(90, 0.1), made(200, 0.1)
    unit.found = [made(72, 0.1), kept, made(90, 0.1, ridge=10.0), made(99, 0.2), made(113, 0.1), long]
    assert unit._short(long) is kept
    assert unit._short(kept) is kept


def test_many_classes_on_large_data_are_refused() -> None:
    """Seven classes on tens of thousands of rows are left out with a reason, on few rows they are not."""
    problem = few("wine")
    assert refuses(problem) is None
    rows = Part(np.zeros((5000, 3), dtype=np.float32), np.zeros(5000, dtype=np.int64))
    assert "a tree a class" in str(refuses(replace(problem, train=rows)))
    assert refuses(replace(problem, train=rows, n_classes=2)) is None
