"""Compute all optimal exit policies from the outputs and costs of the stages on labelled rows, and judge them on other rows.

With N rows of weights w_i (sum W), their losses (`judged_losses`), levels l of `prunemodels.stages.policy`, and y_{s,l} = 1
where rows of level l go on from s,

    gain_{s,l}  = (1/W) sum over i with level_s(i) = l of  w_i (loss_{s,i} - loss_{s+1,i})
    price_{s,l} = (1/W) sum over the same i of             w_i (cost_{s+1,i} - cost_{s,i})
    minimise   loss_0 - sum gain_{s,l} y_{s,l}  +  lam * ( cost_0 + sum price_{s,l} y_{s,l} )                              (1)
    s.t.       y_{s,l} <= y_{s,l+1},    y_{s,l} <= y_{s-1,l}                                                             (2)

By (2) every row is counted exactly (`prunemodels.stages.policy`). (1) is a maximum closure, hence one minimum cut, and its
optima are nested in lam: `solvers.path.closure_path` finds them all, `proofs_checks.check_closure_path` proves them. An item that
is paid once for all examples is one more node, which the decision of the highest level needs at the first stage that needs it.

Thresholds and the choice of a policy use the labels of the rows at hand, so on these rows a policy's error is too optimistic. So
cost and error are stated by cross-fitting: each row is judged by levels and policies that were learned without its fold, in the
same way: for a price of cost the optimum, for a budget the policy that spends it (`prunemodels.cascades.spending`).

What rows save at one stage they may lose at the next. Where that cancels, sums must cancel, too: a rest of 1e-18 would be a
policy that costs more and saves nothing, and last digits differ between processors. So losses are whole numbers of a unit u, and
their sums are exact, the same in any order of the rows:

    v_i  =  w_i / g,  where g, a whole number of 10^-d, divides all weights and no v_i is large;    else  w_i / max w      (3)
    u    =  the larger of  2^-loss_bits up(max |l|)  and  2^-sum_bits up(max |l| sum v),    up: to a power of two           (4)
    l_{s,i}      ->  u round(l_{s,i} / u)                                                                                    (5)
    v_i l_{s,i}  ->  u round(v_i l_{s,i} / u),    the same where v is whole                                                  (6)

(5) changes a loss by at most u / 2: 1e-9 of the largest where a thousand rows have a weight of 1. Doubts keep their last digits:
thresholds lie half-way between two of them, so no row changes sides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formulations.answers.nested_rows import ClosurePath
from formulations.instance.parametric_closure import ParametricClosure
from formulations.instance.tree_loss import TreeLoss
from prunemodels.cascades.params import PARAMS
from prunemodels.models.labelled_samples import folds_of
from prunemodels.stages.doubt import Doubt
from prunemodels.stages.judging import WRONG, expected, fitting_loss, is_beyond_chance
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.policy import Cut, ExitPolicy, levels, prices_of_cost, thresholds
from prunemodels.stages.stacking import Stack, calibrated
from prunemodels.stages.stages import StageTable
from solvers.path.closure_path import closure_path

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExitSample:
    """N labelled rows at S stages; none of the stages was trained on the row whose output it gives."""

    doubt: Floats  # shape (S - 1, N): doubts of the fitted object
    cost: Floats  # shape (S, N): what each row has bought by each stage
    once: Floats  # shape (S,): see `Stages.once`
    loss: Floats  # shape (S, N): what is lost by what the stages predict, see `prunemodels.stages.judging.lost`
    judged: Floats  # shape (S, N): the losses that policies are learned from, see `judged_losses`
    weights: Floats  # shape (N,), > 0
    # shape (N,): the rows whose outputs are those of the stages that predict; other rows have outputs of stages that were fitted
    # in the same way on other folds. What is stated of a policy holds on the own rows.
    own: NDArray[np.bool_]
    truth: NDArray[Any] | None = None  # shape (N,): class numbers or targets; None in files of before

    @property
    def n_rows(self) -> int:
        """N."""
        return int(self.weights.size)

    @property
    def n_stages(self) -> int:
        """S."""
        return int(self.once.size)

    def take(self, rows: NDArray[Any]) -> ExitSample:
        """Some of the rows. If none of them is an own row, all count as such."""
        own = self.own[rows]
        own = own if own.any() else np.ones_like(own)
        doubt, cost, loss, judged = (array[:, rows] for array in (self.doubt, self.cost, self.loss, self.judged))
        truth = None if self.truth is None else self.truth[rows]
        return ExitSample(doubt, cost, self.once, loss, judged, self.weights[rows], own, truth)

    @property
    def own_rows(self) -> ExitSample:
        """The own rows alone."""
        return self if self.own.all() else self.take(self.own)

    def mean_cost(self, policy: ExitPolicy) -> float:
        """Mean cost of a prediction, with the items paid once that the policy's last stage needs."""
        paid = self.cost[policy.stop_stages(self.doubt), np.arange(self.n_rows)]
        return float(paid @ self.weights / self.weights.sum() + self.once[policy.last_stage])

    def pay_from(self, policy: ExitPolicy) -> Floats:
        """What rows that come to each stage pay on average under a policy, shape (S,); 0 where none comes."""
        stop = policy.stop_stages(self.doubt)
        paid = self.cost[stop, np.arange(self.n_rows)] * self.weights
        total, there = (np.bincount(stop, x, self.n_stages)[::-1].cumsum()[::-1] for x in (paid, self.weights))
        return np.asarray(np.divide(total, there, out=np.zeros(self.n_stages), where=there > 0))

    def losses(self, policy: ExitPolicy, loss: Floats | None = None) -> Floats:
        """The loss of each row under a policy, shape (N,); by default of what is predicted."""
        return np.asarray((self.loss if loss is None else loss)[policy.stop_stages(self.doubt), np.arange(self.n_rows)])

    def mean_loss(self, policy: ExitPolicy, loss: Floats | None = None) -> float:
        """What is lost on average; by default by what is predicted."""
        return float(self.losses(policy, loss) @ self.weights / self.weights.sum())


def judged_losses(
    table: StageTable, truth: NDArray[Any], weights: Floats, by: TreeLoss = WRONG, reference: Floats | None = None
) -> Floats:
    """The losses that policies are learned from, shape (S, N): what a reference expects, not what is observed.

        classification:  what is expected to be lost by the class that stage s predicts, or by its probabilities          (1)
        regression:      (number of stage s - number of the reference)^2                                                  (2)

    The reference is `reference_of` the stages and `reference`. The label of one row says little about a stage, its expectation
    more: in (1) and (2) nothing is left of the labels' noise. (2) lacks the variance of the labels around the reference, which is
    the same for all stages that have the same one. They are rounded as by (5) above.

    `by`: what predictions are judged by, see `prunemodels.stages.judging.expected`.
    """
    values = table.value if reference is None else np.append(table.value, reference[None], axis=0)
    return on_grid(expected(table.value, reference_of(values, truth, weights, by), by), weights)


def reference_of(values: Floats, truth: NDArray[Any], weights: Floats, by: TreeLoss = WRONG) -> Floats:
    """What the last stage says, unless an earlier one has less log loss, or squared error, by more than two standard errors.

    It is calibrated on these rows (`prunemodels.stages.stacking.calibrated`). An earlier stage must be better so, too: a model
    that is too sure of itself loses much, and may still know most.

    `values`: shape (S, N, K): of stages that were not trained on the row whose output they give.
    """
    lost = np.array([fitting_loss(value, truth, by) for value in values])
    last, best = calibrated(values[-1], truth, weights), int((lost @ weights).argmin())
    if not is_beyond_chance(lost[-1] - lost[best], weights, PARAMS.errors_apart):
        return last
    earlier = calibrated(values[best], truth, weights)
    gain = fitting_loss(last, truth, by) - fitting_loss(earlier, truth, by)
    return earlier if is_beyond_chance(gain, weights, PARAMS.errors_apart) else last


def common_reference(values: Sequence[Floats], truth: Floats, weights: Floats) -> Floats | None:
    """The best reference of some chains of stages that predict numbers; None where all have the same one.

    By (2) chains with references of their own cannot be compared: one that ends with a bad stage seems to be without error.

    `values`: of each chain, as in `reference_of`.
    """
    found = [reference_of(value, truth, weights) for value in values]
    if all(np.array_equal(value, found[0]) for value in found):
        return None
    return min(found, key=lambda value: float(fitting_loss(value, truth) @ weights))


@dataclass(frozen=True, eq=False)
class LearnedExits:
    """All optimal policies between the candidates."""

    # doubt, theta, stack, by: see `ExitPolicy`.
    doubt: Doubt
    theta: Floats
    path: ClosurePath  # the nested optima of (1); node s J + l - 1 is y_{s,l}, nodes from (S - 1) J on are items paid once
    stack: Stack | None = None
    by: TreeLoss = WRONG

    def policy(self, k: int) -> ExitPolicy:
        """The policy of row k >= 0 of the path."""
        stages, count = self.theta.shape
        go = np.zeros((stages, count + 1), dtype=bool)
        go[:, 1:] = (self.path.level > k)[: stages * count].reshape(stages, count)
        return self.with_go(go)

    def with_go(self, go: NDArray[np.bool_], cut: Cut | None = None) -> ExitPolicy:
        """Any policy on these levels."""
        return ExitPolicy(self.doubt, self.theta, go, self.stack, cut, self.by)


def solve_exits(
    sample: ExitSample, doubt: Doubt, stack: Stack | None, *, n_levels: int, certificate: bool = True, by: TreeLoss = WRONG
) -> LearnedExits:
    """The levels and all optima of (1), given the doubts of the rows.

    `doubt`, `stack`, `by`: by which the sample was made, for new rows. `n_levels`: J - 1: all rows reach the first level.
    """
    loss, doubts = sample.judged, sample.doubt
    lams = prices_of_cost(loss, sample.cost, sample.weights, doubts, n_levels) if len(doubts) else np.zeros(1)
    lowest = np.full((len(doubts), 1), -np.inf)
    theta = np.column_stack([lowest, thresholds(loss, sample.cost, sample.weights, doubts, lams)])
    problem = exit_problem(sample, levels(doubts, theta), theta.shape[1])
    return LearnedExits(doubt, theta, closure_path(problem, certificate=certificate), stack, by)


def exit_problem(sample: ExitSample, level: NDArray[np.int64], count: int) -> ParametricClosure:
    """The maximum closure (1) with the arcs (2), by sums that do not depend on the order of the rows.

    `level`: shape (S - 1, N), from 0 (never goes on) to `count`.
    """
    v = whole_weights(sample.weights)
    total = math.fsum(v)
    loss, loss_unit = whole_losses(sample.judged, v)
    gain_unit = loss_unit / Fraction(total)
    scale, price_unit = 1, None
    decimals = _decimals(np.append(sample.cost.ravel(), sample.once)) if (v == np.rint(v)).all() else None
    if decimals is not None and (sample.cost[-1] @ v + sample.once[-1] * total) * 10**decimals < 2**PARAMS.sum_bits:
        scale, price_unit = 10**decimals, 1 / (10**decimals * Fraction(total))
    cost, paid_once = (a if price_unit is None else np.rint(a * scale) for a in (sample.cost, sample.once))
    more = np.maximum(np.diff(cost, axis=0), 0.0) * v  # rounding may let a cost fall
    gain, price = (sums_by_level(amounts, level, count) for amounts in (loss[:-1] - loss[1:], more))
    node = np.arange(gain.size).reshape(gain.shape)
    tail, head = [node[:, :-1].ravel(), node[1:].ravel()], [node[:, 1:].ravel(), node[:-1].ravel()]
    once = np.diff(paid_once)
    licences = np.flatnonzero(once > 0)
    tail.append(node[licences, -1])
    head.append(gain.size + np.arange(licences.size))
    return ParametricClosure(
        np.concatenate([gain.ravel() * float(loss_unit) / total, np.zeros(licences.size)]),
        np.concatenate([price.ravel() / (total * scale), once[licences] / scale]),
        np.concatenate(tail).astype(np.int32),
        np.concatenate(head).astype(np.int32),
        base_error=int(loss[0].sum()) * gain_unit,
        base_cost=math.fsum(cost[0] * v) / (total * scale) + float(paid_once[0]) / scale,
        gain_unit=gain_unit,
        price_unit=price_unit,
    )


def _decimals(costs: Floats) -> int | None:
    """The number of decimals of all costs, apart from rounding; None if it is above `CascadeParams.price_decimals`."""
    for decimals in range(PARAMS.price_decimals + 1):
        scaled = costs * 10**decimals
        if (np.abs(scaled - np.rint(scaled)) <= 1e-9 + 1e-12 * np.abs(scaled)).all():
            return decimals
    return None


Method = Callable[[LearnedExits, ExitSample], ExitPolicy]
"""A way to choose a policy by rows that it may see."""


def _optimum(learned: LearnedExits, _: ExitSample, lam: float) -> ExitPolicy:
    return learned.policy(learned.path.row_at_lam(lam))


class HeldOutPolicies(NamedTuple):
    """What policies do on rows that they were not learned from."""

    # cost, loss, judged: shape (N,): each row's cost, loss, and `ExitSample.judged` loss.
    cost: Floats
    loss: Floats
    judged: Floats
    weights: Floats  # shape (N,)

    def mean(self, amounts: Floats) -> float:
        """The weighted mean over the rows."""
        return float(amounts @ self.weights / self.weights.sum())


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Levels and optima learned without a fold of the rows, for every fold."""

    sample: ExitSample
    # the held-out rows of each fold, and what was learned without them.
    folds: tuple[tuple[NDArray[np.int64], LearnedExits], ...]
    lam: Floats  # shape (P,), ascending: prices of cost for curves

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def held_out(self, *methods: Method) -> tuple[HeldOutPolicies, ...]:
        """For each method every row under the policy that it chooses without the row's fold."""
        n = self.sample.n_rows
        found = [HeldOutPolicies(np.empty(n), np.empty(n), np.empty(n), self.sample.weights) for _ in methods]
        for rows, learned in self.folds:
            seen, part = self.sample.take(np.setdiff1d(np.arange(n), rows)), self.sample.take(rows)
            place = np.arange(rows.size)
            for method, held_out in zip(methods, found, strict=True):
                policy = method(learned, seen)
                stage = policy.stop_stages(part.doubt)
                held_out.cost[rows] = part.cost[stage, place] + part.once[policy.last_stage]
                held_out.loss[rows], held_out.judged[rows] = part.loss[stage, place], part.judged[stage, place]
        return tuple(found)

    def at_lam(self, *lams: float) -> tuple[HeldOutPolicies, ...]:
        """The optima for each price of cost."""
        return self.held_out(*(partial(_optimum, lam=lam) for lam in lams))

    @cached_property
    def curve(self) -> tuple[HeldOutPolicies, ...]:
        """`at_lam` for every point."""
        return self.at_lam(*self.lam.tolist())

    def area(self, costs: Floats) -> float:
        """Mean over some costs of the least mean judged loss for at most that cost; the largest where no policy is that cheap."""
        curve = self.curve
        cost, loss = np.array([h.mean(h.cost) for h in curve]), np.array([h.mean(h.judged) for h in curve])
        least = np.array([loss[cost <= c].min(initial=np.inf) for c in costs * (1 + STAGE_PARAMS.rounding)])
        return float(np.where(np.isfinite(least), least, loss.max()).mean())


def cross_fit(
    sample: ExitSample,
    learned: LearnedExits,
    *,
    n_levels: int,
    rng: np.random.RandomState,
    groups: NDArray[np.int64] | None = None,
) -> CrossFitted:
    """Learn levels and policies again on all folds but one, for every fold.

    `learned`: from all rows. Doubt and stack have few coefficients and stay the same for all folds. `groups`: shape (N,): no
    group is in two folds.
    """
    lams = learned.path.lam
    wanted = np.unique(np.quantile(np.sort(lams), np.linspace(0, 1, min(PARAMS.judged_lams, lams.size)), method="nearest"))
    parts = folds_of(sample.n_rows, PARAMS.judging_folds, groups, rng.randint(np.iinfo(np.int32).max))
    options: dict[str, Any] = {"n_levels": n_levels, "certificate": False}
    folds = tuple(
        (held_out, solve_exits(sample.take(rows), learned.doubt, learned.stack, by=learned.by, **options))
        for rows, held_out in parts
    )
    return CrossFitted(sample, folds, wanted)


def whole_weights(weights: Floats) -> Floats:
    """(3), shape (N,). `weights`: > 0."""
    for decimals in range(PARAMS.price_decimals + 1):
        whole = np.rint(weights * 10.0**decimals)
        if whole.max() < 2**53 and (whole / 10.0**decimals == weights).all():
            whole /= np.gcd.reduce(whole.astype(np.int64))
            if whole.max() <= PARAMS.largest_whole_weight:
                return whole
    return np.asarray(weights / weights.max())


def on_grid(loss: Floats, weights: Floats) -> Floats:
    """(5). `loss`: shape (S, N). `weights`: shape (N,), > 0."""
    unit = _unit(loss, whole_weights(weights))
    return np.asarray(np.rint(loss / unit) * unit)


def whole_losses(loss: Floats, v: Floats) -> tuple[Floats, Fraction]:
    """(6) in units, shape (S, N), and the unit."""
    unit = _unit(loss, v)
    return np.asarray(np.rint(np.rint(loss / unit) * v)), Fraction(unit)


def _unit(loss: Floats, v: Floats) -> float:
    """(4); no less than 2^-loss_bits where nothing is lost."""
    largest = float(np.abs(loss).max(initial=0.0)) or 1.0
    return max(_up(largest) * 2.0**-PARAMS.loss_bits, _up(largest * math.fsum(v)) * 2.0**-PARAMS.sum_bits)


def _up(x: float) -> float:
    return 2.0 ** math.ceil(math.log2(x))


def sums_by_level(amounts: Floats, level: NDArray[np.int64], count: int) -> Floats:
    """Sums over the rows of each stage and level from 1 to `count`, shape (S, count), rounded once where they are not whole.

    `amounts`, `level`: shape (S, N).
    """
    found, whole = np.empty((len(amounts), count)), bool((amounts == np.rint(amounts)).all())
    for s, (a, ell) in enumerate(zip(amounts, level, strict=True)):
        if whole:
            found[s] = np.bincount(ell, weights=a, minlength=count + 1)[1:]
        else:
            found[s] = [math.fsum(a[ell == j]) for j in range(1, count + 1)]
    return found
