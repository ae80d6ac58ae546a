"""The formulations as sparse matrices, by array operations: for instances too large for a modelling language.

Rows and names are those that `formulations.models` writes in Pyomo (a test compares them). Blocks of

    A   ancestors: A[h, v] = 1 where v is h or above it;   A_L its rows at leaves, A_u at the splits of the usage arcs
    E   purchases: E[k, j] = 1 where arc k is about the purchase variable j;   I the identity

give the constraints

    IP0        A_L z = 1                                                                                  (1)
    IP1        (1),   z_h - E w <= 0                     for the naive arcs                                (2)
    IP2        (1),   E w + A_u z = 1                    one tree                                          (3)
    IP3        (1),   w^t + A_u z = 1,   w^t - E w <= 0                                                    (4)
    LP1        (4),   cost <= B                                                                           (5)
    closure    y_h - y_parent(h) <= 0,   y_u - E w <= 0                                                    (6)

The size of a program is known before anything is built. NWS15 bounds it at the end of section 4, for IP3 with T trees of at most
|T_max| nodes and |L_max| leaves, N examples, K features of which an example meets at most K_max in a tree; here items take the
place of features:

    columns  <=  T |T_max| + N T K_max + N min(T K_max, K)                                                     (7)
    rows     <=  T |L_max| + 2 N T K_max                                                                       (8)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from formulations.arguments import checked
from formulations.compiled import njit
from formulations.errors import InvalidInputError
from formulations.instance.cost_items import Price, exact
from formulations.instance.problem import PruningProblem
from formulations.instance.usage_arcs import count_arcs
from formulations.programs.formulation import AS_ARRAYS, BY_NAME, Counts, Formulation, Size, formulation_named
from formulations.programs.linear_program import (
    Block,
    LinearProgram,
    Names,
    PurchaseColumns,
    columns_of,
    items_above,
    naive_columns,
    usage_columns,
)


@dataclass(frozen=True, eq=False)
class _Rows:
    """One block of rows: its names, the blocks of the matrix from left to right, and the bounds."""

    block: Block
    parts: list[sparse.csr_array | None]
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class _Columns:
    """One block of columns with its coefficients in the error and in the cost."""

    block: Block
    error: NDArray[np.float64]
    price: NDArray[np.float64]
    lost: NDArray[np.float64] | float = 0.0  # what floating point may have lost of `error`

    def objective(self, lam: float) -> NDArray[np.float64]:
        """Error + lam * price, 0 where floating point may have lost the whole difference."""
        paid = lam * self.price
        total = self.error + paid
        return np.where(np.abs(total) < self.lost + 2.0**-50 * paid, 0.0, total)


def ip0_matrix(problem: PruningProblem, *, relax: bool = False) -> LinearProgram:
    """(1): prune for the error alone."""
    return _assemble([_z(problem)], [_leaf_rows(problem, 1)], lam=0.0, relax=relax)


def ip1_matrix(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> LinearProgram:
    """(2), the naive formulation."""
    columns = naive_columns(problem, merge=merge)
    stops = _unit_rows(columns.node, problem.ensemble.n_nodes)
    naive = _Rows(columns.arcs("naive_usage", columns.node), [stops, -_purchases(columns)], -np.inf, 0.0)
    return _assemble([_z(problem), _w(columns)], [_leaf_rows(problem, 2), naive], lam=_rate(lam), relax=relax)


def ip2_matrix(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> LinearProgram:
    """(3), one tree."""
    columns = one_tree_columns(problem, merge=merge)
    usage = _Rows(columns.arcs("usage", columns.node), [ancestors(problem, columns.node), _purchases(columns)], 1.0, 1.0)
    return _assemble([_z(problem), _w(columns)], [_leaf_rows(problem, 2), usage], lam=_rate(lam), relax=relax)


def ip3_matrix(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> LinearProgram:
    """(4), the totally unimodular formulation."""
    blocks, rows = _unimodular(problem, merge=merge)
    return _assemble(blocks, rows, lam=_rate(lam), relax=relax)


def lp1_matrix(problem: PruningProblem, *, budget: Price, relax: bool = False, merge: bool = False) -> LinearProgram:
    """(5), the least error within a budget."""
    limit = float(exact(budget, "budget"))
    blocks, rows = _unimodular(problem, merge=merge)
    row = sparse.csr_array(np.concatenate([b.price for b in blocks])[None, :])
    ends = np.cumsum([0] + [len(b.block) for b in blocks])
    parts: list[sparse.csr_array | None] = [row[:, a:b] for a, b in itertools.pairwise(ends)]
    rows.append(_Rows(Block("budget", ()), parts, -np.inf, limit))
    return _assemble(blocks, rows, lam=0.0, relax=relax)


def closure_matrix(problem: PruningProblem, *, lam: Price, relax: bool = False, merge: bool = False) -> LinearProgram:
    """(6), the maximum closure as a minimisation."""
    ensemble, splits = problem.ensemble, problem.usage.splits
    columns = usage_columns(problem, merge=merge)
    place = np.full(ensemble.n_nodes, -1, dtype=np.int32)
    place[splits] = np.arange(splits.size, dtype=np.int32)
    below = splits[ensemble.parent[splits] >= 0]
    kept = _unit_rows(place[below], splits.size) - _unit_rows(place[ensemble.parent[below]], splits.size)
    y = _Columns(Block("y", (splits,)), -problem.gain[splits], problem.usage.evaluation_price[splits], problem.gain_lost[splits])
    rows = [
        _Rows(Block("parent_kept", (below,)), [kept, None], -np.inf, 0.0),
        _Rows(
            columns.arcs("usage", columns.node),
            [_unit_rows(place[columns.node], splits.size), -_purchases(columns)],
            -np.inf,
            0.0,
        ),
    ]
    offset = float(problem.node_error[ensemble.roots].sum())
    return _assemble([y, _w(columns)], rows, lam=_rate(lam), relax=relax, offset=offset)


def one_tree_columns(problem: PruningProblem, *, merge: bool) -> PurchaseColumns:
    """Purchase variables for IP2, which takes one tree, where every purchase is needed at a single split; others are refused."""
    if problem.ensemble.n_trees != 1:
        raise InvalidInputError(
            f"IP2 is the one-tree case, the forest has {problem.ensemble.n_trees} trees; use IP3, or problem.only_tree(t)"
        )
    columns = usage_columns(problem, merge=merge)
    several = np.flatnonzero(np.bincount(columns.column, minlength=columns.n_columns) > 1)
    if several.size:
        name = problem.costs.names[columns.item[several[0]]]
        raise InvalidInputError(f"IP2: the item {name!r} is paid once for all rows and several splits need it; use IP3")
    return columns


def ancestors(problem: PruningProblem, nodes: NDArray[np.int32]) -> sparse.csr_array:
    """A_nodes: one row a node, 1 at the node and at everything above it; shape (len(nodes), n)."""
    ensemble = problem.ensemble
    start = np.zeros(len(nodes) + 1, dtype=np.int64)
    start[1:] = np.cumsum(ensemble.depth[nodes] + 1)
    chain = np.empty(start[-1], dtype=np.int32)
    _climb(ensemble.parent, nodes, start, chain)
    return sparse.csr_array((np.ones(chain.size), chain, start), shape=(len(nodes), ensemble.n_nodes))


def evaluation_above(problem: PruningProblem) -> NDArray[np.float64]:
    """(|S_h| / N) sum of a_f over the splits strictly above h: the evaluation cost of stopping at h. Shape (n,)."""
    ensemble = problem.ensemble
    own = problem.usage.split_price
    paid = np.zeros(ensemble.n_nodes)
    for d in range(1, int(ensemble.depth.max(initial=0)) + 1):
        level = np.flatnonzero(ensemble.depth == d)
        above = ensemble.parent[level]
        paid[level] = paid[above] + own[above]
    return paid * problem.usage.node_weight / problem.usage.total_weight


def _rate(lam: Price) -> float:
    return float(exact(lam, "lam"))


def _z(problem: PruningProblem) -> _Columns:
    nodes = np.arange(problem.ensemble.n_nodes, dtype=np.int32)
    return _Columns(Block("z", (nodes,)), problem.node_error, evaluation_above(problem))


def _w(columns: PurchaseColumns) -> _Columns:
    return _Columns(columns.w, np.zeros(columns.n_columns), columns.price)


def _leaf_rows(problem: PruningProblem, n_blocks: int) -> _Rows:
    """(1), beside other blocks of columns."""
    leaves = np.flatnonzero(~problem.ensemble.is_split).astype(np.int32)
    return _Rows(Block("leaf", (leaves,)), [ancestors(problem, leaves), *[None] * (n_blocks - 1)], 1.0, 1.0)


def _unimodular(problem: PruningProblem, *, merge: bool) -> tuple[list[_Columns], list[_Rows]]:
    """The columns z, w^t, w and the rows of (4)."""
    columns = usage_columns(problem, merge=merge)
    per_tree = sparse.eye_array(columns.node.size, format="csr")
    free = np.zeros(columns.node.size)
    w_t = _Columns(columns.arcs("w_t", columns.node), free, free)
    rows = [
        _leaf_rows(problem, 3),
        _Rows(columns.arcs("usage", columns.node), [ancestors(problem, columns.node), per_tree, None], 1.0, 1.0),
        _Rows(columns.arcs("coupling", columns.node), [None, per_tree, -_purchases(columns)], -np.inf, 0.0),
    ]
    return [_z(problem), w_t, _w(columns)], rows


def _purchases(columns: PurchaseColumns) -> sparse.csr_array:
    """The matrix E: which purchase variable each arc is about."""
    return _unit_rows(columns.column, columns.n_columns)


def _unit_rows(place: NDArray[np.int32], width: int) -> sparse.csr_array:
    """One row for each place, with a single 1 there."""
    start = np.arange(place.size + 1, dtype=np.int64)
    return sparse.csr_array((np.ones(place.size), place, start), shape=(place.size, width))


def _assemble(columns: list[_Columns], rows: list[_Rows], *, lam: float, relax: bool, offset: float = 0.0) -> LinearProgram:
    """Put the blocks together: minimise error + lam * cost."""
    widths = [len(c.block) for c in columns]
    parts = [
        [sparse.csr_array((len(r.block), w)) if p is None else p for p, w in zip(r.parts, widths, strict=True)] for r in rows
    ]
    n = sum(widths)
    lengths = [len(r.block) for r in rows]
    with np.errstate(over="ignore"):  # engines and files refuse what is infinite
        cost = np.concatenate([c.objective(lam) for c in columns])
    return LinearProgram(
        cost=cost,
        offset=offset,
        matrix=sparse.csr_array(sparse.block_array(parts, format="csr")),
        row_lower=np.repeat([r.lower for r in rows], lengths),
        row_upper=np.repeat([r.upper for r in rows], lengths),
        lower=np.zeros(n),
        upper=np.ones(n),
        integer=np.full(n, not relax),
        columns=Names(tuple(c.block for c in columns)),
        rows=Names(tuple(r.block for r in rows)),
    )


MATRICES: dict[str, Callable[..., LinearProgram]] = {name: globals()[str(BY_NAME[name].matrix)] for name in AS_ARRAYS}
"""Matrices by the papers' names."""


@njit(cache=True)
def _climb(parent, nodes, start, chain):  # type: ignore[no-untyped-def]
    """Write each node's chain to its root, root first, so that column indices ascend."""
    for k in range(nodes.shape[0]):
        h = nodes[k]
        place = start[k + 1] - 1
        while h >= 0:
            chain[place] = h
            place -= 1
            h = parent[h]


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
