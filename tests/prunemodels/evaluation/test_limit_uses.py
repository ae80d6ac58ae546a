"""Uses of several limits on new examples, and trade-offs in two currencies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import prunemodels as pm
from formulations import CostItems, Pruning
from formulations.instance.limit import Limit
from prunemodels.statements.wording import limit_uses
from tests.instances import Node, problem_of, random_problem
from tests.loops import looped
from tests.solvers.within.limits.cases import mean, prices, slow_uses, two_wards


@looped("seed", range(12))
def test_uses_are_counted_down_the_trees(seed: int) -> None:
    """Cost with evaluation, of all and of a group, the dearest, and shares, as each row walked down the trees uses them."""
    problem = random_problem(np.random.default_rng(seed))
    kept, names = Pruning.unpruned(problem).kept, problem.costs.names
    group = problem.usage.rows[: max(2, problem.usage.n_rows // 2)]
    if problem.usage.n_rows < 2:
        return
    limits = [Limit(1), Limit(1, rows=group), Limit(1, each=True), Limit(1, {names[0]: Fraction(1, 3)}), Limit(1, "leaves")]
    seen = limit_uses(problem.usage, kept, limits)
    paid = slow_uses(problem, kept, prices(problem), evaluated=True)
    other = slow_uses(problem, kept, {names[0]: Fraction(1, 3)}, evaluated=False)
    everybody, some = np.arange(problem.usage.n_rows), np.arange(len(group))
    wanted = [mean(problem, paid, everybody), mean(problem, paid, some), max(paid), mean(problem, other, everybody)]
    assert [use.use for use in seen[:4]] == pytest.approx([float(w) for w in wanted])
    assert seen[4].use == problem.ensemble.n_trees + int(kept.sum())


def test_the_interval_is_that_of_the_cost() -> None:
    """A limit of the mean cost is told as `hold_out` tells the cost, whichever rows are new."""
    from prunemodels.example import X_test, problem

    solution = pm.solve(problem, budget=8)
    cost = pm.hold_out(solution.pruning, None, X_test).cost
    seen = limit_uses(problem.usage.on(X_test), solution.pruning.kept, [Limit(8)])[0]
    assert (seen.use, seen.low, seen.high, seen.n) == (cost.mean, cost.low, cost.high, cost.n)


def test_two_wards_by_hand() -> None:
    """Half of the rows ask for the scan at 6, the others for the blood at 2: a mean of 4 of at most 3, exceeded by half."""
    problem = two_wards()
    kept = Pruning.unpruned(problem).kept
    cost, scan, minutes, dearest, size = limit_uses(
        problem.usage, kept, [Limit(3), Limit(0.5, "scan"), Limit(3, "minutes"), Limit(6, each=True), Limit(2, "splits")]
    )
    assert (cost.use, cost.exceeding, cost.is_over) == (4, 0.5, True)
    assert (scan.use, scan.is_over) == (0.5, False)
    assert minutes.use == 3  # 2 rows of 4 for 1 minute, 2 for 5
    assert (dearest.use, dearest.exceeding, dearest.interval) == (6, 0, "")
    assert (size.use, size.n, size.is_over) == (3, 0, True)
    # rows on the left alone ask for the scan
    left = limit_uses(problem.usage, kept, [Limit(1, "scan", rows=[0, 1])])[0]
    assert (left.use, left.n) == (1, 2)


def test_an_item_paid_once_shifts_the_interval() -> None:
    """A licence of 7 that one split needs costs every group 7, without uncertainty; nobody's share is above 1."""
    costs = CostItems(("licence",), (Fraction(7),), ((0,),), (True,))
    X = np.array([[0.0], [1.0], [1.0]])
    problem = problem_of([Node(4, 0, 0.5, Node(0), Node(1))], costs, X)
    kept = Pruning.unpruned(problem).kept
    whole, share = limit_uses(problem.usage, kept, [Limit(9), Limit(1, "licence")])
    assert (whole.use, whole.low, whole.high) == (7, 7, 7)
    assert share.use == 1


def test_a_group_of_one_has_no_interval() -> None:
    """The error names the number of examples."""
    with pytest.raises(pm.errors.InvalidInputError, match="at least 2 examples of positive weight, there is 1"):
        limit_uses(two_wards().usage, np.zeros(7, dtype=bool), [Limit(1, rows=[2])])


def test_two_currencies_two_wards_by_hand() -> None:
    """The scan costs 3 on average and half a minute, the blood 1 and two and a half. Either lowers the error by 0.3."""
    for minutes, errors in ((0.5, [0.8, 0.8, 0.5, 0.5]), (3, [0.8, 0.5, 0.5, 0.2])):
        found = [pm.solve(two_wards(), limits=[Limit(b), Limit(minutes, "minutes")]) for b in (0, 1, 3, 4)]
        assert [s.error for s in found] == pytest.approx(errors)
