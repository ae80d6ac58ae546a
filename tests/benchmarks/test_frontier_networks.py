"""The two rivals with networks on a table where only an adaptive purchase is right, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest

from benchmarks.frontier.candidate import Candidate, chosen, climb_each
from benchmarks.frontier.problem import Part, Problem
from benchmarks.frontier.rivals import acquisition, masked_networks, policy_network, value_network
from benchmarks.frontier.rivals.masked_networks import Setting, Table
from formulations import extras
from formulations.errors import MissingPackageError
from formulations.instance.cost_items import CostItems
from tests.benchmarks.test_frontier import made

RIVALS = [pytest.param(value_network, id="value"), pytest.param(policy_network, id="policy")]
SETTING = Setting(width=16, steps=60, rate=0.03, dropout=0.0)


@pytest.fixture
def _torch() -> None:
    """Skips without PyTorch."""
    pytest.importorskip("torch", reason="PyTorch is not installed: the extra `rivals` brings it")


def routed(prices: tuple[float, ...] = (1, 1, 1), budget: float = 1.6, *, regression: bool = False) -> Problem:
    """B is the label where A is positive, which is -1 elsewhere; C is noise. Who knows A needs B for half of the rows."""
    rng = np.random.default_rng(0)

    def part(n: int) -> Part:
        X = rng.choice([-1.0, 1.0], size=(n, 3)).astype(np.float32)
        label = np.where(X[:, 0] > 0, X[:, 1], -1.0)
        return Part(X, label.astype(np.float64) if regression else (label > 0).astype(np.int64))

    costs = CostItems.plain(list(prices), ["A", "B", "C"])
    parts = part(240), part(100), part(100)
    return Problem(
        "routed", 0, "regression" if regression else "classification", 0 if regression else 2, *parts, costs, (budget,)
    )


def best(rival: ModuleType, problem: Problem) -> Candidate:
    """What validation chooses for the problem's only budget."""
    found = chosen(list(rival.METHODS[0].run(problem, [SETTING.params])), problem.budgets[0])
    assert found is not None
    return found


@pytest.mark.usefixtures("_torch")
@pytest.mark.parametrize(("rival", "budget"), [(value_network, 1.6), (policy_network, 2.0)], ids=["value", "policy"])
def test_adaptive_purchases_beat_any_fixed_set(rival: ModuleType, budget: float) -> None:
    """At a mean of 1.6 features nearly all rows are right, where one feature for all is wrong for a quarter of them. The squared
    error is below the 0.5 of one feature; of numbers the policy knows no confidence, so that it buys two.
    """
    found, of_numbers = best(rival, routed()), best(rival, routed(budget=budget, regression=True))
    assert (found.test_cost <= 1.7, found.test_error < 0.1) == (True, True)
    assert (of_numbers.test_cost <= budget + 0.1, of_numbers.test_error < 0.25) == (True, True)


@pytest.mark.usefixtures("_torch")
@pytest.mark.parametrize("rival", RIVALS)
def test_a_seed_gives_the_same_candidates_again(rival: ModuleType) -> None:
    """Nothing depends on the clock or on random numbers drawn before, and another seed gives other ones."""
    problem, few = routed(), replace(SETTING, steps=20).params

    def numbers(of: Problem) -> list[dict[str, object]]:
        return [{**vars(c), "fit_s": 0, "predict_s": 0} for c in rival.METHODS[0].run(of, [few])]

    first = numbers(problem)
    masked_networks.torch().rand(7)
    assert numbers(problem) == first
    assert numbers(replace(problem, seed=1)) != first


@pytest.mark.usefixtures("_torch")
@pytest.mark.parametrize("rival", RIVALS)
def test_the_cheaper_of_two_copies_is_bought(rival: ModuleType) -> None:
    """Value counts per price: of two columns that say the same, rows buy the one at a tenth of the price."""

    def copied(part: Part) -> Part:
        return Part(np.column_stack([part.X[:, 0], part.X[:, 0], part.X[:, 2]]), (part.X[:, 0] > 0).astype(np.int64))

    for prices in ((10, 1, 10), (1, 10, 10)):
        base = routed(prices)
        problem = replace(base, train=copied(base.train), valid=copied(base.valid), test=copied(base.test), budgets=(1.0,))
        found = best(rival, problem)
        assert (found.test_cost, found.test_error) == (1, 0)


@pytest.mark.usefixtures("_torch")
@pytest.mark.parametrize("rival", RIVALS)
def test_missing_cells_are_no_obstacle(rival: ModuleType) -> None:
    """A cell that was bought and is missing costs its price, and that it is missing is seen."""
    base = routed()

    def holes(part: Part) -> Part:
        return Part(np.column_stack([np.where(part.y == 1, np.nan, 0.0), part.X[:, 1:]]).astype(np.float32), part.y)

    problem = replace(base, train=holes(base.train), valid=holes(base.valid), test=holes(base.test), budgets=(1.0,))
    found = best(rival, problem)
    assert (found.test_cost, found.test_error) == (1, 0)


@pytest.mark.usefixtures("_torch")
def test_shared_items_are_paid_once() -> None:
    """By hand: the first of two features that share a draw costs 2 + 3, then the other 5, and a free item is owned."""
    torch = masked_networks.torch()
    costs = CostItems.from_items({"draw": 2, "a": 3, "b": 5, "age": 0}, [["draw", "a"], ["draw", "b"], ["age"]])
    table = Table(replace(routed(), costs=costs))
    start = table.at_start(1)
    assert table.mask(start).tolist() == [[0, 0, 1]]
    assert table.next_prices(start).tolist() == [[5, 7, 0]]
    after = torch.maximum(start, table.needs[0])
    assert table.mask(after).tolist() == [[1, 0, 1]]
    assert table.next_prices(after).tolist() == [[0, 5, 0]]


def test_stopping_rules_by_hand() -> None:
    """Rows stop at the first score below the threshold, before a purchase beyond their budget, or when they are sure."""
    p = np.array([[[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]], [[0.5, 0.5], [0.6, 0.4], [0.0, 1.0]]])
    score, after = [[0.3, 0.1, -np.inf], [0.3, 0.2, -np.inf]], [[1.0, 3.0, np.inf], [1.0, 3.0, np.inf]]
    walks = acquisition.Walks(p, np.array([[0.0, 1, 3], [0, 1, 3]]), np.array(score), np.array(after))
    rules = walks.criteria(2, True)
    assert walks.stopped(rules["value"], 0.15)[1] == 2  # the first row after one purchase, the second after two
    assert walks.stopped(rules["value"], 0.15)[0].tolist() == [[0.9, 0.1], [0.0, 1.0]]
    assert walks.stopped(rules["budget"], -2.0)[1] == 1
    assert walks.stopped(rules["budget"], -0.5)[1] == 0
    assert walks.stopped(rules["confidence"], 0.5)[1] == 2  # entropies 0.69, 0.33, 0 and 0.69, 0.67, 0
    assert "value" not in walks.criteria(2, False)
    assert "confidence" not in walks.criteria(0, True)


def test_each_hyperparameter_is_climbed_past_its_edges() -> None:
    """The best rungs of both are found from a start far below, and no rung outside of the grid is tried."""
    tried: list[tuple[int, int]] = []

    def fit(rungs: dict[str, int]) -> list[Candidate]:
        tried.append((rungs["a"], rungs["b"]))
        return [made(1, (rungs["a"] - 3) ** 2 / 100 + (rungs["b"] - 5) ** 2 / 100, **rungs)]

    found = climb_each(fit, {"a": 1, "b": 4}, {"a": 4, "b": 5}, [1.0])  # type: ignore[arg-type]
    assert chosen(found, 1.0).params == {"a": 3, "b": 5}  # type: ignore[union-attr]
    assert tried == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4), (3, 3), (3, 5)]


@pytest.mark.parametrize("rival", RIVALS)
def test_without_torch_the_extra_is_named(rival: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing PyTorch is the reason for which a method is left out, and a named error where it is called all the same."""

    def absent(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(extras.importlib, "import_module", absent)
    method = rival.METHODS[0]
    assert 'pip install "prunemodels[rivals]"' in str(method.refusal(routed()))
    with pytest.raises(MissingPackageError, match=r"needs torch, .*prunemodels\[rivals\]"):
        list(method.run(routed(), None))


@pytest.mark.usefixtures("_torch")
@pytest.mark.parametrize("rival", RIVALS)
def test_nothing_to_buy_is_refused(rival: ModuleType) -> None:
    """Where all features are free there is no order of purchases to learn."""
    assert rival.METHODS[0].refusal(routed((0, 0, 0))) == "all features are free"
    assert rival.METHODS[0].refusal(routed()) is None
