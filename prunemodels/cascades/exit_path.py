"""Every optimal exit policy along nested stages, and the choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from formulations.answers.nested_rows import ClosurePath
from formulations.arguments import Count, Seed, checked, checking
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.ensemble import Task
from formulations.instance.tree_loss import TreeLoss
from prunemodels.cascades.fitting import in_one_thread_if_small
from prunemodels.cascades.learning import (
    CrossFitted,
    ExitSample,
    HeldOutPolicies,
    LearnedExits,
    cross_fit,
    judged_losses,
    solve_exits,
)
from prunemodels.cascades.params import PARAMS
from prunemodels.cascades.spending import at_first_stage, between_optima, between_stages, next_useful
from prunemodels.models.labelled_samples import class_numbers
from prunemodels.points import SAME_POINT, Rule, furthest_corner, within
from prunemodels.stages.doubt import DoubtName, aligned, doubts_of, learn_doubt
from prunemodels.stages.judging import WRONG, is_beyond_chance, lost
from prunemodels.stages.params import PARAMS as STAGE_PARAMS
from prunemodels.stages.policy import ExitPolicy
from prunemodels.stages.stacking import learn_stack
from prunemodels.stages.stages import Stages, StageTable, table_of

if TYPE_CHECKING:
    import pandas as pd

Doubts = Literal["auto", "margin", "learned"]


@dataclass(frozen=True, eq=False)
class Choice:
    """A policy that was chosen."""

    policy: ExitPolicy
    # cost, error: of the fitted object on the own rows of the path, as `prediction_cost` and `predict` give them.
    cost: float
    error: float
    # held_out_cost, held_out_error: of policies that were chosen in the same way, on rows that they were not learned from.
    held_out_cost: float
    held_out_error: float
    row: int | None  # of the path, if the policy is one of its rows
    judged: float  # held-out loss by which policies of several paths are compared, see `ExitSample.judged`
    spending: str = ""  # how much of a budget is spent, and why not all of it; empty without a budget


@dataclass(frozen=True, eq=False)
class ExitPath:
    """All optimal exit policies of some stages, the dearest first; row k is optimal for lam[k] <= lam <= lam[k + 1].

    Parameters
    ----------
    stages
        the models.
    learned
        doubts, levels and the nested optima.
    sample
        the rows that the policies were learned from.
    cross_fitted
        such policies on rows that they were not learned from.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0).exit_path_
    >>> print(exits.to_frame().head(2).round(3).to_string())
       lambda   cost  error  nodes  held_out_cost  held_out_error
    0   0.000  9.900  0.033     28           9.94           0.033
    1   0.004  6.547  0.060     21           8.92           0.060
    """

    stages: Stages
    learned: LearnedExits
    sample: ExitSample
    cross_fitted: CrossFitted

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be computed again."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def closures(self) -> ClosurePath:
        """The policies as nested closures, which `proofs_checks.check_closure_path` proves optimal."""
        return self.learned.path

    def __len__(self) -> int:
        return len(self.closures)

    @property
    def n(self) -> int:
        """Number of rows that the policies were learned from; cost and error are stated on `ExitSample.own_rows` of them."""
        return self.sample.n_rows

    @property
    def by(self) -> TreeLoss:
        """What predictions are judged by: what every error here is."""
        return self.learned.by

    def on(self, rows: Any) -> tuple[StageTable, StageTable, NDArray[np.float64]]:
        """What the stages say of other rows: each alone, with a stack's outputs in place of theirs, and the policies' doubts."""
        alone, stack = table_of(self.stages, rows), self.learned.stack
        table = alone if stack is None else stack.table(alone)
        return alone, table, doubts_of(self.learned.doubt, table)

    @property
    def lam(self) -> NDArray[np.float64]:
        """For each row, the error per unit of cost from which on it is optimal; rising."""
        return self.closures.lam

    @cached_property
    def cost(self) -> NDArray[np.float64]:
        """Mean cost of a prediction of the fitted object on the own rows, falling."""
        own = self.sample.own_rows
        return np.array([own.mean_cost(self.policy(k)) for k in range(len(self))])

    @cached_property
    def error(self) -> NDArray[np.float64]:
        """What is lost on average on these rows, by `by`: too optimistic, see `held_out_error`."""
        own = self.sample.own_rows
        return np.array([own.mean_loss(self.policy(k)) for k in range(len(self))])

    @cached_property
    def _on_other_rows(self) -> tuple[HeldOutPolicies, ...]:
        return self.cross_fitted.at_lam(*self.lam.tolist())

    @property
    def held_out_cost(self) -> NDArray[np.float64]:
        """Cost of policies for the same lam, learned without a fifth of the rows, on that fifth."""
        return np.array([seen.mean(seen.cost) for seen in self._on_other_rows])

    @property
    def held_out_error(self) -> NDArray[np.float64]:
        """Error of policies for the same lam, learned without a fifth of the rows, on that fifth."""
        return np.array([seen.mean(seen.loss) for seen in self._on_other_rows])

    @cached_property
    def single_cost(self) -> NDArray[np.float64]:
        """Cost of every stage on the own rows, if all rows stop there; shape (S,)."""
        own = self.sample.own_rows
        return np.asarray(own.cost @ own.weights / own.weights.sum() + own.once)

    @cached_property
    def single_error(self) -> NDArray[np.float64]:
        """Error of every stage on the own rows, shape (S,)."""
        own = self.sample.own_rows
        return np.asarray(own.loss @ own.weights / own.weights.sum())

    @checked
    def policy(self, k: int) -> ExitPolicy:
        """The policy of row k."""
        return self.learned.policy(self.closures.place(k))

    @checked
    def keeps(self, budget: Price) -> bool:
        """Whether some policy costs at most the budget."""
        return bool(self.cost[-1] <= float(exact(budget, "budget")) * (1 + STAGE_PARAMS.rounding))

    @checked
    def row_at_cost(self, budget: Price) -> int:
        """The row of least error whose cost is at most the budget."""
        limit = float(exact(budget, "budget"))
        fits = np.flatnonzero(self.cost <= limit * (1 + STAGE_PARAMS.rounding))
        if not fits.size:
            raise InvalidInputError(
                f"budget is {limit:g}, the cheapest policy costs {self.cost[-1]:g}; give at least that, or cheaper first stages"
            )
        return int(fits[0])

    @checked
    def within(self, budget: Price) -> Choice:
        """The policy that spends a budget, see `prunemodels.cascades.spending`.

        It lies between two neighbouring rows of the path, or between two stages, whichever errs less on rows that it was not
        learned from. Its mean cost on the own rows is at most the budget, and less than it by at most one row's price as long as
        a dearer policy errs less. Where a cheaper row of the path is expected to err no more, the cheapest such row is taken.
        `Choice.spending` says so.

        Raises
        ------
        InvalidInputError
            if the budget is negative, or below the cost of the first stage.
        """
        self.row_at_cost(budget)  # refuses a budget that no policy keeps
        limit = float(exact(budget, "budget"))
        all_spent = limit <= self.single_cost[0] * (1 + STAGE_PARAMS.rounding)  # once all rows have come to the first stage
        methods = [partial(m, budget=limit) for m in ((at_first_stage,) if all_spent else (between_optima, between_stages))]
        found = zip(methods, self.cross_fitted.held_out(*methods), strict=True)
        chosen, held_out = min(found, key=lambda pair: pair[1].mean(pair[1].judged))
        choice = self._choice(chosen(self.learned, self.sample), held_out, None)
        row = self._as_good(choice.cost, held_out)
        if row is None:
            return replace(choice, spending=self._spending(choice, limit))
        cheaper = self.choice(row)
        spending = f"spends {cheaper.cost:.4g} of {limit:.4g}: no dearer policy within it is expected to err less"
        return replace(cheaper, judged=choice.judged, spending=spending)

    def _as_good(self, cost: float, held_out: HeldOutPolicies) -> int | None:
        """The cheapest row below a cost that is expected to err no more than some policies, on rows that none was learned from.

        Policies for the same lam must not cost more than these there either. Where many rows doubt alike, such policies and the
        row can lie on two sides of a large step; so the row must not lose more, by two standard errors, than what it replaces.
        A tolerance of one standard error saves more, and pays for it where rows are few: on breast_cancer of
        `benchmarks.frontier` (114 such rows, three splits, nine budgets) the mean error rose from 12.7 to 5.2 % below the median
        of all methods.
        """
        for lam, seen in zip(self.cross_fitted.lam[::-1], self.cross_fitted.curve[::-1], strict=True):
            row = self.row_at_lam(float(lam))
            if self.cost[row] >= cost * (1 - STAGE_PARAMS.rounding):
                return None
            no_dearer = seen.mean(seen.cost) <= held_out.mean(held_out.cost) * (1 + STAGE_PARAMS.rounding)
            if no_dearer and seen.mean(seen.judged) <= held_out.mean(held_out.judged) + SAME_POINT:
                more = self.sample.losses(self.policy(row), self.sample.judged) - held_out.judged
                if not is_beyond_chance(more, self.sample.weights, PARAMS.errors_apart):
                    return row
        return None

    def _spending(self, found: Choice, budget: float) -> str:
        """A sentence on what of the budget is spent; if much is left, what that means and which budget is the next to help."""
        spent = f"spends {found.cost:.4g} of {budget:.4g}"
        own = self.sample.own_rows
        most = float((own.cost[-1] - own.cost[0]).max(initial=0.0)) / own.n_rows  # what one row more can add
        if found.cost >= min(PARAMS.spent * budget, budget - most):
            return spent
        policies = (found.policy, *map(self.policy, range(len(self))))
        loss, *each = (self.sample.mean_loss(policy, self.sample.judged) for policy in policies)
        dearer = self.cost[(self.cost > budget) & (np.array(each) < loss * (1 - STAGE_PARAMS.rounding))]
        useful = min([*dearer, next_useful(self.learned, self.sample, budget, loss)])
        if np.isinf(useful):
            return f"{spent}: no dearer policy is expected to err less"
        return f"{spent}: no other policy within it is expected to err less; the next useful budget is {useful:.4g}"

    @checked
    def choice(self, k: int) -> Choice:
        """The policy of row k."""
        return self._choice(self.policy(k), self.cross_fitted.at_lam(float(self.lam[k]))[0], k)

    def _choice(self, policy: ExitPolicy, seen: HeldOutPolicies, row: int | None) -> Choice:
        own = self.sample.own_rows
        held_out = seen.mean(seen.cost), seen.mean(seen.loss)
        return Choice(policy, own.mean_cost(policy), own.mean_loss(policy), *held_out, row, seen.mean(seen.judged))

    @checked
    def row_at_lam(self, lam: float) -> int:
        """The row that is optimal at lam >= 0."""
        return self.closures.row_at_lam(lam)

    @checked
    def row_by(self, rule: Rule) -> int:
        """The row that a rule chooses on rows that the policies were not learned from, see `prunemodels.evaluation.path`."""
        seen, lams = self.cross_fitted.curve, self.cross_fitted.lam
        mean_loss = np.array([h.mean(h.loss) for h in seen])
        if rule == "knee":
            return self.row_at_lam(float(lams[furthest_corner(np.array([h.mean(h.cost) for h in seen]), mean_loss)]))
        share = self.sample.weights / self.sample.weights.sum()
        best = int(np.flatnonzero(mean_loss <= mean_loss.min() * (1 + SAME_POINT))[-1])
        gap = np.array([h.loss - seen[best].loss for h in seen])
        mean = gap @ share
        error = np.sqrt(((gap - mean[:, None]) ** 2) @ share**2)
        return self.row_at_lam(float(lams[within(mean, error, float(mean_loss[best]))]))

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: lam, and cost and error on the rows that it was learned from and on rows that it was not."""
        frame = self.closures.to_frame().assign(cost=self.cost, error=self.error)
        return frame.assign(held_out_cost=self.held_out_cost, held_out_error=self.held_out_error)

    def __repr__(self) -> str:
        return (
            f"ExitPath({self.stages.n_stages} stages, {len(self)} policies, cost {self.cost[-1]:.4g} to {self.cost[0]:.4g}, "
            f"error {self.error[0]:.4g} to {self.error[-1]:.4g})"
        )


Chosen = tuple[ExitPath, Choice]  # a path, and one of its policies


def chosen(paths: Sequence[ExitPath], budget: Price | None, lam: float | None, choose: Rule) -> Chosen:
    """The path and its policy for a budget, a lam, or by a rule: the best one on rows that it was not learned from."""
    if budget is not None:
        able = [path for path in paths if path.keeps(budget)] or paths[:1]
        found = [(path, path.within(budget)) for path in able]
        return min(found, key=lambda pair: pair[1].judged)
    if lam is not None:
        found = [(path, path.choice(path.row_at_lam(lam))) for path in paths]
        return min(found, key=lambda pair: pair[1].judged + lam * pair[1].held_out_cost)
    costs = np.linspace(min(path.cost[-1] for path in paths), max(path.cost[0] for path in paths), 50)
    path = min(paths, key=lambda path: path.cross_fitted.area(costs))
    return path, path.choice(path.row_by(choose))


def learn_exit_path(
    stages: Stages,
    table: StageTable,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    fold: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    stack: bool = True,
    doubt: Doubts = "auto",
    n_levels: Count = PARAMS.levels,
    random_state: Seed | np.random.RandomState | None = None,
    by: TreeLoss = WRONG,
    reference: NDArray[np.float64] | None = None,
) -> ExitPath:
    """All optimal exit policies of some stages.

    Parameters
    ----------
    stages
        the models.
    table
        their outputs and costs for rows that they were not trained on.
    y
        labels of these rows.
    sample_weight
        shape (N,), >= 0: a row stands for that many, in cost as in error.
    fold
        shape (N,): 0 for rows whose outputs are those of `stages`; other numbers for rows that have outputs of stages which were
        fitted in the same way on other folds. Their doubts are aligned, see `prunemodels.stages.doubt.aligned`. Default: all 0.
    groups
        shape (N,): rows of one group are never on two sides of a fold.
    stack, doubt, n_levels
        see `prunemodels.exit_path`.
    by
        what predictions are judged by.
    reference
        shape (N, K): what another model says that was not trained on these rows, see `judged_losses`.

    Raises
    ------
    InvalidInputError
        for unknown labels, weights that do not fit, and other options.
    """
    names = check_learning(doubt, n_levels, stages.task)
    if stages.classes is not None and len(stages.classes) < 2:
        raise InvalidInputError(
            f"the stages know one class, {stages.classes.tolist()[0]!r}, and never doubt; give models of two at least"
        )
    # rows without weight take no part, not even as places of thresholds
    weights = weights_to_learn(sample_weight, table.n_rows)
    used, truth = weights > 0, class_numbers(stages.classes, y, table.n_rows)
    table, truth, weights = table.take(np.flatnonzero(used)), truth[used], weights[used]
    part = np.zeros(table.n_rows, dtype=np.int64) if fold is None else fold[used]
    groups = None if groups is None else groups[used]
    rng = check_random_state(random_state)
    with in_one_thread_if_small(table.value.size):
        stacked, judged_table, final = None, table, table
        if stack:
            stacked, judged_table = learn_stack(table, truth, weights, rng, by, groups)
            final = stacked.table(table)
        # every doubt is judged on the same folds, by what its policies lose over the same costs
        reference = None if reference is None else reference[used]
        judged, loss = judged_losses(judged_table, truth, weights, by, reference), lost(final.value, truth, by)
        seed, found = int(rng.randint(np.iinfo(np.int32).max)), []
        costs = np.linspace(table.cost[0].mean(), table.cost[-1].mean(), 50) + table.once[-1]
        for name in names:
            judge = learn_doubt(name, final, weights, by)
            doubts = aligned(doubts_of(judge, final), part)
            sample = ExitSample(doubts, table.cost, table.once, loss, judged, weights, part == 0, truth)
            learned = solve_exits(sample, judge, stacked, n_levels=n_levels, by=by)
            folds = cross_fit(sample, learned, n_levels=n_levels, rng=np.random.RandomState(seed), groups=groups)
            found.append(ExitPath(stages, learned, sample, folds))
    return min(found, key=lambda path: path.cross_fitted.area(costs))


def weights_to_learn(sample_weight: ArrayLike | None, n: int) -> NDArray[np.float64]:
    """The weights of n rows, at least two of which must count."""
    weights = check_weights(sample_weight, n, "sample_weight")
    if (used := (weights > 0).sum()) < 2:
        raise InvalidInputError(
            f"n_samples={used}: policies are learned from some rows and judged on others; give 2 or more of positive weight"
        )
    return weights


@checking
def check_learning(doubt: Doubts, n_levels: Count, task: Task) -> tuple[DoubtName, ...]:
    """The doubts to try; refuses options of `learn_exit_path` before any work."""
    if not 2 <= n_levels <= PARAMS.most_levels:
        raise InvalidInputError(f"n_levels is {n_levels}; give a number from 2 to {PARAMS.most_levels:,}")
    if task == "regression":
        if doubt == "margin":
            raise InvalidInputError("doubt is 'margin', which numbers do not have; give 'learned' or 'auto'")
        return ("learned",)
    return ("margin", "learned") if doubt == "auto" else (doubt,)
