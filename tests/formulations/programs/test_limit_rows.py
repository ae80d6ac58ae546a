"""What prunings use of limits, exactly and in floating point, and how limits are written."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from formulations import CostItems, InvalidInputError, Pruning, PruningProblem
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from solvers.brute_force import all_prunings
from solvers.budgets.limits.oracle import Oracle
from tests.instances import random_problem
from tests.loops import looped
from tests.solvers.budgets.limits.cases import mean, prices, slow_uses, two_wards
from tests.solvers.cases import instance


@looped("seed", range(16))
def test_uses_are_what_examples_use(seed: int) -> None:
    """Exact uses of random prunings equal those of walking every example down; floats agree; the plain limit is the cost."""
    problem = random_problem(seed, rounded=seed % 5 == 0)
    rng = np.random.default_rng(seed)
    members = np.flatnonzero(rng.random(problem.n_rows) < 0.5)
    members = members if members.size else np.array([0])
    share = {problem.costs.names[0]: Fraction(2, 7)}
    limits = [
        Limit(9, rows=problem.rows[members]),
        Limit(9),
        Limit(9, share, name="other"),
        Limit(9, "splits"),
        Limit(9, each=True),
    ]
    rows = limit_rows(problem, [*limits, Limit(10**6, "leaves"), Limit(9, "items")])
    oracle, every = Oracle(rows), all_prunings(problem).kept
    for kept in every[rng.integers(0, len(every), 6)]:
        pruning = Pruning(problem, kept)
        exact = rows.uses(pruning)
        paid = slow_uses(problem, kept, prices(problem), evaluated=True)
        assert exact[0] == mean(problem, paid, members)
        other = slow_uses(problem, kept, share, evaluated=False)
        assert exact[2] == mean(problem, other, np.arange(problem.n_rows))
        assert exact[3] == pruning.n_splits
        dearest = [use for use, row in zip(exact, rows.rows, strict=True) if row.limit == 4]
        assert set(dearest) == set(paid)
        assert exact[-2] == pruning.is_leaf.sum()
        asked = {m for h in np.flatnonzero(kept) for m in problem.costs.needs[int(problem.ensemble.feature[h])]}
        assert exact[-1] == sum(problem.costs.prices[m] > 0 for m in asked)
        constant = [float(rows.meters[row.meter].constant) for row in rows.rows]
        np.testing.assert_allclose(oracle.uses(kept) + constant, [float(c) for c in exact], rtol=1e-12, atol=1e-12)
        if problem.integers.cost_rounding == 0:
            assert exact[1] == pruning.exact_cost


def test_weights_that_do_not_fit_64_bits_are_added_exactly() -> None:
    """Weights of 17 digits over many orders of magnitude: the mean is the fraction of the decimals."""
    weights = np.array([0.12345678901234567, 98765432.123456789, 1e-9, 3.0])
    problem = two_wards(sample_weight=weights)
    rows = limit_rows(problem, [Limit(9, rows=[0, 2, 3])])
    w = [Fraction(repr(float(x))) for x in weights]
    assert rows.uses(Pruning.unpruned(problem)) == ((6 * w[0] + 2 * w[2] + 2 * w[3]) / (w[0] + w[2] + w[3]),)


def test_rows_of_weight_0_are_nobody() -> None:
    """A limit may name rows of weight 0, which count nowhere; of these alone there is no mean."""
    problem = two_wards(sample_weight=[0, 2, 1, 1])
    assert limit_rows(problem, [Limit(5, rows=[0, 1])]).uses(Pruning.unpruned(problem)) == (6,)
    with pytest.raises(InvalidInputError, match="has no row of positive weight"):
        limit_rows(problem, [Limit(5, rows=[0])])


def test_examples_routed_alike_are_one_row() -> None:
    """A row for each way through the forest, whatever the number of examples that take it."""
    problem = instance("iris")
    rows = limit_rows(problem, [Limit(3, each=True)])
    pruning = Pruning.unpruned(problem)
    assert len(rows.rows) < problem.n_rows
    assert set(rows.uses(pruning)) == set(slow_uses(problem, pruning.kept, prices(problem), evaluated=True))


def test_limits_are_read_from_text() -> None:
    """As the command line takes them."""
    assert repr(Limit.parse("30")) == "Limit(cost <= 30)"
    assert Limit.parse("minutes = 30").of == "minutes"
    assert Limit.parse("mri<=0.3").at_most == Fraction(3, 10)
    with pytest.raises(InvalidInputError, match="write a number, as 'minutes=30'"):
        Limit.parse("minutes=many")


def test_a_column_names_the_rows() -> None:
    """A column of the cost sample that holds 0 and 1 is a mask; another one is not."""
    problem = two_wards()
    table = pd.DataFrame(np.asarray(problem.X), columns=["ward", "scan", "blood"]).assign(ward=[0, 0, 1, 1], scan=[0, 1, 0, 2])
    problem = PruningProblem.build(problem.ensemble, problem.errors, table, problem.costs)
    assert limit_rows(problem, [Limit(1, rows="ward")]).rows[0].members.tolist() == [2, 3]
    with pytest.raises(InvalidInputError, match="the column 'scan' is no mask"):
        limit_rows(problem, [Limit(1, rows="scan")])


def test_currencies_come_from_tables_and_by_hand() -> None:
    """Columns cost_... of a table of prices; amounts by name or one for each item."""
    table = pd.DataFrame({"feature": ["a", "b"], "cost": [1, 2], "cost_minutes": [5, None]})
    assert CostItems.from_table(table).currencies == {"minutes": (Fraction(5), Fraction(0))}
    both = CostItems.from_table(table).with_currency("ml", [0, 10])
    assert both.of_made([[0, 1]]).currencies == {"minutes": (5, 0), "ml": (0, 10)}
    for name, amounts, message in (
        ("a", [1, 2], "has the name of an item"),
        ("splits", [1, 2], "has the name of a word of its own"),
        ("ml", [1], "1 amounts of 'ml' for 2 items"),
        ("ml", {"c": 1}, "has an amount for 'c', which is no item"),
        ("ml", [1, -2], "ml of 'b' is -2, negative"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            CostItems.plain([1, 2], ["a", "b"]).with_currency(name, amounts)
    shared = pd.DataFrame({"feature": ["a", "b"], "cost": [1, 1], "item": ["x", "x"], "cost_ml": [5, 6]})
    with pytest.raises(InvalidInputError, match="'cost_ml' of the item 'x' is 6"):
        CostItems.from_table(shared)
