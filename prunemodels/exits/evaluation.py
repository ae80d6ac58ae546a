"""All policies of an exit path on labelled rows: one pass over the stages serves every one of them.

A row's doubt at a stage does not depend on the policy (`prunemodels.exits.policy`), so each stage predicts all rows once, and

    stage_k(i)  =  #{ s : go_k[s, level_s(i)] }                                                                          (1)
    cost_k      =  (items paid once that the stages up to policy k's last need)  +  mean over i of cost_{stage_k(i), i}   (2)

(2) counts items that are paid once for all examples also where no row of the sample comes to the stage that needs them, as
`prunemodels.evaluate` does for the splits of a forest.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.cost_sample import check_weights
from prunemodels.exits.cascade import Cascade
from prunemodels.exits.doubt import doubts_of
from prunemodels.exits.exit_path import ExitPath
from prunemodels.exits.policy import ExitPolicy
from prunemodels.exits.stages import StageTable, errors, table_of
from prunemodels.models.forests.labels import class_numbers

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ExitPathEvaluation:
    """Cost and error of every policy of an exit path on N labelled rows.

    Parameters
    ----------
    path
        the K policies.
    table
        the stages' outputs for the rows, stacked if the path has a stack, and their costs.
    truth
        shape (N,): class numbers, -1 for a label that no stage knows, or targets; None without labels.
    weights
        shape (N,), >= 0: weights of the rows in the means.
    doubt
        float64, shape (S - 1, N): the rows' doubts.
    last
        shape (N, K): the output of the last stage alone, without a stack: what the model says that has no exits.
    """

    path: ExitPath
    table: StageTable
    truth: NDArray[Any] | None
    weights: Floats
    doubt: Floats
    last: Floats

    @property
    def n(self) -> int:
        """N."""
        return self.table.n_rows

    @cached_property
    def loss(self) -> Floats:
        """0-1 loss or squared error of every stage, shape (S, N).

        Raises
        ------
        InvalidInputError
            if no labels were given.
        """
        return self.table.losses(self._labels)

    @cached_property
    def last_loss(self) -> Floats:
        """The loss of the last stage alone, shape (N,): for prunings of a forest that of the unpruned forest itself."""
        return np.asarray(errors(self.last[None], self._labels)[0])

    @property
    def _labels(self) -> NDArray[Any]:
        if self.truth is None:
            raise InvalidInputError("y is None: errors need labels; give y to evaluate_exit_path")
        return self.truth

    def stages(self, policy: ExitPolicy | int) -> NDArray[np.int64]:
        """(1): the stage at which each row stops, by a policy of these stages or by row k of the path; shape (N,)."""
        return (self.path.policy(policy) if isinstance(policy, int) else policy).stop_stages(self.doubt)

    def costs(self, policy: ExitPolicy | int) -> Floats:
        """What each row pays under a policy, shape (N,), without items paid once for all."""
        return np.asarray(self.table.cost[self.stages(policy), np.arange(self.n)])

    def losses(self, policy: ExitPolicy | int) -> Floats:
        """The loss of each row under a policy, shape (N,)."""
        return np.asarray(self.loss[self.stages(policy), np.arange(self.n)])

    def mean_cost(self, policy: ExitPolicy | int) -> float:
        """(2) of a policy, whether it is on the path or not."""
        last = (self.path.policy(policy) if isinstance(policy, int) else policy).last_stage
        return float(self.costs(policy) @ self.share + self.table.once[last])

    def mean_loss(self, policy: ExitPolicy | int) -> float:
        """Share of wrong predictions, or mean squared error, of a policy."""
        return float(self.losses(policy) @ self.share)

    @property
    def share(self) -> Floats:
        """The weights, adding up to 1."""
        return np.asarray(self.weights / self.weights.sum())

    @cached_property
    def cost(self) -> Floats:
        """(2) for every policy, shape (K,)."""
        return np.array([self.mean_cost(k) for k in range(len(self.path))])

    @cached_property
    def error(self) -> Floats:
        """Share of wrong predictions, or mean squared error, of every policy, shape (K,)."""
        return np.array([self.mean_loss(k) for k in range(len(self.path))])

    def to_frame(self) -> pd.DataFrame:
        """One row for each policy: lam, and cost and error on these rows."""
        import pandas as pd

        return pd.DataFrame({"lam": self.path.lam, "cost": self.cost, "error": self.error})


@checked
def evaluate_exit_path(
    source: ExitPath | Cascade, X: Any, y: Any = None, *, sample_weight: ArrayLike | None = None
) -> ExitPathEvaluation:
    """Cost and error of every policy of an exit path on labelled rows.

    Use rows that no stage and no policy was learned from.

    Parameters
    ----------
    source
        from `exit_path`, or a fitted cascade, whose path is then taken.
    X, y
        examples and labels, each one that the stages were trained on. Costs need no labels.
    sample_weight
        shape (N,), >= 0: weights of the rows in both means.

    Raises
    ------
    InvalidInputError
        for labels, weights and columns that do not fit.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import X_test, X_valid, path, y_test, y_valid
    >>> exits = pm.exit_path(path, X_valid, y_valid, n_stages=3, n_levels=8, random_state=0)
    >>> seen = pm.exits.evaluate_exit_path(exits, X_test, y_test)
    >>> print(f"dearest policy: cost {seen.cost[0]:.2f}, error {seen.error[0]:.3f}")
    dearest policy: cost 10.75, error 0.059
    """
    path, rows = (source.exit_path_, source._rows(X)) if isinstance(source, Cascade) else (source, X)
    alone, stack = table_of(path.stages, rows), path.learned.stack
    table = alone if stack is None else stack.table(alone)
    truth = None if y is None else class_numbers(path.stages.classes, y, table.n_rows)
    weights = check_weights(sample_weight, table.n_rows, "sample_weight")
    return ExitPathEvaluation(path, table, truth, weights, doubts_of(path.learned.doubt, table), alone.value[-1])
