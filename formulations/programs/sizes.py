"""Sizes of programs before anything is built.

NWS15 bounds the size at the end of section 4, for IP3 with T trees of at most |T_max| nodes and |L_max| leaves, N examples, K
features of which an example meets at most K_max in a tree; here items take the place of features:

    columns  <=  T |T_max| + N T K_max + N min(T K_max, K)                                                     (1)
    rows     <=  T |L_max| + 2 N T K_max                                                                       (2)
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from formulations.arguments import checked
from formulations.errors import InvalidInputError
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import count_arcs
from formulations.programs.columns import columns_of, items_above
from formulations.programs.formulation import AS_ARRAYS, BY_NAME, Counts, Formulation, Size, formulation_named
from formulations.programs.matrix import evaluation_above


def model_size(problem: PruningProblem, formulation: str, *, merge: bool = False) -> Size:
    """The size that a formulation's matrix would have. Arcs are listed only with `merge`."""
    known = formulation_named(formulation)
    assert known.size is not None, "it has a matrix"
    return known.size(_counts(problem, known, merge=merge))


@checked
def nws15_bound(problem: PruningProblem) -> tuple[int, int]:
    """The most rows and columns that IP3 of a forest of this size has, by NWS15's complexity paragraph (end of section 4).

    Raises
    ------
    InvalidInputError
        for items that are paid once for all rows, which the paper does not have.

    Examples
    --------
    >>> import prunemodels as pm
    >>> pm.programs.nws15_bound(pm.datasets.two_trees())
    (16, 21)
    """
    if problem.costs.paid_once[problem.usage.charges.item].any():
        raise InvalidInputError("the problem has items that are paid once for all rows, for which NWS15 states no bound")
    ensemble, n_rows, n_items = problem.ensemble, problem.usage.n_rows, len(np.unique(problem.usage.charges.item))
    trees, reached = ensemble.n_trees, problem.usage.routing.counts() > 0
    met = np.diff(items_above(problem)[0].start)
    most = int(met[reached].max(initial=0))
    nodes = int(np.diff(ensemble.tree_start).max())
    leaves = int(np.bincount(ensemble.tree_of, weights=~ensemble.is_split).max())
    return trees * leaves + 2 * n_rows * trees * most, trees * nodes + n_rows * trees * most + n_rows * min(trees * most, n_items)


@checked
def size_report(problem: PruningProblem) -> pd.DataFrame:
    """Sizes of all formulations that the instance has, merged and not; `nws15_bound` bounds those of IP3.

    Returns
    -------
    DataFrame
        formulation, merged, rows, columns, nonzeros.

    Examples
    --------
    >>> import prunemodels as pm
    >>> print(pm.programs.size_report(pm.datasets.two_trees()).head(4).to_string(index=False))
    formulation  merged  rows  columns  nonzeros
            IP0   False     7       12        20
            IP1   False    13       15        32
            IP1    True    13       15        32
            IP3   False    15       19        38
    """
    report = []
    for name in AS_ARRAYS:
        if BY_NAME[name].one_tree and problem.ensemble.n_trees > 1:
            continue
        for merge in (False, True) if BY_NAME[name].takes else (False,):
            size = model_size(problem, name, merge=merge)
            report.append((name, merge, size.rows, size.columns, size.nonzeros))
    return pd.DataFrame(report, columns=["formulation", "merged", "rows", "columns", "nonzeros"])


def _counts(problem: PruningProblem, formulation: Formulation, *, merge: bool) -> Counts:
    """What the size consists of; unmerged arcs are counted from ranges of rows."""
    ensemble = problem.ensemble
    leaf_depth = ensemble.depth[~ensemble.is_split]
    below = int((ensemble.parent[problem.usage.splits] >= 0).sum())
    cut = int(leaf_depth.sum()) + leaf_depth.size
    trees = {"leaves": leaf_depth.size, "nodes": ensemble.n_nodes, "splits": ensemble.n_splits, "below": below, "cut": cut}
    if formulation.takes is None:
        return Counts(**trees)
    evaluated = int(np.count_nonzero(evaluation_above(problem)))
    if merge:
        columns = columns_of(problem, formulation.arcs, merge=True)
        on_paths = int((ensemble.depth[columns.node].astype(np.int64) + 1).sum())
        return Counts(**trees, arcs=columns.node.size, on_paths=on_paths, purchases=columns.n_columns, evaluated=evaluated)
    charges = items_above(problem)[0] if formulation.arcs == "naive" else problem.usage.charges
    per_node = count_arcs(charges, problem.usage.routing, problem.costs.paid_once)
    needed = problem.usage.highest_user(problem.usage.splits, np.zeros(ensemble.n_nodes, dtype=np.int32)) >= 0
    arcs, on_paths = int(per_node.sum()), int((per_node * (ensemble.depth + 1)).sum())
    return Counts(**trees, arcs=arcs, on_paths=on_paths, purchases=int(needed.sum()), evaluated=evaluated)
