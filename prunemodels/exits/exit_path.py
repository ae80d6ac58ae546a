"""Every optimal exit policy along nested stages, and the choice among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from formulations.answers.nested_rows import first_row_within
from formulations.arguments import Count, Seed, checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.cost_sample import check_weights
from formulations.instance.parametric_closure import ClosurePath
from prunemodels.evaluation.choosing import Rule, furthest_corner, within
from prunemodels.exits.doubt import DoubtName, learn_doubt
from prunemodels.exits.inputs import exit_table
from prunemodels.exits.learning import LearnedExits, solve_exits
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.stacking import learn_stack
from prunemodels.exits.stages import Stages, StageTable
from prunemodels.exits.validation import CrossFitted, cross_fit
from prunemodels.forests.labels import class_numbers
from solvers.budgets.closure import best_closure_within

if TYPE_CHECKING:
    import pandas as pd

    from prunemodels.exits.cascade import Cascade

Doubts = Literal["auto", "margin", "learned"]

MOST_LEVELS, MOST_STAGES = 10_000, 10_000
"""Arrays have a row for each level, and every stage is looked for along the path."""

LEVELS = 32
"""Number of levels of doubt at a stage."""

SECONDS_FOR_A_BUDGET = 10.0
"""Time for the integer program of a budget; the best policy found by then is taken."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A policy that was chosen.

    Parameters
    ----------
    cost, error
        on the rows that it was learned from.
    held_out_cost, held_out_error
        of such policies on rows that they were not learned from.
    row
        of the path, if the policy is one of its rows.
    """

    policy: ExitPolicy
    cost: float
    error: float
    held_out_cost: float
    held_out_error: float
    row: int | None


@dataclass(frozen=True, eq=False)
class ExitPath:
    """All optimal exit policies of some stages, the dearest first; row k is optimal for lam[k] <= lam <= lam[k + 1].

    Parameters
    ----------
    stages
        the models.
    learned
        doubts, levels and the nested optima.
    cross_fitted
        cost and loss of such policies on rows that they were not learned from.
    single_cost, single_error
        shape (S,): cost and error of every stage, if all rows stop there.
    n
        number of rows that the policies were learned from.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_valid, path, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> print(exits.to_frame().head(2).round(3).to_string())
       lambda   cost  error  nodes  held_out_cost  held_out_error
    0   0.000  7.960  0.027     35          7.889           0.034
    1   0.018  7.593  0.033     20          7.510           0.045
    """

    stages: Stages
    learned: LearnedExits
    cross_fitted: CrossFitted
    single_cost: NDArray[np.float64]
    single_error: NDArray[np.float64]
    n: int

    @property
    def closures(self) -> ClosurePath:
        """The policies as nested closures, which `proofs_checks.check_closure_path` proves optimal."""
        return self.learned.path

    def __len__(self) -> int:
        return len(self.closures)

    @property
    def lam(self) -> NDArray[np.float64]:
        """For each row, the error per unit of cost from which on it is optimal; rising."""
        return self.closures.lam

    @property
    def cost(self) -> NDArray[np.float64]:
        """Mean cost of a prediction on the rows that the policies were learned from, falling."""
        return self.closures.cost

    @property
    def error(self) -> NDArray[np.float64]:
        """Share of wrong predictions, or mean squared error, on these rows: too optimistic, see `held_out_error`."""
        return self.closures.error

    @property
    def held_out_cost(self) -> NDArray[np.float64]:
        """`cost` plus how much more policies of that cost, learned without a fifth of the rows, cost on that fifth; >= 0."""
        return np.asarray(self._held_out(self.cost, self.error)[0])

    @property
    def held_out_error(self) -> NDArray[np.float64]:
        """`error` plus how much more policies of that cost, learned without a fifth of the rows, err on that fifth; >= 0."""
        return np.asarray(self._held_out(self.cost, self.error)[1])

    def table(self, X: Any) -> StageTable:
        """The stages' outputs for the rows of X, stacked if the path has a stack, and their costs."""
        table, stack = exit_table(self.stages, X), self.learned.stack
        return table if stack is None else stack.table(table)

    @checked
    def policy(self, k: int) -> ExitPolicy:
        """The policy of row k."""
        return self.learned.policy(k)

    @checked
    def row_at_cost(self, budget: Price) -> int:
        """The row of least error whose cost is at most the budget."""
        rounded = self.closures.problem.integers.cost_rounding > 0
        return first_row_within(budget, self.cost, lambda: self.closures.exact_cost, rounded=rounded, answer="policy")

    @checked
    def within(self, budget: Price) -> Choice:
        """The policy of least error within a budget, row of the path or not: a small integer program, see `best_closure_within`.

        A policy's error is too optimistic on the rows that it was learned from; that of a single stage for all rows is not. If
        such a stage within the budget errs less than policies of that cost do on rows that they were not learned from, it is the
        answer.

        Raises
        ------
        InvalidInputError
            if the budget is negative, or below the cost of the first stage.
        """
        self.row_at_cost(budget)  # refuses a budget that no policy keeps
        limit = exact(budget, "budget")
        found = best_closure_within(self.closures.problem, limit, self.closures, time_limit=SECONDS_FOR_A_BUDGET)
        cost, error = self.single_cost, self.single_error
        affordable = np.flatnonzero(cost <= float(budget))
        if affordable.size and error[affordable].min() < self._held_out(found.cost, found.error)[1]:
            s = int(affordable[error[affordable].argmin()])
            go = np.arange(self.stages.n_stages - 1)[:, None] < s
            go = go & (np.arange(self.learned.theta.shape[1] + 1) > 0)
            policy = ExitPolicy(self.learned.doubt, self.learned.theta, go, self.learned.stack)
            of_stage = float(cost[s]), float(error[s])
            return Choice(policy, *of_stage, *of_stage, None)
        rows = np.flatnonzero([bool((self.closures.kept(k) == found.kept).all()) for k in range(len(self))])
        row = int(rows[0]) if rows.size else None
        return self._chosen(self.learned.policy_of(found.kept), found.cost, found.error, row)

    @checked
    def choice(self, k: int) -> Choice:
        """The policy of row k."""
        return self._chosen(self.policy(k), float(self.cost[k]), float(self.error[k]), k)

    def _chosen(self, policy: ExitPolicy, cost: float, error: float, row: int | None) -> Choice:
        held_out = self._held_out(cost, error)
        return Choice(policy, cost, error, float(held_out[0]), float(held_out[1]), row)

    def _held_out(self, cost: Any, error: Any) -> tuple[Any, Any]:
        """Cost and error that policies of such cost and error are expected to have on rows that they were not learned from."""
        more = self.cross_fitted.surplus(cost)
        return np.maximum(cost + more[0], 0.0), np.maximum(error + more[1], 0.0)

    @checked
    def row_at_lam(self, lam: float) -> int:
        """The row that is optimal at lam >= 0."""
        return self.closures.row_at_lam(lam)

    @checked
    def row_by(self, rule: Rule) -> int:
        """The row that a rule chooses on rows that the policies were not learned from, see `prunemodels.evaluation.choosing`."""
        seen = self.cross_fitted
        if rule == "knee":
            return self.row_at_lam(float(seen.lam[furthest_corner(seen.mean_cost, seen.mean_loss)]))
        share = seen.weights / seen.weights.sum()
        best = int(np.flatnonzero(seen.mean_loss <= seen.mean_loss.min())[-1])
        gap = seen.loss - seen.loss[best]
        mean = gap @ share
        error = np.sqrt(((gap - mean[:, None]) ** 2) @ share**2)
        return self.row_at_lam(float(seen.lam[within(mean, error, float(seen.mean_loss[best]))]))

    @checked
    def at_row(self, k: int) -> Cascade:
        """The policy of row k as a fitted scikit-learn estimator."""
        from prunemodels.exits.cascade import fitted_cascade

        return fitted_cascade(self, self.choice(k))

    @checked
    def at_cost(self, budget: Price) -> Cascade:
        """The policy of least error within a budget, see `within`, as a fitted scikit-learn estimator."""
        from prunemodels.exits.cascade import fitted_cascade

        return fitted_cascade(self, self.within(budget))

    @checked
    def at_lam(self, lam: float) -> Cascade:
        """The policy that is optimal at lam, as a fitted scikit-learn estimator."""
        return self.at_row(self.row_at_lam(lam))

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: lam, and cost and error on the rows that it was learned from and on rows that it was not."""
        frame = self.closures.to_frame()
        return frame.assign(held_out_cost=self.held_out_cost, held_out_error=self.held_out_error)

    def __repr__(self) -> str:
        return (
            f"ExitPath({self.stages.n_stages} stages, {len(self)} policies, cost {self.cost[-1]:.4g} to {self.cost[0]:.4g}, "
            f"error {self.error[0]:.4g} to {self.error[-1]:.4g})"
        )


@checked
def learn_exit_path(
    stages: Stages,
    table: StageTable,
    y: Any,
    *,
    sample_weight: ArrayLike | None = None,
    stack: bool = True,
    doubt: Doubts = "auto",
    n_levels: Count = LEVELS,
    random_state: Seed | np.random.RandomState | None = None,
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
        their weights, in error and cost.
    stack
        whether a stage also uses the outputs of earlier stages, where that lowers the loss, see `prunemodels.exits.stacking`. It
        costs nothing: a row has paid for them already.
    doubt
        ``"margin"``, ``"learned"``, see `prunemodels.exits.doubt`, or ``"auto"``: the better one on rows that it was not learned
        from. Regression has only ``"learned"``.
    n_levels
        number of levels of doubt at a stage.

    Raises
    ------
    InvalidInputError
        for unknown labels, weights that do not fit, and other options.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.exits.stages import table_of
    >>> from prunemodels.example import X_valid, costs, forest, y_valid
    >>> stages = pm.exits.trees_as_stages(pm.read_forest(forest), costs, [2, 8])
    >>> exits = pm.exits.learn_exit_path(stages, table_of(stages, X_valid), y_valid.to_numpy(), random_state=0)
    >>> print(f"{len(exits)} policies, costs from {exits.cost[-1]:.2f} to {exits.cost[0]:.2f}")
    2 policies, costs from 13.15 to 13.41
    """
    names = _doubts(doubt, stages)
    if stages.classes is not None and len(stages.classes) < 2:
        raise InvalidInputError(
            f"the stages know one class, {stages.classes.tolist()[0]!r}, and never doubt; give models of two at least"
        )
    if not 2 <= n_levels <= MOST_LEVELS:
        raise InvalidInputError(f"n_levels is {n_levels}; give a number from 2 to {MOST_LEVELS:,}")
    weights = check_weights(sample_weight, table.n_rows, "sample_weight")
    rows, truth = np.flatnonzero(weights > 0), class_numbers(stages.classes, y, table.n_rows)
    if len(rows) < 2:
        raise InvalidInputError(
            f"n_samples={len(rows)}: policies are learned from some rows and judged on others; give 2 or more of positive weight"
        )
    table, truth, weights = table.take(rows), truth[rows], weights[rows]
    rng = check_random_state(random_state)
    stacked = None
    if stack:
        stacked, table = learn_stack(table, truth, weights, rng)
    share = weights / weights.sum()
    single = table.cost @ share + table.once, table.losses(truth) @ share
    seed, found = int(rng.randint(np.iinfo(np.int32).max)), []
    for name in names:
        judge, doubts = learn_doubt(name, table, weights, np.random.RandomState(seed))
        learned = solve_exits(table, truth, weights, judge, doubts, n_levels=n_levels, stack=stacked)
        lams = learned.path.lam
        folds = cross_fit(table, truth, weights, lams, doubts, n_levels=n_levels, rng=np.random.RandomState(seed))
        found.append(ExitPath(stages, learned, folds, *single, len(rows)))
    costs = np.linspace(table.cost[0].mean(), table.cost[-1].mean(), 50) + table.once[-1]
    return min(found, key=lambda path: path.cross_fitted.area(costs))


def _doubts(doubt: Doubts, stages: Stages) -> tuple[DoubtName, ...]:
    """The doubts to try."""
    if stages.task == "regression":
        if doubt == "margin":
            raise InvalidInputError("doubt is 'margin', which numbers do not have; give 'learned' or 'auto'")
        return ("learned",)
    return ("margin", "learned") if doubt == "auto" else (doubt,)
