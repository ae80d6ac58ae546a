"""A look inside Dantzig-Wolfe: which columns entered the master in which round, and the dual values by name.

A column is a pruning of one tree. It enters where its reduced cost (2) of `solvers.column_generation.loop` is negative. The dual
values are those of the best bound, one for each coupling row: what a split pays of the price of an item for an example.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from formulations.answers.solution import ItemDuals, Solution
from solvers.column_generation.history import Entry
from solvers.column_generation.pricing import TreePruning

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class DantzigWolfeSolution(Solution):
    """A `Solution` that tells how it was found, as tables.

    Parameters
    ----------
    entered
        the columns in the order in which they entered; those of round 0 were there from the start.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from prunemodels.example import problem
    >>> solution = pm.engines.dantzig_wolfe(problem, 0.01, scheme="plain")
    >>> solution.columns().query("entered == 1").head(2).round(4)
        entered  tree  splits    cost  reduced_cost
    16        1     0       7  0.0060       -0.0062
    17        1     1       7  0.0025       -0.0068
    >>> solution.duals().nlargest(1, "dual").round(5)
            item  example  tree  split    feature     dual
    0  concavity        1     0      0  concavity  0.00033
    """

    entered: tuple[Entry[TreePruning], ...] = ()

    def rounds(self) -> pd.DataFrame:
        """A row for each round.

        Returns
        -------
        DataFrame
            ``master_value``, the restricted master's optimum; ``value`` and ``bound``, the best so far, and ``round_bound``, this
            round's; ``gap``, (value - bound) / (the all-roots forest's value - bound), as `relative_gap`, not relative to the
            value; ``columns`` before the round, and ``added``; ``alpha``, the smoothing; ``master_seconds``, ``pricing_seconds``,
            and ``seconds`` since the generation began.
        """
        import pandas as pd

        table = pd.DataFrame(dict(self.history))
        return table.set_index(pd.RangeIndex(1, len(table) + 1, name="round"))

    def columns(self) -> pd.DataFrame:
        """A row for each column of the master.

        Returns
        -------
        DataFrame
            ``entered``, the round in which it did, 0 for the first ones; ``tree``; ``splits`` that it keeps; ``cost`` in (OBJ),
            without dual values; ``reduced_cost`` at the master's dual values of its round, NaN for the first ones.
        """
        import pandas as pd

        rows = [(e.round, e.column.tree, e.column.kept.size, e.column.cost, e.reduced_cost) for e in self.entered]
        return pd.DataFrame(rows, columns=["entered", "tree", "splits", "cost", "reduced_cost"])

    def duals(self) -> pd.DataFrame:
        """A row for each coupling row whose dual value is not 0, at the best bound.

        Returns
        -------
        DataFrame
            ``item`` and ``example`` (its row in the cost sample, -1 for an item that is paid once) of the purchase; ``tree``,
            ``split`` and ``feature`` of the split that pays a part of its price; ``dual``, this part in (OBJ), >= 0.
        """
        import pandas as pd

        problem, certificate = self.problem, self.certificate
        assert isinstance(certificate, ItemDuals), "the engine's own"
        n, names, ensemble = problem.usage.n_rows, np.array(problem.costs.names, dtype=object), problem.ensemble
        arcs = problem.usage.arcs()
        payments = np.flatnonzero(certificate.dual)
        split, head = arcs.tail[payments], arcs.head[payments].astype(np.int64)
        once = head >= problem.costs.n_items * n
        item = np.where(once, head - problem.costs.n_items * n, head // n)
        example = np.where(once, -1, problem.usage.rows[np.where(once, 0, head % n)])
        feature = np.array(ensemble.names, dtype=object)[ensemble.feature[split]]
        unit = float(certificate.unit)
        return pd.DataFrame(
            {
                "item": names[item],
                "example": example,
                "tree": ensemble.tree_of[split],
                "split": split,
                "feature": feature,
                "dual": certificate.dual[payments] * unit,
            }
        )
