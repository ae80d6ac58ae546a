"""Trees of a search: true ones prove their bound, and whatever is changed in one is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

import prunemodels as pm
from formulations import Pruning, PruningProblem
from formulations.answers.limited_solution import LimitedSolution
from formulations.answers.search_proof import Branch, Closed, Exceeded, Fixed, Payments, Priced, SearchProof, Step, TooMuch
from formulations.instance.limit import Limit
from formulations.programs.limit_rows import limit_rows
from proofs_checks import Verdict, check_solution
from solvers.brute_force import all_prunings
from solvers.within import exact_budget, solve_limits
from solvers.within.params import WithinParams
from tests.instances import random_problem, with_usage
from tests.loops import looped
from tests.solvers.cases import twin_stumps
from tests.solvers.within.test_engines import a_larger_problem, budgets_of

NO_PAYMENTS = Payments(*(np.zeros(0, dtype=kind) for kind in (np.int32, np.int32, np.int32, np.int64)), Fraction(1))


@cache
def answers(*, windowed: bool) -> tuple[LimitedSolution, ...]:
    """Answers at several budgets of some random instances; in windows that are as narrow as they can be, or of the whole."""
    found = []
    params = WithinParams(first_window_arcs=0) if windowed else WithinParams()
    for problem in [random_problem(seed) for seed in (4, 7, 14)] + [a_larger_problem(seed) for seed in (20, 21, 24, 37)]:
        path = pm.pruning_path(problem)
        found += [exact_budget(problem, budget, path=path, params=params) for budget in budgets_of(path)]
    return tuple(found)


def with_steps(*kinds: type[Step]) -> LimitedSolution:
    """The answer whose proof has steps of these kinds, and the most steps."""
    every = [a for a in answers(windowed=False) if all(any(isinstance(s, kind) for s in steps_of(a)) for kind in kinds)]
    return max(every, key=lambda a: len(steps_of(a)))


def in_windows() -> list[LimitedSolution]:
    """Answers whose proofs have a window with payments at both ends."""
    found = []
    for a in answers(windowed=True):
        window = window_of(a)
        if (
            window is not None
            and window.high
            and window.low
            and window.high.payments.paid.any()
            and window.low.payments.paid.any()
        ):
            found.append(a)
    return found


def in_window() -> LimitedSolution:
    """The one of them with the most payments at its leaves."""
    return max(in_windows(), key=lambda a: sum(priced.payments.paid.size for _, priced in priced_places(a)))


def steps_of(found: LimitedSolution) -> list[Any]:
    """The steps of its proof."""
    assert found.proof is not None
    return list(found.proof.steps)


def window_of(found: LimitedSolution) -> Any:
    """The window of its proof."""
    assert found.proof is not None
    return found.proof.window


def proven_by(found: LimitedSolution, steps: list[Any], **window: Any) -> Verdict:
    """The verdict where other steps stand in the proof, and other things in its window."""
    other = window_of(found) if not window else replace(window_of(found), **window)
    return check_solution(found.problem, replace(found, proof=SearchProof(tuple(steps), other)))


def refused(verdict: Verdict, *messages: str) -> None:
    """That a verdict is no, for one of some reasons."""
    assert verdict.holds is False, verdict
    assert any(message in verdict.certificate for message in messages), verdict.certificate


def priced_places(found: LimitedSolution) -> Iterator[tuple[int, Priced]]:
    """The steps with multipliers and payments."""
    for k, step in enumerate(steps_of(found)):
        if isinstance(step, Closed | Fixed):
            yield k, step.priced


def with_priced(found: LimitedSolution, k: int, **changes: Any) -> Verdict:
    """The verdict where multipliers or payments of a step are others."""
    steps = steps_of(found)
    steps[k] = replace(steps[k], priced=replace(steps[k].priced, **changes))
    return proven_by(found, steps)


def with_payments(found: LimitedSolution, k: int, **changes: Any) -> Verdict:
    """The verdict where some arrays of a step's payments are others."""
    return with_priced(found, k, payments=replace(steps_of(found)[k].priced.payments, **changes))


def put(array: np.ndarray, place: int, value: Any) -> np.ndarray:
    """A copy with another value at a place."""
    changed = array.copy()
    changed[place] = value
    return changed


def paid_places(found: LimitedSolution) -> list[tuple[int, Any, int]]:
    """Some single payments: the step, its payments, and the place there."""
    every = [(k, p.payments, i) for k, p in priced_places(found) for i in range(p.payments.split.size)]  # type: ignore[union-attr]
    return every[:: 1 + len(every) // 6]


EVERY_KIND: tuple[Callable[[], LimitedSolution], ...] = (
    lambda: with_steps(Branch, TooMuch),
    lambda: with_steps(Branch, Fixed),
    in_window,
)
"""Answers whose proofs have all kinds of steps that budgets have, with and without a window."""


def test_true_proofs_hold() -> None:
    """Of the whole instance and of windows; among them are all kinds of steps."""
    for windowed in (False, True):
        kinds = set()
        for found in answers(windowed=windowed):
            verdict = check_solution(found.problem, found)
            assert verdict.holds is True, str(verdict)
            assert verdict.certificate["leaves"] == found.proof.n_leaves
            kinds |= {type(step) for step in steps_of(found)}
        assert kinds == {Branch, Fixed, TooMuch, Closed} if not windowed else kinds >= {Branch, Fixed, Closed}
        assert windowed == any(window_of(found) is not None for found in answers(windowed=windowed))


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_a_step_too_few_or_too_many_is_refused(found: LimitedSolution) -> None:
    """Whichever step is missing: the walk has no end, or goes on where it may not. None may follow, though it proves the same."""
    steps = steps_of(found)
    for k, step in enumerate(steps):
        if isinstance(step, Closed):
            refused(proven_by(found, steps[:k] + steps[k + 1 :]), "branches open", "decided", "prove the bound", "is within")
    refused(proven_by(found, steps[:-1]), "the proof ends with 1 branches open")
    refused(proven_by(found, []), "the proof ends with 1 branches open")
    refused(proven_by(found, [*steps, steps[-1]]), f"step {len(steps)} of the proof comes after its last branch has ended")
    refused(proven_by(found, [*steps, Branch(0)]), "comes after its last branch has ended")


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_a_bound_raised_by_one_unit_is_refused(found: LimitedSolution) -> None:
    """The answer has the worst pruning, so that its own error does not refute the bound first."""
    worst = Pruning.all_roots(found.problem)
    poor = replace(found, pruning=worst, error=worst.error, uses=(worst.exact_cost,))
    assert check_solution(found.problem, poor)
    gains = found.problem.numbers.gain
    unit = float(int(np.gcd.reduce(gains)) * found.problem.numbers.gain_unit)
    assert found.bound + unit <= worst.error
    raised = replace(poor, bound=found.bound + unit)
    refused(check_solution(found.problem, raised), "the proof's leaves prove the bound", "the other way the error may be less")


def fixing() -> tuple[LimitedSolution, int]:
    """An answer whose proof fixes splits after nothing was decided but by TooMuch, and the step that does."""
    for found in answers(windowed=False):
        steps = steps_of(found)
        k = next((k for k, step in enumerate(steps) if not isinstance(step, TooMuch)), 0)
        if isinstance(steps[k], Fixed) and len(steps) > k + 2:
            return found, k
    raise AssertionError("no proof begins with a fixing")


def test_a_wrong_fixing_is_refused() -> None:
    """Every other open split added to those that a step fixes, in and out: it is refused, or a list of all prunings proves it."""
    found, k = fixing()
    steps, problem = steps_of(found), found.problem
    every, numbers, ((_, _, mu),) = all_prunings(problem), problem.numbers, steps[k].priced.multipliers
    lost = float(numbers.gain_unit) * every.gain - float(mu) * (float(numbers.price_unit) * every.cost - float(found.at_most[0]))
    value = float(problem.roots_error) - lost
    for step in steps[:k]:
        value[every.kept[:, step.splits].any(axis=1)] = np.inf
    unit, reasons = float(int(np.gcd.reduce(numbers.gain)) * numbers.gain_unit), set()
    for h in problem.usage.splits.tolist():
        for name in ("kept", "pruned"):
            wrong = list(steps)
            wrong[k] = replace(steps[k], **{name: np.append(getattr(steps[k], name), np.int32(h))})
            verdict = proven_by(found, wrong)
            if verdict.holds:
                assert value[every.kept[:, h] == (name == "pruned")].min() > found.bound - unit
                continue
            refused(verdict, "is fixed in", "is fixed out", "twice", "is pruned", "decided")
            reasons |= {reason for reason in ("is fixed in", "is fixed out") if reason in verdict.certificate}
    assert reasons == {"is fixed in", "is fixed out"}
    for name, ids in (("kept", [0.5]), ("pruned", [[0]]), ("kept", [10**6]), ("pruned", [-1])):
        wrong = list(steps)
        wrong[k] = replace(steps[k], **{name: np.array(ids)})
        refused(proven_by(found, wrong), "no array of whole numbers", "is no split")


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_exchanged_multipliers_are_refused(found: LimitedSolution) -> None:
    """Doubled, negative, of a limit or a row that is none, twice, of floats, and none at all."""
    doubled = tried = 0
    for k, priced in priced_places(found):
        if not priced.multipliers:
            continue
        tried += 1
        ((limit, row, mu),) = priced.multipliers
        for wrong, *messages in (
            (((limit, row, -mu),), "it must be a fraction >= 0"),
            (((1, row, mu),), "there is no such row"),
            (((-1, row, mu),), "there is no such row"),
            (((limit, 0, mu),), "there is no such row"),
            (((limit, row, float(mu)),), "it must be a fraction >= 0"),
            (((limit, row, mu), (limit, row, mu)), "has two multipliers"),
        ):
            refused(with_priced(found, k, multipliers=wrong), *messages)
        if priced.payments.split.size:  # type: ignore[union-attr]
            refused(
                with_priced(found, k, multipliers=((limit, row, mu / 2),)), "more than its price", "below those of the window"
            )
            refused(with_priced(found, k, multipliers=()), "more than its price", "below those of the window")
        doubled += with_priced(found, k, multipliers=((limit, row, 2 * mu),)).holds is False
    assert tried
    assert doubled


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_a_payment_raised_above_a_price_is_refused(found: LimitedSolution) -> None:
    """One unit above it, that is; up to the price it proves as much."""
    tried = 0
    for k, payments, i in paid_places(found):
        ((_, _, mu),) = steps_of(found)[k].priced.multipliers
        problem, item, row = found.problem, int(payments.item[i]), int(payments.row[i])
        weights = [Fraction(repr(float(w))) for w in problem.usage.weights]
        share = weights[row] / sum(weights) if row >= 0 else Fraction(1)
        most = mu * problem.costs.prices[item] * share // payments.unit
        others = int(payments.paid[(payments.item == item) & (payments.row == row)].sum()) - int(payments.paid[i])
        assert payments.paid[i] + others <= most
        assert with_payments(found, k, paid=put(payments.paid, i, most - others)).holds is True
        refused(with_payments(found, k, paid=put(payments.paid, i, most - others + 1)), "are more than its price")
        refused(with_payments(found, k, paid=put(payments.paid, i, -1)), "pays less than nothing")
        tried += 1
    assert tried


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_payments_for_what_a_split_does_not_need_are_refused(found: LimitedSolution) -> None:
    """Other items, items that are none, and examples that do not reach it."""
    problem = found.problem
    ensemble, others = problem.ensemble, 0
    for k, payments, i in paid_places(found):
        h = int(payments.split[i])
        needs = problem.costs.needs[int(ensemble.feature[h])]
        for item in {*range(problem.costs.n_items), -1, 10**6} - set(needs):
            refused(
                with_payments(found, k, item=put(payments.item, i, item)), f"split {h} pays for an item that it does not need"
            )
        for row in set(range(problem.usage.n_rows)) - rows_of(problem, h):
            refused(
                with_payments(found, k, row=put(payments.row, i, row)), f"split {h} pays for an example that does not reach it"
            )
            others += 1
        refused(with_payments(found, k, row=put(payments.row, i, problem.usage.n_rows)), "does not need")
        leaf = int(np.flatnonzero(~ensemble.is_split)[0])
        refused(with_payments(found, k, split=put(payments.split, i, leaf)), "a node pays that is no split")
        refused(with_payments(found, k, split=put(payments.split, i, ensemble.n_nodes)), "a node pays that is no split")
        refused(with_payments(found, k, split=payments.split[:-1]), "different lengths")
        refused(with_payments(found, k, paid=payments.paid.astype(float)), "no whole numbers")
        for unit in (Fraction(0), -payments.unit, float(payments.unit)):
            refused(with_payments(found, k, unit=unit), "it must be a fraction above 0")
    assert others


def rows_of(problem: PruningProblem, h: int) -> set[int]:
    """The examples of positive weight that reach a split, one by one."""
    ensemble, found = problem.ensemble, set()
    root = int(ensemble.roots[ensemble.tree_of[h]])
    for i, x in enumerate(np.asarray(problem.X, dtype=np.float32)[problem.usage.rows]):
        node = root
        while node >= 0 and node != h:
            node = int((ensemble.left if x[ensemble.feature[node]] <= ensemble.threshold[node] else ensemble.right)[node])
        if node == h:
            found.add(i)
    return found


def stumps(*steps: Step) -> Verdict:
    """On a proof by hand that two stumps, which gain .1 each and share a purchase of 1, err at least .4 within a half."""
    problem = twin_stumps()
    found = solve_limits(problem, [Limit(Fraction(1, 2))])
    assert (found.error, found.bound) == (0.4, 0.4)
    return check_solution(problem, replace(found, proof=SearchProof(steps)))


def pays(split: int, mu: Fraction, paid: Fraction) -> Priced:
    """A multiplier of the budget, and one payment for the item by its only example."""
    unit = Fraction(1, 1000)
    arrays = [np.array([x]) for x in (split, 0, 0, int(paid / unit))]
    return Priced(((0, None, mu),), Payments(*arrays, unit))


FREE = Closed(Priced((), NO_PAYMENTS))


def test_a_proof_by_hand() -> None:
    """Either stump takes more than there is. By multipliers: at 1/10 it pays all of its gain, and .4 - .1/2 is raised to .4."""
    nothing = SearchProof((TooMuch(0, None, np.array([0, 3])), FREE))
    assert stumps(*nothing.steps).certificate["proven"] == 0.4
    assert stumps(TooMuch(0, None, np.array([3])), Closed(pays(0, Fraction(1, 10), Fraction(1, 10)))).holds is True
    assert stumps(Branch(0), TooMuch(0, None, np.array([3])), FREE, Exceeded(0, None)).holds is True
    refused(stumps(FREE), "the proof's leaves prove the bound 0.2, not 0.4")
    refused(stumps(Branch(0), FREE, Exceeded(0, None)), "the proof's leaves prove the bound 0.3, not 0.4")


def test_a_split_that_is_fixed_both_ways_is_refused() -> None:
    """At 1/10 the first stump is worth nothing, so either way proves the bound; but it cannot be kept and pruned at once."""
    pair = TooMuch(0, None, np.array([3]))
    for kept, pruned in (([0], []), ([], [0])):
        fixed = Fixed(pays(0, Fraction(1, 10), Fraction(1, 10)), np.array(kept, dtype=int), np.array(pruned, dtype=int))
        assert stumps(pair, fixed, FREE if pruned else Exceeded(0, None)).holds is True
    both = Fixed(pays(0, Fraction(1, 10), Fraction(1, 10)), np.array([0]), np.array([0]))
    refused(stumps(pair, both, FREE), "split 0 is kept, but what is above it is pruned")


def test_payments_for_what_is_bought_already_are_refused() -> None:
    """Nor does a split pay that is decided."""
    last = TooMuch(0, None, np.array([3])), FREE
    refused(stumps(Branch(0), *last, Closed(pays(3, Fraction(1), Fraction(1, 10)))), "split 3 pays for what is bought already")
    refused(stumps(Branch(0), *last, Closed(pays(0, Fraction(1), Fraction(1, 10)))), "split 0 pays, but it is decided already")
    refused(stumps(TooMuch(0, None, np.array([3])), Closed(pays(3, Fraction(1), Fraction(0)))), "it is decided already")


def test_limits_that_are_not_exceeded_are_no_end() -> None:
    """A leaf, or a split that fits, of a limit that there is; and steps that decide a split twice, or none."""
    refused(stumps(Exceeded(0, None)), "what is kept use 0.0 of cost, which is within 0.5")
    refused(stumps(Exceeded(1, None)), "a step is about limit 1 and row None; there is no such row")
    refused(stumps(Exceeded(0, 0)), "a step is about limit 0 and row 0; there is no such row")
    refused(stumps(Branch(0), FREE, Branch(0), FREE, FREE), "split 0 is decided twice")
    refused(stumps(Branch(1), FREE, FREE), "node 1 is no split")
    refused(stumps(TooMuch(0, None, np.array([0, 0])), FREE), "a split stands there twice")
    refused(stumps(Branch(0), TooMuch(0, None, np.array([3])), Exceeded(0, None), Exceeded(0, None)), "which is within")
    refused(stumps("yes"), "str is no step of a proof")  # type: ignore[arg-type]
    refused(stumps(Closed(Priced((), "yes"))), "the payments are str")  # type: ignore[arg-type]
    problem = twin_stumps()
    generous = solve_limits(problem, [Limit(1)])
    for steps in ((TooMuch(0, None, np.array([0])), FREE), (Exceeded(0, None),)):
        refused(check_solution(problem, replace(generous, proof=SearchProof(steps))), "which is within 1.0")
    all_excluded = SearchProof((Branch(0), Exceeded(0, None), Exceeded(0, None)))
    refused(check_solution(problem, replace(generous, proof=all_excluded)), "which is within 1.0")


@looped("found", lambda: [make() for make in EVERY_KIND])
def test_too_much_is_computed_anew(found: LimitedSolution) -> None:
    """Every other open split added to those that are said to use too much: that it does is true, or it is refused."""
    steps, splits = steps_of(found), found.problem.usage.splits.tolist()
    k = next((k for k, step in enumerate(steps) if isinstance(step, TooMuch)), None)
    if k is None:
        if window_of(found) is not None:
            step = TooMuch(0, None, np.array(splits[:1]))
            refused(proven_by(found, [step, *steps]), "in a window nothing follows from what a limit leaves")
            refused(proven_by(found, [Exceeded(0, None)]), "in a window nothing follows from what a limit leaves")
        return
    refusals = 0
    for h in splits:
        wrong = list(steps)
        wrong[k] = replace(steps[k], splits=np.append(steps[k].splits, np.int32(h)))
        verdict = proven_by(found, wrong)
        chain = np.zeros(found.problem.ensemble.n_nodes, dtype=bool)
        above = h
        while above >= 0:
            chain[above], above = True, int(found.problem.ensemble.parent[above])
        if k == 0 and Pruning(found.problem, chain).exact_cost <= found.at_most[0]:
            refused(verdict, "which is within")
            refusals += 1
    assert refusals or k


@looped("found", in_windows)
def test_multipliers_outside_a_windows_box_are_refused(found: LimitedSolution) -> None:
    """Above those of the inner pruning, and below those of the outer one."""
    high, low = ({(k, row): mu for k, row, mu in end.multipliers} for end in (window_of(found).high, window_of(found).low))
    for k, _ in priced_places(found):
        above, below = high[0, None] * Fraction(1001, 1000), low[0, None] * Fraction(999, 1000)
        refused(with_priced(found, k, multipliers=((0, None, above),)), "the multipliers are above those of the window")
        refused(with_priced(found, k, multipliers=((0, None, below),)), "the multipliers are below those of the window")


@looped("found", in_windows)
def test_a_changed_window_is_refused(found: LimitedSolution) -> None:
    """Other payments, other multipliers, none, and other prunings."""
    window, steps = window_of(found), steps_of(found)
    for name in ("high", "low"):
        end = getattr(window, name)
        paid = end.payments.paid
        assert paid.any()
        place = int(np.argmax(paid))
        for payments, *messages in (
            (np.zeros_like(paid), "the proof's leaves prove the bound", "the other way the error may be less"),
            (put(paid, place, paid[place] * 3), "are more than its price"),
            (put(paid, place, -1), "pays less than nothing"),
        ):
            other = replace(end, payments=replace(end.payments, paid=payments))
            refused(proven_by(found, steps, **{name: other}), *messages)
        ((limit, row, mu),) = end.multipliers
        halved = replace(end, multipliers=((limit, row, mu / 2),))
        refused(proven_by(found, steps, **{name: halved}), "are more than its price")
        side = "inner" if name == "high" else "outer"
        refused(proven_by(found, steps, **{name: None}), f"nothing shows that the {side} pruning of the window is optimal")
    refused(proven_by(found, steps, inner=window.outer, outer=window.inner), "is not within the outer one")
    leaf = int(np.flatnonzero(~found.problem.ensemble.is_split)[0])
    refused(proven_by(found, steps, outer=put(window.outer, leaf, True)), "is kept, but")
    refused(
        proven_by(found, steps, outer=window.inner), "prove the bound", "decided", "may be less", "more than its price", "pays"
    )
    nothing = np.zeros_like(window.inner)
    refused(proven_by(found, steps, inner=nothing), "prove the bound", "may be less", "above those", "decided", "pays")


def test_other_prices_are_noticed() -> None:
    """A price halved, doubled, or 0: what is accepted all the same is true of all prunings of the other instance."""
    refusals = 0
    for make in EVERY_KIND:
        found = make()
        for m, price in enumerate(found.problem.costs.prices):
            for factor in (Fraction(0), Fraction(1, 2), Fraction(2)):
                prices = tuple(p * factor if k == m else p for k, p in enumerate(found.problem.costs.prices))
                costs = replace(found.problem.costs, prices=prices)
                verdict = check_solution(with_usage(found.problem, costs=costs), found)
                if price == 0 or factor == 2:
                    continue
                if verdict.holds:
                    assert found.bound <= least_error(found, costs) + 1e-12
                refusals += verdict.holds is False
    assert refusals > 10


def least_error(found: LimitedSolution, costs: pm.CostItems) -> float:
    """The least error within the budget at other prices, of all prunings."""
    problem = found.problem
    other = PruningProblem.build(
        problem.ensemble, problem.errors, problem.X, costs, sample_weight=None, evaluation_cost=problem.usage.evaluation
    )
    assert (other.usage.weights == problem.usage.weights).all()
    every = [Pruning(other, kept) for kept in all_prunings(other).kept]
    return min(p.error for p in every if p.exact_cost <= found.at_most[0])


def test_rows_of_several_limits_are_told_apart() -> None:
    """A proof within limits for two groups: multipliers of the other group, and TooMuch by it, are refused."""
    problem = a_larger_problem(20)
    half = np.arange(12) % 2 == 0
    rows = limit_rows(problem, [Limit(10**6, rows=half, name="even"), Limit(10**6, rows=~half, name="odd")])
    uses = rows.uses(Pruning.unpruned(problem))
    limits = [Limit(uses[0] / 3, rows=half, name="even"), Limit(uses[1] / 2, rows=~half, name="odd")]
    found = solve_limits(problem, limits, method="exact")
    assert check_solution(problem, found)
    refusals = 0
    for k, priced in priced_places(found):
        if not priced.multipliers:
            continue
        swapped = tuple((1 - limit, row, mu) for limit, row, mu in priced.multipliers)
        refusals += with_priced(found, k, multipliers=swapped).holds is False
        beyond = tuple((limit + 2, row, mu) for limit, row, mu in priced.multipliers)
        refused(with_priced(found, k, multipliers=beyond), "there is no such row")
    assert refusals
    for k, step in enumerate(steps_of(found)):
        if isinstance(step, TooMuch | Exceeded):
            steps = steps_of(found)
            steps[k] = replace(step, limit=2)
            refused(proven_by(found, steps), "there is no such row")
