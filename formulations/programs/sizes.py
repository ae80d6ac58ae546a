"""The size of a formulation, counted before anything is built, and the bounds of NWS15's complexity paragraph.

NWS15, end of section 4, for IP3 with T trees of at most |T_max| nodes and |L_max| leaves, N examples, K features of which
an example meets at most K_max in a tree:

    columns  <=  T |T_max| + N T K_max + N min(T K_max, K)                                                     (1)
    rows     <=  T |L_max| + 2 N T K_max                                                                       (2)

Here items take the place of features.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import count_arcs
from formulations.programs.columns import items_above, naive_columns, usage_columns
from formulations.programs.matrix import MATRICES, evaluation_above


@dataclass(frozen=True)
class Size:
    """Rows, columns and nonzeros of a constraint matrix."""

    rows: int
    columns: int
    nonzeros: int


@dataclass(frozen=True)
class _Counts:
    """Arcs of a formulation, the nodes at and above their ends, and its purchase variables."""

    arcs: int
    on_paths: int
    purchases: int


def model_size(problem: PruningProblem, formulation: str, *, merge: bool = False) -> Size:
    """The size that a formulation's matrix would have. Arcs are listed only with `merge`.

    Parameters
    ----------
    formulation
        a name in `formulations.programs.matrix.MATRICES`.
    merge
        whether purchases with the same usage are one.

    Raises
    ------
    InvalidInputError
        for an unknown name.
    """
    if formulation not in MATRICES:
        raise InvalidInputError(f"there is no formulation {formulation!r}; there are {', '.join(MATRICES)}")
    ensemble = problem.ensemble
    leaf_depth = ensemble.depth[~ensemble.is_split]
    leaves, nodes, cut = leaf_depth.size, ensemble.n_nodes, int(leaf_depth.sum()) + leaf_depth.size
    if formulation == "IP0":
        return Size(leaves, nodes, cut)
    c = _merged(problem, formulation) if merge else _unmerged(problem, formulation)
    below = int((ensemble.parent[problem.splits] >= 0).sum())
    budget = c.purchases + int(np.count_nonzero(evaluation_above(problem)))
    return {
        "IP1": Size(leaves + c.arcs, nodes + c.purchases, cut + 2 * c.arcs),
        "IP2": Size(leaves + c.arcs, nodes + c.purchases, cut + c.on_paths + c.arcs),
        "IP3": Size(leaves + 2 * c.arcs, nodes + c.arcs + c.purchases, cut + c.on_paths + 3 * c.arcs),
        "LP1": Size(leaves + 2 * c.arcs + 1, nodes + c.arcs + c.purchases, cut + c.on_paths + 3 * c.arcs + budget),
        "closure": Size(below + c.arcs, ensemble.n_splits + c.purchases, 2 * below + 2 * c.arcs),
    }[formulation]


def nws15_bound(problem: PruningProblem) -> tuple[float, float]:
    """Rows by (2) and columns by (1); NaN where items are paid once for all rows, which the paper does not have."""
    if problem.costs.paid_once[problem.usage.charges.item].any():
        return math.nan, math.nan
    ensemble, n_rows, n_items = problem.ensemble, problem.n_rows, len(np.unique(problem.usage.charges.item))
    trees, reached = ensemble.n_trees, problem.routing.counts() > 0
    met = np.diff(items_above(problem)[0].start)
    most = int(met[reached].max(initial=0))
    nodes = int(np.diff(ensemble.tree_start).max())
    leaves = int(np.bincount(ensemble.tree_of, weights=~ensemble.is_split).max())
    columns = trees * nodes + n_rows * trees * most + n_rows * min(trees * most, n_items)
    return float(trees * leaves + 2 * n_rows * trees * most), float(columns)


@checked
def size_report(problem: PruningProblem) -> pd.DataFrame:
    """Sizes of all formulations that the instance has, merged and not, with NWS15's bounds beside IP3's.

    Returns
    -------
    DataFrame
        formulation, merged, rows, columns, nonzeros, rows_bound (2), columns_bound (1); the bounds are NaN except for IP3.

    Examples
    --------
    >>> import prunemodels as pm
    >>> from formulations.instance.papers import two_trees
    >>> sizes = pm.programs.size_report(two_trees())
    >>> print(sizes[["formulation", "merged", "rows", "columns"]].head(4).to_string(index=False))
    formulation  merged  rows  columns
            IP0   False     7       12
            IP1   False    13       15
            IP1    True    13       15
            IP3   False    15       19
    """
    rows, columns = nws15_bound(problem)
    report = []
    for name in MATRICES:
        if name == "IP2" and problem.ensemble.n_trees > 1:
            continue
        for merge in (False, True) if name != "IP0" else (False,):
            size = model_size(problem, name, merge=merge)
            bounds = (rows, columns) if name == "IP3" else (math.nan, math.nan)
            report.append((name, merge, size.rows, size.columns, size.nonzeros, *bounds))
    heads = ["formulation", "merged", "rows", "columns", "nonzeros", "rows_bound", "columns_bound"]
    return pd.DataFrame(report, columns=heads)


def _unmerged(problem: PruningProblem, formulation: str) -> _Counts:
    """Counts from the ranges of the routing."""
    ensemble, once = problem.ensemble, problem.costs.paid_once
    charges = items_above(problem)[0] if formulation == "IP1" else problem.usage.charges
    per_node = count_arcs(charges, problem.routing, once)
    needed = problem.usage.highest_user(problem.splits, np.zeros(ensemble.n_nodes, dtype=np.int32)) >= 0
    return _Counts(int(per_node.sum()), int((per_node * (ensemble.depth + 1)).sum()), int(needed.sum()))


def _merged(problem: PruningProblem, formulation: str) -> _Counts:
    """Counts from the list of arcs."""
    columns = (naive_columns if formulation == "IP1" else usage_columns)(problem, merge=True)
    on_paths = int((problem.ensemble.depth[columns.node].astype(np.int64) + 1).sum())
    return _Counts(columns.node.size, on_paths, columns.n_columns)
